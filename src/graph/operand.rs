//! `IntoOperand`, `IntoShapeArg`: types that convert into an operand or a target shape.

use std::fmt;
use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, IntoDim, PartialElements, TensorShape};

use super::{IntoParam, Param, Value};
use crate::dtype::{float_cast, type_text};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::tensor::Tensor;

mod sealed {
    pub trait Sealed {}
}

/// An operand beside a value: another value, a `Result` of one, a tensor, or a Rust scalar.
///
/// A scalar takes the dtype of the other operand. An integer dtype must hold the scalar exactly.
/// A float dtype rounds the scalar.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of a tensor op",
    note = "an operand is a `Value`, a `Tensor` or a Rust scalar; `graph.constant([1, 2])?` makes a value of an array",
    note = "a scalar on the left must be f64 or i64: write `x * k` instead of `k * x`"
)]
pub trait IntoOperand<'g>: sealed::Sealed {
    #[doc(hidden)]
    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g>;

    /// Returns whether the operand is a Rust scalar, which takes the dtype of `peer`.
    #[doc(hidden)]
    fn takes_dtype_of_peer(&self) -> bool {
        false
    }

    /// Converts as [`into_operand`](IntoOperand::into_operand) does, but a Rust scalar becomes a scalar of `dtype`.
    #[doc(hidden)]
    fn into_operand_of(self, peer: Value<'g>, dtype: DType, location: &'static Location<'static>) -> Value<'g>
    where
        Self: Sized,
    {
        let _ = dtype;
        self.into_operand(peer, location)
    }
}

impl sealed::Sealed for Value<'_> {}
impl<'g> IntoOperand<'g> for Value<'g> {
    fn into_operand(self, _peer: Value<'g>, _location: &'static Location<'static>) -> Value<'g> {
        self
    }
}

impl sealed::Sealed for Result<Value<'_>> {}
impl<'g> IntoOperand<'g> for Result<Value<'g>> {
    fn into_operand(self, peer: Value<'g>, _location: &'static Location<'static>) -> Value<'g> {
        peer.or_poison(self)
    }
}

impl sealed::Sealed for &Tensor {}
impl<'g> IntoOperand<'g> for &Tensor {
    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
        peer.graph().constant_at(self.clone(), location)
    }
}

macro_rules! scalar_operand {
    ($($T:ident $kind:ident),* $(,)?) => {$(
        impl sealed::Sealed for $T {}
        impl<'g> IntoOperand<'g> for $T {
            fn takes_dtype_of_peer(&self) -> bool {
                true
            }

            fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
                let dtype = peer.dtype();
                let tensor = $kind(self.into(), part(dtype)).map(|scalar| scalar_tensor(scalar, dtype));
                let tensor = tensor.unwrap_or_else(|| Err(does_not_fit(&self, peer)));
                constant_or_poison(tensor, peer, dtype, location)
            }

            fn into_operand_of(
                self,
                peer: Value<'g>,
                dtype: DType,
                location: &'static Location<'static>,
            ) -> Value<'g> {
                let tensor = $kind(self.into(), part(dtype)).map(|scalar| scalar_tensor(scalar, dtype));
                let tensor = tensor.unwrap_or_else(|| {
                    let message = format!("the scalar must fit {dtype}, got {self:?}");
                    Err(Error::new(ErrorKind::DType, Phase::Build, message))
                });
                constant_or_poison(tensor, peer, dtype, location)
            }
        }
    )*};
}
scalar_operand!(bool bool_as, u8 int_as, i32 int_as, i64 int_as, f32 float_as, f64 float_as);

/// Returns the dtype of a scalar beside elements of `dtype`. Beside complex numbers, a scalar has the dtype of the
/// parts of these numbers.
fn part(dtype: DType) -> DType {
    dtype.part().unwrap_or(dtype)
}

/// Adds the constant of a scalar to the graph of `peer`, or a poisoned value of `dtype`.
fn constant_or_poison<'g>(
    tensor: Result<Tensor>,
    peer: Value<'g>,
    dtype: DType,
    location: &'static Location<'static>,
) -> Value<'g> {
    match tensor {
        Ok(tensor) => peer.graph().constant_at(tensor, location),
        Err(error) => Value::poisoned(peer.graph(), error.at(location), dtype),
    }
}

