//! Writes a graph as a GraphDef that TensorFlow, TensorBoard and Netron read.

mod attrs;
mod control;
mod function;
mod library;
mod lists;
mod own_op;
mod padded_input;
mod parameter;
mod size_source;
mod spelling;
mod table;
mod unique_name;
mod widened;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use prost::Message;
use shapeflow_shape_fns::{DType, Dim, PartialElements};

use super::fields::GRAPH;
use super::proto::{AttrKind, AttrValue, GraphDef, ListValue, NodeDef, VersionDef};
use super::{AUXILIARY, OUTPUT_SHAPES, constant, shape, text_print};
use crate::error::{Result, at_caller};
use crate::graph::{Graph, GraphData, Node, NodeIx, Value, ValueIx, needed_nodes};
use crate::op::dtype_number::number_of;
use crate::op::{Body, spread};
use crate::tensor::Tensor;
use library::Library;
use size_source::{Equation, SizeSources, is_input};
use unique_name::unique_name;

/// The producer version of exported graphs. TensorFlow 2.21 writes this version.
const PRODUCER: i32 = 2474;

/// The ops whose shape functions in TensorFlow give wrong sizes. TensorFlow refuses the right sizes, of these nodes and
/// of what is computed from them.
const WRONG_SHAPES: [&str; 2] = ["FractionalAvgPool", "FractionalMaxPool"];

