//! `list_diff`: the elements of a vector that another vector lacks.

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;

use super::keys::keys;
use super::unique::element_and_index_dtypes;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// Returns the elements of `self` that `other` lacks, in their order and with duplicates, and their indices.
    ///
    /// `[n], [m] -> [?], i64[?]`; bool, integers, floats and strings. The number of elements depends on the data. A NaN
    /// equals nothing, and `-0.0` equals `0.0`. As TensorFlow's `ListDiff`, whose second output is i32 by default. Runs
    /// on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let [rest, indices] = g.constant([1, 2, 3, 4, 5, 6])?.list_diff(g.constant([1, 3, 5])?)?;
    /// let [rest, indices] = g.compile([rest, indices])?.run(&[])?;
    /// assert_eq!((rest.to_vec::<i32>()?, indices.to_vec::<i64>()?), (vec![2, 4, 6], vec![1, 3, 5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand is not a vector, or the dtypes differ or are not supported.
    #[doc(alias = "setdiff1d")]
    #[track_caller]
    pub fn list_diff(self, other: impl IntoOperand<'g>) -> Result<[Value<'g>; 2]> {
        let other = other.into_operand(self, std::panic::Location::caller());
        exactly(self.graph().op(&DEF).data(self).data(other).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("list_diff", run)
    .attrs(&[Attribute::dtype_or("out_idx", DType::I64)])
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::array::list_diff)
    .dtype_rule(dtypes)
    .takes_handles(StringHandles::Equality)
    .tensorflow(&[TfOp::new("ListDiff")]);

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::common(operands, 0, 2, dtype::Class::Any)?;
    Ok(element_and_index_dtypes(operands, attrs)?.to_vec())
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, y) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (x, y) = (x.view(), y.view());
    let excluded: FxHashSet<u64> = keys(&y)?.into_iter().flatten().collect();
    let elements = keys(&x)?.into_iter().enumerate();
    let kept: Vec<usize> = elements
        .filter(|(_, key)| key.is_none_or(|key| !excluded.contains(&key)))
        .map(|(position, _)| position)
        .collect();
    let sizes = [kept.len()];
    cx.set_output(0, take(&x, &sizes, 1, kept.iter().copied())?)?;
    let [_, index_dtype] = element_and_index_dtypes(&[x.dtype()], cx.attrs())?;
    cx.set_output(1, int_tensor(index_dtype, &sizes, kept.into_iter())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {},
        "[n]; [m]" => "[?]; i64[?]",
        "[n]; [0]" => "[n]; i64[n]",
        "string[n]; string[m]" => "string[?]; i64[?]",
        "[2]; f64[2]" => error "operands must have one dtype",
        "[2, 3]; [1]" => error "rank 1",
    }

    #[test]
    fn nans_stay_and_zeros_are_equal() {
        let x = tensor(&[5], &[f64::NAN, -0.0, 1.0, 1.0, 2.0]);
        let y = tensor(&[3], &[f64::NAN, 0.0, 2.0]);
        let [kept, indices] = &run(&DEF, &Attrs::new(), &[x, y]).unwrap()[..] else { panic!() };
        let kept = kept.to_vec::<f64>().unwrap();
        assert!(kept[0].is_nan() && kept[1..] == [1.0, 1.0]);
        assert_eq!(indices.to_vec::<i64>().unwrap(), [0, 2, 3]);
    }

    #[test]
    fn strings_are_compared_by_bytes() {
        let x = Tensor::from_strings(&[3], &["b", "", "a"]).unwrap();
        let y = Tensor::from_strings(&[1], &["a"]).unwrap();
        let attrs = Attrs::new().with("out_idx", DType::I32);
        let [kept, indices] = &run(&DEF, &attrs, &[x, y]).unwrap()[..] else { panic!() };
        assert_eq!(kept.as_strings().unwrap().len(), 2);
        assert_eq!(indices.to_vec::<i32>().unwrap(), [0, 1]);
    }
}