fn does_not_fit(scalar: &dyn fmt::Debug, peer: Value<'_>) -> Error {
    let dtype = peer.dtype();
    let message = format!(
        "a scalar takes the dtype of the tensor beside it, and this dtype must hold the scalar, got {scalar:?} \
         beside {}",
        type_text(dtype, &peer.shape())
    );
    let mut error = Error::new(ErrorKind::DType, Phase::Build, message);
    if dtype == DType::String {
        error = error
            .with_help("read the strings as numbers with .string_to_number(..), or write the scalar as text");
    }
    if matches!(format!("{scalar:?}").as_str(), "true" | "false") {
        error = error.with_help("compare the tensor to get bools, or write the scalar as a number");
    } else if dtype.is_numeric() {
        let is_float = format!("{scalar:?}").contains(['.', 'e', 'N', 'i']);
        let cast = if is_float && dtype.is_integer() { float_cast(dtype) } else { ".cast(..)" };
        error = error.with_help(format!("cast the tensor to a dtype that holds the scalar, with {cast}"));
    }
    let Ok(index) = peer.index() else { return error };
    let data = peer.graph().read();
    let node = data.values[index.index()].node;
    error.note(
        format!("the tensor comes from {}", data.node_label(node)),
        Some(data.nodes[node.index()].location),
    )
}

/// Makes a tensor of rank 0, whose element is `scalar` or the complex number with this real part.
fn scalar_tensor(scalar: Scalar, dtype: DType) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(dtype, &[])?;
    if let Some(bytes) = tensor.view_mut()?.element_mut(0) {
        scalar.write_bytes(bytes);
    }
    Ok(tensor)
}

/// Converts a Rust bool to a scalar of `dtype`; `None` if `dtype` cannot hold the bool.
fn bool_as(value: bool, dtype: DType) -> Option<Scalar> {
    (dtype == DType::Bool).then_some(Scalar::Bool(value))
}

/// Converts a Rust integer to a scalar of `dtype`; `None` if `dtype` cannot hold the integer.
fn int_as(value: i64, dtype: DType) -> Option<Scalar> {
    if dtype == DType::Bool || !dtype.is_numeric() {
        return None;
    }
    let scalar = crate::expr::eval_cast(Scalar::I64(value), dtype);
    // A float dtype rounds the integer. An integer dtype must hold the integer exactly.
    let is_held =
        (value >= 0 || dtype.is_signed()) && crate::expr::eval_cast(scalar, DType::I64) == Scalar::I64(value);
    (dtype.is_float() || is_held).then_some(scalar)
}

/// Converts a Rust float to a scalar of `dtype`; `None` if `dtype` cannot hold the float.
fn float_as(value: f64, dtype: DType) -> Option<Scalar> {
    if dtype.is_float() {
        return Some(crate::expr::eval_cast(Scalar::F64(value), dtype));
    }
    // The cast is exact for every whole float that some integer dtype holds.
    let whole = value as i128;
    if whole as f64 != value {
        return None;
    }
    match dtype {
        DType::U64 => u64::try_from(whole).ok().map(Scalar::U64),
        _ => i64::try_from(whole).ok().and_then(|whole| int_as(whole, dtype)),
    }
}

/// A target shape: an array, slice or vector of sizes (with -1 for the size to infer), one size (the shape of a
/// vector), a [`TensorShape`], or a value that holds the sizes. A size is an integer, a [`Dim`] or a name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a target shape",
    note = "sizes are integers, `Dim`s and names, in an array, slice or vector of one type: write `shape![&n, 2]` to mix"
)]
pub trait IntoShapeArg<'g> {
    #[doc(hidden)]
    fn into_shape_arg(self) -> Param<'g>;
}

fn shape_arg<'g>(sizes: impl IntoIterator<Item = impl IntoDim>) -> Param<'g> {
    Param::Elements(PartialElements::vector(sizes.into_iter().map(IntoDim::into_dim)))
}

impl<'g> IntoShapeArg<'g> for Value<'g> {
    fn into_shape_arg(self) -> Param<'g> {
        Param::Value(self)
    }
}

impl<'g> IntoShapeArg<'g> for TensorShape {
    fn into_shape_arg(self) -> Param<'g> {
        (&self).into_shape_arg()
    }
}

impl<'g> IntoShapeArg<'g> for &TensorShape {
    fn into_shape_arg(self) -> Param<'g> {
        match self.dims() {
            Some(dims) => shape_arg(dims),
            None => Param::Refused("a target shape must have a known rank, got shape [..]".to_string()),
        }
    }
}

