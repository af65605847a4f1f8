//! `fft`, `rfft` and their inverses: discrete Fourier transforms over the last one, two or three axes.

use shapeflow_shape_fns::{Attrs, DType, ShapeFn};

#[cfg(feature = "fft")]
use super::transform as kernel;
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::{IntoParam, Value};
#[cfg(not(feature = "fft"))]
use crate::op::HostCx;
use crate::op::{Feature, OpDef, Operand, TfOp};
use crate::shape_fns::linalg;

/// Returns the dtype of a transform of complex numbers. `real` is the advice for real numbers; it is empty if there is
/// none.
fn of_complex(dtypes: &[DType], attrs: &Attrs, real: &str) -> Result<Vec<DType>> {
    let is_real = dtypes.first().is_some_and(|dtype| matches!(dtype, DType::F32 | DType::F64));
    dtype::unary::complex(dtypes, attrs).map_err(|error| match is_real && !real.is_empty() {
        true => error.with_first_choice(real),
        false => error,
    })
}

/// Ops of complex numbers. A row holds the documentation, the number of axes, the names of the method and of the
/// definition, TensorFlow's op type, whether it is an inverse, and the advice for real numbers.
/// The feature that the ops need.
const FEATURE: Feature =
    Feature { name: "fft", users: "Fourier transforms", is_present: cfg!(feature = "fft") };

macro_rules! complex_transforms {
    ($($(#[$meta:meta])* $axes:literal $method:ident, $DEF:ident, $op:literal, $is_inverse:literal, $real:literal;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$meta])*
            ///
            #[doc = concat!(
                "`[..] -> [..]`, c64 and c128. As TensorFlow's `", $op, "`. Runs on the host, with the feature `fft`.",
            )]
            ///
            /// # Errors
            #[doc = concat!("The elements are not complex, or there are fewer than ", $axes, " axes. The graph does not compile without the feature `fft`.")]
            #[track_caller]
            pub fn $method(self) -> Result<Value<'g>> {
                self.graph().op(&$DEF).data(self).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| {
            kernel::complex(cx, $axes, $is_inverse)
        })
        .feature(FEATURE)
        .operands(&[Operand::Data("input")])
        .shape_fn(linalg::fft::<$axes>)
        .dtype_rule(|dtypes, attrs| of_complex(dtypes, attrs, $real))
        .tensorflow(&[TfOp::new($op).own_shape_fn()]);)*

        /// Every op of complex numbers.
        pub(crate) static COMPLEX: &[&OpDef] = &[$(&$DEF),*];
    };
}

complex_transforms! {
    /// The discrete Fourier transform over the last axis: `y[k] = Σ x[j] exp(-2πi jk/n)`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1.0, 0.0, 0.0, 0.0])?;
    /// let y = x.complex(x.zeros_like()?)?.fft()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([1.0, 1.0, 1.0, 1.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    1 fft, FFT, "FFT", false, "use .rfft(..)";
    /// The discrete Fourier transform over the last two axes: [`Value::fft`] along each of them.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1.0, 1.0], [1.0, 1.0]])?;
    /// let y = x.complex(x.zeros_like()?)?.fft2()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[4.0, 0.0], [0.0, 0.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "fft2d")]
    2 fft2, FFT_2, "FFT2D", false, "use .rfft2(..)";
    /// The discrete Fourier transform over the last three axes: [`Value::fft`] along each of them.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[1.0, 1.0], [1.0, 1.0]]])?;
    /// let y = x.complex(x.zeros_like()?)?.fft3()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[4.0, 0.0], [0.0, 0.0]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "fft3d")]
    3 fft3, FFT_3, "FFT3D", false, "use .rfft3(..)";
    /// The inverse of [`Value::fft`]: `y[k] = 1/n Σ x[j] exp(2πi jk/n)`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([4.0, 0.0, 0.0, 0.0])?;
    /// let y = x.complex(x.zeros_like()?)?.ifft()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([1.0, 1.0, 1.0, 1.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    1 ifft, IFFT, "IFFT", true, "";
    /// The inverse of [`Value::fft2`].
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[4.0, 0.0], [0.0, 0.0]])?;
    /// let y = x.complex(x.zeros_like()?)?.ifft2()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[1.0, 1.0], [1.0, 1.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "ifft2d")]
    2 ifft2, IFFT_2, "IFFT2D", true, "";
    /// The inverse of [`Value::fft3`].
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[4.0, 0.0], [0.0, 0.0]]])?;
    /// let y = x.complex(x.zeros_like()?)?.ifft3()?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[1.0, 1.0], [1.0, 1.0]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "ifft3d")]
    3 ifft3, IFFT_3, "IFFT3D", true, "";
}

