//! `dynamic_stitch`: merges the rows of several tensors by index.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{greatest, put};
use crate::tensor::{Element, size_of_element};

use super::concat::first_of;

/// The size in bytes of a block of the result. A block stays in cache until all of its rows are written.
const BLOCK: usize = 64 << 10;

/// Merges the rows of several tensors: `out[indices[k][i]] = data[k][i]`; the last write wins.
///
/// `indices[k] [p_k..], data[k] [p_k.., d..] -> [1 + max(indices), d..]`, any one dtype; indices are i32 or i64. A
/// negative index fails the run. The op is the inverse of [`Value::dynamic_partition`]. As TensorFlow's `DynamicStitch`
/// and `ParallelDynamicStitch`; an index that does not occur gives a row of zeros, where TensorFlow leaves memory
/// uninitialized. Runs on the host.
///
/// ```
/// use shapeflow::{Graph, Tensor, dynamic_stitch};
///
/// let g = Graph::new();
/// let indices = [g.constant(6)?, g.constant([4, 1])?, g.constant([[5, 2], [0, 3]])?];
/// let data = [
///     g.constant([61, 62])?,
///     g.constant([[41, 42], [11, 12]])?,
///     g.constant([[[51, 52], [21, 22]], [[1, 2], [31, 32]]])?,
/// ];
/// let [y] = g.compile(dynamic_stitch(&indices, &data)?)?.run(&[])?;
/// let rows = [[1, 2], [11, 12], [21, 22], [31, 32], [41, 42], [51, 52], [61, 62]];
/// assert_eq!(y, Tensor::from(rows));
///
/// // Add 1 to the elements that are not -1, and put all elements back in their places.
/// let x = g.constant([0.5, -1.0, 5.0, 4.0, -1.0, 7.0])?;
/// let parts = x.not_equal(-1.0)?.cast(shapeflow::DType::I32)?;
/// let places = g.range(0, 6, 1)?.dynamic_partition(parts, 2)?;
/// let elements = x.dynamic_partition(parts, 2)?;
/// let y = dynamic_stitch(&places, &[elements[0], (elements[1] + 1.0).ok()?])?;
/// let [y] = g.compile(y)?.run(&[])?;
/// assert_eq!(y, Tensor::from([1.5, -1.0, 6.0, 5.0, -1.0, 8.0]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no tensors, the numbers of indices and data differ, the dtypes differ, or the sizes disagree.
#[track_caller]
pub fn dynamic_stitch<'g>(indices: &[Value<'g>], data: &[Value<'g>]) -> Result<Value<'g>> {
    let first = first_of(data, "dynamic_stitch")?;
    if indices.len() != data.len() {
        let message = format!("indices and data must pair up, got {} and {}", indices.len(), data.len());
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message).at(Location::caller()));
    }
    first.graph().op(&DEF).data_all(indices).data_all(data).finish()
}

pub(crate) static DEF: OpDef = OpDef::host("dynamic_stitch", run)
    .operands(&[Operand::Variadic("indices.."), Operand::Variadic("data..")])
    .shape_fn(shapeflow_shape_fns::array::dynamic_stitch)
    .dtype_rule(dtypes)
    .takes_handles(StringHandles::Any)
    .tensorflow(&[TfOp::new("DynamicStitch"), TfOp::new("ParallelDynamicStitch")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let (indices, data) = operands.split_at(operands.len() / 2);
    dtype::check_indices(indices, 0)?;
    Ok(vec![dtype::common(operands, indices.len(), indices.len() + data.len(), dtype::Class::Any)?])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let parts = cx.inputs() / 2;
    let given = |from: usize| -> Result<Vec<RowMajor<'_>>> {
        (from..from + parts).map(|operand| RowMajor::new(cx.input(operand)?)).collect()
    };
    let (indices, data) = (given(0)?, given(parts)?);
    let (Some(first), Some(destinations)) = (data.first(), indices.first()) else {
        return Err(Error::msg("dynamic_stitch needs at least one tensor"));
    };
    let first_view = first.view();
    let row = first_view.sizes().get(destinations.view().sizes().len()..).unwrap_or_default();
    let dtype = destinations.view().dtype();
    let placed = match dtype {
        _ if indices.iter().any(|indices| indices.view().dtype() != dtype) => false,
        DType::I32 => put_in_order::<i32>(cx, &indices, &data, row)?,
        _ => put_in_order::<i64>(cx, &indices, &data, row)?,
    };
    if placed {
        return Ok(());
    }
    let mut rows = 0;
    for indices in &indices {
        rows = rows.max(greatest(indices.view())?.map_or(0, |greatest| greatest.saturating_add(1)));
    }
    let mut output = cx.output(0, &[&[rows], row].concat())?;
    let sizes = [rows];
    for (operand, (indices, data)) in indices.iter().zip(&data).enumerate() {
        let positions = Positions::new(indices.view(), Some(operand), &sizes)?;
        put(&mut output, data.view(), row.iter().product(), &positions)?;
    }
    Ok(())
}

