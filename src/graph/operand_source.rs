//! `OperandSource`: an argument of a builder call that becomes an operand; `one_dtype`: the dtype of several such
//! arguments.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::{Graph, Value};
use crate::dtype::{float_cast, number_of_stored, spelled, type_text};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::tensor::{Element, Tensor};

/// An argument that becomes an operand: a value, a `Result` of one, a tensor, a Rust scalar, or a `&str`.
///
/// A Rust scalar has no dtype of the graph yet. The builder method says where the dtype comes from:
/// [`into_operand`](OperandSource::into_operand) takes the dtype of a tensor operand, for operands that the op wants in
/// one dtype; [`into_own_operand`](OperandSource::into_own_operand) and [`one_dtype`] are for scalars whose other
/// operands have another role, such as indices, keys, segments or a seed.
pub trait OperandSource<'g>: Sized {
    /// Converts into a value, or returns the scalar.
    fn into_source(self, graph: &'g Graph, location: &'static Location<'static>) -> Source<'g>;

    /// Converts into a value. A Rust scalar takes the dtype of `peer`.
    fn into_operand(self, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
        match self.into_source(peer.graph(), location) {
            Source::Value(value) => value,
            Source::Refused(error) => peer.or_poison(Err(error)),
            Source::Scalar(scalar) => constant_like(scalar, peer, location),
        }
    }

    /// Converts into a value. A Rust scalar becomes a scalar of `dtype`.
    fn into_operand_of(
        self,
        graph: &'g Graph,
        dtype: DType,
        location: &'static Location<'static>,
    ) -> Value<'g> {
        self.into_source(graph, location).into_value(graph, dtype, location)
    }

    /// Converts into a value. A Rust scalar keeps its type.
    fn into_own_operand(self, graph: &'g Graph, location: &'static Location<'static>) -> Value<'g> {
        let [value] = one_dtype(graph, location, [self.into_source(graph, location)]);
        value
    }
}

/// What an argument is before its scalar has a dtype.
pub enum Source<'g> {
    /// A value of the graph.
    Value(Value<'g>),
    /// The error of a `Result`.
    Refused(Error),
    /// A Rust scalar.
    Scalar(Scalar),
}

impl<'g> Source<'g> {
    /// Returns whether the argument is a Rust scalar.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Source::Scalar(_))
    }

    fn into_value(self, graph: &'g Graph, dtype: DType, location: &'static Location<'static>) -> Value<'g> {
        match self {
            Source::Value(value) => value,
            Source::Refused(error) => Value::poisoned(graph, error, dtype),
            Source::Scalar(scalar) => {
                let refuse = || {
                    let message = format!("the scalar must fit {dtype}, got {}", rust_text(scalar));
                    Error::new(ErrorKind::DType, Phase::Build, message)
                };
                constant(scalar, graph, dtype, location, refuse)
            }
        }
    }
}

/// Converts arguments that the op wants in one dtype; operands of another role do not count. A Rust scalar takes the
/// dtype of the first value among the arguments. Without a value, all scalars take one dtype, see [`dtype_of_scalars`].
pub(crate) fn one_dtype<'g, const N: usize>(
    graph: &'g Graph,
    location: &'static Location<'static>,
    sources: [Source<'g>; N],
) -> [Value<'g>; N] {
    let value = sources.iter().find_map(|source| match source {
        Source::Value(value) => Some(*value),
        Source::Refused(_) | Source::Scalar(_) => None,
    });
    let scalars = sources.iter().filter_map(|source| match source {
        Source::Scalar(scalar) => Some(scalar.dtype()),
        Source::Value(_) | Source::Refused(_) => None,
    });
    // Without scalars, only a poisoned value takes the dtype.
    let dtype = dtype_of_scalars(scalars).unwrap_or(DType::F32);
    sources.map(|source| match (source, value) {
        (Source::Scalar(scalar), Some(peer)) => constant_like(scalar, peer, location),
        (source, _) => source.into_value(graph, dtype, location),
    })
}

/// Returns the one dtype of scalars of these Rust types. A float type comes before an integer type. A type that the
/// program writes comes before the types of literals without a suffix, f64 and i32. Else the first type counts. Returns
/// `None` without scalars.
pub(crate) fn dtype_of_scalars(dtypes: impl Iterator<Item = DType>) -> Option<DType> {
    let rank = |dtype: DType| (dtype.is_float(), !matches!(dtype, DType::F64 | DType::I32));
    dtypes.reduce(|best, other| if rank(other) > rank(best) { other } else { best })
}

impl<'g> OperandSource<'g> for Value<'g> {
    fn into_source(self, _graph: &'g Graph, _location: &'static Location<'static>) -> Source<'g> {
        Source::Value(self)
    }
}

impl<'g> OperandSource<'g> for Result<Value<'g>> {
    fn into_source(self, _graph: &'g Graph, _location: &'static Location<'static>) -> Source<'g> {
        self.map_or_else(Source::Refused, Source::Value)
    }
}

