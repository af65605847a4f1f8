//! `split(x, axis)` cuts a tensor into equal parts; `split_v(x, size_splits, axis)` cuts a tensor into parts of given
//! sizes.

use super::propagate::{element_at, propagate_elements};
use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, List, Result, ShapeError, TensorShape};

/// Cuts `x` into `k` equal parts along `axis`, one for each of the `k` outputs: `[4*n], 2 outputs -> [2*n], [2*n]`. If
/// `axis` is unknown, only the ranks of the outputs are known. Sets the derived parameter `axis`, counted from the
/// front.
///
/// # Errors
/// The number of outputs provably does not divide the dimension, or `axis` is outside the rank.
pub fn split(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = input_shape(cx);
    let parts = Dim::known(cx.outputs() as i64);
    let Some((axis, dims)) = axis_and_dims(cx, &input)? else { return Ok(()) };
    let part = cx.exact_div(&dims[axis], &parts).map_err(|_| {
        ShapeError::new(format_args!(
            "a dimension must split into equal parts, got {} into {parts} at axis {axis} of {input}",
            dims[axis]
        ))
        .with_help("split_sizes cuts into parts of given sizes; one of them may be -1 to take the rest")
    })?;
    let mut dims = dims;
    dims[axis] = part.clone();
    for index in 0..cx.outputs() {
        cx.set_output(index, TensorShape::from(dims.as_slice()));
        let begin = Dim::known(index as i64).checked_mul(&part);
        propagate_part(cx, index, axis, begin.ok().as_ref());
    }
    Ok(())
}

/// Sets the elements of the part that starts at `begin` along the axis, if the elements of `x` are tracked.
fn propagate_part(cx: &mut InferenceContext<'_>, output: usize, axis: usize, begin: Option<&Dim>) {
    let value = cx.input_value(cx.operand("x").unwrap_or(0)).cloned();
    let begin = begin.and_then(Dim::as_known).and_then(|begin| usize::try_from(begin).ok());
    let (Some(value), Some(begin)) = (value, begin) else { return };
    propagate_elements(cx, output, |index| {
        let mut source = index.to_vec();
        let position = source.get_mut(axis)?;
        *position = position.checked_add(begin)?;
        element_at(&value, source)
    });
}

/// Gives output `i` the size `size_splits[i]` along `axis`. One size may be -1 and is inferred. Sets the derived
/// parameters `axis`, counted from the front, and `begin`, the offset of each part.
///
/// # Errors
/// The number of sizes differs from the number of outputs, two sizes are -1, a size is less than -1, or the sizes
/// provably do not add up to the dimension.
pub fn split_v(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = input_shape(cx);
    let sizes = cx.param_vector("size_splits")?;
    let count = cx.outputs();
    if let Some(len) = sizes.known_len().filter(|len| *len != count) {
        return Err(cx.blame_param(
            "size_splits",
            format_args!("must have one entry per output, got {len} for {count}"),
        ));
    }
    let Some((axis, dims)) = axis_and_dims(cx, &input)? else { return Ok(()) };
    let whole = dims[axis].clone();
    let parts = match &sizes {
        List::Elements(sizes) => {
            let parts = part_sizes(cx, &whole, sizes);
            Some(parts.map_err(|error| ShapeError::new(format_args!("{error} at axis {axis} of {input}")))?)
        }
        // A single part is the whole dimension.
        _ if count == 1 => Some(vec![whole]),
        _ => None,
    };
    let mut begin = Dim::known(0);
    let mut begins = Vec::with_capacity(count);
    for index in 0..count {
        let mut dims = dims.clone();
        dims[axis] = match &parts {
            Some(parts) => {
                begins.push(begin.clone());
                begin = cx.add(&begin, &parts[index])?;
                parts[index].clone()
            }
            None => {
                begins.push(cx.fresh_integer());
                cx.fresh()
            }
        };
        cx.set_output(index, TensorShape::from(dims));
        propagate_part(cx, index, axis, begins.last());
    }
    cx.set_derived("begin", begins);
    Ok(())
}

/// Returns the sizes of the parts of dimension `whole`, with -1 inferred.
fn part_sizes(cx: &mut InferenceContext<'_>, whole: &Dim, sizes: &[Dim]) -> Result<Vec<Dim>> {
    let mut inferred = None;
    let mut sum = Dim::known(0);
    for (index, size) in sizes.iter().enumerate() {
        match size.as_known() {
            Some(-1) if inferred.replace(index).is_some() => {
                bail!("size_splits must have at most one -1, got more")
            }
            Some(-1) => continue,
            Some(value) if value < -1 => bail!("size_splits must be at least -1, got {value}"),
            Some(_) => {}
            None if !cx.at_least(size, &Dim::known(0)) => {
                // The size may be -1, so the sum cannot be checked and this part is unknown.
                return Ok(sizes
                    .iter()
                    .map(|size| if cx.at_least(size, &Dim::known(0)) { size.clone() } else { cx.fresh() })
                    .collect());
            }
            None => {}
        }
        sum = cx.add(&sum, size)?;
    }
    let mut parts = sizes.to_vec();
    let refuse = |sum: &Dim| {
        let sizes = TensorShape::from(sizes);
        ShapeError::new(format_args!(
            "size_splits must add up to the dimension, got {sizes}, sum {sum}, for {whole}"
        ))
    };
    match inferred {
        Some(inferred) => {
            cx.require(Guard::Ge(whole.clone(), sum.clone())).map_err(|_| refuse(&sum))?;
            parts[inferred] = cx.sub(whole, &sum)?;
        }
        None => {
            cx.merge(whole, &sum).map_err(|_| refuse(&sum))?;
        }
    }
    Ok(parts)
}

