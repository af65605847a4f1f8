//! Fourier transforms of the last axes of a tensor: plans of `rustfft` and `realfft` along one axis after the other.

use num_complex::Complex;
use realfft::RealFftPlanner;
use rustfft::{FftDirection, FftNum, FftPlanner};
use shapeflow_shape_fns::{DType, counted};

use crate::error::{Error, Result};
use crate::op::HostCx;
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::tensor::{Element, Tensor, TensorView, reserved_vec};

/// The real number type of a transform.
trait Real: FftNum + Element {}
impl Real for f32 {}
impl Real for f64 {}

/// Numbers of a tensor, row by row.
struct NumberBlock<T> {
    sizes: Vec<usize>,
    data: Vec<T>,
}

pub(super) fn complex(cx: &mut HostCx<'_>, axes: usize, is_inverse: bool) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let output = match x.dtype() {
        DType::C64 => complex_block::<f32>(&x, axes, is_inverse)?,
        _ => complex_block::<f64>(&x, axes, is_inverse)?,
    };
    cx.set_output(0, output)
}

fn complex_block<T: Real>(x: &TensorView<'_>, axes: usize, is_inverse: bool) -> Result<Tensor> {
    let mut block = read_complex::<T>(x)?;
    let rank = block.sizes.len();
    let direction = if is_inverse { FftDirection::Inverse } else { FftDirection::Forward };
    for axis in rank - axes..rank {
        along(&mut block, axis, direction);
    }
    if is_inverse {
        let count: usize = block.sizes[rank - axes..].iter().product();
        scale(&mut block.data, count);
    }
    write_complex(x.dtype(), &block)
}

pub(super) fn forward(cx: &mut HostCx<'_>, axes: usize) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let lengths = lengths(cx, axes)?;
    let output = match x.dtype() {
        DType::F32 => forward_block::<f32>(&x, &lengths)?,
        _ => forward_block::<f64>(&x, &lengths)?,
    };
    cx.set_output(0, output)
}

fn forward_block<T: Real>(x: &TensorView<'_>, lengths: &[usize]) -> Result<Tensor> {
    let block = NumberBlock { sizes: x.sizes().to_vec(), data: x.as_slice::<T>()?.to_vec() };
    let mut block = resized(block, lengths, T::zero())?;
    let rank = block.sizes.len();
    let length = block.sizes[rank - 1];
    let kept = if length == 0 { 0 } else { length / 2 + 1 };
    let rows = block.data.len().checked_div(length).unwrap_or(0);
    let mut sizes = block.sizes.clone();
    sizes[rank - 1] = kept;
    let mut halves = filled(Complex::new(T::zero(), T::zero()), &[rows, kept])?;
    if rows > 0 {
        let plan = RealFftPlanner::new().plan_fft_forward(length);
        let mut scratch = plan.make_scratch_vec();
        for (row, half) in block.data.chunks_exact_mut(length).zip(halves.chunks_exact_mut(kept)) {
            plan.process_with_scratch(row, half, &mut scratch).map_err(Error::wrap)?;
        }
    }
    let mut output = NumberBlock { sizes, data: halves };
    for axis in rank - lengths.len()..rank - 1 {
        along(&mut output, axis, FftDirection::Forward);
    }
    write_complex(if T::DTYPE == DType::F32 { DType::C64 } else { DType::C128 }, &output)
}

pub(super) fn inverse(cx: &mut HostCx<'_>, axes: usize) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let lengths = lengths(cx, axes)?;
    let output = match x.dtype() {
        DType::C64 => inverse_block::<f32>(&x, &lengths)?,
        _ => inverse_block::<f64>(&x, &lengths)?,
    };
    cx.set_output(0, output)
}

fn inverse_block<T: Real>(x: &TensorView<'_>, lengths: &[usize]) -> Result<Tensor> {
    let mut halved = lengths.to_vec();
    let length = *lengths.last().expect("a transform has an axis");
    let kept = if length == 0 { 0 } else { length / 2 + 1 };
    *halved.last_mut().expect("a transform has an axis") = kept;
    let mut block = resized(read_complex::<T>(x)?, &halved, Complex::new(T::zero(), T::zero()))?;
    let rank = block.sizes.len();
    for axis in rank - lengths.len()..rank - 1 {
        along(&mut block, axis, FftDirection::Inverse);
    }
    let mut sizes = block.sizes.clone();
    sizes[rank - 1] = length;
    let rows = block.data.len().checked_div(kept).unwrap_or(0);
    let mut data = filled(T::zero(), &[rows, length])?;
    if rows > 0 {
        let plan = RealFftPlanner::new().plan_fft_inverse(length);
        let mut scratch = plan.make_scratch_vec();
        for (half, row) in block.data.chunks_exact_mut(kept).zip(data.chunks_exact_mut(length)) {
            // The spectrum of real numbers is real at frequency 0 and, for an even length, at the highest frequency.
            // The imaginary parts at these frequencies have no effect.
            half[0].im = T::zero();
            if length.is_multiple_of(2) {
                half[kept - 1].im = T::zero();
            }
            plan.process_with_scratch(half, row, &mut scratch).map_err(Error::wrap)?;
        }
    }
    let factor = T::one() / T::from_usize(lengths.iter().product()).expect("a float holds a count");
    data.iter_mut().for_each(|x| *x = *x * factor);
    Tensor::from_vec(&sizes, data)
}

