//! [`Draws`]: numbers that a rejection method draws one by one, and the tensor that its samples fill.

use shapeflow_shape_fns::DType;

use super::philox::Philox;
use super::samples::{normal_f64, unit_pair};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Scalar, eval_cast};
use crate::op::HostCx;
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::tensor::TensorView;

/// The random numbers of one sample. A block makes two numbers of one kind, and the second of them is drawn first.
pub(super) struct Draws {
    stream: Philox,
    block: u64,
    uniform: Option<f64>,
    normal: Option<f64>,
}

impl Draws {
    /// Draws from block number `block` on.
    fn new(stream: Philox, block: u64) -> Draws {
        Draws { stream, block, uniform: None, normal: None }
    }

    fn pair(&mut self, make: fn([u32; 4]) -> [f64; 2]) -> [f64; 2] {
        self.block = self.block.wrapping_add(1);
        make(self.stream.block(self.block.wrapping_sub(1)))
    }

    /// Returns a number that is uniform in [0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        self.uniform.take().unwrap_or_else(|| {
            let [first, second] = self.pair(unit_pair);
            self.uniform = Some(first);
            second
        })
    }

    /// Returns a number of the standard normal distribution.
    pub(super) fn normal(&mut self) -> f64 {
        self.normal.take().unwrap_or_else(|| {
            let [first, second] = self.pair(normal_f64);
            self.normal = Some(first);
            second
        })
    }
}

/// Returns the elements of a tensor of real numbers in row-major order.
///
/// # Errors
/// Memory is refused.
pub(super) fn reals(x: TensorView<'_>) -> Result<Vec<f64>> {
    let x = RowMajor::new(x)?;
    let x = x.view();
    let real = |position| {
        let element = x.element(position).expect("the position is in the tensor");
        Scalar::from_bytes(x.dtype(), element).expect("the dtype rules accept real numbers only").to_f64()
    };
    Ok((0..x.len()).map(real).collect())
}

/// Fills output 0, whose sizes are the parameter `shape`, with samples. The last sizes are `sizes`, the sizes of the
/// parameters of the distribution. `sample` gets the position of its parameters, and the function that begins to draw:
/// it gets the number of blocks that the method reserves for a sample.
///
/// # Errors
/// The shape does not end with `sizes`, or `sample` fails.
pub(super) fn fill_samples(
    cx: &mut HostCx<'_>,
    stream: Philox,
    sizes: &[usize],
    mut sample: impl FnMut(usize, &dyn Fn(u64) -> Draws) -> f64,
) -> Result<()> {
    let shape = param_sizes(cx, "shape", 0)?;
    if !shape.ends_with(sizes) {
        let message =
            format!("the shape must end with the sizes of the parameters, {sizes:?}, got {shape:?}");
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let parameters: usize = sizes.iter().product();
    let mut output = cx.unfilled_output(0, &shape)?;
    let (dtype, count) = (output.dtype(), output.len());
    let samples = count / parameters.max(1);
    let bytes = dtype.size_bytes().expect("the dtype rules accept real numbers only");
    for (position, slot) in output.bytes_mut().chunks_exact_mut(bytes).enumerate() {
        let (row, parameter) = (position / parameters, position % parameters);
        // TensorFlow numbers all samples of the first parameters before those of the next ones.
        let number = (parameter * samples + row) as u64;
        let value = sample(parameter, &|blocks| Draws::new(stream, number.wrapping_mul(blocks)));
        eval_cast(Scalar::F64(value), dtype).write_bytes(slot).expect("a slot holds one element");
    }
    Ok(())
}

/// Returns the error of a parameter outside its range.
pub(super) fn wrong_parameter<T>(requirement: &str, got: f64) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Run, format!("{requirement}, got {got}")))
}

/// Returns the greatest number of `dtype` that a count may have.
pub(super) fn greatest_count(dtype: DType) -> f64 {
    match dtype {
        DType::I32 => f64::from(i32::MAX),
        DType::I64 => i64::MAX as f64,
        DType::F16 => half::f16::MAX.to_f64(),
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}
