//! `dynamic_partition`: splits rows by the number of their part.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::{TensorView, place_text, size_of_element};

use super::unstack::MAX_OUTPUTS;

impl<'g> Value<'g> {
    /// Splits the rows of `self` into `count` tensors: output `k` holds the rows `i` with `parts[i] == k`, in their
    /// order.
    ///
    /// `[p.., d..], parts [p..] -> count × [?, d..]`, any dtype. The number of rows of each output depends on `parts`,
    /// which is i32 or i64. A part outside `[0, count)` fails the run. As TensorFlow's `DynamicPartition`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([10, 20, 30, 40, 50])?;
    /// let parts = x.dynamic_partition(g.constant([0, 0, 1, 1, 0])?, 2)?;
    /// let [first, second] = g.compile(&parts)?.run(&[])?;
    /// assert_eq!((first, second), (Tensor::from([10, 20, 50]), Tensor::from([30, 40])));
    ///
    /// // If `parts` is a scalar, the whole tensor is one row.
    /// let outputs = g.constant([10, 20])?.dynamic_partition(g.constant(1)?, 2)?;
    /// let [first, second] = g.compile(&outputs)?.run(&[])?;
    /// assert_eq!((first.sizes(), second), (&[0, 2][..], Tensor::from([[10, 20]])));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The leading axes of `self` differ from the axes of `parts`, `parts` is neither i32 nor i64, or `count` is less
    /// than 1.
    #[track_caller]
    pub fn dynamic_partition(self, parts: Value<'g>, count: impl IntoParam<'g>) -> Result<Vec<Value<'g>>> {
        self.graph().op(&DEF).data(self).data(parts).int_attr("num_partitions", count).finish_all()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("dynamic_partition", run)
    .attrs(&[Attribute::int("num_partitions")])
    .operands(&[Operand::Data("data"), Operand::Data("partitions")])
    .outputs(|attrs, _| count(attrs).unwrap_or(0))
    .shape_fn(shapeflow_shape_fns::array::dynamic_partition)
    .dtype_rule(dtypes)
    .takes_handles(StringHandles::Any)
    .tensorflow(&[TfOp::new("DynamicPartition")]);

fn count(attrs: &Attrs) -> Result<usize> {
    match attrs.int("num_partitions") {
        count @ 1..=MAX_OUTPUTS => Ok(count as usize),
        other => {
            let message = format!("num_partitions must be between 1 and {MAX_OUTPUTS}, got {other}");
            Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
        }
    }
}

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(operands, 1)?;
    let data = dtype::common(operands, 0, 1, dtype::Class::Any)?;
    Ok(vec![data; count(attrs)?])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (data, parts) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (data, parts) = (data.view(), parts.view());
    match parts.dtype() {
        DType::I32 => partition(cx, data, parts.as_slice::<i32>()?, parts.sizes().len()),
        _ => partition(cx, data, parts.as_slice::<i64>()?, parts.sizes().len()),
    }
}

fn partition<I: Copy + Into<i64>>(
    cx: &mut HostCx<'_>,
    data: TensorView<'_>,
    parts: &[I],
    rank: usize,
) -> Result<()> {
    let count = count(cx.attrs())?;
    let mut rows = vec![0usize; count];
    for (number, part) in parts.iter().enumerate() {
        let part: i64 = (*part).into();
        let Some(rows) = rows.get_mut(part as usize) else {
            let message = format!("a part must lie in [0, {count}), got {part}");
            let place = place_text(number, cx.input(1)?.sizes());
            return Err(Error::new(ErrorKind::Index, Phase::Run, message).in_element(1, &place));
        };
        *rows += 1;
    }
    let rest = data.sizes().get(rank..).unwrap_or_default();
    let row: usize = rest.iter().product();
    let sizes: Vec<Vec<usize>> = rows.iter().map(|rows| [&[*rows], rest].concat()).collect();
    let mut views = cx.unfilled_outputs(&sizes)?;
    let bytes = row * size_of_element(data.dtype())?;
    if bytes == 0 {
        return Ok(());
    }
    let mut targets: Vec<&mut [u8]> = views.iter_mut().map(|view| view.bytes_mut()).collect();
    let part_of = |part: &I| (*part).into() as usize;
    match bytes {
        1 => partition_small::<1, I>(&mut targets, data.bytes(), parts, part_of),
        2 => partition_small::<2, I>(&mut targets, data.bytes(), parts, part_of),
        4 => partition_small::<4, I>(&mut targets, data.bytes(), parts, part_of),
        8 => partition_small::<8, I>(&mut targets, data.bytes(), parts, part_of),
        _ => {
            let mut filled = vec![0; count];
            for (row, part) in data.bytes().chunks_exact(bytes).zip(parts.iter().map(part_of)) {
                let from = filled[part];
                targets[part][from..from + bytes].copy_from_slice(row);
                filled[part] = from + bytes;
            }
        }
    }
    Ok(())
}

