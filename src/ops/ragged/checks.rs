//! Run-time checks that guard every part of a ragged value: its flat values, and the row splits of each partition.
//!
//! A value guarded by a check is the output of a node that passes the value on, or fails the run. A run computes only
//! the parts that it needs. So a check of two ragged values guards each part of the result, and fails whichever part a
//! run needs.

use super::in_tensorflow;
use super::numbers::{dim_param, dim_value};
use super::splits::{KEPT, SAME};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{AnyValue, Encodings, Graph, RaggedValue, RowPartitionValue, Value, ValueIx};
use crate::op::{HostCx, OpDef, Operand, TfFunction};
use shapeflow_shape_fns::{Attribute, Dim};

impl<'g> RowPartitionValue<'g> {
    /// Returns the partition with row splits guarded by `check`.
    pub(super) fn guarded(
        self,
        check: &dyn Fn(Value<'g>) -> Result<Value<'g>>,
    ) -> Result<RowPartitionValue<'g>> {
        let (given, passed) = (self.row_splits(), check(self.row_splits())?);
        if given.index()? == passed.index()? { Ok(self) } else { self.with_splits(passed) }
    }

    /// Keeps `data`, the encoding that the partition was made from. A run that reads it fails unless the row splits are
    /// right.
    pub(super) fn keep_source(
        self,
        encoding: fn(&mut Encodings) -> &mut Option<ValueIx>,
        data: Value<'g>,
        count: Dim,
    ) -> Result<()> {
        let call = data.graph().op(&KEPT).data(data).data(self.row_splits());
        self.keep(encoding, call.size("count", dim_param(count)).finish()?)
    }
}

impl<'g> AnyValue<'g> {
    /// Returns the value with each part guarded by `check`: the flat values and the row splits of each partition.
    pub(super) fn guarded(self, check: &dyn Fn(Value<'g>) -> Result<Value<'g>>) -> Result<AnyValue<'g>> {
        let partitions = self.partitions().into_iter().map(|rows| rows.guarded(check));
        let partitions = partitions.collect::<Result<Vec<_>>>()?;
        Ok(AnyValue::of(check(self.flat_values())?, &partitions))
    }
}

