//! [`choose_lane_axis`]: the axis that the vector lanes of a kernel run along.

use std::ops::Range;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::Dim;

use super::access::{has_axis, step_along, varies_with};
use super::kernel::BufferInfo;
use super::root::Root;
use crate::expr::{Axis, Expr, ExprKind, Index, post_order};

/// The axis of the vector lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LaneAxis {
    /// The last row axis; the last outer axis if there are no row axes.
    Row,
    /// The last outer axis.
    Outer,
    /// The second last outer axis.
    SecondLastOuter,
}

/// The cost of an access whose elements are not neighbors in memory. The access of one vector of neighbors costs 1.
const SCATTERED: usize = 8;
/// The cost of an access whose elements are at most [`SHORT`] elements apart.
const STRIDED: usize = 2;
/// The cost of a row besides its elements: its start, and the combination of the lanes of a reduction.
const ROW_COST: usize = 24;
/// The number of elements of a vector.
const LANES: usize = 8;
/// The greatest extent of a last axis that counts as short: the distance between neighbors along the axis before it.
/// Emitters load elements that are at most 4 elements apart; for greater distances, a launch would have to copy them.
const SHORT: i64 = 4;

/// An index of a load or store, and the dims of its buffer.
type BufferIndex<'a> = (&'a [Index], &'a [Dim]);

/// Chooses the axis that makes the kernel cheapest. `outer` and `row` are the extents of its axes.
///
/// The outer axes of a kernel count its rows, and the row axes are the axes inside a row: the code of a row has a loop
/// over them, or reduces them. The cost counts instructions and accesses for [`LANES`] rows. An instruction costs 1. An
/// access costs 0 if it does not vary along the axis, 1 if its elements are neighbors in memory, [`STRIDED`] or
/// [`SCATTERED`] otherwise. A vector that a short axis does not fill costs as much as a full one. Work that does not
/// vary along a row counts once for each row, and the start of a row costs [`ROW_COST`]. If the length of a row is not
/// known, only its elements count.
pub(super) fn choose_lane_axis(roots: &[Root], outer: &[Dim], row: &[Dim], infos: &[BufferInfo]) -> LaneAxis {
    if row.is_empty() {
        return if has_short_lanes(roots, outer, infos) { LaneAxis::SecondLastOuter } else { LaneAxis::Row };
    }
    if outer.is_empty() {
        return LaneAxis::Row;
    }
    let work = KernelWork::of(roots, outer, row, infos);
    let last = outer.len() - 1;
    let filled = work.inner_extent(0..outer.len()).unwrap_or(LANES);
    let (mut lanes, mut cost) = (LaneAxis::Outer, work.cost_along_outer(last, filled));
    if last > 0 {
        let filled =
            work.extents[last - 1].as_known().map_or(LANES, |extent| usize::try_from(extent).unwrap_or(0));
        let swapped = work.cost_along_outer(last - 1, filled);
        if swapped < cost {
            (lanes, cost) = (LaneAxis::SecondLastOuter, swapped);
        }
    }
    if work.cost_along_row() <= cost { LaneAxis::Row } else { lanes }
}

/// The instructions and accesses of one section of a kernel.
#[derive(Default)]
struct SectionWork<'a> {
    instructions: usize,
    accesses: Vec<BufferIndex<'a>>,
}

/// What a kernel with rows does.
struct KernelWork<'a> {
    /// The extents of the outer axes and, after them, of the row axes.
    extents: Vec<&'a Dim>,
    outer: usize,
    /// What the kernel does for each element of a row.
    pass: SectionWork<'a>,
    /// What the kernel does once a row.
    epilogue: SectionWork<'a>,
}