/// Ops of real numbers. A row is like a row of `complex_transforms!`, with the dtype rule and the shape function
/// instead of the flag of an inverse.
macro_rules! real_transforms {
    ($($(#[$meta:meta])* $axes:literal $method:ident, $DEF:ident, $op:literal, $is_inverse:literal, $run:path, $dtypes:path, $shape:expr;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$meta])*
            ///
            /// The input is cropped or padded with zeros at the end of each axis to fit `fft_length`.
            #[doc = concat!("As TensorFlow's `", $op, "`. Runs on the host, with the feature `fft`.")]
            ///
            /// # Errors
            #[doc = concat!("The element type is not supported, `fft_length` does not have ", $axes, " elements, or there are fewer than ", $axes, " axes. The graph does not compile without the feature `fft`.")]
            #[track_caller]
            pub fn $method(self, fft_length: impl IntoParam<'g>) -> Result<Value<'g>> {
                self.graph().op(&$DEF).data(self).size("fft_length", fft_length).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| $run(cx, $axes))
        .feature(FEATURE)
        .operands(&[Operand::Data("input"), Operand::Size("fft_length")])
        .shape_fn($shape)
        .dtype_rule($dtypes)
        .tensorflow(&[TfOp::new($op).own_shape_fn().padded("fft_length", $is_inverse)]);)*

        /// Every op of real numbers.
        pub(crate) static REAL: &[&OpDef] = &[$(&$DEF),*];
    };
}

const RFFT_SHAPES: [ShapeFn; 3] = [linalg::rfft::<1>, linalg::rfft::<2>, linalg::rfft::<3>];
const IRFFT_SHAPES: [ShapeFn; 3] = [linalg::irfft::<1>, linalg::irfft::<2>, linalg::irfft::<3>];

real_transforms! {
    /// The first half of the Fourier transform of real numbers over the last axis; the second half is conjugate to it.
    ///
    /// `[.., d], fft_length = [n] -> [.., n/2 + 1]`, f32 to c64 and f64 to c128. An `n` of 0 gives `[.., 0]`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0, 2.0, 3.0, 4.0])?.rfft([4])?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([10.0, -2.0, -2.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    1 rfft, RFFT, "RFFT", false, kernel::forward, forward_dtypes, RFFT_SHAPES[0];
    /// The Fourier transform of real numbers over the last two axes. The result has the first half of the last axis.
    ///
    /// `[.., d1, d2], fft_length = [n1, n2] -> [.., n1, n2/2 + 1]`, f32 to c64 and f64 to c128. An `n2` of 0 gives
    /// `[.., n1, 0]`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 2.0], [3.0, 4.0]])?.rfft2([2, 2])?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[10.0, -2.0], [-4.0, 0.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "rfft2d")]
    2 rfft2, RFFT_2, "RFFT2D", false, kernel::forward, forward_dtypes, RFFT_SHAPES[1];
    /// The Fourier transform of real numbers over the last three axes. The result has the first half of the last axis.
    ///
    /// `[.., d1, d2, d3], fft_length = [n1, n2, n3] -> [.., n1, n2, n3/2 + 1]`, f32 to c64 and f64 to c128. An `n3` of
    /// 0 gives `[.., n1, n2, 0]`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[[1.0, 2.0], [3.0, 4.0]]])?.rfft3([1, 2, 2])?.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[10.0, -2.0], [-4.0, 0.0]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "rfft3d")]
    3 rfft3, RFFT_3, "RFFT3D", false, kernel::forward, forward_dtypes, RFFT_SHAPES[2];
    /// The inverse of [`Value::rfft`]: real numbers from the first half of their transform.
    ///
    /// `[.., d], fft_length = [n] -> [.., n]`, c64 to f32 and c128 to f64.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1.0, 2.0, 3.0, 4.0])?;
    /// let y = x.rfft([4])?.irfft([4])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([1.0, 2.0, 3.0, 4.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    1 irfft, IRFFT, "IRFFT", true, kernel::inverse, inverse_dtypes, IRFFT_SHAPES[0];
    /// The inverse of [`Value::rfft2`].
    ///
    /// `[.., d1, d2], fft_length = [n1, n2] -> [.., n1, n2]`, c64 to f32 and c128 to f64.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1.0, 2.0], [3.0, 4.0]])?;
    /// let y = x.rfft2([2, 2])?.irfft2([2, 2])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[1.0, 2.0], [3.0, 4.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "irfft2d")]
    2 irfft2, IRFFT_2, "IRFFT2D", true, kernel::inverse, inverse_dtypes, IRFFT_SHAPES[1];
    /// The inverse of [`Value::rfft3`].
    ///
    /// `[.., d1, d2, d3], fft_length = [n1, n2, n3] -> [.., n1, n2, n3]`, c64 to f32 and c128 to f64.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[1.0, 2.0], [3.0, 4.0]]])?;
    /// let y = x.rfft3([1, 2, 2])?.irfft3([1, 2, 2])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[1.0, 2.0], [3.0, 4.0]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "irfft3d")]
    3 irfft3, IRFFT_3, "IRFFT3D", true, kernel::inverse, inverse_dtypes, IRFFT_SHAPES[2];
}

fn forward_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(dtypes, 1)?;
    match dtype::common(dtypes, 0, 1, Class::Float)? {
        DType::F32 => Ok(vec![DType::C64]),
        DType::F64 => Ok(vec![DType::C128]),
        other => dtype::refuse(format!("the element type must be f32 or f64, got {other}")),
    }
}

fn inverse_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(dtypes, 1)?;
    let complex = dtype::common(dtypes, 0, 1, Class::Complex)?;
    Ok(complex.part().into_iter().collect())
}

