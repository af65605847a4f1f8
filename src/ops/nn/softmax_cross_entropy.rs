//! `softmax_cross_entropy` and `sparse_softmax_cross_entropy`: losses of classifiers, with their gradients.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_dims;
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Returns the cross entropy between the softmax of `self` and the probabilities `labels`, and its gradient with
    /// respect to `self`: `loss[i] = -Σ_j labels[i, j] * log_softmax(self)[i, j]`, and `softmax(self) - labels`.
    ///
    /// `[n, c], [n, c] -> [n], [n, c]`, floats of one dtype; the operands broadcast. f16 and bf16 are computed as f32
    /// and rounded once. As TensorFlow's `SoftmaxCrossEntropyWithLogits`. Fuses into kernels. For labels that are class
    /// indices, as torch's `cross_entropy` takes them, see [`Value::sparse_softmax_cross_entropy`].
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let logits = g.input("logits", DType::F32, shape!["n", 10])?;
    /// let labels = g.input("labels", DType::F32, shape!["n", 10])?;
    /// let [loss, gradient] = logits.softmax_cross_entropy(labels)?;
    /// assert_eq!((loss.shape().to_string(), gradient.shape().to_string()), ("[n]".into(), "[n, 10]".into()));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, or the shapes do not broadcast to rank 2.
    #[doc(alias = "softmax_cross_entropy_with_logits")]
    #[track_caller]
    pub fn softmax_cross_entropy(self, labels: impl IntoOperand<'g>) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let labels = labels.into_operand(self, location);
        let outputs = self.graph().op(&DEF).data(self).data(labels).finish_all_at(location)?;
        Ok([outputs[0], outputs[1]])
    }

    /// Does the same as [`Value::softmax_cross_entropy`] for labels that are class indices:
    /// `loss[i] = -log_softmax(self)[i, labels[i]]`.
    ///
    /// `[n, c], labels [n] -> [n], [n, c]`; `self` holds floats, and `labels` is i32 or i64. The run fails unless
    /// `0 <= labels[i] < c`. As TensorFlow's `SparseSoftmaxCrossEntropyWithLogits`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [loss, _] = g.constant([[0.0, 0.0], [1.0, 2.0]])?.sparse_softmax_cross_entropy(g.constant([0, 1])?)?;
    /// let [loss] = g.compile(loss)?.run(&[])?;
    /// loss.allclose(&Tensor::from([0.6931, 0.3133]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not supported, a rank is wrong, or the batch sizes differ.
    #[doc(alias = "sparse_softmax_cross_entropy_with_logits")]
    #[doc(alias = "cross_entropy")]
    #[track_caller]
    pub fn sparse_softmax_cross_entropy(self, labels: impl IntoOperand<'g>) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let labels = labels.into_own_operand(self.graph(), location);
        let outputs = self.graph().op(&SPARSE).data(self).data(labels).finish_all_at(location)?;
        Ok([outputs[0], outputs[1]])
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("softmax_cross_entropy", lower)
    .operands(&[Operand::Data("features"), Operand::Data("labels")])
    .outputs(|_, _| 2)
    .shape_fn(shape_fns::nn::softmax_cross_entropy)
    .dtype_rule(|dtypes, _| match dtypes.get(1) {
        Some(labels) if labels.is_integer() => dtype::refuse_with_help(
            format!("labels must be probabilities, got {labels}"),
            "labels that are class indices go to .sparse_softmax_cross_entropy(..)".to_string(),
        ),
        _ => Ok(vec![dtype::common(dtypes, 0, 2, dtype::Class::Float)?; 2]),
    })
    .tensorflow(&[TfOp::new("SoftmaxCrossEntropyWithLogits")]);

pub(crate) static SPARSE: OpDef = OpDef::compute("sparse_softmax_cross_entropy", lower_sparse)
    .operands(&[Operand::Data("features"), Operand::Data("labels")])
    .outputs(|_, _| 2)
    .shape_fn(shape_fns::nn::sparse_softmax_cross_entropy)
    .dtype_rule(sparse_dtypes)
    .tensorflow(&[TfOp::new("SparseSoftmaxCrossEntropyWithLogits")]);

fn sparse_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let dtype = dtype::common(dtypes, 0, 1, dtype::Class::Float)?;
    match dtypes.get(1) {
        None | Some(DType::I32 | DType::I64) => Ok(vec![dtype; 2]),
        Some(other) => dtype::refuse_with_help(
            format!("labels must be i32 or i64, got {other}"),
            "cast the labels with .cast(DType::I64)".to_string(),
        ),
    }
}

/// A row of logits, with what its softmax needs.
struct Logits {
    classes: Dim,
    /// The dimensions that the operands broadcast to.
    dims: [Dim; 2],
    row: Index,
    largest: Expr,
    /// The sum of `exp(logit - largest)`.
    sum: Expr,
}

