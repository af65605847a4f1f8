//! Quantization that is simulated on floats.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `inputs[..], min[], max[] -> [..]`.
///
/// # Errors
/// `min` or `max` is not a scalar.
pub fn fake_quantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalars(&["min", "max"])?;
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
}

/// `gradients[..], inputs[..], min[], max[] -> [..], [], []`.
///
/// # Errors
/// `min` or `max` is not a scalar, or the first two shapes provably differ.
pub fn fake_quantize_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalars(&["min", "max"])?;
    let (gradients, inputs) = (cx.input(0).clone(), cx.input(1).clone());
    let shape = cx.merge_shapes(&gradients, &inputs).map_err(|error| error.operand(1))?;
    cx.set_output(0, shape);
    cx.set_output(1, TensorShape::scalar());
    cx.set_output(2, TensorShape::scalar());
    Ok(())
}

/// Unifies the last dimension of `shape` with the lengths of `min` and `max`. Returns the shape and the number of
/// channels.
fn unify_channels(cx: &mut InferenceContext<'_>, shape: TensorShape) -> Result<(TensorShape, Dim)> {
    let mut channels: Option<Dim> = shape.dim(-1).cloned();
    for name in ["min", "max"] {
        let Some(index) = cx.operand(name) else { continue };
        let [length] = cx.axes::<1>(index)?;
        channels = Some(match channels {
            Some(channels) => {
                let what = format!("the number of channels and the length of {name}");
                cx.agree(&what, &channels, &length)?
            }
            None => length,
        });
    }
    let channels = channels.unwrap_or_else(|| cx.fresh());
    let output = match shape.dims().and_then(<[Dim]>::split_last) {
        Some((_, leading)) => TensorShape::from(leading).concatenate(&TensorShape::new([channels.clone()])),
        None => shape,
    };
    Ok((output, channels))
}

/// `inputs[.., c], min[c], max[c] -> [.., c]`.
///
/// # Errors
/// `inputs` is a scalar, `min` or `max` is not a vector, or the numbers of channels provably differ.
pub fn fake_quantize_channels(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 1)?;
    let (output, _) = unify_channels(cx, shape)?;
    cx.set_output(0, output);
    Ok(())
}

/// `gradients[.., c], inputs[.., c], min[c], max[c] -> [.., c], [c], [c]`. The rank is at most 4.
///
/// # Errors
/// Same as [`fake_quantize_channels`], the shapes of gradients and inputs provably differ, or the rank exceeds 4.
pub fn fake_quantize_channels_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let gradients = cx.with_rank_at_least(0, 1)?;
    cx.with_rank_at_most(0, 4)?;
    let inputs = cx.input(1).clone();
    let shape = cx.merge_shapes(&gradients, &inputs).map_err(|error| error.operand(1))?;
    let (output, channels) = unify_channels(cx, shape)?;
    cx.set_output(0, output);
    cx.set_output(1, TensorShape::new([channels.clone()]));
    cx.set_output(2, TensorShape::new([channels]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{fake_quantize, fake_quantize_channels, fake_quantize_channels_grad, fake_quantize_grad};
    use crate::testing::shape_table;

    shape_table! { per_tensor: fake_quantize, ["inputs", "min", "max"];
        {} "[n, ?]; []; ?" => "[n, d0_1]";
        {} "[n, ?]; []; [1]" => "error max must have rank 0";
    }
    shape_table! { per_tensor_gradient: fake_quantize_grad, ["gradients", "inputs", "min", "max"];
        {} "[n, ?]; [?, 3]; []; ?" => "[n, 3]; []; []";
    }
    shape_table! { per_channel: fake_quantize_channels, ["inputs", "min", "max"];
        {} "[n, ?]; [?]; [3]" => "[n, 3]";
        {} "?; [?]; [3]" => "?";
        {} "[n, 3]; [2]; [3]" => "error the number of channels and the length of min must agree, got 3 and 2";
        {} "[]; ?; ?" => "error inputs must have rank at least 1";
    }
    shape_table! { per_channel_gradient: fake_quantize_channels_grad, ["gradients", "inputs", "min", "max"];
        {} "[n, ?]; [?, ?]; [3]; ?" => "[n, 3]; [3]; [3]";
        {} "?; ?; ?; ?" => "?; [?]; [?]";
        {} "[1, 2, 3, 4, 5]; ?; ?; ?" => "error(3 outputs) gradients must have rank at most 4";
    }
}
