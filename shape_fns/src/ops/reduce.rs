//! Shape functions of reductions: sums, products, extremes, `argmax`.

use smallvec::SmallVec;

use crate::infer::registered::{Registered, row};
use crate::math::fits_type;
use crate::{Dim, Guard, InferenceContext, List, PartialElements, Result, TensorShape, normalize_axis};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("All", &["input", "axis"], reduce),
    row("Any", &["input", "axis"], reduce),
    row("ArgMax", &["input", "axis"], argmax),
    row("ArgMin", &["input", "axis"], argmin),
    row("EuclideanNorm", &["input", "axis"], reduce),
    row("Max", &["input", "axis"], max),
    row("Mean", &["input", "axis"], reduce),
    row("Min", &["input", "axis"], min),
    row("Prod", &["input", "axis"], prod),
    row("Sum", &["input", "axis"], sum),
];

/// Drops the axes `axis`, or keeps them with size 1 if attribute `keep_dims` is set. Without `axis`, reduces all axes.
///
/// If `axis` is unknown, the rank of the output is known only if `keep_dims` is set or the number of axes is known. If
/// `axis` is known, records the axes for the op's body as derived parameter `axis`: sorted and counted from the front.
///
/// # Errors
/// An axis is outside the rank, or given twice.
pub fn reduce(cx: &mut InferenceContext<'_>) -> Result<()> {
    let keep = cx.bool_or("keep_dims", false)?;
    let list = cx.param_list("axis")?;
    let input = cx.input(0).clone();
    let Some(dims) = input.dims() else {
        if matches!(list, List::Absent) && !keep {
            cx.set_output(0, TensorShape::scalar());
        }
        return Ok(());
    };
    let axes = match &list {
        List::Absent => Some((0..dims.len() as i64).collect()),
        list => list.as_known(),
    };
    let Some(axes) = axes else {
        let output = match list.known_len() {
            _ if keep => unknown_or_one(cx, dims),
            Some(count) if count <= dims.len() => cx.unknown_shape_of_rank(dims.len() - count),
            Some(count) => {
                return Err(cx.blame_param(
                    "axis",
                    format_args!("must have at most one entry per axis, got {count} for {input}"),
                ));
            }
            None => TensorShape::unranked(),
        };
        cx.set_output(0, output);
        return Ok(());
    };
    let mut reduced: SmallVec<[bool; 8]> = SmallVec::from_elem(false, dims.len());
    for axis in axes {
        let axis = cx.axis_of("axis", axis, dims.len())?;
        if std::mem::replace(&mut reduced[axis], true) {
            return Err(
                cx.blame_param("axis", format_args!("must not repeat an axis, got axis {axis} twice"))
            );
        }
    }
    let mut output: SmallVec<[Dim; 4]> = SmallVec::new();
    for (dim, reduced) in dims.iter().zip(&reduced) {
        match (reduced, keep) {
            (false, _) => output.push(dim.clone()),
            (true, true) => output.push(Dim::known(1)),
            (true, false) => {}
        }
    }
    let axes = reduced.iter().enumerate().filter(|(_, reduced)| **reduced);
    cx.set_derived("axis", axes.map(|(axis, _)| Dim::known(axis as i64)));
    cx.set_output(0, TensorShape::new(output));
    Ok(())
}

/// Returns the output shape for unknown axes with `keep_dims`. Any axis may become 1, so only dimensions of 1 stay
/// known.
fn unknown_or_one(cx: &mut InferenceContext<'_>, dims: &[Dim]) -> TensorShape {
    let dims: SmallVec<[Dim; 4]> =
        dims.iter().map(|dim| if *dim == 1 { Dim::known(1) } else { cx.fresh() }).collect();
    TensorShape::new(dims)
}

/// Combines two elements of a tracked operand, see [`PartialElements`].
type Combine = fn(&Dim, &Dim) -> Result<Dim>;

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident = $empty:expr, $function:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// The output has the shape of [`reduce`]. If the operand is an integer vector whose elements are tracked
        /// ([`PartialElements`]), the output's element is tracked, too.
        ///
        /// # Errors
        /// Same as [`reduce`].
        pub fn $name(cx: &mut InferenceContext<'_>) -> Result<()> {
            reduce(cx)?;
            propagate_reduced(cx, $empty, $function);
            Ok(())
        }
    )*};
}

reductions! {
    /// Sums the elements.
    sum = Some(0), |x, y| x.checked_add(y);
    /// Multiplies the elements.
    prod = Some(1), |x, y| x.checked_mul(y);
    /// Takes the greatest element.
    max = None, |x, y| x.max(y);
    /// Takes the least element.
    min = None, |x, y| x.min(y);
}