#[cfg(not(feature = "fft"))]
mod kernel {
    //! Kernels that say which feature the transforms need.

    use super::{FEATURE, HostCx, Result};
    use crate::error::Phase;

    fn refused() -> Result<()> {
        Err(FEATURE.error(Phase::Run))
    }

    pub(super) fn complex(_: &mut HostCx<'_>, _axes: usize, _is_inverse: bool) -> Result<()> {
        refused()
    }

    pub(super) fn forward(_: &mut HostCx<'_>, _axes: usize) -> Result<()> {
        refused()
    }

    pub(super) fn inverse(_: &mut HostCx<'_>, _axes: usize) -> Result<()> {
        refused()
    }
}

#[cfg(all(test, feature = "fft"))]
mod tests {
    use std::f64::consts::TAU;

    use num_complex::Complex64;
    use shapeflow_shape_fns::Attr;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { FFT_2, {},
        "c64[n, 2, 3]" => "c64[n, 2, 3]",
        "c64[3]" => error "must have rank at least 2",
        "[2, 3]" => error "must be a complex number, got f32",
    }
    shape_table! { halves: RFFT, {"fft_length": 5},
        "f64[n, 4]" => "c128[n, 3]",
        "f16[4]" => error "must be f32 or f64, got f16",
    }

    /// Returns numbers without a pattern.
    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * i * 37 + i * 11 + 5) % 101) as f64 / 25.0 - 2.0).collect()
    }

    fn complex(sizes: &[usize]) -> Tensor {
        Tensor::from_bits(DType::C128, sizes, &numbers(2 * sizes.iter().product::<usize>())).unwrap()
    }

    fn parts(x: &Tensor) -> Vec<Complex64> {
        x.view().as_bits::<f64>().unwrap().chunks(2).map(|part| Complex64::new(part[0], part[1])).collect()
    }

    fn check(got: &[Complex64], expected: &[Complex64]) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).norm() < 1e-12 * (1.0 + expected.norm()), "{got} and {expected}");
        }
    }

    /// The sum that defines the transform.
    fn naive(x: &[Complex64]) -> Vec<Complex64> {
        let n = x.len();
        let turn = |k: usize, j: usize| Complex64::cis(-TAU * (k * j % n) as f64 / n as f64);
        (0..n).map(|k| x.iter().enumerate().map(|(j, x)| x * turn(k, j)).sum()).collect()
    }

    #[test]
    fn lines_are_transformed_as_the_sum_says() {
        for n in [1, 2, 3, 5, 8, 12, 17, 30] {
            let x = complex(&[2, n]);
            let y = run_one(&FFT, &Attrs::new(), std::slice::from_ref(&x));
            let expected: Vec<Complex64> = parts(&x).chunks(n).flat_map(naive).collect();
            check(&parts(&y), &expected);
            let real = Tensor::from_vec(&[n], numbers(n)).unwrap();
            let y = run_one(&RFFT, &Attrs::new().with("fft_length", [n as i64]), std::slice::from_ref(&real));
            let wide: Vec<Complex64> = numbers(n).into_iter().map(Complex64::from).collect();
            check(&parts(&y), &naive(&wide)[..n / 2 + 1]);
            let x = run_one(&IRFFT, &Attrs::new().with("fft_length", [n as i64]), &[y]);
            assert!(x.allclose(&real, 1e-13, 1e-13).is_ok());
        }
    }

    #[test]
    fn an_inverse_gives_the_numbers_back() {
        let sizes = [2, 3, 4, 5];
        for (forward, backward) in [(&FFT, &IFFT), (&FFT_2, &IFFT_2), (&FFT_3, &IFFT_3)] {
            let x = complex(&sizes);
            let y = run_one(forward, &Attrs::new(), std::slice::from_ref(&x));
            check(&parts(&run_one(backward, &Attrs::new(), &[y])), &parts(&x));
        }
        let x = Tensor::from_vec(&sizes, numbers(120)).unwrap();
        let lengths: Attr = Attr::from([3, 4, 5]);
        let attrs = Attrs::new().with("fft_length", lengths);
        let y = run_one(&RFFT_3, &attrs, std::slice::from_ref(&x));
        assert!(run_one(&IRFFT_3, &attrs, &[y]).allclose(&x, 1e-13, 1e-13).is_ok());
    }

    #[test]
    fn lengths_crop_and_pad() {
        let x = tensor(&[2, 3], &[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for (lengths, padded) in [
            ([1, 2], tensor(&[1, 2], &[1.0f64, 2.0])),
            ([3, 4], { tensor(&[3, 4], &[1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0]) }),
        ] {
            let attrs = Attrs::new().with("fft_length", Attr::from(lengths));
            let y = run_one(&RFFT_2, &attrs, std::slice::from_ref(&x));
            check(&parts(&y), &parts(&run_one(&RFFT_2, &attrs, &[padded])));
        }
    }
}
