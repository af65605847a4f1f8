//! `linspace`: evenly spaced numbers.

use shapeflow_shape_fns::{Attrs, DType, Dim};

use crate::dtype::{self, Class};
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{Graph, IntoParam, Value, one_dtype};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widen;

use super::scalar::IntoScalar;

impl Graph {
    /// Makes `num` evenly spaced numbers from `start` to `stop`, both included. One number is `start`.
    ///
    /// `start [], stop [] -> [num]`, floats. As TensorFlow's `LinSpace`. Fuses into kernels.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let [y] = g.compile(g.linspace(1.0, 2.0, 5)?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 1.25, 1.5, 1.75, 2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `num` is less than 1, or `start` and `stop` are not scalars of the same float dtype.
    #[track_caller]
    pub fn linspace<'g>(
        &'g self,
        start: impl IntoScalar<'g>,
        stop: impl IntoScalar<'g>,
        num: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        let sources = [start.into_source(self, location), stop.into_source(self, location)];
        let [start, stop] = one_dtype(self, location, sources);
        self.op(&DEF).data(start).data(stop).size("num", num).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("linspace", lower)
    .operands(&[Operand::Data("start"), Operand::Data("stop"), Operand::Size("num")])
    .shape_fn(shapeflow_shape_fns::array::linspace)
    .dtype_rule(|operands: &[DType], _: &Attrs| {
        dtype::check_indices(operands, 2)?;
        Ok(vec![dtype::common(operands, 0, 2, Class::Float)?])
    })
    .tensorflow(&[TfOp::new("LinSpace")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (start, stop) = (widen(cx.operand(0, &[])), widen(cx.operand(1, &[])));
    let [position] = index else { unreachable!("the shape function makes a vector") };
    let [num] = &cx.output_dims(0)[..] else { unreachable!("the shape function makes a vector") };
    let last = num - 1;
    let dtype = start.dtype();
    let step = (stop.clone() - start.clone()) / Expr::size(last.clone()).cast(dtype);
    let inner = start.clone() + step * Expr::iota(position.clone()).cast(dtype);
    let is_at = |at: Dim| vec![InRange { index: position.clone(), high: &at + 1, low: at }];
    let rounded = cx.output_dtype(output);
    let ends = vec![(is_at(Dim::known(0)), start.cast(rounded)), (is_at(last), stop.cast(rounded))];
    Expr::case(ends, inner.cast(rounded))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"num": shape!["n"]},
        "[]; []" => "[n]",
        "[]; f64[]" => error "operands must have one dtype",
        "i32[]; i32[]" => error "the element type must be a float",
        "[2]; []" => error "rank",
    }
    shape_table! { fed: DEF, {},
        "[]; []; num=i32[]" => "[?]",
    }

    #[test]
    fn both_ends_are_exact() {
        for num in [1i64, 2, 3, 1000] {
            let ends = [tensor(&[], &[0.1f32]), tensor(&[], &[0.7f32])];
            let y = run_one(&DEF, &Attrs::new().with("num", num), &ends).to_vec::<f32>().unwrap();
            let last = if num == 1 { 0.1 } else { 0.7 };
            assert_eq!((y.len(), y[0], *y.last().unwrap()), (num as usize, 0.1, last));
        }
    }
}
