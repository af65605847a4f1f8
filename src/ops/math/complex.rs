//! Complex numbers from their parts, and the parts of complex numbers: `complex`, `real`, `imag`, `conj`, `angle`.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfFunction, TfOp};
use crate::ops::broadcast::lower_binary;
use crate::ops::elementwise_in_tensorflow as in_tensorflow;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The complex numbers with the real part `self` and the imaginary part `imaginary`.
    ///
    /// `[..], [..] -> broadcast`, both f32, which gives c64, or both f64, which gives c128. As TensorFlow's `Complex`.
    /// Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let z = g.constant([3.0f32, 0.0])?.complex(&shapeflow::Tensor::from([4.0f32, 1.0]))?;
    /// let [modulus, square] = g.compile([z.abs()?, (z * z).real()?])?.run(&[])?;
    /// assert_eq!(modulus.to_vec::<f32>()?, [5.0, 1.0]);
    /// assert_eq!(square.to_vec::<f32>()?, [-7.0, -1.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not f32 or f64, or the shapes do not broadcast.
    #[track_caller]
    pub fn complex(self, imaginary: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&COMPLEX, imaginary, Location::caller())
    }

    /// The real part of every element; real numbers are returned unchanged.
    ///
    /// `[..] -> [..]`, c64 gives f32 and c128 gives f64. As TensorFlow's `Real`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let z = g.constant([3.0])?.complex(g.constant([4.0])?)?;
    /// let y = z.real()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([3.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer, a float or a complex number.
    #[track_caller]
    pub fn real(self) -> Result<Value<'g>> {
        self.part_of(&REAL, Location::caller())
    }

    /// The imaginary part of every element, which is 0 for a real number.
    ///
    /// `[..] -> [..]`, c64 gives f32 and c128 gives f64. As TensorFlow's `Imag`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let z = g.constant([3.0])?.complex(g.constant([4.0])?)?;
    /// let y = z.imag()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer, a float or a complex number.
    #[track_caller]
    pub fn imag(self) -> Result<Value<'g>> {
        let part = self.part_of(&IMAG, Location::caller())?;
        if self.dtype().is_complex() { Ok(part) } else { part.zeros_like() }
    }

    /// The complex conjugate of every element: the imaginary part changes its sign. Real numbers are returned
    /// unchanged.
    ///
    /// `[..] -> [..]`. As TensorFlow's `Conj`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let z = g.constant([3.0])?.complex(g.constant([4.0])?)?;
    /// let y = z.conj()?.imag()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([-4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer, a float or a complex number.
    #[doc(alias = "conjugate")]
    #[track_caller]
    pub fn conj(self) -> Result<Value<'g>> {
        self.part_of(&CONJ, Location::caller())
    }

    /// The angle of every element in `[-π, π]` radians; 0 or π for a float.
    ///
    /// `[..] -> [..]`, c64 gives f32 and c128 gives f64. As TensorFlow's `Angle`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let z = g.constant([1.0])?.complex(g.constant([1.0])?)?;
    /// let y = z.angle()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.7854]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float or a complex number.
    #[doc(alias = "arg")]
    #[track_caller]
    pub fn angle(self) -> Result<Value<'g>> {
        self.unary(&ANGLE, Location::caller())
    }

    /// Adds a node of an op on complex numbers. Real numbers are returned unchanged.
    fn part_of(self, def: &'static OpDef, location: &'static Location<'static>) -> Result<Value<'g>> {
        let dtype = self.dtype();
        if dtype.is_numeric() && !dtype.is_complex() { self.ok() } else { self.unary(def, location) }
    }
}

macro_rules! unary {
    ($($DEF:ident $name:literal $tensorflow:literal $rule:path, $body:expr $(, $function:path)?;)*) => {$(
        pub(crate) static $DEF: OpDef = OpDef::compute($name, |cx, _output, index| {
            let body: fn(Expr) -> Expr = $body;
            body(cx.operand(0, index))
        })
        .operands(&[Operand::Data("x")])
        .shape_fn(shape_fns::common::unary)
        .dtype_rule($rule)
        .tensorflow(&[TfOp::new($tensorflow)])
        $(.in_tensorflow(TfFunction::Composed($function)))?;
    )*};
}
unary! {
    REAL "real" "Real" dtype::part::complex, |z| z.real();
    IMAG "imag" "Imag" dtype::part::complex, |z| z.imag();
    CONJ "conj" "Conj" dtype::unary::complex, |z| z.conj();
    ANGLE "angle" "Angle" dtype::part::inexact, math::angle, in_tensorflow::angle;
}

pub(crate) static COMPLEX: OpDef =
    OpDef::compute("complex", |cx, _output, index| lower_binary(cx, index, Expr::complex))
        .operands(&[Operand::Data("x"), Operand::Data("y")])
        .shape_fn(shape_fns::common::broadcast)
        .dtype_rule(of_parts)
        .tensorflow(&[TfOp::new("Complex")]);

fn of_parts(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match dtype::common(dtypes, 0, 2, dtype::Class::Float)? {
        DType::F32 => Ok(vec![DType::C64]),
        DType::F64 => Ok(vec![DType::C128]),
        other => dtype::refuse_with_help(
            format!("the parts of a complex number must be f32 or f64, got {other}"),
            "cast them with .cast(DType::F32)".to_string(),
        ),
    }
}

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&COMPLEX, &REAL, &IMAG, &CONJ, &ANGLE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{shape_table, tensor};
    use crate::{Graph, Tensor};

    shape_table! { COMPLEX, {},
        "[2, n]; [n]" => "c64[2, d0_1]",
        "f64[]; f64[3]" => "c128[3]",
        "f16[]; f16[3]" => error "must be f32 or f64, got f16",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
    }
    shape_table! { real: REAL, {},
        "c64[n]" => "f32[n]",
        "[n]" => error "must be a complex number, got f32",
    }
    shape_table! { conj: CONJ, {},
        "c128[n]" => "c128[n]",
    }
    shape_table! { angle: ANGLE, {},
        "c128[n]" => "f64[n]",
        "f16[n]" => "f16[n]",
        "i32[n]" => error "must be a float or a complex number, got i32",
    }

    #[test]
    fn real_numbers_are_their_own_real_part() {
        let graph = Graph::new();
        let x = graph.input("x", DType::I32, [2]).unwrap();
        assert_eq!((x.real().unwrap().id(), x.conj().unwrap().id()), (x.id(), x.id()));
        let exe = graph.compile([x.imag().unwrap(), x.cast(DType::F32).unwrap().angle().unwrap()]).unwrap();
        let x = tensor(&[2], &[-3i32, 3]);
        let [imaginary, angle] = exe.run(&[x.view()]).unwrap();
        assert_eq!(imaginary.to_vec::<i32>().unwrap(), [0, 0]);
        assert_eq!(angle.to_vec::<f32>().unwrap(), [std::f32::consts::PI, 0.0]);
        assert!(graph.constant(Tensor::scalar(true)).unwrap().real().is_err());
    }
}
