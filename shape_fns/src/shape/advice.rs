//! Advice: help texts that propose a change to shapes that do not fit.
//!
//! A function returns `None` unless its proposal provably makes the shapes fit.

use crate::{Dim, TensorShape, counted};

/// Proposes a new axis for a shape whose rank is too small by one.
pub(crate) fn add_axis(shape: &TensorShape) -> Option<String> {
    let dims = shape.dims()?;
    let with_axis = |axis: usize| {
        let mut dims = dims.to_vec();
        dims.insert(axis, Dim::known(1));
        TensorShape::from(dims)
    };
    Some(match dims.len() {
        0 => "add an axis of size 1 with .expand_dims(0)".to_owned(),
        last => format!(
            "add an axis of size 1: .expand_dims(0) makes it {}, .expand_dims(-1) makes it {}",
            with_axis(0),
            with_axis(last)
        ),
    })
}

/// Proposes a new axis of size 1, or a transposition, that makes two shapes broadcast.
pub(crate) fn broadcast(a: &TensorShape, b: &TensorShape) -> Option<String> {
    let (x, y) = (a.dims()?, b.dims()?);
    let (longer, shorter) = if x.len() >= y.len() { (x, y) } else { (y, x) };
    let shape = TensorShape::from(shorter);
    if longer.len() == shorter.len() {
        let [rows, columns] = shorter else { return None };
        let swapped = [columns.clone(), rows.clone()];
        let fits = longer.iter().zip(&swapped).all(|(a, b)| a.same(b) == Some(true));
        return fits.then(|| format!("transpose {b} with .t()"));
    }
    (1..=shorter.len()).rev().find_map(|axis| {
        let mut dims = shorter.to_vec();
        dims.insert(axis, Dim::known(1));
        let one = Dim::known(1);
        let fits = |(a, b): (&Dim, &Dim)| [a.same(b), a.same(&one), b.same(&one)].contains(&Some(true));
        let fits = longer.iter().rev().zip(dims.iter().rev()).all(fits);
        fits.then(|| {
            format!("{shape}.expand_dims({axis}) is {}, which broadcasts", TensorShape::from(dims.as_slice()))
        })
    })
}

/// Proposes axes of size 1 with which `shape` broadcasts to the longer shape `to`.
pub(crate) fn broadcast_into(shape: &TensorShape, to: &TensorShape) -> Option<String> {
    let (dims, to) = (shape.dims()?, to.dims()?);
    let missing = to.len().checked_sub(dims.len())?;
    let one = Dim::known(1);
    (1..=dims.len()).rev().flat_map(|axis| (1..=missing).map(move |count| (axis, count))).find_map(
        |(axis, count)| {
            let (before, after) = dims.split_at(axis);
            let dims = [before, &vec![one.clone(); count], after].concat();
            let fits = |(dim, to): (&Dim, &Dim)| [dim.same(&one), dim.same(to)].contains(&Some(true));
            let fits = dims.iter().rev().zip(to.iter().rev()).all(fits);
            let calls = vec![format!(".expand_dims({axis})"); count].join("?");
            fits.then(|| format!("{shape}{calls} is {}, which broadcasts", TensorShape::from(dims)))
        },
    )
}

/// Proposes a transposition or an exchange of the operands after which `a` and `b` can be multiplied. `a` and `b` are
/// the last two dimensions of the operands: `[rows, columns]`. `is_plain` says that both operands have rank 2, for
/// which `.t()` exists.
pub(crate) fn matmul(a: [&Dim; 2], b: [&Dim; 2], is_plain: bool) -> Option<String> {
    let ([a_rows, a_columns], [b_rows, b_columns]) = (a, b);
    let same = |x: &Dim, y: &Dim| x.same(y) == Some(true);
    let how = if is_plain { " with .t()" } else { "" };
    if same(a_columns, b_columns) {
        Some(format!(
            "transpose b{how}: a and b both have {a_columns}",
            a_columns = counted(a_columns, "column")
        ))
    } else if same(b_columns, a_rows) {
        Some("swap the operands: b has as many columns as a has rows".to_owned())
    } else if same(a_rows, b_rows) {
        Some(format!("transpose a{how}: a and b both have {a_rows}", a_rows = counted(a_rows, "row")))
    } else {
        None
    }
}

