#![doc = include_str!("../README.md")]

pub(crate) mod codegen;
pub(crate) mod compile;
mod control;
mod dtype;
mod dump;
mod error;
mod eval;
pub(crate) mod exec;
pub mod expr;
mod graph;
pub mod guide;
#[cfg(any(feature = "graphdef", feature = "npz", feature = "safetensors"))]
pub mod interchange;
pub(crate) mod lower;
mod nearest;
mod op;
mod ops;
mod passes;
mod ragged;
pub(crate) mod runtime;
mod tensor;
pub(crate) mod tiles;

pub use shapeflow_shape_fns as shape_fns;
pub use shapeflow_shape_fns::{
    Attr, Attribute, Attrs, DType, Dim, InferenceContext, IntoDim, ShapeError, ShapeFn, Sizes, TensorShape,
    Unknown, shape,
};

pub use codegen::Isa;
pub use compile::{Backend, CompileOptions, IntoOutputs};
pub use control::LoopOptions;
pub use dump::{Snapshot, StageKind, StageSink, Trace};
pub use error::{Error, ErrorKind, Phase, Result};
pub use exec::{BoundRun, Executable, Feed, Feeds, Port, PortIndex, RegionStats, Results, Runner, Stats};
#[cfg(feature = "petgraph")]
pub use graph::dataflow;
pub use graph::{
    AnyValue, ConstantArray, ConstantScalar, DimNames, Graph, GraphGuard, IntoConstant, IntoOperand,
    IntoOptionalParam, IntoParam, IntoShapeArg, NameTie, OpBuilder, Param, ParamElement, RaggedValue,
    RowPartitionValue, Scope, Value, ValueId,
};
pub use op::{
    Absent, CompositeCx, CompositeFn, DTypeRule, HostCx, HostKernel, LowerFn, OpDef, OpRef, Operand,
    Registry, TfOp,
};
pub use ops::reduce::{Axes, IntoAxes};
pub use ops::{
    Bound, CombinedSuppression, CtcLossOptions, DataFormat, DiagonalAlign, DistortedBox, FillMode,
    FractionalPool, Glimpse, GlimpseNoise, GridOrder, ImageDecoding, Interpolation, IntoRaggedAxes,
    IntoRaggedOperand, IntoRows, IntoScalar, JpegDecoding, JpegEncoding, LookupTable, LstmWeights, MelScale,
    MfccOptions, Mirror, Padding, Position, ProjectiveTransform, Quantization, QuantizeMode, QuantizeOptions,
    ResizeMethod, Sampling, SamplingKernel, SetOperation, SliceItem, SliceMasks, StftOptions, StftWindow,
    UniformQuantization, WindowPadding, add_n, clip_by_global_norm, concat, concat_offset, dynamic_stitch,
    einsum, meshgrid, quantized_concat, sparse_concat, stack,
};
#[cfg(feature = "strings")]
pub use ops::{
    CsvOptions, ExampleFeature, FeatureList, ParsedFeature, ParsedFeatureList, PrintOptions, PrintSink,
    string_format, string_join,
};
pub use ragged::{
    Encoding, IntoNested, Nested, NestedElement, OwnedElement, RaggedItem, RaggedTensor, RowPartition,
    SparseParts, Unchecked,
};
pub use runtime::ThreadPool;
pub use tensor::{Element, Strings, StringsBuilder, Tensor, TensorMap, TensorView, TensorViewMut};