impl<'g> RaggedValue<'g> {
    /// Checks that the first `count` partitions of `self` and `other` are equal, and returns `self`. If this is not
    /// known now, the result is guarded by a check in the run.
    pub(super) fn with_rows_of(self, other: RaggedValue<'g>, count: usize) -> Result<RaggedValue<'g>> {
        self.with_equal_pairs(&self.unequal_splits(other, count))
    }

    /// Returns both values, guarded by the check that their outermost partitions are equal, unless this is known now.
    pub(super) fn with_equal_rows(self, other: RaggedValue<'g>) -> Result<[RaggedValue<'g>; 2]> {
        let pairs = self.unequal_splits(other, 1);
        Ok([self.with_equal_pairs(&pairs)?, other.with_equal_pairs(&pairs)?])
    }

    /// Returns pairs of row splits of the first `count` partitions of both values that are not known to be equal.
    fn unequal_splits(self, other: RaggedValue<'g>, count: usize) -> Vec<Value<'g>> {
        let pairs = self.partitions().into_iter().zip(other.partitions()).take(count);
        let unequal = pairs.filter(|(ours, theirs)| !ours.is_same(*theirs));
        unequal.flat_map(|(ours, theirs)| [ours.row_splits(), theirs.row_splits()]).collect()
    }

    /// Returns `self`, guarded by the check that the row splits of each pair are equal.
    fn with_equal_pairs(self, pairs: &[Value<'g>]) -> Result<RaggedValue<'g>> {
        if pairs.is_empty() {
            return Ok(self);
        }
        let check = |part: Value<'g>| part.graph().op(&SAME).data(part).data_all(pairs).finish();
        AnyValue::from(self).guarded(&check)?.ragged()
    }
}

/// The run-time check that a dense operand fits a ragged one along an axis.
pub(super) struct DenseCheck<'g> {
    fits: Value<'g>,
    size: Value<'g>,
    axis: usize,
    rank: usize,
}

impl<'g> DenseCheck<'g> {
    /// `fits` says whether the dense operand, which has this rank, fits with `size` along `axis` of the ragged one.
    pub(super) fn new(fits: Value<'g>, size: Value<'g>, axis: usize, rank: usize) -> DenseCheck<'g> {
        DenseCheck { fits, size, axis, rank }
    }

    /// Returns `value`, guarded by the check that the dense operand fits.
    pub(super) fn guard(&self, value: Value<'g>) -> Result<Value<'g>> {
        let call = value.graph().op(&DENSE_FITS).data(value).data(self.fits).data(self.size);
        call.attr("axis", self.axis as i64).attr("rank", self.rank as i64).finish()
    }
}

/// Passes a part of a ragged value on: `part [..], fits bool[], size i64[] -> [..]`. The run fails unless a dense
/// operand of rank `rank` fits along axis `axis`, where its size is `size`.
pub(super) static DENSE_FITS: OpDef = OpDef::host("ragged_broadcast", run_dense_fits)
    .internal()
    .attrs(&[Attribute::int("axis"), Attribute::int("rank")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::dense_fits))
    .operands(&[Operand::Data("part"), Operand::Data("fits"), Operand::Data("size")])
    .reinterprets()
    .shape_fn(|cx| {
        let part = cx.input(0).clone();
        cx.set_output(0, part);
        Ok(())
    })
    .dtype_rule(|dtypes, _| Ok(dtypes[..1].to_vec()));

fn run_dense_fits(cx: &mut HostCx<'_>) -> Result<()> {
    if cx.input(1)?.to_vec::<bool>()?.iter().all(|fits| *fits) {
        return cx.pass_on();
    }
    let size = cx.input(2)?.to_vec::<i64>()?.first().copied().unwrap_or(0);
    let (axis, rank) = (cx.attrs().int("axis"), cx.attrs().int("rank"));
    let requirement = if axis == 0 { "the number of rows" } else { "the length of every row" };
    let message = format!("a dense operand must have size 1 or {requirement} along axis {axis}, got {size}");
    let error = Error::new(ErrorKind::Guard, Phase::Run, message);
    Err(match (axis, rank) {
        (1, 1) => error
            .with_help("a vector of one element for each row needs an axis of size 1: use .expand_dims(1)"),
        _ => error,
    })
}

/// The run-time check that two numbers are equal.
pub(super) struct CountCheck<'g> {
    numbers: [Value<'g>; 2],
    requirement: String,
}

impl<'g> CountCheck<'g> {
    /// Compares `got` with `count`, which `requirement` demands.
    pub(super) fn new(graph: &'g Graph, count: &Dim, got: &Dim, requirement: &str) -> Result<CountCheck<'g>> {
        let numbers = [dim_value(graph, count.clone())?, dim_value(graph, got.clone())?];
        Ok(CountCheck { numbers, requirement: requirement.to_string() })
    }

    /// Returns `value`, guarded by the check that the numbers are equal.
    pub(super) fn guard(&self, value: Value<'g>) -> Result<Value<'g>> {
        let call = value.graph().op(&EQUAL_COUNTS).data(value).data_all(&self.numbers);
        call.attr("requirement", self.requirement.as_str()).finish()
    }
}

/// Passes a part of a ragged value on: `part [..], count i64[], got i64[] -> [..]`. The run fails unless both numbers
/// are equal. A compiled graph that knows that they are equal does not have this op.
pub(super) static EQUAL_COUNTS: OpDef = OpDef::host("ragged_equal_counts", run_equal_counts)
    .internal()
    .attrs(&[Attribute::str_or("requirement", "the numbers must be equal,")])
    .message_attrs(&["requirement"])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::equal_counts))
    .operands(&[Operand::Data("part"), Operand::Data("count"), Operand::Data("got")])
    .reinterprets()
    .forwards(|operands, table| {
        let number = |operand: usize| operands.get(operand)?.value?.get(0).cloned();
        number(1).zip(number(2)).is_some_and(|(count, got)| table.same(&count, &got) == Some(true))
    })
    .shape_fn(|cx| {
        let part = cx.input(0).clone();
        cx.set_output(0, part);
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 1)?;
        Ok(dtypes[..1].to_vec())
    });

fn run_equal_counts(cx: &mut HostCx<'_>) -> Result<()> {
    let number =
        |operand: usize| -> Result<Option<i64>> { Ok(cx.input(operand)?.to_vec::<i64>()?.first().copied()) };
    let (count, got) = (number(1)?.unwrap_or(0), number(2)?.unwrap_or(0));
    if count == got {
        return cx.pass_on();
    }
    let message = format!("{} {count}, got {got}", cx.attrs().str("requirement"));
    Err(Error::new(ErrorKind::Guard, Phase::Run, message))
}