impl<'g> IntoParam<'g> for TensorShape {
    fn into_param(self) -> Param<'g> {
        self.into_shape_arg()
    }
}

impl<'g> IntoParam<'g> for &TensorShape {
    fn into_param(self) -> Param<'g> {
        self.into_shape_arg()
    }
}

macro_rules! shape_args {
    ([$($single:ty)*] $([$($generics:tt)*] $Sizes:ty,)*) => {
        $(impl<'g> IntoShapeArg<'g> for $single {
            fn into_shape_arg(self) -> Param<'g> {
                shape_arg([self])
            }
        })*
        $(impl<'g, $($generics)*> IntoShapeArg<'g> for $Sizes {
            fn into_shape_arg(self) -> Param<'g> {
                shape_arg(self)
            }
        })*
    };
}
shape_args! {
    [i32 i64 u32 usize Dim &i32 &i64 &u32 &usize &Dim &&Dim]
    [T: IntoDim, const N: usize] [T; N],
    [T: IntoDim + Clone, const N: usize] &[T; N],
    [T: IntoDim + Clone] &[T],
    [T: IntoDim] Vec<T>,
    [T: IntoDim + Clone] &Vec<T>,
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::graph::Graph;

    #[test]
    fn a_float_beside_integers_gets_help_that_names_the_float_dtype() -> Result<()> {
        let g = Graph::new();
        let pixels = g.input("pixels", DType::U8, shape!["n"])?;
        let counts = g.input("counts", DType::I32, shape!["n"])?;
        for (outcome, cast) in [
            (pixels / 255.0, ".cast(DType::F32)"),
            (pixels / 2.5, ".cast(DType::F32)"),
            (pixels * 256.0, ".cast(DType::F32)"),
            (counts / 2.0, ".cast(DType::F64)"),
            (counts * 2.5, ".cast(DType::F64)"),
        ] {
            let error = outcome.ok().unwrap_err();
            assert!(error.help().is_some_and(|help| help.ends_with(cast)), "{error}");
        }
        let error = counts.equal(true).unwrap_err();
        assert!(error.help().is_some_and(|help| help.starts_with("compare the tensor")), "{error}");
        Ok(())
    }

    #[test]
    fn an_integer_dtype_takes_every_whole_float_that_it_holds() -> Result<()> {
        let top = 2.0f64.powi(63);
        let held = |value, dtype| float_as(value, dtype);
        assert_eq!(held(top, DType::U64), Some(Scalar::U64(1 << 63)));
        assert_eq!(held(2.0 * top, DType::U64), None);
        assert_eq!(held(-top, DType::I64), Some(Scalar::I64(i64::MIN)));
        for (value, dtype) in [
            (top, DType::I64),
            (-1.0, DType::U64),
            (0.5, DType::U64),
            (256.0, DType::U8),
            (f64::NAN, DType::I32),
        ] {
            assert_eq!(held(value, dtype), None);
        }
        Ok(())
    }

    #[test]
    #[allow(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
    fn a_target_shape_has_many_forms() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 6])?;
        let n = x.shape().dims().expect("the rank is known")[0].clone();
        let (array, sizes) = ([-1i32, 2, 3], vec![-1i64, 2, 3]);
        let (two, three) = (Dim::known(2), Dim::known(3));
        let (borrowed, mixed) = ([&n, &two, &three], shape![&&n, 2usize, 3i64]);
        let all = [
            x.reshape([-1, 2, 3]),
            x.reshape([-1i64, 2, 3]),
            x.reshape(&array[..]),
            x.reshape(vec![-1i64, 2, 3]),
            x.reshape(&sizes),
            x.reshape(&sizes[..]),
            x.reshape([n.clone(), Dim::known(2), Dim::known(3)]),
            x.reshape(&borrowed[..]),
            x.reshape(shape![&n, 2, 3]),
            x.reshape(&mixed),
            x.reshape(
                ["n", "2", "3"]
                    .map(|text| if text == "n" { n.clone() } else { Dim::known(text.parse().unwrap()) }),
            ),
        ];
        for y in all {
            assert_eq!(y?.shape(), shape!["n", 2, 3]);
        }
        let flat = [x.reshape(-1), x.reshape(6 * &n), x.reshape(&(6 * &n))];
        for y in flat {
            assert_eq!(y?.shape().to_string(), "[6*n]");
        }
        Ok(())
    }
}
