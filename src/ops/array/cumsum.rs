//! `cumsum`: running sums along an axis.

use std::ops::Add;

use half::{bf16, f16};
use shapeflow_shape_fns::{Attr, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, Value};
use crate::op::{Absent, HostCx, OpDef, Operand, TfOp};
use crate::tensor::{Element, TensorView, TensorViewMut};

use super::axis::given_axis;
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Returns the running sums along `axis`: `[a, b, c]` gives `[a, a + b, a + b + c]`.
    ///
    /// `[..] -> [..]`, integers (which wrap), floats and complex numbers. A negative `axis` counts from the end. Elements are added in
    /// order and in their own precision; f16 and bf16 are added as f32. As TensorFlow's `Cumsum`. Runs on the host.
    ///
    /// # Errors
    /// The axis is out of range, or the element type is not an integer, a float or a complex number.
    #[track_caller]
    pub fn cumsum(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.cumsum_with(axis, false, false)
    }

    /// Returns running sums as [`Value::cumsum`] does. With `exclusive`, a sum omits the element at its own position
    /// (`[0, a, a + b]`); with `reverse`, the sums start at the end.
    ///
    /// # Errors
    /// As [`Value::cumsum`].
    #[track_caller]
    pub fn cumsum_with(self, axis: impl IntoParam<'g>, exclusive: bool, reverse: bool) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).data(self).structure("axis", axis);
        call.attr("exclusive", exclusive).attr("reverse", reverse).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("cumsum", run)
    .operands(&[Operand::Data("x"), Operand::Structure("axis")])
    .shape_fn(shapeflow_shape_fns::array::cumsum)
    .dtype_rule(dtype::unary::numeric)
    .tensorflow(&[TfOp::new("Cumsum").absent(&[("axis", Absent::Zero)])]);

/// The layout and the options of the sums. Each of the `length` positions along the axis has `inner` elements after the
/// axis.
#[derive(Clone, Copy)]
struct Scan {
    length: usize,
    inner: usize,
    exclusive: bool,
    reverse: bool,
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let axis = given_axis(cx, 1, x.sizes().len())?.unwrap_or(0);
    let flag = |attrs: &Attrs, name: &str| matches!(attrs.get(name), Some(Attr::Bool(true)));
    let scan = Scan {
        length: x.sizes().get(axis).copied().unwrap_or(1),
        inner: x.sizes().get(axis + 1..).unwrap_or_default().iter().product(),
        exclusive: flag(cx.attrs(), "exclusive"),
        reverse: flag(cx.attrs(), "reverse"),
    };
    let y = &mut cx.unfilled_output(0, x.sizes())?;
    match x.dtype() {
        DType::I8 => plain(scan, x, y, i8::wrapping_add),
        DType::I16 => plain(scan, x, y, i16::wrapping_add),
        DType::I32 => plain(scan, x, y, i32::wrapping_add),
        DType::I64 => plain(scan, x, y, i64::wrapping_add),
        DType::U8 => plain(scan, x, y, u8::wrapping_add),
        DType::U16 => plain(scan, x, y, u16::wrapping_add),
        DType::U32 => plain(scan, x, y, u32::wrapping_add),
        DType::U64 => plain(scan, x, y, u64::wrapping_add),
        DType::F32 => plain(scan, x, y, f32::add),
        DType::F64 => plain(scan, x, y, f64::add),
        DType::C64 => complex::<f32>(scan, x, y),
        DType::C128 => complex::<f64>(scan, x, y),
        DType::F16 => {
            halves(scan, x, y, |bits| f16::from_bits(bits).to_f32(), |sum| f16::from_f32(sum).to_bits())
        }
        _ => halves(scan, x, y, |bits| bf16::from_bits(bits).to_f32(), |sum| bf16::from_f32(sum).to_bits()),
    }
}

/// Computes sums in the precision of the elements.
fn plain<T: Element>(
    scan: Scan,
    x: TensorView<'_>,
    y: &mut TensorViewMut<'_>,
    add: impl Fn(T, T) -> T,
) -> Result<()> {
    sums(scan, x.as_slice::<T>()?, y.as_mut_slice::<T>()?, T::default(), |x| x, |sum| sum, add);
    Ok(())
}

/// Sums complex numbers part by part: the parts are an axis of size 2 inside all others.
fn complex<T: Element + Add<Output = T>>(
    scan: Scan,
    x: TensorView<'_>,
    y: &mut TensorViewMut<'_>,
) -> Result<()> {
    let scan = Scan { inner: 2 * scan.inner, ..scan };
    sums(scan, x.as_bits::<T>()?, y.as_mut_bits::<T>()?, T::default(), |x| x, |sum| sum, T::add);
    Ok(())
}

/// Computes sums of f16 or bf16 elements, given as their bits, in f32.
fn halves(
    scan: Scan,
    x: TensorView<'_>,
    y: &mut TensorViewMut<'_>,
    load: impl Fn(u16) -> f32,
    store: impl Fn(f32) -> u16,
) -> Result<()> {
    sums(scan, x.as_bits::<u16>()?, y.as_mut_bits::<u16>()?, 0.0, load, store, f32::add);
    Ok(())
}

/// The number of columns summed together. Their sums stay in the L1 cache.
const COLUMNS: usize = 1024;

/// Computes the sums of `from` into `to`. `load` and `store` convert between elements and sums.
fn sums<T: Copy, A: Copy>(
    scan: Scan,
    from: &[T],
    to: &mut [T],
    zero: A,
    load: impl Fn(T) -> A,
    store: impl Fn(A) -> T,
    add: impl Fn(A, A) -> A,
) {
    let Scan { length, inner, exclusive, reverse } = scan;
    if from.is_empty() {
        return;
    }
    let position_of = |step: usize| if reverse { length - 1 - step } else { step };
    for (from, to) in from.chunks_exact(length * inner).zip(to.chunks_exact_mut(length * inner)) {
        if inner == 1 {
            let mut sum = zero;
            for step in 0..length {
                let offset = position_of(step);
                let next = add(sum, load(from[offset]));
                to[offset] = store(if exclusive { sum } else { next });
                sum = next;
            }
            continue;
        }
        let mut sums = [zero; COLUMNS];
        for first in (0..inner).step_by(COLUMNS) {
            let width = COLUMNS.min(inner - first);
            let sums = &mut sums[..width];
            sums.fill(zero);
            for step in 0..length {
                let offset = position_of(step) * inner + first;
                let columns =
                    sums.iter_mut().zip(&from[offset..offset + width]).zip(&mut to[offset..offset + width]);
                for ((sum, element), result) in columns {
                    let next = add(*sum, load(*element));
                    *result = store(if exclusive { *sum } else { next });
                    *sum = next;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"axis": -1},
        "[n, 3]" => "[n, 3]",
        "bool[n]" => error "must be an integer, a float or a complex number",
    }
    shape_table! { fed: DEF, {},
        "[n, 3]; axis=i32[]" => "[n, 3]",
    }

    #[test]
    fn sums_run_along_the_axis() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let sums = |axis: i64, exclusive: bool, reverse: bool| {
            let attrs = Attrs::new().with("axis", axis).with("exclusive", exclusive).with("reverse", reverse);
            run_one(&DEF, &attrs, std::slice::from_ref(&x)).to_vec::<i32>().unwrap()
        };
        assert_eq!(sums(1, false, false), [1, 3, 6, 4, 9, 15]);
        assert_eq!(sums(-1, true, false), [0, 1, 3, 0, 4, 9]);
        assert_eq!(sums(1, false, true), [6, 5, 3, 15, 11, 6]);
        assert_eq!(sums(0, false, false), [1, 2, 3, 5, 7, 9]);
        assert_eq!(sums(0, true, true), [4, 5, 6, 0, 0, 0]);
    }

    #[test]
    fn wide_rows_wrap_and_halves_keep_precision() {
        let x = tensor(&[3, 2000], &vec![100u8; 6000]);
        let y = run_one(&DEF, &Attrs::new().with("axis", 0), &[x]).to_vec::<u8>().unwrap();
        assert!(y[..2000].iter().all(|x| *x == 100) && y[4000..].iter().all(|x| *x == 44));
        let one = bf16::from_f32(1.0).to_bits();
        let x = Tensor::from_bits(DType::BF16, &[300], &[one; 300]).unwrap();
        let y = run_one(&DEF, &Attrs::new().with("axis", 0), &[x]).to_bits::<u16>().unwrap();
        assert_eq!(bf16::from_bits(y[299]).to_f32(), 300.0);
    }
}