impl Logits {
    fn new(cx: &mut dyn LowerCx, row: Index) -> Logits {
        // Output 1 has the shape that the operands broadcast to.
        let both = cx.output_dims(1);
        let dims = [both[0].clone(), both[1].clone()];
        let classes = dims[1].clone();
        let load = |cx: &mut dyn LowerCx, class: &Index| {
            let read = broadcast_dims(&cx.dims(0), &dims, &[row.clone(), class.clone()]);
            widen(cx.operand(0, &read))
        };
        let extents = [classes.clone()];
        let largest = cx.reduce(ReduceOp::Max, &extents, &mut |cx, inner| load(cx, &inner[0]));
        let sum = cx.reduce(ReduceOp::Sum, &extents, &mut |cx, inner| {
            math::exp_nonpositive(load(cx, &inner[0]) - largest.clone())
        });
        Logits { classes, dims, row, largest, sum }
    }

    /// Returns operand `operand` at a class, broadcast and widened.
    fn operand(&self, cx: &mut dyn LowerCx, operand: usize, class: &Index) -> Expr {
        let read = broadcast_dims(&cx.dims(operand), &self.dims, &[self.row.clone(), class.clone()]);
        widen(cx.operand(operand, &read))
    }

    /// Returns a logit minus the largest logit.
    fn shifted(&self, cx: &mut dyn LowerCx, class: &Index) -> Expr {
        self.operand(cx, 0, class) - self.largest.clone()
    }

    /// Returns the probability of a class.
    fn softmax(&self, cx: &mut dyn LowerCx, class: &Index) -> Expr {
        math::exp_nonpositive(self.shifted(cx, class)) / &self.sum
    }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let logits = Logits::new(cx, index[0].clone());
    let dtype = cx.output_dtype(output);
    if output == 1 {
        return (logits.softmax(cx, &index[1]) - logits.operand(cx, 1, &index[1])).cast(dtype);
    }
    let log = math::log(logits.sum.clone());
    let extents = [logits.classes.clone()];
    let loss = cx.reduce(ReduceOp::Sum, &extents, &mut |cx, inner| {
        logits.operand(cx, 1, &inner[0]) * (&log - logits.shifted(cx, &inner[0]))
    });
    loss.cast(dtype)
}

fn lower_sparse(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let logits = Logits::new(cx, index[0].clone());
    let dtype = cx.output_dtype(output);
    let label = cx.operand(1, &index[..1]);
    let label = cx.checked_index(label, logits.classes.clone(), 1);
    if output == 0 {
        return (math::log(logits.sum.clone()) - logits.shifted(cx, &label)).cast(dtype);
    }
    let softmax = logits.softmax(cx, &index[1]);
    let is_label = Expr::iota(index[1].clone()).equal(Expr::iota(label));
    let target = is_label.select(softmax.like(1.0), softmax.like(0.0));
    (softmax - target).cast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{DEF, SPARSE};
    use crate::ops::testing::{check_tensor, run, shape_table, tensor};

    shape_table! { DEF, {},
        "[n, 3]; [n, 3]" => "[d0_0]; [d0_0, 3]",
        "[2, 3]; [1, 3]" => "[2]; [2, 3]",
        "[3]; [3]" => error "rank 2",
        "[2, 3]; f64[2, 3]" => error "one dtype, got f32 and f64",
        "[2, 3]; i64[2]" => error "labels must be probabilities, got i64",
        "[2, 3]; i32[2, 3]" => error "labels must be probabilities, got i32",
    }
    shape_table! { sparse: SPARSE, {},
        "[n, 3]; i64[n]" => "[d0_0]; [d0_0, 3]",
        "[2, 3]; [2]" => error "labels must be i32 or i64, got f32",
        "[2, 3]; i32[4]" => error "2 and 4",
    }

    /// Both ops against the definition, row by row.
    #[test]
    fn values() {
        let x = [[1.0f64, 2.0, 0.5], [700.0, 1.0, -3.0]];
        let labels = [2usize, 1];
        let (mut losses, mut gradient) = (Vec::new(), Vec::new());
        for (row, label) in x.iter().zip(labels) {
            let largest = row.iter().fold(f64::MIN, |a, b| a.max(*b));
            let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
            losses.push(sum.ln() - (row[label] - largest));
            gradient.extend(
                row.iter()
                    .enumerate()
                    .map(|(class, x)| (x - largest).exp() / sum - f64::from(u8::from(class == label))),
            );
        }
        let x = tensor(&[2, 3], x.as_flattened());
        let expected = [tensor(&[2], &losses), tensor(&[2, 3], &gradient)];
        let sparse = run(&SPARSE, &Attrs::new(), &[x.clone(), tensor(&[2], &[2i32, 1])]).unwrap();
        let dense =
            run(&DEF, &Attrs::new(), &[x, tensor(&[2, 3], &[0.0f64, 0.0, 1.0, 0.0, 1.0, 0.0])]).unwrap();
        for got in [sparse, dense] {
            for (got, expected) in got.iter().zip(&expected) {
                check_tensor(got, expected, "softmax_cross_entropy");
            }
        }
    }

    #[test]
    fn a_label_out_of_range_fails_the_run() {
        for label in [-1i64, 3] {
            let x = tensor(&[1, 3], &[0.0f32; 3]);
            assert!(run(&SPARSE, &Attrs::new(), &[x, tensor(&[1], &[label])]).is_err(), "{label}");
        }
    }
}
