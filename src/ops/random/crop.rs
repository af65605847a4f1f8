//! `random_crop`: a window of an image at a random place.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::philox::Philox;
use super::state::{STATE_AND_ALGORITHM, stream_of_state};
use super::stateless::check_state;
use super::words::RandomWords;
use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Copies a window of `size` pixels at a random place of the image `x`. `self` is the seed.
    ///
    /// `seed [2], x [h, w, c] -> [size[0], size[1], c]`, integers and floats; the seed is i32 or i64. The same seed
    /// gives the same window in every run. As TensorFlow's `RandomCrop`, which has a state instead of a seed. Runs on
    /// the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[1], [2], [3]], [[4], [5], [6]]])?;
    /// let window = g.constant([1i64, 2])?.random_crop(image, [1, 2])?;
    /// let [window] = g.compile(window)?.run(&[])?;
    /// let pixels = window.to_vec::<i32>()?;
    /// assert_eq!((window.sizes(), pixels[1]), (&[1, 2, 1][..], pixels[0] + 1));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed does not hold two integers, `x` does not have rank 3 or holds no numbers, or `size` does not hold two
    /// sizes. The run fails if the window is larger than the image.
    #[track_caller]
    pub fn random_crop(self, x: impl IntoOperand<'g>, size: impl IntoParam<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call("random_crop", || {
            let x = x.into_own_operand(self.graph(), location);
            let state = self.graph().op(&STATE_AND_ALGORITHM).data(self).finish_all_at(location)?;
            self.graph().op(&WITH_STATE).data(x).size("size", size).data_all(&state).finish_at(location)
        })
    }
}

pub(crate) static ALL: &[&OpDef] = &[&WITH_STATE];

pub(crate) static WITH_STATE: OpDef = OpDef::host("random_crop_with_state", |cx| {
    let stream = stream_of_state(cx, cx.inputs() - 3)?;
    run(cx, stream)
})
.operands(&[
    Operand::Data("image"),
    Operand::Size("size"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
])
.shape_fn(shapeflow_shape_fns::random::crop)
.dtype_rule(|operands, _| {
    check_state(operands, 0)?;
    let pixel: DType = dtype::common(operands, 0, 1, Class::Number)?;
    Ok(vec![pixel])
});

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let image = RowMajor::new(cx.input(0)?)?;
    let image = image.view();
    let (&[height, width, channels], &[rows, columns]) = (image.sizes(), &param_sizes(cx, "size", 1)?[..])
    else {
        return Err(Error::msg("the image must have rank 3 and size two elements"));
    };
    if rows > height || columns > width {
        let message = format!(
            "the window must be at most as large as the image, got {rows} x {columns} of {height} x {width}"
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let mut words = RandomWords::new(stream);
    // A size that is all of the image draws no number.
    let mut offset = |size: usize, all: usize| match all - size {
        0 => 0,
        rest => words.word() as usize % (rest + 1),
    };
    let column = offset(columns, width);
    let row = offset(rows, height);
    let pixel = channels * image.dtype().size_bytes().expect("the dtype rule accepts numbers only");
    let (from, mut output) = (image.bytes(), cx.unfilled_output(0, &[rows, columns, channels])?);
    let targets = output.bytes_mut().chunks_exact_mut((columns * pixel).max(1));
    for (number, to) in targets.enumerate() {
        let start = ((row + number) * width + column) * pixel;
        to.copy_from_slice(&from[start..start + columns * pixel]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run as run_op, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { WITH_STATE, {"size": [2, 3]},
        "u8[h, w, c]; u64[1]; u64[2]; i32[]" => "u8[2, 3, c]",
        "u8[h, w]; u64[1]; u64[2]; i32[]" => error "image must have rank 3",
        "bool[h, w, c]; u64[1]; u64[2]; i32[]" => error "must be an integer or a float, got bool",
        "u8[h, w, c]; u64[1]; i64[2]; i32[]" => error "a key and a counter must be u64",
    }

    fn crop(x: &Tensor, size: [i64; 2], seed: u64) -> Result<Tensor> {
        let state = [tensor(&[1], &[seed]), tensor(&[2], &[2u64, 3]), tensor(&[], &[1i32])];
        let operands = [&[x.clone()][..], &state].concat();
        Ok(run_op(&WITH_STATE, &Attrs::new().with("size", size), &operands)?.swap_remove(0))
    }

    #[test]
    fn windows_are_parts_of_the_image() {
        let pixels: Vec<i16> = (0..4 * 5 * 2).collect();
        let x = tensor(&[4, 5, 2], &pixels);
        let mut places = std::collections::HashSet::new();
        for seed in 0..200 {
            let window = crop(&x, [2, 3], seed).unwrap();
            let made = window.to_vec::<i16>().unwrap();
            let (row, column) = (made[0] / 10, made[0] % 10 / 2);
            let expected: Vec<i16> = (0..2)
                .flat_map(|y| (0..3).flat_map(move |x| [0, 1].map(|c| ((row + y) * 5 + column + x) * 2 + c)))
                .collect();
            assert_eq!(made, expected);
            places.insert((row, column));
        }
        assert_eq!(places.len(), 9);
        assert_eq!(crop(&x, [4, 5], 1).unwrap(), x);
        assert_eq!(crop(&x, [0, 3], 1).unwrap().sizes(), [0, 3, 2]);
        assert_eq!(crop(&x, [2, 0], 1).unwrap().sizes(), [2, 0, 2]);
        let error = crop(&x, [2, 6], 1).unwrap_err();
        assert!(error.message().contains("got 2 x 6 of 4 x 5"), "{error}");
    }
}
