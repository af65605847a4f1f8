//! Calls of the ops whose data operands all have the same sizes.

use shapeflow_shape_fns::{Attr, DType, TensorShape, shape};

use super::draws::Draws;
use crate::error::Result;
use crate::graph::{Graph, Value};
use crate::op::{OpDef, Operand};
use crate::tensor::Tensor;

/// The meaning of an op's structure or size parameter.
#[derive(Clone, Copy)]
pub(super) enum Parameter {
    /// One axis of the operand.
    Axis,
    /// A list of one axis.
    AxisList,
    /// One axis of a result that has one axis more than the operand.
    NewAxis,
    /// Some axes, each at most once.
    Axes,
    /// All axes, each once, in any order.
    Permutation,
    /// A shape with the operand's number of elements.
    Shape,
    /// A positive number for each axis.
    Multiples,
}

impl Parameter {
    fn is_scalar(self) -> bool {
        matches!(self, Parameter::Axis | Parameter::NewAxis)
    }

    fn draw(self, sizes: &[usize], draws: &mut Draws) -> Tensor {
        let rank = sizes.len();
        let signed = |axis: usize, rank: usize, draws: &mut Draws| match draws.below(2) {
            0 => axis as i32,
            _ => axis as i32 - rank as i32,
        };
        let elements: Vec<i32> = match self {
            Parameter::Axis | Parameter::AxisList => vec![signed(draws.below(rank), rank, draws)],
            Parameter::NewAxis => vec![signed(draws.below(rank + 1), rank + 1, draws)],
            Parameter::Axes => {
                let count = draws.below(rank + 1);
                let axes = draws.axes(rank, count);
                axes.into_iter().map(|axis| signed(axis as usize, rank, draws)).collect()
            }
            Parameter::Permutation => draws.axes(rank, rank),
            Parameter::Shape => {
                let axes = draws.axes(rank, rank);
                let mut shape: Vec<i32> = axes.iter().map(|axis| sizes[*axis as usize] as i32).collect();
                (0..draws.below(3)).for_each(|_| shape.insert(0, 1));
                shape
            }
            Parameter::Multiples => (0..rank).map(|_| 1 + draws.below(3) as i32).collect(),
        };
        let sizes = if self.is_scalar() { vec![] } else { vec![elements.len()] };
        Tensor::from_vec(&sizes, elements).unwrap()
    }
}

/// How the test calls an op and feeds it.
pub(super) struct Case {
    pub(super) parameter: Parameter,
    dtype: DType,
    attrs: Vec<(&'static str, Attr)>,
    /// Number of data operands, which all have the same sizes.
    data: usize,
    /// Whether an operand of indices follows the data operands.
    indexed: bool,
}

/// Returns the case of an op of the registry.
pub(super) fn case_of(op: &str) -> Case {
    let case = |parameter| Case { parameter, dtype: DType::F32, attrs: Vec::new(), data: 1, indexed: false };
    match op {
        "expand_dims" => case(Parameter::NewAxis),
        "transpose" => case(Parameter::Permutation),
        "reverse" | "euclidean_norm" => case(Parameter::Axes),
        "reduce_any" | "reduce_all" => Case { dtype: DType::Bool, ..case(Parameter::Axes) },
        "conjugate_transpose" => Case { dtype: DType::C64, ..case(Parameter::Permutation) },
        "complex_prod" => Case { dtype: DType::C64, ..case(Parameter::Axes) },
        _ if op.starts_with("reduce_") => case(Parameter::Axes),
        "softmax"
        | "log_softmax"
        | "cumsum"
        | "cumprod"
        | "cumulative_logsumexp"
        | "argmax"
        | "argmin"
        | "sort"
        | "argsort" => case(Parameter::Axis),
        "unique_slices" | "unique_slices_with_counts" => case(Parameter::AxisList),
        "roll" => Case { attrs: vec![("shift", Attr::from(3))], ..case(Parameter::Axis) },
        "gather" => Case { indexed: true, ..case(Parameter::Axis) },
        "concat" => Case { data: 3, ..case(Parameter::Axis) },
        "split" => Case { attrs: vec![("num", Attr::from(2))], ..case(Parameter::Axis) },
        "split_sizes" => {
            let attrs = vec![("num", Attr::from(2)), ("size_splits", Attr::from([1, -1]))];
            Case { attrs, ..case(Parameter::Axis) }
        }
        "reshape" => case(Parameter::Shape),
        "tile" => case(Parameter::Multiples),
        _ => panic!("say here or in programs.rs how {op} is fed: it has a structure operand"),
    }
}

/// Returns the parameter that a run feeds: the structure parameter, or a size parameter of unknown length.
pub(super) fn fed_parameter(def: &OpDef) -> Option<&'static str> {
    let list = def.operand_list().unwrap_or_default();
    list.iter().find_map(|operand| match operand {
        Operand::Structure(name) => Some(*name),
        Operand::Size(name) if matches!(def.name(), "reshape" | "tile") => Some(*name),
        _ => None,
    })
}

/// Builds a call of the op on inputs for its data and its parameter.
pub(super) fn build<'g>(
    graph: &'g Graph,
    op: &'static str,
    case: &Case,
    parameter: &'static str,
    shape: &TensorShape,
) -> Result<Vec<Value<'g>>> {
    let op = crate::op::Registry::builtin().get(op).unwrap();
    let data: Vec<Value<'g>> = (0..case.data + usize::from(case.indexed))
        .map(|number| {
            if number == case.data {
                return graph.input("indices", DType::I32, shape![?]);
            }
            graph.input(&format!("x{number}"), case.dtype, shape.clone())
        })
        .collect::<Result<_>>()?;
    let parameter_shape = if case.parameter.is_scalar() { shape![] } else { shape![?] };
    let value = graph.input("parameter", DType::I32, parameter_shape)?;
    let call = graph.op(op).data_all(&data).structure(parameter, value);
    case.attrs.iter().fold(call, |call, (name, attr)| call.attr(name, attr.clone())).finish_all()
}

/// Draws data of these sizes and a parameter that fits them.
pub(super) fn draw_feeds(case: &Case, sizes: &[usize], draws: &mut Draws) -> Vec<Tensor> {
    let len = sizes.iter().product();
    let mut feeds: Vec<Tensor> = (0..case.data)
        .map(|_| match case.dtype {
            DType::Bool => Tensor::from_vec(sizes, (0..len).map(|_| draws.below(4) > 0).collect()),
            DType::C64 => {
                let parts: Vec<f32> = (0..2 * len).map(|_| draws.below(16) as f32 / 8.0 - 1.0).collect();
                Tensor::from_bits(DType::C64, sizes, &parts)
            }
            _ => Tensor::from_vec(sizes, (0..len).map(|_| draws.below(64) as f32 / 8.0 - 4.0).collect()),
        })
        .collect::<Result<_>>()
        .unwrap();
    if case.indexed {
        // Every size is at least 2.
        feeds.push(Tensor::from_vec(&[3], (0..3).map(|_| draws.below(2) as i32).collect()).unwrap());
    }
    feeds.push(case.parameter.draw(sizes, draws));
    feeds
}
