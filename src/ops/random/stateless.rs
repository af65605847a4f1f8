//! `random_uniform`, `random_normal` and so on: random numbers that depend only on a seed.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::philox::Philox;
use super::samples::{RandomInt, integers, normal, truncated_normal, uniform};
use super::state::{stream_of_seed, stream_of_state};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoShapeArg, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::tensor::TensorViewMut;

macro_rules! of_dtype {
    ($($(#[$doc:meta])* $method:ident, $dtypes:literal, $V1:ident $tf:literal, $V2:ident $name:literal $tf_v2:literal,
        $class:ident $default:expr, $fill:expr;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            #[doc = concat!("`seed [2] -> shape`, i32 or i64 to ", $dtypes, ". The same seed and shape give the same \
                numbers in every run. As TensorFlow's `", $tf, "` on a CPU, bit for bit up to the rounding of logarithm \
                and sine, which differs between C libraries. Runs on the host.")]
            ///
            /// # Errors
            /// The seed is not an integer, a size is negative, or `dtype` is not supported. The run fails unless the
            /// seed has two elements.
            #[track_caller]
            pub fn $method(self, shape: impl IntoShapeArg<'g>, dtype: DType) -> Result<Value<'g>> {
                self.graph().op(&$V1).size("shape", shape.into_shape_arg()).data(self).attr("dtype", dtype).finish()
            }
        )*}

        $(
            static $V1: OpDef = OpDef::host(stringify!($method), |cx| {
                let stream = stream_of_seed(cx, cx.inputs() - 1)?;
                filled(cx, |to| $fill(to, stream))
            })
            .attrs(&[Attribute::dtype_or("dtype", $default)])
            .operands(&[Operand::Size("shape"), Operand::Data("seed")])
            .shape_fn(shapeflow_shape_fns::random::numbers)
            .dtype_rule(|operands, attrs| {
                dtype::check_indices(operands, 0)?;
                $class(attrs)
            })
            .tensorflow(&[TfOp::new($tf)]);

            pub(crate) static $V2: OpDef = OpDef::host($name, |cx| {
                let stream = stream_of_state(cx, cx.inputs() - 3)?;
                filled(cx, |to| $fill(to, stream))
            })
            .attrs(&[Attribute::dtype_or("dtype", $default)])
            .operands(STATE_OPERANDS)
            .shape_fn(shapeflow_shape_fns::random::numbers)
            .dtype_rule(|operands, attrs| {
                check_state(operands, 0)?;
                $class(attrs)
            })
            .tensorflow(&[TfOp::new($tf_v2)]);
        )*
    };
}

const STATE_OPERANDS: &[Operand] =
    &[Operand::Size("shape"), Operand::Data("key"), Operand::Data("counter"), Operand::Data("alg")];

of_dtype! {
    /// Makes random floats that are uniform in [0, 1). `self` is the seed.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1i64, 2])?.random_uniform([1000], DType::F32)?;
    /// let [x] = g.compile(x)?.run(&[])?;
    /// assert!(x.to_vec::<f32>()?.iter().all(|x| (0.0..1.0).contains(x)));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "rand")]
    #[doc(alias = "stateless_random_uniform")]
    random_uniform, "f16, bf16, f32 or f64", UNIFORM "StatelessRandomUniform",
        UNIFORM_WITH_STATE "random_uniform_with_state" "StatelessRandomUniformV2", float DType::F32, uniform;
    /// Makes random floats of the standard normal distribution. `self` is the seed.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1i64, 2])?.random_normal([1000], DType::F64)?;
    /// let mean = g.compile(x.reduce_mean(0)?)?.run::<1>(&[])?[0].item::<f64>()?;
    /// assert!(mean.abs() < 0.2);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "randn")]
    #[doc(alias = "stateless_random_normal")]
    random_normal, "f16, bf16, f32 or f64", NORMAL "StatelessRandomNormal",
        NORMAL_WITH_STATE "random_normal_with_state" "StatelessRandomNormalV2", float DType::F32, normal;
    /// Makes random floats of the standard normal distribution, restricted to (-2, 2). `self` is the seed.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1i64, 2])?.random_truncated_normal([1000], DType::F32)?;
    /// let [x] = g.compile(x)?.run(&[])?;
    /// assert!(x.to_vec::<f32>()?.iter().all(|x| x.abs() < 2.0));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "stateless_truncated_normal")]
    #[doc(alias = "truncated_normal")]
    random_truncated_normal, "f16, bf16, f32 or f64", TRUNCATED "StatelessTruncatedNormal",
        TRUNCATED_WITH_STATE "random_truncated_normal_with_state" "StatelessTruncatedNormalV2", float DType::F32,
            truncated_normal;
    /// Makes integers whose bits are all random. `self` is the seed.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let bits = g.constant([1i64, 2])?.random_bits([4], DType::U64)?;
    /// let exe = g.compile(bits)?;
    /// assert_eq!(exe.run::<1>(&[])?, exe.run::<1>(&[])?); // the same seed gives the same bits
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "stateless_random_uniform_full_int")]
    random_bits, "i32, i64, u32 or u64", BITS "StatelessRandomUniformFullInt",
        BITS_WITH_STATE "random_bits_with_state" "StatelessRandomUniformFullIntV2", integer DType::U64, bits;
}

