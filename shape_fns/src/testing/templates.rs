//! Random operands drawn from templates, so that operands of an op often fit each other.
//!
//! A template lists operands, split by `;`. An operand is an optional dtype, dimensions, and the range from which its
//! elements are drawn. A letter is the same dimension wherever it occurs in the template, and `*b` is a list of 0 to 2
//! dimensions. At random, `?` or another dimension replaces a dimension, so that some operands do not fit.
//!
//! Attributes are split by `,`: `name=3`, `name=0..3`, `name=?` (a bool), `name=a|b` (one of the strings), `name=(1
//! 2)|(2 2)` (one of the lists).

use crate::testing::random::Random;
use crate::{Attr, Attrs};

/// Op types, operands, attributes, and the number of outputs. 0 outputs stand for the number in the registry.
type Template = (&'static str, &'static str, &'static str, usize);

#[rustfmt::skip]
const TEMPLATES: &[Template] = &[
    ("BandedTriangularSolve", "[*b, k, n]; [*b, n, m]", "", 0),
    ("BatchMatrixSolve MatrixSolve MatrixTriangularSolve BatchMatrixTriangularSolve CholeskyGrad BatchCholeskyGrad", "[*b, n, n]; [*b, n, n]", "", 0),
    ("BatchCholesky Cholesky BatchMatrixDeterminant MatrixDeterminant BatchMatrixInverse MatrixInverse MatrixExponential MatrixLogarithm MatrixSquareRoot LogMatrixDeterminant Lu BatchSelfAdjointEig SelfAdjointEig", "[*b, n, n]", "", 0),
    ("BatchSelfAdjointEigV2 SelfAdjointEigV2 Eig", "[*b, n, n]", "compute_v=?", 0),
    ("Qr", "[*b, m, n]", "full_matrices=?", 0),
    ("Svd BatchSvd", "[*b, m, n]", "full_matrices=?, compute_uv=?", 0),
    ("BatchMatrixSolveLs MatrixSolveLs", "[*b, m, n]; [*b, m, k]; []", "", 0),
    ("Cross", "[*b, 3]; [*b, 3]", "", 0),
    ("TridiagonalMatMul", "[*b, 1, n]; [*b, 1, n]; [*b, 1, n]; [*b, n, k]", "", 0),
    ("TridiagonalSolve", "[*b, 3, n]; [*b, n, k]", "", 0),
    ("Einsum", "[*b, m, k]; [*b, k, n]", "equation=...ij,...jk->...ik|...ij,...jk->ki...|...ii,...ij->...j", 1),
    ("FFT IFFT BatchFFT BatchIFFT FFT2D IFFT2D BatchFFT2D BatchIFFT2D", "[*b, m, n]", "", 0),
    ("FFT3D IFFT3D BatchFFT3D BatchIFFT3D", "[*b, m, n, k]", "", 0),
    ("RFFT IRFFT", "[*b, n]; [1] = 0..5", "", 0),
    ("RFFT2D IRFFT2D", "[*b, m, n]; [2] = 0..5", "", 0),
    ("RFFT3D IRFFT3D", "[*b, k, m, n]; [3] = 0..5", "", 0),
    ("FFTND RFFTND IRFFTND IFFTND", "[k, m, n]; [2] = 0..5; [2] = -1..1", "", 0),
    ("SparseMatMul", "[m, k]; [k, n]", "", 0),
    ("DenseToDenseSetOperation", "[*b, k, m]; [*b, k, n]", "", 0),
    ("DenseToSparseSetOperation", "[k, m]; i64 [n, 2]; [n]; i64 [2] = 0..4", "", 0),
    ("SparseToSparseSetOperation", "i64 [m, 2]; [m]; i64 [2] = 0..4; i64 [n, 2]; [n]; i64 [2] = 0..4", "", 0),
    ("DeserializeManySparse DeserializeSparse", "string [n, 3]", "", 0),
    ("SerializeManySparse SerializeSparse SparseReorder SparseSoftmax SetSize", "i64 [n, r]; [n]; i64 [r] = 0..4", "", 0),
    ("SparseAdd", "i64 [m, r]; [m]; i64 [r] = 0..4; i64 [n, r]; [n]; i64 [r]; []", "", 0),
    ("SparseSparseMaximum SparseSparseMinimum", "i64 [m, r]; [m]; i64 [r]; i64 [n, r]; [n]; i64 [r]", "", 0),
    ("SparseAddGrad", "[k]; i64 [m, r]; i64 [n, r]; i64 [k, r]", "", 0),
    ("SparseConcat", "i64 [m, 2]; i64 [n, 2]; [m]; [n]; i64 [2] = 0..4; i64 [2] = 0..4", "concat_dim=-2..1", 0),
    ("SparseCross SparseCrossHashed SparseCrossV2", "i64 [n, 2]; [n]; i64 [2]", "", 0),
    ("SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul", "i64 [n, 2]; [n]; i64 [2]; [m, k]", "", 0),
    ("SparseFillEmptyRows", "i64 [n, 2]; [n]; i64 [2] = 0..4; []", "", 0),
    ("SparseFillEmptyRowsGrad RaggedFillEmptyRowsGrad", "i64 [n]; [m]", "", 0),
    ("RaggedFillEmptyRows", "i64 [n]; [n]; i64 [] = 0..4; []", "", 0),
    ("SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse", "i64 [n, 3]; [n]; i64 [3] = 0..4; i32 [k] = -3..2", "keep_dims=?", 0),
    ("SparseReshape", "i64 [n, 2]; i64 [2] = 1..4; i64 [r] = -1..4", "", 0),
    ("SparseSlice", "i64 [n, r]; [n]; i64 [r] = 0..5; i64 [r] = 0..5; i64 [r] = 0..5", "", 0),
    ("SparseSliceGrad", "[m]; i64 [n, r]; i64 [r]; i64 [m, r]", "", 0),
    ("SparseSplit", "i64 []; i64 [n, r]; [n]; i64 [r] = 0..4", "num_split=2", 6),
    ("SparseTensorDenseAdd", "i64 [n, 2]; [n]; i64 [2] = 0..3; [m, k]", "", 0),
    ("SparseTensorDenseMatMul", "i64 [n, 2]; [n]; i64 [2] = 0..3; [m, k]", "adjoint_a=?, adjoint_b=?", 0),
    ("SparseToDense", "i64 [n, r]; i64 [r] = 0..4; [n]; []", "", 0),
    ("SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum", "[n, *a]; i32 [n]", "", 0),
    ("SegmentMaxV2 SegmentMinV2 SegmentProdV2 SegmentSumV2", "[n, *a]; i32 [n]; i32 [] = 0..4", "", 0),
    ("UnsortedSegmentJoin UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum", "[*b, *a]; i32 [*b]; i32 [] = 0..4", "", 0),
    ("SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum", "[m, *a]; i32 [n]; i32 [n]", "", 0),
    ("SparseSegmentMeanGrad SparseSegmentSqrtNGrad SparseSegmentSumGrad SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2 SparseSegmentSumGradV2 SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SparseSegmentSumWithNumSegments", "[m, *a]; i32 [n]; i32 [n]; i32 [] = 0..4", "", 0),
    ("Bincount DenseBincount", "i32 [m, n]; i32 [] = 0..4; [m, n]", "", 0),
    ("RaggedBincount", "i64 [n]; i32 [m]; i32 [] = 0..4; [m]", "", 0),
    ("SparseBincount", "i64 [n, r]; i32 [n]; i64 [r] = 0..4; i32 [] = 0..4; [n]", "", 0),
    ("HistogramFixedWidth", "[*a]; [2]; i32 [] = 0..4", "", 0),
    ("DenseCountSparseOutput", "i32 [*a]; [n]", "", 0),
    ("SparseCountSparseOutput", "i64 [n, r]; i32 [n]; i64 [r]; [n]", "", 0),
    ("RaggedCountSparseOutput", "i64 [n]; i32 [m]; [m]", "", 0),
    ("RaggedCross", "[n, k]; [n, m]", "", 0),
    ("RaggedGather", "i64 [n]; i64 [m]; [k, *a]; i32 [p, q]", "", 4),
    ("RaggedRange", "[n]; [n]; [n]", "", 0),
    ("RaggedTensorToSparse", "i64 [n]; i64 [m]; [k, *a]", "", 0),
    ("RaggedTensorToTensor", "i64 [3] = -1..4; [k, m]; []; i64 [n]", "row_partition_types=(ROW_SPLITS)", 0),
    ("AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler LogUniformCandidateSampler ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler", "i64 [n, 2]", "num_true=2, num_sampled=1..4", 0),
    ("ComputeAccidentalHits", "i64 [n, 2]; i64 [m]", "num_true=2", 0),
    ("Multinomial", "[m, n]; i32 [] = 0..4", "", 0),
    ("StatelessMultinomial", "[m, n]; i32 [] = 0..4; i64 [2]", "", 0),
    ("NonDeterministicInts RandomStandardNormal RandomUniform TruncatedNormal", "i32 [3] = 0..4", "", 0),
    ("RandomUniformInt", "i32 [2] = 0..4; i32 []; i32 []", "", 0),
    ("RandomGamma RandomPoisson RandomPoissonV2", "i32 [2] = 0..4; [*a]", "", 0),
    ("ParameterizedTruncatedNormal", "i32 [2] = 0..4; [n]; [n]; [n]; []", "", 0),
    ("RandomCrop", "[m, n, k]; i64 [2] = 0..4", "", 0),
    ("RandomIndexShuffle", "i32 [n]; i32 [n, 3]; i32 [n]", "", 0),
    ("SobolSample", "i32 [] = 0..4; i32 [] = 0..4; i32 []", "", 0),
    ("StatelessRandomGetAlg", "", "", 0),
    ("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg", "i64 [2]", "", 0),
    ("StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformFullInt StatelessTruncatedNormal", "i32 [2] = 0..4; i64 [2]", "", 0),
    ("StatelessRandomGammaV2 StatelessRandomPoisson", "i32 [2] = 0..4; i64 [2]; [n]", "", 0),
    ("StatelessRandomUniformInt", "i32 [2] = 0..4; i64 [2]; i32 []; i32 []", "", 0),
    ("StatelessRandomBinomial", "i32 [2] = 0..4; i64 [2]; [n]; [n]", "", 0),
    ("StatelessParameterizedTruncatedNormal", "i32 [2] = 0..4; i64 [2]; [n]; [n]; [n]; [n]", "", 0),
    ("StatelessRandomNormalV2 StatelessRandomUniformFullIntV2 StatelessRandomUniformV2 StatelessTruncatedNormalV2", "i32 [2] = 0..4; u64 [1]; u64 [2]; i32 []", "", 0),
    ("StatelessRandomGammaV3", "i32 [2] = 0..4; u64 [1]; u64 [2]; i32 []; [n]", "", 0),
    ("StatelessRandomUniformIntV2", "i32 [2] = 0..4; u64 [1]; u64 [2]; i32 []; i32 []; i32 []", "", 0),
    ("StatelessShuffle", "[n, *a]; u64 [1]; u64 [2]; i32 []", "", 0),
    ("DecodeCSV", "string [*a]; []; [1]", "", 2),
    ("DecodePaddedRaw", "string [*a]; i32 [] = 0..12", "out_type=i32|i64|u8", 0),
    ("Fingerprint", "[n, *a]; string []", "", 0),
    ("ReduceJoin", "string [m, n, k]; i32 [p] = -3..2", "keep_dims=?", 0),
    ("RegexFullMatch", "string [*a]; string []", "", 0),
    ("RegexReplace", "string [*a]; string []; string []", "", 0),
    ("StringFormat", "[*a]; [n]", "template=%s and %s", 0),
    ("StringJoin Betainc", "[*a]; [*a]; []", "", 0),
    ("AddN AccumulateNV2", "i64 [3] = -3..9; i64 [3] = -3..9; i64 [3] = -3..9", "", 0),
    ("StringNGrams UnicodeEncode", "string [n]; i64 [m]", "", 0),
    ("StringSplit StringSplitV2", "string [n]; string []", "", 0),
    ("Substr", "string [m, n]; i32 [n]; i32 [n]", "", 0),
    ("UnicodeDecode UnicodeDecodeWithOffsets", "string [*a]", "", 0),
    ("CTCBeamSearchDecoder", "[m, n, k]; i32 [n]", "top_paths=2", 7),
    ("CTCGreedyDecoder", "[m, n, k]; i32 [n]", "", 0),
    ("CTCLoss CTCLossV2", "[m, n, k]; i64 [p, 2]; i32 [p]; i32 [n]", "", 0),
    ("Abort ControlTrigger NoOp Timestamp", "", "", 0),
    ("Assert", "bool []; [n]", "", 0),
    ("PrintV2", "string []", "", 0),
    ("LoopCond", "bool []", "", 0),
    ("EnsureShape", "[m, n]", "shape=[2, ?]", 0),
    ("Merge RefMerge", "[m, n]; [m, n]; [m, k]", "", 0),
    ("ParallelConcat", "[1, m]; [1, m]", "shape=[2, ?]", 0),
    ("_ParallelConcatStart", "", "shape=[2, ?]", 0),
    ("_ParallelConcatUpdate", "[n, *a]; [1, *a]", "", 0),
    ("Print", "[*a]; [n]", "", 0),
    ("RefSelect", "i32 []; [m, n]; [m, n]", "", 0),
    ("RefSwitch Switch", "[*a]; bool []", "", 0),
    ("_SwitchN", "[*a]; i32 []", "", 3),
    ("AvgPool MaxPool MaxPoolWithArgmax", "[n, h, 5, c]", "ksize=(1 2 2 1)|(1 1 3 1)|(1 3 2 1), strides=(1 1 1 1)|(1 2 2 1)|(1 1 3 1), padding=SAME|VALID", 0),
    ("AvgPool3D MaxPool3D", "[n, 4, h, w, c]", "ksize=(1 2 2 1 1)|(1 1 1 2 1), strides=(1 1 1 1 1)|(1 2 1 2 1), padding=SAME|VALID", 0),
    ("AvgPoolGrad", "i32 [4] = 0..4; [n, h, w, c]", "", 0),
    ("AvgPool3DGrad", "i32 [5] = 0..4; [n, h, w, k, c]", "", 0),
    ("BatchNormWithGlobalNormalization", "[n, h, w, c]; [c]; [c]; [c]; [c]", "", 0),
    ("BatchNormWithGlobalNormalizationGrad", "[n, h, w, c]; [c]; [c]; [c]; [n, h, w, c]", "", 0),
    ("BiasAdd BiasAddV1", "[*a, n, c]; [c]", "", 0),
    ("BiasAddGrad", "[n, c, h]", "data_format=NHWC|NCHW", 0),
    ("Conv", "[n, h, 5, 4]; [2, k, 2, m]", "strides=(1 1 1 1)|(1 2 2 1), padding=SAME|VALID, groups=1..2", 0),
    ("Conv2D DepthwiseConv2dNative", "[n, h, 5, 4]; [2, k, 4, m]", "strides=(1 1 1 1)|(1 2 2 1)|(1 1 3 1), dilations=(1 1 1 1)|(1 2 1 1), padding=SAME|VALID", 0),
    ("Conv3D", "[n, h, 5, w, 4]; [2, k, 1, 4, m]", "strides=(1 1 1 1 1)|(1 2 2 1 1), padding=SAME|VALID", 0),
    ("Conv2DBackpropFilter DepthwiseConv2dNativeBackpropFilter", "[n, h, w, c]; i32 [4] = 0..4; [n, k, m, p]", "", 0),
    ("Conv2DBackpropInput DepthwiseConv2dNativeBackpropInput", "i32 [4] = 0..4; [h, w, c, m]; [n, h, w, m]", "", 0),
    ("Conv3DBackpropFilter Conv3DBackpropInput", "[n, h, w, k, c]; [h, w, k, c, m]; [n, h, w, k, m]", "", 0),
    ("Conv3DBackpropFilterV2", "[n, h, w, k, c]; i32 [5] = 0..4; [n, h, w, k, m]", "", 0),
    ("Conv3DBackpropInputV2", "i32 [5] = 0..4; [h, w, k, c, m]; [n, h, w, k, m]", "", 0),
    ("Dilation2D", "[n, h, 5, c]; [2, k, c]", "strides=(1 1 1 1)|(1 2 2 1), rates=(1 1 1 1)|(1 1 2 1), padding=SAME|VALID", 0),
    ("Dilation2DBackpropFilter Dilation2DBackpropInput", "[n, h, w, c]; [k, m, c]; [n, h, w, c]", "", 0),
    ("FractionalAvgPool FractionalMaxPool", "[n, h, w, c]", "pooling_ratio=(1.0 1.5 2.5 1.0)", 0),
    ("FractionalAvgPoolGrad", "i32 [4] = 0..4; [n, h, w, c]; [k]; [m]", "", 0),
    ("FractionalMaxPoolGrad", "[n, h, w, c]; [n, p, q, c]; [n, p, q, c]; [k]; [m]", "", 0),
    ("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", "[n, h, w, c]; [c]; [c]; [c]; [c]", "is_training=?", 0),
    ("FusedBatchNormGrad FusedBatchNormGradV2", "[n, h, w, c]; [n, h, w, c]; [c]; [c]; [c]", "", 0),
    ("FusedBatchNormGradV3", "[n, h, w, c]; [n, h, w, c]; [c]; [c]; [c]; [k]", "", 0),
    ("FusedPadConv2D", "[n, h, 5, 4]; i32 [4, 2] = 0..2; [2, k, 4, m]", "strides=(1 1 1 1)|(1 2 2 1), mode=REFLECT|SYMMETRIC, padding=SAME|VALID", 0),
    ("FusedResizeAndPadConv2D", "[n, h, 5, 4]; i32 [2] = 2..6; i32 [4, 2] = 0..2; [2, k, 4, m]", "strides=(1 1 1 1)|(1 2 2 1), mode=REFLECT|SYMMETRIC, padding=SAME|VALID", 0),
    ("_FusedConv2D _FusedDepthwiseConv2dNative", "[n, h, 5, 4]; [2, k, 4, m]; [m]", "strides=(1 1 1 1)|(1 2 2 1), padding=SAME|VALID", 0),
    ("_FusedMatMul", "[m, k]; [k, n]; [n]", "", 0),
    ("_FusedBatchNormEx", "[n, h, w, 4]; [4]; [4]; [4]; [4]; [n, h, w, 4]", "is_training=?", 0),
    ("IsotonicRegression", "[*a, n]", "", 0),
    ("NearestNeighbors", "[n, c]; [m, c]; i64 [] = 0..4", "", 0),
    ("InTopK", "[n, c]; i32 [n]", "k=2", 0),
    ("InTopKV2", "[n, c]; i32 [n]; i32 []", "", 0),
    ("LRN", "[n, h, w, c]", "", 0),
    ("LRNGrad", "[n, h, w, c]; [n, h, w, c]; [n, h, w, c]", "", 0),
    ("MaxPool3DGrad", "[n, h, w, k, c]; [n, h, w, k, c]; [n, h, w, k, c]", "", 0),
    ("MaxPool3DGradGrad", "[n, 4, h, w, c]; [n, 2, h, w, c]; [n, 4, h, w, c]", "ksize=(1 2 1 1 1), strides=(1 2 1 1 1), padding=SAME|VALID", 0),
    ("MaxPoolGrad MaxPoolGradWithArgmax", "[n, h, w, c]; [n, p, q, c]; [n, p, q, c]", "", 0),
    ("MaxPoolGradGrad", "[n, 4, h, c]; [n, 2, h, c]; [n, 4, h, c]", "ksize=(1 2 1 1), strides=(1 2 1 1), padding=SAME|VALID", 0),
    ("MaxPoolGradGradV2", "[n, 4, h, c]; [n, p, q, c]; [n, 4, h, c]; i32 [4] = 1..2; i32 [4] = 1..2", "padding=SAME", 0),
    ("MaxPoolGradGradWithArgmax", "[n, 4, h, c]; [n, 4, h, c]; i64 [n, 2, h, c]", "ksize=(1 2 1 1), strides=(1 2 1 1), padding=SAME|VALID", 0),
    ("MaxPoolGradV2", "[n, h, w, c]; [n, p, q, c]; [n, p, q, c]; i32 [4]; i32 [4]", "", 0),
    ("MaxPoolV2", "[n, h, 5, c]; i32 [4] = 1..2; i32 [4] = 1..2", "padding=SAME|VALID", 0),
    ("NthElement", "[*a, n]; i32 [] = 0..2", "", 0),
    ("SoftmaxCrossEntropyWithLogits", "[n, c]; [n, c]", "", 0),
    ("SparseSoftmaxCrossEntropyWithLogits", "[n, c]; i32 [n]", "", 0),
    ("ApproxTopK TopK", "[*a, n]", "k=0..3", 0),
    ("TopKV2", "[*a, n]; i32 [] = 0..3", "", 0),
    ("AdjustContrast", "[*a, h, w, c]; []; []; []", "", 0),
    ("AdjustContrastv2 AdjustHue AdjustSaturation", "[*a, h, w, c]; []", "", 0),
    ("CombinedNonMaxSuppression", "[b, n, 1, 4]; [b, n, c]; i32 [] = 0..4; i32 [] = 0..9; []; []", "pad_per_class=?", 0),
    ("CropAndResize", "[b, h, w, c]; [n, 4]; i32 [n]; i32 [2] = 0..4", "", 0),
    ("CropAndResizeGradBoxes", "[n, p, q, c]; [b, h, w, c]; [n, 4]; i32 [n]", "", 0),
    ("CropAndResizeGradImage", "[n, p, q, c]; [n, 4]; i32 [n]; i32 [4] = 0..4", "", 0),
    ("DrawBoundingBoxes", "[b, h, w, 3]; [b, n, 4]", "", 0),
    ("DrawBoundingBoxesV2", "[b, h, w, 3]; [b, n, 4]; [m, 3]", "", 0),
    ("ExtractGlimpse ExtractGlimpseV2", "[n, h, w, c]; i32 [2] = 0..4; [n, 2]", "", 0),
    ("ExtractImagePatches", "[n, h, 5, c]", "ksizes=(1 2 3 1)|(1 3 1 1), strides=(1 1 1 1)|(1 2 3 1), rates=(1 1 1 1)|(1 1 2 1), padding=SAME|VALID", 0),
    ("ExtractVolumePatches", "[n, h, 5, 4, c]", "ksizes=(1 2 3 1 1)|(1 3 1 2 1), strides=(1 1 1 1 1)|(1 2 3 1 1), padding=SAME|VALID", 0),
    ("HSVToRGB RGBToHSV", "[*a, 3]", "", 0),
    ("ImageProjectiveTransformV2", "[n, h, w, c]; [n, 8]; i32 [2] = 0..4", "", 0),
    ("ImageProjectiveTransformV3", "[n, h, w, c]; [n, 8]; i32 [2] = 0..4; []", "", 0),
    ("NonMaxSuppression", "[n, 4]; [n]; i32 [] = 0..4", "", 0),
    ("NonMaxSuppressionV2", "[n, 4]; [n]; i32 [] = 0..4; []", "", 0),
    ("NonMaxSuppressionV3 NonMaxSuppressionV4", "[n, 4]; [n]; i32 [] = 0..4; []; []", "pad_to_max_output_size=?", 0),
    ("NonMaxSuppressionV5", "[n, 4]; [n]; i32 [] = 0..4; []; []; []", "pad_to_max_output_size=?", 0),
    ("NonMaxSuppressionWithOverlaps", "[n, n]; [n]; i32 [] = 0..4; []; []", "", 0),
    ("ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor ResizeNearestNeighborGrad", "[n, h, w, c]; i32 [2] = 0..4", "", 0),
    ("ResizeBicubicGrad ResizeBilinearGrad", "[n, p, q, c]; [n, h, w, c]", "", 0),
    ("SampleDistortedBoundingBox", "i32 [3]; [b, n, 4]", "", 0),
    ("SampleDistortedBoundingBoxV2", "i32 [3]; [b, n, 4]; []", "", 0),
    ("StatelessSampleDistortedBoundingBox", "i32 [3]; [b, n, 4]; []; i64 [2]", "", 0),
    ("ScaleAndTranslate", "[n, h, w, c]; i32 [2] = 0..4; [2]; [2]", "", 0),
    ("ScaleAndTranslateGrad", "[n, p, q, c]; [n, h, w, c]; [2]; [2]", "", 0),
    ("Dequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV4 QuantizeV2", "[n, m, k]; [m]; [m]", "axis=1", 0),
    ("QuantizeAndDequantizeV3", "[n, m]; []; []; i32 []", "", 0),
    ("QuantizeAndDequantizeV4Grad", "[n, m]; [n, m]; [m]; [m]", "axis=1", 0),
    ("FakeQuantWithMinMaxVars QuantizeDownAndShrinkRange QuantizedRelu QuantizedRelu6 RequantizationRange", "[*a]; []; []", "", 0),
    ("FakeQuantWithMinMaxVarsGradient", "[*a]; [*a]; []; []", "", 0),
    ("FakeQuantWithMinMaxVarsPerChannel", "[*a, c]; [c]; [c]", "", 0),
    ("FakeQuantWithMinMaxVarsPerChannelGradient", "[*a, c]; [*a, c]; [c]; [c]", "", 0),
    ("QuantizedAdd QuantizedMul", "[*a, n]; [*a, n]; []; []; []; []", "", 0),
    ("QuantizedAvgPool QuantizedMaxPool", "[n, h, 5, c]; []; []", "ksize=(1 2 2 1), strides=(1 2 1 1), padding=SAME|VALID", 0),
    ("QuantizedBatchNormWithGlobalNormalization", "[n, h, w, c]; []; []; [c]; []; []; [c]; []; []; [c]; []; []; [c]; []; []", "", 0),
    ("QuantizedBiasAdd", "[n, c]; [c]; []; []; []; []", "", 0),
    ("QuantizedConcat", "i32 [] = -2..1; [n, m]; [n, m]; []; []; []; []", "", 0),
    ("QuantizedConv2D", "[n, h, 5, 4]; [2, k, 4, m]; []; []; []; []", "strides=(1 2 1 1), padding=SAME|VALID", 0),
    ("QuantizedInstanceNorm", "[n, h, w, c]; []; []", "", 0),
    ("QuantizedMatMul", "[m, k]; [k, n]; []; []; []; []", "", 0),
    ("QuantizedReluX", "[*a]; []; []; []", "", 0),
    ("QuantizedReshape", "[n, 4]; i32 [2] = -1..4; []; []", "", 0),
    ("QuantizedResizeBilinear", "[n, h, w, c]; i32 [2] = 0..4; []; []", "", 0),
    ("Requantize", "[*a]; []; []; []; []", "", 0),
    ("RequantizePerChannel", "[*a]; [c]; [c]; []; []", "", 0),
    ("RequantizationRangePerChannel", "[*a]; [c]; [c]", "", 0),
    ("UniformDequantize UniformQuantize", "[n, m, k]; [m]; [m]", "quantization_axis=1", 0),
    ("UniformQuantizedAdd", "[*a, n]; [*a, n]; []; []; []; []; []; []", "", 0),
    ("UniformQuantizedClipByValue", "[n, m]; [m]; [m]; [m]; [m]", "quantization_axis=1", 0),
    ("UniformQuantizedConvolution", "[n, 4, h, 5]; [m, 4, 2, k]; []; []; [m]; [m]; [m]; [m]", "padding=SAME|VALID, window_strides=(1 2)|(2 1), lhs_dilation=(1 1)|(2 1), rhs_quantization_axis=0, output_quantization_axis=1", 0),
    ("UniformQuantizedConvolutionHybrid", "[n, 4, h, 5]; [m, 4, 2, k]; []; []", "padding=SAME|VALID, window_strides=(1 2)|(2 1)", 0),
    ("UniformQuantizedDot", "[m, k]; [k, n]; []; []; [n]; [n]; []; []", "rhs_quantization_axis=1", 0),
    ("UniformQuantizedDotHybrid", "[m, k]; [k, n]; [n]; [n]", "rhs_quantization_axis=1", 0),
    ("UniformRequantize", "[n, m]; [m]; [m]; []; []", "input_quantization_axis=1", 0),
    ("BatchMatrixBandPart MatrixBandPart", "[*a, m, n]; i64 []; i64 []", "", 0),
    ("BatchMatrixDiag MatrixDiag Diag", "[*a, n]", "", 0),
    ("BatchMatrixDiagPart MatrixDiagPart", "[*a, m, n]", "", 0),
    ("BatchMatrixSetDiag MatrixSetDiag", "[*a, n, n]; [*a, n]", "", 0),
    ("BatchToSpace", "[4, h, w, c]; i32 [2, 2] = 0..2", "block_size=2", 0),
    ("BatchToSpaceND", "[6, h, w, c]; i32 [2] = 1..3; i32 [2, 2] = 0..2", "", 0),
    ("BroadcastArgs BroadcastGradientArgs", "i32 [2] = 1..2; i32 [k] = 1..2", "", 0),
    ("ConcatOffset", "i32 [] = -2..1; i32 [2] = 0..4; i32 [2] = 0..4", "", 2),
    ("Const", "", "value=[2, 3]", 0),
    ("DataFormatVecPermute", "i32 [4, *a]", "", 0),
    ("DepthToSpace", "[n, h, w, 8]", "block_size=2", 0),
    ("AudioSpectrogram", "[n, k]", "window_size=2..4, stride=1..3", 0),
    ("Mfcc", "[k, n, m]; i32 []", "", 0),
    ("BlockLSTM BlockLSTMV2", "i64 []; [m, n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]", "use_peephole=?", 0),
    ("LSTMBlockCell", "[n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]", "use_peephole=?", 0),
    ("GRUBlockCell", "[n, 3]; [n, 2]; [5, 4]; [5, 2]; [4]; [2]", "", 0),
    ("DiagPart", "[m, n, m, n]", "", 0),
    ("DynamicPartition", "[n, m, *a]; i32 [n, m]", "num_partitions=2", 2),
    ("DynamicStitch ParallelDynamicStitch", "i32 [2] = 0..4; i32 [n] = 0..4; [2, *a]; [n, *a]", "", 0),
    ("EditDistance", "i64 [n, 3]; [n]; i64 [3] = 0..4; i64 [m, 3]; [m]; i64 [3] = 0..4", "", 0),
    ("Empty", "i32 [2] = 0..4", "", 0),
    ("GatherNd", "i64 [4] = 0..9; i32 [n, 1] = 0..3", "", 0),
    ("InvertPermutation", "i32 [2] = 0..1", "", 0),
    ("LinSpace", "[]; []; i32 [] = 1..4", "", 0),
    ("ListDiff", "[n]; [m]", "", 0),
    ("LowerBound UpperBound", "[b, n]; [b, m]", "", 0),
    ("MatrixDiagV2 MatrixDiagV3", "[*a, 2, n]; i32 [2] = 0..1; i32 [] = -1..3; i32 [] = -1..3; []", "", 0),
    ("MatrixDiagPartV2 MatrixDiagPartV3", "[*a, m, n]; i32 [2] = -1..1; []", "", 0),
    ("MatrixSetDiagV2 MatrixSetDiagV3", "[*a, n, n]; [*a, n]; i32 [1] = 0..0", "", 0),
    ("MirrorPadGrad", "[4, n]; i32 [2, 2] = 0..2", "", 0),
    ("Placeholder PlaceholderV2", "", "shape=[2, 3]", 0),
    ("PlaceholderWithDefault", "[2, n]", "shape=[2, 3]", 0),
    ("ReverseSequence", "[n, m, *a]; i64 [m]", "seq_dim=0, batch_dim=1", 0),
    ("Roll", "[n, m]; i32 [k]; i32 [k] = -2..1", "", 0),
    ("ScatterNd", "i32 [m, 1]; [m, n]; i32 [2] = 0..4", "", 0),
    ("ScatterNdNonAliasingAdd TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate", "[k, *a]; i32 [m, 1]; [m, *a]", "", 0),
    ("SpaceToBatch", "[n, 4, w, c]; i32 [2, 2] = 0..2", "block_size=2", 0),
    ("SpaceToBatchND", "[n, 6, w, c]; i32 [2] = 1..3; i32 [2, 2] = 0..1", "", 0),
    ("SpaceToDepth", "[n, 4, w, c]", "block_size=2", 0),
    ("StridedSliceGrad", "i32 [3] = 0..4; i32 [3]; i32 [3]; i32 [3]; [m, n, k]", "", 0),
    ("UniqueV2 UniqueWithCountsV2", "[m, n]; i32 [1] = -2..1", "", 0),
    ("UnravelIndex", "i32 [*a]; i32 [n]", "", 0),
];

/// Draws operands and attributes of an op and returns them with the number of outputs of its template. Returns `None`
/// for an op without a template.
pub(crate) fn case(op: &str, r: &mut Random) -> Option<(Vec<String>, Attrs, usize)> {
    let (_, operands, attrs, outputs) =
        TEMPLATES.iter().find(|template| template.0.split(' ').any(|name| name == op))?;
    let mut bound: Vec<(&str, String)> = Vec::new();
    let operands = operands.split(';').map(str::trim).filter(|operand| !operand.is_empty());
    let operands = operands.map(|text| operand(text, &mut bound, r)).collect();
    let mut all = Attrs::new();
    let mut rest = *attrs;
    while let Some((name, value)) = rest.split_once('=') {
        // A shape contains commas, so it ends at its bracket.
        let end = if value.starts_with('[') { value.find(']').map(|end| end + 1) } else { value.find(", ") };
        // An equation contains commas too, so it must be the last attribute.
        let end = end.filter(|_| name.trim_start_matches(", ") != "equation").unwrap_or(value.len());
        all.insert(name.trim_start_matches(", ").to_owned(), attr(&value[..end], r));
        rest = &value[end..];
    }
    Some((operands, all, *outputs))
}

/// Draws the value of an attribute.
fn attr(text: &str, r: &mut Random) -> Attr {
    if text == "?" {
        return (r.below(2) == 1).into();
    }
    if text.starts_with('[') {
        return text.parse::<crate::TensorShape>().unwrap().into();
    }
    if text.starts_with('(') {
        let chosen = r.pick(&text.split('|').collect::<Vec<_>>()).trim_matches(['(', ')']).to_owned();
        let entries: Vec<&str> = chosen.split(' ').filter(|entry| !entry.is_empty()).collect();
        let ints: Option<Vec<i64>> = entries.iter().map(|entry| entry.parse().ok()).collect();
        let floats: Option<Vec<f64>> = entries.iter().map(|entry| entry.parse().ok()).collect();
        return match (ints, floats) {
            (Some(ints), _) => ints.into(),
            (_, Some(floats)) => floats.as_slice().into(),
            _ => Attr::Strs(entries.iter().map(|entry| (*entry).into()).collect()),
        };
    }
    if let Some((low, high)) =
        text.split_once("..").and_then(|(low, high)| low.parse::<i64>().ok().zip(high.parse::<i64>().ok()))
    {
        return r.between(low, high).into();
    }
    let chosen = r.pick(&text.split('|').collect::<Vec<_>>()).to_owned();
    match (chosen.parse::<i64>(), chosen.parse::<crate::DType>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(dtype)) => dtype.into(),
        _ => chosen.into(),
    }
}

