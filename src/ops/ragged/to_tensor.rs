//! `ragged_to_tensor`: a ragged tensor as a padded dense one.

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, Dim, counted};

use super::errors::refuse;
use super::numbers::dim_value;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoShapeArg, Param, RaggedValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::concat;
use crate::ops::host_params::param_ints;
use crate::ops::row_major::RowMajor;
use crate::ragged::{
    PaddedCopy, RowPartition, broadcast_default, rows_of_rowids, splits_of_rowids, splits_tensor,
};
use crate::tensor::{Tensor, TensorView};

impl<'g> RaggedValue<'g> {
    /// Returns a dense value. Short rows end with zeros, `false` or empty strings. Runs on the host.
    ///
    /// `[n, (r), ..] -> [n, ?, ..]`, where `?` is the length of the longest row. A uniform axis keeps its size, also
    /// without rows. As TensorFlow's `RaggedTensorToTensor`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[9, 8, 7], [], [6, 5], [4]])?;
    /// let [dense] = g.compile(rt.to_tensor()?)?.run(&[])?;
    /// assert_eq!(dense, Tensor::from([[9, 8, 7], [0, 0, 0], [6, 5, 0], [4, 0, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The flat values have an unknown rank.
    #[track_caller]
    pub fn to_tensor(self) -> Result<Value<'g>> {
        self.in_call("to_tensor", || {
            let zero = Tensor::zeros(self.dtype(), &[])?;
            self.to_tensor_with(&zero, -1)
        })
    }

    /// Returns a dense value. Short rows end with `default`, a scalar or a value that broadcasts to the inner axes.
    /// `sizes` has a size for each axis; longer rows are cut. A size of -1, or an unknown size such as `?`, stands for
    /// the natural size. One -1 alone, or no size, stands for all natural sizes.
    ///
    /// The natural size is the number of rows along axis 0, the length of the longest row along a ragged axis, the row
    /// length along a uniform axis, and the size of an inner axis. Sizes are a list of integers or dimensions, a
    /// [`shape!`](crate::shape!), or a value i32 or i64.
    ///
    /// As [`RaggedValue::to_tensor`], but for the default and the sizes.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[9, 8, 7], [], [4]])?;
    /// let (cut, padded) = (rt.to_tensor_with(0, [-1, 2])?, rt.to_tensor_with(-1, shape![4, ?])?);
    /// let [cut, padded] = g.compile([cut, padded])?.run(&[])?;
    /// assert_eq!(cut, Tensor::from([[9, 8], [0, 0], [4, 0]]));
    /// assert_eq!(padded, Tensor::from([[9, 8, 7], [-1, -1, -1], [4, -1, -1], [-1, -1, -1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `default` has another dtype, `sizes` has another length than the rank, a size is less than -1, or a size of an
    /// inner axis differs. If this is not known now, the run fails.
    #[track_caller]
    pub fn to_tensor_with(
        self,
        default: impl IntoOperand<'g>,
        sizes: impl IntoShapeArg<'g>,
    ) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        self.in_call("to_tensor_with", || {
            let sizes = match sizes.into_shape_arg() {
                Param::Elements(sizes) => self.known_sizes(sizes.elements())?,
                Param::Value(sizes) => self.with_uniform_sizes(sizes)?,
                Param::Refused(message) => return Err(refuse(self.graph(), ErrorKind::Shape, message)),
            };
            let default = default.into_operand(self.flat_values(), location);
            let splits = self.nested_row_splits();
            let types = vec![std::sync::Arc::from("ROW_SPLITS"); splits.len()];
            let call = self.graph().op(&DEF).data(sizes).data(self.flat_values());
            let call = call.data(default).data_all(&splits);
            call.attr("row_partition_types", Attr::Strs(types.into())).finish()
        })
    }

    /// Returns the sizes of a dense tensor, where the row lengths of uniform partitions take the place of -1.
    fn known_sizes(self, given: &[Dim]) -> Result<Value<'g>> {
        let (graph, rank) = (self.graph(), super::reduce::rank_of(self)?);
        let is_natural = |size: &Dim| *size == -1 || size.as_symbol().is_some_and(|symbol| symbol.is_free());
        let given = match given {
            [] => vec![Dim::known(-1); rank],
            [size] if is_natural(size) => vec![size.clone(); rank],
            given => given.to_vec(),
        };
        if given.len() != rank {
            let message = format!(
                "there must be one size for each of {rank}, got {}",
                given.len(),
                rank = counted(rank, "axis")
            );
            return Err(refuse(graph, ErrorKind::Shape, message));
        }
        let partitions = self.partitions();
        // Row splits without rows do not say how long the rows of a uniform partition are.
        let uniform = |axis: usize| partitions.get(axis.checked_sub(1)?)?.uniform_row_length();
        let sizes: Vec<Dim> = given
            .into_iter()
            .enumerate()
            .map(|(axis, size)| match is_natural(&size) {
                true => uniform(axis).unwrap_or_else(|| Dim::known(-1)),
                false => size,
            })
            .collect();
        if let Some(known) = sizes.iter().map(Dim::as_known).collect::<Option<Vec<i64>>>() {
            return graph.constant(known);
        }
        let size = |size: Dim| match size.as_known() {
            Some(known) => graph.constant([known]),
            None => dim_value(graph, size)?.reshape([1i64]),
        };
        concat(&sizes.into_iter().map(size).collect::<Result<Vec<Value<'g>>>>()?, 0)
    }

    /// Returns sizes of a run, where the row lengths of uniform partitions take the place of -1.
    fn with_uniform_sizes(self, sizes: Value<'g>) -> Result<Value<'g>> {
        if self.partitions().into_iter().all(|rows| rows.uniform_row_length().is_none()) {
            return Ok(sizes);
        }
        let natural = self.known_sizes(&[])?.cast(sizes.dtype())?;
        let is_natural = sizes.equal(-1)?;
        if sizes.shape().rank() == Some(0) {
            return natural.checked(is_natural, "one size must be -1, which stands for all natural sizes");
        }
        is_natural.select(natural, sizes)
    }
}

