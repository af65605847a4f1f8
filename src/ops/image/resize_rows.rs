//! [`resize_by_rows`]: resizes images on the host, first within each row of an image and then between rows.
//!
//! A row of an image is interpolated once, and kept while rows of the result need it.
//!
//! The inner loops do not call `array::map` or `array::from_fn`: without link-time optimization, the compiler does not
//! inline these functions, and a loop is then 20 times slower.

use std::sync::{Mutex, PoisonError};

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};
use shapeflow_shape_fns::{Attrs, DType};

use super::interpolation::{Cubic, Linear, ResampleRule, all_taps};
use super::sampling::Sampling;
use crate::error::{Error, Result};
use crate::op::HostThreads;
use crate::tensor::{TensorView, TensorViewMut};
use crate::tiles::with_wide_vectors;

/// The number of channels that are computed together.
const TOGETHER: usize = 4;

/// Pixels of 2 to `FEW` channels are computed as pixels of a multiple of [`TOGETHER`] channels.
const FEW: usize = 16;

/// The number of elements after a row that may be read or written with it.
const PADDING: usize = TOGETHER - 1;

/// Computes `resize_bilinear` as its body does.
pub(super) fn run_bilinear(
    attrs: &Attrs,
    images: &TensorView<'_>,
    output: &mut TensorViewMut<'_>,
    threads: HostThreads<'_>,
) -> Result<()> {
    resize_by_rows(Linear, Sampling::of(attrs), images, output, threads)
}

/// Computes `resize_bicubic` as its body does.
pub(super) fn run_bicubic(
    attrs: &Attrs,
    images: &TensorView<'_>,
    output: &mut TensorViewMut<'_>,
    threads: HostThreads<'_>,
) -> Result<()> {
    let sampling = Sampling::of(attrs);
    resize_by_rows(
        Cubic { is_keys_kernel: sampling == Sampling::HalfPixel },
        sampling,
        images,
        output,
        threads,
    )
}

/// Resizes row-major images.
///
/// # Errors
/// The images or the result do not have rank 4.
fn resize_by_rows<const TAPS: usize, I: ResampleRule<TAPS>>(
    rule: I,
    sampling: Sampling,
    images: &TensorView<'_>,
    output: &mut TensorViewMut<'_>,
    threads: HostThreads<'_>,
) -> Result<()> {
    let (&[_, height, width, channels], &[_, new_height, new_width, _]) = (images.sizes(), output.sizes())
    else {
        return Err(Error::msg("images must have rank 4"));
    };
    if output.is_empty() {
        return Ok(());
    }
    let singles = if images.dtype() == DType::F32 { Some(images.as_slice()?) } else { None };
    let resize = Resize::<TAPS, I> {
        images,
        singles,
        height,
        row_len: width * channels,
        channels,
        rows: all_taps(rule, sampling, [height, new_height], 1),
        columns: all_taps(rule, sampling, [width, new_width], channels),
    };
    resize.run(threads, output.as_mut_slice()?);
    Ok(())
}

/// A resize of images.
struct Resize<'a, const TAPS: usize, I: ResampleRule<TAPS>> {
    images: &'a TensorView<'a>,
    /// The elements of the images, if they are f32.
    singles: Option<&'a [f32]>,
    height: usize,
    /// The number of elements of a row of an image.
    row_len: usize,
    channels: usize,
    /// The rows of an image, and their weights, for each row of the result.
    rows: Vec<([usize; TAPS], I::Weights)>,
    /// The first elements of pixels in a row of an image, and the weights of the pixels, for each column of the result.
    columns: Vec<([usize; TAPS], I::Weights)>,
}