/// Draws an operand. `bound` holds the dimensions that the letters of the template stand for so far.
fn operand<'t>(text: &'t str, bound: &mut Vec<(&'t str, String)>, r: &mut Random) -> String {
    let (shape, range) = match text.split_once(" = ") {
        Some((shape, range)) => (shape, range.split_once("..")),
        None => (text, None),
    };
    let (dtype, list) = shape.split_once('[').unwrap();
    let mut dims: Vec<String> = Vec::new();
    for dim in list.trim_end_matches(']').split(", ").filter(|dim| !dim.is_empty()) {
        if dim.parse::<i64>().is_ok() {
            dims.push(if r.below(12) == 0 { "?".into() } else { dim.into() });
            continue;
        }
        let text = match bound.iter().find(|(name, _)| *name == dim) {
            Some((_, text)) => text.clone(),
            None => {
                let count = if dim.starts_with('*') { r.below(3) } else { 1 };
                let text = (0..count).map(|_| r.dim()).collect::<Vec<_>>().join(", ");
                bound.push((dim, text.clone()));
                text
            }
        };
        dims.extend(text.split(", ").filter(|dim| !dim.is_empty()).map(|dim| match r.below(12) {
            0 => "?".to_owned(),
            1 if r.below(4) == 0 => r.dim(),
            _ => dim.to_owned(),
        }));
    }
    let shape = format!("{dtype}[{}]", dims.join(", "));
    let count = dims.iter().try_fold(1u64, |count, dim| Some(count * dim.parse::<u64>().ok()?));
    let (Some((low, high)), Some(count)) = (range, count) else { return shape };
    let (low, high) = (low.parse().unwrap(), high.parse().unwrap());
    let elements: Vec<String> = (0..count)
        .map(|_| match r.below(8) {
            0 => "?".to_owned(),
            1 => r.pick(&["n", "m", "2*n"]).to_owned(),
            _ => r.between(low, high).to_string(),
        })
        .collect();
    format!("{}{} = [{}]", if dtype.is_empty() { "i32 " } else { "" }, shape, elements.join(", "))
}