/// Returns the graph as the bytes of a TensorFlow GraphDef: the nodes that `outputs` need, or all nodes if `outputs` is
/// empty.
///
/// Every node has the attribute `_output_shapes`, which TensorBoard and Netron show; the name of an unknown dimension
/// is its expression. TensorFlow runs the graph if it has all ops of the graph.
///
/// TensorFlow lacks many ops of this crate, such as `sort`, `boolean_mask`, `silu` and the ops on row partitions that
/// ops on ragged tensors expand to. The export writes a function for such an op, which computes it with ops of
/// TensorFlow, and a `StatefulPartitionedCall` of the function. The import reads the op itself. The function needs to
/// know the number of axes of each operand of a sort, a mask or a reduction, and the axis. Floats may differ in the
/// last digits.
///
/// An op without such a function keeps the name that it has in this crate, and TensorFlow refuses to load the graph.
/// [`ops_missing_in_tensorflow`] returns these ops. They are your own ops, and parts of these methods: `matmul` of
/// ragged matrices, `reduce_prod` of complex numbers, convolutions in groups, `max_pool` and `avg_pool` with windows
/// that are known only in a run, `max_pool_with_argmax` and gradients of max pools, `dilation_2d` and its gradients,
/// resizes with antialias or with a kernel such as Lanczos, `quantize`, `dequantize`, `quantize_and_dequantize`,
/// quantized and uniform layers, `parse_example`, `extract_volume_patches` of volumes of unknown sizes, and draws with
/// the state of a generator. `softmax` and `log_softmax`
/// along another axis than the last one need a known rank and axis.
///
/// Names in TensorFlow have ASCII letters, digits and `_./-`, and begin with a letter, a digit or a dot. The export
/// writes `_` in place of other characters and makes names unique; [`tensor_names`] returns the names of inputs and
/// outputs in the exported graph.
///
/// A lookup in a table of constants becomes nodes that make, fill and read a hash table
/// of TensorFlow. A branch or a loop becomes an `If`, a `Case` or a `While`, and its regions become functions. A loop
/// over rows, as of [`Graph::scan`], becomes a `While` that fills tensor lists. TensorFlow ignores the limit of a loop.
///
/// Attributes that start with `_shapeflow` hold what TensorFlow does not need, so that
/// [`Model::import`](super::Model::import) gives an equal graph, with these exceptions. A lookup becomes a lookup in
/// another table with equal keys and values; if the values are not scalars, it becomes a lookup of their numbers and a
/// gather. If operands of one op have the dtypes i32 and i64, such as the begin and the size of a slice, a cast makes
/// both i64. A branch or a loop becomes one with the same results. A token that cancels a loop is lost.
///
/// # Errors
/// `Attribute`: a table refuses keys, or an attribute mentions a size that has no name and that no node gives. `DType`:
/// a constant is a tensor list. Otherwise, an output is poisoned or belongs to another graph.
#[track_caller]
pub fn to_graphdef(graph: &Graph, outputs: &[Value<'_>]) -> Result<Vec<u8>> {
    at_caller(|| Ok(export(graph, outputs)?.to_bytes()))
}

/// Returns the graph as protobuf text, with the same content as [`to_graphdef`].
///
/// # Errors
/// As [`to_graphdef`].
#[track_caller]
pub fn to_pbtxt(graph: &Graph, outputs: &[Value<'_>]) -> Result<String> {
    at_caller(|| Ok(export(graph, outputs)?.to_text()))
}

/// Returns the names that values have in the exported graph: `NAME` for output 0, else `NAME:i`.
///
/// # Errors
/// A value is poisoned or belongs to another graph.
#[track_caller]
pub fn tensor_names(graph: &Graph, values: &[Value<'_>]) -> Result<Vec<String>> {
    at_caller(|| {
        let wanted = indices(graph, values)?;
        let data = graph.read();
        let exporter = Exporter::new(&data, std::iter::empty());
        Ok(wanted.into_iter().map(|value| exporter.tensor_name(value)).collect())
    })
}

/// Returns the indices of values.
///
/// # Errors
/// A value is poisoned or belongs to another graph.
fn indices(graph: &Graph, values: &[Value<'_>]) -> Result<Vec<ValueIx>> {
    let index = |(number, value): (usize, &Value<'_>)| {
        graph.check_own(&format!("output {number}"), *value)?;
        value.index()
    };
    values.iter().enumerate().map(index).collect()
}

/// Returns the names of the ops of the exported graph that TensorFlow 2.21 lacks or has removed, sorted. An op that is
/// a part of a method has the method after it, as in `convolve_groups of conv_2d`. An op that TensorFlow has, but not
/// for the dtype of the node, has the dtype after it, as in `diag on u64`. TensorFlow refuses to load or to run the
/// graph if there are any. See [`to_graphdef`].
///
/// ```
/// use shapeflow::interchange::ops_missing_in_tensorflow;
/// use shapeflow::{DType, Graph, Unknown};
///
/// let graph = Graph::new();
/// let x = graph.input("x", DType::F32, [Unknown])?;
/// assert!(ops_missing_in_tensorflow(&graph, &[x.sort(0, false)?])?.is_empty());
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// As [`to_graphdef`].
#[track_caller]
pub fn ops_missing_in_tensorflow(graph: &Graph, outputs: &[Value<'_>]) -> Result<Vec<String>> {
    at_caller(|| Ok(export(graph, outputs)?.missing_ops))
}

/// A graph that is exported once: [`to_graphdef`], [`to_pbtxt`] and [`ops_missing_in_tensorflow`] export it each time.
///
/// ```
/// use shapeflow::interchange::Exported;
/// use shapeflow::{DType, Graph, Unknown};
///
/// let graph = Graph::new();
/// let x = graph.input("x", DType::F32, [Unknown])?;
/// let exported = Exported::new(&graph, &[x.sort(0, false)?])?;
/// assert!(exported.missing_ops().is_empty() && exported.to_text().contains("TopKV2"));
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exported {
    graph: GraphDef,
    missing_ops: Vec<String>,
}

impl Exported {
    /// Exports a graph: see [`to_graphdef`].
    ///
    /// # Errors
    /// As [`to_graphdef`].
    #[track_caller]
    pub fn new(graph: &Graph, outputs: &[Value<'_>]) -> Result<Exported> {
        at_caller(|| export(graph, outputs))
    }

    /// Returns the bytes of the GraphDef, as [`to_graphdef`] does.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.graph.encode_to_vec()
    }

    /// Returns the GraphDef as protobuf text, as [`to_pbtxt`] does.
    pub fn to_text(&self) -> String {
        text_print::print(&self.to_bytes(), &GRAPH)
    }

    /// Returns the ops that TensorFlow lacks, as [`ops_missing_in_tensorflow`] does.
    pub fn missing_ops(&self) -> &[String] {
        &self.missing_ops
    }
}

fn export(graph: &Graph, outputs: &[Value<'_>]) -> Result<Exported> {
    let wanted = indices(graph, outputs)?;
    let data = graph.read();
    let mut exporter = Exporter::new(&data, std::iter::empty());
    exporter.exported = exported_nodes(&data, &wanted, &exporter.sources);
    for number in 0..data.nodes.len() {
        if exporter.exported[number] {
            exporter.node(NodeIx(number as u32))?;
        }
    }
    let graph = GraphDef {
        node: exporter.nodes,
        library: exporter.library.into_message(),
        versions: Some(VersionDef { producer: PRODUCER, min_consumer: 0 }),
        ..GraphDef::default()
    };
    Ok(Exported { graph, missing_ops: exporter.missing.into_iter().collect() })
}

/// Returns, by node, whether it is exported: the nodes that the `wanted` values need, and inputs whose sizes the
/// attributes of these nodes mention. All nodes are exported if `wanted` is empty.
fn exported_nodes(data: &GraphData, wanted: &[ValueIx], sources: &OnceCell<SizeSources>) -> Vec<bool> {
    if wanted.is_empty() {
        return vec![true; data.nodes.len()];
    }
    let mut exported = needed_nodes(data, wanted);
    // The symbols are in the order of the nodes: the order of their ids differs between processes, and the export must
    // not.
    let (mut seen, mut symbols) = (HashSet::new(), Vec::new());
    for (node, _) in data.nodes.iter().zip(&exported).filter(|(_, is_exported)| **is_exported) {
        node.attrs().symbols(&mut |symbol| {
            data.table.resolve(&Dim::from(symbol)).symbols(&mut |symbol| {
                if seen.insert(symbol) {
                    symbols.push((symbol, node.first_output));
                }
            });
        });
    }
    if symbols.is_empty() {
        return exported;
    }
    let sources = sources.get_or_init(|| SizeSources::of(data));
    let mut number = 0;
    while let Some(&(symbol, before)) = symbols.get(number) {
        number += 1;
        let is_usable = |value: ValueIx| {
            exported[data.values[value.index()].node.index()] && (value < before || is_input(data, value))
        };
        if sources.exact(data, symbol, &is_usable).is_some() {
            continue;
        }
        let mut equation = sources.equations(data, symbol, &is_usable).next();
        if equation.is_none()
            && let Some(input) = sources.input_with(data, symbol)
        {
            exported[data.values[input.index()].node.index()] = true;
            let is_input = |value: ValueIx| value == input;
            if sources.exact(data, symbol, &is_input).is_none() {
                equation = sources.equations(data, symbol, &is_input).next();
            }
        }
        // The equation needs the other symbols.
        for other in equation.iter().flat_map(Equation::symbols) {
            if seen.insert(other) {
                symbols.push((other, before));
            }
        }
    }
    exported
}

/// The state of the export of one graph: the main graph, or the graph of a region.
struct Exporter<'a> {
    data: &'a GraphData,
    /// By node of the graph: whether it is exported.
    exported: Vec<bool>,
    /// The tensors that have the sizes in parameters.
    sources: OnceCell<SizeSources>,
    /// The first output of the node that is exported now. Its parameters take sizes from inputs and from values before
    /// this one: any other value may depend on the node.
    before: ValueIx,
    /// A dtype of the node that is exported now. It is set if TensorFlow's op does not take this dtype.
    refused: Option<DType>,
    /// The first such dtype of all nodes so far.
    first_refused: Option<DType>,
    /// Whether the nodes compute an op in a function. This crate then chose the dtypes of ops without a body; otherwise
    /// TensorFlow wrote them.
    is_function_of_op: bool,
    /// The exported nodes so far.
    nodes: Vec<NodeDef>,
    /// The functions so far.
    library: Library,
    /// Whether the import computes the nodes that [`Exporter::auxiliary`] adds now. This is so while they compute a
    /// parameter with a size that has no name, which an attribute in a file cannot mention.
    is_imported: bool,
    /// By node of the graph: whether TensorFlow infers wrong sizes for it.
    wrong_shapes: Vec<bool>,
    /// The ops of exported nodes that TensorFlow can neither run nor compute with a function, each with the method that
    /// it is a part of.
    missing: BTreeSet<String>,
    /// The exported name of every node of the graph.
    names: Vec<String>,
    /// The names that are in use: of the nodes of the graph, and of auxiliary nodes. See
    /// [`unique_name`].
    taken: HashMap<String, u64>,
}

impl<'a> Exporter<'a> {
    /// Starts an export. No node gets one of the names `arguments`.
    fn new(data: &'a GraphData, arguments: impl Iterator<Item = String>) -> Exporter<'a> {
        let mut taken: HashMap<String, u64> = arguments.map(|name| (name, 1)).collect();
        let mut names = vec![None; data.nodes.len()];
        // An input keeps the name under which it is fed, even if an earlier node has this name.
        for (name, value) in &data.inputs {
            names[data.values[value.index()].node.index()] = Some(unique_name(&mut taken, name));
        }
        let name_of = |(number, name): (usize, Option<String>)| {
            name.unwrap_or_else(|| unique_name(&mut taken, &data.node_name(NodeIx(number as u32))))
        };
        let names = names.into_iter().enumerate().map(name_of).collect();
        Exporter {
            data,
            exported: vec![true; data.nodes.len()],
            sources: OnceCell::new(),
            before: ValueIx(0),
            refused: None,
            first_refused: None,
            is_function_of_op: false,
            nodes: Vec::new(),
            library: Library::default(),
            is_imported: false,
            wrong_shapes: vec![false; data.nodes.len()],
            missing: BTreeSet::new(),
            names,
            taken,
        }
    }

    /// Exports a node of the graph, after the auxiliary nodes that it reads.
    fn node(&mut self, index: NodeIx) -> Result<()> {
        let data = self.data;
        let node = &data.nodes[index.index()];
        self.before = node.first_output;
        self.refused = None;
        let name = self.names[index.index()].clone();
        let mut def = match (&node.op.body, data.constants.get(&index)) {
            (Body::Input, _) => {
                let info = &data.values[node.first_output.index()];
                let mut def = node_def("Placeholder");
                put(&mut def, "dtype", AttrKind::Type(number_of(info.dtype)));
                let shape = data.table.resolve_shape(&info.shape);
                put(&mut def, "shape", AttrKind::Shape(shape::to_proto(&shape)));
                def
            }
            (_, Some(tensor)) => constant_def(tensor)?,
            (Body::Control(control), _) => self.control(node, &name, &**control)?,
            _ => {
                let spelled = match self.spelled(node, &name)? {
                    Some(def) => Some(def),
                    None => match self.list_op(node, &name)? {
                        Some(def) => Some(def),
                        None => self.table_lookup(node, &name)?,
                    },
                };
                match spelled {
                    Some(def) => def,
                    None => self.own_op(node, &name)?,
                }
            }
        };
        let has_wrong_shapes = |value: &ValueIx| self.wrong_shapes[data.values[value.index()].node.index()];
        let is_wrong = WRONG_SHAPES.contains(&&*def.op) || node.operands.iter().any(has_wrong_shapes);
        self.wrong_shapes[index.index()] = is_wrong;
        // A loop has more outputs in TensorFlow, and has their shapes already.
        if !def.attr.contains_key(OUTPUT_SHAPES) && !is_wrong {
            let shapes = node
                .values()
                .map(|value| shape::to_proto(&data.table.resolve_shape(&data.values[value.index()].shape)));
            let list = ListValue { shape: shapes.collect(), ..ListValue::default() };
            put(&mut def, OUTPUT_SHAPES, AttrKind::List(list));
        }
        def.name = name;
        self.nodes.push(def);
        Ok(())
    }

    /// Returns the operands of a node, each with the position of its entry in the op's declaration. If the op declares
    /// no operands, the position is the operand's number.
    fn operand_positions<'n>(&self, node: &'n Node) -> impl Iterator<Item = (usize, ValueIx)> + use<'n> {
        let declared = node.op.operand_list().unwrap_or_default();
        let given: Vec<usize> =
            node.given_operands.entries().take_while(|position| *position < declared.len()).collect();
        let lists: Vec<bool> = given.iter().map(|position| declared[*position].is_list()).collect();
        let spread: Vec<usize> = spread(&lists, node.operands.len()).map(|number| given[number]).collect();

        node.operands
            .iter()
            .enumerate()
            .map(move |(number, value)| (spread.get(number).copied().unwrap_or(number), *value))
    }

    /// Returns the exported name of a tensor.
    fn tensor_name(&self, value: ValueIx) -> String {
        let info = &self.data.values[value.index()];
        let first = self.data.nodes[info.node.index()].first_output;
        let name = &self.names[info.node.index()];
        match value.0 - first.0 {
            0 => name.clone(),
            output => format!("{name}:{output}"),
        }
    }

    /// Adds an auxiliary node: it computes an input that TensorFlow requires, and the import skips it unless
    /// `is_imported`. Returns its unique name, which begins with `name`.
    fn auxiliary(&mut self, name: &str, mut def: NodeDef) -> String {
        if !self.is_imported {
            put(&mut def, AUXILIARY, AttrKind::B(true));
        }
        self.extra(name, def)
    }

    /// Adds a node that the graph lacks. Returns its unique name, which begins with `name`.
    fn extra(&mut self, name: &str, mut def: NodeDef) -> String {
        let name = unique_name(&mut self.taken, name);
        def.name = name.clone();
        self.nodes.push(def);
        name
    }

    fn dtype(&self, value: ValueIx) -> DType {
        self.data.values[value.index()].dtype
    }
}

/// Returns whether an element mentions a size that has no name.
fn has_unnamed_sizes(elements: &PartialElements) -> bool {
    let mut is_unnamed = false;
    for element in elements.elements() {
        element.symbols(&mut |symbol| is_unnamed |= symbol.is_anonymous());
    }
    is_unnamed
}

/// Returns a node of the op `op` without a name.
fn node_def(op: &str) -> NodeDef {
    NodeDef { op: op.to_string(), ..NodeDef::default() }
}

/// Returns a node of TensorFlow's op `op` with these type attributes, without a name.
fn typed_node(op: &str, inputs: Vec<String>, types: &[(&str, DType)]) -> NodeDef {
    let mut def = NodeDef { input: inputs, ..node_def(op) };
    for (attr, dtype) in types {
        put(&mut def, attr, AttrKind::Type(number_of(*dtype)));
    }
    def
}

fn put(def: &mut NodeDef, name: &str, kind: AttrKind) {
    def.attr.insert(name.to_string(), AttrValue { value: Some(kind) });
}

/// Returns a node of a constant without a name.
fn constant_def(tensor: &Tensor) -> Result<NodeDef> {
    let mut def = node_def("Const");
    put(&mut def, "dtype", AttrKind::Type(number_of(tensor.dtype())));
    put(&mut def, "value", AttrKind::Tensor(Box::new(constant::to_proto(tensor)?)));
    Ok(def)
}