/// The maximum number of parts that [`Taken`] can count.
const FEW: usize = 8;

/// The maximum number of rows that are counted in one round: the greatest count that fits into a byte.
const ROUND: usize = 255;

/// Counts the rows of each of at most [`FEW`] parts in a round of at most [`ROUND`] rows. Each count is a byte of one
/// register, because reading a count from memory would wait for earlier stores whose addresses are not known yet.
struct Taken(u64);

impl Taken {
    /// Returns the number of the part's rows so far in this round.
    fn of(&self, part: usize) -> usize {
        usize::from((self.0 >> (8 * (part % FEW))) as u8)
    }

    /// Returns the number of the part's next row in this round, and counts the row.
    fn take(&mut self, part: usize) -> usize {
        let number = self.of(part);
        self.0 = self.0.wrapping_add(1 << (8 * (part % FEW)));
        number
    }
}

/// Copies each row of `N` bytes to the target of its part.
fn partition_small<const N: usize, I>(
    targets: &mut [&mut [u8]],
    rows: &[u8],
    parts: &[I],
    part_of: impl Fn(&I) -> usize,
) {
    if targets.len() <= FEW {
        let mut rest: [&mut [[u8; N]]; FEW] = std::array::from_fn(|_| Default::default());
        for (rest, target) in rest.iter_mut().zip(targets) {
            *rest = target.as_chunks_mut::<N>().0;
        }
        for (rows, parts) in rows.as_chunks::<N>().0.chunks(ROUND).zip(parts.chunks(ROUND)) {
            let mut taken = Taken(0);
            for (row, part) in rows.iter().zip(parts) {
                let part = part_of(part) % FEW;
                if let Some(slot) = rest[part].get_mut(taken.take(part)) {
                    *slot = *row;
                }
            }
            for (part, rest) in rest.iter_mut().enumerate() {
                *rest = std::mem::take(rest).split_at_mut_checked(taken.of(part)).unwrap_or_default().1;
            }
        }
        return;
    }
    // For each part, the unfilled end of its target.
    let mut rest: Vec<std::slice::IterMut<'_, [u8; N]>> =
        targets.iter_mut().map(|target| target.as_chunks_mut::<N>().0.iter_mut()).collect();
    for (row, part) in rows.as_chunks::<N>().0.iter().zip(parts) {
        if let Some(slot) = rest[part_of(part)].next() {
            *slot = *row;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"num_partitions": 2},
        "[n, 3]; i32[n]" => "[?, 3]; [?, 3]",
        "[n]; [n]" => error "the element type must be i32 or i64, got f32",
        "[2, 3]; i32[3]" => error "data must have the axes of partitions as leading axes",
    }
    shape_table! { none: DEF, {"num_partitions": 0},
        "[n]; i32[n]" => error "num_partitions must be between 1 and 65536, got 0",
    }

    #[test]
    fn rows_keep_their_order_in_few_and_in_many_parts() {
        for count in [1usize, 3, 8, 9] {
            let part_of: Vec<i32> =
                (0..1000u32).map(|position| (position * position / 7 % count as u32) as i32).collect();
            let rows: Vec<u8> = (0..1000).map(|position| (position / 4) as u8).collect();
            let attrs = Attrs::new().with("num_partitions", count as i64);
            let parts = run(&DEF, &attrs, &[tensor(&[1000], &rows), tensor(&[1000], &part_of)]).unwrap();
            for (number, part) in parts.iter().enumerate() {
                let expected = rows.iter().zip(&part_of).filter(|(_, part)| **part == number as i32);
                assert_eq!(part.to_vec::<u8>().unwrap(), expected.map(|(row, _)| *row).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn strings_keep_their_order() {
        let x = Tensor::from_strings(&[3], &["a", "b", "c"]).unwrap();
        let attrs = Attrs::new().with("num_partitions", 2);
        let parts = run(&DEF, &attrs, &[x, tensor(&[3], &[1, 0, 1i64])]).unwrap();
        let expected = [Tensor::from_strings(&[1], &["b"]), Tensor::from_strings(&[2], &["a", "c"])];
        assert_eq!(parts, expected.map(Result::unwrap));
    }
}