/// Attribute `row_partition_types` says what each partition holds: `ROW_SPLITS`, `VALUE_ROWIDS`, or `FIRST_DIM_SIZE`
/// before the first `VALUE_ROWIDS`.
pub(crate) static DEF: OpDef = OpDef::host("ragged_to_tensor", run)
    .attrs(&[Attribute::strs("row_partition_types")])
    .operands(&[
        Operand::Data("shape"),
        Operand::Data("values"),
        Operand::Data("default_value"),
        Operand::Variadic("row_partition_tensors.."),
    ])
    .shape_fn(shapeflow_shape_fns::ragged::ragged_to_dense)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("RaggedTensorToTensor")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_indices(dtypes.get(..1).unwrap_or_default(), 0)?;
    let values = dtype::common(dtypes, 1, 3, dtype::Class::Any)?;
    for &partition in dtypes.get(3..).unwrap_or_default() {
        dtype::check_indices(&[partition], 0)?;
    }
    Ok(vec![values])
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Guard, Phase::Run, message)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let types = cx.attrs().strs("row_partition_types");
    let (flat, default) = (RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?);
    let flat = flat.view();
    let mut tensors = Vec::new();
    for operand in 3..cx.inputs() {
        tensors.push(cx.input(operand)?.to_tensor()?);
    }
    let partitions = partitions(&types, &tensors, flat.sizes()[0])?;
    let Some(outer) = partitions.first() else {
        return Err(wrong("row_partition_types must name a partition, got none".to_string()));
    };
    let natural = std::iter::once(outer.nrows()).chain(partitions.iter().map(RowPartition::longest_row));
    let mut sizes: Vec<usize> = natural.chain(flat.sizes()[1..].iter().copied()).collect();
    let rank = sizes.len();
    for (axis, (size, given)) in sizes.iter_mut().zip(given_sizes(cx, rank)?).enumerate() {
        let Ok(given) = usize::try_from(given) else { continue };
        if axis > partitions.len() && given != *size {
            return Err(wrong(format!(
                "the size of inner axis {axis} must be the values' size, {size}, got {given}"
            )));
        }
        *size = given;
    }
    let default = broadcast_default(default.view(), flat.clone())?;
    let dense = PaddedCopy { flat, partitions: &partitions, sizes: &sizes }.run(default.view())?;
    cx.set_output(0, dense)
}