impl<'a> KernelWork<'a> {
    fn of(roots: &'a [Root], outer: &'a [Dim], row: &'a [Dim], infos: &'a [BufferInfo]) -> KernelWork<'a> {
        let (mut pass, mut epilogue) = (SectionWork::default(), SectionWork::default());
        let order = post_order(roots.iter().map(|root| &root.expr));
        let reduces = order.iter().copied().filter(|expr| matches!(expr.kind(), ExprKind::Reduce { .. }));
        let row_axes = || (outer.len() as u32..(outer.len() + row.len()) as u32).map(Axis);
        let varies = |index: &Index| row_axes().any(|axis| varies_with(index, axis));
        let stores_rows = roots.iter().any(|root| root.index.iter().any(varies));
        let in_pass: FxHashSet<usize> = post_order(reduces).into_iter().map(Expr::address).collect();
        for expr in order {
            let section = match stores_rows || in_pass.contains(&expr.address()) {
                true => &mut pass,
                false => &mut epilogue,
            };
            match expr.kind() {
                ExprKind::Load { source, index } => {
                    section.accesses.push((index, &infos[*source as usize].dims));
                }
                ExprKind::LoadFlat { position, .. } => {
                    section.accesses.push((std::slice::from_ref(&**position), &[]));
                }
                _ => section.instructions += 1,
            }
        }
        let stores = if stores_rows { &mut pass } else { &mut epilogue };
        stores
            .accesses
            .extend(roots.iter().map(|root| (&root.index[..], &infos[root.buffer.index()].dims[..])));
        KernelWork { extents: outer.iter().chain(row).collect(), outer: outer.len(), pass, epilogue }
    }

    /// Returns the number of elements of a row, if it is known.
    fn row_len(&self) -> Option<usize> {
        let mut extents = self.extents[self.outer..].iter();
        extents.try_fold(1usize, |len, extent| len.checked_mul(usize::try_from(extent.as_known()?).ok()?))
    }

    /// Returns the extent of the innermost loop of a launch: the last of `axes`, merged with the axes before it where
    /// every access allows this. `None` means that the extent is not known.
    fn inner_extent(&self, axes: Range<usize>) -> Option<usize> {
        let mut inner = 1usize;
        for axis in axes.clone().rev() {
            let mut accesses = self.pass.accesses.iter().chain(&self.epilogue.accesses);
            let merges = |(index, dims): &BufferIndex<'_>| merges(index, dims, axis, self.extents[axis + 1]);
            if axis + 1 < axes.end && !accesses.all(merges) {
                break;
            }
            inner = inner.saturating_mul(usize::try_from(self.extents[axis].as_known()?).ok()?);
        }
        Some(inner)
    }

    /// Returns the cost of a vector of rows whose lanes run along outer axis `axis`. The axis fills `filled` lanes.
    fn cost_along_outer(&self, axis: usize, filled: usize) -> usize {
        let [pass, epilogue] = [&self.pass, &self.epilogue].map(|section| section.cost(Axis(axis as u32)));
        let cost = match self.row_len() {
            Some(len) => pass.saturating_mul(len).saturating_add(epilogue),
            None => pass,
        };
        cost.saturating_mul(LANES) / filled.clamp(1, LANES)
    }

    /// Returns the cost of [`LANES`] rows that are computed one after the other, with lanes along the last row axis.
    fn cost_along_row(&self) -> usize {
        let axes = self.outer..self.extents.len();
        let cost = self.pass.cost(Axis(axes.end as u32 - 1));
        let inner = self.inner_extent(axes).unwrap_or(LANES).max(1);
        let Some(len) = self.row_len() else { return cost.saturating_mul(LANES) / inner.min(LANES) };
        let at_end = (ROW_COST + self.epilogue.instructions + self.epilogue.accesses.len()) * LANES;
        cost.saturating_mul(len / inner).saturating_mul(inner.max(LANES)).saturating_add(at_end)
    }
}

impl SectionWork<'_> {
    /// Returns the cost of the section for a vector of elements along `axis`.
    fn cost(&self, axis: Axis) -> usize {
        self.instructions
            + self.accesses.iter().map(|(index, dims)| access_cost(index, dims, axis)).sum::<usize>()
    }
}

/// Returns the cost of the access of a vector of elements along `axis`.
fn access_cost(index: &[Index], dims: &[Dim], axis: Axis) -> usize {
    if !index.iter().any(|index| varies_with(index, axis)) {
        return 0;
    }
    if !index.iter().any(|index| has_axis(index, axis)) {
        // The axis changes only a value that is read at run time, as in a gather, so the step is unknown.
        return SCATTERED;
    }
    match step_along(index, axis, dims) {
        Some(0) => 0,
        Some(1 | -1) => 1,
        Some(2..=SHORT) => STRIDED,
        Some(_) => SCATTERED,
        // The step is not known. The elements are neighbors if the last index alone moves along the axis.
        None => {
            let (last, leading) = index.split_last().expect("some index depends on the axis");
            let is_last = has_axis(last, axis) && !leading.iter().any(|index| varies_with(index, axis));
            if is_last { 1 } else { SCATTERED }
        }
    }
}

