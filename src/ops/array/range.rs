//! `range`: equally spaced numbers from a start up to a limit.

use half::{bf16, f16};
use shapeflow_shape_fns::{
    Attr, Attribute, Attrs, DType, Dim, InferenceContext, IntoDim, PartialElements, TensorShape, array,
};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx, Scalar};
use crate::graph::{Graph, OperandSource, Param, Value, dtype_of_scalars};
use crate::op::{Absent, HostCx, OpDef, Operand, TfOp};

/// A bound or a step of [`Graph::range`]: `i32`, `i64`, `usize`, `f32`, `f64`, a [`Dim`], or a scalar [`Value`].
#[derive(Clone, Debug)]
pub struct Bound<'g>(Kind<'g>);

#[derive(Clone, Debug)]
enum Kind<'g> {
    Int(Dim),
    Float(f64, DType),
    Value(Value<'g>),
}

macro_rules! bounds {
    ($($T:ty => |$bound:ident| $kind:expr;)*) => {$(
        impl<'g> From<$T> for Bound<'g> {
            fn from($bound: $T) -> Bound<'g> {
                Bound($kind)
            }
        }
    )*};
}
bounds! {
    i32 => |bound| Kind::Int(Dim::known(bound.into()));
    i64 => |bound| Kind::Int(Dim::known(bound));
    usize => |bound| Kind::Int(bound.into_dim());
    Dim => |bound| Kind::Int(bound);
    &Dim => |bound| Kind::Int(bound.clone());
    f32 => |bound| Kind::Float(bound.into(), DType::F32);
    f64 => |bound| Kind::Float(bound, DType::F64);
    Value<'g> => |bound| Kind::Value(bound);
}

/// Returns a dimension as an i64 scalar.
#[track_caller]
pub(in crate::ops) fn dim_value(graph: &Graph, dim: Dim) -> Result<Value<'_>> {
    dim_value_at(graph, dim, std::panic::Location::caller())
}

/// Returns a dimension as an i64 scalar, made at a line of the program.
pub(super) fn dim_value_at<'g>(
    graph: &'g Graph,
    dim: Dim,
    location: &'static std::panic::Location<'static>,
) -> Result<Value<'g>> {
    // A range from the dimension up to the next number has the dimension as its only element.
    let ends = [dim.clone(), dim + 1, Dim::known(1)].map(PartialElements::scalar).map(Param::Elements);
    let call = NAMES.into_iter().zip(ends).fold(graph.op(&DEF), |call, (name, end)| call.size(name, end));
    let one = call.attr("dtype", DType::I64).finish_at(location)?;
    graph.op(&super::reshape::DEF).data(one).size("shape", TensorShape::scalar()).finish_at(location)
}

impl Graph {
    /// Makes the vector `start`, `start + delta`, `start + 2*delta`, …, which stops before `limit`.
    ///
    /// `-> [ceil((limit - start) / delta)]`, i32, i64 or a float. Each bound is a Rust number, a dimension or a scalar
    /// value. If a bound is a value, the result has the dtype of this value. Integers and dimensions make a range of
    /// i64, whatever their Rust types, so that a dimension can take the place of a number: `g.range(0, 5, 1)` is
    /// `i64[5]`, and `g.range(0, &n, 1)` is `i64[n]`. With floats among the bounds, the result is f32 if a float is
    /// f32, or else f64: `g.range(0, 1.0, 0.25)` is `f64[4]`.
    ///
    /// As TensorFlow's `Range`. Fuses into kernels. A float range with a value among its bounds runs on the host,
    /// because only the run can compute its length.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.range(0, 10, 3)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0i64, 3, 6, 9]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `delta` is 0, `limit` does not lie in the direction of `delta`, a number does not fit the dtype, or values
    /// differ in dtype.
    #[doc(alias = "arange")]
    #[track_caller]
    pub fn range<'g>(
        &'g self,
        start: impl Into<Bound<'g>>,
        limit: impl Into<Bound<'g>>,
        delta: impl Into<Bound<'g>>,
    ) -> Result<Value<'g>> {
        let bounds = [start.into(), limit.into(), delta.into()];
        let dtype = dtype_of(&bounds);
        let peer = bounds.iter().find_map(|bound| match bound.0 {
            Kind::Value(value) => Some(value),
            _ => None,
        });
        if dtype.is_float()
            && let Some(peer) = peer
        {
            let mut call = self.op(&FLOATS);
            for bound in bounds {
                call = call.data(bound.into_float(peer)?);
            }
            return call.finish();
        }
        let mut call = self.op(&DEF).attr("dtype", dtype);
        for (name, bound) in NAMES.into_iter().zip(bounds) {
            call = match bound.0 {
                Kind::Value(value) => call.size(name, value),
                Kind::Int(dim) if !dtype.is_float() => {
                    call.size(name, Param::Elements(PartialElements::scalar(dim)))
                }
                Kind::Int(dim) => match dim.as_known() {
                    Some(int) => call.attr(name, int as f64),
                    None => return Err(mixed(&dim, dtype)),
                },
                Kind::Float(float, _) if dtype.is_float() => call.attr(name, float),
                Kind::Float(float, _) => return Err(mixed(&float, dtype)),
            };
        }
        call.finish()
    }
}