/// Returns the shape of operand `x`, which is operand 1 of TensorFlow's `Split` and operand 0 of `SplitV`.
fn input_shape(cx: &InferenceContext<'_>) -> TensorShape {
    cx.input(cx.operand("x").unwrap_or(0)).clone()
}

/// Returns the axis and the dimensions of `input`. If the axis or the rank is unknown, sets the outputs as far as they
/// are known and returns `None`.
fn axis_and_dims(cx: &mut InferenceContext<'_>, input: &TensorShape) -> Result<Option<(usize, Vec<Dim>)>> {
    let Some(dims) = input.dims() else {
        cx.param_scalar("axis")?;
        return Ok(None);
    };
    if dims.is_empty() {
        bail!("a split tensor must have an axis, got a scalar");
    }
    match cx.param_axis("axis", dims.len())? {
        Some(axis) => {
            cx.set_derived("axis", [Dim::known(axis as i64)]);
            Ok(Some((axis, dims.to_vec())))
        }
        None => {
            for index in 0..cx.outputs() {
                let output = cx.unknown_shape_of_rank(dims.len());
                cx.set_output(index, output);
            }
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{split, split_v};
    use crate::testing::shape_table;

    shape_table! { halves: split, ["x", "axis"];
        {axis: 0} "i32 [4] = [n, 1, ?, 4]" => "[2] = [n, 1]; [2] = [v0_2, 4]";
        {axis: 1} "i32 [2, 2] = [n, 1, m, 4]" => "[2, 1] = [n, m]; [2, 1] = [1, 4]";
    }
    shape_table! { elements: split_v, ["x", "size_splits", "axis"];
        {axis: 0, size_splits: [1, -1]} "i32 [3] = [n, 1, ?]" => "[1] = [n]; [2] = [1, v0_2]";
    }
    shape_table! { equal: split, ["x", "axis"];
        {axis: 0} "[4, n]" => "[2, n]; [2, n]";
        {axis: -1} "[3, 2*n]" => "[3, n]; [3, n]";
        {axis: 0} "[n]" => "[floordiv(n, 2)]; [floordiv(n, 2)] if 2 divides n";
        {} "[4, n]; i32 []" => "[?, ?]; [?, ?]";
        {axis: 0} "?" => "?; ?; ?";
        {axis: 0} "[5]" => "error(2 outputs) a dimension must split into equal parts, got 5 into 2 at axis 0 of [5]";
        {} "[4]; i32 []" => "[2]; [2]";
        {axis: 0} "[]" => "error a split tensor must have an axis, got a scalar";
        {axis: 1} "[4]" => "error axis must be in [-1, 1), got 1";
    }

    shape_table! { given: split_v, ["x", "size_splits", "axis"];
        {axis: 0, size_splits: [1, 3]} "[4, n]" => "[1, n]; [3, n]";
        {axis: 0, size_splits: [1, -1]} "[n]" => "[1]; [n-1] if n >= 1";
        {axis: 0, size_splits: [1, 3]} "[n]" => "[1]; [3]";
        {axis: 0} "[n]; [2] = [a, b]" => "[a]; [b]";
        {axis: 0} "[n]; [2] = [1, ?]" => "[1]; [?]";
        {axis: 0} "[n, 3]; i32 [2]" => "[?, 3]; [?, 3]";
        {axis: 0} "[n, 3]; i32 [1]" => "[n, 3]";
        {size_splits: [1, 3]} "[4]; i32 []" => "[1]; [3]";
        {size_splits: [1, 3]} "[4, 4]; i32 []" => "[?, ?]; [?, ?]";
        {axis: 0, size_splits: [2, 2]} "[5]"
            => "error(2 outputs) size_splits must add up to the dimension, got [2, 2], sum 4, for 5 at axis 0 of [5]";
        {axis: 0, size_splits: [-1, -1]} "[5]" => "error(2 outputs) size_splits must have at most one -1, got more";
        {axis: 0, size_splits: [4, -1]} "[3]" => "error(2 outputs) size_splits must add up to the dimension";
        {axis: 0, size_splits: [3]} "[3]" => "error(2 outputs) size_splits must have one entry per output, got 1 for 2";
    }
}