impl<'g> OperandSource<'g> for &Tensor {
    fn into_source(self, graph: &'g Graph, location: &'static Location<'static>) -> Source<'g> {
        Source::Value(graph.constant_at(self.clone(), location))
    }
}

impl<'g> OperandSource<'g> for &str {
    fn into_source(self, graph: &'g Graph, location: &'static Location<'static>) -> Source<'g> {
        Source::Value(graph.constant_at(Tensor::from(self), location))
    }
}

impl<'g, T: Element> OperandSource<'g> for T {
    fn into_source(self, _graph: &'g Graph, _location: &'static Location<'static>) -> Source<'g> {
        let tensor = Tensor::scalar(self);
        let bytes = tensor.view().element(0).expect("a tensor of rank 0 has one element");
        Source::Scalar(Scalar::from_bytes(T::DTYPE, bytes).expect("an element of Rust is a scalar"))
    }
}

/// Makes the constant of a scalar in the dtype of `peer`.
fn constant_like<'g>(scalar: Scalar, peer: Value<'g>, location: &'static Location<'static>) -> Value<'g> {
    constant(scalar, peer.graph(), peer.dtype(), location, || does_not_fit(scalar, peer))
}

/// Adds the constant of a scalar to the graph, or a poisoned value of `dtype` if `dtype` cannot hold the scalar.
fn constant<'g>(
    scalar: Scalar,
    graph: &'g Graph,
    dtype: DType,
    location: &'static Location<'static>,
    refuse: impl FnOnce() -> Error,
) -> Value<'g> {
    let tensor = match scalar_as(scalar, part(dtype)) {
        Some(scalar) => scalar_tensor(scalar, dtype),
        None => Err(refuse()),
    };
    match tensor {
        Ok(tensor) => graph.constant_at(tensor, location),
        Err(error) => Value::poisoned(graph, error.at(location), dtype),
    }
}

/// Converts a scalar to `dtype`; `None` if `dtype` cannot hold the scalar.
fn scalar_as(scalar: Scalar, dtype: DType) -> Option<Scalar> {
    match scalar {
        _ if scalar.dtype() == dtype => Some(scalar),
        Scalar::Bool(value) => bool_as(value, dtype),
        Scalar::U64(value) => match i64::try_from(value) {
            Ok(value) => int_as(value, dtype),
            Err(_) => dtype.is_float().then(|| crate::expr::eval_cast(scalar, dtype)),
        },
        _ if scalar.dtype().is_float() => float_as(scalar.to_f64(), dtype),
        _ => int_as(scalar.to_i64(), dtype),
    }
}

/// Writes a scalar as Rust does: a float has a point or an exponent.
fn rust_text(scalar: Scalar) -> String {
    match scalar {
        Scalar::F32(value) => format!("{value:?}"),
        Scalar::F64(value) => format!("{value:?}"),
        _ => scalar.to_string(),
    }
}

/// Returns the dtype that a scalar takes if the other operand has `dtype`: the dtype of the parts of complex numbers,
/// else `dtype`.
fn part(dtype: DType) -> DType {
    dtype.part().unwrap_or(dtype)
}

/// Returns the cast of integers of `dtype` to a wider dtype that also holds the integer `scalar`.
fn wider_cast(scalar: Scalar, dtype: DType) -> &'static str {
    let is_narrow = dtype.size_bytes().is_some_and(|size| size < 4);
    match dtype {
        _ if !dtype.is_integer() || dtype == DType::U64 => ".cast(..)",
        _ if is_narrow && int_as(scalar.to_i64(), DType::I32).is_some() => ".cast(DType::I32)",
        _ => ".cast(DType::I64)",
    }
}

fn does_not_fit(scalar: Scalar, peer: Value<'_>) -> Error {
    let dtype = peer.dtype();
    let text = rust_text(scalar);
    let number = number_of_stored(dtype).filter(|_| scalar.dtype() != DType::Bool);
    let requirement = match number {
        Some(_) => format!("{dtype} has no scalars and no arithmetic"),
        None => "this dtype must hold the scalar".to_string(),
    };
    let message = format!(
        "a scalar takes the dtype of the tensor operand, and {requirement}, got {text} with {}",
        type_text(dtype, &peer.shape())
    );
    let mut error = Error::new(ErrorKind::DType, Phase::Build, message);
    if dtype == DType::String {
        error = error
            .with_help("read the strings as numbers with .string_to_number(..), or write the scalar as text");
    }
    if dtype == DType::Bool {
        error = error.with_help("cast the bools with .cast(..); .logical_not() inverts them");
    }
    if scalar.dtype() == DType::Bool {
        error = error.with_help("compare the tensor to get bools, or write the scalar as a number");
    } else if let Some(number) = number {
        error = error.with_help(format!("cast the tensor with .cast({})", spelled(number)));
    } else if dtype.is_numeric() {
        let is_float = scalar.dtype().is_float();
        let cast = if is_float && dtype.is_integer() { float_cast(dtype) } else { wider_cast(scalar, dtype) };
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

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;

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
    fn scalars_of_one_call_have_one_dtype() {
        use DType::{Bool, F32, F64, I32, I64, U8};
        for (types, dtype) in [
            (&[F32, F64][..], F32),
            (&[F64, F32], F32),
            (&[I32, F64], F64),
            (&[I64, F64], F64),
            (&[I32, I64], I64),
            (&[U8, I64], U8),
            (&[I32, I32], I32),
            (&[Bool, Bool], Bool),
        ] {
            assert_eq!(dtype_of_scalars(types.iter().copied()), Some(dtype), "{types:?}");
        }
    }
}
