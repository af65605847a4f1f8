//! `fractional_pool(value)`: pooling by ratios that need not be integers.

use crate::error::bail;
use crate::{Attr, Dim, InferenceContext, Result, TensorShape};

/// `[d0, d1, d2, d3], pooling_ratio=[r0, …, r3] -> [o0, o1, o2, o3], row_sequence[o1], col_sequence[o2]`, where
/// `oi = floor(di / ri)`. A ratio of 1 keeps an unknown dimension; any other ratio gives a fresh dimension.
///
/// # Errors
/// The rank is not 4, the number of ratios is not 4, or a ratio is not positive.
pub fn fractional_pool(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.axes::<4>(0)?;
    let ratios: Vec<f64> = match cx.attr("pooling_ratio") {
        Some(Attr::Floats(ratios)) => ratios.to_vec(),
        Some(Attr::Ints(ratios)) => ratios.iter().map(|ratio| *ratio as f64).collect(),
        _ => bail!("pooling_ratio must be given: it is a list of floats"),
    };
    if ratios.len() != 4 {
        bail!("pooling_ratio must have 4 entries, got {}", ratios.len());
    }
    let mut dims: Vec<Dim> = Vec::with_capacity(4);
    for (dim, ratio) in input.iter().zip(&ratios) {
        if ratio.is_nan() || *ratio <= 0.0 {
            bail!("pooling_ratio must be positive, got {ratio:?}");
        }
        dims.push(match dim.as_known() {
            _ if *ratio == 1.0 => dim.clone(),
            // The division is in f32, as in TensorFlow: `11.0 / 1.1` rounds to 10. In f64, 11 divided by the f32 next
            // to 1.1 is less than 10.
            Some(size) => Dim::known((size as f32 / *ratio as f32).floor() as i64),
            None => cx.fresh(),
        });
    }
    cx.set_output(1, TensorShape::new([dims[1].clone()]));
    cx.set_output(2, TensorShape::new([dims[2].clone()]));
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::fractional_pool;
    use crate::testing::check;
    use crate::{Attr, Attrs};

    #[test]
    fn ratios_divide_the_dimensions() {
        let ratios = |ratios: &[f64]| Attrs::new().with("pooling_ratio", Attr::from(ratios));
        let rows = [
            (ratios(&[1.0, 1.5, 2.0, 1.0]), "[n, 20, 30, ?]", "[n, 13, 15, d0_3]; [13]; [15]"),
            (ratios(&[1.0, f64::from(1.1f32), 1.1, 1.0]), "[n, 11, 11, 2]", "[n, 10, 10, 2]; [10]; [10]"),
            (ratios(&[1.0, 1.5, 1.0, 1.0]), "[n, h, w, 3]", "[n, ?, w, 3]; [?]; [w]"),
            (ratios(&[1.0, 1.5, 1.0]), "?", "error pooling_ratio must have 4 entries, got 3"),
            (ratios(&[1.0, -1.5, 1.0, 1.0]), "?", "error pooling_ratio must be positive, got -1.5"),
            (ratios(&[1.0, 1.5, 1.0, 1.0]), "[2]", "error value must have rank 4"),
        ];
        for (attrs, inputs, expected) in rows {
            check(fractional_pool, &["value"], &attrs, inputs, expected);
        }
    }
}