impl<'g> Value<'g> {
    /// Makes random integers in `[low, high)`. `self` is the seed. If the width of the range is no power of 2, the
    /// lower numbers are more likely, by at most the width divided by the number of values of the dtype.
    ///
    /// `seed [2], low [], high [] -> shape`; the seed is i32 or i64, the bounds and the result are i32, i64, u32 or
    /// u64. As TensorFlow's `StatelessRandomUniformInt` on a CPU, bit for bit. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let seed = g.constant([1i64, 2])?;
    /// let dice = seed.random_int([100], g.constant(1i32)?, g.constant(7i32)?)?;
    /// let [dice] = g.compile(dice)?.run(&[])?;
    /// assert!(dice.to_vec::<i32>()?.iter().all(|points| (1..=6).contains(points)));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The seed is not an integer, a size is negative, or the bounds are not scalars of one supported dtype. The run
    /// fails unless the seed has two elements and `low` is less than `high`.
    #[doc(alias = "randint")]
    #[doc(alias = "stateless_random_uniform_int")]
    #[track_caller]
    pub fn random_int(
        self,
        shape: impl IntoShapeArg<'g>,
        low: impl IntoOperand<'g>,
        high: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let graph = self.graph();
        let sources = [low.into_source(graph, location), high.into_source(graph, location)];
        let [low, high] = one_dtype(graph, location, sources);
        graph.op(&INT).size("shape", shape.into_shape_arg()).data(self).data(low).data(high).finish()
    }
}

static INT: OpDef = OpDef::host("random_int", |cx| {
    let stream = stream_of_seed(cx, cx.inputs() - 3)?;
    bounded(cx, stream)
})
.operands(&[Operand::Size("shape"), Operand::Data("seed"), Operand::Data("minval"), Operand::Data("maxval")])
.shape_fn(shapeflow_shape_fns::random::numbers)
.dtype_rule(|operands, _| {
    let (seed, bounds) = operands.split_at(operands.len().saturating_sub(2));
    dtype::check_indices(seed, 0)?;
    bound_dtype(bounds)
})
// An integer of 64 bits takes twice as many random bits.
.never_widened()
.tensorflow(&[TfOp::new("StatelessRandomUniformInt")]);

