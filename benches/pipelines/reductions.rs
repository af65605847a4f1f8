//! Cases of reductions, and of softmax and layer norm, which reduce each row and then map its elements.

use shapeflow::{Axes, Graph, Result, Value};

use super::case::{Case, numbers, scaled};

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        matrix_case("softmax [1024,1024]", &[1024, 1024], |_, x| Ok(vec![x[0].softmax(-1)?])),
        matrix_case("softmax [4096,1024]", &[4096, 1024], |_, x| Ok(vec![x[0].softmax(-1)?])),
        Case::new(
            "layer norm [4096,1024]",
            &["[rows, columns]", "[columns]", "[columns]"],
            || Ok(vec![numbers(&[4096, 1024])?, scaled(&[1024], 0.5, 1.0)?, numbers(&[1024])?]),
            layer_norm,
        ),
        matrix_case("sum axis 0 of 4096²", &[4096, 4096], |_, x| Ok(vec![x[0].reduce_sum(0)?])),
        matrix_case("sum axis 1 of 4096²", &[4096, 4096], |_, x| Ok(vec![x[0].reduce_sum(1)?])),
        matrix_case("sum all of 4096²", &[4096, 4096], |_, x| Ok(vec![x[0].reduce_sum(..)?])),
    ]
}

/// Returns a case whose single input is a matrix of random numbers.
fn matrix_case(name: &'static str, sizes: &'static [usize], build: super::case::Build) -> Case {
    Case::new(name, &["[rows, columns]"], move || Ok(vec![numbers(sizes)?]), build)
}

fn layer_norm<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, scale, shift] = [x[0], x[1], x[2]];
    let centered = x - x.reduce_mean(Axes::of(-1).keep_dims())?;
    let variance = centered.square()?.reduce_mean(Axes::of(-1).keep_dims())?;
    Ok(vec![(centered * (variance + 1e-5).rsqrt()? * scale + shift).ok()?])
}