impl<const TAPS: usize, I: ResampleRule<TAPS>> Resize<'_, TAPS, I> {
    /// Computes all rows of the result, on several threads if there are many.
    fn run(&self, threads: HostThreads<'_>, output: &mut [f32]) {
        let new_line = self.columns.len() * self.channels;
        let rows = output.len() / new_line;
        let part = rows.div_ceil(threads.parts(output.len().saturating_mul(TAPS) / 2)).max(1);
        let parts: Vec<_> = output.chunks_mut(part * new_line).map(Mutex::new).collect();
        threads.for_each(parts.len(), &|number| {
            // Each part is locked once, so the lock is free and no other call has panicked with it.
            let mut rows = parts[number].lock().unwrap_or_else(PoisonError::into_inner);
            self.compute_rows(number * part, &mut rows);
        });
    }

    /// Computes the rows of the result from row `first` on. The rows of all images are numbered.
    fn compute_rows(&self, first: usize, output: &mut [f32]) {
        let new_line = self.columns.len() * self.channels;
        // Row `r` of the images is kept in buffer `r % TAPS`: the rows that a row of the result needs are among `TAPS`
        // rows that follow each other.
        let mut kept: [(usize, Vec<f32>); TAPS] =
            std::array::from_fn(|_| (usize::MAX, vec![0.0; new_line + PADDING]));
        let mut padded = vec![0.0; self.row_len + PADDING];
        for (number, output) in (first..).zip(output.chunks_exact_mut(new_line)) {
            let (image, row) = (number / self.rows.len(), number % self.rows.len());
            let (lines, weights) = &self.rows[row];
            let top = image * self.height;
            for line in lines {
                let line = top + line;
                let (held, buffer) = &mut kept[line % TAPS];
                if *held != line {
                    self.interpolate(self.elements(line, &mut padded), buffer);
                    *held = line;
                }
            }
            let line = |tap: usize| &kept[(top + lines[tap]) % TAPS].1[..];
            with_wide_vectors(|| mix_lines::<TAPS, I>(line, *weights, output));
        }
    }

    /// Returns the elements of a row of the images as f32, and [`PADDING`] elements of any value. `padded` has room for
    /// them.
    fn elements<'w>(&'w self, line: usize, padded: &'w mut [f32]) -> &'w [f32] {
        let begin = line * self.row_len;
        if let Some(row) = self.singles.and_then(|singles| singles.get(begin..begin + padded.len())) {
            return row;
        }
        match self.singles {
            // Less than `PADDING` elements follow the last rows of the last image.
            Some(singles) => padded[..self.row_len].copy_from_slice(&singles[begin..begin + self.row_len]),
            None => widen(self.images, begin, &mut padded[..self.row_len]),
        }
        padded
    }

    /// Interpolates within a row of an image. Both rows end with [`PADDING`] elements.
    fn interpolate(&self, line: &[f32], to: &mut [f32]) {
        match self.channels {
            1 => self.mix_columns::<1>(line, to),
            2..=FEW => self.mix_columns::<TOGETHER>(line, to),
            channels => {
                for (to, (pixels, weights)) in to.chunks_exact_mut(channels).zip(&self.columns) {
                    mix_lines::<TAPS, I>(|tap| &line[pixels[tap]..], *weights, to);
                }
            }
        }
    }

    /// Interpolates between pixels of a row, `N` channels at a time.
    ///
    /// The last channels of a pixel are computed together with elements after the pixel, which have no meaning. The
    /// next pixel overwrites these elements.
    fn mix_columns<const N: usize>(&self, line: &[f32], to: &mut [f32]) {
        for (column, (pixels, weights)) in self.columns.iter().enumerate() {
            for channel in (0..self.channels).step_by(N) {
                let pixel = |tap: usize| {
                    line[pixels[tap] + channel..].first_chunk::<N>().expect("the row ends with padding")
                };
                let to = to[column * self.channels + channel..].first_chunk_mut::<N>();
                *to.expect("the row ends with padding") = I::mix(pixel, *weights);
            }
        }
    }
}

/// Interpolates between lines, element by element, up to the length of `to`. `line(tap)` returns a line.
#[inline(always)]
fn mix_lines<'a, const TAPS: usize, I: ResampleRule<TAPS>>(
    line: impl Fn(usize) -> &'a [f32],
    weights: I::Weights,
    to: &mut [f32],
) {
    let mut lines = [&[][..]; TAPS];
    for (tap, cut) in lines.iter_mut().enumerate() {
        *cut = &line(tap)[..to.len()];
    }
    for (at, to) in to.iter_mut().enumerate() {
        [*to] = I::mix(|tap| std::array::from_ref(&lines[tap][at]), weights);
    }
}

