//! `dynamic_stitch`: rows of several tensors, each to the place that is named for it.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{greatest, put};
use crate::tensor::{Element, size_of_element};

use super::concat::first_of;

/// Bytes of a block of the result: it stays in a near cache until all of its rows are there.
const BLOCK: usize = 64 << 10;

/// The rows of every tensor of `data` at the places that the one of `indices` beside it names; of several for one place
/// the last stays. A place that none names holds zeros, where TensorFlow leaves what was there before.
///
/// `indices_i [p_i..], data_i [p_i.., d..] -> [1 + the greatest index, d..]`, any one dtype; indices are i32 or i64. A
/// negative index fails the run. The opposite of [`Value::dynamic_partition`]. TensorFlow's `DynamicStitch`, and its
/// `ParallelDynamicStitch`, where several rows for one place are undefined.
///
/// ```
/// use shapeflow::{Graph, dynamic_stitch};
///
/// let g = Graph::new();
/// let (even, odd) = (g.constant([10, 12])?, g.constant([11, 13])?);
/// let y = dynamic_stitch(&[g.constant([0, 2])?, g.constant([1, 3])?], &[even, odd])?;
/// let [y] = g.compile(y)?.run(&[])?;
/// assert_eq!(y.to_vec::<i32>()?, [10, 11, 12, 13]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no tensors, or not as many of both, several dtypes, or sizes that disagree.
#[track_caller]
pub fn dynamic_stitch<'g>(indices: &[Value<'g>], data: &[Value<'g>]) -> Result<Value<'g>> {
    let first = first_of(data, "dynamic_stitch")?;
    if indices.len() != data.len() {
        let message =
            format!("there must be as many indices as data, got {} and {}", indices.len(), data.len());
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message).at(Location::caller()));
    }
    first.graph().op(&DEF).data_all(indices).data_all(data).finish()
}

pub(crate) static DEF: OpDef = OpDef::host("dynamic_stitch", run)
    .operands(&[Operand::Variadic("indices.."), Operand::Variadic("data..")])
    .shape_fn(shapeflow_shape_fns::array::dynamic_stitch)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("DynamicStitch"), TfOp::new("ParallelDynamicStitch")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let (indices, data) = operands.split_at(operands.len() / 2);
    dtype::indices(indices, 0)?;
    Ok(vec![dtype::common(operands, indices.len(), indices.len() + data.len(), dtype::Class::Any)?])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let parts = cx.inputs() / 2;
    let given = |from: usize| -> Result<Vec<RowMajor<'_>>> {
        (from..from + parts).map(|at| RowMajor::new(cx.input(at)?)).collect()
    };
    let (indices, data) = (given(0)?, given(parts)?);
    let (Some(first), Some(places)) = (data.first(), indices.first()) else {
        return Err(Error::msg("dynamic_stitch needs at least one tensor"));
    };
    let row = first.view().sizes().get(places.view().sizes().len()..).unwrap_or_default();
    if first.view().dtype() != DType::String {
        let placed = match places.view().dtype() {
            DType::I32 => put_in_order::<i32>(cx, &indices, &data, row)?,
            _ => put_in_order::<i64>(cx, &indices, &data, row)?,
        };
        if placed {
            return Ok(());
        }
    }
    let mut rows = 0;
    for indices in &indices {
        rows = rows.max(greatest(indices.view())?.map_or(0, |greatest| greatest.saturating_add(1)));
    }
    let mut output = cx.output(0, &[&[rows], row].concat())?;
    let sizes = [rows];
    for (indices, data) in indices.iter().zip(&data) {
        put(&mut output, data.view(), row.iter().product(), &Positions::new(indices.view(), &sizes)?)?;
    }
    Ok(())
}

