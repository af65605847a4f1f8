//! `reshape(x, shape)`: the elements of `x` in row-major order with other sizes.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, List, PartialElements, Result, TensorShape};

/// Sets the output's sizes to `shape`. One size may be -1 and is inferred from the number of elements:
/// `[n, 4], shape=[-1] -> [4*n]` and `[4*n], shape=[-1, 4] -> [n, 4]`.
///
/// An element of `shape` that may be -1 gives an unknown dimension. If only one element may be -1, its dimension is
/// inferred instead.
///
/// If another size is 0, -1 stands for the product of the input's sizes that are not 0, divided by the product of the
/// other sizes that are not 0: `[7, 0, 0, 2], shape=[0, -1] -> [0, 14]`. A symbol that `shape` and the input share
/// cancels: `[n, m, 2], shape=[n, -1] -> [n, 2*m]` for every `n`.
///
/// # Errors
/// Two sizes are -1, a size is less than -1, or the numbers of elements provably differ.
pub fn reshape(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let output = match cx.param_vector("shape")? {
        List::Elements(sizes) => with_sizes(cx, &input, &sizes)?,
        // A single size is the number of elements, whether it is given or inferred.
        List::Unknown(Some(1)) if input.rank().is_some() => {
            TensorShape::new([input.num_elements().unwrap_or_else(|| cx.fresh())])
        }
        List::Unknown(Some(rank)) => cx.unknown_shape_of_rank(rank),
        List::Unknown(None) | List::Absent => TensorShape::unranked(),
    };
    if let (Some(sizes), Some(value)) = (output.as_known(), cx.input_value(0))
        && let Ok(value) = PartialElements::with_sizes(&sizes, value.elements().iter().cloned())
    {
        cx.set_output_value(0, value);
    }
    cx.set_output(0, output);
    Ok(())
}

/// Returns the output shape for the requested `sizes`, with -1 inferred.
fn with_sizes(cx: &mut InferenceContext<'_>, input: &TensorShape, sizes: &[Dim]) -> Result<TensorShape> {
    let (mut inferred, mut undecided) = (None, Vec::new());
    for (axis, size) in sizes.iter().enumerate() {
        match size.as_known() {
            Some(-1) => {
                if let Some(first) = inferred.replace(axis) {
                    return Err(cx.blame_param(
                        "shape",
                        format_args!("must have at most one -1, got -1 at axes {first} and {axis}"),
                    ));
                }
                continue;
            }
            Some(value) if value < -1 => {
                return Err(
                    cx.blame_param("shape", format_args!("must have sizes of at least -1, got {value}"))
                );
            }
            Some(_) => {}
            None if cx.at_least(size, &Dim::known(0)) => {}
            None => undecided.push(axis),
        }
    }
    // At most one size may be -1. If a size is known to be -1, the undecided sizes are not -1.
    if inferred.is_none() && undecided.len() == 1 {
        let others = product(cx, sizes, &undecided)?;
        if cx.at_least(&others, &Dim::known(1)) {
            inferred = undecided.pop();
        }
    } else if inferred.is_some() {
        undecided.clear();
    }
    if !undecided.is_empty() {
        let dims = sizes.iter().enumerate();
        return Ok(TensorShape::new(
            dims.map(|(axis, size)| if undecided.contains(&axis) { cx.fresh() } else { size.clone() })
                .collect::<Vec<_>>(),
        ));
    }
    let total = match input.num_elements() {
        Some(total) => Some(total),
        None if input.rank().is_some() => Some(cx.fresh()),
        None => None,
    };
    let mut dims = sizes.to_vec();
    let two = Dim::known(2);
    match inferred {
        None => {
            let others = product(cx, sizes, &[])?;
            // A fresh symbol in the total occurs nowhere else, so an equation for it would prove nothing.
            if let Some(total) = total
                && !cx.mentions_fresh_symbol(&total)
            {
                cx.merge(&total, &others).map_err(|_| {
                    cx.blame_param(
                        "shape",
                        format_args!(
                            "must keep the number of elements, got {total} in {input} and {others} in {}",
                            TensorShape::from(sizes)
                        ),
                    )
                    .with_help_if(crate::shape::advice::reshape(&total, sizes))
                })?;
            }
        }
        Some(axis) => {
            dims[axis] = inferred_size(cx, input, sizes, axis, total)?;
            if sizes[axis].as_known().is_none() {
                // The given size must be -1 or equal to the inferred size: `given + 2` must be 1 or `inferred + 2`.
                let (given, inferred) = (cx.add(&sizes[axis], &two)?, cx.add(&dims[axis], &two)?);
                cx.require(Guard::OneOrEqual(given, inferred))?;
            }
        }
    }
    Ok(TensorShape::from(dims))
}

