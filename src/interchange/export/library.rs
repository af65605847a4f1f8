//! `Library`: the functions of an exported graph. The inputs of a function's nodes name tensors in another way than the
//! inputs of the main graph's nodes: see [`Library::add`].

use std::collections::{BTreeMap, HashMap, HashSet};

use shapeflow_shape_fns::DType;

use super::super::imported::split_name;
use super::super::proto::{ArgDef, AttrKind, FunctionDef, FunctionDefLibrary, NodeDef, OpDefProto};
use super::super::signature::{Argument, ArgumentType, signature};
use super::unique_name::unique_name;
use crate::graph::GraphData;
use crate::op::dtype_number::number_of;

/// The outputs of the ops that the table of signatures lacks, because they have variants or resources.
const OUTPUTS: [(&str, &[&str]); 24] = [
    ("EmptyTensorList", &["handle"]),
    ("HashTableV2", &["table_handle"]),
    ("LookupTableFindV2", &["values"]),
    ("OptionalFromValue", &["optional"]),
    ("OptionalHasValue", &["has_value"]),
    ("OptionalNone", &["optional"]),
    ("RaggedTensorToVariant", &["encoded_ragged"]),
    ("TensorListConcatLists", &["output"]),
    ("TensorListConcatV2", &["tensor", "lengths"]),
    ("TensorListElementShape", &["element_shape"]),
    ("TensorListFromTensor", &["output_handle"]),
    ("TensorListGather", &["values"]),
    ("TensorListGetItem", &["item"]),
    ("TensorListLength", &["length"]),
    ("TensorListPopBack", &["output_handle", "tensor"]),
    ("TensorListPushBack", &["output_handle"]),
    ("TensorListReserve", &["handle"]),
    ("TensorListResize", &["output_handle"]),
    ("TensorListScatter", &["output_handle"]),
    ("TensorListScatterIntoExistingList", &["output_handle"]),
    ("TensorListScatterV2", &["output_handle"]),
    ("TensorListSetItem", &["output_handle"]),
    ("TensorListSplit", &["output_handle"]),
    ("TensorListStack", &["tensor"]),
];

/// The functions of an exported graph.
#[derive(Default)]
pub(super) struct Library {
    functions: Vec<FunctionDef>,
    /// The names in use: see [`unique_name`].
    taken: HashMap<String, u64>,
    /// The functions of graphs that several nodes call.
    pub shared: HashMap<*const GraphData, String>,
    /// The functions of ops that TensorFlow lacks, by a text of the op's name, the dtypes and ranks of its operands,
    /// and its attributes.
    pub of_ops: HashMap<String, String>,
}

/// A tensor that a function returns.
pub(super) struct Returned {
    /// The name of the tensor, as in a main graph.
    pub tensor: String,
    pub dtype: DType,
}

/// Returns the name of argument `number` of a function.
pub(super) fn argument(number: usize) -> String {
    format!("arg{number}")
}

impl Library {
    /// Adds a function, and returns its unique name, which begins with `name`. `arguments` are the dtypes of its
    /// arguments.
    ///
    /// The inputs of `nodes` name tensors as in a main graph: `NODE` or `NODE:2`. In the function, they are `NODE:y:0`
    /// or `NODE:z:1`, with the names of the op's outputs. The outputs of ops that TensorFlow lacks are `NODE:output:2`.
    pub(super) fn add(
        &mut self,
        name: &str,
        arguments: &[DType],
        mut nodes: Vec<NodeDef>,
        results: &[Returned],
    ) -> String {
        let name = unique_name(&mut self.taken, &name.replace(['/', '\\'], "_"));
        let outputs: HashMap<String, Vec<(&str, usize)>> =
            nodes.iter().map(|node| (node.name.clone(), outputs_of(node))).collect();
        let inside = |tensor: &str| {
            let (node, number) = split_name(tensor);
            // Arguments keep their names, and so do control inputs (`^NODE`).
            let Some(outputs) = outputs.get(node) else { return tensor.to_string() };
            let mut before = 0;
            for (output, count) in outputs {
                if number < before + count {
                    return format!("{node}:{output}:{}", number - before);
                }
                before += count;
            }
            // TensorFlow lacks the op, or a user's op with more outputs has the name of one of its ops.
            format!("{node}:output:{}", number - before)
        };
        for input in nodes.iter_mut().flat_map(|node| &mut node.input) {
            *input = inside(input);
        }
        let arg = |name: String, dtype: DType| ArgDef { name, r#type: number_of(dtype), ..ArgDef::default() };
        let result = |number: usize| format!("result{number}");
        let signature = OpDefProto {
            name: name.clone(),
            input_arg: (0..).map(argument).zip(arguments).map(|(name, dtype)| arg(name, *dtype)).collect(),
            output_arg: (0..)
                .map(result)
                .zip(results)
                .map(|(name, result)| arg(name, result.dtype))
                .collect(),
        };
        let ret =
            (0..).map(result).zip(results).map(|(name, result)| (name, inside(&result.tensor))).collect();
        self.functions.push(FunctionDef {
            signature: Some(signature),
            node_def: nodes,
            ret,
            attr: BTreeMap::new(),
            control_ret: BTreeMap::new(),
        });
        name
    }

    /// Returns the number of functions.
    pub(super) fn len(&self) -> usize {
        self.functions.len()
    }

    /// Removes all functions but the first `len`. No other function may name them.
    pub(super) fn truncate(&mut self, len: usize) {
        let removed: HashSet<String> =
            self.functions.drain(len..).map(|function| name_of(&function)).collect();
        self.of_ops.retain(|_, name| !removed.contains(name));
    }

    /// Returns the functions as a message; `None` if there are none.
    pub(super) fn into_message(self) -> Option<FunctionDefLibrary> {
        (!self.functions.is_empty()).then_some(FunctionDefLibrary { function: self.functions })
    }
}

fn name_of(function: &FunctionDef) -> String {
    function.signature.as_ref().map(|signature| signature.name.clone()).unwrap_or_default()
}

/// Returns the named outputs of a node, each with the number of its tensors. Returns none if TensorFlow lacks the op.
fn outputs_of(node: &NodeDef) -> Vec<(&'static str, usize)> {
    let attr = |name: &str| node.attr.get(name).and_then(|attr| attr.value.as_ref());
    if node.op == "OptionalGetValue" {
        let count = match attr("output_types") {
            Some(AttrKind::List(list)) => list.r#type.len(),
            _ => 1,
        };
        return vec![("components", count)];
    }
    if node.op == "RaggedTensorFromVariant" {
        let splits = match attr("output_ragged_rank") {
            Some(AttrKind::I(rank)) => usize::try_from(*rank).unwrap_or(0),
            _ => 0,
        };
        return vec![("output_nested_splits", splits), ("output_dense_values", 1)];
    }
    let Some(signature) = signature(&node.op) else {
        let known = OUTPUTS.iter().find(|(op, _)| *op == node.op);
        return known.map_or(Vec::new(), |(_, names)| names.iter().map(|name| (*name, 1)).collect());
    };
    let count = |argument: &Argument| match (argument.count, argument.dtype) {
        (Some(count), _) => match attr(count) {
            Some(AttrKind::I(count)) => usize::try_from(*count).unwrap_or(0),
            _ => 1,
        },
        (None, ArgumentType::List(list)) => match attr(list) {
            Some(AttrKind::List(list)) => list.r#type.len(),
            _ => 1,
        },
        _ => 1,
    };
    signature.outputs.iter().map(|argument| (argument.name, count(argument))).collect()
}
