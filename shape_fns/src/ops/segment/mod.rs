//! Shape functions of segment reductions (rows of a tensor reduced by segment id), and of counts.

mod count;
mod sorted;
mod sparse;
mod unsorted;

pub use count::{
    bincount, count_dense, count_ragged, count_sparse, dense_bincount, histogram, ragged_bincount,
    sparse_bincount,
};
pub use sorted::segment;
pub use sparse::{sparse_segment, sparse_segment_grad, sparse_segment_of};
pub use unsorted::unsorted_segment;

use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("Bincount", &["arr", "size", "weights"], bincount),
    row("DenseBincount", &["input", "size", "weights"], dense_bincount),
    row("DenseCountSparseOutput", &["values", "weights"], count_dense).outputs(Some(3)),
    row("HistogramFixedWidth", &["values", "value_range", "nbins"], histogram),
    row("RaggedBincount", &["splits", "values", "size", "weights"], ragged_bincount),
    row("RaggedCountSparseOutput", &["splits", "values", "weights"], count_ragged).outputs(Some(3)),
    row("SegmentMax", &["data", "segment_ids"], segment),
    row("SegmentMaxV2", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("SegmentMean", &["data", "segment_ids"], segment),
    row("SegmentMin", &["data", "segment_ids"], segment),
    row("SegmentMinV2", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("SegmentProd", &["data", "segment_ids"], segment),
    row("SegmentProdV2", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("SegmentSum", &["data", "segment_ids"], segment),
    row("SegmentSumV2", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("SparseBincount", &["indices", "values", "dense_shape", "size", "weights"], sparse_bincount),
    row("SparseCountSparseOutput", &["indices", "values", "dense_shape", "weights"], count_sparse).outputs(Some(3)),
    row("SparseSegmentMean", &["data", "indices", "segment_ids"], sparse_segment),
    row("SparseSegmentMeanGrad", &["grad", "indices", "segment_ids", "output_dim0"], sparse_segment_of),
    row("SparseSegmentMeanGradV2", &["grad", "indices", "segment_ids", "dense_output_dim0"], sparse_segment_grad).outputs(Some(2)),
    row("SparseSegmentMeanWithNumSegments", &["data", "indices", "segment_ids", "num_segments"], sparse_segment_of),
    row("SparseSegmentSqrtN", &["data", "indices", "segment_ids"], sparse_segment),
    row("SparseSegmentSqrtNGrad", &["grad", "indices", "segment_ids", "output_dim0"], sparse_segment_of),
    row("SparseSegmentSqrtNGradV2", &["grad", "indices", "segment_ids", "dense_output_dim0"], sparse_segment_grad).outputs(Some(2)),
    row("SparseSegmentSqrtNWithNumSegments", &["data", "indices", "segment_ids", "num_segments"], sparse_segment_of),
    row("SparseSegmentSum", &["data", "indices", "segment_ids"], sparse_segment),
    row("SparseSegmentSumGrad", &["grad", "indices", "segment_ids", "output_dim0"], sparse_segment_of),
    row("SparseSegmentSumGradV2", &["grad", "indices", "segment_ids", "dense_output_dim0"], sparse_segment_grad).outputs(Some(2)),
    row("SparseSegmentSumWithNumSegments", &["data", "indices", "segment_ids", "num_segments"], sparse_segment_of),
    row("UnsortedSegmentJoin", &["inputs", "segment_ids", "num_segments"], unsorted_segment),
    row("UnsortedSegmentMax", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("UnsortedSegmentMin", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("UnsortedSegmentProd", &["data", "segment_ids", "num_segments"], unsorted_segment),
    row("UnsortedSegmentSum", &["data", "segment_ids", "num_segments"], unsorted_segment),
];