/// Returns the size that -1 at `axis` stands for. `total` is the number of elements of the input.
fn inferred_size(
    cx: &mut InferenceContext<'_>,
    input: &TensorShape,
    sizes: &[Dim],
    axis: usize,
    total: Option<Dim>,
) -> Result<Dim> {
    if sizes.iter().enumerate().any(|(other, size)| other != axis && *size == 0) {
        return size_of_empty(cx, input, sizes, axis);
    }
    let (Some(total), Some(dims)) = (total, input.dims()) else { return Ok(cx.fresh()) };
    let (rest, others) = cancel_common_factors(dims, sizes, axis);
    let others = product(cx, &others, &[])?;
    let is_positive = others_are_positive(cx, sizes, axis);
    // 0 / 0 does not determine the size.
    if !is_positive
        && (rest.iter().any(|dim| *dim == 0)
            || !cx.at_least(&total, &Dim::known(1)) && !cx.at_least(&others, &Dim::known(1)))
    {
        return Ok(cx.fresh());
    }
    let Some(total) = product(cx, &rest, &[]).ok().filter(|total| total.term_count() <= MAX_TERMS) else {
        return Ok(cx.fresh());
    };
    cx.exact_div(&total, &others).map_err(|_| {
        cx.blame_param(
            "shape",
            format_args!(
                "must divide the number of elements, got {total} in {input} and {others} in {}",
                TensorShape::from(sizes)
            ),
        )
        .with_help_if(crate::shape::advice::flatten(input, sizes))
    })
}

/// The greatest number of terms of a size that stands for -1. A larger size becomes a symbol: the code of kernels adds
/// such sizes and multiplies them, and the number of terms of each result is limited.
const MAX_TERMS: usize = 16;

/// Returns whether the table proves that all sizes other than `inferred` are at least 1.
fn others_are_positive(cx: &mut InferenceContext<'_>, sizes: &[Dim], inferred: usize) -> bool {
    let mut others = sizes.iter().enumerate().filter(|(axis, _)| *axis != inferred);
    others.all(|(_, size)| cx.at_least(size, &Dim::known(1)))
}

/// Returns the size that -1 at `axis` stands for if another size is 0. As in TensorFlow, zeros are left out of both
/// products, and their quotient is rounded down.
fn size_of_empty(
    cx: &mut InferenceContext<'_>,
    input: &TensorShape,
    sizes: &[Dim],
    axis: usize,
) -> Result<Dim> {
    let Some(dims) = input.dims().filter(|dims| dims.iter().any(|dim| *dim == 0)) else {
        if input.as_known().is_some() {
            bail!("the other sizes must not be 0 to infer a size of -1, got {}", TensorShape::from(sizes));
        }
        return Ok(cx.fresh());
    };
    let (mut rest, mut others) = cancel_common_factors(dims, sizes, axis);
    rest.retain(|dim| *dim != 0);
    others.retain(|size| *size != 0);
    // A size that turns out to be 0 is left out too. So the result is unknown while a size may be 0.
    if rest.iter().chain(&others).any(|dim| !cx.at_least(dim, &Dim::known(1))) {
        return Ok(cx.fresh());
    }
    let (rest, others) = (product(cx, &rest, &[])?, product(cx, &others, &[])?);
    cx.floordiv(&rest, &others)
}

/// Removes the factors that the input's dimensions and the sizes other than `inferred` have in common. Returns the
/// remaining dimensions and the remaining sizes.
///
/// A common factor is removed even if it may be 0: `[n, 4]` reshaped to `[n, -1]` is `[n, 4]` for every `n`.
fn cancel_common_factors(dims: &[Dim], sizes: &[Dim], inferred: usize) -> (Vec<Dim>, Vec<Dim>) {
    let mut rest = dims.to_vec();
    let mut others: Vec<Dim> = Vec::new();
    for (_, size) in sizes.iter().enumerate().filter(|(axis, _)| *axis != inferred) {
        match rest.iter().position(|dim| dim == size) {
            Some(same) => drop(rest.swap_remove(same)),
            None => others.push(size.clone()),
        }
    }
    (rest, others)
}