/// Reads operand `shape`: a list with a size for each of `rank` axes, where -1 stands for the natural size. The scalar
/// -1 stands for the natural size of each axis.
fn given_sizes(cx: &HostCx<'_>, rank: usize) -> Result<Vec<i64>> {
    let (given, is_scalar) =
        (param_ints(cx, "shape", 0)?.unwrap_or_default(), cx.input(0)?.sizes().is_empty());
    if is_scalar && given == [-1] {
        return Ok(vec![-1; rank]);
    }
    if is_scalar || given.len() != rank {
        let got = if is_scalar { format!("the scalar {}", given[0]) } else { format!("{given:?}") };
        return Err(wrong(format!(
            "shape must be a scalar -1 or have {rank}, got {got}",
            rank = counted(rank, "size")
        )));
    }
    match given.iter().find(|size| **size < -1) {
        Some(size) => Err(wrong(format!("a size of shape must be at least -1, got {size}"))),
        None => Ok(given),
    }
}

/// Reads the partitions, the innermost first, because the number of rows of a partition is the number of values of the
/// partition before it.
fn partitions(types: &[&str], tensors: &[Tensor], nvals: usize) -> Result<Vec<RowPartition>> {
    let mut partitions = Vec::new();
    let mut nvals = nvals;
    for (index, kind) in types.iter().enumerate().rev() {
        let Some(tensor) = tensors.get(index) else {
            return Err(wrong(format!(
                "there must be {}, got {}",
                counted(types.len(), "partition"),
                tensors.len()
            )));
        };
        let partition = match *kind {
            "FIRST_DIM_SIZE" if index == 0 => continue,
            "ROW_SPLITS" => RowPartition::from_row_splits(tensor, nvals)?,
            "VALUE_ROWIDS" => {
                let nrows = match (index, types.first().copied()) {
                    (1, Some("FIRST_DIM_SIZE")) => Some(first_dim_size(&tensors[0])?),
                    _ => outer_values(types, tensors, index)?,
                };
                rowids_partition(tensor.view(), nrows, nvals)?
            }
            other => {
                return Err(wrong(format!(
                    "a partition type must be ROW_SPLITS or VALUE_ROWIDS, got {other:?}"
                )));
            }
        };
        nvals = partition.nrows();
        partitions.insert(0, partition);
    }
    Ok(partitions)
}

/// Returns the number of values of partition `index - 1`, if this partition exists and its encoding gives the number.
fn outer_values(types: &[&str], tensors: &[Tensor], index: usize) -> Result<Option<usize>> {
    let Some(before) = index.checked_sub(1) else { return Ok(None) };
    let tensor = &tensors[before];
    Ok(match types[before] {
        "VALUE_ROWIDS" => Some(tensor.len()),
        _ => match tensor.dtype() {
            DType::I32 => tensor.as_slice::<i32>()?.last().and_then(|&last| usize::try_from(last).ok()),
            _ => tensor.as_slice::<i64>()?.last().and_then(|&last| usize::try_from(last).ok()),
        },
    })
}

fn first_dim_size(tensor: &Tensor) -> Result<usize> {
    let size = match tensor.dtype() {
        DType::I32 => i64::from(tensor.item::<i32>()?),
        _ => tensor.item::<i64>()?,
    };
    usize::try_from(size).map_err(|_| wrong(format!("the number of rows must not be negative, got {size}")))
}

fn rowids_partition(rowids: TensorView<'_>, nrows: Option<usize>, nvals: usize) -> Result<RowPartition> {
    if rowids.len() != nvals {
        return Err(wrong(format!(
            "value_rowids must have one id for each of {nvals}, got {}",
            rowids.len(),
            nvals = counted(nvals, "value")
        )));
    }
    let splits = match rowids.dtype() {
        DType::I32 => {
            let ids = rowids.as_slice::<i32>()?;
            splits_of_rowids(ids, nrows.map_or_else(|| rows_of_rowids(ids), Ok)?)?
        }
        _ => {
            let ids = rowids.as_slice::<i64>()?;
            splits_of_rowids(ids, nrows.map_or_else(|| rows_of_rowids(ids), Ok)?)?
        }
    };
    RowPartition::from_row_splits(splits_tensor(rowids.dtype(), splits.into_iter())?, nvals)
}
