//! `Cluster`: nodes computed in one loop nest, and the rule by which it takes another.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::access::{Access, Read, has_quotients, varies_with};
use super::home::Why;
use crate::expr::{Atom, Axis, Index};
use crate::graph::ValueIx;

/// A cluster takes no more primitive operations than this.
const MAX_COST: u32 = 256;
/// A cluster inlines no more values than this, those that cost nothing among them: bodies are put together by
/// a descent through them, which has to fit on the stack of any thread.
const MAX_MEMBERS: usize = 256;
/// A cluster reads no more buffers than this.
const MAX_BUFFERS: usize = 16;
/// A cluster is split into no more piecewise variants than this.
const MAX_ARMS: u32 = 64;

/// Number of a cluster; merged clusters share a representative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ClusterIx(pub u32);

/// The row axes of a cluster that folds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Row {
    None,
    /// New axes, numbered after those of the domain: all roots are one value per row.
    Added(Vec<Dim>),
    /// Axes of the domain: folds over them are read again by elements of the row.
    Within(Vec<usize>),
}

/// What it would mean to compute a value again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Whether it is too much, with all that could be inlined into it.
    pub high: bool,
    /// Whether it is made from results of folds. Along the axes of such a fold, and for every element of an
    /// inner axis, it is computed once a row.
    pub folds: bool,
}

/// Nodes computed in one loop nest. Axis `k < domain.len()` is an axis of the domain.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub parent: ClusterIx,
    pub domain: Vec<Dim>,
    pub row: Row,
    /// Materialized values; each has the cluster's domain, up to axes of size 1.
    pub roots: Vec<ValueIx>,
    pub members: Vec<ValueIx>,
    pub cost: u32,
    pub arms: u32,
    /// Values read from outside, or not yet settled.
    pub frontier: SmallVec<[ValueIx; 8]>,
    /// Axes inside quotients or remainders of some index: they may be split when sizes are known.
    pub split: SmallVec<[usize; 4]>,
    /// Steps with a larger depth run earlier.
    pub depth: u32,
    /// The least depth among the steps that make what this cluster reads.
    pub producers: u32,
}

impl Cluster {
    pub fn new(number: ClusterIx, domain: Vec<Dim>, root: ValueIx, depth: u32) -> Cluster {
        Cluster {
            parent: number,
            domain,
            row: Row::None,
            roots: vec![root],
            members: Vec::new(),
            cost: 0,
            arms: 1,
            frontier: SmallVec::new(),
            split: SmallVec::new(),
            depth,
            producers: u32::MAX,
        }
    }

    /// The row axes by number.
    pub fn row_axes(&self) -> SmallVec<[usize; 4]> {
        match &self.row {
            Row::None => SmallVec::new(),
            Row::Added(row) => (self.domain.len()..self.domain.len() + row.len()).collect(),
            Row::Within(axes) => axes.iter().copied().collect(),
        }
    }

    /// The axes of the domain along which an index does not vary.
    pub fn missing_axes(&self, index: &[Index]) -> Vec<usize> {
        let varies = |axis: usize| index.iter().any(|index| varies_with(index, Axis(axis as u32)));
        (0..self.domain.len()).filter(|&axis| !varies(axis)).collect()
    }

    /// This cluster with all of another of the same domain, within the limits and if no path leads from one
    /// to the other.
    pub fn joined(&self, other: &Cluster) -> Option<Cluster> {
        let row = match (&self.row, &other.row) {
            (Row::None, row) | (row, Row::None) => row.clone(),
            (one, other) if one == other => one.clone(),
            _ => return None,
        };
        let mut frontier = self.frontier.clone();
        frontier.extend(other.frontier.iter().filter(|value| !self.frontier.contains(value)).copied());
        let depth = self.depth.max(other.depth);
        let splits = |axis: &usize| self.split.contains(axis) || other.split.contains(axis);
        let fits = self.cost + other.cost <= MAX_COST
            && self.members.len() + other.members.len() <= MAX_MEMBERS
            && self.arms.saturating_mul(other.arms) <= MAX_ARMS
            && frontier.len() <= MAX_BUFFERS
            && (row == Row::None || self.arms.max(other.arms) == 1)
            && !matches!(&row, Row::Within(axes) if axes.iter().any(splits))
            && (self.depth == depth || depth < self.producers)
            && (other.depth == depth || depth < other.producers);
        fits.then(|| Cluster {
            parent: self.parent,
            domain: self.domain.clone(),
            row,
            roots: [&self.roots[..], &other.roots].concat(),
            members: [&self.members[..], &other.members].concat(),
            cost: self.cost + other.cost,
            arms: self.arms * other.arms,
            frontier,
            split: self.split.iter().chain(&other.split).copied().collect(),
            depth,
            producers: self.producers.min(other.producers),
        })
    }

