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
    match x.dtype() {
        DType::F32 => forward_block::<f32>(cx, &x, &lengths),
        _ => forward_block::<f64>(cx, &x, &lengths),
    }
}

fn forward_block<T: Real>(cx: &mut HostCx<'_>, x: &TensorView<'_>, lengths: &[usize]) -> Result<()> {
    let (length, kept) = last_lengths(lengths);
    let mut sizes = x.sizes().to_vec();
    let first = sizes.len() - lengths.len();
    if let [_] = lengths {
        let width = std::mem::replace(&mut sizes[first], kept);
        let mut output = cx.unfilled_output(0, &sizes)?;
        let (halves, _) = output.as_mut_bits::<T>()?.as_chunks_mut::<2>();
        return forward_rows(x.as_slice()?, width, length, halves.len() / kept.max(1), |row, half| {
            write_parts(half, &mut halves[row * kept..][..kept]);
        });
    }
    let block = NumberBlock { sizes, data: x.as_slice::<T>()?.to_vec() };
    let mut block = resized(block, lengths, T::zero())?;
    *block.sizes.last_mut().expect("a transform has an axis") = kept;
    let rows = block.data.len().checked_div(length).unwrap_or(0);
    let mut halves = filled(Complex::new(T::zero(), T::zero()), &[rows, kept])?;
    forward_rows(&block.data, length, length, rows, |row, half| {
        halves[row * kept..][..kept].copy_from_slice(half);
    })?;
    let mut spectrum = NumberBlock { sizes: block.sizes, data: halves };
    for axis in first..spectrum.sizes.len() - 1 {
        along(&mut spectrum, axis, FftDirection::Forward);
    }
    let mut output = cx.unfilled_output(0, &spectrum.sizes)?;
    write_parts(&spectrum.data, output.as_mut_bits::<T>()?.as_chunks_mut().0);
    Ok(())
}

/// Transforms `rows` rows of `width` real numbers, cropped or padded with zeros to `length`. Passes the number of each
/// row and the first half of its spectrum to `write`.
fn forward_rows<T: Real>(
    x: &[T],
    width: usize,
    length: usize,
    rows: usize,
    mut write: impl FnMut(usize, &[Complex<T>]),
) -> Result<()> {
    if rows == 0 || length == 0 {
        return Ok(());
    }
    let mut line = filled(T::zero(), &[length])?;
    let plan = RealFftPlanner::new().plan_fft_forward(length);
    let (mut half, mut scratch) = (plan.make_output_vec(), plan.make_scratch_vec());
    let filled = width.min(length);
    for row in 0..rows {
        line[..filled].copy_from_slice(&x[row * width..][..filled]);
        // The transform of the row before used the memory.
        line[filled..].fill(T::zero());
        plan.process_with_scratch(&mut line, &mut half, &mut scratch).map_err(Error::wrap)?;
        write(row, &half);
    }
    Ok(())
}

pub(super) fn inverse(cx: &mut HostCx<'_>, axes: usize) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let lengths = lengths(cx, axes)?;
    match x.dtype() {
        DType::C64 => inverse_block::<f32>(cx, &x, &lengths),
        _ => inverse_block::<f64>(cx, &x, &lengths),
    }
}

