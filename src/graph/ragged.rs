//! [`RaggedValue`]: a ragged tensor of a graph. It has flat values, and row partitions whose encodings are values of
//! the graph.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

use super::{Graph, Value, ValueIx};
use crate::dtype::type_text;
use crate::error::Result;
use crate::op::Body;
use crate::ragged::{FLAT_VALUES, ROW_SPLITS};

/// A row partition of a graph. Values of the graph hold its encodings.
#[derive(Clone)]
pub(crate) struct PartitionRecord {
    /// Equal for partitions whose row splits are known to be equal.
    pub identity: u32,
    /// The row splits, `[nrows + 1]`.
    pub splits: ValueIx,
    /// The length of every row of a uniform partition.
    pub uniform: Option<Dim>,
    /// The other encodings. An encoding is absent until an op needs it.
    pub encodings: Encodings,
}

/// Values of the graph that hold encodings of a row partition.
#[derive(Clone, Default)]
pub(crate) struct Encodings {
    /// The row of each value.
    pub rowids: Option<ValueIx>,
    /// The length of each row.
    pub lengths: Option<ValueIx>,
    /// The start of each row.
    pub starts: Option<ValueIx>,
    /// The end of each row.
    pub limits: Option<ValueIx>,
}

/// The partitions of a graph, and the lists of partitions that ragged values have.
#[derive(Default)]
pub(crate) struct Partitions {
    records: Vec<PartitionRecord>,
    /// For each ragged value: the indices of its partitions in `records`, outermost first.
    lists: Vec<Vec<u32>>,
    /// The identity of the partitions that were made from an encoding, by the encoding's name and the value that holds
    /// it.
    by_encoding: HashMap<(&'static str, ValueIx), u32>,
    /// The names of ragged values, by the indices of their lists.
    names: HashMap<u32, String>,
}

impl Partitions {
    /// Forgets every encoding whose value is `first` or a later one. Later nodes may get the indices of these values.
    pub(super) fn forget_values_from(&mut self, first: usize) {
        let is_kept = |value: &ValueIx| value.index() < first;
        for record in &mut self.records {
            let Encodings { rowids, lengths, starts, limits } = &mut record.encodings;
            for value in [rowids, lengths, starts, limits] {
                *value = value.filter(is_kept);
            }
        }
        self.by_encoding.retain(|(_, value), _| is_kept(value));
    }
}

/// A row partition of a graph: how the values of a [`RaggedValue`] are split into rows.
#[derive(Clone, Copy)]
pub struct RowPartitionValue<'g> {
    graph: &'g Graph,
    id: u32,
}

/// A ragged tensor of a graph: flat values and row partitions. A `RaggedValue` is a small handle and holds no data;
/// [`RaggedTensor`](crate::RaggedTensor) holds data.
///
/// An op on ragged values is a composite of ordinary ops: an elementwise op runs the dense op on the flat values.
///
#[doc = include_str!("ragged_members.md")]
#[doc = include_str!("ragged_manual.md")]
#[derive(Clone, Copy)]
#[must_use = "a run computes only values that are used; `let _ = x.named(..)` names a value without using it"]
pub struct RaggedValue<'g> {
    flat: Value<'g>,
    list: u32,
}