pub(crate) static INT_WITH_STATE: OpDef = OpDef::host("random_int_with_state", |cx| {
    let stream = stream_of_state(cx, cx.inputs() - 5)?;
    bounded(cx, stream)
})
.operands(&[
    Operand::Size("shape"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
    Operand::Data("minval"),
    Operand::Data("maxval"),
])
.shape_fn(shapeflow_shape_fns::random::numbers)
.dtype_rule(|operands, _| {
    check_state(operands, 2)?;
    bound_dtype(&operands[operands.len() - 2..])
})
.never_widened()
.tensorflow(&[TfOp::new("StatelessRandomUniformIntV2")]);

pub(crate) static ALL: &[&OpDef] = &[
    &UNIFORM,
    &UNIFORM_WITH_STATE,
    &NORMAL,
    &NORMAL_WITH_STATE,
    &TRUNCATED,
    &TRUNCATED_WITH_STATE,
    &BITS,
    &BITS_WITH_STATE,
    &INT,
    &INT_WITH_STATE,
];

/// Checks the dtypes of the key, the counter and the algorithm. `after` is the number of operands after the algorithm.
pub(crate) fn check_state(operands: &[DType], after: usize) -> Result<()> {
    let end = operands.len().saturating_sub(after);
    match operands.get(..end) {
        Some([.., DType::U64, DType::U64, DType::I32]) => Ok(()),
        _ => dtype::refuse(format!(
            "a key and a counter must be u64 and an algorithm i32, got {}",
            dtype::names(operands)
        )),
    }
}

fn float(attrs: &Attrs) -> Result<Vec<DType>> {
    match attrs.dtype("dtype") {
        dtype @ (DType::F16 | DType::BF16 | DType::F32 | DType::F64) => Ok(vec![dtype]),
        other => dtype::refuse(format!("dtype must be f16, bf16, f32 or f64, got {other}")),
    }
}

fn integer(attrs: &Attrs) -> Result<Vec<DType>> {
    match attrs.dtype("dtype") {
        dtype @ (DType::I32 | DType::I64 | DType::U32 | DType::U64) => Ok(vec![dtype]),
        other => dtype::refuse(format!("dtype must be i32, i64, u32 or u64, got {other}")),
    }
}

fn bound_dtype(bounds: &[DType]) -> Result<Vec<DType>> {
    match *bounds {
        [low, high] if low == high && matches!(low, DType::I32 | DType::I64 | DType::U32 | DType::U64) => {
            Ok(vec![low])
        }
        _ => dtype::refuse(format!(
            "the bounds must be i32, i64, u32 or u64 of one dtype, got {}",
            dtype::names(bounds)
        )),
    }
}

/// Fills output 0, whose sizes are the parameter `shape`.
fn filled(cx: &mut HostCx<'_>, fill: impl FnOnce(&mut TensorViewMut<'_>) -> Result<()>) -> Result<()> {
    let sizes = param_sizes(cx, "shape", 0)?;
    fill(&mut cx.unfilled_output(0, &sizes)?)
}

fn bits(to: &mut TensorViewMut<'_>, stream: Philox) -> Result<()> {
    match to.dtype() {
        DType::I32 => integers::<i32>(to, stream, None),
        DType::I64 => integers::<i64>(to, stream, None),
        DType::U32 => integers::<u32>(to, stream, None),
        _ => integers::<u64>(to, stream, None),
    }
}

/// Fills output 0 with integers between the last two operands.
fn bounded(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    fn of<T: RandomInt + Ord + std::fmt::Display>(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
        let bound = |operand: usize| {
            let bound = cx.input(operand)?.to_vec::<T>()?;
            bound.first().copied().filter(|_| bound.len() == 1).ok_or_else(|| {
                Error::new(ErrorKind::Shape, Phase::Run, "a bound must be a scalar".to_string())
            })
        };
        let (low, high) = (bound(cx.inputs() - 2)?, bound(cx.inputs() - 1)?);
        // As in TensorFlow, the bounds of no integers do not matter.
        let is_empty = param_sizes(cx, "shape", 0)?.contains(&0);
        if low >= high && !is_empty {
            let message = format!("the lower bound must be less than the upper bound, got {low} and {high}");
            return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
        }
        filled(cx, |to| if is_empty { Ok(()) } else { integers::<T>(to, stream, Some([low, high])) })
    }
    match cx.input(cx.inputs() - 1)?.dtype() {
        DType::I32 => of::<i32>(cx, stream),
        DType::I64 => of::<i64>(cx, stream),
        DType::U32 => of::<u32>(cx, stream),
        _ => of::<u64>(cx, stream),
    }
}
