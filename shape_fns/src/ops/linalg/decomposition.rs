//! Decompositions of batches of matrices: LU, QR, singular values, eigenvalues.

use super::square::{batched, square};
use crate::{Dim, InferenceContext, Result, TensorShape};

/// `[..batch, n, n] -> lu[..batch, n, n], p[..batch, n]`.
///
/// # Errors
/// The rank is less than 2, or the last two dimensions provably differ.
pub fn lu(cx: &mut InferenceContext<'_>) -> Result<()> {
    if let Some((batch, size)) = square(cx, 0)? {
        cx.set_output(0, batched(&batch, [size.clone(), size.clone()]));
        cx.set_output(1, batched(&batch, [size]));
    }
    Ok(())
}

/// `[..batch, m, n] -> q[..batch, m, p], r[..batch, p, n]`, where `p = min(m, n)`, or `p = m` if attribute
/// `full_matrices` is set.
///
/// # Errors
/// The rank is less than 2.
pub fn qr(cx: &mut InferenceContext<'_>) -> Result<()> {
    let Some((batch, [rows, columns])) = cx.last_axes::<2>(0)? else { return Ok(()) };
    let inner = if cx.bool_or("full_matrices", false)? { rows.clone() } else { cx.min(&rows, &columns)? };
    cx.set_output(0, batched(&batch, [rows, inner.clone()]));
    cx.set_output(1, batched(&batch, [inner, columns]));
    Ok(())
}

/// `[..batch, m, n] -> s[..batch, p], u[..batch, m, p], v[..batch, n, p]`, where `p = min(m, n)`. With attribute
/// `full_matrices`, `u` and `v` are square. With `compute_uv=false`, `u` and `v` are empty vectors.
///
/// # Errors
/// The rank is less than 2.
pub fn svd(cx: &mut InferenceContext<'_>) -> Result<()> {
    let factors = cx.bool_or("compute_uv", true)?;
    let full = cx.bool_or("full_matrices", false)?;
    if !factors {
        cx.set_output(1, no_factor());
        cx.set_output(2, no_factor());
    }
    let Some((batch, [rows, columns])) = cx.last_axes::<2>(0)? else { return Ok(()) };
    let values = cx.min(&rows, &columns)?;
    cx.set_output(0, batched(&batch, [values.clone()]));
    if factors {
        let outer = |size: &Dim| if full { size.clone() } else { values.clone() };
        cx.set_output(1, batched(&batch, [rows.clone(), outer(&rows)]));
        cx.set_output(2, batched(&batch, [columns.clone(), outer(&columns)]));
    }
    Ok(())
}

/// Returns the shape of a factor that is not computed: an empty vector.
fn no_factor() -> TensorShape {
    TensorShape::new([Dim::known(0)])
}

/// `[..batch, n, n] -> e[..batch, n], v[..batch, n, n]`. With attribute `compute_v=false`, `v` is an empty vector.
///
/// # Errors
/// The rank is less than 2, or the last two dimensions provably differ.
pub fn eigen(cx: &mut InferenceContext<'_>) -> Result<()> {
    let vectors = cx.bool_or("compute_v", true)?;
    if !vectors {
        cx.set_output(1, no_factor());
    }
    if let Some((batch, size)) = square(cx, 0)? {
        cx.set_output(0, batched(&batch, [size.clone()]));
        if vectors {
            cx.set_output(1, batched(&batch, [size.clone(), size]));
        }
    }
    Ok(())
}

/// `[..batch, n, n] -> [..batch, n+1, n]`: row 0 holds the eigenvalues, and each column below it is an eigenvector.
///
/// # Errors
/// The rank is less than 2, or the last two dimensions provably differ.
pub fn eigen_packed(cx: &mut InferenceContext<'_>) -> Result<()> {
    if let Some((batch, size)) = square(cx, 0)? {
        let rows = cx.add(&size, &Dim::known(1))?;
        cx.set_output(0, batched(&batch, [rows, size]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{eigen, eigen_packed, lu, qr, svd};
    use crate::testing::shape_table;

    shape_table! { lu_factors: lu, ["input"];
        {} "[1, ?, ?]" => "[1, d0_1, d0_1]; [1, d0_1]";
        {} "?" => "?; ?";
        {} "[1, 2]" => "error(2 outputs) must hold square matrices";
    }
    shape_table! { qr_factors: qr, ["input"];
        {} "[?, 3, 2]" => "[d0_0, 3, 2]; [d0_0, 2, 2]";
        {} "[4, ?, n]" => "[4, d0_1, min(d0_1, n)]; [4, min(d0_1, n), n]";
        {full_matrices: true} "[4, ?, 2]" => "[4, d0_1, d0_1]; [4, d0_1, 2]";
        {} "?" => "?; ?";
        {} "[1]" => "error(2 outputs) input must have rank at least 2";
    }
    shape_table! { singular_values: svd, ["input"];
        {} "[?, 3, 2]" => "[d0_0, 2]; [d0_0, 3, 2]; [d0_0, 2, 2]";
        {} "[n, n+1]" => "[n]; [n, n]; [n+1, n]";
        {full_matrices: true} "[?, 2]" => "[min(2, d0_0)]; [d0_0, d0_0]; [2, 2]";
        {compute_uv: false} "[4, ?, 2]" => "[4, min(2, d0_1)]; [0]; [0]";
        {compute_uv: false} "?" => "?; [0]; [0]";
    }
    shape_table! { values_and_vectors: eigen, ["input"];
        {} "[b, ?, 3]" => "[b, 3]; [b, 3, 3]";
        {compute_v: false} "[?, ?]" => "[d0_0]; [0]";
        {compute_v: false} "?" => "?; [0]";
        {} "?" => "?; ?";
    }
    shape_table! { packed: eigen_packed, ["input"];
        {} "[5, ?, n]" => "[5, n+1, n]";
        {} "[?, 1]" => "[2, 1]";
        {} "[1]" => "error input must have rank at least 2";
    }
}