/// Returns whether one loop can run along axis `axis` and the axis after it, as far as this access is concerned.
/// `extent` is the extent of the axis after `axis`.
fn merges(index: &[Index], dims: &[Dim], axis: usize, extent: &Dim) -> bool {
    let steps = [axis, axis + 1].map(|axis| step_along(index, Axis(axis as u32), dims));
    let is_fixed = !index.iter().any(Index::has_value);
    match (steps, extent.as_known()) {
        ([Some(0), Some(0)], _) => is_fixed,
        ([Some(outer), Some(inner)], Some(extent)) => is_fixed && inner.checked_mul(extent) == Some(outer),
        _ => false,
    }
}

/// Returns whether the vector lanes of a kernel without row axes should run along its second last axis: the last axis
/// is known to be short, and some access keeps the two axes from becoming one loop.
fn has_short_lanes(roots: &[Root], axes: &[Dim], infos: &[BufferInfo]) -> bool {
    let [.., before_last, last] = axes else { return false };
    let Some(extent) = last.as_known().filter(|extent| (2..=SHORT).contains(extent)) else { return false };
    if before_last.as_known().is_some_and(|size| size <= extent) {
        return false;
    }
    let merges = |index: &[Index], dims: &[Dim]| merges(index, dims, axes.len() - 2, last);
    post_order(roots.iter().map(|root| &root.expr)).iter().any(|expr| match expr.kind() {
        ExprKind::Load { source, index } => !merges(index, &infos[*source as usize].dims),
        ExprKind::Iota(index) | ExprKind::LoadFlat { position: index, .. } => {
            !merges(std::slice::from_ref(index), &[])
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use crate::{CompileOptions, DType, DataFormat, Graph, Isa, Padding, Result, Value};

    /// Returns the loops whose lines say that the lanes run along them, such as `for i3 < 240`.
    fn lane_loops(build: impl for<'g> Fn(&'g Graph) -> Result<Value<'g>>) -> Result<Vec<String>> {
        let graph = Graph::new();
        let options = CompileOptions::new().isa(Isa::Clif);
        let text = graph.compile_with(&options, build(&graph)?)?.kernels();
        let loops = text.lines().filter_map(|line| Some(line.split_once(" (lanes)")?.0.trim().to_owned()));
        Ok(loops.collect())
    }

    fn input<'g>(graph: &'g Graph, name: &str, shape: &str) -> Result<Value<'g>> {
        graph.input(name, DType::F32, shape.parse::<crate::shape_fns::TensorShape>().unwrap())
    }

    #[test]
    fn the_lanes_of_depthwise_windows_of_every_size_run_along_the_channels() -> Result<()> {
        for size in 1..=9 {
            for images in ["[n, 16, 16, 240]", "[n, h, w, 240]"] {
                for (filters, strides, dilations) in [(1, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 1), (4, 1, 1)] {
                    let loops = lane_loops(|graph| {
                        let filter = input(graph, "filter", &format!("[{size}, {size}, 240, {filters}]"))?;
                        let (strides, dilations) = ([strides; 2], [dilations; 2]);
                        let (padding, format) = (Padding::Same, DataFormat::ChannelsLast);
                        let x = input(graph, "x", images)?;
                        x.depthwise_conv_2d(filter, strides, dilations, padding, format)
                    })?;
                    let are_channels = loops.iter().all(|line| line.ends_with("< 240"));
                    assert!(are_channels, "{images}, {size}, {filters}, {strides}, {dilations}: {loops:?}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn the_lanes_of_a_reduction_avoid_a_short_axis() -> Result<()> {
        let lanes_of = |shape: &str, axis: i64| {
            lane_loops(|graph| input(graph, "x", shape)?.reduce_sum(axis)).map(|loops| loops.join(", "))
        };
        // The elements of a column are at most 4 apart.
        assert_eq!(lanes_of("[n, 4096, 2]", 1)?, "pass i2 < 4096");
        assert_eq!(lanes_of("[n, rows, 3]", 1)?, "pass i2 < rows");
        // The last axis fills a vector.
        assert_eq!(lanes_of("[n, 4096, 64]", 1)?, "for i1 < 64");
        assert_eq!(lanes_of("[n, rows, columns]", 1)?, "for i1 < columns");
        // The elements of a row are neighbors.
        assert_eq!(lanes_of("[n, rows, 64]", 2)?, "pass i2 < 64");
        assert_eq!(lanes_of("[n, rows, columns]", 2)?, "pass i2 < columns");
        Ok(())
    }
}
