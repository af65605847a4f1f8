//! Exports nodes of control flow. Their regions become functions.

use shapeflow_shape_fns::{DType, Dim, PartialElements, TensorShape};

use super::super::LIMIT;
use super::super::proto::{AttrKind, ListValue, NameAttrList, NodeDef};
use super::super::shape;
use super::library::{Returned, argument};
use super::{Exporter, OUTPUT_SHAPES, constant_def, exported_nodes, put, typed_node};
use crate::error::Result;
use crate::graph::{GraphData, Node, NodeIx, ValueIx, graph_of};
use crate::op::dtype_number::number_of;
use crate::op::{Body, BodyRegion, BranchesForm, Control, ControlForm, LoopSource, RowsForm, WhileForm};
use crate::tensor::Tensor;

impl Exporter<'_> {
    /// Exports a node of control flow: `If`, `Case`, `While` or `StatefulPartitionedCall`. A loop over rows becomes a
    /// `While` that writes its outputs to tensor lists.
    ///
    /// # Errors
    /// A node of a region cannot be exported.
    pub(super) fn control(&mut self, node: &Node, name: &str, control: &dyn Control) -> Result<NodeDef> {
        match control.form() {
            ControlForm::Branches(form) => self.branches(node, name, &form),
            ControlForm::While(form) => self.while_loop(node, name, &form),
            ControlForm::Rows(form) => self.rows(node, name, &form),
            ControlForm::Call(region) => self.call(node, &region),
        }
    }

    fn branches(&mut self, node: &Node, name: &str, form: &BranchesForm<'_>) -> Result<NodeDef> {
        // The chooser is no argument of the functions.
        let arguments = &self.dtypes(&node.operands)[1..];
        let mut functions = Vec::with_capacity(form.regions.len());
        for region in &form.regions {
            let inputs: Vec<String> = region.captures.iter().map(|operand| argument(operand - 1)).collect();
            functions.push(
                self.function(name, region, arguments, |inner| inner.region(&inputs, &region.outputs))?,
            );
        }
        let mut def = match form.select {
            Some(_) => {
                let [otherwise, then] = &functions[..] else {
                    unreachable!("a bool chooses one of two regions")
                };
                let mut def = typed_node("If", self.operands(node), &[("Tcond", DType::Bool)]);
                put(&mut def, "then_branch", function_attr(then));
                put(&mut def, "else_branch", function_attr(otherwise));
                def
            }
            None => {
                let mut def = typed_node("Case", self.operands(node), &[]);
                let func = functions.iter().map(|name| name_of(name)).collect();
                put(&mut def, "branches", AttrKind::List(ListValue { func, ..ListValue::default() }));
                def
            }
        };
        put(&mut def, "Tin", types(arguments));
        let results: Vec<ValueIx> = node.values().collect();
        put(&mut def, "Tout", types(&self.dtypes(&results)));
        put(&mut def, "output_shapes", shapes_attr(&self.shapes(results.into_iter())));
        Ok(def)
    }

    fn call(&mut self, node: &Node, region: &BodyRegion<'_>) -> Result<NodeDef> {
        let arguments = self.dtypes(&node.operands);
        let graph: *const GraphData = graph_of(region);
        let function = match self.library.shared.get(&graph) {
            Some(function) => function.clone(),
            None => {
                let inputs: Vec<String> = (0..arguments.len()).map(argument).collect();
                let added =
                    self.function("", region, &arguments, |inner| inner.region(&inputs, &region.outputs))?;
                self.library.shared.insert(graph, added.clone());
                added
            }
        };
        let mut def = typed_node("StatefulPartitionedCall", self.operands(node), &[]);
        put(&mut def, "f", function_attr(&function));
        put(&mut def, "Tin", types(&arguments));
        let results: Vec<ValueIx> = node.values().collect();
        put(&mut def, "Tout", types(&self.dtypes(&results)));
        Ok(def)
    }

    /// Exports a loop. All operands are its state: those that the loop does not change stay as they are.
    fn while_loop(&mut self, node: &Node, name: &str, form: &WhileForm<'_>) -> Result<NodeDef> {
        let state = self.dtypes(&node.operands);
        let inputs: Vec<String> = form.condition.captures.iter().map(|operand| argument(*operand)).collect();
        let condition = self.function(name, &form.condition, &state, |inner| {
            inner.region(&inputs, &form.condition.outputs)
        })?;
        let inputs: Vec<String> = form
            .sources
            .iter()
            .map(|source| match *source {
                LoopSource::State(position) => argument(form.changing[position]),
                LoopSource::Operand(operand) => argument(operand),
            })
            .collect();
        let body = self.function(name, &form.step, &state, |inner| {
            let mut next = arguments(&state);
            // The last result of a step is the condition.
            let results = inner.region(&inputs, &form.step.outputs[..form.changing.len()])?;
            for (result, operand) in results.into_iter().zip(form.changing) {
                next[*operand] = result;
            }
            Ok(next)
        })?;
        // The first results of the node are the state values; the other operands keep their shapes.
        let mut shapes = self.shapes(node.values());
        shapes.extend(self.shapes(node.operands.iter().copied().skip(shapes.len())));
        let operands = self.operands(node);
        Ok(while_node(operands, &state, &shapes, [&condition, &body], form.limit))
    }

    /// Exports a loop over rows. The state of the `While` is the number of the row, the number of rows, all operands,
    /// and a list for each output.
    fn rows(&mut self, node: &Node, name: &str, form: &RowsForm<'_>) -> Result<NodeDef> {
        let is_imported = std::mem::replace(&mut self.is_imported, true);
        let exported = self.rows_node(node, name, form);
        self.is_imported = is_imported;
        exported
    }

    fn rows_node(&mut self, node: &Node, name: &str, form: &RowsForm<'_>) -> Result<NodeDef> {
        let (body, graph) = (&form.body, graph_of(&form.body));
        let outputs = &body.outputs[form.changing.len()..];
        let items: Vec<DType> = outputs.iter().map(|output| graph.values[*output as usize].dtype).collect();
        let operands = node.operands.len();
        let mut state = vec![DType::I32, DType::I32];
        state.extend(self.dtypes(&node.operands));
        state.extend(items.iter().map(|_| DType::Variant));

        let condition = self.function(&format!("{name}/condition"), body, &state, |inner| {
            let less = typed_node("Less", vec![argument(0), argument(1)], &[("T", DType::I32)]);
            Ok(vec![Returned { tensor: inner.extra("less", less), dtype: DType::Bool }])
        })?;
        let body_function = self.function(name, body, &state, |inner| inner.row(form, &state, operands))?;

        let count = self.size(name, node.operands[form.states], 0, DType::I32)?;
        let checks = self.row_counts(node, name, form, &count)?;
        let mut inputs = vec![self.known(name, &[], &[0], DType::I32)?, count.clone()];
        inputs.extend(self.operands(node));
        let mut item_shapes = Vec::with_capacity(items.len());
        // A joined output gives two results: its rows and their splits.
        let stacked = node.values().skip(form.states).step_by(1 + usize::from(form.is_joined));
        for (dtype, result) in items.iter().zip(stacked) {
            let shape = self.item_shape(name, result, form.is_joined)?;
            let list = typed_node(
                "TensorListReserve",
                vec![shape.clone(), count.clone()],
                &[("element_dtype", *dtype), ("shape_type", DType::I32)],
            );
            inputs.push(self.extra(&format!("{name}/list"), list));
            item_shapes.push(shape);
        }
        let scalar = || TensorShape::new([] as [Dim; 0]);
        let mut shapes = vec![scalar(), scalar()];
        shapes.extend(self.shapes(node.values().take(form.states)));
        shapes.extend(self.shapes(node.operands.iter().copied().skip(form.states)));
        shapes.extend(items.iter().map(|_| scalar()));
        let functions = [&*condition, &*body_function];
        inputs.extend(checks.iter().map(|check| format!("^{check}")));
        let last = while_node(inputs, &state, &shapes, functions, form.limit);
        let last = self.extra(&format!("{name}/loop"), last);

        let mut results: Vec<String> =
            (0..form.states).map(|number| format!("{last}:{}", 2 + number)).collect();
        for (number, (dtype, shape)) in items.iter().zip(item_shapes).enumerate() {
            let list = format!("{last}:{}", 2 + operands + number);
            match form.is_joined {
                true => results.extend(self.joined(name, list, shape, *dtype)?),
                false => {
                    let mut stack =
                        typed_node("TensorListStack", vec![list, shape], &[("element_dtype", *dtype)]);
                    put(&mut stack, "num_elements", AttrKind::I(-1));
                    results.push(self.extra(&format!("{name}/stack"), stack));
                }
            }
        }
        let mut def = typed_node("IdentityN", results, &[]);
        let dtypes: Vec<ValueIx> = node.values().collect();
        put(&mut def, "T", types(&self.dtypes(&dtypes)));
        Ok(def)
    }

    /// Exports an iteration of a loop over rows, and returns the next state of the `While`. `operands` is the number
    /// of operands of the loop.
    fn row(&mut self, form: &RowsForm<'_>, state: &[DType], operands: usize) -> Result<Vec<Returned>> {
        self.is_imported = true;
        let number = argument(0);
        let mut next = arguments(state);
        let mut rows = Vec::with_capacity(form.xs);
        for x in form.states..form.states + form.xs {
            let axis = self.known("row", &[], &[0], DType::I32)?;
            let row = typed_node(
                "GatherV2",
                vec![argument(2 + x), number.clone(), axis],
                &[("Tparams", state[2 + x]), ("Tindices", DType::I32), ("Taxis", DType::I32)],
            );
            rows.push(self.extra("row", row));
        }
        let inputs: Vec<String> = form
            .sources
            .iter()
            .map(|source| match *source {
                LoopSource::State(position) => argument(2 + form.changing[position]),
                LoopSource::Operand(operand) => {
                    let row = operand.checked_sub(form.states).and_then(|row| rows.get(row));
                    row.cloned().unwrap_or_else(|| argument(2 + operand))
                }
            })
            .collect();
        self.is_imported = false;
        let mut results = self.region(&inputs, &form.body.outputs)?;
        self.is_imported = true;
        let outputs = results.split_off(form.changing.len());
        for (result, operand) in results.into_iter().zip(form.changing) {
            next[2 + operand] = result;
        }
        for (list, output) in (2 + operands..).zip(outputs) {
            let set = typed_node(
                "TensorListSetItem",
                vec![argument(list), number.clone(), output.tensor],
                &[("element_dtype", output.dtype)],
            );
            next[list].tensor = self.extra("set", set);
        }
        let one = self.known("next", &[], &[1], DType::I32)?;
        let sum = typed_node("AddV2", vec![number, one], &[("T", DType::I32)]);
        next[0].tensor = self.extra("next", sum);
        Ok(next)
    }

    /// Adds nodes that join the items of a list along axis 0. Returns the names of the joined tensor and of the row
    /// splits, i64.
    fn joined(&mut self, name: &str, list: String, shape: String, dtype: DType) -> Result<[String; 2]> {
        let leading = self.known(name, &[0], &[], DType::I64)?;
        let types = [("element_dtype", dtype), ("shape_type", DType::I32)];
        let concat = typed_node("TensorListConcatV2", vec![list, shape, leading], &types);
        let concat = self.extra(&format!("{name}/concat"), concat);
        let axis = self.known(name, &[], &[0], DType::I32)?;
        let zero = self.known(name, &[1], &[0], DType::I64)?;
        let types = [("T", DType::I64), ("Tidx", DType::I32)];
        let ends = typed_node("Cumsum", vec![format!("{concat}:1"), axis.clone()], &types);
        let ends = self.extra(&format!("{name}/ends"), ends);
        let mut splits = typed_node("ConcatV2", vec![zero, ends, axis], &types);
        put(&mut splits, "N", AttrKind::I(2));
        Ok([concat, self.extra(&format!("{name}/splits"), splits)])
    }

    /// Adds nodes that check that all operands with rows have `count` rows, and returns their names.
    fn row_counts(
        &mut self,
        node: &Node,
        name: &str,
        form: &RowsForm<'_>,
        count: &str,
    ) -> Result<Vec<String>> {
        let xs = &node.operands[form.states..form.states + form.xs];
        let rows: Vec<Option<Dim>> = self
            .shapes(xs.iter().copied())
            .iter()
            .map(|shape| shape.dims().and_then(|dims| dims.first().cloned()))
            .collect();
        let mut checks = Vec::new();
        for (x, own) in xs.iter().zip(&rows).skip(1) {
            if own.is_some() && *own == rows[0] {
                continue;
            }
            let size = self.size(name, *x, 0, DType::I32)?;
            let mut equal = typed_node("Equal", vec![count.to_string(), size.clone()], &[("T", DType::I32)]);
            put(&mut equal, "incompatible_shape_error", AttrKind::B(true));
            let equal = self.extra(&format!("{name}/equal"), equal);
            let text = "all tensors must have the same number of rows, got";
            let text = self.extra(&format!("{name}/text"), constant_def(&Tensor::from(text))?);
            let inputs = vec![equal, text, count.to_string(), size];
            let mut assert = typed_node("Assert", inputs, &[]);
            put(&mut assert, "T", types(&[DType::String, DType::I32, DType::I32]));
            checks.push(self.extra(&format!("{name}/assert"), assert));
        }
        Ok(checks)
    }

    /// Adds nodes that compute the shape of the items of a list, and returns the name of the tensor. `result` is the
    /// result that the list becomes. A size that only the loop knows is -1, and so is the first size of an item that is
    /// joined with others.
    fn item_shape(&mut self, name: &str, result: ValueIx, is_joined: bool) -> Result<String> {
        let shapes = self.shapes([result].into_iter());
        let Some(dims) = shapes[0].dims() else { return self.known(name, &[], &[-1], DType::I32) };
        let first = is_joined.then(|| Dim::known(-1));
        let rest = dims[1..].iter().map(|dim| match self.is_known_before(dim) {
            true => dim.clone(),
            false => Dim::known(-1),
        });
        let sizes = PartialElements::vector(first.into_iter().chain(rest));
        if let Some(known) = sizes.as_known() {
            return self.known(name, &[known.len()], &known, DType::I32);
        }
        let shape = self.elements(name, &sizes, DType::I32)?;
        Ok(shape.expect("the nodes before the loop determine the sizes"))
    }

    /// Adds a function to the library, and returns its name. Its arguments have the dtypes `arguments`. `build` exports
    /// the nodes of the function with the exporter of the region's graph, and returns the results.
    fn function(
        &mut self,
        name: &str,
        region: &BodyRegion<'_>,
        arguments: &[DType],
        build: impl FnOnce(&mut Exporter<'_>) -> Result<Vec<Returned>>,
    ) -> Result<String> {
        let mut inner = Exporter::new(graph_of(region), (0..arguments.len()).map(argument));
        inner.library = std::mem::take(&mut self.library);
        let results = build(&mut inner);
        self.library = inner.library;
        self.missing.append(&mut inner.missing);
        let name = [name, region.name].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>();
        Ok(self.library.add(&name.join("_"), arguments, inner.nodes, &results?))
    }

    /// Exports the nodes of this graph, the graph of a region, that compute the values `outputs`. The tensors `inputs`
    /// take the places of the graph's inputs.
    pub(super) fn region(&mut self, inputs: &[String], outputs: &[u32]) -> Result<Vec<Returned>> {
        let data = self.data;
        assert_eq!(data.inputs.len(), inputs.len(), "each input of a region has a tensor");
        let wanted: Vec<ValueIx> = outputs.iter().map(|output| ValueIx(*output)).collect();
        self.exported = match wanted.is_empty() {
            true => vec![false; data.nodes.len()],
            false => exported_nodes(data, &wanted, &self.sources),
        };
        for ((_, input), tensor) in data.inputs.iter().zip(inputs) {
            let node = data.values[input.index()].node.index();
            self.names[node].clone_from(tensor);
            self.exported[node] = true;
        }
        for (number, node) in data.nodes.iter().enumerate() {
            if self.exported[number] && !matches!(node.op.body, Body::Input) {
                self.node(NodeIx(number as u32))?;
            }
        }
        Ok(wanted
            .iter()
            .map(|value| Returned { tensor: self.tensor_name(*value), dtype: self.dtype(*value) })
            .collect())
    }

    fn operands(&self, node: &Node) -> Vec<String> {
        node.operands.iter().map(|operand| self.tensor_name(*operand)).collect()
    }

    fn dtypes(&self, values: &[ValueIx]) -> Vec<DType> {
        values.iter().map(|value| self.dtype(*value)).collect()
    }

    fn shapes(&self, values: impl Iterator<Item = ValueIx>) -> Vec<TensorShape> {
        values.map(|value| self.data.table.resolve_shape(&self.data.values[value.index()].shape)).collect()
    }
}

