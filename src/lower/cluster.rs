//! [`Cluster`]: nodes that one loop nest computes, and the rule by which a cluster takes a further node.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::access::{Access, Read, has_quotients, varies_with};
use super::placement::MaterializeReason;
use crate::expr::{Atom, Axis, Index};
use crate::graph::ValueIx;

/// The largest number of primitive operations of a cluster.
const MAX_COST: u32 = 256;
/// The largest number of values that a cluster computes, values of cost 0 included.
/// [`build`](super::build::build) recurses through these values, so the limit bounds the depth of the recursion.
const MAX_MEMBERS: usize = 256;
/// The largest number of buffers that a cluster reads.
const MAX_BUFFERS: usize = 16;
/// The largest number of variants of a cluster. A member such as a concatenation chooses its expression by the
/// position, and a variant is one combination of these choices.
const MAX_VARIANTS: u32 = 64;

/// The number of a cluster. Merged clusters have one representative, which `Partitioner::find` returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ClusterIx(pub u32);

/// The axes that the reductions of a cluster run over.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RowAxes {
    /// The cluster has no reduction.
    None,
    /// Axes that the domain lacks, numbered after the axes of the domain: every root has one element per row.
    NewAxes(Vec<Dim>),
    /// Axes of the domain, by number. They stay in the domain, because some members have an element for each element
    /// of the row and read results of reductions over the row.
    DomainAxes(Vec<usize>),
}

/// Whether a kernel may compute a value several times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recomputation {
    /// Whether the value is too costly to compute again. The cost includes all values that could be inlined into the
    /// value.
    pub is_costly: bool,
    /// Whether the value depends on results of reductions. If such a value does not vary along the innermost axis of
    /// the domain, the kernel computes it once per row.
    pub reads_reductions: bool,
}

/// Nodes that one loop nest computes. Axes `0..domain.len()` are the axes of the domain; added row axes follow.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The cluster into which this cluster was merged. A cluster that was not merged is its own parent.
    pub parent: ClusterIx,
    /// The size of each axis of the domain.
    pub domain: Vec<Dim>,
    pub row: RowAxes,
    /// The stored values. Each value has the cluster's domain, apart from axes of size 1.
    pub roots: Vec<ValueIx>,
    /// All computed values.
    pub members: Vec<ValueIx>,
    /// The number of primitive operations of all members, weighted as in [`Access::cost`].
    pub cost: u32,
    /// A bound of the number of variants: see [`MAX_VARIANTS`].
    pub variants: u32,
    /// Operands of members that are not members themselves: they are in memory, or the partition has not placed them
    /// yet.
    pub frontier: SmallVec<[ValueIx; 8]>,
    /// The axes inside quotients or remainders of some index. The plan may split these axes when sizes are known.
    pub quotient_axes: SmallVec<[usize; 4]>,
    /// The distance from the end of the program: steps with a larger depth run earlier.
    pub depth: u32,
    /// The least depth of the steps that produce operands of the cluster.
    pub producer_depth: u32,
}

impl Cluster {
    /// Makes the cluster of one root.
    pub fn new(number: ClusterIx, domain: Vec<Dim>, root: ValueIx, depth: u32) -> Cluster {
        Cluster {
            parent: number,
            domain,
            row: RowAxes::None,
            roots: vec![root],
            members: Vec::new(),
            cost: 0,
            variants: 1,
            frontier: SmallVec::new(),
            quotient_axes: SmallVec::new(),
            depth,
            producer_depth: u32::MAX,
        }
    }

    /// Returns the numbers of the row axes.
    pub fn row_axes(&self) -> SmallVec<[usize; 4]> {
        match &self.row {
            RowAxes::None => SmallVec::new(),
            RowAxes::NewAxes(row) => (self.domain.len()..self.domain.len() + row.len()).collect(),
            RowAxes::DomainAxes(axes) => axes.iter().copied().collect(),
        }
    }

    /// Returns the axes of the domain that an index does not vary along.
    pub fn missing_axes(&self, index: &[Index]) -> Vec<usize> {
        let varies = |axis: usize| index.iter().any(|index| varies_with(index, Axis(axis as u32)));
        (0..self.domain.len()).filter(|&axis| !varies(axis)).collect()
    }