/// Writes the result block by block, if the indices of every tensor ascend, as after [`Value::dynamic_partition`].
///
/// If the indices ascend, the greatest last index is the last row of the result, and each block takes the next rows of
/// each tensor. Returns whether the result is written; if not, the output is incomplete and must be written again.
fn put_in_order<I: Element + Copy + Into<i64>>(
    cx: &mut HostCx<'_>,
    indices: &[RowMajor<'_>],
    data: &[RowMajor<'_>],
    row: &[usize],
) -> Result<bool> {
    let mut parts = Vec::with_capacity(indices.len());
    let (mut rows, mut given) = (0usize, 0);
    for (indices, data) in indices.iter().zip(data) {
        let destinations = indices.view().as_slice::<I>()?;
        if let Some(last) = destinations.last() {
            let Ok(last) = usize::try_from((*last).into()) else { return Ok(false) };
            rows = rows.max(last.saturating_add(1));
        }
        given += destinations.len();
        parts.push((destinations, data.view().bytes()));
    }
    let Some(first) = data.first() else { return Ok(false) };
    let bytes = row.iter().product::<usize>() * size_of_element(first.view().dtype())?;
    // Each block visits every tensor, which must not cost more than the rows themselves.
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

/// Fills `target` as [`fill`] does, with rows of `N` bytes.
fn fill_small<const N: usize, const HEIGHT: usize, I: Copy + Into<i64>>(
    target: &mut [u8],
    parts: &[(&[I], &[u8])],
) -> bool {
    let parts = parts.iter().map(|(destinations, data)| (*destinations, data.as_chunks::<N>().0)).collect();
    fill::<HEIGHT, _, I>(target.as_chunks_mut::<N>().0, parts, 1, [0; N])
}

/// Fills `target` with zeros and with the rows of `parts`. A part is a list of destinations and a row of `row` elements
/// for each of them. A block has `HEIGHT` elements. Returns whether the destinations of every part ascend.
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
        for (destinations, data) in &mut parts {
            let given = destinations.len().min(data.len() / row);
            let (targets, rows) = (&destinations[..given], &data[..given * row]);
            let mut taken = match <&mut [T; HEIGHT]>::try_from(&mut *block) {
                Ok(block) if row == 1 => take_fours(block, first, targets, rows),
                _ => 0,
            };
            while taken < given {
                // A destination before the block and a negative destination wrap to a huge number.
                let destination = (targets[taken].into() as usize).wrapping_sub(first);
                if destination >= height {
                    break;
                }
                match row {
                    1 => block[destination] = rows[taken],
                    _ => block[destination * row..][..row].copy_from_slice(&rows[taken * row..][..row]),
                }
                taken += 1;
            }
            (*destinations, *data) = (&destinations[taken..], &data[taken * row..]);
            if destinations.first().is_some_and(|destination| ((*destination).into() as usize) < first) {
                return false;
            }
        }
    }
    parts.iter().all(|(destinations, _)| destinations.is_empty())
}

/// Writes elements to their destinations in a full block, four at a time while all four destinations are in the block.
/// Returns the number of elements written.
#[inline(always)]
fn take_fours<const HEIGHT: usize, T: Copy, I: Copy + Into<i64>>(
    block: &mut [T; HEIGHT],
    first: usize,
    destinations: &[I],
    rows: &[T],
) -> usize {
    const { assert!(HEIGHT.is_power_of_two(), "a destination is in the block if it has no higher bits") };
    let mut taken = 0;
    for (destinations, rows) in destinations.as_chunks::<4>().0.iter().zip(rows.as_chunks::<4>().0) {
        let destinations = destinations.map(|destination| (destination.into() as usize).wrapping_sub(first));
        if destinations.iter().fold(0, |bits, destination| bits | destination) >= HEIGHT {
            break;
        }
        for (destination, row) in destinations.into_iter().zip(rows) {
            block[destination % HEIGHT] = *row;
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
        "[n]; [n]" => error "the element type must be i32 or i64, got f32",
        "i32[2]; [3]" => error "data must have the axes of its indices as leading axes",
        "i32[n]; i32[]; [n]; f64[]" => error "operands must have one dtype, got f32 and f64",
    }

    #[test]
    fn a_negative_index_is_an_error() {
        let mut destinations = vec![1i32; 5000];
        destinations[4000] = -1;
        let error =
            run(&DEF, &Attrs::new(), &[tensor(&[5000], &destinations), tensor(&[5000], &[0u8; 5000])]);
        assert_eq!(
            error.unwrap_err().message(),
            "an index into axis 0 must lie in [0, 2), got -1 at [4000] in operand 0"
        );
    }

    #[test]
    fn the_last_write_wins_in_any_order() {
        // Ascending indices with gaps and repetitions over several blocks, then the same with one index out of order.
        let count = 40_000i32;
        let ascending = |part: i32| (0..count).map(|i| i * 3 / 2 + part).collect::<Vec<i32>>();
        let mut broken = ascending(1);
        broken[30_000] = 5;
        for second in [ascending(1), broken] {
            for width in [1, 3] {
                let destinations = [ascending(0), second.clone()];
                let rows = count as usize * width;
                let data: Vec<Vec<i32>> =
                    (0..2).map(|part| (0..rows as i32).map(|i| i * 2 + part).collect()).collect();
                let top = *destinations.iter().flatten().max().unwrap() as usize + 1;
                let mut expected = vec![0; top * width];
                for (destinations, data) in destinations.iter().zip(&data) {
                    for (destination, row) in destinations.iter().zip(data.chunks(width)) {
                        expected[*destination as usize * width..][..width].copy_from_slice(row);
                    }
                }
                let index = |part: usize| tensor(&[count as usize], &destinations[part]);
                let rows = |part: usize| tensor(&[count as usize, width], &data[part]);
                let outputs = run(&DEF, &Attrs::new(), &[index(0), index(1), rows(0), rows(1)]).unwrap();
                assert_eq!(outputs[0].sizes(), [top, width]);
                assert_eq!(outputs[0].to_vec::<i32>().unwrap(), expected);
            }
        }
    }

    #[test]
    fn indices_may_differ_in_dtype() {
        let operands =
            [tensor(&[2], &[0, 2]), tensor(&[1], &[1i64]), tensor(&[2], &[5, 7]), tensor(&[1], &[6])];
        let outputs = run(&DEF, &Attrs::new(), &operands).unwrap();
        assert_eq!(outputs[0].to_vec::<i32>().unwrap(), [5, 6, 7]);
    }

    #[test]
    fn unequal_numbers_of_indices_and_data_are_refused() {
        let g = crate::Graph::new();
        let x = g.constant([1, 2]).unwrap();
        let error = dynamic_stitch(&[x], &[x, x]).unwrap_err();
        assert_eq!(error.message(), "indices and data must pair up, got 1 and 2");
    }
}
