//! Losses and metrics of classifiers.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `features[n, c], labels[n, c] -> loss[n], gradient[n, c]`. The operands broadcast.
///
/// # Errors
/// An operand has more than 2 axes, the broadcast shape does not have rank 2, or the shapes provably do not broadcast.
pub fn softmax_cross_entropy(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (features, labels) = (cx.with_rank_at_most(0, 2)?, cx.with_rank_at_most(1, 2)?);
    let both = match (features.dims(), labels.dims()) {
        (Some(_), Some(_)) => cx.broadcast(&features, &labels)?,
        // Broadcasting keeps every dimension other than 1.
        (Some([batch, classes]), None) | (None, Some([batch, classes])) => {
            let one = Dim::known(1);
            let mut kept = |dim: &Dim| if dim.same(&one) == Some(false) { dim.clone() } else { cx.fresh() };
            TensorShape::new([kept(batch), kept(classes)])
        }
        _ => cx.unknown_shape_of_rank(2),
    };
    let Some(batch) = both.dims().filter(|dims| dims.len() == 2).map(|dims| dims[0].clone()) else {
        return Err(
            cx.blame(1, format_args!("must broadcast with features to rank 2, got {features} and {labels}"))
        );
    };
    cx.set_output(0, TensorShape::new([batch]));
    cx.set_output(1, both);
    Ok(())
}

/// `features[n, c], labels[n] -> loss[n], gradient[n, c]`. A label is the index of a class.
///
/// # Errors
/// An operand has the wrong rank, or the batch sizes provably differ.
pub fn sparse_softmax_cross_entropy(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, classes] = cx.axes::<2>(0)?;
    let [labels] = cx.axes::<1>(1)?;
    let batch = cx.agree("the batch sizes of features and labels", &batch, &labels)?;
    cx.set_output(0, TensorShape::new([batch.clone()]));
    cx.set_output(1, TensorShape::new([batch, classes]));
    Ok(())
}

/// `predictions[n, c], targets[n], k -> [n]`.
///
/// # Errors
/// An operand has the wrong rank, the batch sizes provably differ, or `k` is not one integer.
pub fn in_top_k(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, _] = cx.axes::<2>(0)?;
    let [targets] = cx.axes::<1>(1)?;
    let batch = cx.agree("the batch sizes of predictions and targets", &batch, &targets)?;
    cx.param_scalar("k")?;
    cx.set_output(0, TensorShape::new([batch]));
    Ok(())
}

/// Outputs a scalar.
///
/// # Errors
/// Never fails.
pub fn l2_loss(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{in_top_k, l2_loss, softmax_cross_entropy, sparse_softmax_cross_entropy};
    use crate::testing::shape_table;

    shape_table! { dense: softmax_cross_entropy, ["features", "labels"];
        {} "[?, 3]; [n, ?]" => "[bcast(d0_0, n)]; [bcast(d0_0, n), 3]";
        {} "[n, 3]; [n, ?]" => "[n]; [n, 3] if d1_1 in {1, 3}";
        {} "[2, 3]; [1, 3]" => "[2]; [2, 3]";
        {} "[2, 3]; [3]" => "[2]; [2, 3]";
        {} "?; ?" => "[?]; [?, ?]";
        {} "[1, 3]; ?" => "[?]; [?, 3]";
        {} "[2, 3]; [4, 3]" => "error(2 outputs) dimensions must be equal or 1 to broadcast, got 2 and 4 at axis 0";
        {} "[3]; [3]" => "error(2 outputs) labels must broadcast with features to rank 2, got [3] and [3]";
        {} "[2, 3, 4]; ?" => "error(2 outputs) features must have rank at most 2";
    }
    shape_table! { sparse: sparse_softmax_cross_entropy, ["features", "labels"];
        {} "[?, c]; [n]" => "[n]; [n, c]";
        {} "[2, c]; [3]" => "error(2 outputs) the batch sizes of features and labels must agree, got 2 and 3";
    }
    shape_table! { top: in_top_k, ["predictions", "targets", "k"];
        {k: 2} "[?, c]; [n]" => "[n]";
        {} "[?, c]; [4]; i32 []" => "[4]";
        {} "[?, c]; [4]; i32 [2]" => "error k must be one integer, got rank 1";
        {k: [1, 2]} "[?, c]; [4]" => "error k must be one integer, got [1, 2]";
    }
    shape_table! { squares: l2_loss, ["t"];
        {} "?" => "[]";
    }
}
