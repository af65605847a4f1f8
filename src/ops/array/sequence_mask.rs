//! `sequence_mask`: the first places of a new axis on, so many in every row.

use shapeflow_shape_fns::{Attrs, DType, InferenceContext, TensorShape};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand};

impl<'g> Value<'g> {
    /// A new last axis of size `maxlen`, on which as many of the first elements are true as `self` says: none for a
    /// negative number, all for one beyond.
    ///
    /// `[d0, …] -> bool[d0, …, maxlen]`; `self` holds integers. TensorFlow's `tf.sequence_mask`.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let mask = g.constant([1, 3])?.sequence_mask(3)?;
    /// let [y] = g.compile(mask)?.run(&[])?;
    /// assert_eq!(y.to_vec::<bool>()?, [true, false, false, true, true, true]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are no integers, or `maxlen` is negative.
    #[track_caller]
    pub fn sequence_mask(self, maxlen: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("maxlen", maxlen).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("sequence_mask", lower)
    .operands(&[Operand::Data("lengths"), Operand::Size("maxlen")])
    .shape_fn(shape)
    .dtype_rule(dtypes);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let most = cx.make_dim_for_scalar_input("maxlen")?;
    let shape = cx.input(0).concatenate(&TensorShape::new([most]));
    cx.set_output(0, shape);
    Ok(())
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(operands, 0, 1, dtype::Class::Integer)?;
    dtype::indices(operands, 1)?;
    Ok(vec![DType::Bool])
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let Some((place, row)) = index.split_last() else { return Expr::constant(false) };
    let length = cx.operand(0, row);
    // Places that are all i32 are compared as that, which takes half the room.
    let most = cx.output_dims(output).last().and_then(|most| most.as_known());
    let is_small = length.dtype() == DType::I32 && most.is_some_and(|most| i32::try_from(most).is_ok());
    let dtype = if is_small { DType::I32 } else { DType::I64 };
    let place = Expr::iota(place.clone()).cast(dtype);
    match length.dtype() {
        // Beyond the places of i64, and so beyond every axis.
        DType::U64 => place.cast(DType::U64).less(length),
        _ => place.less(length.cast(dtype)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{recorded, run_one, shape_table, tensor};

    shape_table! { DEF, {"maxlen": 4},
        "i32[n, 3]" => "bool[n, 3, 4]",
        "u8[]" => "bool[4]",
        "[n]" => error "the element type must be an integer, got f32",
    }
    shape_table! { fed: DEF, {},
        "i32[n]; maxlen=i64[]" => "bool[n, ?]",
    }
    shape_table! { negative: DEF, {"maxlen": -1},
        "i32[n]" => error "maxlen must not be negative, got -1",
    }

    #[test]
    fn values_are_those_recorded() {
        recorded(&DEF);
    }

    #[test]
    fn lengths_of_all_integers() {
        let attrs = Attrs::new().with("maxlen", 2);
        let expected = [true, false, true, true];
        assert_eq!(
            run_one(&DEF, &attrs, &[tensor(&[2], &[1, u64::MAX])]).to_vec::<bool>().unwrap(),
            expected
        );
        assert_eq!(run_one(&DEF, &attrs, &[tensor(&[2], &[1, i8::MAX])]).to_vec::<bool>().unwrap(), expected);
    }
}