    /// Returns the union of this cluster and another of the same domain. Returns `None` in each of these cases:
    /// - Both clusters have rows, and the rows differ.
    /// - The union exceeds a limit.
    /// - The union has a row, and one of the clusters has several variants.
    /// - The row runs over an axis of the domain that the plan may split.
    /// - A path of the graph may lead from one cluster to the other.
    pub fn joined(&self, other: &Cluster) -> Option<Cluster> {
        let row = match (&self.row, &other.row) {
            (RowAxes::None, row) | (row, RowAxes::None) => row.clone(),
            (a, b) if a == b => a.clone(),
            _ => return None,
        };
        let mut frontier = self.frontier.clone();
        frontier.extend(other.frontier.iter().filter(|value| !self.frontier.contains(value)).copied());
        let depth = self.depth.max(other.depth);
        let may_split =
            |axis: &usize| self.quotient_axes.contains(axis) || other.quotient_axes.contains(axis);
        let fits = self.cost + other.cost <= MAX_COST
            && self.members.len() + other.members.len() <= MAX_MEMBERS
            && self.variants.saturating_mul(other.variants) <= MAX_VARIANTS
            && frontier.len() <= MAX_BUFFERS
            && (row == RowAxes::None || self.variants.max(other.variants) == 1)
            && !matches!(&row, RowAxes::DomainAxes(axes) if axes.iter().any(may_split))
            && (self.depth == depth || depth < self.producer_depth)
            && (other.depth == depth || depth < other.producer_depth);
        fits.then(|| Cluster {
            parent: self.parent,
            domain: self.domain.clone(),
            row,
            roots: [&self.roots[..], &other.roots].concat(),
            members: [&self.members[..], &other.members].concat(),
            cost: self.cost + other.cost,
            variants: self.variants * other.variants,
            frontier,
            quotient_axes: self.quotient_axes.iter().chain(&other.quotient_axes).copied().collect(),
            depth,
            producer_depth: self.producer_depth.min(other.producer_depth),
        })
    }

    /// Checks that a value with this body and these operands may be computed in the cluster at an index.
    ///
    /// # Errors
    /// The reason why the value must be stored instead.
    pub fn check_member(
        &self,
        access: &Access,
        recomputation: Recomputation,
        operands: &[ValueIx],
        index: &[Index],
    ) -> Result<(), MaterializeReason> {
        // The value leaves the frontier, and its operands enter the frontier.
        let new_operands = operands.iter().filter(|operand| !self.frontier.contains(operand));
        if self.cost + access.cost > MAX_COST
            || self.members.len() >= MAX_MEMBERS
            || self.variants.saturating_mul(access.variants) > MAX_VARIANTS
            || self.frontier.len().saturating_sub(1) + new_operands.count() > MAX_BUFFERS
        {
            return Err(MaterializeReason::KernelFull);
        }
        let quotients = index.iter().any(has_quotients);
        if quotients && (access.gathers || !access.reduces.is_empty()) {
            return Err(MaterializeReason::UnsupportedIndex);
        }
        // The plan resolves piecewise choices and quotients before the kernel runs. Run-time values are not known then.
        let has_run_time_values = index.iter().any(Index::has_value);
        let reads_flat = access.reads.iter().any(|(_, read)| *read == Read::Flat);
        if has_run_time_values && (access.variants > 1 || access.has_compound_index || reads_flat) {
            return Err(MaterializeReason::UnsupportedIndex);
        }
        let row_axes = self.row_axes();
        let in_row = |axis: usize| row_axes.contains(&axis);
        let missing = self.missing_axes(index);
        let has_row = self.row != RowAxes::None;
        if has_row {
            let rank = index.len();
            let mut has_row_quotient = |index: &Index| quotient_axes(index).iter().any(|&axis| in_row(axis));
            let reads_row_quotient = access.reads.iter().any(|(_, read)| match read {
                Read::Element(read) => {
                    substitute(read, index, rank, access, &row_axes).iter().any(&mut has_row_quotient)
                }
                Read::Flat => false,
            });
            if access.variants > 1 || reads_row_quotient || index.iter().any(has_row_quotient) {
                return Err(MaterializeReason::ReduceBoundary);
            }
        }
        if !access.reduces.is_empty() {
            return self.check_reduces(access, index);
        }
        if recomputation.is_costly && quotients {
            return Err(MaterializeReason::QuotientIndex);
        }
        // A value that the kernel computes once per row is cheap enough. This does not hold for a value that varies
        // along no axis: the rows, which threads share, would all compute it.
        let inner = self.domain.len().checked_sub(1);
        let once_a_row = recomputation.reads_reductions
            && missing.len() < self.domain.len()
            && missing.last().copied() == inner;
        if recomputation.is_costly && !once_a_row && missing.iter().any(|axis| !in_row(*axis)) {
            return Err(MaterializeReason::AddedAxis);
        }
        Ok(())
    }

