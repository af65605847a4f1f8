//! Samples of categories, of candidate classes, and of low-discrepancy sequences.

use super::generator::check_seeds;
use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// `logits[b, c], num_samples=n -> [b, n]`.
///
/// # Errors
/// `logits` is not a matrix, `num_samples` is negative or not a scalar, or `seed` does not have two elements.
pub fn multinomial(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [rows, _] = cx.axes::<2>(0)?;
    check_seeds(cx)?;
    let samples = cx.make_dim_for_scalar_input("num_samples")?;
    cx.set_output(0, TensorShape::new([rows, samples]));
    Ok(())
}

/// `dim=d, num_results=n, skip[] -> [n, d]`.
///
/// # Errors
/// An operand is negative or not a scalar.
pub fn sobol(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (dim, results) = (cx.make_dim_for_scalar_input("dim")?, cx.make_dim_for_scalar_input("num_results")?);
    cx.scalars(&["skip"])?;
    cx.set_output(0, TensorShape::new([results, dim]));
    Ok(())
}

/// `true_classes[b, num_true]` to `sampled_candidates[num_sampled]`, `true_expected_count[b, num_true]` and
/// `sampled_expected_count[num_sampled]`.
///
/// # Errors
/// `true_classes` is not a matrix, its number of columns provably differs from attribute `num_true`, or an attribute
/// is less than 1.
pub fn candidates(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (rows, number) = true_classes(cx)?;
    let sampled = positive_attr(cx, "num_sampled")?;
    cx.set_output(0, TensorShape::new([sampled.clone()]));
    cx.set_output(1, TensorShape::new([rows, number]));
    cx.set_output(2, TensorShape::new([sampled]));
    Ok(())
}

/// `true_classes[b, num_true], sampled_candidates[s] -> [u], [u], [u]`, where the number of hits `u` depends on the
/// data.
///
/// # Errors
/// `true_classes` is not a matrix of `num_true` columns, or `sampled_candidates` is not a vector.
pub fn accidental_hits(cx: &mut InferenceContext<'_>) -> Result<()> {
    true_classes(cx)?;
    cx.axes::<1>(1)?;
    let hits = cx.fresh();
    for output in 0..3 {
        cx.set_output(output, TensorShape::new([hits.clone()]));
    }
    Ok(())
}

/// Returns the number of rows and of columns of `true_classes`.
fn true_classes(cx: &mut InferenceContext<'_>) -> Result<(Dim, Dim)> {
    let [rows, columns] = cx.axes::<2>(0)?;
    let number = positive_attr(cx, "num_true")?;
    cx.merge(&columns, &number).map_err(|_| {
        cx.blame(
            0,
            format_args!("must have {number} (num_true), got {columns}", number = counted(&number, "column")),
        )
    })?;
    Ok((rows, number))
}

/// Reads an integer attribute that must be at least 1.
fn positive_attr(cx: &InferenceContext<'_>, name: &str) -> Result<Dim> {
    match cx.int(name)? {
        value @ 1.. => Ok(Dim::known(value)),
        value => bail!("{name} must be at least 1, got {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{accidental_hits, candidates, multinomial, sobol};
    use crate::testing::shape_table;

    shape_table! { categories: multinomial, ["logits", "num_samples"];
        {} "?; ?" => "[?, ?]";
        {} "[b, ?]; i32 [] = 3" => "[b, 3]";
        {} "[?]; ?" => "error logits must have rank 2";
        {} "[2, 1]; i32 [3] = [1, 2, 3]" => "error num_samples must be one integer, got rank 1";
    }
    shape_table! { sequences: sobol, ["dim", "num_results", "skip"];
        {} "i32 []; i32 []; i32 []" => "[?, ?]";
        {} "i32 [] = 3; i32 [] = n; ?" => "[n, 3]";
        {} "?; ?; [1]" => "error skip must have rank 0";
        {} "[1]; ?; ?" => "error dim must be one integer, got rank 1";
    }
    shape_table! { classes: candidates, ["true_classes"];
        {num_true: 2, num_sampled: 7} "i64 [b, ?]" => "[7]; [b, 2]; [7]";
        {num_true: 2, num_sampled: 7} "i64 [5, 3]" => "error(3 outputs) true_classes must have 2 columns (num_true), got 3";
        {num_true: 2, num_sampled: 0} "i64 [5, 2]" => "error(3 outputs) num_sampled must be at least 1, got 0";
    }
    shape_table! { hits: accidental_hits, ["true_classes", "sampled_candidates"];
        {num_true: 2} "i64 [5, 2]; i64 [7]" => "[?]; [?]; [?]";
        {num_true: 2} "i64 [5, 2]; i64 []" => "error(3 outputs) sampled_candidates must have rank 1";
    }
}
