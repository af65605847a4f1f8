//! Set operations on sets that are rows of dense or sparse tensors.

use std::collections::BTreeSet;
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::array::unstack::exactly;
use crate::tensor::Tensor;

use super::groups::Groups;

/// An operation on two sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SetOperation {
    /// The elements of the first set that the second lacks.
    Difference,
    /// The elements of the second set that the first lacks.
    ReversedDifference,
    /// The elements of both sets.
    Intersection,
    /// The elements of either set.
    Union,
}

impl SetOperation {
    const ALL: [SetOperation; 4] = [
        SetOperation::Difference,
        SetOperation::ReversedDifference,
        SetOperation::Intersection,
        SetOperation::Union,
    ];

    /// Returns TensorFlow's name.
    fn name(self) -> &'static str {
        match self {
            SetOperation::Difference => "a-b",
            SetOperation::ReversedDifference => "b-a",
            SetOperation::Intersection => "intersection",
            SetOperation::Union => "union",
        }
    }

    fn apply(self, a: &BTreeSet<i64>, b: &BTreeSet<i64>) -> Vec<i64> {
        match self {
            SetOperation::Difference => a.difference(b).cloned().collect(),
            SetOperation::ReversedDifference => b.difference(a).cloned().collect(),
            SetOperation::Intersection => a.intersection(b).cloned().collect(),
            SetOperation::Union => a.union(b).cloned().collect(),
        }
    }
}

impl<'g> Value<'g> {
    /// Combines each set of `self` with the set of `other` at the same index. A set is a row of the last axis.
    /// Duplicates in a row count once.
    ///
    /// `[g.., m], [g.., n] -> i64[?, r], [?], i64[r]` for tensors of rank `r`: the indices, elements and sizes of a
    /// sparse tensor of sets, with the elements of each set in ascending order. i8, i16, i32, i64, u8, u16 and strings.
    /// As TensorFlow's `DenseToDenseSetOperation`; imported graphs may also combine sparse tensors. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, SetOperation};
    ///
    /// let g = Graph::new();
    /// let (a, b) = (g.constant([[1, 2, 2], [3, 4, 5]])?, g.constant([[2, 9], [5, 3]])?);
    /// let [indices, elements, sizes] = a.set_operation(b, SetOperation::Intersection)?;
    /// let [indices, elements, sizes] = g.compile([indices, elements, sizes])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 1, 0, 1, 1]);
    /// assert_eq!(elements.to_vec::<i32>()?, [2, 3, 5]);
    /// assert_eq!(sizes.to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is less than 2, the leading axes differ, or the dtypes differ or are not supported.
    #[track_caller]
    pub fn set_operation(
        self,
        other: impl IntoOperand<'g>,
        operation: SetOperation,
    ) -> Result<[Value<'g>; 3]> {
        let other = other.into_operand(self, Location::caller());
        let call = self.graph().op(&DENSE).data(self).data(other);
        exactly(call.attr("set_operation", operation.name()).finish_all()?)
    }
}

pub(crate) static DENSE: OpDef = OpDef::host("set_operation", |cx| {
    let sets = [Groups::of_dense(&cx.input(0)?)?, Groups::of_dense(&cx.input(1)?)?];
    combine(cx, 0, &sets)
})
.attrs(&[Attribute::str_or("set_operation", "a-b"), Attribute::bool_or("validate_indices", true)])
.operands(&[Operand::Data("set1"), Operand::Data("set2")])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::sparse::dense_to_dense_set)
.dtype_rule(|operands, _| dtypes(operands, [0, 1]))
.takes_handles(StringHandles::Order)
.tensorflow(&[TfOp::new("DenseToDenseSetOperation")]);