/// Sets the single element that an integer vector reduces to. `empty` is the result for an empty vector.
fn propagate_reduced(cx: &mut InferenceContext<'_>, empty: Option<i64>, combine: Combine) {
    let Some(value) = cx.input_value(0).filter(|value| value.rank() == 1) else { return };
    let Some(range) =
        cx.input_dtype(0).filter(|dtype| dtype.is_integer()).and_then(|dtype| dtype.integer_range())
    else {
        return;
    };
    let sizes = match cx.output(0).as_known() {
        Some(sizes) if sizes.iter().all(|size| *size == 1) => sizes,
        _ => return,
    };
    // The output is a vector and no axis is kept as 1, so nothing was reduced.
    if sizes.len() == 1 && !cx.bool_or("keep_dims", false).unwrap_or(false) {
        return;
    }
    let (first, rest) = match (value.elements(), empty) {
        ([first, rest @ ..], _) => (first.clone(), rest),
        ([], Some(empty)) => (Dim::known(empty), [].as_slice()),
        ([], None) => return,
    };
    let reduced = rest.iter().try_fold(first, |reduced, element| combine(&reduced, element));
    // `empty` is `None` for `max` and `min`. Their result is one of the elements, so it cannot wrap.
    if let Ok(reduced) = reduced
        && (empty.is_none() || fits_type(&reduced, range))
        && let Ok(value) = PartialElements::with_sizes(&sizes, [reduced])
    {
        cx.set_output_value(0, value);
    }
}

/// Drops axis `axis`, which must not be empty; `axis` defaults to 0. If `axis` is unknown, only the rank of the output
/// is known. If `axis` is known, records it for the op's body as derived parameter `axis`, counted from the front.
///
/// # Errors
/// `axis` is outside the rank, or its dimension is provably 0.
pub fn argmax(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let given = cx.attr("axis").is_some() || cx.operand("axis").is_some();
    cx.param_scalar("axis")?;
    let Some(dims) = input.dims() else { return Ok(()) };
    let axis = match cx.param_axis("axis", dims.len())? {
        Some(axis) => axis,
        None if given => {
            let output = cx.unknown_shape_of_rank(dims.len().saturating_sub(1));
            cx.set_output(0, output);
            return Ok(());
        }
        None => normalize_axis(0, dims.len())?,
    };
    cx.require(Guard::Ge(dims[axis].clone(), Dim::known(1))).map_err(|_| {
        cx.blame(0, format_args!("must not be empty along axis {axis}, got {} in {input}", dims[axis]))
    })?;
    let mut rest: SmallVec<[Dim; 4]> = dims.iter().cloned().collect();
    rest.remove(axis);
    cx.set_derived("axis", [Dim::known(axis as i64)]);
    cx.set_output(0, TensorShape::new(rest));
    Ok(())
}

/// The shape function of `argmin`, which is the same as [`argmax`].
///
/// # Errors
/// Same as [`argmax`].
pub fn argmin(cx: &mut InferenceContext<'_>) -> Result<()> {
    argmax(cx)
}

#[cfg(test)]
mod tests {
    use super::{argmax, max, prod, reduce, sum};
    use crate::testing::shape_table;

    shape_table! { reduced: reduce, ["x", "axis"];
        {axis: [1]} "[2, n, ?]" => "[2, d0_2]";
        {axis: -1, keep_dims: true} "[2, n]" => "[2, 1]";
        {axis: []} "[2, n]" => "[2, n]";
        {} "[2, n]" => "[]";
        {keep_dims: true} "[2, n]" => "[1, 1]";
        {} "?" => "[]";
        {keep_dims: true} "?" => "?";
        {} "[2, n, 1]; i32 []" => "[?, ?]";
        {} "[2, n, 1]; i32 [2]" => "[?]";
        {} "[2, n, 1]; [2, 1] = [0, 1]" => "[1]";
        {} "[2, n, 1]; i32 [?]" => "?";
        {keep_dims: true} "[2, n, 1]; i32 [?]" => "[?, ?, 1]";
        {} "[2, n]; [1] = [0]" => "[n]";
        {axis: [0, -2]} "[2, 3]" => "error axis must not repeat an axis, got axis 0 twice";
        {axis: 2} "[2, 3]" => "error axis must be in [-2, 2), got 2";
        {axis: 0} "[]" => "error axis requires a tensor of rank at least 1";
        {} "[2]; i32 [2]" => "error axis must have at most one entry per axis, got 2 for [2]";
    }
    shape_table! { products: prod, ["x", "axis"];
        {axis: 0} "i32 [3] = [n, 2, m]" => "[] = 2*m*n";
        {axis: [0], keep_dims: true} "i32 [2] = [n, 2]" => "[1] = [2*n]";
        {axis: 0} "i32 [0] = []" => "[] = 1";
        {axis: []} "i32 [1] = [n]" => "[1]";
    }
    shape_table! { sums: sum, ["x", "axis"];
        {} "i64 [3] = [n, 2, ?]" => "[] = n+v0_2+2";
        {} "u8 [2] = [?, ?]" => "[]";
    }
    shape_table! { extremes: max, ["x", "axis"];
        {} "i64 [3] = [n, 2, n+1]" => "[] = max(2, n+1)";
    }
    shape_table! { positions: argmax, ["input", "axis"];
        {axis: -1} "[2, n]" => "[2] if n >= 1";
        {} "[2, n]" => "[n]";
        {} "[2, n]; i32 []" => "[?]";
        {axis: 0} "?" => "?";
        {axis: 1} "[2, 0]" => "error input must not be empty along axis 1, got 0 in [2, 0]";
        {axis: 0} "[]" => "error axis";
    }
}
