//! Integer arithmetic that propagates known elements, so that shapes computed in the graph stay known.

use crate::{Dim, InferenceContext, PartialElements, Result, common};

/// Combines an element of each operand, see [`PartialElements`].
type Binary = fn(&Dim, &Dim) -> Result<Dim>;

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// The output has the shape of [`common::broadcast`]. Elements of integer scalars and vectors are propagated.
        ///
        /// # Errors
        /// Same as [`common::broadcast`].
        pub fn $name(cx: &mut InferenceContext<'_>) -> Result<()> {
            common::broadcast(cx)?;
            propagate_binary(cx, $function);
            Ok(())
        }
    )*};
}

binary! {
    /// `x + y`.
    add = |x, y| x.checked_add(y);
    /// `x - y`.
    sub = |x, y| x.checked_sub(y);
    /// `x * y`.
    mul = |x, y| x.checked_mul(y);
    /// The quotient, rounded down.
    floordiv = |x, y| x.floordiv(y);
    /// The remainder of the quotient that is rounded down.
    floormod = |x, y| x.modulo(y);
    /// The quotient, rounded toward zero.
    truncatediv = truncated_quotient;
    /// The remainder of the quotient that is rounded toward zero.
    truncatemod = truncated_remainder;
    /// The smaller operand.
    minimum = |x, y| x.min(y);
    /// The greater operand.
    maximum = |x, y| x.max(y);
}

/// Returns the quotient rounded toward zero. Operands that may be negative are refused; for all others the quotient
/// equals the quotient rounded down.
fn truncated_quotient(a: &Dim, b: &Dim) -> Result<Dim> {
    nonnegative_dividend(a, b)?.floordiv(b)
}

/// Returns the remainder of the quotient rounded toward zero. Operands that may be negative are refused.
fn truncated_remainder(a: &Dim, b: &Dim) -> Result<Dim> {
    nonnegative_dividend(a, b)?.modulo(b)
}

/// Returns the dividend, or an error if either operand may be negative.
fn nonnegative_dividend<'d>(a: &'d Dim, b: &Dim) -> Result<&'d Dim> {
    if a.bounds().is_above(-1) && b.bounds().is_above(-1) {
        return Ok(a);
    }
    Err(crate::ShapeError::new("operands must not be negative for truncated division"))
}

/// `-x`. Keeps the shape of `x`; tracked integer elements are negated.
///
/// # Errors
/// Never fails.
pub fn neg(cx: &mut InferenceContext<'_>) -> Result<()> {
    common::unary(cx)?;
    if let Some(x) = cx.input_value(0).cloned()
        && let Some(range) = operand_range(cx)
    {
        let elements: Vec<Dim> =
            x.elements().iter().map(|x| checked_element(cx, Dim::known(0).checked_sub(x), range)).collect();
        cx.set_output_value(0, PartialElements::with_sizes(x.sizes(), elements)?);
    }
    Ok(())
}

/// Sets the output's elements to `function` of the two operands' elements. An operand of one element is broadcast.
pub(super) fn propagate_binary(cx: &mut InferenceContext<'_>, function: Binary) {
    if cx.input_value(0).is_none() && cx.input_value(1).is_none() {
        return;
    }
    let (Some(sizes), Some(range)) = (cx.output(0).as_known(), operand_range(cx)) else { return };
    let Some(count) = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size)) else { return };
    if count > PartialElements::MAX || sizes.len() > 1 || cx.len() != 2 {
        return;
    }
    // An operand without tracked elements gets fresh symbols below, which nothing defines at run time. So only results
    // that are numbers are kept, such as 0 * ?.
    let is_untracked = cx.input_value(0).is_none() || cx.input_value(1).is_none();
    let elements_of = |cx: &InferenceContext<'_>, index: usize| {
        cx.input_value(index).map(|value| value.elements().to_vec())
    };
    let (x, y) = (elements_of(cx, 0), elements_of(cx, 1));
    // Operands that do not broadcast: [`common::equality`] gives a scalar for them, whose element stays unknown.
    if [&x, &y].into_iter().flatten().any(|side| side.len() != 1 && side.len() != count) {
        return;
    }
    let broadcast_element = |side: &Option<Vec<Dim>>, position: usize| {
        let side = side.as_ref()?;
        side.get(if side.len() == 1 { 0 } else { position }).cloned()
    };
    let mut elements = Vec::with_capacity(count);
    for position in 0..count {
        let x = broadcast_element(&x, position).unwrap_or_else(|| cx.fresh_integer());
        let y = broadcast_element(&y, position).unwrap_or_else(|| cx.fresh_integer());
        let combined = match function(&x, &y) {
            Ok(dim) if is_untracked && !dim.is_known() => Ok(cx.fresh_integer()),
            combined => combined,
        };
        elements.push(checked_element(cx, combined, range));
    }
    if let Ok(value) = PartialElements::with_sizes(&sizes, elements) {
        cx.set_output_value(0, value);
    }
}