/// A dense or a ragged value.
#[derive(Clone, Copy, Debug)]
pub enum AnyValue<'g> {
    /// A value without partitions.
    Dense(Value<'g>),
    /// A value with at least one partition.
    Ragged(RaggedValue<'g>),
}

impl<'g> From<Value<'g>> for AnyValue<'g> {
    fn from(value: Value<'g>) -> AnyValue<'g> {
        AnyValue::Dense(value)
    }
}

impl<'g> From<RaggedValue<'g>> for AnyValue<'g> {
    fn from(value: RaggedValue<'g>) -> AnyValue<'g> {
        AnyValue::Ragged(value)
    }
}

impl<'g> RowPartitionValue<'g> {
    /// Adds a partition. Partitions made from the same value as the same encoding are known to be equal.
    pub(crate) fn new(
        encoding: &'static str,
        source: Value<'g>,
        splits: Value<'g>,
        uniform: Option<Dim>,
    ) -> Result<RowPartitionValue<'g>> {
        let graph = splits.graph();
        let (source, splits) = (source.index()?, splits.index()?);
        let mut data = graph.write();
        let partitions = &mut data.partitions;
        let id = partitions.records.len() as u32;
        let identity = *partitions.by_encoding.entry((encoding, source)).or_insert(id);
        let encodings = Encodings::default();
        partitions.records.push(PartitionRecord { identity, splits, uniform, encodings });
        drop(data);
        Ok(RowPartitionValue { graph, id })
    }

    /// Returns the partition with another value for its row splits. Both values have the same elements. The other
    /// encodings are computed from the new value.
    pub(crate) fn with_splits(self, splits: Value<'g>) -> Result<RowPartitionValue<'g>> {
        let (splits, encodings) = (splits.index()?, Encodings::default());
        let record = PartitionRecord { splits, encodings, ..self.record() };
        let records = &mut self.graph.write().partitions.records;
        records.push(record);
        Ok(RowPartitionValue { graph: self.graph, id: records.len() as u32 - 1 })
    }

    /// Returns the graph that the partition belongs to.
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    pub(crate) fn record(self) -> PartitionRecord {
        self.graph.read().partitions.records[self.id as usize].clone()
    }

    /// Keeps a value as an encoding of the partition.
    pub(crate) fn keep(
        self,
        encoding: fn(&mut Encodings) -> &mut Option<ValueIx>,
        value: Value<'g>,
    ) -> Result<()> {
        let value = value.index()?;
        *encoding(&mut self.graph.write().partitions.records[self.id as usize].encodings) = Some(value);
        Ok(())
    }

    /// Returns an encoding of the partition. `compute` makes the encoding when it is first needed, and again if the
    /// value of the encoding belongs to a closed branch or loop body.
    pub(crate) fn kept_or(
        self,
        encoding: fn(&mut Encodings) -> &mut Option<ValueIx>,
        compute: impl FnOnce() -> Result<Value<'g>>,
    ) -> Result<Value<'g>> {
        let kept = *encoding(&mut self.record().encodings);
        let is_open = |value: &ValueIx| !self.graph.read().values[value.index()].is_closed();
        if let Some(kept) = kept.filter(is_open) {
            return Ok(Value::new(self.graph, kept));
        }
        let value = compute()?;
        self.keep(encoding, value)?;
        Ok(value)
    }

    /// Returns whether both partitions are known to have equal row splits.
    pub fn is_same(self, other: RowPartitionValue<'g>) -> bool {
        self.record().identity == other.record().identity
    }

    /// Returns the row splits: row `i` holds the values from `splits[i]` up to `splits[i + 1]`. `[nrows + 1]`, i32 or
    /// i64.
    pub fn row_splits(self) -> Value<'g> {
        Value::new(self.graph, self.record().splits)
    }

    /// Returns the number of rows.
    pub fn nrows(self) -> Dim {
        let splits = self.row_splits().shape();
        splits.dim(0).map_or_else(|| Unknown.into_dim(), |count| count.clone() - 1)
    }

    /// Returns the length of every row if the partition is uniform.
    pub fn uniform_row_length(self) -> Option<Dim> {
        self.record().uniform
    }
}