/// Returns a `While` with these inputs and this state.
fn while_node(
    inputs: Vec<String>,
    state: &[DType],
    shapes: &[TensorShape],
    [condition, body]: [&str; 2],
    limit: Option<u64>,
) -> NodeDef {
    let mut def = typed_node("While", inputs, &[]);
    put(&mut def, "T", types(state));
    put(&mut def, "cond", function_attr(condition));
    put(&mut def, "body", function_attr(body));
    put(&mut def, "output_shapes", shapes_attr(shapes));
    put(&mut def, OUTPUT_SHAPES, shapes_attr(shapes));
    put(&mut def, "parallel_iterations", AttrKind::I(10));
    if let Some(limit) = limit.and_then(|limit| i64::try_from(limit).ok()) {
        put(&mut def, LIMIT, AttrKind::I(limit));
    }
    def
}

/// Returns the arguments of a function as its results.
fn arguments(dtypes: &[DType]) -> Vec<Returned> {
    (0..).map(argument).zip(dtypes).map(|(tensor, dtype)| Returned { tensor, dtype: *dtype }).collect()
}

pub(super) fn types(dtypes: &[DType]) -> AttrKind {
    let r#type = dtypes.iter().map(|dtype| number_of(*dtype)).collect();
    AttrKind::List(ListValue { r#type, ..ListValue::default() })
}

fn shapes_attr(shapes: &[TensorShape]) -> AttrKind {
    AttrKind::List(ListValue { shape: shapes.iter().map(shape::to_proto).collect(), ..ListValue::default() })
}

fn name_of(function: &str) -> NameAttrList {
    NameAttrList { name: function.to_string(), ..NameAttrList::default() }
}

pub(super) fn function_attr(function: &str) -> AttrKind {
    AttrKind::Func(name_of(function))
}