/// Returns the product of the sizes of all axes except the axes in `excluded`.
fn product(cx: &mut InferenceContext<'_>, sizes: &[Dim], excluded: &[usize]) -> Result<Dim> {
    let mut product = Dim::known(1);
    for (axis, size) in sizes.iter().enumerate() {
        if !excluded.contains(&axis) {
            product = cx.mul(&product, size)?;
        }
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::reshape;
    use crate::testing::shape_table;
    use crate::{Dim, shape};

    shape_table! { shapes: reshape, ["x", "shape"];
        {shape: [2, 6]} "[3, 4]" => "[2, 6]";
        {shape: [-1]} "[n, 4]" => "[4*n]";
        {shape: [-1, 4]} "[4*n]" => "[n, 4] if ";
        {shape: [-1, 4]} "[n]" => "[floordiv(n, 4), 4] if 4 divides n";
        {shape: [-1, 2, 2]} "[n, 4]" => "[n, 2, 2]";
        {shape: [-1]} "[?]" => "[d0_0]";
        {shape: [-1]} "[n+m+1, k+l]" => "[k*m+k*n+l*m+l*n+k+l]";
        // The product has 27 terms.
        {shape: [-1]} "[a+b+1, c+d+1, e+f+1]" => "[?]";
        {shape: [-1, 3]} "?" => "[?, 3]";
        {shape: [3, 4]} "[n, 4]" => "[3, 4]";
        {shape: shape!["n", -1]} "[n, 4]" => "[n, 4] if ";
        {} "[n]; [3] = [n, n, -1]" => "[n, n, ?]";
        {shape: shape![Dim::symbol("n") + 1, -1]} "[n, 4]" => "[n+1, floordiv(4*n, n+1)] if n+1 divides 4*n";
        {shape: [-1, 0]} "[2, 0]" => "[2, 0]";
        {shape: [-1, 0]} "[1, 0, 0]" => "[1, 0]";
        {shape: [0, -1]} "[0, 0, 3]" => "[0, 3]";
        {shape: [0, 1, -1, 1]} "[7, 0, 0, 2]" => "[0, 1, 14, 1]";
        {shape: [0, -1]} "[0, n, 3]" => "[0, ?]";
        {shape: shape![0, "n", -1]} "[0, n, 3]" => "[0, n, 3] if ";
        {shape: shape!["n", -1]} "[n, 0, 3]" => "[n, ?]";
        {shape: [0, -1, 0]} "[0, 3]" => "[0, 3, 0]";
        {shape: [-1, 0, 2]} "[0, 3]" => "[1, 0, 2]";
        {shape: [0, 0, -1]} "[0, n, 2]" => "[0, 0, ?]";
        {shape: shape!["n", -1]} "[n, m, 2]" => "[n, 2*m] if ";
        {shape: shape![Dim::symbol("n"), 4, 1]} "[n, 4]" => "[n, 4, 1]";
        {} "[n, 4]; [2] = [2, ?]" => "[2, 2*n] if v1_1+2 in {1, 2*n+2}";
        {} "[3, 2]; [1] = [k]" => "[6] if ";
        {shape: [-1, 0]} "[n, m]" => "[?, 0]";
        {} "[n, 4]; [3] = [?, ?, 2]" => "[?, ?, 2]";
        {} "[n, 4]; [3] = [?, -1, 2]" => "[v1_0, ?, 2] if v1_0 >= 0";
        {} "[n, 4]; i32 [1]" => "[4*n]";
        {} "[n, 4]; i32 [2]" => "[?, ?]";
        {} "[n, 4]; i32 [?]" => "?";
        {} "i32 [2] = [a, b]; [2] = [2, 1]" => "[2, 1] = [a, b]";
        {} "i32 [1] = [a]; i32 [0]" => "[] = a";
        {shape: []} "[]" => "[]";
        {shape: [2, 5]} "[3, 4]" => "error shape must keep the number of elements, got 12 in [3, 4] and 10 in [2, 5]";
        {shape: [-1, 5]} "[3, 4]" => "error shape must divide the number of elements, got 12 in [3, 4] and 5 in [-1, 5]";
        {shape: [-1, -1]} "[4]" => "error shape must have at most one -1, got -1 at axes 0 and 1";
        {shape: [-2]} "[4]" => "error shape must have sizes of at least -1, got -2";
        {shape: [0, -1]} "[0]" => "[0, 1]";
        {shape: [0, -1]} "[3]" => "error the other sizes must not be 0 to infer a size of -1, got [0, -1]";
        {shape: [3]} "[n, 2]" => "error got 2*n in [n, 2] and 3 in [3]";
    }
}