/// Returns the range of the operands' integer type.
fn operand_range(cx: &InferenceContext<'_>) -> Option<(i128, i128)> {
    cx.input_dtype(0).filter(|dtype| dtype.is_integer())?.integer_range()
}

/// Returns an element of the output, or a fresh integer if the result is undefined or may wrap in the output's type.
pub(super) fn checked_element(
    cx: &mut InferenceContext<'_>,
    element: Result<Dim>,
    range: (i128, i128),
) -> Dim {
    match element {
        Ok(dim) if fits_type(&dim, range) => dim,
        _ => cx.fresh_integer(),
    }
}

/// Returns whether an element, which arithmetic computed, lies in the range of its integer type, so that it does not
/// wrap.
///
/// Symbolic results of signed 32-bit and 64-bit types are assumed not to wrap, because they represent sizes. For other
/// types, the bounds must prove that the result fits.
pub(crate) fn fits_type(element: &Dim, range: (i128, i128)) -> bool {
    let bounds = element.bounds();
    let is_assumed_size = !element.is_known() && range.0 <= i32::MIN.into();
    is_assumed_size
        || (bounds.lower.is_some_and(|lower| lower >= range.0)
            && bounds.upper.is_some_and(|upper| upper <= range.1))
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { sums: super::add, ["x", "y"];
        {} "i32 [2] = [n, 3]; [2] = [1, m]" => "[2] = [n+1, m+3]";
        {} "i64 [2] = [n, ?]; i64 [] = 1" => "[2] = [n+1, v0_1+1]";
        {} "i32 [] = 2147483647; [] = 1" => "[] = ?";
        {} "f32 [2]; f32 [n, 2]" => "[n, 2]";
        {} "i32 [2] = [1, 2]; i32 [2]" => "[2] = [?, ?]";
    }
    shape_table! { products: super::mul, ["x", "y"];
        {} "i32 [2] = [n, 3]; i32 [2] = [m, 0]" => "[2] = [m*n, 0]";
        {} "i32 [2] = [0, 0]; i32 [2]" => "[2] = [0, 0]";
    }
    shape_table! { quotients: super::floordiv, ["x", "y"];
        {} "i32 [] = 4*n; i32 [] = 2" => "[] = 2*n";
        {} "i32 [] = n; i32 [] = 0" => "[] = ?";
        {} "i32 [] = -7; i32 [] = 2" => "[] = -4";
    }
    shape_table! { remainders: super::floormod, ["x", "y"];
        {} "i32 [] = 4*n+1; i32 [] = 2" => "[] = 1";
    }
    shape_table! { negated: super::neg, ["x"];
        {} "i32 [2] = [n, -3]" => "[2] = [-n, 3]";
        {} "i32 [] = -2147483648" => "[] = ?";
        {} "f32 [n]" => "[n]";
    }
    shape_table! { truncated_quotients: super::truncatediv, ["x", "y"];
        {} "i32 [3] = [4*n, -3, 7]; i32 [] = 2" => "[3] = [2*n, ?, 3]";
    }
    shape_table! { truncated_remainders: super::truncatemod, ["x", "y"];
        {} "i32 [3] = [4*n+1, -3, 7]; i32 [] = 2" => "[3] = [1, ?, 1]";
    }
    shape_table! { extremes: super::minimum, ["x", "y"];
        {} "i32 [] = n; i32 [] = n+1" => "[] = n";
        {} "i32 [] = n; i32 [] = m" => "[] = min(m, n)";
    }
}