/// Makes the result block by block, if the indices of every tensor ascend, as those of parts that
/// [`Value::dynamic_partition`] made do. Their last ones then say how many rows there are, and which are next for a
/// block. What is written if they do not ascend is of no use.
fn put_in_order<I: Element + Copy + Into<i64>>(
    cx: &mut HostCx<'_>,
    indices: &[RowMajor<'_>],
    data: &[RowMajor<'_>],
    row: &[usize],
) -> Result<bool> {
    let mut parts = Vec::with_capacity(indices.len());
    let (mut rows, mut given) = (0usize, 0);
    for (indices, data) in indices.iter().zip(data) {
        let places = indices.view().as_slice::<I>()?;
        if let Some(last) = places.last() {
            let Ok(last) = usize::try_from((*last).into()) else { return Ok(false) };
            rows = rows.max(last.saturating_add(1));
        }
        given += places.len();
        parts.push((places, data.view().bytes()));
    }
    let Some(first) = data.first() else { return Ok(false) };
    let bytes = row.iter().product::<usize>() * size_of_element(first.view().dtype())?;
    // Every tensor is looked at for every block.
    if bytes == 0 || rows.div_ceil((BLOCK / bytes).max(1)).saturating_mul(parts.len()) > given {
        return Ok(false);
    }
    let mut output = cx.unfilled_output(0, &[&[rows], row].concat())?;
    let target = output.bytes_mut();
    Ok(match bytes {
        1 => fill_small::<1, BLOCK, I>(target, &parts),
        2 => fill_small::<2, { BLOCK / 2 }, I>(target, &parts),
        4 => fill_small::<4, { BLOCK / 4 }, I>(target, &parts),
        8 => fill_small::<8, { BLOCK / 8 }, I>(target, &parts),
        16 => fill_small::<16, { BLOCK / 16 }, I>(target, &parts),
        _ => fill::<BLOCK, _, I>(target, parts, bytes, 0),
    })
}

fn fill_small<const N: usize, const HEIGHT: usize, I: Copy + Into<i64>>(
    target: &mut [u8],
    parts: &[(&[I], &[u8])],
) -> bool {
    let parts = parts.iter().map(|(places, data)| (*places, data.as_chunks::<N>().0)).collect();
    fill::<HEIGHT, _, I>(target.as_chunks_mut::<N>().0, parts, 1, [0; N])
}

/// Fills `target` with rows of `row` elements, each tensor's beside their places, and with zeros; whether every
/// row's place came in its turn. A block has `HEIGHT` elements.
#[inline(always)]
fn fill<const HEIGHT: usize, T: Copy, I: Copy + Into<i64>>(
    target: &mut [T],
    mut parts: Vec<(&[I], &[T])>,
    row: usize,
    zero: T,
) -> bool {
    let height = (HEIGHT / row).max(1);
    for (block, first) in target.chunks_mut(height * row).zip((0..).step_by(height)) {
        block.fill(zero);
        let height = block.len() / row;
        for (places, data) in &mut parts {
            let given = places.len().min(data.len() / row);
            let (near, rows) = (&places[..given], &data[..given * row]);
            let mut taken = match <&mut [T; HEIGHT]>::try_from(&mut *block) {
                Ok(block) if row == 1 => take(block, first, near, rows),
                _ => 0,
            };
            while taken < given {
                // A place before the block is far beyond it, and so is a negative one.
                let place = (near[taken].into() as usize).wrapping_sub(first);
                if place >= height {
                    break;
                }
                match row {
                    1 => block[place] = rows[taken],
                    _ => block[place * row..][..row].copy_from_slice(&rows[taken * row..][..row]),
                }
                taken += 1;
            }
            (*places, *data) = (&places[taken..], &data[taken * row..]);
            if places.first().is_some_and(|place| ((*place).into() as usize) < first) {
                return false;
            }
        }
    }
    parts.iter().all(|(places, _)| places.is_empty())
}

/// Puts elements at their places in a whole block, four at a time as long as all four belong there; how many it were.
#[inline(always)]
fn take<const HEIGHT: usize, T: Copy, I: Copy + Into<i64>>(
    block: &mut [T; HEIGHT],
    first: usize,
    places: &[I],
    rows: &[T],
) -> usize {
    const { assert!(HEIGHT.is_power_of_two(), "a place inside is one without higher bits") };
    let mut taken = 0;
    for (places, rows) in places.as_chunks::<4>().0.iter().zip(rows.as_chunks::<4>().0) {
        let places = places.map(|place| (place.into() as usize).wrapping_sub(first));
        if places.iter().fold(0, |bits, place| bits | place) >= HEIGHT {
            break;
        }
        for (place, row) in places.into_iter().zip(rows) {
            block[place % HEIGHT] = *row;
        }
        taken += 4;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[n]; i32[]; [n, 3]; [3]" => "[?, 3]",
        "i64[n]; string[n]" => "string[?]",
        "[n]; [n]" => error "a parameter must be i32 or i64, got f32",
        "i32[2]; [3]" => error "data must have the axes of its indices as leading axes",
        "i32[n]; i32[]; [n]; f64[]" => error "operands must have one dtype, got f32 and f64",
    }

    #[test]
    fn a_negative_index_is_an_error() {
        let mut places = vec![1i32; 5000];
        places[4000] = -1;
        let error = run(&DEF, &Attrs::new(), &[tensor(&[5000], &places), tensor(&[5000], &[0u8; 5000])]);
        assert_eq!(error.unwrap_err().message(), "an index into axis 0 must lie in [0, 2), got -1");
    }

    #[test]
    fn the_last_row_stays_whatever_the_order() {
        // Ascending with gaps and repetitions over several blocks, and the same with one index out of its turn.
        let count = 40_000i32;
        let ascending = |part: i32| (0..count).map(|at| at * 3 / 2 + part).collect::<Vec<i32>>();
        let mut broken = ascending(1);
        broken[30_000] = 5;
        for second in [ascending(1), broken] {
            for width in [1, 3] {
                let places = [ascending(0), second.clone()];
                let rows = count as usize * width;
                let data: Vec<Vec<i32>> =
                    (0..2).map(|part| (0..rows as i32).map(|at| at * 2 + part).collect()).collect();
                let top = *places.iter().flatten().max().unwrap() as usize + 1;
                let mut expected = vec![0; top * width];
                for (places, data) in places.iter().zip(&data) {
                    for (place, row) in places.iter().zip(data.chunks(width)) {
                        expected[*place as usize * width..][..width].copy_from_slice(row);
                    }
                }
                let index = |at: usize| tensor(&[count as usize], &places[at]);
                let rows = |at: usize| tensor(&[count as usize, width], &data[at]);
                let outputs = run(&DEF, &Attrs::new(), &[index(0), index(1), rows(0), rows(1)]).unwrap();
                assert_eq!(outputs[0].sizes(), [top, width]);
                assert_eq!(outputs[0].to_vec::<i32>().unwrap(), expected);
            }
        }
    }

    #[test]
    fn as_many_indices_as_data() {
        let g = crate::Graph::new();
        let x = g.constant([1, 2]).unwrap();
        let error = dynamic_stitch(&[x], &[x, x]).unwrap_err();
        assert_eq!(error.message(), "there must be as many indices as data, got 1 and 2");
    }
}
