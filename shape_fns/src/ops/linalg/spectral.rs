//! Fourier transforms over the last axes, or over given axes.

use crate::error::bail;
use crate::{Dim, InferenceContext, List, Result, TensorShape, counted, normalize_axis};

/// The kind of a transform, which determines the length of the last transformed axis.
#[derive(Clone, Copy, PartialEq)]
enum TransformKind {
    /// Complex to complex: the given length is the length of the output.
    Complex,
    /// Real to complex: a given length `n` becomes `n/2 + 1` along the last transformed axis.
    Forward,
    /// Complex to real: the given length is the length of the output.
    Inverse,
}

/// Keeps the shape of the operand, which must have at least `N` axes.
///
/// # Errors
/// The rank is less than `N`.
pub fn fft<const N: usize>(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, N)?;
    cx.set_output(0, shape);
    Ok(())
}

/// `input[..batch, d1, …, dN], fft_length=[n1, …, nN] -> [..batch, n1, …, nN/2+1]`. The second half of a real
/// transform is redundant and therefore dropped. A length of 0 stays 0.
///
/// # Errors
/// The operand has fewer than `N` axes, or `fft_length` is not a vector of `N` sizes.
pub fn rfft<const N: usize>(cx: &mut InferenceContext<'_>) -> Result<()> {
    over_last(cx, N, TransformKind::Forward)
}

/// `input[..batch, d1, …, dN], fft_length=[n1, …, nN] -> [..batch, n1, …, nN]`: the inverse of [`rfft`].
///
/// # Errors
/// Same as [`rfft`].
pub fn irfft<const N: usize>(cx: &mut InferenceContext<'_>) -> Result<()> {
    over_last(cx, N, TransformKind::Inverse)
}

/// Sets the output of a transform over the last `count` axes.
fn over_last(cx: &mut InferenceContext<'_>, count: usize, kind: TransformKind) -> Result<()> {
    let input = cx.with_rank_at_least(0, count)?;
    let lengths = cx.param_vector("fft_length")?;
    if let Some(given) = lengths.known_len().filter(|given| *given != count) {
        return Err(cx.blame_param(
            "fft_length",
            format_args!("must have {count}, got {given}", count = counted(count, "element")),
        ));
    }
    let Some(dims) = input.dims() else { return Ok(()) };
    let axes: Vec<usize> = (dims.len() - count..dims.len()).collect();
    let output = transformed(cx, dims, &axes, &lengths, kind)?;
    cx.set_output(0, output);
    Ok(())
}

/// Returns `dims` with the lengths of the transform along `axes`. For [`TransformKind::Forward`], the length along the
/// last of `axes` is [`halved`].
fn transformed(
    cx: &mut InferenceContext<'_>,
    dims: &[Dim],
    axes: &[usize],
    lengths: &List,
    kind: TransformKind,
) -> Result<TensorShape> {
    let mut output = dims.to_vec();
    for (position, axis) in axes.iter().enumerate() {
        let length = match lengths {
            List::Elements(lengths) => lengths.get(position).cloned(),
            _ => None,
        };
        let length = match length {
            Some(length) => {
                cx.require_not_negative("fft_length", &length)?;
                if kind == TransformKind::Forward && position + 1 == axes.len() {
                    halved(cx, &length)?
                } else {
                    length
                }
            }
            None => cx.fresh(),
        };
        if let Some(dim) = output.get_mut(*axis) {
            *dim = length;
        }
    }
    Ok(TensorShape::from(output))
}

/// Returns `n/2 + 1`, or 0 for 0.
fn halved(cx: &mut InferenceContext<'_>, length: &Dim) -> Result<Dim> {
    let (half, one_or_zero) = (cx.floordiv(length, &Dim::known(2))?, cx.min(length, &Dim::known(1))?);
    cx.add(&half, &one_or_zero)
}

/// Sets the size of each axis in `axes` to its entry of `fft_length`. If `axes` is unknown, only the rank of the
/// output is known.
///
/// # Errors
/// An axis is outside the rank or given twice, the lengths of `fft_length` and `axes` differ, or a length is negative.
pub fn fft_along(cx: &mut InferenceContext<'_>) -> Result<()> {
    over_axes(cx, TransformKind::Complex)
}