/// Converts the elements from `begin` on, which are numbers of any dtype.
fn widen(x: &TensorView<'_>, begin: usize, to: &mut [f32]) {
    let range = begin..begin + to.len();
    macro_rules! convert {
        ($($DType:ident $T:ty,)*) => {
            match x.dtype() {
                DType::F16 => {
                    let halves = &x.as_bits::<u16>().expect("the dtype is f16")[range];
                    halves.reinterpret_cast::<f16>().convert_to_f32_slice(to);
                }
                DType::BF16 => {
                    let halves = &x.as_bits::<u16>().expect("the dtype is bf16")[range];
                    halves.iter().zip(to).for_each(|(x, to)| *to = bf16::from_bits(*x).to_f32());
                }
                $(DType::$DType => {
                    let numbers = &x.as_slice::<$T>().expect("the dtype is the type's")[range];
                    numbers.iter().zip(to).for_each(|(x, to)| *to = *x as f32);
                })*
                other => unreachable!("the dtype rule accepts numbers only, got {other}"),
            }
        };
    }
    convert! {
        I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F64 f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Value};
    use crate::tensor::Tensor;
    use crate::{Backend, CompileOptions};

    fn images(dtype: DType, sizes: &[usize]) -> Tensor {
        let numbers: Vec<f64> =
            (0..sizes.iter().product::<usize>()).map(|i| (i * i * 37 % 1013) as f64 / 4.0 - 9.0).collect();
        let g = Graph::new();
        let numbers = g.constant(Tensor::from_vec(sizes, numbers).unwrap()).unwrap();
        let [made] = g.compile(numbers.cast(dtype).unwrap()).unwrap().run(&[]).unwrap();
        made
    }

    /// The bits of the results of machine code, or of loops, and of the interpreter.
    fn results(x: &Tensor, build: impl for<'g> Fn(Value<'g>) -> Result<Value<'g>>) -> [Vec<u32>; 2] {
        [Backend::Jit, Backend::Interpreter].map(|backend| {
            let g = Graph::new();
            let images =
                g.input("images", x.dtype(), "[n, h, w, c]".parse::<crate::TensorShape>().unwrap()).unwrap();
            let y = build(images).unwrap();
            let exe = g.compile_with(&CompileOptions::new().backend(backend), y).unwrap();
            if backend == Backend::Jit {
                assert_eq!(
                    (exe.stats().kernels, exe.stats().code_bytes),
                    (1, 0),
                    "a loop computes the result"
                );
            }
            let [y] = exe.run(&[x.view()]).unwrap();
            y.as_slice::<f32>().unwrap().iter().map(|y| y.to_bits()).collect()
        })
    }

    #[cfg(feature = "threads")]
    #[test]
    fn parts_on_several_threads_give_the_same_bits() {
        let x = images(DType::U8, &[2, 150, 200, 3]);
        let [one, three] = [1, 3].map(|threads| {
            let g = Graph::new();
            let images = g.input("images", x.dtype(), crate::shape!["n", "h", "w", 3]).unwrap();
            let y = images.resize_bilinear([180, 260], Sampling::HalfPixel).unwrap();
            let exe = g.compile_with(&CompileOptions::new().threads(threads), y).unwrap();
            let [y] = exe.run(&[x.view()]).unwrap();
            y
        });
        assert_eq!(one, three);
    }

    #[test]
    fn loops_give_the_bits_of_the_body() {
        use DType::*;
        let dtypes = [F32, F16, BF16, F64, I8, I16, I32, I64, U8, U16, U32, U64];
        for (number, sizes) in [
            [1, 1, 1, 1],
            [2, 5, 7, 1],
            [1, 4, 3, 2],
            [2, 6, 5, 3],
            [1, 3, 9, 4],
            [1, 2, 3, 5],
            [1, 3, 2, 17],
            [0, 2, 3, 3],
        ]
        .iter()
        .enumerate()
        {
            for resized in [[1, 1], [3, 2], [9, 13], [6, 5]] {
                for sampling in [Sampling::HalfPixel, Sampling::AlignCorners, Sampling::Legacy] {
                    let dtype = dtypes[(number * 5 + resized[1] as usize) % dtypes.len()];
                    for dtype in [F32, dtype] {
                        let x = images(dtype, sizes);
                        let [loops, body] = results(&x, |x| x.resize_bilinear(resized, sampling));
                        assert_eq!(loops, body, "bilinear {dtype} {sizes:?} {resized:?} {sampling:?}");
                        let [loops, body] = results(&x, |x| x.resize_bicubic(resized, sampling));
                        assert_eq!(loops, body, "bicubic {dtype} {sizes:?} {resized:?} {sampling:?}");
                    }
                }
            }
        }
    }
}