const NAMES: [&str; 3] = ["start", "limit", "delta"];

/// Makes the error about a bound that does not fit the dtype of the range.
#[track_caller]
fn mixed(bound: &dyn std::fmt::Display, dtype: DType) -> Error {
    let message = format!("all bounds must have one dtype, got {bound} in a range of {dtype}");
    let error = Error::new(ErrorKind::DType, Phase::Build, message);
    error.with_op("range", "range").at(std::panic::Location::caller())
}

/// Returns the dtype of the first value among the bounds, or else the dtype of the floats, or else i64.
fn dtype_of(bounds: &[Bound<'_>; 3]) -> DType {
    let value = bounds.iter().find_map(|bound| match &bound.0 {
        Kind::Value(value) => Some(value.dtype()),
        _ => None,
    });
    let floats = bounds.iter().filter_map(|bound| match &bound.0 {
        Kind::Float(_, dtype) => Some(*dtype),
        Kind::Int(_) | Kind::Value(_) => None,
    });
    value.or_else(|| dtype_of_scalars(floats)).unwrap_or(DType::I64)
}

impl<'g> Bound<'g> {
    /// Converts the bound into a scalar of the dtype of `peer`, a float.
    #[track_caller]
    fn into_float(self, peer: Value<'g>) -> Result<Value<'g>> {
        let number = match self.0 {
            Kind::Value(value) => return Ok(value),
            Kind::Float(float, _) => float,
            Kind::Int(dim) => match dim.as_known() {
                Some(int) => int as f64,
                None => return Err(mixed(&dim, peer.dtype())),
            },
        };
        Ok(number.into_operand(peer, std::panic::Location::caller()))
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("range", lower)
    .attrs(&[Attribute::dtype_or("dtype", DType::I64)])
    .operands(&[Operand::Size("start"), Operand::Size("limit"), Operand::Size("delta")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Range")
        .attrs(&[("Tidx", "dtype")])
        .absent(&[("start", Absent::Zero), ("delta", Absent::One)])]);

/// Infers the shape, and refuses an attribute that the dtype of the range cannot hold.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let dtype = match cx.input_dtype(0) {
        Some(dtype) => dtype,
        None => cx.dtype_or("dtype", DType::I64)?,
    };
    for name in NAMES {
        let Some(attr) = cx.attr(name) else { continue };
        let known = attr.to_elements().and_then(|elements| elements.get(0)?.as_known());
        let fits = match attr {
            Attr::Float(_) => dtype.is_float(),
            _ => dtype != DType::I32 || known.is_none_or(|int| i32::try_from(int).is_ok()),
        };
        if !fits {
            return Err(cx.blame_param(name, format_args!("must fit {dtype}, got {attr}")));
        }
    }
    array::range(cx)
}

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let Some((first, rest)) = operands.split_first() else {
        return Ok(vec![attrs.dtype("dtype")]);
    };
    dtype::check_indices(operands, 0)?;
    match rest.iter().find(|other| *other != first) {
        Some(other) => dtype::refuse_with_help(
            format!("bounds must have one dtype, got {first} and {other}"),
            format!("cast all bounds with .cast({})", dtype::spelled(*first)),
        ),
        None => Ok(vec![*first]),
    }
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(0);
    let position = index.first().cloned().unwrap_or(Index::from(0));
    let start = bound(cx, 0).cast(dtype);
    let delta = bound(cx, 2).cast(dtype);
    start + Expr::iota(position).cast(dtype) * delta
}

/// Loads bound `number`, which is an attribute or an operand.
fn bound(cx: &mut dyn LowerCx, number: usize) -> Expr {
    let given = |cx: &dyn LowerCx, number: usize| cx.attrs().get(NAMES[number]).cloned();
    match given(cx, number) {
        Some(Attr::Float(value)) => Expr::constant(value),
        Some(attr) => match attr.to_elements().as_ref().and_then(|elements| elements.get(0)) {
            Some(element) => Expr::size(element.clone()),
            None => Expr::constant(0i64),
        },
        None => {
            let operand = (0..number).filter(|&earlier| given(cx, earlier).is_none()).count();
            cx.operand(operand, &[])
        }
    }
}

/// A range of floats with a value among its bounds. Its length is known only at run time.
pub(crate) static FLOATS: OpDef = OpDef::host("float_range", run)
    .operands(&[Operand::Data("start"), Operand::Data("limit"), Operand::Data("delta")])
    .shape_fn(|cx| {
        for operand in 0..3 {
            cx.with_rank(operand, 0)?;
        }
        let shape = cx.unknown_shape_of_rank(1);
        cx.set_output(0, shape);
        Ok(())
    })
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 3, dtype::Class::Float)?]))
    .tensorflow(&[TfOp::new("Range").own_shape_fn()]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let mut bounds = [0.0; 3];
    for (number, bound) in bounds.iter_mut().enumerate() {
        let view = cx.input(number)?;
        let scalar = view.element(0).and_then(|bytes| Scalar::from_bytes(view.dtype(), bytes));
        *bound = scalar.map_or(f64::NAN, Scalar::to_f64);
    }
    let [start, limit, delta] = bounds;
    let refuse = |requirement: &str| {
        Err(Error::new(
            ErrorKind::Shape,
            Phase::Run,
            format!("{requirement}, got range({start}, {limit}, {delta})"),
        ))
    };
    if delta == 0.0 || !(start.is_finite() && limit.is_finite() && delta.is_finite()) {
        return refuse("a range must have finite bounds and a delta that is not 0");
    }
    if (limit - start) * delta.signum() < 0.0 {
        let error = Error::from(array::range_away_from_limit(start, limit, delta, delta > 0.0));
        return Err(error.with_phase(Phase::Run));
    }
    let round: fn(f64) -> f64 = match cx.input(0)?.dtype() {
        DType::F16 => |number| f16::from_f64(number).to_f64(),
        DType::BF16 => |number| bf16::from_f64(number).to_f64(),
        DType::F32 => |number| f64::from(number as f32),
        _ => |number| number,
    };
    // Each operation is rounded to the dtype, as in TensorFlow: in f32, 0.3 / 0.1 is exactly 3 steps. An f64 holds the
    // result of an operation on two numbers of at most 24 bits so exactly that it rounds as the exact result does.
    let length = round(round(limit - start) / delta).ceil();
    if length >= isize::MAX as f64 {
        return refuse("a range must fit into memory");
    }
    let length = length as usize;
    let numbers = (0..length).map(|i| round(start + round(round(i as f64) * delta)));
    let dtype = cx.input(0)?.dtype();
    let mut output = cx.unfilled_output(0, &[length])?;
    match dtype {
        DType::F16 => fill(output.as_mut_bits()?, numbers.map(|x| f16::from_f64(x).to_bits())),
        DType::BF16 => fill(output.as_mut_bits()?, numbers.map(|x| bf16::from_f64(x).to_bits())),
        DType::F32 => fill(output.as_mut_slice()?, numbers.map(|x| x as f32)),
        _ => fill(output.as_mut_slice()?, numbers),
    }
    Ok(())
}