    /// Returns the row that the cluster has with a value that it computes at an index.
    pub fn row_with(&self, access: &Access, index: &[Index]) -> RowAxes {
        let (Some(reduce), RowAxes::None) = (access.reduces.first(), &self.row) else {
            return self.row.clone();
        };
        let extents: Vec<Dim> = reduce.iter().map(|(_, extent)| extent.clone()).collect();
        let missing = self.missing_axes(&reduce_index(access, index));
        let same = missing.iter().map(|axis| &self.domain[*axis]).eq(&extents);
        if same && !missing.is_empty() { RowAxes::DomainAxes(missing) } else { RowAxes::NewAxes(extents) }
    }

    /// Returns the cluster with the row that a value at an index gives it; `None` if the value gives it no row.
    pub fn with_row_of(&self, access: &Access, index: &[Index]) -> Option<Cluster> {
        let row = self.row_with(access, index);
        (row != self.row).then(|| Cluster { row, ..self.clone() })
    }

    /// Checks that the reductions of a body can run over the row axes of the cluster.
    fn check_reduces(&self, access: &Access, index: &[Index]) -> Result<(), MaterializeReason> {
        let index = reduce_index(access, index);
        let missing = &self.missing_axes(&index)[..];
        if access.mixed_reduces || self.variants > 1 {
            return Err(MaterializeReason::ReduceBoundary);
        }
        let extents: Vec<Dim> = access.reduces[0].iter().map(|(_, extent)| extent.clone()).collect();
        let varies_in_row =
            self.row_axes().iter().any(|&axis| index.iter().any(|i| varies_with(i, Axis(axis as u32))));
        let is_plain = index.iter().all(|index| index.as_axis().is_some() || index.as_constant().is_some());
        if varies_in_row || !is_plain {
            return Err(MaterializeReason::ReduceBoundary);
        }
        let extent = |axis: &usize| self.domain[*axis].clone();
        let fits = match &self.row {
            RowAxes::None => {
                missing.is_empty()
                    || missing.iter().map(extent).collect::<Vec<_>>() == extents
                        && !missing.iter().any(|axis| self.quotient_axes.contains(axis))
            }
            RowAxes::NewAxes(row) => missing.is_empty() && *row == extents,
            RowAxes::DomainAxes(axes) => {
                missing == &axes[..] && axes.iter().map(extent).collect::<Vec<_>>() == extents
            }
        };
        if fits { Ok(()) } else { Err(MaterializeReason::ReduceBoundary) }
    }
}

/// Returns the indices that select the row of a body's reductions.
fn reduce_index(access: &Access, index: &[Index]) -> Vec<Index> {
    access.reduce_depends.iter().filter_map(|axis| index.get(axis.0 as usize).cloned()).collect()
}

/// Returns whether no kernel supports a body. Kernels do not support strings, reductions of different extents in one
/// body, piecewise choices together with a reduction, and quotients along reduced axes.
pub(super) fn needs_interpreter(access: &Access) -> bool {
    if access.has_strings || access.reduces.is_empty() {
        return access.has_strings;
    }
    let is_reduced = |axis: usize| access.reduces.iter().flatten().any(|(other, _)| other.0 as usize == axis);
    let splits = access.reads.iter().any(|(_, read)| match read {
        Read::Element(read) => read.iter().flat_map(quotient_axes).any(is_reduced),
        Read::Flat => false,
    });
    access.mixed_reduces || access.variants > 1 || splits
}

/// Returns the axes inside quotients and remainders of an index.
pub(super) fn quotient_axes(index: &Index) -> SmallVec<[usize; 4]> {
    let mut axes = SmallVec::new();
    for (atom, _) in &index.terms {
        if let Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) = atom {
            inner.for_each_axis(&mut |axis| axes.push(axis.0 as usize));
        }
    }
    axes
}

/// Translates `read`, the index at which a body reads an operand, to the axes of a cluster that computes the body at
/// `index`. `rank` is the rank of the body's result, and `row` lists the row axes of the cluster.
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
        let position =
            access.reduces.iter().find_map(|reduce| reduce.iter().position(|(other, _)| *other == axis));
        match position.and_then(|position| row.get(position)) {
            Some(&axis) => Index::axis(Axis(axis as u32)),
            None => Index::axis(axis),
        }
    };
    read.iter().map(|read| read.substitute(&mut axes, &mut |expr| expr.clone())).collect()
}
