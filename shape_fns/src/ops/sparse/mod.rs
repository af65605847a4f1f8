//! Shape functions of sparse tensors. A sparse tensor is three operands: `indices[nnz, rank]`, `values[nnz]` and
//! `shape[rank]`.

mod add;
mod concat;
mod cross;
mod dense;
mod operand;
mod reduce;
mod reshape;
mod rows;
mod serialize;
mod set;
mod slice;
mod split;

pub use add::{add, add_grad, elementwise, elementwise_with_dense, softmax};
pub use concat::concat;
pub use cross::cross;
pub use dense::{add_dense, matmul_dense, to_dense};
pub(crate) use operand::set_sparse_rows;
pub(crate) use reduce::without_axes;
pub use reduce::{reduce, reduce_sparse};
pub use reshape::{reorder, reshape};
pub use rows::{fill_empty_rows, fill_empty_rows_grad};
pub use serialize::{deserialize, deserialize_many, serialize, serialize_many};
pub use set::{dense_to_dense_set, dense_to_sparse_set, set_size, sparse_to_sparse_set};
pub use slice::{slice, slice_grad};
pub use split::split;

use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("DenseToDenseSetOperation", &["set1", "set2"], dense_to_dense_set).outputs(Some(3)),
    row("DenseToSparseSetOperation", &["set1", "set2_indices", "set2_values", "set2_shape"], dense_to_sparse_set).outputs(Some(3)),
    row("DeserializeManySparse", &["serialized_sparse"], deserialize_many).outputs(Some(3)),
    row("DeserializeSparse", &["serialized_sparse"], deserialize).outputs(Some(3)),
    row("SerializeManySparse", &["sparse_indices", "sparse_values", "sparse_shape"], serialize_many),
    row("SerializeSparse", &["sparse_indices", "sparse_values", "sparse_shape"], serialize),
    row("SetSize", &["set_indices", "set_values", "set_shape"], set_size),
    row("SparseAdd", &["a_indices", "a_values", "a_shape", "b_indices", "b_values", "b_shape", "thresh"], add).outputs(Some(3)),
    row("SparseAddGrad", &["backprop_val_grad", "a_indices", "b_indices", "sum_indices"], add_grad).outputs(Some(2)),
    row("SparseConcat", &["operands.."], concat).outputs(Some(3)),
    row("SparseCross", &["operands.."], cross).outputs(Some(3)),
    row("SparseCrossHashed", &["operands..", "num_buckets", "strong_hash", "salt"], cross).outputs(Some(3)),
    row("SparseCrossV2", &["operands..", "sep"], cross).outputs(Some(3)),
    row("SparseDenseCwiseAdd", &["sp_indices", "sp_values", "sp_shape", "dense"], elementwise_with_dense),
    row("SparseDenseCwiseDiv", &["sp_indices", "sp_values", "sp_shape", "dense"], elementwise_with_dense),
    row("SparseDenseCwiseMul", &["sp_indices", "sp_values", "sp_shape", "dense"], elementwise_with_dense),
    row("SparseFillEmptyRows", &["indices", "values", "dense_shape", "default_value"], fill_empty_rows).outputs(Some(4)),
    row("SparseFillEmptyRowsGrad", &["reverse_index_map", "grad_values"], fill_empty_rows_grad).outputs(Some(2)),
    row("SparseReduceMax", &["input_indices", "input_values", "input_shape", "reduction_axes"], reduce),
    row("SparseReduceMaxSparse", &["input_indices", "input_values", "input_shape", "reduction_axes"], reduce_sparse).outputs(Some(3)),
    row("SparseReduceSum", &["input_indices", "input_values", "input_shape", "reduction_axes"], reduce),
    row("SparseReduceSumSparse", &["input_indices", "input_values", "input_shape", "reduction_axes"], reduce_sparse).outputs(Some(3)),
    row("SparseReorder", &["input_indices", "input_values", "input_shape"], reorder).outputs(Some(2)),
    row("SparseReshape", &["input_indices", "input_shape", "new_shape"], reshape).outputs(Some(2)),
    row("SparseSlice", &["indices", "values", "shape", "start", "size"], slice).outputs(Some(3)),
    row("SparseSliceGrad", &["backprop_val_grad", "input_indices", "input_start", "output_indices"], slice_grad),
    row("SparseSoftmax", &["sp_indices", "sp_values", "sp_shape"], softmax),
    row("SparseSparseMaximum", &["a_indices", "a_values", "a_shape", "b_indices", "b_values", "b_shape"], elementwise).outputs(Some(2)),
    row("SparseSparseMinimum", &["a_indices", "a_values", "a_shape", "b_indices", "b_values", "b_shape"], elementwise).outputs(Some(2)),
    row("SparseSplit", &["split_dim", "indices", "values", "shape"], split).outputs(None),
    row("SparseTensorDenseAdd", &["a_indices", "a_values", "a_shape", "b"], add_dense),
    row("SparseTensorDenseMatMul", &["a_indices", "a_values", "a_shape", "b"], matmul_dense),
    row("SparseToDense", &["sparse_indices", "output_shape", "sparse_values", "default_value"], to_dense),
    row("SparseToSparseSetOperation", &["set1_indices", "set1_values", "set1_shape", "set2_indices", "set2_values", "set2_shape"], sparse_to_sparse_set).outputs(Some(3)),
];