/// Returns the axis along which two shapes can be concatenated: the only axis at which the shapes differ.
pub(crate) fn concat_axis(a: &TensorShape, b: &TensorShape) -> Option<usize> {
    let (x, y) = (a.dims()?, b.dims()?);
    let mut differing = x.iter().zip(y).enumerate().filter(|(_, (x, y))| x.same(y) != Some(true));
    let (axis, _) = differing.next()?;
    (x.len() == y.len() && differing.next().is_none()).then_some(axis)
}

/// Proposes -1 for the last size of a reshape that can be inferred from the other sizes.
pub(crate) fn reshape(total: &Dim, sizes: &[Dim]) -> Option<String> {
    let total = total.as_known()?;
    let known: Vec<i64> = sizes.iter().map(Dim::as_known).collect::<Option<_>>()?;
    let product = known.iter().try_fold(1i128, |product, size| product.checked_mul((*size).into()))?;
    let fits = |size: i64| size > 1 && product > 0 && i128::from(total) % (product / i128::from(size)) == 0;
    let axis = known.iter().rposition(|size| fits(*size))?;
    let inferred = i128::from(total) / (product / i128::from(*known.get(axis)?));
    let mut sizes = sizes.to_vec();
    *sizes.get_mut(axis)? = Dim::known(inferred.try_into().ok()?);
    Some(format!("give -1 at axis {axis} to have its size inferred: {}", TensorShape::from(sizes)))
}

/// Proposes sizes that flatten all axes except the first, for a user who computed the product of these axes wrongly.
pub(crate) fn flatten(input: &TensorShape, sizes: &[Dim]) -> Option<String> {
    let ([first, rest @ ..], [inferred, _]) = (input.dims()?, sizes) else { return None };
    let product = rest.iter().try_fold(1i64, |product, dim| product.checked_mul(dim.as_known()?))?;
    (rest.len() > 1 && product > 0 && *inferred == -1)
        .then(|| format!("[-1, {product}] keeps the first axis, of size {first}, and flattens the others"))
}

/// Lists the axes of size 1, for a user who named another axis.
pub(crate) fn axes_of_one(shape: &TensorShape) -> Option<String> {
    let axes = shape.dims()?.iter().enumerate().filter(|(_, dim)| **dim == 1);
    let axes: Vec<String> = axes.map(|(axis, _)| axis.to_string()).collect();
    match axes.as_slice() {
        [] => None,
        [axis] => Some(format!("the axis of size 1 is {axis}")),
        _ => Some(format!("the axes of size 1 are {}", axes.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> TensorShape {
        text.parse().unwrap()
    }

    #[test]
    fn advice_is_given_only_if_it_makes_the_shapes_fit() {
        let help = |a: &str, b: &str| broadcast(&shape(a), &shape(b)).unwrap_or_default();
        assert_eq!(help("[8]", "[8, 3]"), "[8].expand_dims(1) is [8, 1], which broadcasts");
        assert_eq!(help("[b, n, 4]", "[b, n]"), "[b, n].expand_dims(2) is [b, n, 1], which broadcasts");
        assert_eq!(help("[3, 8]", "[8, 3]"), "transpose [8, 3] with .t()");
        assert_eq!(help("[5]", "[8, 3]"), "");
        let into =
            |shape_of: &str, to: &str| broadcast_into(&shape(shape_of), &shape(to)).unwrap_or_default();
        let with_axes = "[b, t].expand_dims(1)?.expand_dims(1) is [b, 1, 1, t], which broadcasts";
        assert_eq!(into("[b, t]", "[b, h, t, t]"), with_axes);
        assert_eq!(
            into("[3]", "[n, 3, h, w]"),
            "[3].expand_dims(1)?.expand_dims(1) is [3, 1, 1], which broadcasts"
        );
        assert_eq!(
            into("[2, 3]", "[2, 1, 3, 3]"),
            "[2, 3].expand_dims(1)?.expand_dims(1) is [2, 1, 1, 3], which broadcasts"
        );
        assert_eq!(into("[5]", "[8, 3]"), "");
        assert_eq!(concat_axis(&shape("[n, 3]"), &shape("[n, 4]")), Some(1));
        assert_eq!(concat_axis(&shape("[n, 3]"), &shape("[m, 4]")), None);
        let dims = [Dim::known(2), Dim::known(5)];
        assert_eq!(
            reshape(&Dim::known(12), &dims).as_deref(),
            Some("give -1 at axis 1 to have its size inferred: [2, 6]")
        );
        assert_eq!(reshape(&Dim::known(13), &dims), None);
    }
}
