//! Scans: running sums, products and logarithms of sums of exponentials along an axis.

use std::ops::{Add, Mul, Range, Sub};

use half::{bf16, f16};
use shapeflow_shape_fns::{Attribute, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{Absent, HostCx, OpDef, Operand, TfOp};
use crate::tensor::{Element, TensorView, TensorViewMut};

use super::axis::given_axis;
use crate::ops::row_major::RowMajor;

macro_rules! scans {
    ($($(#[$doc:meta])* $method:ident, $with:ident, $exclusive:literal, $DEF:ident, $op:literal, $ScanCombine:ident, $class:ident;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// The axis is out of range, or the element type is not supported.
            #[track_caller]
            pub fn $method(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
                self.$with(axis, false, false)
            }

            #[doc = concat!("Scans as [`Value::", stringify!($method), "`] does. With `exclusive`, a result omits the \
                element at its own position (`", $exclusive, "`); with `reverse`, the scan starts at the end.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Value::", stringify!($method), "`].")]
            #[track_caller]
            pub fn $with(self, axis: impl IntoParam<'g>, exclusive: bool, reverse: bool) -> Result<Value<'g>> {
                let call = self.graph().op(&$DEF).data(self).structure("axis", axis);
                call.attr("exclusive", exclusive).attr("reverse", reverse).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| run(cx, ScanCombine::$ScanCombine))
            .attrs(&[Attribute::bool_or("exclusive", false), Attribute::bool_or("reverse", false)])
            .operands(&[Operand::Data("x"), Operand::Structure("axis")])
            .shape_fn(shapeflow_shape_fns::array::cumsum)
            .dtype_rule(dtype::unary::$class)
            .tensorflow(&[TfOp::new($op).absent(&[("axis", Absent::Zero)])]);)*
    };
}
scans! {
    /// Returns the running sums along `axis`: `[a, b, c]` gives `[a, a + b, a + b + c]`.
    ///
    /// `[..] -> [..]`, integers (which wrap), floats and complex numbers. A negative `axis` counts from the end.
    /// Elements are added in order and in their own precision; f16 and bf16 are added as f32. As TensorFlow's `Cumsum`.
    /// Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3], [4, 5, 6]])?.cumsum(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 3, 6], [4, 9, 15]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    cumsum, cumsum_with, "[0, a, a + b]", SUM, "Cumsum", Sum, numeric;
    /// Returns the running products along `axis`: `[a, b, c]` gives `[a, a * b, a * b * c]`.
    ///
    /// `[..] -> [..]`, integers (which wrap), floats and complex numbers. A negative `axis` counts from the end.
    /// Elements are multiplied in order and in their own precision; f16 and bf16 are multiplied as f32. As TensorFlow's
    /// `Cumprod`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3], [4, 5, 6]])?.cumprod(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2, 6], [4, 20, 120]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    cumprod, cumprod_with, "[1, a, a * b]", PRODUCT, "Cumprod", Product, numeric;
    /// Returns the logarithms of the running sums of exponentials along `axis`: `[a, b]` gives
    /// `[a, log(exp(a) + exp(b))]`, without overflow.
    ///
    /// `[..] -> [..]`, floats. A negative `axis` counts from the end. f16 and bf16 are computed as f32. The result of
    /// no elements is -inf. After a NaN every result is NaN; TensorFlow's kernel loses the NaN. Else as TensorFlow's
    /// `CumulativeLogsumexp`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([0.0, 0.0, 0.0])?.cumulative_logsumexp(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([0.0, 0.6931, 1.099]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "logcumsumexp")]
    cumulative_logsumexp, cumulative_logsumexp_with, "[-inf, a, log(exp(a) + exp(b))]", LOG_SUM_EXP,
        "CumulativeLogsumexp", LogSumExp, float;
}

/// The operation that combines a partial result with the next element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanCombine {
    Sum,
    Product,
    /// `log(exp(a) + exp(b))`.
    LogSumExp,
}

/// The layout and the options of a scan. Each block is scanned by itself.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'s> {
    pub blocks: ScanBlocks<'s>,
    /// The number of elements at each position of a block.
    pub inner: usize,
    pub exclusive: bool,
    pub reverse: bool,
}

/// The positions of each block.
#[derive(Clone, Copy)]
pub(crate) enum ScanBlocks<'s> {
    /// Every block has this many positions, at least one.
    Uniform(usize),
    /// Block `i` has the positions `offsets[i]..offsets[i + 1]`.
    Offsets(&'s [usize]),
}

impl ScanBlocks<'_> {
    /// Returns the number of blocks of `positions` positions.
    fn count(self, positions: usize) -> usize {
        match self {
            ScanBlocks::Uniform(length) => positions / length,
            ScanBlocks::Offsets(offsets) => offsets.len().saturating_sub(1),
        }
    }

    /// Returns the positions of a block.
    fn range(self, block: usize) -> Range<usize> {
        match self {
            ScanBlocks::Uniform(length) => block * length..(block + 1) * length,
            ScanBlocks::Offsets(offsets) => offsets[block]..offsets[block + 1],
        }
    }
}

fn run(cx: &mut HostCx<'_>, combine: ScanCombine) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let axis = given_axis(cx, 1, x.sizes().len())?.unwrap_or(0);
    let scan = Scan {
        blocks: ScanBlocks::Uniform(x.sizes().get(axis).copied().unwrap_or(1)),
        inner: x.sizes().get(axis + 1..).unwrap_or_default().iter().product(),
        exclusive: cx.attrs().bool("exclusive"),
        reverse: cx.attrs().bool("reverse"),
    };
    scan_into(scan, combine, x.clone(), &mut cx.unfilled_output(0, x.sizes())?)
}

/// Scans the blocks of `x`, which is row-major and has integers, floats or complex numbers. Elements of `y` outside the
/// blocks stay as they are.
///
/// # Errors
/// `y` is not row-major, or has another dtype than `x`.
pub(crate) fn scan_into(
    scan: Scan<'_>,
    combine: ScanCombine,
    x: TensorView<'_>,
    y: &mut TensorViewMut<'_>,
) -> Result<()> {
    macro_rules! integers {
        ($T:ident) => {{
            let (from, to) = (x.as_unsigned::<$T>()?, y.as_mut_unsigned::<$T>()?);
            match combine {
                ScanCombine::Product => plain(scan, from, to, 1, $T::wrapping_mul),
                _ => plain(scan, from, to, 0, $T::wrapping_add),
            }
        }};
    }
    macro_rules! floats {
        ($T:ident, $log_sum_exp:ident) => {{
            let (from, to) = (x.as_slice::<$T>()?, y.as_mut_slice::<$T>()?);
            match combine {
                ScanCombine::Sum => plain(scan, from, to, 0.0, $T::add),
                ScanCombine::Product => plain(scan, from, to, 1.0, $T::mul),
                ScanCombine::LogSumExp => plain(scan, from, to, $T::NEG_INFINITY, $log_sum_exp),
            }
        }};
    }
    macro_rules! halves {
        ($T:ident) => {{
            let (load, store) =
                (|bits| $T::from_bits(bits).to_f32(), |result| $T::from_f32(result).to_bits());
            // A call of a function pointer is cheap compared with the conversions, so all operations share the loops.
            let (start, combine): (f32, fn(f32, f32) -> f32) = match combine {
                ScanCombine::Sum => (0.0, f32::add),
                ScanCombine::Product => (1.0, f32::mul),
                ScanCombine::LogSumExp => (f32::NEG_INFINITY, log_sum_exp_f32),
            };
            scan_all(scan, x.as_bits()?, y.as_mut_bits()?, start, load, store, combine);
        }};
    }
    match x.dtype() {
        // Wrapping sums and products have the same bits for signed and for unsigned integers.
        DType::I8 | DType::U8 => integers!(u8),
        DType::I16 | DType::U16 => integers!(u16),
        DType::I32 | DType::U32 => integers!(u32),
        DType::I64 | DType::U64 => integers!(u64),
        DType::F32 => floats!(f32, log_sum_exp_f32),
        DType::F64 => floats!(f64, log_sum_exp_f64),
        DType::F16 => halves!(f16),
        DType::BF16 => halves!(bf16),
        DType::C64 => complex(scan, x, y, combine, 1.0f32)?,
        DType::C128 => complex(scan, x, y, combine, 1.0f64)?,
        other => unreachable!("dtype rules of scans refuse {other}"),
    }
    Ok(())
}

macro_rules! log_sum_exp {
    ($($name:ident $T:ident),*) => {$(
        /// Returns `log(exp(a) + exp(b))`: -inf if both numbers are -inf, and NaN if one is NaN or both are inf.
        fn $name(a: $T, b: $T) -> $T {
            let (low, high) = if b < a { (b, a) } else { (a, b) };
            if high < $T::MIN && !low.is_nan() { high } else { (low - high).exp().ln_1p() + high }
        }
    )*};
}
log_sum_exp!(log_sum_exp_f32 f32, log_sum_exp_f64 f64);

fn plain<T: Element>(scan: Scan<'_>, from: &[T], to: &mut [T], start: T, combine: impl Fn(T, T) -> T) {
    scan_all(scan, from, to, start, |x| x, |result| result, combine);
}

/// Scans complex numbers, given as pairs of parts.
fn complex<T: Element + Add<Output = T> + Sub<Output = T> + Mul<Output = T>>(
    scan: Scan<'_>,
    x: TensorView<'_>,
    y: &mut TensorViewMut<'_>,
    combine: ScanCombine,
    one: T,
) -> Result<()> {
    let (from, _) = x.as_bits::<T>()?.as_chunks::<2>();
    let (to, _) = y.as_mut_bits::<T>()?.as_chunks_mut::<2>();
    let zero = T::default();
    let add = |[a, b]: [T; 2], [c, d]: [T; 2]| [a + c, b + d];
    let multiply = |[a, b]: [T; 2], [c, d]: [T; 2]| [a * c - b * d, a * d + b * c];
    match combine {
        ScanCombine::Product => scan_all(scan, from, to, [one, zero], |x| x, |result| result, multiply),
        _ => scan_all(scan, from, to, [zero; 2], |x| x, |result| result, add),
    }
    Ok(())
}

/// The number of columns scanned together. Their partial results stay in the L1 cache.
const COLUMNS: usize = 1024;

/// Scans each block. `load` and `store` convert between elements and partial results.
fn scan_all<T: Copy, A: Copy>(
    scan: Scan<'_>,
    from: &[T],
    to: &mut [T],
    start: A,
    load: impl Fn(T) -> A,
    store: impl Fn(A) -> T,
    combine: impl Fn(A, A) -> A,
) {
    let Scan { blocks, inner, exclusive, reverse } = scan;
    if from.is_empty() {
        return;
    }
    for block in 0..blocks.count(from.len() / inner) {
        let positions = blocks.range(block);
        let length = positions.len();
        let Some(last) = length.checked_sub(1) else { continue };
        let elements = positions.start * inner..positions.end * inner;
        let (from, to) = (&from[elements.clone()], &mut to[elements]);
        let position_of = |step: usize| if reverse { last - step } else { step };
        // An exclusive scan stores each partial result one step later, and the start in the first step. So the loops
        // below do not depend on the options.
        let later = usize::from(exclusive);
        if exclusive {
            let first = position_of(0) * inner;
            to[first..first + inner].fill(store(start));
        }
        if inner == 1 {
            let mut sum = start;
            for step in 0..length - later {
                sum = combine(sum, load(from[position_of(step)]));
                to[position_of(step + later)] = store(sum);
            }
            continue;
        }
        let mut sums = [start; COLUMNS];
        for first in (0..inner).step_by(COLUMNS) {
            let width = COLUMNS.min(inner - first);
            let sums = &mut sums[..width];
            sums.fill(start);
            for step in 0..length - later {
                let source = position_of(step) * inner + first;
                let target = position_of(step + later) * inner + first;
                let columns =
                    sums.iter_mut().zip(&from[source..source + width]).zip(&mut to[target..target + width]);
                for ((sum, element), result) in columns {
                    *sum = combine(*sum, load(*element));
                    *result = store(*sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { SUM, {"axis": -1},
        "[n, 3]" => "[n, 3]",
        "bool[n]" => error "the element type must be an integer, a float or a complex number",
    }
    shape_table! { fed: SUM, {},
        "[n, 3]; axis=i32[]" => "[n, 3]",
    }

    #[test]
    fn sums_run_along_the_axis() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let sums = |axis: i64, exclusive: bool, reverse: bool| {
            let attrs = Attrs::new().with("axis", axis).with("exclusive", exclusive).with("reverse", reverse);
            run_one(&SUM, &attrs, std::slice::from_ref(&x)).to_vec::<i32>().unwrap()
        };
        assert_eq!(sums(1, false, false), [1, 3, 6, 4, 9, 15]);
        assert_eq!(sums(-1, true, false), [0, 1, 3, 0, 4, 9]);
        assert_eq!(sums(1, false, true), [6, 5, 3, 15, 11, 6]);
        assert_eq!(sums(0, false, false), [1, 2, 3, 5, 7, 9]);
        assert_eq!(sums(0, true, true), [4, 5, 6, 0, 0, 0]);
    }

    #[test]
    fn complex_numbers_are_added_and_multiplied() {
        let x = Tensor::from_bits(DType::C64, &[3], &[1.0f32, 2.0, 0.0, -1.0, 3.0, 0.5]).unwrap();
        let scanned = |def: &OpDef| {
            run_one(def, &Attrs::new().with("axis", 0), std::slice::from_ref(&x)).to_bits::<f32>().unwrap()
        };
        assert_eq!(scanned(&SUM), [1.0, 2.0, 1.0, 1.0, 4.0, 1.5]);
        assert_eq!(scanned(&PRODUCT), [1.0, 2.0, 2.0, -1.0, 6.5, -2.0]);
    }

    #[test]
    fn wide_rows_wrap_and_halves_keep_precision() {
        let x = tensor(&[3, 2000], &vec![100u8; 6000]);
        let y = run_one(&SUM, &Attrs::new().with("axis", 0), &[x]).to_vec::<u8>().unwrap();
        assert!(y[..2000].iter().all(|x| *x == 100) && y[4000..].iter().all(|x| *x == 44));
        let one = bf16::from_f32(1.0).to_bits();
        let x = Tensor::from_bits(DType::BF16, &[300], &[one; 300]).unwrap();
        let y = run_one(&SUM, &Attrs::new().with("axis", 0), &[x]).to_bits::<u16>().unwrap();
        assert_eq!(bf16::from_bits(y[299]).to_f32(), 300.0);
    }

    #[test]
    fn products_and_log_sums_run_along_the_axis() {
        let x = tensor(&[4], &[3i8, -2, 5, 7]);
        let attrs = |exclusive: bool| Attrs::new().with("axis", 0).with("exclusive", exclusive);
        // 3 * -2 * 5 * 7 = -210 wraps to 46.
        assert_eq!(
            run_one(&PRODUCT, &attrs(false), std::slice::from_ref(&x)).to_vec::<i8>().unwrap(),
            [3, -6, -30, 46]
        );
        assert_eq!(run_one(&PRODUCT, &attrs(true), &[x]).to_vec::<i8>().unwrap(), [1, 3, -6, -30]);
        let x = [1000.0, 1000.0, f64::NEG_INFINITY, -5.0];
        let y = run_one(&LOG_SUM_EXP, &attrs(false), &[tensor(&[4], &x)]).to_vec::<f64>().unwrap();
        assert_eq!(y, [1000.0, 1000.0 + 2f64.ln(), 1000.0 + 2f64.ln(), 1000.0 + 2f64.ln()]);
        // Two infinities give NaN, which stays.
        let x = [f32::INFINITY, 1.0, f32::INFINITY, f32::NEG_INFINITY, 0.0];
        let y = run_one(&LOG_SUM_EXP, &attrs(false), &[tensor(&[5], &x)]).to_vec::<f32>().unwrap();
        assert_eq!(y[..2], [f32::INFINITY; 2]);
        assert!(y[2..].iter().all(|y| y.is_nan()), "{y:?}");
        let none = run_one(&LOG_SUM_EXP, &attrs(true), &[tensor(&[1], &[3.0f32])]);
        assert_eq!(none.to_vec::<f32>().unwrap(), [f32::NEG_INFINITY]);
    }
}
