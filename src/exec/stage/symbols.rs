//! Symbols of a run: bound to sizes and elements, defined by shape functions, checked by guards.

use super::super::bindings::{Bindings, Mismatch};
use super::super::segment::Sizes;
use super::Stage;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::{SizedInference, SizedOperand, elements_of, infer_sizes};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::lower::kernel::BufferIx;
use crate::runtime::Memory;
use crate::tensor::TensorView;
use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{DType, Dim, Guard, Symbol};

/// Returns the content of [`Stage::partial`].
pub(super) fn partial_dims(graph: &GraphData) -> Vec<(Dim, NodeIx)> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    for info in &graph.values {
        for dim in info.shape.dims().unwrap_or_default() {
            if dim.is_partial() && seen.insert(dim) {
                found.push((dim.clone(), info.node));
            }
        }
    }
    found
}

impl Stage {
    /// The size a symbol stands for, by its value or by what the graph has equated it with.
    pub(super) fn known(&self, bindings: Option<&Bindings>, symbol: Symbol) -> Option<Dim> {
        bindings?.try_eval(&self.graph.table, &Dim::from(symbol)).map(Dim::known)
    }

    /// Binds symbols to the sizes of the inputs.
    pub(crate) fn bind_inputs(&self, inputs: &[TensorView<'_>]) -> Result<Bindings> {
        let sizes: Vec<(DType, &[usize])> = inputs.iter().map(|view| (view.dtype(), view.sizes())).collect();
        self.bind_input_sizes(&sizes)
    }

    pub(crate) fn bind_input_sizes(&self, inputs: &[(DType, &[usize])]) -> Result<Bindings> {
        let mut bindings = Bindings::default();
        for ((port, (_, value)), (dtype, sizes)) in self.graph.inputs.iter().enumerate().zip(inputs) {
            let info = &self.graph.values[value.at()];
            let refuse = |detail: String| self.refused_input(port, inputs[port], detail);
            if info.dtype != *dtype {
                return Err(refuse(String::new()));
            }
            let Some(dims) = info.shape.dims() else { continue };
            if dims.len() != sizes.len() {
                let error = refuse(format!(": the rank must be {}", dims.len()));
                // One example where a batch of them is expected.
                let with_batch = [&[1], *sizes].concat();
                let fits = dims.len() == with_batch.len()
                    && dims.iter().zip(&with_batch).all(|(dim, size)| {
                        let size = Dim::known(i64::try_from(*size).unwrap_or(i64::MAX));
                        self.graph.table.same(dim, &size) != Some(false)
                    });
                return Err(match fits {
                    true => error.with_help(format!("a single example is fed with sizes {with_batch:?}")),
                    false => error,
                });
            }
            for (axis, (dim, size)) in dims.iter().zip(*sizes).enumerate() {
                bindings.bind(&self.graph.table, dim, *size as i64).map_err(|mismatch| {
                    let by = match mismatch.expected {
                        Some(_) => self.bound_by(*value, &mismatch.dim),
                        None => bindings.values_in(&mismatch.dim),
                    };
                    refuse(format!(": axis {axis} {}", cannot(&mismatch, &by)))
                })?;
            }
        }
        let settled = bindings.settle(&self.graph.table);
        self.solve_guards(&mut bindings);
        settled.map_err(|mismatch| {
            let ports = self.graph.inputs.iter().enumerate();
            let mut axes = ports.flat_map(|(port, (_, value))| {
                let dims = self.graph.values[value.at()].shape.dims().unwrap_or_default();
                dims.iter().enumerate().map(move |(axis, dim)| (port, axis, dim))
            });
            match axes.find(|(_, _, dim)| self.graph.table.resolve(dim) == mismatch.dim) {
                Some((port, axis, _)) => {
                    let by = bindings.values_in(&mismatch.dim);
                    self.refused_input(
                        port,
                        inputs[port],
                        format!(": axis {axis} {}", cannot(&mismatch, &by)),
                    )
                }
                None => {
                    Error::new(ErrorKind::Feed, Phase::Run, format!("a dimension {}", cannot(&mismatch, "")))
                }
            }
        })?;
        Ok(bindings)
    }

    /// The error of an input that is fed with this; `detail` says why.
    fn refused_input(&self, port: usize, (dtype, sizes): (DType, &[usize]), detail: String) -> Error {
        let (name, value) = &self.graph.inputs[port];
        let info = &self.graph.values[value.at()];
        let shape = self.graph.table.resolve_shape(&info.shape);
        let message = format!("input \"{name}\" must be {}{shape}, got {dtype}{sizes:?}{detail}", info.dtype);
        let ties = self.graph.ties_of(&[*value], &message).into_iter().take(2);
        let error = Error::new(ErrorKind::Feed, Phase::Run, message)
            .note("the input is declared", Some(self.graph.node_of(*value).location));
        ties.fold(error, |error, (text, at)| error.note(text, Some(at)))
    }

    /// Where a dimension got its size before axes of this input were read: ` at axis 0 of input "x"`.
    fn bound_by(&self, before: ValueIx, dim: &Dim) -> String {
        let table = &self.graph.table;
        let earlier = self.graph.inputs.iter().take_while(|(_, value)| *value != before);
        let own = self.graph.inputs.iter().filter(|(_, value)| *value == before);
        let mut axes = earlier.chain(own).flat_map(|(name, value)| {
            let dims = self.graph.values[value.at()].shape.dims().unwrap_or_default();
            dims.iter().enumerate().map(move |(axis, dim)| (name, axis, dim))
        });
        match axes.find(|(_, _, other)| table.resolve(other) == *dim) {
            Some((name, axis, _)) => format!(" at axis {axis} of input \"{name}\""),
            None => " by another input".to_string(),
        }
    }

    /// Binds symbols that nothing has, but that what is required of others determines.
    fn solve_guards(&self, bindings: &mut Bindings) {
        let table = &self.graph.table;
        while self.graph.table.guards().iter().any(|record| bindings.solve(table, &record.guard)) {}
    }

    /// Checks what was left to run time.
    pub(crate) fn check_guards(&self, bindings: &Bindings) -> Result<()> {
        for record in self.graph.table.guards() {
            // A symbol may have been equated with others since it was required of.
            let holds = record.guard.check(&|symbol| self.known(Some(bindings), symbol)?.as_known());
            if matches!(holds, Ok(Some(true) | None)) {
                continue;
            }
            let message = unmet(&record.guard, &|dim| bindings.try_eval(&self.graph.table, dim));
            return Err(match self.graph.nodes.get(record.origin as usize) {
                Some(_) => self.refusal(NodeIx(record.origin), bindings, message),
                None => Error::new(ErrorKind::Guard, Phase::Run, message),
            });
        }
        for (dim, node) in &self.partial {
            dim.eval(&|symbol| self.known(Some(bindings), symbol)?.as_known())
                .map_err(|error| self.refusal(*node, bindings, error.to_string()))?;
        }
        Ok(())
    }

    /// The error of the first node that has no sizes for these values of symbols: they refuse it, or what it requires of
    /// them has no solution.
    pub(super) fn unsized_node(&self, bindings: &Bindings) -> Option<Error> {
        self.graph.values.iter().find_map(|info| {
            let dims = info.shape.dims()?.iter();
            let mut sizes =
                dims.map(|dim| self.graph.table.resolve(dim).eval(&|symbol| bindings.get(symbol)));
            match sizes.find(|size| !matches!(size, Ok(Some(_))))? {
                Err(reason) => Some(self.refusal(info.node, bindings, reason.to_string())),
                Ok(_) => self.infer_on_sizes(info.node, bindings, None)?.err(),
            }
        })
    }

    pub(super) fn bind_sizes(
        &self,
        bindings: &mut Bindings,
        buffer: BufferIx,
        sizes: &[usize],
    ) -> Result<()> {
        let dims = &self.program.buffers[buffer.index()].dims;
        let value = self.program.buffers[buffer.index()].value;
        for (axis, (dim, size)) in dims.iter().zip(sizes).enumerate() {
            bindings.bind(&self.graph.table, dim, *size as i64).map_err(|mismatch| {
                let expected = mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |e| e.to_string());
                let message =
                    format!("axis {axis} of {} must be {expected}, got {size}", self.value_text(value));
                self.locate(
                    self.graph.values[value.at()].node,
                    Error::new(ErrorKind::Guard, Phase::Run, message),
                )
            })?;
        }
        Ok(())
    }

