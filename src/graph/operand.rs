//! `IntoOperand`, `IntoShapeArg`: types that convert into an operand or a target shape.

use shapeflow_shape_fns::{Dim, IntoDim, PartialElements, TensorShape};

use super::operand_source::OperandSource;
use super::{IntoParam, Param, Value};
use crate::error::Result;
use crate::tensor::Tensor;

/// A further operand of an op on a value: another value, a `Result` of one, a tensor, a Rust scalar, a `&str`, or a
/// [`Dim`].
///
/// A scalar takes the dtype of the tensor operand if the op requires one dtype for both. An integer dtype must hold the
/// scalar exactly. A float dtype rounds the scalar. A scalar keeps its Rust type if the other operands have another
/// role: an update with indices, or a parameter with a seed.
///
/// If an op requires one dtype for several scalars and no tensor, a float type comes before an integer type, and a type
/// that the program writes comes before the types of literals without a suffix, f64 and i32: `0.0f32` and `1.0` are
/// f32, and `0` and `1.0` are f64.
///
/// A `&str` is a scalar of strings: `tags.not_equal("")?`. A Rust array is no operand: `graph.constant([1, 2])?` makes
/// a value of it.
///
/// A [`Dim`] is the size of that dimension as an i64 scalar. It takes the dtype of a float tensor operand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand of a tensor op",
    note = "an operand is a `Value`, a `Tensor`, a Rust scalar, a `&str` or a `Dim`; `graph.constant([1, 2])?` makes a \
            value of an array",
    note = "a scalar on the left must be f64 or i64: write `x * k` instead of `k * x`"
)]
pub trait IntoOperand<'g>: OperandSource<'g> {}

impl<'g> IntoOperand<'g> for Value<'g> {}
impl<'g> IntoOperand<'g> for Result<Value<'g>> {}
impl<'g> IntoOperand<'g> for &Tensor {}
impl<'g> IntoOperand<'g> for &str {}

macro_rules! scalar_operands {
    ($($T:ty)*) => {$(
        impl<'g> IntoOperand<'g> for $T {}
    )*};
}
scalar_operands!(bool u8 i32 i64 f32 f64);

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
    use shapeflow_shape_fns::{DType, shape};

    use super::*;
    use crate::graph::Graph;

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
