//! Sample graphs with Fourier and cosine transforms of axes that are shorter or longer than the transform.

use shapeflow::{DType, Graph, Result, StftOptions, Tensor, Value, shape};

use crate::samples::Sample;

fn transforms<'g>(x: Value<'g>) -> Result<Vec<Value<'g>>> {
    let half = x.rfft([6])?;
    let plane = x.rfft2([5, 4])?;
    Ok(vec![
        x.rfft([8])?.abs()?,
        x.rfft([3])?.abs()?,
        plane.abs()?,
        half.irfft([10])?,
        half.irfft([4])?,
        plane.irfft2([6, 9])?,
        x.dct(2, true)?,
        x.stft(2, 1, StftOptions::default())?.abs()?,
    ])
}

/// Returns the samples: an operand of known sizes, and operands of unknown sizes that are short and long.
pub fn transform_samples() -> Vec<Sample> {
    let numbers = |sizes: &[usize]| {
        let count = sizes.iter().product::<usize>();
        let values = (0..count).map(|index| ((index * 37 + 11) % 64) as f32 / 16.0 - 2.0);
        vec![("x", Tensor::from_vec(sizes, values.collect()).unwrap())]
    };
    let of_unknown: for<'g> fn(&'g Graph) -> Result<Vec<Value<'g>>> =
        |g| transforms(g.input("x", DType::F32, shape![?, "n", ?])?);
    vec![
        Sample {
            name: "transforms",
            build: |g| {
                let x = g.input("x", DType::F32, shape!["n", 4])?;
                let lengths = g.input("lengths", DType::I32, shape![1])?;
                Ok([transforms(x)?, vec![x.rfft(lengths)?.abs()?]].concat())
            },
            feeds: [numbers(&[3, 4]), vec![("lengths", Tensor::from([7i32]))]].concat(),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "transforms_of_short_axes",
            build: of_unknown,
            feeds: numbers(&[2, 3, 2]),
            runs_in_tensorflow: true,
        },
        Sample {
            name: "transforms_of_long_axes",
            build: of_unknown,
            feeds: numbers(&[1, 9, 12]),
            runs_in_tensorflow: true,
        },
    ]
}