    /// Binds the symbols of elements that are in memory, and those that shape functions define from them.
    pub(super) fn define(
        &self,
        bindings: &mut Bindings,
        waiting: &mut Waiting,
        memory: &Memory<'_>,
    ) -> Result<()> {
        let mut elements = std::mem::take(&mut waiting.elements);
        let mut failed = None;
        elements.retain(|(value, buffer)| {
            let Some(sizes) = self.sizes_of(*buffer, bindings).filter(|_| memory.has(*buffer)) else {
                return true;
            };
            let Ok(view) = self.view(*buffer, &sizes, memory) else { return true };
            let (Some(found), Some(symbolic)) = (elements_of(&view), &self.graph.values[value.at()].elements)
            else {
                return false;
            };
            for (dim, element) in symbolic.elements().iter().zip(found.elements()) {
                if let Some(element) = element.as_known()
                    && let Err(mismatch) = bindings.bind(&self.graph.table, dim, element)
                {
                    failed.get_or_insert((*value, mismatch));
                }
            }
            false
        });
        waiting.elements = elements;
        if let Some((value, mismatch)) = failed {
            let expected =
                mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |expected| expected.to_string());
            let message =
                format!("an element of {} must be {expected}, got {}", self.value_text(value), mismatch.got);
            return Err(Error::new(ErrorKind::Guard, Phase::Run, message));
        }
        let mut left = Vec::new();
        for index in std::mem::take(&mut waiting.definers) {
            if !self.define_by(index, bindings, memory)? {
                left.push(index);
            }
        }
        waiting.definers = left;
        self.solve_guards(bindings);
        bindings.settle(&self.graph.table).map_err(|mismatch| {
            let by = bindings.values_in(&mismatch.dim);
            Error::new(ErrorKind::Guard, Phase::Run, format!("a dimension {}", cannot(&mismatch, &by)))
        })
    }

    /// Runs a shape function on sizes and values; false if they are not known yet.
    pub(super) fn define_by(
        &self,
        index: NodeIx,
        bindings: &mut Bindings,
        memory: &Memory<'_>,
    ) -> Result<bool> {
        let node = &self.graph.nodes[index.at()];
        let table = &self.graph.table;
        let Some(inferred) = self.infer_on_sizes(index, bindings, Some(memory)) else { return Ok(false) };
        let concrete = inferred?;
        let bind = |bindings: &mut Bindings,
                    symbolic: &shapeflow_shape_fns::Dim,
                    known: &shapeflow_shape_fns::Dim| {
            let Some(known) = known.as_known() else { return Ok(false) };
            bindings.bind(table, symbolic, known).map(|()| true).map_err(|mismatch| {
                let expected = mismatch.expected.map_or_else(|| mismatch.dim.to_string(), |e| e.to_string());
                self.locate(
                    index,
                    Error::new(
                        ErrorKind::Guard,
                        Phase::Run,
                        format!("a dimension must be {expected}, got {known}"),
                    ),
                )
            })
        };
        let mut all = true;
        for (value, (_, known)) in node.values().zip(&concrete.outputs) {
            let symbolic = self.graph.values[value.at()].shape.dims().unwrap_or_default();
            for (symbolic, known) in symbolic.iter().zip(known.dims().unwrap_or_default()) {
                all &= bind(bindings, symbolic, known)?;
            }
        }
        for (name, symbolic) in node.derived() {
            let Some((_, known)) = concrete.derived.iter().find(|(other, _)| other == name) else { continue };
            for (symbolic, known) in symbolic.iter().zip(known) {
                all &= bind(bindings, symbolic, known)?;
            }
        }
        Ok(all)
    }
}