fn inverse_block<T: Real>(cx: &mut HostCx<'_>, x: &TensorView<'_>, lengths: &[usize]) -> Result<()> {
    let (length, kept) = last_lengths(lengths);
    let mut sizes = x.sizes().to_vec();
    let first = sizes.len() - lengths.len();
    let factor = T::one() / T::from_usize(lengths.iter().product()).expect("a float holds a count");
    if let [_] = lengths {
        let width = std::mem::replace(&mut sizes[first], length);
        let (parts, _) = x.as_bits::<T>()?.as_chunks::<2>();
        let mut output = cx.unfilled_output(0, &sizes)?;
        return inverse_rows(output.as_mut_slice()?, length, factor, |row, half| {
            let (filled, padding) = half.split_at_mut(width.min(kept));
            for (x, [re, im]) in filled.iter_mut().zip(&parts[row * width..]) {
                *x = Complex::new(*re, *im);
            }
            padding.fill(Complex::new(T::zero(), T::zero()));
        });
    }
    let mut halved = lengths.to_vec();
    *halved.last_mut().expect("a transform has an axis") = kept;
    let mut block = resized(read_complex::<T>(x)?, &halved, Complex::new(T::zero(), T::zero()))?;
    sizes.clone_from(&block.sizes);
    *sizes.last_mut().expect("a transform has an axis") = length;
    for axis in first..sizes.len() - 1 {
        along(&mut block, axis, FftDirection::Inverse);
    }
    let mut output = cx.unfilled_output(0, &sizes)?;
    inverse_rows(output.as_mut_slice()?, length, factor, |row, half| {
        half.copy_from_slice(&block.data[row * kept..][..kept]);
    })
}

/// Fills rows of `length` real numbers: `factor` times the inverse transform of the spectra whose first halves `read`
/// writes, given the number of a row.
fn inverse_rows<T: Real>(
    output: &mut [T],
    length: usize,
    factor: T,
    read: impl Fn(usize, &mut [Complex<T>]),
) -> Result<()> {
    if output.is_empty() {
        return Ok(());
    }
    let plan = RealFftPlanner::new().plan_fft_inverse(length);
    let (mut half, mut scratch) = (plan.make_input_vec(), plan.make_scratch_vec());
    for (number, row) in output.chunks_exact_mut(length).enumerate() {
        read(number, &mut half);
        // The spectrum of real numbers is real at frequency 0 and, for an even length, at the highest frequency. The
        // imaginary parts at these frequencies have no effect.
        half[0].im = T::zero();
        if length.is_multiple_of(2) {
            half[length / 2].im = T::zero();
        }
        plan.process_with_scratch(&mut half, row, &mut scratch).map_err(Error::wrap)?;
        row.iter_mut().for_each(|x| *x = *x * factor);
    }
    Ok(())
}

/// Returns the length of the last axis, and the length of the first half of its spectrum.
fn last_lengths(lengths: &[usize]) -> (usize, usize) {
    let length = *lengths.last().expect("a transform has an axis");
    (length, if length == 0 { 0 } else { length / 2 + 1 })
}

/// Writes complex numbers as pairs of parts.
fn write_parts<T: Copy>(numbers: &[Complex<T>], parts: &mut [[T; 2]]) {
    for (parts, x) in parts.iter_mut().zip(numbers) {
        *parts = [x.re, x.im];
    }
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

    #[test]
    fn every_row_is_cropped_or_padded() {
        let numbers: Vec<f64> = (0..15).map(|number| (number as f64).sin()).collect();
        for length in [0, 1, 2, 3, 5, 6, 8] {
            let attrs = Attrs::new().with("fft_length", [length]);
            let spectra = run(&RFFT, &attrs, &[tensor(&[3, 5], &numbers)]).unwrap().remove(0);
            let back = run(&IRFFT, &attrs, std::slice::from_ref(&spectra)).unwrap().remove(0);
            assert_eq!(back.sizes(), [3, length as usize]);
            for row in 0..3 {
                let mut line = numbers[row * 5..][..5].to_vec();
                line.resize(length as usize, 0.0);
                let alone = run(&RFFT, &attrs, &[tensor(&[length as usize], &line)]).unwrap().remove(0);
                let parts = alone.len() * 2;
                assert_eq!(
                    spectra.to_bits::<f64>().unwrap()[row * parts..][..parts],
                    alone.to_bits::<f64>().unwrap()[..]
                );
                let back = &back.to_vec::<f64>().unwrap()[row * length as usize..][..length as usize];
                assert!(back.iter().zip(&line).all(|(back, x)| (back - x).abs() < 1e-12));
            }
        }
    }
}