impl<'g> RaggedValue<'g> {
    /// Makes a ragged value of at least one partition, outermost first. The value is poisoned if its parts belong to
    /// several graphs.
    pub(crate) fn new(flat: Value<'g>, partitions: &[RowPartitionValue<'g>]) -> RaggedValue<'g> {
        let graph = partitions[0].graph;
        let flat = match graph.check_operand(flat) {
            Ok(()) => flat,
            Err(error) => Value::poisoned(graph, error, flat.dtype()),
        };
        let mut data = flat.graph().write();
        let list = data.partitions.lists.len() as u32;
        data.partitions.lists.push(partitions.iter().map(|partition| partition.id).collect());
        drop(data);
        RaggedValue { flat, list }
    }

    /// Returns the graph that the value belongs to.
    pub fn graph(self) -> &'g Graph {
        self.flat.graph()
    }

    /// Returns the flat values: the elements without any partition.
    pub fn flat_values(self) -> Value<'g> {
        self.flat
    }

    /// Returns the dtype of the elements.
    pub fn dtype(self) -> DType {
        self.flat.dtype()
    }

    /// Returns the partitions, outermost first.
    pub fn partitions(self) -> Vec<RowPartitionValue<'g>> {
        let graph = self.graph();
        let ids = graph.read().partitions.lists[self.list as usize].clone();
        ids.into_iter().map(|id| RowPartitionValue { graph, id }).collect()
    }

    /// Returns the outermost partition.
    pub fn partition(self) -> RowPartitionValue<'g> {
        self.partitions()[0]
    }

    /// Returns the values that the outermost partition splits into rows.
    pub fn values(self) -> AnyValue<'g> {
        AnyValue::of(self.flat, &self.partitions()[1..])
    }

    /// Returns the number of partitions.
    pub fn ragged_rank(self) -> usize {
        self.graph().read().partitions.lists[self.list as usize].len()
    }

    /// Names the nodes that made the parts of this value, as the parts of an output are named: `name/flat_values` and,
    /// for each partition, `name/row_splits/0`, `name/row_splits/1`, …. An output to which the caller of
    /// [`Graph::compile`] gives no name has this name.
    ///
    /// An input keeps its name. Row splits that have a name keep it too, because values that are computed from one
    /// another share their row splits. Adds no op. As [`Value::named`] for a dense value.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let prices = g.ragged_input("prices", DType::F32, "users", shape![])?;
    /// let doubled = (prices * 2.0).ok()?.named("doubled");
    /// assert!(g.to_string().contains("// doubled/flat_values"));
    /// let results = g.compile(doubled)?.feed("prices", &ragged![[1.0f32, 2.0], []]).run()?;
    /// assert_eq!(results.ragged("doubled")?, ragged![[2.0f32, 4.0], []]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn named(self, name: impl AsRef<str>) -> RaggedValue<'g> {
        let name = name.as_ref();
        let graph = self.graph();
        let is_input = |value: Value<'g>| {
            let is_input = |index| matches!(graph.read().node_of(index).op.body, Body::Input);
            value.index().is_ok_and(is_input)
        };
        if !is_input(self.flat) {
            let _ = self.flat.named(format!("{name}{FLAT_VALUES}"));
        }
        for (number, rows) in self.partitions().into_iter().enumerate() {
            let splits = rows.row_splits();
            let is_named = |index| graph.read().node_of(index).own_name().is_some();
            if !splits.index().is_ok_and(is_named) {
                let _ = splits.named(format!("{name}{ROW_SPLITS}{number}"));
            }
        }
        graph.write().partitions.names.insert(self.list, name.to_string());
        self
    }

    /// Returns the name that [`RaggedValue::named`] gave.
    pub(crate) fn name(self) -> Option<String> {
        self.graph().read().partitions.names.get(&self.list).cloned()
    }

    /// Returns the shape as far as it is known now: a ragged axis is unknown, a uniform axis is known.
    pub fn shape(self) -> TensorShape {
        let flat = self.flat.shape();
        let Some(inner) = flat.dims() else { return TensorShape::unranked() };
        let partitions = self.partitions();
        let axes =
            partitions.iter().map(|rows| rows.uniform_row_length().unwrap_or_else(|| Unknown.into_dim()));
        let inner = inner.iter().skip(1).cloned();
        TensorShape::new(std::iter::once(partitions[0].nrows()).chain(axes).chain(inner))
    }

    /// Returns the shape as text in which each ragged axis has a name: `[2, (r0), 3]`.
    pub fn shape_text(self) -> String {
        let shape = self.shape();
        let Some(dims) = shape.dims() else { return shape.to_string() };
        let partitions = self.partitions();
        let mut ragged = 0;
        let names: Vec<String> = dims
            .iter()
            .enumerate()
            .map(|(axis, dim)| {
                let partition = axis.checked_sub(1).and_then(|index| partitions.get(index));
                match partition {
                    Some(partition) if partition.uniform_row_length().is_none() => {
                        ragged += 1;
                        format!("(r{})", ragged - 1)
                    }
                    _ => dim.to_string(),
                }
            })
            .collect();
        format!("[{}]", names.join(", "))
    }
}

impl<'g> AnyValue<'g> {
    /// Makes a dense value if there are no partitions.
    pub(crate) fn of(flat: Value<'g>, partitions: &[RowPartitionValue<'g>]) -> AnyValue<'g> {
        match partitions {
            [] => AnyValue::Dense(flat),
            partitions => AnyValue::Ragged(RaggedValue::new(flat, partitions)),
        }
    }

    /// Returns the flat values, which are the value itself if it is dense.
    pub fn flat_values(self) -> Value<'g> {
        match self {
            AnyValue::Dense(value) => value,
            AnyValue::Ragged(value) => value.flat,
        }
    }

    /// Returns the partitions, outermost first; none for a dense value.
    pub fn partitions(self) -> Vec<RowPartitionValue<'g>> {
        match self {
            AnyValue::Dense(_) => Vec::new(),
            AnyValue::Ragged(value) => value.partitions(),
        }
    }

    /// Returns the dense value.
    ///
    /// # Errors
    /// The value is ragged.
    #[track_caller]
    pub fn dense(self) -> Result<Value<'g>> {
        match self {
            AnyValue::Dense(value) => Ok(value),
            AnyValue::Ragged(value) => Err(crate::error::Error::new(
                crate::error::ErrorKind::Shape,
                crate::error::Phase::Build,
                format!("the value must be dense, got a ragged value {}", value.shape_text()),
            )
            .with_help("use to_tensor, which pads the rows")
            .or_at(Location::caller())),
        }
    }

    /// Returns the ragged value.
    ///
    /// # Errors
    /// The value is dense.
    #[track_caller]
    pub fn ragged(self) -> Result<RaggedValue<'g>> {
        match self {
            AnyValue::Ragged(value) => Ok(value),
            AnyValue::Dense(value) => Err(crate::error::Error::new(
                crate::error::ErrorKind::Shape,
                crate::error::Phase::Build,
                format!(
                    "the value must be ragged, got a dense value {}",
                    type_text(value.dtype(), &value.shape())
                ),
            )
            .with_help("use RaggedValue::from_tensor")
            .or_at(Location::caller())),
        }
    }
}

impl fmt::Debug for RaggedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} as {}{}", self.flat, self.dtype(), self.shape_text())
    }
}

impl fmt::Debug for RowPartitionValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows of {:?}", self.row_splits())
    }
}