impl Stage {
    /// What a node's shape function says of the sizes of its operands; `None` while some are not known.
    fn infer_on_sizes(
        &self,
        index: NodeIx,
        bindings: &Bindings,
        memory: Option<&Memory<'_>>,
    ) -> Option<Result<SizedInference>> {
        let node = &self.graph.nodes[index.at()];
        let table = &self.graph.table;
        let mut sizes: Vec<Sizes> = Vec::with_capacity(node.operands.len());
        for operand in &node.operands {
            let dims = self.graph.values[operand.at()].shape.dims().unwrap_or_default();
            let known = dims.iter().map(|dim| usize::try_from(bindings.try_eval(table, dim)?).ok());
            sizes.push(known.collect::<Option<Sizes>>()?);
        }
        let mut operands = Vec::with_capacity(sizes.len());
        for (operand, sizes) in node.operands.iter().zip(&sizes) {
            let info = &self.graph.values[operand.at()];
            let symbolic = info
                .elements
                .as_ref()
                .map(|elements| elements.substitute(&mut |symbol| self.known(Some(bindings), symbol)));
            let mut elements = symbolic.map(|elements| Box::new(table.resolve_elements(&elements)));
            if elements.as_ref().is_none_or(|elements| !elements.is_known())
                && let Some(memory) = memory
                && let Some(buffer) = self.program.buffer_of.get(operand)
                && memory.has(*buffer)
                && let Ok(view) = self.view(*buffer, sizes, memory)
            {
                elements = elements_of(&view);
            }
            operands.push(SizedOperand { dtype: info.dtype, sizes, elements });
        }
        let attrs = node.attrs().substitute(&mut |symbol| self.known(Some(bindings), symbol));
        let inferred = infer_sizes(&node.op, node.given, &attrs, operands);
        Some(inferred.map_err(|error| self.locate(index, error)))
    }

