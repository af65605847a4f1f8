//! `ensure_shape`: returns its operand, whose shape must fit a given one.

use shapeflow_shape_fns::{Attribute, TensorShape};

use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Returns the same elements with a shape that is unified with `shape`. The run fails if a size differs.
    ///
    /// `[..] -> shape`, any dtype; unknown dimensions of `shape` allow any size. The result has the dimensions of
    /// `shape` also where inference finds others, and the run checks that they are equal: a loop body that ends in
    /// `ensure_shape` keeps the shape of its state. A name that is new to the graph names a dimension that is still
    /// unknown (`?`), and shapes print the name. If inference knows the dimension already, by a number, a name or an
    /// expression, the new name stands for it, and shapes print the dimension. As TensorFlow's `EnsureShape`. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape![?, ?])?.ensure_shape(shape!["n", 3])?;
    /// assert_eq!(x.shape().to_string(), "[n, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes provably differ.
    #[doc(alias = "set_shape")]
    #[track_caller]
    pub fn ensure_shape(self, shape: impl Into<TensorShape>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("shape", shape.into()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("ensure_shape", lower)
    .attrs(&[Attribute::shape("shape")])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::control::ensure_shape)
    .reinterprets()
    .tensorflow(&[TfOp::new("EnsureShape")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::ops::testing::shape_table;

    #[test]
    fn the_result_has_the_stated_shape_and_a_run_checks_it() -> Result<()> {
        use crate::{DType, ErrorKind, Graph, LoopOptions, Tensor, slice};

        fn step(u: Value<'_>) -> Result<Value<'_>> {
            let middle = u.slice_with(&slice![1..-1, 1..-1])?;
            (u + (middle * 0.25).ok()?.pad([[1, 1], [1, 1]])?).ok()
        }
        let g = Graph::new();
        let u = g.input("u", DType::F64, shape!["h", "w"])?;
        let zero = g.constant(0i64)?;
        let next = step(u)?;
        assert_ne!(next.shape(), u.shape());
        let stated = next.ensure_shape(shape!["h", "w"])?;
        assert_eq!(stated.shape(), u.shape());
        // The shape of a loop's state stays, with and without a declaration.
        let plain = g.while_loop(
            &[zero, u],
            |s| s[0].less(2),
            |s| Ok([(s[0] + 1).ok()?, step(s[1])?.ensure_shape(s[1].shape())?]),
        )?;
        let options = LoopOptions::new().shape(1, shape!["h", "w"]);
        let declared = g.while_loop_with(
            &options,
            &[zero, u],
            |s| s[0].less(2),
            |s| Ok([(s[0] + 1).ok()?, step(s[1])?.ensure_shape(shape!["h", "w"])?]),
        )?;
        assert_eq!([plain[1].shape(), declared[1].shape()], [u.shape(), u.shape()]);
        let error = g
            .while_loop_with(&options, &[zero, u], |s| s[0].less(2), |s| Ok([(s[0] + 1).ok()?, step(s[1])?]))
            .unwrap_err();
        assert!(error.help().unwrap_or_default().contains("ensure_shape"), "{error}");
        // Every output that needs the statement is refused for a grid that does not fit.
        for output in [stated, (stated * 2.0).ok()?, plain[1], declared[1]] {
            let exe = g.compile(output)?;
            let run = |sizes: &[usize]| exe.run_all(&[Tensor::full(sizes, 1.0f64)?.view()]);
            assert_eq!(run(&[4, 5])?[0].sizes(), [4, 5]);
            assert_eq!(run(&[1, 5]).unwrap_err().kind(), ErrorKind::Guard);
        }
        // The name of another input is kept, whichever input comes first.
        for (first, second) in [("p", "m"), ("m", "p")] {
            let g = Graph::new();
            let mut inputs = [first, second]
                .map(|name| g.input(name, DType::F64, [shapeflow_shape_fns::Dim::symbol(name)]));
            if first == "m" {
                inputs.reverse();
            }
            let [p, m] = inputs;
            let (p, m) = (p?, m?);
            let rest = p.slice_with(&slice![1..])?.ensure_shape(shape!["m"])?;
            assert_eq!([rest.shape(), m.shape()].map(|shape| shape.to_string()), ["[m]", "[m]"]);
            let exe = g.compile((rest + m).ok()?)?;
            let run = |p: &[f64], m: &[f64]| {
                let (p, m) = (Tensor::from(p.to_vec()), Tensor::from(m.to_vec()));
                let order = if first == "p" { [p.view(), m.view()] } else { [m.view(), p.view()] };
                exe.run_all(&order)
            };
            assert_eq!(run(&[1.0, 2.0, 3.0], &[4.0, 5.0])?[0], Tensor::from([6.0, 8.0]));
            assert!(run(&[1.0, 2.0, 3.0], &[4.0]).is_err());
        }
        Ok(())
    }

    #[test]
    fn sizes_that_depend_on_data_get_names() -> Result<()> {
        use crate::{DType, Dim, Graph, Tensor};

        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let positive = x.boolean_mask(x.greater(0.0)?, 0)?.ensure_shape(shape!["k"])?;
        let small = x.boolean_mask(x.less(3.0)?, 0)?.ensure_shape(shape!["k"])?;
        let counts = g.fill([&Dim::symbol("k"), &Dim::known(2)], 1.0f32)?.reduce_sum(0)?;
        for (output, size) in [((positive * 2.0).ok()?, 2), ((positive + small).ok()?, 2), (counts, 2)] {
            let outputs = [output, positive];
            let exe = g.compile(outputs)?;
            assert_eq!(exe.run_all(&[Tensor::from([1.0f32, -2.0, 3.0]).view()])?[0].sizes(), [size]);
        }
        let exe = g.compile((positive + small).ok()?)?;
        assert!(exe.run_all(&[Tensor::from([1.0f32, 2.0, -3.0]).view()]).is_err());
        Ok(())
    }

    shape_table! { DEF, {"shape": shape![2, ?]},
        "[n, m]" => "[2, m]",
        "string?" => "string[2, ?]",
        "[3, 2]" => error "shapes must agree, got 3 and 2",
        "[2]" => error "rank",
    }
}
