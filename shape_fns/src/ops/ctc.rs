//! Shape functions of connectionist temporal classification (CTC).

use crate::error::bail;
use crate::infer::registered::{Registered, row};
use crate::{Dim, InferenceContext, Result, TensorShape};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("CTCBeamSearchDecoder", &["inputs", "sequence_length"], ctc_decode).outputs(None),
    row("CTCGreedyDecoder", &["inputs", "sequence_length"], ctc_decode).outputs(Some(4)),
    row("CTCLoss", &["inputs", "labels_indices", "labels_values", "sequence_length"], ctc_loss).outputs(Some(2)),
    row("CTCLossV2", &["inputs", "labels_indices", "labels_values", "sequence_length"], ctc_loss).outputs(Some(2)),
];

/// `inputs[time, batch, classes], labels_indices[n, 2], labels_values[n], sequence_length[batch]` to `loss[batch]` and
/// `gradient[time, batch, classes]`.
///
/// # Errors
/// An operand has the wrong rank, or the batch sizes or the numbers of labels provably differ.
pub fn ctc_loss(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [time, batch, classes] = cx.axes::<3>(0)?;
    let ([rows, _], [labels]) = (cx.axes::<2>(1)?, cx.axes::<1>(2)?);
    cx.agree("the numbers of label indices and of label values", &rows, &labels)
        .map_err(|error| error.operand(2))?;
    let batch = batch_of(cx, &batch, 3)?;
    cx.set_output(0, TensorShape::new([batch.clone()]));
    cx.set_output(1, TensorShape::new([time, batch, classes]));
    Ok(())
}

/// `inputs[time, batch, classes], sequence_length[batch]` to `top_paths` sparse matrices of labels and the log
/// probability of each path.
///
/// The outputs are the indices `[n, 2]` of all paths, then the values `[n]` of all paths, then the dense shapes `[2]`
/// of all paths, then `log_probability[batch, top_paths]`. The numbers of labels `n` depend on the data. `top_paths`
/// defaults to 1.
///
/// # Errors
/// An operand has the wrong rank, the batch sizes provably differ, or `top_paths` is less than 1.
pub fn ctc_decode(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [_, batch, _] = cx.axes::<3>(0)?;
    let batch = batch_of(cx, &batch, 1)?;
    let paths = cx.int_or("top_paths", 1)?;
    let Some(count) = usize::try_from(paths).ok().filter(|count| *count > 0) else {
        bail!("top_paths must be at least 1, got {paths}");
    };
    let paths_with_outputs = count.min(cx.outputs());
    for path in 0..paths_with_outputs {
        let labels = cx.fresh();
        cx.set_output(path, TensorShape::new([labels.clone(), Dim::known(2)]));
        cx.set_output(paths_with_outputs.saturating_add(path), TensorShape::new([labels]));
        cx.set_output(
            paths_with_outputs.saturating_mul(2).saturating_add(path),
            TensorShape::new([Dim::known(2)]),
        );
    }
    cx.set_output(paths_with_outputs.saturating_mul(3), TensorShape::new([batch, Dim::known(paths)]));
    Ok(())
}

/// Unifies the batch size of `inputs` with the length of `sequence_length` (operand `lengths`).
fn batch_of(cx: &mut InferenceContext<'_>, batch: &Dim, lengths: usize) -> Result<Dim> {
    let [sequences] = cx.axes::<1>(lengths)?;
    cx.agree("the batch sizes of inputs and of sequence_length", batch, &sequences)
        .map_err(|error| error.operand(lengths))
}

#[cfg(test)]
mod tests {
    use super::{ctc_decode, ctc_loss};
    use crate::testing::shape_table;

    shape_table! { losses: ctc_loss, ["inputs", "labels_indices", "labels_values", "sequence_length"];
        {} "[t, ?, 6]; ?; ?; i32 [4]" => "[4]; [t, 4, 6]";
        {} "[t, b, c]; i64 [7, 2]; i32 [?]; ?" => "[b]; [t, b, c]";
        {} "[10, 5, 6]; ?; ?; i32 [4]" => "error(2 outputs) the batch sizes of inputs and of sequence_length must agree, got 5 and 4";
        {} "?; i64 [8, 2]; i32 [7]; ?" => "error(2 outputs) the numbers of label indices and of label values must agree, got 8 and 7";
    }
    shape_table! { decoded: ctc_decode, ["inputs", "sequence_length"];
        {} "[10, ?, 6]; i32 [4]" => "[?, 2]; [?]; [2]; [4, 1]";
        {top_paths: 2} "[10, b, 6]; i32 [?]" => "[?, 2]; [?, 2]; [?]; [?]; [2]; [2]; [b, 2]";
        {top_paths: 0} "[10, b, 6]; ?" => "error(4 outputs) top_paths must be at least 1, got 0";
        {} "[10, 6]; ?" => "error(4 outputs) inputs must have rank 3";
    }
}