/// An op for import only.
pub(crate) static DENSE_SPARSE: OpDef = OpDef::host("dense_to_sparse_set_operation", |cx| {
    let sets = [Groups::of_dense(&cx.input(0)?)?, Groups::of_sparse(cx, 1)?];
    combine(cx, 0, &sets)
})
.attrs(&[Attribute::str_or("set_operation", "a-b"), Attribute::bool_or("validate_indices", true)])
.operands(&[
    Operand::Data("set1"),
    Operand::Data("set2_indices"),
    Operand::Data("set2_values"),
    Operand::Data("set2_shape"),
])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::sparse::dense_to_sparse_set)
.dtype_rule(|operands, _| dtypes(operands, [0, 2]))
.takes_handles(StringHandles::Order)
.tensorflow(&[TfOp::new("DenseToSparseSetOperation")]);

/// An op for import only.
pub(crate) static SPARSE: OpDef = OpDef::host("sparse_to_sparse_set_operation", |cx| {
    let sets = [Groups::of_sparse(cx, 0)?, Groups::of_sparse(cx, 3)?];
    combine(cx, 1, &sets)
})
.attrs(&[Attribute::str_or("set_operation", "a-b"), Attribute::bool_or("validate_indices", true)])
.operands(&[
    Operand::Data("set1_indices"),
    Operand::Data("set1_values"),
    Operand::Data("set1_shape"),
    Operand::Data("set2_indices"),
    Operand::Data("set2_values"),
    Operand::Data("set2_shape"),
])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::sparse::sparse_to_sparse_set)
.dtype_rule(|operands, _| dtypes(operands, [1, 4]))
.takes_handles(StringHandles::Order)
.tensorflow(&[TfOp::new("SparseToSparseSetOperation")]);

/// The dtype rule: operands `values` hold the elements; all other operands are i64.
fn dtypes(operands: &[DType], values: [usize; 2]) -> Result<Vec<DType>> {
    let elements: Vec<DType> = values.iter().filter_map(|at| operands.get(*at).copied()).collect();
    let element = set_dtype(&elements)?;
    let others = operands.iter().enumerate().filter(|(at, _)| !values.contains(at));
    match others.map(|(_, dtype)| *dtype).find(|dtype| *dtype != DType::I64) {
        Some(other) => dtype::refuse(format!("indices and sizes must be i64, got {other}")),
        None => Ok(vec![DType::I64, element, DType::I64]),
    }
}

/// Returns the common dtype of the elements of sets.
pub(super) fn set_dtype(elements: &[DType]) -> Result<DType> {
    match dtype::common(elements, 0, elements.len(), dtype::Class::Any)? {
        element @ (DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::U8 | DType::U16) => Ok(element),
        DType::String => Ok(DType::String),
        other => dtype::refuse(format!(
            "elements of sets must be i8, i16, i32, i64, u8, u16 or strings, got {other}"
        )),
    }
}

/// Returns attribute `set_operation`.
fn operation(attrs: &Attrs) -> Result<SetOperation> {
    let given = attrs.str("set_operation").to_string();
    let found = SetOperation::ALL.into_iter().find(|operation| operation.name() == given);
    found.ok_or_else(|| {
        let message = format!("set_operation must be a-b, b-a, intersection or union, got {given}");
        Error::new(ErrorKind::Attribute, Phase::Run, message)
    })
}