    /// The error of a node that does not accept these sizes: what its shape function says of them, or else `message`.
    fn refusal(&self, index: NodeIx, bindings: &Bindings, message: String) -> Error {
        match self.infer_on_sizes(index, bindings, None) {
            Some(Err(error)) => error,
            _ => self.locate(index, Error::new(ErrorKind::Guard, Phase::Run, message)),
        }
    }
}

/// What a dimension is, and so cannot be; `by` says what made it so.
fn cannot(mismatch: &Mismatch, by: &str) -> String {
    match mismatch.expected {
        Some(expected) if mismatch.dim.is_known() => format!("must be {expected}"),
        Some(expected) => format!("is {}, which is {expected}{by}", mismatch.dim),
        None => format!("is {}, which cannot be {}{by}", mismatch.dim, mismatch.got),
    }
}

/// What a guard requires, and what its dimensions are instead.
fn unmet(guard: &Guard, value: &dyn Fn(&Dim) -> Option<i64>) -> String {
    let got = |dims: &[&Dim]| {
        let values = dims.iter().filter(|dim| !dim.is_known()).map(|dim| match value(dim) {
            Some(value) => value.to_string(),
            None => dim.to_string(),
        });
        values.collect::<Vec<_>>().join(" and ")
    };
    match guard {
        Guard::Eq(a, b) => format!("{a} and {b} must be equal, got {}", got(&[a, b])),
        Guard::Ge(a, b) => format!("{a} must be at least {b}, got {}", got(&[a, b])),
        Guard::OneOrEqual(a, b) => format!("{a} must be 1 or {b}, got {}", got(&[a, b])),
        Guard::Divides { divisor, dividend } => {
            format!("{dividend} must be a multiple of {divisor}, got {}", got(&[dividend, divisor]))
        }
    }
}

/// What is still to be bound.
pub(super) struct Waiting {
    pub definers: Vec<NodeIx>,
    pub elements: Vec<(ValueIx, BufferIx)>,
}