/// Like [`fft_along`], for real input: the last of `axes` has size `n/2 + 1`.
///
/// # Errors
/// Same as [`fft_along`].
pub fn rfft_along(cx: &mut InferenceContext<'_>) -> Result<()> {
    over_axes(cx, TransformKind::Forward)
}

/// Like [`fft_along`], for real output.
///
/// # Errors
/// Same as [`fft_along`].
pub fn irfft_along(cx: &mut InferenceContext<'_>) -> Result<()> {
    over_axes(cx, TransformKind::Inverse)
}

/// Sets the output of a transform over parameter `axes`.
fn over_axes(cx: &mut InferenceContext<'_>, kind: TransformKind) -> Result<()> {
    let input = cx.input(0).clone();
    let (lengths, named) = (cx.param_vector("fft_length")?, cx.param_vector("axes")?);
    if let (Some(lengths), Some(axes)) = (lengths.known_len(), named.known_len())
        && lengths != axes
    {
        bail!("fft_length and axes must have the same length, got {lengths} and {axes}");
    }
    let Some(dims) = input.dims() else { return Ok(()) };
    let Some(named) = named.as_known() else {
        let output = cx.unknown_shape_of_rank(dims.len());
        cx.set_output(0, output);
        return Ok(());
    };
    let mut axes = Vec::with_capacity(named.len());
    for axis in named {
        let axis = normalize_axis(axis, dims.len()).map_err(|error| cx.blame_param("axes", error))?;
        if axes.contains(&axis) {
            return Err(
                cx.blame_param("axes", format_args!("must not repeat an axis, got axis {axis} twice"))
            );
        }
        axes.push(axis);
    }
    let output = transformed(cx, dims, &axes, &lengths, kind)?;
    cx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{fft, fft_along, irfft, rfft, rfft_along};
    use crate::testing::shape_table;

    shape_table! { complex: fft::<2>, ["input"];
        {} "[b, ?, 3]" => "[b, d0_1, 3]";
        {} "?" => "?";
        {} "[1]" => "error input must have rank at least 2, got rank 1 in [1]";
    }
    shape_table! { forward: rfft::<2>, ["input", "fft_length"];
        {} "[b, ?, ?]; [2] = [9, 10]" => "[b, 9, 6]";
        {} "[?, ?]; [2] = [n, 0]" => "[n, 0]";
        {} "[?, ?]; [2] = [3, n]" => "[3, floordiv(n, 2)+min(1, n)]";
        {} "[1, 2, 3]; i32 [2]" => "[1, ?, ?]";
        {} "?; [2] = [3, 4]" => "?";
        {} "[1, 1]; i32 [3]" => "error fft_length must have 2 elements, got 3";
        {} "[1]; i32 [2]" => "error input must have rank at least 2";
    }
    shape_table! { inverse: irfft::<1>, ["input", "fft_length"];
        {} "[1, ?]; [1] = [11]" => "[1, 11]";
        {} "[1]; i32 ?" => "[?]";
        {} "[1]; i32 [1, 1]" => "error fft_length must be a vector, got rank 2";
    }
    shape_table! { named: fft_along, ["input", "fft_length", "axes"];
        {} "[3, ?, 5]; [2] = [4, 6]; [2] = [0, -1]" => "[4, d0_1, 6]";
        {} "[3, ?, 5]; i32 [2]; [2] = [0, -1]" => "[?, d0_1, ?]";
        {} "[3, ?, 5]; [2] = [4, 6]; i32 [2]" => "[?, ?, ?]";
        {} "[3, 5]; [2] = [4, 6]; [2] = [0, -2]" => "error axes must not repeat an axis, got axis 0 twice";
        {} "[3, 5]; [1] = [4]; i32 [2]" => "error fft_length and axes must have the same length, got 1 and 2";
    }
    shape_table! { real: rfft_along, ["input", "fft_length", "axes"];
        {} "[3, 4, 5]; [2] = [6, 7]; [2] = [2, 0]" => "[4, 4, 6]";
    }
}