fn combine(cx: &mut HostCx<'_>, values: usize, [a, b]: &[Groups; 2]) -> Result<()> {
    let operation = operation(cx.attrs())?;
    if a.sizes != b.sizes {
        let message = format!("the leading axes of sets must agree, got {:?} and {:?}", a.sizes, b.sizes);
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let groups: BTreeSet<&Vec<i64>> = a.sets.keys().chain(b.sets.keys()).collect();
    let (mut indices, mut elements, mut longest) = (Vec::new(), Vec::new(), 0);
    for group in groups {
        let set = |sets: &Groups| sets.sets.get(group).cloned().unwrap_or_default();
        let result = operation.apply(&set(a), &set(b));
        longest = longest.max(result.len());
        for (position, member) in result.into_iter().enumerate() {
            indices.extend(group.iter().copied().chain([position as i64]));
            elements.push(member);
        }
    }
    let rank = a.sizes.len() + 1;
    let dtype = cx.input(values)?.dtype();
    cx.set_output(0, Tensor::from_vec(&[elements.len(), rank], indices)?)?;
    cx.set_output(1, element_tensor(&elements, dtype)?)?;
    let sizes: Vec<i64> = a.sizes.iter().copied().chain([longest as i64]).collect();
    cx.set_output(2, Tensor::from_vec(&[rank], sizes)?)
}

/// Makes a vector of elements of sets. A string result is made as i64 handles: integers that stand for the strings
/// ([`StringHandles`]).
fn element_tensor(elements: &[i64], dtype: DType) -> Result<Tensor> {
    let mut result = Tensor::zeros(dtype, &[elements.len()])?;
    let mut view = result.view_mut()?;
    for (position, element) in elements.iter().enumerate() {
        let slot = view.element_mut(position).expect("the tensor has an element for each position");
        eval_cast(Scalar::I64(*element), dtype).write_bytes(slot).expect("a slot has the size of the dtype");
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DENSE, {"set_operation": "union"},
        "i32[n, 2]; i32[n, 3]" => "i64[?, 2]; i32[?]; i64[2]",
        "i32[2, 2]; i32[3, 2]" => error "all axes of the sets except the last must agree",
        "[n, 2]; [n, 2]" => error "elements of sets must be i8, i16",
    }
    shape_table! { sparse: SPARSE, {"set_operation": "a-b"},
        "i64[m, 2]; string[m]; i64[2]; i64[n, 2]; string[n]; i64[2]" => "i64[?, 2]; string[?]; i64[2]",
        "i32[m, 2]; i32[m]; i64[2]; i64[n, 2]; i32[n]; i64[2]" => error "indices and sizes must be i64, got i32",
    }
    shape_table! { mixed: DENSE_SPARSE, {},
        "i8[k, 3]; i64[n, 2]; i8[n]; i64[2]" => "i64[?, 2]; i8[?]; i64[2]",
    }

    #[test]
    fn duplicates_count_once_and_results_ascend() {
        let dense = [tensor(&[2, 3], &[1, 2, 2, 5, 4, 3i32]), tensor(&[2, 2], &[2, 3, 9, 9i32])];
        let cases: [(&str, &[i32], &[i64], i64); 4] = [
            ("a-b", &[1, 3, 4, 5], &[0, 0, 1, 0, 1, 1, 1, 2], 3),
            ("b-a", &[3, 9], &[0, 0, 1, 0], 1),
            ("intersection", &[2], &[0, 0], 1),
            ("union", &[1, 2, 3, 3, 4, 5, 9], &[0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2, 1, 3], 4),
        ];
        for (name, elements, indices, longest) in cases {
            let outputs = run(&DENSE, &Attrs::new().with("set_operation", name), &dense).unwrap();
            assert_eq!(outputs[0].to_vec::<i64>().unwrap(), indices, "{name}");
            assert_eq!(outputs[1].to_vec::<i32>().unwrap(), elements, "{name}");
            assert_eq!(outputs[2].to_vec::<i64>().unwrap(), [2, longest], "{name}");
        }
    }

    #[test]
    fn sparse_indices_must_ascend_and_lie_within_the_sizes() {
        let message = |indices: &[i64]| {
            let sparse = [tensor(&[2, 2], indices), tensor(&[2], &[1, 2u8]), tensor(&[2], &[2, 2i64])];
            let operands = [sparse.clone(), sparse].concat();
            run(&SPARSE, &Attrs::new(), &operands).map(|_| ()).unwrap_err().message().to_string()
        };
        assert_eq!(
            message(&[0, 1, 0, 0]),
            "indices must ascend, got [0, 0] after [0, 1] at [1] in operand 0"
        );
        assert_eq!(message(&[0, 1, 2, 0]), "an index must lie within [2, 2], got [2, 0] at [1] in operand 0");
    }
}