/// Returns parameter `fft_length`, which has an element for each of `axes` axes.
fn lengths(cx: &HostCx<'_>, axes: usize) -> Result<Vec<usize>> {
    let lengths = param_sizes(cx, "fft_length", 1)?;
    match lengths.len() == axes {
        true => Ok(lengths),
        false => Err(Error::msg(format!(
            "fft_length must have {axes}, got {}",
            lengths.len(),
            axes = counted(axes, "element")
        ))),
    }
}

fn read_complex<T: Real>(x: &TensorView<'_>) -> Result<NumberBlock<Complex<T>>> {
    let parts = x.as_bits::<T>()?.chunks_exact(2).map(|parts| Complex::new(parts[0], parts[1]));
    Ok(NumberBlock { sizes: x.sizes().to_vec(), data: parts.collect() })
}

fn write_complex<T: Real>(dtype: DType, block: &NumberBlock<Complex<T>>) -> Result<Tensor> {
    let parts: Vec<T> = block.data.iter().flat_map(|x| [x.re, x.im]).collect();
    Tensor::from_bits(dtype, &block.sizes, &parts)
}

fn scale<T: Real>(data: &mut [Complex<T>], count: usize) {
    let factor = T::one() / T::from_usize(count).expect("a float holds a count");
    data.iter_mut().for_each(|x| *x = *x * factor);
}

/// Makes an array of these sizes whose elements are `x`.
///
/// # Errors
/// `Memory`: the allocation fails.
fn filled<T: Copy>(x: T, sizes: &[usize]) -> Result<Vec<T>> {
    let count =
        if sizes.contains(&0) { 0 } else { sizes.iter().fold(1, |count: usize, n| count.saturating_mul(*n)) };
    let mut data = reserved_vec(count)?;
    data.resize(count, x);
    Ok(data)
}

/// Crops the last axes to these lengths, or pads them with `zero`.
///
/// # Errors
/// `Memory`: the allocation fails.
fn resized<T: Copy>(block: NumberBlock<T>, lengths: &[usize], zero: T) -> Result<NumberBlock<T>> {
    let first = block.sizes.len() - lengths.len();
    if block.sizes[first..] == *lengths {
        return Ok(block);
    }
    let mut sizes = block.sizes[..first].to_vec();
    sizes.extend(lengths);
    let mut data = filled(zero, &sizes)?;
    let (old_row, new_row) = (block.sizes[sizes.len() - 1], sizes[sizes.len() - 1]);
    let kept = old_row.min(new_row);
    if data.is_empty() || block.data.is_empty() {
        return Ok(NumberBlock { sizes, data });
    }
    for (number, row) in data.chunks_exact_mut(new_row).enumerate() {
        // The position of the row among the old rows, unless the row is padding.
        let (mut rest, mut old, mut stride) = (number, 0, 1);
        let is_padding = (0..sizes.len() - 1).rev().any(|axis| {
            let position = rest % sizes[axis];
            rest /= sizes[axis];
            old += position * stride;
            stride *= block.sizes[axis];
            position >= block.sizes[axis]
        });
        if !is_padding {
            row[..kept].copy_from_slice(&block.data[old * old_row..][..kept]);
        }
    }
    Ok(NumberBlock { sizes, data })
}

/// Transforms every line along `axis`, without a factor.
fn along<T: Real>(block: &mut NumberBlock<Complex<T>>, axis: usize, direction: FftDirection) {
    let length = block.sizes[axis];
    let stride: usize = block.sizes[axis + 1..].iter().product();
    if block.data.is_empty() || length < 2 {
        return;
    }
    let plan = FftPlanner::new().plan_fft(length, direction);
    let zero = Complex::new(T::zero(), T::zero());
    let mut scratch = vec![zero; plan.get_inplace_scratch_len()];
    if stride == 1 {
        return plan.process_with_scratch(&mut block.data, &mut scratch);
    }
    let mut line = vec![zero; length];
    for slab in block.data.chunks_exact_mut(length * stride) {
        for start in 0..stride {
            for (to, from) in line.iter_mut().zip(slab[start..].iter().step_by(stride)) {
                *to = *from;
            }
            plan.process_with_scratch(&mut line, &mut scratch);
            for (to, from) in slab[start..].iter_mut().step_by(stride).zip(&line) {
                *to = *from;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attr, Attrs};

    use crate::error::ErrorKind;
    use crate::ops::linalg::fourier::{IRFFT, RFFT, RFFT_2};
    use crate::ops::testing::{run, tensor};

    #[test]
    fn lengths_beyond_memory_are_errors() {
        let x = tensor(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]);
        let z = crate::Tensor::from_bits(crate::DType::C64, &[2, 1], &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let long: Attr = [1i64 << 44].into();
        let attrs = |lengths: Attr| Attrs::new().with("fft_length", lengths);
        for (def, lengths, x) in
            [(&RFFT, long.clone(), &x), (&RFFT_2, [1i64 << 32, 1 << 32].into(), &x), (&IRFFT, long, &z)]
        {
            let error = run(def, &attrs(lengths), std::slice::from_ref(x)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        }
    }
}
