//! `Reduce`: the reduction of the rows of a segment to one row.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::ops::positions::Positions;
use crate::ops::rows::{Combine, combine, narrow, widened};
use crate::tensor::{Element, Tensor, TensorView, TensorViewMut};

/// The operation that reduces the rows of a segment to one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reduce {
    Sum,
    /// The sum divided by the number of rows. Integers round toward zero; their sum and their number of rows wrap.
    Mean,
    Prod,
    Max,
    Min,
}

impl Reduce {
    fn combine(self) -> Combine {
        match self {
            Reduce::Sum | Reduce::Mean => Combine::Add,
            Reduce::Prod => Combine::Mul,
            Reduce::Max => Combine::Max,
            Reduce::Min => Combine::Min,
        }
    }

    /// Returns the initial value, the identity of the operation.
    pub(super) fn start(self, dtype: DType) -> Scalar {
        // The scalar of a complex number is its real part.
        let dtype = dtype.part().unwrap_or(dtype);
        match self {
            Reduce::Sum | Reduce::Mean => Scalar::zero(dtype),
            Reduce::Prod => Scalar::one(dtype),
            Reduce::Max => Scalar::lowest(dtype),
            Reduce::Min => Scalar::highest(dtype),
        }
    }
}

/// The dtype rule. Data are integers or floats, or complex numbers except for extrema. The segment ids and
/// the number of segments are integers.
pub(super) fn dtypes(operands: &[DType], _: &Attrs, reduce: Reduce) -> Result<Vec<DType>> {
    dtype::check_indices(operands, 1)?;
    match operands.first() {
        Some(complex) if complex.is_complex() && !matches!(reduce, Reduce::Max | Reduce::Min) => {
            Ok(vec![*complex])
        }
        _ => Ok(vec![dtype::common(operands, 0, 1, dtype::Class::Number)?]),
    }
}

/// Reduces the rows of each segment to a row of `output`, in order. Each reduction starts at `start`. `output` must
/// hold zeros. f16 and bf16 are computed as f32, and `finish` gets the f32 result.
pub(super) fn reduce_rows(
    data: TensorView<'_>,
    output: &mut TensorViewMut<'_>,
    positions: &Positions<'_>,
    reduce: Reduce,
    start: Scalar,
    finish: &dyn Fn(&mut TensorViewMut<'_>) -> Result<()>,
) -> Result<()> {
    if matches!(data.dtype(), DType::F16 | DType::BF16) {
        let (from, mut wide) = (widened(&data)?, Tensor::zeros(DType::F32, output.sizes())?);
        reduce_rows(from.view(), &mut wide.view_mut()?, positions, reduce, start, finish)?;
        return narrow(wide.view(), output);
    }
    fill(output, start);
    let row = output.sizes().get(1..).unwrap_or_default().iter().product();
    combine(output, data, row, reduce.combine(), positions)?;
    finish(output)
}

/// Sets every element of `output`, which holds zeros, to `value`.
fn fill(output: &mut TensorViewMut<'_>, value: Scalar) {
    let dtype = output.dtype();
    if value.to_bits() == 0 {
        return;
    }
    let value = crate::expr::eval_cast(value, dtype.part().unwrap_or(dtype));
    let size = dtype.size_bytes().expect("the dtype rule accepts numbers only");
    let mut pattern = [0; 16];
    value.write_bytes(&mut pattern[..size]).expect("an element has room for one of its parts");
    for element in output.bytes_mut().chunks_exact_mut(size) {
        element.copy_from_slice(&pattern[..size]);
    }
}

/// Sets the rows of empty segments to zero. `ids` are the ascending segment ids; a gap between them is an empty
/// segment.
pub(super) fn clear_gaps(output: &mut TensorViewMut<'_>, ids: impl Iterator<Item = usize>) {
    let rows = output.sizes().first().copied().unwrap_or(0);
    let bytes = output.bytes_mut();
    let row = bytes.len().checked_div(rows).unwrap_or(0);
    let mut next = 0;
    for id in ids {
        if id > next {
            bytes[next * row..id * row].fill(0);
        }
        next = id + 1;
    }
}

/// Divides every row `id` by the count of `id` in the ascending `ids`. Integers round toward zero. For integers, the
/// count wraps to their dtype, as their sum does; a count that wraps to 0 gives 0.
pub(super) fn divide<I>(output: &mut TensorViewMut<'_>, ids: &[I]) -> Result<()>
where
    I: Copy + PartialEq + Into<i64>,
{
    let equal = ids.chunk_by(|a, b| a == b);
    let counts: Vec<(usize, usize)> = equal.map(|run| (run[0].into() as usize, run.len())).collect();
    macro_rules! of {
        ($($DType:ident $T:ty)*) => {
            match output.dtype() {
                $(DType::$DType => rows_by_counts(output, &counts, |x: $T, count| match count as $T {
                    0 => 0,
                    count => x.wrapping_div(count),
                }),)*
                DType::F32 | DType::C64 => rows_by_counts(output, &counts, |x: f32, count| x / count as f32),
                DType::F64 | DType::C128 => rows_by_counts(output, &counts, |x: f64, count| x / count as f64),
                _ => Ok(()),
            }
        };
    }
    of!(I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64)
}

/// Replaces every element `x` of row `id` by `quotient(x, count)`, for every `(id, count)`.
fn rows_by_counts<T: Element>(
    output: &mut TensorViewMut<'_>,
    counts: &[(usize, usize)],
    quotient: impl Fn(T, usize) -> T,
) -> Result<()> {
    let rows = output.sizes().first().copied().unwrap_or(0);
    let elements = output.as_mut_bits::<T>()?;
    let row = elements.len().checked_div(rows).unwrap_or(0);
    for &(id, count) in counts {
        for element in &mut elements[id * row..(id + 1) * row] {
            *element = quotient(*element, count);
        }
    }
    Ok(())
}