    /// Whether a value of these operands may be inlined at an index, by every limit there is.
    pub fn accepts(
        &self,
        access: &Access,
        cost: Cost,
        operands: &[ValueIx],
        index: &[Index],
    ) -> Result<(), Why> {
        let new_operands = operands.iter().filter(|operand| !self.frontier.contains(operand));
        if self.cost + access.cost > MAX_COST
            || self.members.len() >= MAX_MEMBERS
            || self.arms.saturating_mul(access.arms) > MAX_ARMS
            || self.frontier.len().saturating_sub(1) + new_operands.count() > MAX_BUFFERS
        {
            return Err(Why::Full);
        }
        let quotients = index.iter().any(has_quotients);
        if quotients && (access.gathers || !access.folds.is_empty()) {
            return Err(Why::SeveralIndices);
        }
        // Pieces and quotients are resolved where sizes are known, run-time values are not.
        let mut has_values = false;
        index.iter().for_each(|index| index.for_each_value(&mut |_| has_values = true));
        let reads_flat = access.reads.iter().any(|(_, read)| *read == Read::Flat);
        if has_values && (access.arms > 1 || access.compound || reads_flat) {
            return Err(Why::SeveralIndices);
        }
        let row_axes = self.row_axes();
        let in_row = |axis: usize| row_axes.contains(&axis);
        let missing = self.missing_axes(index);
        let in_fold = self.row != Row::None;
        if in_fold {
            let rank = index.len();
            let mut splits_row = |index: &Index| split_axes(index).iter().any(|&axis| in_row(axis));
            let reads_split = access.reads.iter().any(|(_, read)| match read {
                Read::Element(read) => {
                    substitute(read, index, rank, access, &row_axes).iter().any(&mut splits_row)
                }
                Read::Flat => false,
            });
            if access.arms > 1 || reads_split || index.iter().any(splits_row) {
                return Err(Why::FoldBoundary);
            }
        }
        if !access.folds.is_empty() {
            return self.may_fold(access, index);
        }
        if cost.high && quotients {
            return Err(Why::SeveralIndices);
        }
        // A single row would leave nothing for other threads.
        let inner = self.domain.len().checked_sub(1);
        let once_a_row = cost.folds && missing.len() < self.domain.len() && missing.last().copied() == inner;
        if cost.high && !once_a_row && missing.iter().any(|axis| !in_row(*axis)) {
            return Err(Why::AddedAxis);
        }
        Ok(())
    }

    /// Whether the folds of a body can run over the row axes of the cluster.
    fn may_fold(&self, access: &Access, index: &[Index]) -> Result<(), Why> {
        let index = fold_index(access, index);
        let missing = &self.missing_axes(&index)[..];
        if access.mixed_folds || self.arms > 1 {
            return Err(Why::FoldBoundary);
        }
        let extents: Vec<Dim> = access.folds[0].iter().map(|(_, extent)| extent.clone()).collect();
        let on_row =
            self.row_axes().iter().any(|&axis| index.iter().any(|i| varies_with(i, Axis(axis as u32))));
        let plain = index.iter().all(|index| index.as_axis().is_some() || index.as_constant().is_some());
        if on_row || !plain {
            return Err(Why::FoldBoundary);
        }
        let extent = |axis: &usize| self.domain[*axis].clone();
        let fits = match &self.row {
            Row::None => {
                missing.is_empty()
                    || missing.iter().map(extent).collect::<Vec<_>>() == extents
                        && !missing.iter().any(|axis| self.split.contains(axis))
            }
            Row::Added(row) => missing.is_empty() && *row == extents,
            Row::Within(axes) => {
                missing == &axes[..] && axes.iter().map(extent).collect::<Vec<_>>() == extents
            }
        };
        if fits { Ok(()) } else { Err(Why::FoldBoundary) }
    }
}

/// The indices that decide where the folds of a body are.
pub(super) fn fold_index(access: &Access, index: &[Index]) -> Vec<Index> {
    access.fold_depends.iter().filter_map(|axis| index.get(axis.0 as usize).cloned()).collect()
}

/// Whether a body has a form that kernels do not take: folds of different extents, or pieces or quotients along
/// the axes of a fold.
pub(super) fn needs_interpreter(access: &Access) -> bool {
    if access.folds.is_empty() {
        return false;
    }
    let folded = |axis: usize| access.folds.iter().flatten().any(|(other, _)| other.0 as usize == axis);
    let splits = access.reads.iter().any(|(_, read)| match read {
        Read::Element(read) => read.iter().flat_map(split_axes).any(folded),
        Read::Flat => false,
    });
    access.mixed_folds || access.arms > 1 || splits
}

/// The axes inside quotients and remainders of an index.
pub(super) fn split_axes(index: &Index) -> SmallVec<[usize; 4]> {
    let mut axes = SmallVec::new();
    for (atom, _) in &index.terms {
        if let Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) = atom {
            inner.for_each_axis(&mut |axis| axes.push(axis.0 as usize));
        }
    }
    axes
}

/// A read of a template at an index of its output, in the axes of a cluster.
pub(super) fn substitute(
    read: &[Index],
    index: &[Index],
    rank: usize,
    access: &Access,
    row: &[usize],
) -> SmallVec<[Index; 4]> {
    let mut axes = |axis: Axis| {
        if (axis.0 as usize) < rank {
            return index[axis.0 as usize].clone();
        }
        let position = access.folds.iter().find_map(|fold| fold.iter().position(|(other, _)| *other == axis));
        match position.and_then(|position| row.get(position)) {
            Some(&axis) => Index::axis(Axis(axis as u32)),
            None => Index::axis(axis),
        }
    };
    read.iter().map(|read| read.substitute(&mut axes, &mut |expr| expr.clone())).collect()
}