fn fill<T>(output: &mut [T], numbers: impl Iterator<Item = T>) {
    output.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = number);
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::eval::evaluate;
    use crate::op::OperandMask;
    use crate::ops::testing::{recorded, run_one, shape_table};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"start": 2, "delta": 3},
        "limit=i64[]" => "i64[floordiv(?, 3)]",
        "limit=f32[]" => error "the element type must be i32 or i64, got f32",
    }
    shape_table! { known: DEF, {"start": 0, "limit": 7, "delta": 2, "dtype": DType::I32},
        "" => "i32[4]",
    }
    shape_table! { narrow: DEF, {"start": -5_000_000_000i64, "delta": 1},
        "limit=i64[]" => "i64[?+5000000000]",
        "limit=i32[]" => error "start must fit i32, got -5000000000",
    }
    shape_table! { fractions: DEF, {"start": 1.5, "limit": 4.0, "delta": 0.5},
        "" => error "start must fit i64, got 1.5",
    }
    shape_table! { backwards: DEF, {"start": 5, "limit": 0, "delta": 1},
        "" => error "",
    }
    shape_table! { floats: FLOATS, {},
        "[]; []; []" => "[?]",
        "bf16[]; bf16[]; bf16[]" => "bf16[?]",
        "[]; []; f64[]" => error "operands must have one dtype, got f32 and f64",
    }

    #[test]
    fn a_length_beyond_memory_is_an_error() {
        let bounds = [0.0, 1e13, 1.0].map(Tensor::scalar);
        let error = crate::ops::testing::run(&FLOATS, &Attrs::new(), &bounds).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    }

    #[test]
    fn values_are_those_recorded() {
        // The cases have three operands, whose dtype selects the op.
        static ANY: OpDef = OpDef::host("range", |cx| {
            let inputs = [0, 1, 2].map(|input| cx.input(input).unwrap().to_tensor().unwrap());
            if inputs[0].dtype().is_float() {
                return run(cx);
            }
            let output =
                evaluate(&DEF, OperandMask::all(3), cx.attrs(), &inputs.each_ref().map(Tensor::view))?;
            cx.set_output(0, output.into_iter().next().unwrap())
        })
        .shape_fn(|cx| {
            let shape = cx.unknown_shape_of_rank(1);
            cx.set_output(0, shape);
            Ok(())
        });
        recorded(&ANY);
    }

    #[test]
    fn bounds_of_any_kind() {
        let g = Graph::new();
        let text = |value: Result<Value<'_>>| format!("{:?}", value.unwrap());
        let n = Dim::symbol("n");
        assert!(text(g.range(0, 5, 1)).ends_with(": i64[5]"));
        assert!(text(g.range(0usize, 5i64, 1)).ends_with(": i64[5]"));
        assert!(text(g.range(1, &n + 1, 1i64)).ends_with(": i64[n]"));
        assert!(text(g.range(0, 1.0f32, 0.25f32)).ends_with(": f32[4]"));
        assert!(text(g.range(1.0, 0.0, -0.5)).ends_with(": f64[2]"));
        let x = g.input("x", DType::I32, shape![]).unwrap();
        assert!(text(g.range(0, x, 1)).ends_with(": i32[?]"));
        let x = g.input("y", DType::F64, shape![]).unwrap();
        assert!(text(g.range(0, x, 0.5)).ends_with(": f64[?]"));
        assert!(g.range(0, &n, 0.5).unwrap_err().message().contains("one dtype"));
    }

    #[test]
    fn float_bounds_as_attributes() {
        let attrs =
            Attrs::new().with("start", 1.0).with("limit", 2.0).with("delta", 0.25).with("dtype", DType::F32);
        let y = run_one(&DEF, &attrs, &[]);
        assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 1.25, 1.5, 1.75]);
    }
}
