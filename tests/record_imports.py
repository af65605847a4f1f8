"""Records TensorFlow nodes and their results into data/imports.jsonl, for every op that the import gives a body.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off, one thread, no graph rewrites.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_imports.py

Each line is a JSON object. Attributes and tensors are protobuf text (AttrValue entries of a NodeDef, TensorProto):

    {"op": .., "attrs": "..", "inputs": ["..", ..], "fed": [true, ..], "outputs": ["..", ..]}
    {"op": .., "attrs": "..", "inputs": ["..", ..], "fed": [true, ..], "error": "Class: message"}

`fed` tells which inputs are data that a graph may feed. The other inputs are parameters. The inputs of a case differ
from each other, so that swapped operands change the result, unless the op is commutative. A line with `"unknown": true`
is a node that learns the shapes and the elements of its inputs only when it runs.
"""

import json
import os
import re
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import ml_dtypes
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import attr_value_pb2, node_def_pb2, tensor_pb2
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.core.util.quantization.uniform_quant_ops_attr_pb2 import UniformQuantizedConvolutionDimensionNumbersAttr
from tensorflow.python.framework import kernels, op_def_registry

OUTPUT = Path(__file__).resolve().parent / "data" / "imports.jsonl"
FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "bool": "bool_val",
    "object": "string_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "float8_e5m2": "float8_val",
    "float8_e4m3fn": "float8_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


class Parameter:
    """An input that must be a constant of the graph."""

    def __init__(self, value, dtype=np.int32):
        self.value = np.array(value, dtype)


P = Parameter


def f32(*values):
    return np.array(values, np.float32)


def i32(*values):
    return np.array(values, np.int32)


def text(message):
    return text_format.MessageToString(message, as_one_line=True)


def tensor(array):
    """Returns the text of a TensorProto that lists every element as a number."""
    array = np.array(array, object) if isinstance(array, bytes) else np.asarray(array)
    proto = tensor_pb2.TensorProto(dtype=tf.as_dtype(array.dtype).as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    field = FIELDS.get(array.dtype.name, "int_val")
    if field == "float8_val":
        proto.float8_val = array.tobytes()
        return text(proto)
    if tf.as_dtype(array.dtype).is_quantized:
        array = array.view(array.dtype[0])
    flat = array.view(np.uint16) if field == "half_val" else array
    if array.dtype.kind == "c":
        # The real and the imaginary part are two numbers.
        flat = np.stack([array.real, array.imag], axis=-1)
    if array.dtype.name in ("int4", "uint4"):
        flat = array.astype(np.int32)
    getattr(proto, field).extend(flat.reshape(-1).tolist())
    return text(proto)


def attribute(value):
    """Returns the AttrValue that holds a Python value."""
    entry = attr_value_pb2.AttrValue()
    if isinstance(value, (tf.DType, np.dtype)):
        entry.type = tf.as_dtype(value).as_datatype_enum
    elif isinstance(value, bool):
        entry.b = value
    elif isinstance(value, int):
        entry.i = value
    elif isinstance(value, float):
        entry.f = value
    elif isinstance(value, str):
        entry.s = value.encode()
    elif isinstance(value, tuple):
        entry.shape.CopyFrom(tf.TensorShape(value).as_proto())
    elif isinstance(value, tf.TensorShape):
        entry.shape.CopyFrom(value.as_proto())
    elif value and isinstance(value[0], float):
        entry.list.f.extend(value)
    elif value and isinstance(value[0], tf.DType):
        entry.list.type.extend(dtype.as_datatype_enum for dtype in value)
    elif value and isinstance(value[0], tf.TensorShape):
        entry.list.shape.extend(shape.as_proto() for shape in value)
    elif value and isinstance(value[0], str):
        entry.list.s.extend(text.encode() for text in value)
    else:
        entry.list.i.extend(value)
    return entry


def session():
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    return tf.compat.v1.Session(config=config)


def message(error):
    words = re.sub(r"\{\{.*?\}\} ?", "", str(error).splitlines()[0])
    return f"{type(error).__name__}: {re.sub(r' ?.Op:.*$', '', words)}"


class Recorder:
    def __init__(self):
        self.lines = []
        # By op: the recorded calls without an error.
        self.calls = {}
        # The dtypes of each type attribute of each op.
        self.types = set()
        self.seen = set()

    def record(self, op, attrs=None, error=False, each=False, attempt=False, unset=0, version=None, known=True, **inputs):
        """Runs and records one node of `op`. Keywords are TensorFlow's names of inputs; a list is an input of several
        tensors. `error` tells whether TensorFlow must refuse the node. With `each`, a node is left out if TensorFlow has
        no kernel for its dtypes, and with `attempt` if TensorFlow refuses it for any reason. TensorFlow does not set the last `unset` outputs, which are left out. `version` is the
        GraphDef version of the graph; the default is the current one. Unless `known`, the graph does not know the shapes of
        the inputs."""
        declared = op_def_registry.get(op).input_arg
        assert {arg.name for arg in declared} == set(inputs), f"{op} must get the inputs {declared}, got {set(inputs)}"
        # Inputs are in the order of TensorFlow's declaration, whatever the order of the keywords.
        groups = [inputs[arg.name] if isinstance(inputs[arg.name], list) else [inputs[arg.name]] for arg in declared]
        given = [part for group in groups for part in group]
        fed = [not isinstance(part, Parameter) for part in given]
        given = [np.asarray(part.value if isinstance(part, Parameter) else part) for part in given]
        graph = tf.compat.v1.GraphDef()
        graph.versions.producer = version or tf.version.GRAPH_DEF_VERSION
        for index, value in enumerate(given):
            placeholder = graph.node.add(name=f"x{index}", op="Placeholder")
            placeholder.attr["dtype"].CopyFrom(attribute(value.dtype))
            shape = tf.TensorShape(value.shape if known else None)
            placeholder.attr["shape"].shape.CopyFrom(shape.as_proto())
        node = graph.node.add(name="y", op=op, input=[f"x{index}" for index in range(len(given))])
        for name, value in (attrs or {}).items():
            node.attr[name].CopyFrom(attribute(value))
        first = 0
        for arg, group in zip(declared, groups, strict=True):
            if arg.type_attr and group:
                node.attr[arg.type_attr].CopyFrom(attribute(given[first].dtype))
            if arg.type_list_attr:
                types = [tf.as_dtype(value.dtype).as_datatype_enum for value in given[first : first + len(group)]]
                node.attr[arg.type_list_attr].list.type.extend(types)
            if arg.number_attr:
                node.attr[arg.number_attr].i = len(group)
            first += len(group)
        # Attributes with default values are omitted, as TensorFlow omits them from the graphs that it saves.
        kept = node_def_pb2.NodeDef()
        for name in sorted(node.attr):
            kept.attr[name].CopyFrom(node.attr[name])
        refusal, outputs = None, []
        try:
            with tf.Graph().as_default() as here, session() as run:
                tf.import_graph_def(graph, name="")
                results = here.get_operation_by_name("y").outputs
                # Some kernels write to the arrays that they are fed.
                feeds = {f"x{index}:0": value.copy() for index, value in enumerate(given)}
                wanted = list(results)[: len(results) - unset]
                # A session returns quantized elements as plain integers.
                outputs = [
                    value.view(result.dtype.as_numpy_dtype) if result.dtype.is_quantized else value
                    for result, value in zip(wanted, run.run(wanted, feeds), strict=True)
                ]
        except (tf.errors.OpError, ValueError) as caught:
            refusal = message(caught)
            if attempt:
                return
            if each and ("list of allowed values" in str(caught) or "OpKernel" in str(caught)):
                return
        assert (refusal is not None) == error, f"{op} {attrs} {inputs}: {refusal}"
        line = {"op": op, "attrs": text(kept), "inputs": [tensor(value) for value in given], "fed": fed}
        line |= {} if known else {"unknown": True}
        line |= {"error": refusal} if error else {"outputs": [tensor(value) for value in outputs]}
        self.lines.append(json.dumps(line))
        if not attempt:
            self.seen.add(self.lines[-1])
        self.types.update((op, arg.type_attr, node.attr[arg.type_attr].type) for arg in declared if arg.type_attr)
        if not error and version is None and known:
            self.calls.setdefault(op, []).append((attrs, unset, inputs))


    def attempt(self, op, attrs, unset, inputs):
        """Records a call, unless TensorFlow refuses it, or its line is long or has been recorded before."""
        count = len(self.lines)
        self.record(op, attrs, attempt=True, unset=unset, **inputs)
        for line in self.lines[count:]:
            if len(line) >= SHORT or line in self.seen:
                self.lines.pop()
            self.seen.add(line)


FLOAT_UNARY = {
    "features": "Elu LeakyRelu Relu Relu6 Selu Softplus Softsign",
    "logits": "LogSoftmax Softmax",
    "x": """Abs Asin Asinh Atan Ceil Cos Cosh Erf Erfc Exp Expm1 Floor Inv Neg OnesLike Reciprocal Rint Round Sigmoid Sign
        Sin Sinh Square Tan Tanh ZerosLike""",
    "input": "Identity Snapshot StopGradient PreventGradient Shape Size Rank",
}
BINARY = """Add AddV2 Atan2 Div Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual Maximum Minimum Mul NotEqual
    Pow RealDiv SquaredDifference Sub TruncateMod"""
PAIR = {"x": f32(0.5, 3.0, -1.5), "y": f32(1.0, 0.75, 2.0)}
INTEGERS = {"x": i32(-7, 12, 5), "y": i32(2, 5, 3)}
MATRIX = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
FLAGS = {"x": np.array([True, False, True]), "y": np.array([True, False, False])}


def unary_cases(out):
    for name, ops in FLOAT_UNARY.items():
        for op in ops.split():
            x = np.array([[-0.75, 0.25, 0.5], [0.875, -0.125, 0.375]], np.float32)
            out.record(op, **{name: x})
    positive = f32(0.25, 1.0, 3.5)
    for op in "Acosh Log Log1p Rsqrt Sqrt".split():
        out.record(op, x=positive + 1)
    for op in "Acos Atanh".split():
        out.record(op, x=f32(-0.5, 0.25, 0.75))
    out.record("Invert", x=i32(0, 5, -7))
    out.record("LogicalNot", x=FLAGS["x"])
    out.record("CheckNumerics", {"message": "x"}, tensor=positive)
    out.record("CheckNumerics", {"message": "x"}, tensor=f32(1.0, np.inf), error=True)
    out.record("Cast", {"DstT": tf.int32}, x=f32(-1.5, 2.75))
    for dtype in (np.float64, np.float32):
        for target in (tf.float32, tf.float16, tf.bfloat16, tf.int32):
            if tf.as_dtype(dtype) != target:
                for truncate in (False, True):
                    x = np.array([1.9999999, -0.1, 3.3], dtype)
                    out.record("Cast", {"DstT": target, "Truncate": truncate}, x=x)
    for dtype in (np.float32, np.float64, np.float16):
        for attrs in ({}, {"alpha": 0.1}, {"alpha": 1.7}):
            out.record("LeakyRelu", attrs, features=np.array([-1, 2, -3.3], dtype))


def binary_cases(out):
    for op in BINARY.split():
        out.record(op, **PAIR)
    for op in "BitwiseAnd BitwiseOr BitwiseXor TruncateDiv TruncateMod Div FloorDiv FloorMod Mod Mul Sub Less".split():
        out.record(op, **INTEGERS)
    for op in "LogicalAnd LogicalOr".split():
        out.record(op, **FLAGS)
    for op in ("Equal", "NotEqual"):
        out.record(op, {"incompatible_shape_error": False}, **PAIR)
        # Shapes that do not broadcast make every element differ.
        out.record(op, {"incompatible_shape_error": False}, x=f32(1, 2, 3), y=f32(1, 2))
    choices = {"condition": FLAGS["x"], "t": f32(1, 2, 3), "e": f32(4, 5, 6)}
    out.record("Select", **choices)
    out.record("SelectV2", **choices)
    out.record("ClipByValue", t=f32(1, 5, 9), clip_value_min=np.float32(3), clip_value_max=np.float32(6))
    square = np.array([[1, 2], [3, 5]], np.float32), np.array([[7, 1], [2, 4]], np.float32)
    for attrs in ({}, {"transpose_a": True}, {"transpose_b": True}):
        out.record("MatMul", attrs, a=square[0], b=square[1])
    for attrs in ({}, {"adj_x": True}, {"adj_y": True}):
        for op in "BatchMatMul BatchMatMulV2 BatchMatMulV3".split():
            typed = attrs | {"Tout": tf.float32} if op == "BatchMatMulV3" else attrs
            out.record(op, typed, x=square[0][None], y=square[1][None])


def reduction_cases(out):
    x = MATRIX[:2]
    for op in "Max Mean Min Prod Sum".split():
        for keep in (False, True):
            out.record(op, {"keep_dims": keep}, input=x, reduction_indices=P(1))
    flags = np.array([[True, False], [True, True], [False, False]])
    for op in ("All", "Any"):
        out.record(op, input=flags, reduction_indices=P([1]))
    for op in ("ArgMax", "ArgMin"):
        out.record(op, input=f32(3, 9, 1), dimension=P(0))
        out.record(op, {"output_type": tf.int32}, input=MATRIX, dimension=P(-1))
    for attrs in ({}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}):
        out.record("Cumsum", attrs, x=x, axis=P(1))
    for how in "Sum Mean Prod Max Min".split():
        out.record(f"Segment{how}", data=i32(5, 3, 2) + 0.0, segment_ids=i32(0, 0, 1))
        if how != "Mean":
            data, ids = i32(2, 0, 3), i32(1, 1, 0)
            out.record(f"UnsortedSegment{how}", data=data, segment_ids=ids, num_segments=P(4))


def array_cases(out):
    x = MATRIX
    out.record("BroadcastTo", input=f32(1, 2, 3), shape=P([2, 3]))
    out.record("Concat", concat_dim=P(1), values=[x[:, :1], x[:, 1:2]])
    out.record("ConcatV2", values=[x[:, :1], x[:, 1:2]], axis=P(1))
    out.record("ExpandDims", input=f32(1, 2), dim=P(1))
    out.record("Fill", dims=P([2]), value=np.int32(7))
    out.record("Gather", params=i32(1, 2, 0), indices=i32(2, 2, 1))
    out.record("GatherV2", params=x, indices=i32(2, 0), axis=P(1))
    out.record("GatherV2", {"batch_dims": 1}, params=x, indices=i32([2, 0], [1, 1], [0, 2]), axis=P(1))
    out.record("MirrorPad", {"mode": "REFLECT"}, input=x, paddings=P([[1, 0], [0, 2]]))
    out.record("MirrorPad", {"mode": "SYMMETRIC"}, input=x, paddings=P([[1, 0], [0, 2]]))
    for axis in (-1, 0):
        ends = {"on_value": np.float32(2), "off_value": np.float32(-1)}
        out.record("OneHot", {"axis": axis}, indices=i32(2, 0), depth=P(3), **ends)
    out.record("Pack", {"axis": 1}, values=[f32(1, 2), f32(3, 4)])
    out.record("Pad", input=x, paddings=P([[1, 0], [0, 2]]))
    out.record("PadV2", input=x, paddings=P([[1, 0], [0, 2]]), constant_values=np.float32(5))
    out.record("Range", start=P(1), limit=P(10), delta=P(3))
    out.record("Reshape", tensor=i32(3, 1, 2), shape=P([1, 3]))
    lengths = np.array([1, 2, 3], np.int64)
    out.record("ReverseSequence", {"seq_dim": 1}, input=x, seq_lengths=lengths)
    out.record("ReverseSequence", {"seq_dim": 0, "batch_dim": 1}, input=x, seq_lengths=lengths)
    for axis in (0, 1):
        attrs = {"seq_dim": axis, "batch_dim": axis}
        out.record("ReverseSequence", attrs, input=x, seq_lengths=lengths, error=True)
    out.record("ReverseV2", tensor=i32(0, 1, 5), axis=P([0]))
    out.record("Slice", input=x, begin=P([1, 0]), size=P([2, 1]))
    out.record("Split", {"num_split": 3}, split_dim=P(1), value=x)
    out.record("SplitV", {"num_split": 2}, value=x, size_splits=P([1, 2]), split_dim=P(1))
    out.record("Squeeze", {"squeeze_dims": [0]}, input=x[None])
    bounds = {"begin": P([1]), "end": P([5]), "strides": P([2])}
    out.record("StridedSlice", input=i32(9, 8, 7, 6, 5, 4), **bounds)
    masks = {"begin_mask": 1, "end_mask": 1, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 2}
    out.record("StridedSlice", masks, input=x, begin=P([2, 1]), end=P([1, 2]), strides=P([2, 1]))
    out.record("Tile", input=i32(2, 1), multiples=P([3]))
    out.record("Transpose", x=i32([1, 2, 3], [4, 5, 6]), perm=P([1, 0]))
    out.record("Unique", x=i32(4, 2, 4))
    out.record("UniqueWithCounts", {"out_idx": tf.int64}, x=i32(4, 2, 4))
    out.record("Unpack", {"num": 3, "axis": 1}, value=x)
    out.record("Where", input=FLAGS["x"])


def block_cases(out):
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    out.record("SpaceToDepth", {"block_size": 2}, input=image)
    out.record("DepthToSpace", {"block_size": 2}, input=image.reshape(1, 2, 2, 4))
    pairs = P([[0, 0], [2, 0]])
    out.record("SpaceToBatch", {"block_size": 2}, input=image, paddings=pairs)
    out.record("SpaceToBatchND", input=image, block_shape=P([2, 2]), paddings=pairs)
    blocks = np.arange(16, dtype=np.float32).reshape(4, 2, 2, 1)
    crops = P([[0, 1], [2, 0]])
    out.record("BatchToSpace", {"block_size": 2}, input=blocks, crops=crops)
    out.record("BatchToSpaceND", input=blocks, block_shape=P([2, 2]), crops=crops)
    windows = {"ksizes": [1, 2, 3, 1], "strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "SAME"}
    out.record("ExtractImagePatches", windows, images=image)
    windows["ksizes"] = [1, 2, 2, 2]
    # TensorFlow refuses a window over channels.
    out.record("ExtractImagePatches", windows, images=image, error=True)


def position_cases(out):
    x, pairs = MATRIX[:2], i32([0, 1], [2, 0], [1, -1], [1, 2])
    rows, updates = i32([1], [5], [-1]), f32(10, 20, 30, 40)
    for policy in ("", "DEFAULT", "ERROR", "IGNORE"):
        attrs = {"bad_indices_policy": policy}
        fails = policy != "IGNORE"
        out.record("GatherNd", attrs, params=x, indices=pairs[:2:3])
        out.record("GatherNd", attrs, params=x, indices=pairs, error=fails)
        out.record("GatherNd", attrs, params=x.astype(np.int64), indices=rows, error=fails)
        out.record("GatherNd", attrs, params=x > 2, indices=rows.astype(np.int64), error=fails)
        out.record("GatherNd", attrs, params=np.zeros((0, 3), np.float32), indices=rows, error=True)
        out.record("ScatterNd", attrs, indices=pairs[::3], updates=updates[::3], shape=P([2, 3]))
        out.record("ScatterNd", attrs, indices=pairs, updates=updates, shape=P([2, 3]), error=fails)
        out.record("ScatterNd", attrs, indices=rows, updates=MATRIX, shape=P([2, 3]), error=fails)
        out.record("ScatterNd", attrs, indices=rows, updates=updates[:3], shape=P([2]), error=fails)
        out.record("ScatterNd", attrs, indices=rows, updates=MATRIX, shape=P([0, 3]), error=True)
        for how in "Update Add Sub Min Max".split():
            op = f"TensorScatter{how}"
            out.record(op, attrs, tensor=x, indices=pairs[::3], updates=updates[::3])
            out.record(op, attrs, tensor=x, indices=pairs, updates=updates, error=fails)
            out.record(op, attrs, tensor=x, indices=rows, updates=MATRIX, error=fails)
            out.record(op, attrs, tensor=f32(1, 2), indices=rows, updates=updates[:3], error=fails)
        # TensorFlow's kernel refuses one scalar for all positions, although the shape function accepts it.
        op = "TensorScatterUpdate"
        out.record(op, attrs, tensor=f32(1, 2), indices=rows[:1], updates=np.float32(3), error=True)
    known = {"params": x, "indices": pairs[::3]}
    out.record("GatherNd", {"bad_indices_policy": "other"}, **known, error=True)
    spots = {"indices": rows[:1], "updates": updates[:1]}
    out.record("ScatterNd", {"bad_indices_policy": "other"}, **spots, shape=P([2]), error=True)
    out.record("TensorScatterAdd", {"bad_indices_policy": "ignore"}, tensor=f32(1, 2), **spots, error=True)
    out.record("DynamicPartition", {"num_partitions": 2}, data=i32(1, 1, 0), partitions=i32(0, 1, 0))
    for op in ("DynamicStitch", "ParallelDynamicStitch"):
        out.record(op, indices=[i32(2, 0), i32(1, 3)], data=[i32(5, 6), i32(7, 8)])


def batch_norm_cases(out):
    x = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2) / 3
    parameters = {"scale": f32(2, -1), "offset": f32(0.5, 7), "mean": f32(1.5, 3), "variance": f32(0.25, 9)}
    for op, unset in (("FusedBatchNorm", 2), ("FusedBatchNormV2", 2), ("FusedBatchNormV3", 3)):
        for attrs in ({}, {"epsilon": 0.5}):
            out.record(op, {"is_training": False} | attrs, unset=unset, x=x, **parameters)
        if op != "FusedBatchNorm":
            out.record(op, {"is_training": False}, unset=unset, x=x.astype(np.float16), **parameters)
    out.record("FusedBatchNormV3", {"is_training": False}, error=True, x=x, **(parameters | {"mean": f32(1, 2, 3)}))


def sparse_cases(out):
    indices = np.array([[2, 1], [0, 3], [2, 0], [0, 1]])
    values, shape = f32(1.5, -2, 3, 4), np.array([4, 5])
    for new in ([5, 4], [2, 2, -1], [20], [-1, 1]):
        out.record("SparseReshape", input_indices=indices, input_shape=shape, new_shape=np.array(new))
    for new in ([3, 7], [-1, -1], [3, -1], [0, -1]):
        out.record("SparseReshape", error=True, input_indices=indices, input_shape=shape, new_shape=np.array(new))
    empty = np.zeros((0, 2), np.int64)
    out.record("SparseReshape", input_indices=empty, input_shape=np.array([0, 3]), new_shape=np.array([3, 0]))
    out.record("SparseReorder", input_indices=indices, input_values=values, input_shape=shape)
    out.record("SparseReorder", input_indices=indices, input_values=i32(1, 2, 3, 4), input_shape=shape)
    out.record("SparseReorder", input_indices=indices, input_values=values, input_shape=np.array([3, 3]))
    words = np.array([b"a", b"", b"long words have other hashes", b"d"], object)
    names = np.array([[b"x", b"u"], [b"y", b"v"], [b"z", b"w"]], object)
    numbers, matrix = np.array([5, -6, 7, 9]), np.array([[3, -4], [5, 6], [7, 8]])
    ascending = np.array([[0, 1], [0, 3], [2, 0], [2, 1]])
    for buckets, is_hashed in ((100, True), (0, True), (0, False)):
        out_type = tf.int64 if is_hashed else tf.string
        attrs = {"hashed_output": is_hashed, "num_buckets": buckets, "hash_key": 956888297470, "out_type": out_type}
        for internal, values_of, dense in ((tf.string, words, names), (tf.int64, numbers, matrix)):
            attrs = attrs | {"internal_type": internal}
            pair = {"indices": [ascending, ascending[1:3]], "shapes": [np.array([3, 5]), np.array([3, 4])]}
            out.record("SparseCross", attrs, **pair, values=[values_of, values_of[1:3]], dense_inputs=[dense])
            out.record("SparseCross", attrs, indices=[], shapes=[], values=[], dense_inputs=[dense, dense[:, 1:]])
            single = {"indices": [ascending], "shapes": [np.array([3, 5])], "values": [values_of]}
            out.record("SparseCross", attrs, **single, dense_inputs=[])
    rows = {"indices": indices, "values": values, "dense_shape": shape, "default_value": np.float32(-1)}
    out.record("SparseFillEmptyRows", **rows)
    out.record("SparseFillEmptyRows", **(rows | {"indices": np.array([[0, 4], [1, 1], [2, 0], [3, 3]])}))
    words = {"values": np.array([b"a", b"", b"c", b"d"], object), "default_value": np.array(b"none", object)}
    out.record("SparseFillEmptyRows", **(rows | words))
    none = {"indices": empty, "values": f32()}
    out.record("SparseFillEmptyRows", **(rows | none))
    out.record("SparseFillEmptyRows", **(rows | none | {"dense_shape": np.array([0, 5])}))
    out.record("SparseFillEmptyRows", error=True, **(rows | {"dense_shape": np.array([2, 5])}))
    dense = np.arange(15, dtype=np.float32).reshape(5, 3) - 4
    matrix = {"a_indices": indices, "a_values": values, "a_shape": shape}
    out.record("SparseTensorDenseMatMul", b=dense, **matrix)
    out.record("SparseTensorDenseMatMul", {"adjoint_b": True}, b=dense.T.copy(), **matrix)
    out.record("SparseTensorDenseMatMul", {"adjoint_a": True}, b=dense[:4], **matrix)
    small = {"a_indices": indices.astype(np.int32), "a_values": i32(1, 2, 3, 4), "a_shape": shape}
    out.record("SparseTensorDenseMatMul", b=dense.astype(np.int32), **small)
    out.record("SparseTensorDenseMatMul", error=True, b=dense, **(matrix | {"a_shape": np.array([2, 5])}))


def complex_cases(out):
    for dtype, part in ((np.complex64, tf.float32), (np.complex128, tf.float64)):
        x = np.array([[1 + 2j, -0.5 + 0.25j, 3 - 1j], [0.5 - 2j, 1.5 + 1j, -1 - 0.5j]], dtype)
        y = np.array([[0.25 - 1j, 2 + 0.5j, -1 + 3j], [1 + 1j, -2 + 0.5j, 0.5 + 0.25j]], dtype)
        for op, name in (("Real", "input"), ("Imag", "input"), ("Angle", "input"), ("ComplexAbs", "x")):
            out.record(op, {"Tout": part}, **{name: x})
        out.record("Conj", input=x)
        out.record("Complex", {"Tout": tf.as_dtype(dtype)}, real=x.real.copy(), imag=y.real.copy())
        out.record("ConjugateTranspose", x=x, perm=P([1, 0]))
        for op in "Add Sub Mul Div RealDiv Pow Equal SquaredDifference".split():
            out.record(op, x=x, y=y)
        for op in "Neg Square Sqrt Exp Log Tanh Sigmoid Sign Asinh".split():
            out.record(op, x=x)
        for op in "Sum Mean Prod".split():
            for keep in (False, True):
                out.record(op, {"keep_dims": keep}, input=x, reduction_indices=P([1]))
        out.record("Cumsum", x=x, axis=P(1))
        out.record("MatMul", {"transpose_a": True}, a=x, b=y)
        out.record("MatMul", {"transpose_b": True}, a=x, b=y)
        for op in ("BatchMatMulV2", "BatchMatMul"):
            out.record(op, {"adj_x": True}, x=x, y=y)
            out.record(op, {"adj_y": True}, x=x, y=y)
        out.record("Cast", {"DstT": part}, x=x)


def complex_gradient_cases(out):
    """Ops on complex numbers that have zeros in special places, gradients of functions of complex numbers, and sums."""
    for dtype in (np.complex64, np.complex128):
        x = np.array([[0, 1 + 2j, 2 - 1j, 0], [0.5 + 1j, -2 + 0.25j, 3, -1j]], dtype)
        y = np.array([[1 + 1j, 2 - 0.5j, 0.5 - 3j, 0], [-1.5 + 2j, 1j, -0.25 - 1j, 2]], dtype)
        for op in "DivNoNan MulNoNan Xlogy Xlog1py Xdivy".split():
            out.record(op, x=x, y=y)
            out.record(op, x=x, y=y[1])
            out.record(op, x=dtype(1 - 2j), y=y[1, :0])
        out.record("DivNoNan", x=y, y=x)
        out.record("MulNoNan", x=y, y=x)
        y, dy = y.reshape(-1), x.reshape(-1)[[0, 1, 2, 3, 4, 5, 7, 6]]
        for op in "TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad".split():
            out.record(op, y=y, dy=dy)
            out.record(op, y=y[2], dy=dy[2])
            out.record(op, y=y[:0], dy=dy[:0])
        for op in ("AddN", "AccumulateNV2"):
            attrs = {"shape": x.shape} if op == "AccumulateNV2" else {}
            out.record(op, attrs, inputs=[x, x[::-1].copy(), x * x])
        for op in ("BiasAdd", "BiasAddV1"):
            out.record(op, value=x, bias=x[1])
        image = np.stack([x, x[::-1] * 2]).reshape(2, 2, 2, 2)
        for format in ("NHWC", "NCHW"):
            out.record("BiasAdd", {"data_format": format}, value=image, bias=x[1, :2])
            out.record("BiasAddGrad", {"data_format": format}, out_backprop=image)
        for keep in (False, True):
            for axis in ([1], [0, 1], []):
                out.record("EuclideanNorm", {"keep_dims": keep}, input=x, reduction_indices=P(axis))
        out.record("EuclideanNorm", input=x[:, :0], reduction_indices=P([1]))
        for equation, operands in (
            ("ij,kj->ik", (x, y.reshape(2, 4))),
            ("ij,ij->i", (x, y.reshape(2, 4))),
            ("ij->ji", (x,)),
            ("ii->i", (x[:, :2],)),
            ("...ij,jk->...ik", (image, x[:, 1:3])),
            ("ij,ij->", (x[:0], x[:0])),
        ):
            out.record("Einsum", {"equation": equation}, inputs=list(operands))


def batch_spelling_cases(out):
    """Old names of ops on batches of matrices, which only graphs of old versions have."""
    old = {"version": 12}
    for dtype in (np.float32, np.float64, np.int32, np.uint8, np.complex64):
        x = np.arange(24).reshape(2, 3, 4).astype(dtype)
        out.record("BatchMatrixDiag", diagonal=x[0], **old)
        out.record("BatchMatrixDiagPart", input=x, **old)
        out.record("BatchMatrixSetDiag", input=x, diagonal=x[:, 2, 1:], **old)
        for lower, upper in ((0, 1), (1, 0), (-1, 2)):
            band = {"num_lower": P(lower, np.int64), "num_upper": P(upper, np.int64)}
            out.record("BatchMatrixBandPart", input=x, **band, **old)
    out.record("BatchMatrixDiagPart", input=f32(1, 2), error=True, **old)
    for dtype in (np.float32, np.float64):
        square = np.array([[[4, 1, -2], [0.5, 3, 1], [1, -1, 5]], [[2, 0, 1], [1, 6, -1], [0.25, 2, 3]]], dtype)
        rhs = np.array([[[1, 2], [3, -1], [0.5, 4]], [[-2, 1], [1, 0.25], [3, 3]]], dtype)
        for adjoint in (False, True):
            out.record("BatchMatrixSolve", {"adjoint": adjoint}, matrix=square, rhs=rhs, **old)
            out.record("BatchMatrixInverse", {"adjoint": adjoint}, input=square, **old)
            for lower in (False, True):
                attrs = {"adjoint": adjoint, "lower": lower}
                out.record("BatchMatrixTriangularSolve", attrs, matrix=square, rhs=rhs, **old)
        out.record("BatchMatrixInverse", input=np.ones((2, 2), dtype), error=True, **old)
        out.record("BatchMatrixDeterminant", input=square, **old)
        definite = square @ square.transpose(0, 2, 1)
        out.record("BatchCholesky", input=definite, **old)
        out.record("BatchCholeskyGrad", l=np.linalg.cholesky(definite), grad=square, **old)
        for fast in (False, True):
            out.record("BatchMatrixSolveLs", {"fast": fast}, matrix=square, rhs=rhs, l2_regularizer=np.float64(0.5), **old)
        out.record("BatchSvd", {"compute_uv": False}, unset=2, input=rhs, **old)
        out.record("BatchSelfAdjointEigV2", {"compute_v": False}, unset=1, input=square, **old)


def storage_cases(out):
    for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        x = np.array([[1.5, -0.25, 448], [0.001, np.nan, -3]]).astype(dtype)
        out.record("Cast", {"DstT": tf.float32}, x=x)
        out.record("Cast", {"DstT": tf.as_dtype(dtype)}, x=f32(1.24, 1.3, 1.9, -300))
        out.record("Cast", {"DstT": tf.as_dtype(dtype), "Truncate": True}, x=f32(1.24, 1.3, 1.9, -300))
        out.record("Transpose", x=x, perm=P([1, 0]))
    x = np.array([-8, -1, 7, 3]).astype(ml_dtypes.int4)
    out.record("Cast", {"DstT": tf.int32}, x=x)
    out.record("Reshape", tensor=x, shape=P([2, 2]))


NAN, INF = np.nan, np.inf


def special_value_cases(out):
    for dtype in (np.float32, np.float64):
        x = np.array([0, -0.0, 1.5, -2, INF, -INF, NAN, 3], dtype)
        for op in "IsNan IsInf IsFinite".split():
            out.record(op, x=x)
        y = np.array([0, 0, 0, 3, INF, 0.5, 2, NAN, 0.25, -2], dtype)
        other = np.array([0, 3, INF, 0, 0, NAN, -1.5, 0, 4, 0.75], dtype)
        for op in "DivNoNan MulNoNan Xlogy Xlog1py Xdivy".split():
            out.record(op, x=y, y=other)
        out.record("NextAfter", x1=np.array([1, 1, -1, 3, NAN, 7], dtype), x2=np.array([2, 0, 0, 3, 1, INF], dtype))
        out.record("TruncateDiv", x=np.array([7.5, -7.5, 1, -1], dtype), y=np.array([2, 2, 0, 3], dtype))
        for tolerance in ({}, {"tolerance": 0.25}):
            near = {"x": np.array([1, 1, NAN, INF, 2], dtype), "y": np.array([1, 1.125, NAN, INF, 2.25], dtype)}
            out.record("ApproximateEqual", tolerance, **near)
        y = np.array([0, 0, 2, -1, 0.5, INF, 0.25], dtype)
        dy = np.array([0, 3, INF, NAN, -1.5, 0, 7], dtype)
        for op in "TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad".split():
            out.record(op, y=y, dy=dy)
        y = np.array([0, 7, 2, -1, -0.5, 6, 0.25, NAN], dtype)
        dy = np.array([0, 3, INF, NAN, -1.5, 2, 7, 1], dtype)
        for op in "ReluGrad Relu6Grad SoftplusGrad SoftsignGrad LeakyReluGrad".split():
            out.record(op, gradients=dy, features=y)
        out.record("LeakyReluGrad", {"alpha": 0.3}, gradients=dy, features=y)
        for op in ("EluGrad", "SeluGrad"):
            out.record(op, gradients=dy, outputs=y)
    for dtype in (np.int8, np.uint8, np.int32):
        for op in ("ReluGrad", "Relu6Grad"):
            out.record(op, gradients=np.array([3, 5, 7, 9], dtype), features=np.array([0, 4, 6, 1], dtype))
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16):
        x = np.array([1, 1, 127, 5, 0, 100], dtype)
        if np.issubdtype(dtype, np.signedinteger):
            x[0], x[2] = -1, -7
        out.record("PopulationCount", x=x)
        y = np.array([2, 9, 3, 7, 100, 0], dtype)
        for op in ("LeftShift", "RightShift"):
            out.record(op, x=x, y=y)


def sum_cases(out):
    x = MATRIX[:2]
    for dtype in (np.float32, np.float64, np.int32, np.uint8):
        value = x.astype(dtype)
        out.record("AddN", inputs=[value, value + 1, value + 3])
        out.record("BiasAdd", value=value, bias=np.array([5, 7, 2], dtype))
        out.record("BiasAdd", {"data_format": "NCHW"}, value=value[..., None], bias=np.array([5, 7, 2], dtype))
        out.record("BiasAddGrad", out_backprop=value)
        out.record("BiasAddGrad", {"data_format": "NCHW"}, out_backprop=value[..., None])
        out.record("Cross", a=value, b=value[::-1] * value)
        out.record("EuclideanNorm", {"keep_dims": True}, input=value, reduction_indices=P(1))
        out.record("EuclideanNorm", input=value * 20, reduction_indices=P([0, 1]))
    out.record("AccumulateNV2", {"shape": (2, 3)}, inputs=[x, x + 1])
    out.record("BiasAddV1", value=x, bias=f32(5, 7, 2))
    out.record("BiasAdd", value=x, bias=f32(5, 7), error=True)
    for dtype in (np.float32, np.float64):
        out.record("L2Loss", t=x.astype(dtype))
        out.record("L2Loss", t=np.zeros((2, 0), dtype))
        out.record("EuclideanNorm", input=np.zeros((2, 0), dtype), reduction_indices=P([1]))


def product_cases(out):
    x, y = MATRIX, np.array([[2, -1, 3], [5, 4, -2], [1, 7, 6]], np.float32)
    for equation in "ij,jk->ik ij,kj->ki ij,ij->ij ij,ij->j ij,jk->kij ij,ij-> ii,ij->j ...i,ij->j...".split():
        for dtype in (np.float32, np.int32):
            inputs = [x.astype(dtype), y.astype(dtype)]
            out.record("Einsum", {"equation": equation}, inputs=inputs)
    for equation in "ii->i ii-> ii->ii ij->jij ij->ji ...j->j... ij->i".split():
        out.record("Einsum", {"equation": equation}, inputs=[x.astype(np.float64)])
    batches = [np.arange(24.0).reshape(3, 1, 2, 4), np.arange(40.0).reshape(2, 4, 5)]
    out.record("Einsum", {"equation": "...ij,...jk->...ik"}, inputs=batches)
    out.record("Einsum", {"equation": "abij,ajk->kbai"}, inputs=[batches[0][:2], batches[1]])
    out.record("Einsum", {"equation": "...ij,...jk->ik"}, inputs=batches, error=True)
    out.record("Einsum", {"equation": "ij,jk->ik"}, inputs=[x, y[:2]], error=True)
    for dtype in (np.float32, np.float64):
        logits = np.array([[1, 2, 0.5], [90, -3, 4], [-1, -1, -1]], dtype)
        labels = np.array([[0.5, 0.5, 0], [0, 0, 1], [0.25, 1, 3]], dtype)
        op = "SoftmaxCrossEntropyWithLogits"
        out.record(op, features=logits, labels=labels)
        out.record(op, features=logits[:1], labels=labels)
        out.record(op, features=logits, labels=labels[:, 2:])
        out.record(op, features=logits[:, :0], labels=labels[:, :0])
        for kind in (np.int32, np.int64):
            out.record(f"Sparse{op}", features=logits, labels=np.array([2, 0, 1], kind))
        out.record(f"Sparse{op}", features=logits, labels=i32(0, 3, 1), error=True)


def special_function_cases(out):
    for dtype in (np.float32, np.float64):
        x = np.array([0.25, 1, 2, 3.5, 30, INF, NAN, -0.5, -3.75, 1e-3], dtype)
        for op in "Lgamma Digamma BesselI0e BesselI1e".split():
            out.record(op, x=x)
        out.record("Lgamma", x=np.array([0, -1, -INF, 1e30], dtype))
        out.record("BesselI0e", x=np.array([0, -9, -INF, 1e30], dtype))
        out.record("BesselI1e", x=np.array([-9, -INF, 1e30], dtype))


def host_function_cases(out):
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64):
        x = np.array([0.25, 0.5, 0.75, 0.01, 0.999, 1e-30, 0, 1, -2, 2, NAN], dtype)
        out.record("Ndtri", x=x)
        # TensorFlow gives 0 for 1e-30.
        x = np.delete(x, 5)
        out.record("Erfinv", x=np.concatenate([x, -x]))
        a = np.array([0.5, 2, 30, 7.5, 1, 0.01, INF, 3, 0, -1, NAN, 5], dtype)
        x = np.array([0.25, 3, 28, 9.5, 0, 2, 3, INF, 1, 1, 2, NAN], dtype)
        out.record("Igamma", a=a, x=x)
        out.record("Igammac", a=a, x=x)
        out.record("IgammaGradA", a=a[:6].reshape(2, 3), x=x[3:6])
        out.record("RandomGammaGrad", alpha=a[:6], sample=x[:6] + dtype(0.125))
        out.record("Zeta", x=np.array([2, 1.5, 3, 1, 0.5, 4, 3], dtype), q=np.array([1, 2.5, 0.25, 2, 3, -1.5, -2], dtype))
        out.record("Polygamma", a=np.array([0, 1, 2, 5, 1.5, -1], dtype), x=np.array([0.5, 2, 0.125, 3, 2, 2], dtype))
        a = np.array([0.5, 2, 30, 1, 2, -1, 2, 3], dtype)
        b = np.array([2, 0.5, 20, 3, 3, 2, 3, 3], dtype)
        x = np.array([0.25, 0.75, 0.625, 0, 1, 0.5, 1.5, NAN], dtype)
        out.record("Betainc", a=a, b=b, x=x)
        out.record("Betainc", a=dtype(2), b=dtype(3), x=x[:3])


def linalg_cases(out):
    for dtype in (np.float64, np.complex128, np.float32, np.complex64):
        def numbers(*shape, start=0):
            count = int(np.prod(shape))
            values = [((i * i * 13 + i * 7 + 3) % 29) / 7 - 2 for i in range(start, start + 2 * count)]
            values = np.array(values).reshape(2, *shape)
            return (values[0] + 1j * values[1] if np.dtype(dtype).kind == "c" else values[0]).astype(dtype)

        square = numbers(2, 3, 3) + 4 * np.eye(3, dtype=dtype)
        rhs = numbers(2, 3, 2, start=5)
        for adjoint in (False, True):
            out.record("MatrixSolve", {"adjoint": adjoint}, matrix=square, rhs=rhs)
            out.record("MatrixInverse", {"adjoint": adjoint}, input=square)
            for lower in (False, True):
                attrs = {"adjoint": adjoint, "lower": lower}
                out.record("MatrixTriangularSolve", attrs, matrix=square, rhs=rhs)
        out.record("MatrixTriangularSolve", matrix=square, rhs=rhs[0])
        out.record("MatrixDeterminant", input=square)
        out.record("MatrixDeterminant", input=np.zeros((2, 0, 0), dtype))
        out.record("LogMatrixDeterminant", input=square)
        definite = square @ square.conj().transpose(0, 2, 1)
        out.record("Cholesky", input=definite)
        if np.dtype(dtype).kind != "c":
            # For complex matrices, TensorFlow fills in 0 instead of NaN.
            out.record("Cholesky", input=-definite)
        singular = np.ones((2, 2), dtype)
        out.record("MatrixInverse", input=singular, error=True)
        out.record("MatrixSolve", matrix=singular, rhs=singular, error=True)
        out.record("TridiagonalSolve", diagonals=numbers(2, 3, 5), rhs=numbers(2, 5, 2, start=4))
        diagonals = {"superdiag": numbers(2, 1, 5), "maindiag": numbers(2, 1, 5, start=3), "subdiag": numbers(2, 1, 5, start=8)}
        if dtype != np.float32:
            # Sums that cancel have large relative errors in f32.
            out.record("TridiagonalMatMul", **diagonals, rhs=numbers(2, 5, 2, start=4))
        for shape in ((4, 3), (3, 4), (2, 3, 3)):
            for full in (False, True):
                out.record("Qr", {"full_matrices": full}, input=numbers(*shape))
            out.record("Svd", {"compute_uv": False}, unset=2, input=numbers(*shape))
        # The signs of singular vectors and of eigenvectors are arbitrary.
        out.record("SelfAdjointEigV2", {"compute_v": False}, unset=1, input=square)


def fourier_cases(out):
    for real, complex in ((np.float64, np.complex128), (np.float32, np.complex64)):
        x = np.sin(np.arange(48)).reshape(2, 2, 3, 4)
        z = (x + 1j * np.cos(3 * np.arange(48)).reshape(x.shape)).astype(complex)
        for op in "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D".split():
            out.record(op, input=z)
        types = {"Treal": tf.as_dtype(real), "Tcomplex": tf.as_dtype(complex)}
        for axes, suffix in ((1, ""), (2, "2D"), (3, "3D")):
            # TensorFlow's ops crop and do not pad.
            for lengths in ([2, 3, 4], [1, 2, 3], [1, 3, 2]):
                attrs = {"Tcomplex": types["Tcomplex"]}
                out.record(f"RFFT{suffix}", attrs, input=x.astype(real), fft_length=P(lengths[3 - axes :]))
            for lengths in ([2, 3, 6], [1, 2, 5], [2, 3, 7]):
                attrs = {"Treal": types["Treal"]}
                if real == np.float64:
                    out.record(f"IRFFT{suffix}", attrs, input=z, fft_length=P(lengths[3 - axes :]))


def window_cases(out):
    image = (np.arange(5 * 4 * 2) * 7 % 31 - 11).reshape(1, 5, 4, 2)
    explicit = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}
    paddings = {"padding": "SAME"}, {"padding": "VALID"}, explicit
    # TensorFlow's kernels of pools take no explicit padding.
    for padding in paddings[:2]:
        for sizes, strides in (([1, 2, 3, 1], [1, 1, 1, 1]), ([1, 3, 2, 1], [1, 2, 3, 1])):
            attrs = {"ksize": sizes, "strides": strides} | padding
            for dtype in (np.float32, np.uint8):
                out.record("MaxPool", attrs, input=image.astype(dtype))
            out.record("MaxPoolV2", padding, input=image.astype(np.float32), ksize=P(sizes), strides=P(strides))
            out.record("AvgPool", attrs, value=image.astype(np.float64))
    out.record("MaxPool", {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}, input=image + 0.5)
    attrs = {"ksize": [1, 6, 1, 1], "strides": [1] * 4, "padding": "VALID"}
    out.record("MaxPool", attrs, input=P(image + 0.5, np.float64), error=True)
    weights = (np.arange(3 * 2 * 2 * 2) * 5 % 13 - 6).reshape(3, 2, 2, 2)
    x, w = image.astype(np.float32), weights.astype(np.float32)
    for padding in paddings:
        for strides in ([1, 1, 1, 1], [1, 2, 2, 1]):
            attrs = {"strides": strides} | padding
            out.record("DepthwiseConv2dNative", attrs, input=x, filter=w)
            convolved = tf.raw_ops.Conv2D(input=x, filter=w, strides=strides, **padding).numpy()
            out.record("Conv2D", attrs, input=x, filter=w)
            gradient = convolved % 7
            sizes = {"input_sizes": P(x.shape), "filter": w, "out_backprop": gradient}
            out.record("Conv2DBackpropInput", attrs, **sizes)
            sizes = {"input": x, "filter_sizes": P(w.shape), "out_backprop": gradient}
            out.record("Conv2DBackpropFilter", attrs, **sizes)
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 1, 2, 1]}
    out.record("Conv2D", attrs, input=x, filter=w)
    out.record("Conv2D", {"strides": [1, 1, 1, 1], "padding": "VALID"}, input=x, filter=w[:1, :1])
    grouped = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    doubled = np.concatenate([x, x * 2 + 1], -1)
    out.record("Conv2D", grouped, input=doubled, filter=w)
    out.record("LRN", input=x.astype(np.float32) / 8)
    attrs = {"depth_radius": 1, "bias": 2.0, "alpha": 0.25, "beta": 0.75}
    out.record("LRN", attrs, input=x.astype(np.float32) / 8)
    out.record("Conv2D", {"strides": [1, 2, 1, 1], "padding": "SAME"}, input=x.astype(np.float64), filter=w.astype(np.float64))
    attrs = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    out.record("Conv2D", attrs, input=image.astype(np.int32), filter=weights.astype(np.int32))
    out.record("Conv2D", attrs, input=image.astype(np.float32), filter=np.ones((3, 2, 3, 2), np.float32), error=True)
    volume = np.arange(3 * 4 * 2 * 2, dtype=np.float32).reshape(1, 3, 4, 2, 2)
    for padding in ("SAME", "VALID"):
        attrs = {"ksizes": [1, 2, 3, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": padding}
        out.record("ExtractVolumePatches", attrs, input=volume)


def quantization_cases(out):
    x = f32(-3, -1.2, -0.5, -0.26, 0, 0.24, 0.6, 0.74, 1.7, 7)
    out.record("FakeQuantWithMinMaxArgs", inputs=x)
    out.record("FakeQuantWithMinMaxArgs", {"min": -1.0, "max": 1.0, "num_bits": 3, "narrow_range": True}, inputs=x)
    out.record("FakeQuantWithMinMaxArgs", {"min": 1.0, "max": 1.0}, inputs=x, error=True)
    for low, high in ((0.5, 2), (-2, -0.5), (-1.5, 1), (0, 0)):
        ends = {"min": np.float32(low), "max": np.float32(high)}
        out.record("FakeQuantWithMinMaxVars", {"num_bits": 4}, inputs=x, **ends)
    ends = {"min": f32(-1, 0.25), "max": f32(1, 3)}
    out.record("FakeQuantWithMinMaxVarsPerChannel", inputs=x.reshape(5, 2), **ends)
    options = {}, {"signed_input": False}, {"num_bits": 4}, {"narrow_range": True, "num_bits": 3}
    for attrs in (*options, {"range_given": True}, {"range_given": True, "num_bits": 3, "narrow_range": True}):
        for dtype in (np.float32, np.float64):
            ends = {"input_min": np.array(-1, dtype), "input_max": np.array(1.5, dtype)}
            for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
                out.record(op, attrs, input=x.astype(dtype), **ends)
    ends = {"input_min": np.float32(-1), "input_max": np.float32(1.5)}
    out.record("QuantizeAndDequantizeV2", {"range_given": True, "round_mode": "HALF_UP", "num_bits": 5}, input=x, **ends)
    out.record("QuantizeAndDequantizeV2", input=x[:0], **ends)
    out.record("QuantizeAndDequantizeV3", input=x, num_bits=np.int32(4), **ends)
    out.record("QuantizeAndDequantizeV3", {"range_given": False}, input=x, num_bits=np.int32(5), **ends)
    ends = {"input_min": f32(-1, -2), "input_max": f32(1.5, 1)}
    # TensorFlow's kernel refuses a range that is given for every slice.
    out.record("QuantizeAndDequantizeV2", {"axis": 1}, input=x.reshape(5, 2), **ends)


QUANTIZED = {tf.qint8: np.int8, tf.quint8: np.uint8, tf.qint16: np.int16, tf.quint16: np.uint16, tf.qint32: np.int32}


def quantized(dtype, *values):
    return np.array(values, QUANTIZED[dtype]).view(dtype.as_numpy_dtype)


def quantized_cases(out):
    x = np.array([[-1.7, -0.6, -0.25], [0.1, 0.35, 0.5], [0.99, 2.5, 40]], np.float32)
    ranges = (-1, 2), (0.25, 3), (-2, -0.5), (0, 0)
    for dtype in QUANTIZED:
        for low, high in ranges:
            ends = {"min_range": np.float32(low), "max_range": np.float32(high)}
            for mode in "MIN_COMBINED MIN_FIRST SCALED".split():
                # TensorFlow's result for a number that rounds above the greatest i32 depends on the processor.
                if dtype != tf.qint32 or mode == "MIN_FIRST":
                    out.record("QuantizeV2", {"T": dtype, "mode": mode}, input=x, **ends)
                elif high > 0.5:
                    out.record("QuantizeV2", {"T": dtype, "mode": mode}, input=x[:2], **ends)
            scaled = {"T": dtype, "mode": "SCALED", "narrow_range": True}
            if dtype != tf.qint32:
                out.record("QuantizeV2", scaled | {"round_mode": "HALF_TO_EVEN"}, input=x, **ends)
                out.record("QuantizeV2", scaled | {"ensure_minimum_range": 0.5}, input=x, **ends)
        ends = {"min_range": f32(-1, -2, 0), "max_range": f32(2, -1, 3)}
        if dtype != tf.qint32:
            for mode in "MIN_COMBINED SCALED".split():
                for axis in (0, 1):
                    out.record("QuantizeV2", {"T": dtype, "mode": mode, "axis": axis}, input=x, **ends)
    ends = {"min_range": f32(-1, -2, 0), "max_range": f32(2, -1, 3)}
    out.record("QuantizeV2", {"T": tf.qint8, "mode": "MIN_FIRST", "axis": 0}, input=x, error=True, **ends)
    ends = {"min_range": np.float32(1), "max_range": np.float32(0)}
    out.record("QuantizeV2", {"T": tf.qint8}, input=x, error=True, **ends)
    out.record("QuantizeV2", {"T": tf.qint8}, input=x[:0], min_range=np.float32(0), max_range=np.float32(1))
    for dtype, integer in QUANTIZED.items():
        limits = np.iinfo(integer)
        q = quantized(dtype, limits.min, limits.min + 1, 0, 1, limits.max // 3, limits.max)
        if dtype == tf.qint32:
            # TensorFlow gives the greatest i32 the sign of the least one.
            q[-1] = (limits.max // 2,)
        for low, high in ((-1, 2), (0.25, 3), (-7, 2), (0, 0)):
            ends = {"min_range": np.float32(low), "max_range": np.float32(high)}
            for mode in "MIN_COMBINED MIN_FIRST SCALED".split():
                out.record("Dequantize", {"mode": mode}, input=q, **ends)
            out.record("Dequantize", {"mode": "SCALED", "narrow_range": True}, input=q, **ends)
            out.record("Dequantize", {"dtype": tf.bfloat16}, input=q, **ends)
        ends = {"min_range": f32(-1, -2), "max_range": f32(2, 1)}
        for mode in "MIN_COMBINED SCALED".split():
            out.record("Dequantize", {"mode": mode, "axis": 1}, input=q.reshape(3, 2), **ends)
        out.record("Dequantize", {"mode": "MIN_FIRST", "axis": 1}, input=q.reshape(3, 2), error=True, **ends)
    for dtype in (tf.quint8, tf.qint32):
        limits = np.iinfo(QUANTIZED[dtype])
        a = quantized(dtype, limits.min, 0, limits.max // 5).reshape(1, 3)
        b = quantized(dtype, 7, 100, limits.max).reshape(1, 3)
        for ends in ((-1, 2), (-3, 0.5)), ((0, 4), (0.5, 5)), ((-1, 2), (-1, 2)):
            mins = [np.float32(low) for low, _ in ends]
            maxes = [np.float32(high) for _, high in ends]
            for axis in (0, 1):
                out.record("QuantizedConcat", concat_dim=P(axis), values=[a, b], input_mins=mins, input_maxes=maxes)
    q = quantized(tf.qint32, -(2**31), -90000, 0, 5, 1 << 20, 1 << 30, 2**31 - 1)
    for part in (q, q[1:5], q[:0]):
        for low, high in ((-10, 12), (0.5, 2.5), (3, 3)):
            ends = {"input_min": np.float32(low), "input_max": np.float32(high)}
            out.record("RequantizationRange", input=part, **ends)
            if part.size:
                out.record("QuantizeDownAndShrinkRange", {"out_type": tf.quint8}, input=part, **ends)
            for wanted in ((-1, 6), (0, 0), (-30, 2)):
                wanted = {
                    "requested_output_min": np.float32(wanted[0]),
                    "requested_output_max": np.float32(wanted[1]),
                }
                for dtype in (tf.quint8, tf.qint8):
                    out.record("Requantize", {"out_type": dtype}, each=True, input=part, **ends, **wanted)
    ends = {"input_min": np.float32(-1), "input_max": np.float32(1)}
    for low, high in ((0.5, 2), (-1, -2)):
        wanted = {"requested_output_min": np.float32(low), "requested_output_max": np.float32(high)}
        out.record("Requantize", {"out_type": tf.quint8}, input=q, error=True, **ends, **wanted)
    out.record("QuantizedReshape", tensor=q[1:], shape=P([2, -1]), **ends)
    for dtype in (np.float32, np.float64):
        values = {"gradients": counted(3, 2, dtype=dtype), "input": counted(3, 2, dtype=dtype, start=-1)}
        ends = {"input_min": np.array(0, dtype), "input_max": np.array(3, dtype)}
        out.record("QuantizeAndDequantizeV4Grad", **values, **ends)
        ends = {"input_min": np.array([0, 2], dtype), "input_max": np.array([3, 2], dtype)}
        out.record("QuantizeAndDequantizeV4Grad", {"axis": 1}, **values, **ends)


def flag_cases(out):
    x = counted(2, 3, 2)
    for flags in ([True, False, True], [False, False, False], [False, True, False]):
        out.record("Reverse", tensor=x, dims=np.array(flags))
    out.record("Reverse", tensor=x, dims=np.array([True]), error=True)
    out.record("Reverse", tensor=np.float32(5), dims=np.array([], bool))
    for dtype in (np.float16, ml_dtypes.bfloat16):
        for bounds in ((0.5, 4, 0.3), (3, -2, -0.7), (1, 1, 2)):
            start, limit, delta = (dtype(bound) for bound in bounds)
            out.record("Range", start=start, limit=limit, delta=delta)
        out.record("Range", start=dtype(1), limit=dtype(0), delta=dtype(1), error=True)


def image_cases(out):
    image = (np.arange(2 * 3 * 4 * 2) * 7 % 23 / 4 + 2).reshape(2, 3, 4, 2).astype(np.float32)
    for op in "ResizeNearestNeighbor ResizeBilinear ResizeBicubic".split():
        for attrs in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            for size in ([5, 7], [2, 1]):
                out.record(op, attrs, images=image[:1], size=P(size))
        out.record(op, images=image.astype(np.uint8), size=P([2, 6]))
    boxes = f32([0, 0, 1, 1], [0.25, 0.75, 0.5, 0.1], [-0.5, 0, 1.25, 1.5])
    for method in ("bilinear", "nearest"):
        for size in ([3, 2], [1, 1]):
            attrs = {"method": method, "extrapolation_value": 0.5}
            crops = {"image": image, "boxes": boxes, "box_ind": i32(1, 0, 1), "crop_size": P(size)}
            out.record("CropAndResize", attrs, **crops)
    out.record("CropAndResize", **crops | {"box_ind": i32(1, 2, 1)}, error=True)
    colors = np.random.default_rng(3).uniform(0.2, 1, (2, 3, 2, 3))
    colors[0, 0] = [[0, 0, 0], [0.5, 0.5, 0.5]]
    for dtype in (np.float32, np.float64):
        out.record("RGBToHSV", images=colors.astype(dtype))
        out.record("HSVToRGB", images=colors.astype(dtype))
    colors = colors.astype(np.float32)
    out.record("AdjustContrastv2", images=colors, contrast_factor=np.float32(0.5))
    for amount in (0.3, -0.4):
        out.record("AdjustHue", images=colors, delta=np.float32(amount))
    for amount in (0.3, 2):
        out.record("AdjustSaturation", images=colors, scale=np.float32(amount))
HALF, BRAIN = np.float16, tf.bfloat16.as_numpy_dtype
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (HALF, BRAIN, np.float32, np.float64)
NUMBERS = INTS + FLOATS
ALL = NUMBERS + (np.bool_,)
ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def counted(*shape, dtype=np.float32, start=1):
    """Returns the numbers from `start`, in row-major order."""
    return np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def diagonal_cases(out):
    for dtype in ALL:
        out.record("MatrixDiag", each=True, diagonal=counted(2, 3, dtype=dtype))
        out.record("MatrixDiagPart", each=True, input=counted(2, 3, 2, dtype=dtype))
        out.record("MatrixSetDiag", each=True, input=counted(3, 2, dtype=dtype), diagonal=counted(2, dtype=dtype, start=20))
        out.record("Diag", each=True, diagonal=counted(2, dtype=dtype))
        out.record("DiagPart", each=True, input=counted(2, 3, 2, 3, dtype=dtype))
        out.record("MatrixBandPart", each=True, input=counted(3, 4, dtype=dtype), num_lower=P(0), num_upper=P(1))
    out.record("Diag", diagonal=counted(2, 2))
    out.record("Diag", diagonal=np.float32(1), error=True)
    out.record("DiagPart", input=counted(2, 3), error=True)
    for lower, upper in ((-1, 0), (1, -1), (-3, -1), (2, 2), (0, 4)):
        for dtype in (np.int32, np.int64):
            band = {"num_lower": P(lower, dtype), "num_upper": P(upper, dtype)}
            out.record("MatrixBandPart", input=counted(2, 3, 4), **band, error=upper > 4)
    out.record("MatrixBandPart", input=counted(3, 4), num_lower=P(4), num_upper=P(0), error=True)
    out.record("MatrixBandPart", input=counted(3), num_lower=P(0), num_upper=P(0), error=True)
    for rows, columns in ((3, 4), (4, 3), (3, 3)):
        x = counted(2, rows, columns, start=100)
        for low, high in ((0, 0), (1, 1), (-2, -2), (-1, 1), (0, 2), (-2, 0), (1, 2), (-2, -1), (-2, 2)):
            k = P(low) if low == high else P([low, high])
            longest = min(rows + min(high, 0), columns - max(low, 0))
            packed = counted(*(2, high - low + 1, longest)[:: 1 if low != high else 2])
            parts = {"k": k, "padding_value": np.float32(-1)}
            sizes = {"num_rows": P(rows), "num_cols": P(columns)}
            for version, aligns in (("V2", [None]), ("V3", ALIGNMENTS)):
                for align in aligns:
                    attrs = {"align": align} if align else {}
                    out.record(f"MatrixDiagPart{version}", attrs, input=x, **parts)
                    out.record(f"MatrixSetDiag{version}", attrs, input=x, diagonal=packed, k=k)
                    out.record(f"MatrixDiag{version}", attrs, diagonal=packed, **sizes, **parts)
    packed = {"diagonal": counted(2, 2), "k": P([0, 1]), "padding_value": np.float32(9)}
    for rows, columns in ((-1, -1), (2, -1), (-1, 3), (2, 3), (3, -1), (1, -1), (5, 5)):
        sizes = {"num_rows": P(rows), "num_cols": P(columns)}
        out.record("MatrixDiagV3", **packed, **sizes, error=(rows, columns) in ((1, -1), (5, 5)))
    out.record("MatrixDiagV3", **packed, num_rows=P(2), num_cols=P(3))
    empty = {"k": P(1), "num_rows": P(-1), "num_cols": P(-1), "padding_value": np.float32(9)}
    out.record("MatrixDiagV3", diagonal=f32(), **empty)
    for k in (3, -2, [-2, 0], [1, 0]):
        bad = {"k": P(k), "padding_value": np.float32(0)}
        out.record("MatrixDiagPartV3", input=counted(2, 3), **bad, error=True)
    for k in (0, [0, 1]):
        out.record("MatrixDiagPartV3", input=np.zeros((0, 3), np.float32), k=P(k), padding_value=np.float32(9))
    for dtype in (np.int8, BRAIN, np.uint64):
        value = {"k": P([-1, 0]), "padding_value": np.array(7, dtype)}
        out.record("MatrixDiagPartV3", each=True, input=counted(2, 3, dtype=dtype), **value)


def shift_cases(out):
    for dtype in ALL:
        out.record("Roll", each=True, input=counted(2, 3, dtype=dtype), shift=P(1), axis=P(1))
    x = counted(2, 3, 4)
    for shift, axis in (([1, 2], [0, 2]), ([-5], [1]), ([1, 2, 4], [2, -1, 0]), ([3], [1]), ([7, 9], [2, 1])):
        for dtype in (np.int32, np.int64):
            out.record("Roll", each=True, input=x, shift=P(shift, dtype), axis=P(axis))
    out.record("Roll", input=np.zeros((0, 2), np.int32), shift=P(1), axis=P(0))
    out.record("Roll", input=x, shift=P([1]), axis=P(0), error=True)
    out.record("Roll", input=x, shift=P(1), axis=P(3), error=True)
    for mode in ("REFLECT", "SYMMETRIC"):
        for dtype in (HALF, np.float32, np.float64, np.int32, np.int64, np.int8, np.uint16):
            for paddings in ([[1, 2], [0, 0]], [[0, 1], [2, 1]], [[2, 2], [2, 2]]):
                out.record("MirrorPadGrad", {"mode": mode}, each=True, input=counted(7, 7, dtype=dtype), paddings=P(paddings))
        out.record("MirrorPadGrad", {"mode": mode}, input=counted(5), paddings=P([[2, 2]]), error=True)
        out.record("MirrorPadGrad", {"mode": mode}, input=counted(3, 4, 5), paddings=P([[0, 0], [1, 1], [0, 2]]))
    for dtype in ALL:
        window = {"shape": P([3, 4]), "begin": P([0, 1]), "end": P([3, 4]), "strides": P([2, 1])}
        out.record("StridedSliceGrad", each=True, **window, dy=counted(2, 3, dtype=dtype))
    masks = {"begin_mask": 1, "end_mask": 2, "new_axis_mask": 4}
    window = {"shape": P([4, 3]), "begin": P([9, 1, 0]), "end": P([0, 0, 0]), "strides": P([-2, 1, 1])}
    out.record("StridedSliceGrad", masks, **window, dy=counted(2, 2, 1))
    window = {"shape": P([4, 3]), "begin": P([-1, 2]), "end": P([0, 0]), "strides": P([1, -1])}
    out.record("StridedSliceGrad", {"shrink_axis_mask": 1}, **window, dy=counted(2))
    out.record("StridedSliceGrad", {"shrink_axis_mask": 1}, **window, dy=counted(3), error=True)
    for dtype in (np.int16, np.int64):
        given = {name: P(value.value, dtype) for name, value in window.items()}
        if dtype == np.int64:
            out.record("StridedSliceGrad", {"shrink_axis_mask": 1}, **given, dy=counted(2))
    for dtype in ALL:
        out.record("ConjugateTranspose", each=True, x=counted(2, 3, dtype=dtype), perm=P([1, 0]))
    out.record("GuaranteeConst", input=f32(1, 2))
    out.record("EnsureShape", {"shape": tf.TensorShape([None, 3])}, input=counted(2, 3))
    out.record("EnsureShape", {"shape": tf.TensorShape([None, 4])}, input=counted(2, 3), error=True)
    for dtype in (np.float32, np.int32, np.int64, np.bool_, HALF):
        rows = [counted(1, 2, dtype=dtype), counted(1, 2, dtype=dtype, start=0)]
        out.record("ParallelConcat", {"shape": tf.TensorShape([2, 2])}, values=rows)
    words = counted(2, 8, dtype=np.uint8) * np.uint8(15)
    for source in NUMBERS:
        for target in NUMBERS:
            # Neither a NaN nor an infinity appears, because their bits are compared as numbers.
            ratio = max(1, np.dtype(target).itemsize // np.dtype(source).itemsize)
            x = np.frombuffer(bytes([3, 60, 5, 61, 7, 62, 9, 63] * 2), source).reshape(-1, ratio)
            out.record("Bitcast", {"type": tf.as_dtype(target)}, each=True, input=x)
    out.record("Bitcast", {"type": tf.int64}, input=words.view(np.int16).reshape(-1)[:2], error=True)
    for dtype in (np.float32, np.float64):
        for ends in ((1, 2), (5, -1), (3, 3)):
            for num in (1, 2, 7):
                start, stop = np.array(ends, dtype) / dtype(3)
                out.record("LinSpace", start=start, stop=stop, num=P(num))
    out.record("LinSpace", start=np.float32(1), stop=np.float32(2), num=P(0), error=True)


def vector_cases(out):
    for dtype in NUMBERS:
        x, y = np.array([3, 1, 2, 1, 0]), np.array([1, 4, 0])
        out.record("ListDiff", each=True, x=x.astype(dtype), y=y.astype(dtype))
    names = np.array([b"b", b"", b"a", b"b"], object), np.array([b"a", b"c"], object)
    out.record("ListDiff", {"out_idx": tf.int64}, x=names[0], y=names[1])
    zeros = f32(np.nan, -0.0, 1), f32(np.nan, 0.0)
    out.record("ListDiff", x=zeros[0][1:], y=zeros[1])
    out.record("ListDiff", x=f32(), y=f32(1))
    for dtype in (np.int32, np.int64):
        out.record("InvertPermutation", each=True, x=np.array([2, 0, 3, 1], dtype))
        for bad in ([0, 0], [1, 2], [-1, 0]):
            out.record("InvertPermutation", x=np.array(bad, dtype), error=True)
        sizes = [np.array([2, 3], dtype), np.array([2, 1], dtype), np.array([2, 4], dtype)]
        out.record("ConcatOffset", concat_dim=P(1), shape=sizes)
        out.record("ConcatOffset", concat_dim=P(-1), shape=sizes)
        out.record("ConcatOffset", concat_dim=P(0), shape=sizes, error=True)
        out.record("ConcatOffset", concat_dim=P(2), shape=sizes, error=True)
        for a, b in (([3, 1], [2]), ([2, 1, 4], [4]), ([], [2]), ([1, 1], [1]), ([2, 1], [2, 1]), ([0, 1], [3])):
            shapes = {"s0": np.array(a, dtype), "s1": np.array(b, dtype)}
            out.record("BroadcastArgs", **shapes)
            out.record("BroadcastGradientArgs", **shapes)
        apart = {"s0": np.array([3], dtype), "s1": np.array([2], dtype)}
        out.record("BroadcastArgs", **apart, error=True)
        out.record("BroadcastGradientArgs", **apart, error=True)
        out.record("ShapeN", {"out_type": tf.as_dtype(dtype)}, each=True, input=[counted(2, 3), counted(3, 1)])
    out.record("ShapeN", input=[counted(2), np.float32(1)])
    flags = ({}, {"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True})
    for dtype in NUMBERS:
        out.record("Cumprod", each=True, x=counted(3, 2, dtype=dtype), axis=P(0))
    for attrs in flags:
        for axis in (0, -1):
            for axis_dtype in (np.int32, np.int64):
                out.record("Cumprod", attrs, x=counted(3, 4, dtype=np.float64), axis=P(axis, axis_dtype))
                out.record("CumulativeLogsumexp", attrs, x=counted(3, 4) / 3, axis=P(axis, axis_dtype))
        for dtype in FLOATS:
            low = np.array([-np.inf, -np.inf, 1, 3, -np.inf], dtype)
            out.record("CumulativeLogsumexp", attrs, x=low, axis=P(0))
    out.record("Cumprod", x=counted(3), axis=P(1), error=True)


def sort_cases(out):
    x = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]])
    for dtype in NUMBERS:
        out.record("TopKV2", each=True, input=x.astype(dtype), k=P(3))
        out.record("NthElement", each=True, input=x.astype(dtype), n=P(1))
        rows = {"sorted_inputs": np.sort(x).astype(dtype), "values": x[:, ::-1].astype(dtype)}
        for op in ("LowerBound", "UpperBound"):
            out.record(op, each=True, **rows)
    for op in ("LowerBound", "UpperBound"):
        out.record(op, {"out_type": tf.int64}, **rows)
    for index in (tf.int16, tf.int32, tf.int64):
        out.record("TopKV2", {"index_type": index}, input=x, k=P(4))
    out.record("TopKV2", input=f32(0.0, -0.0, 1), k=P(3))
    for k in (0, 5, -1):
        out.record("TopKV2", input=x, k=P(k), error=k != 0)
    for n in (0, 3, 4, -1):
        out.record("NthElement", {"reverse": True}, input=x, n=P(n), error=n in (4, -1))
    predictions = np.array([[1, 2, 3], [2, 2, 2], [1, np.inf, 0], [1, 2, 3]], np.float32)
    for dtype in (np.int32, np.int64):
        targets = np.array([1, 0, 0, 3], dtype)
        out.record("InTopK", {"k": 2}, predictions=predictions, targets=targets)
        for k in (0, 1, 3, -1):
            out.record("InTopKV2", predictions=predictions, targets=targets, k=P(k, dtype))
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        out.record("Bucketize", {"boundaries": [0.0, 1.0, 3.5]}, input=np.array([-1, 0, 1, 3, 7], dtype))
        out.record("Bucketize", {"boundaries": [1.0, 0.0]}, input=np.array([1], dtype), error=True)
    out.record("Bucketize", {"boundaries": [0.1, 0.2]}, input=np.array([0.1, 0.2, np.nan]))


def count_cases(out):
    x, none = np.array([[1, 1, 5], [2, 0, 1]]), np.array([])
    for weights_dtype in (np.int32, np.int64, np.float32, np.float64):
        weights = np.array([[1, 2, 4], [8, 16, 32]], weights_dtype)
        for given in (weights, none.astype(weights_dtype)):
            out.record("Bincount", arr=x.astype(np.int32), size=P(3), weights=given)
            for dtype in (np.int32, np.int64):
                for binary in (False, True):
                    attrs, size = {"binary_output": binary}, P(3, dtype)
                    values = x.astype(dtype)
                    out.record("DenseBincount", attrs, input=values, size=size, weights=given)
                    flat = given.reshape(-1)
                    out.record("DenseBincount", attrs, input=values[0], size=size, weights=flat[:3])
                    sparse = {"indices": np.array([[0, 0], [0, 2], [1, 1]]), "dense_shape": P([2, 3], np.int64)}
                    out.record(
                        "SparseBincount", attrs, **sparse, values=values[0], size=size, weights=flat[:3]
                    )
                    splits = np.array([0, 2, 2, 3])
                    out.record(
                        "RaggedBincount", attrs, splits=splits, values=values[0], size=size, weights=flat[:3]
                    )
    for bad in ({"arr": i32(1, -1)}, {"arr": i32(1, 1), "weights": f32(1, 2, 3)}):
        out.record("Bincount", **({"weights": f32(1, 1)} | bad), size=P(3), error=True)
    outside = {"indices": np.array([[0, 0], [2, 1]]), "dense_shape": P([2, 3], np.int64), "values": i32(1, 2)}
    out.record("SparseBincount", **outside, size=P(3), weights=f32(1, 2), error=True)
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        values, limits = np.array([-1, 0, 1, 2, 5, 15], dtype), np.array([0, 5], dtype)
        for count in (tf.int32, tf.int64):
            out.record("HistogramFixedWidth", {"dtype": count}, values=values, value_range=limits, nbins=P(5))
    values = {"values": f32(0.1, 0.25, 0.999, 1.0), "value_range": f32(0, 1)}
    out.record("HistogramFixedWidth", **values, nbins=P(3))
    out.record("HistogramFixedWidth", **values, nbins=P(0), error=True)
    for bad in ({"values": f32(np.nan)}, {"value_range": f32(1, 1)}):
        out.record("HistogramFixedWidth", **(values | bad), nbins=P(3), error=True)


def sparse_segment_cases(out):
    for dtype in FLOATS:
        for index in (np.int32, np.int64):
            for how in ("Sum", "Mean", "SqrtN"):
                selected = {"indices": np.array([2, 0, 0, 1], index), "segment_ids": np.array([0, 0, 2, 2], index)}
                x, op = np.array([[1, 2], [3, 5], [7, 11]], dtype), f"SparseSegment{how}"
                out.record(op, each=True, data=x, **selected)
                out.record(f"{op}WithNumSegments", each=True, data=x, **selected, num_segments=P(4))
                out.record(f"{op}Grad", each=True, grad=x, **selected, output_dim0=P(4))
                out.record(f"{op}GradV2", each=True, grad=x, **selected, dense_output_dim0=P(4))
    x = {"data": counted(3, 2)}
    for ids, indices in (([0, 0], [0, 3]), ([1, 0], [0, 1]), ([0, 0], [0, -1])):
        out.record("SparseSegmentSum", **x, indices=i32(*indices), segment_ids=i32(*ids), error=True)
    far = {"indices": i32(0, 1), "segment_ids": i32(0, 3)}
    out.record("SparseSegmentSumWithNumSegments", **x, **far, num_segments=P(3), error=True)
    none = np.zeros(0, np.int32)
    out.record("SparseSegmentMean", **x, indices=none, segment_ids=none)
    out.record("SparseSegmentMeanWithNumSegments", **x, indices=none, segment_ids=none, num_segments=P(2))


def set_cases(out):
    kinds = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, object)
    wide = {"indices": [[0, 0], [0, 1], [0, 3], [1, 0]], "values": [3, 1, 3, 2], "shape": [2, 4]}
    thin = {"indices": [[0, 0], [1, 0], [1, 1]], "values": [1, 2, 9], "shape": [2, 2]}

    def typed(values, dtype):
        values = np.array(values)
        return np.array([b"%d" % v for v in values.reshape(-1)], object).reshape(values.shape) if dtype is object else values.astype(dtype)

    def sparse(name, sets, dtype):
        given = {"indices": np.array(sets["indices"]), "values": typed(sets["values"], dtype), "shape": np.array(sets["shape"])}
        return {f"{name}_{part}": value for part, value in given.items()}

    for dtype in kinds:
        first, second = typed([[1, 2, 2], [5, 4, 3]], dtype), typed([[2, 3], [9, 4]], dtype)
        for operation in ("a-b", "b-a", "intersection", "union"):
            attrs = {"set_operation": operation}
            out.record("DenseToDenseSetOperation", attrs, set1=first, set2=second)
            out.record("DenseToSparseSetOperation", attrs, set1=first, **sparse("set2", wide, dtype))
            both = sparse("set1", wide, dtype) | sparse("set2", thin, dtype)
            out.record("SparseToSparseSetOperation", attrs, **both)
        out.record("SetSize", **sparse("set", wide, dtype))
    bad = wide | {"indices": [[0, 1], [0, 0], [0, 3], [1, 0]]}
    out.record("SetSize", **sparse("set", bad, np.int32), error=True)
    far = wide | {"indices": [[0, 0], [0, 1], [0, 3], [2, 0]]}
    out.record("SetSize", **sparse("set", far, np.int32), error=True)
    out.record("DenseToDenseSetOperation", {"set_operation": "xor"}, set1=i32([1], [2]), set2=i32([1], [3]), error=True)
    for dtype in ALL + (object,):
        values = typed([5, 6], dtype) if dtype is object else np.array([5, 6]).astype(dtype)
        default = values[0] if dtype is object else np.array(0, dtype)
        pairs = {"sparse_indices": i32([0, 1], [2, 0]), "output_shape": P([3, 2])}
        default = np.array(b"x", object) if dtype is object else default
        out.record("SparseToDense", each=True, **pairs, sparse_values=values, default_value=default)
    spots = {"output_shape": P([3], np.int64), "default_value": np.int32(9)}
    out.record("SparseToDense", **spots, sparse_indices=np.array([0, 2]), sparse_values=i32(5, 6))
    out.record("SparseToDense", **spots, sparse_indices=np.array([0, 2]), sparse_values=np.int32(5))
    out.record("SparseToDense", **spots, sparse_indices=np.array(1), sparse_values=np.int32(5))
    for indices in ([2, 0], [1, 1]):
        backward = {"sparse_indices": np.array(indices), "sparse_values": i32(5, 6)}
        out.record("SparseToDense", **spots, **backward, error=True)
        out.record("SparseToDense", {"validate_indices": False}, **spots, **backward)
    out.record("SparseToDense", **spots, sparse_indices=np.array([0, 3]), sparse_values=i32(5, 6), error=True)
    for dtype in ALL + (object,):
        x = np.array([[1, 0, 1], [1, 0, 1], [0, 0, 0]])
        x = typed(x, dtype)
        for axis in ([0], [-1]):
            for op in ("UniqueV2", "UniqueWithCountsV2"):
                out.record(op, each=True, x=x, axis=P(axis, np.int64))
    for op in ("UniqueV2", "UniqueWithCountsV2"):
        out.record(op, {"out_idx": tf.int64}, x=i32(4, 2, 4), axis=P([], np.int32))
        out.record(op, x=counted(2, 2, 2), axis=P([1]))
        out.record(op, x=f32([np.nan], [np.nan])[:0], axis=P([0]))
        out.record(op, x=counted(2, 2), axis=P([2]), error=True)
        out.record(op, x=counted(2, 2), axis=P([], np.int32), error=True)


def ragged_cases(out):
    for starts, limits, deltas in (
        (i32(0, 5, 8), i32(3, 5, 12), i32(1, 1, 2)),
        (f32(0, 3), f32(1, 1), f32(0.25, -0.5)),
        (i32(2, 3), np.int32(7), np.int32(2)),
    ):
        out.record("RaggedRange", starts=starts, limits=limits, deltas=deltas)
    out.record("RaggedRange", {"Tsplits": tf.int32}, starts=i32(1, 4), limits=i32(5, 0), deltas=i32(3, -1))
    out.record("RaggedRange", starts=i32(1), limits=i32(2), deltas=i32(0), error=True)
    outer, inner = np.array([0, 2, 2, 3], np.int64), np.array([0, 1, 1, 4], np.int64)
    values, pairs = f32(5, 6, 7, 8), f32([1, 2], [3, 4], [5, 6], [7, 8])
    for splits in ([outer, inner], [inner.astype(np.int32)], [np.array([0, 4], np.int64)], [np.array([1, 4], np.int64)]):
        fails = splits[0][0] != 0
        for flat in (values, pairs):
            out.record("RaggedTensorToSparse", rt_nested_splits=splits, rt_dense_values=flat, error=fails)
    for indices in (i32(2, 0, 2), i32([1, 0], [2, 2]), np.zeros(0, np.int32), i32(3), i32(-1)):
        for flat in (values, pairs):
            fails = bool(((indices < 0) | (indices > 2)).any())
            attrs = {"OUTPUT_RAGGED_RANK": 2 + indices.ndim - 1}
            rows = {"params_nested_splits": [outer, inner], "params_dense_values": flat, "indices": indices}
            out.record("RaggedGather", attrs, **rows, error=fails)
    rowids, nrows = np.array([0, 2, 2, 2], np.int64), np.array(5, np.int64)
    for kinds, parts in (
        (["ROW_SPLITS"], [inner]),
        (["ROW_SPLITS", "ROW_SPLITS"], [outer, inner]),
        (["FIRST_DIM_SIZE", "VALUE_ROWIDS"], [nrows, rowids]),
        (["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"], [nrows, np.array([0, 0, 3], np.int64), rowids]),
    ):
        axes = 1 + len(kinds) - kinds.count("FIRST_DIM_SIZE")
        for shape in ([-1] * axes, [2] * axes, [4] * axes):
            attrs = {"row_partition_types": kinds}
            given = {"default_value": np.float32(9), "row_partition_tensors": parts}
            out.record("RaggedTensorToTensor", attrs, shape=P(shape), values=values, **given)
            given["default_value"] = f32(9, -9)
            out.record("RaggedTensorToTensor", attrs, shape=P(shape + [-1]), values=pairs, **given)


def sparse_op_cases(out):
    def i64(*values):
        return np.array(values, np.int64)

    indices, shape = i64([0, 0], [0, 2], [1, 1], [2, 0]), i64(3, 4)
    values, words = f32(1, -2, 3, 4), np.array([b"a", b"", b"long", b"d"], object)
    sparse = {"indices": indices, "values": values, "shape": shape}
    for start, size in (([0, 0], [2, 2]), ([-1, 0], [2, 2]), ([1, 1], [5, 5]), ([4, 0], [1, 1]), ([0, 1], [3, 0])):
        out.record("SparseSlice", **sparse, start=i64(*start), size=i64(*size))
    out.record("SparseSlice", **sparse, start=i64(0, 0), size=i64(-1, 2), error=True)
    out.record("SparseSlice", **(sparse | {"indices": indices[::-1], "values": words}), start=i64(0, 0), size=i64(3, 2))
    pair = {"indices": [indices, i64([2, 3], [0, 1])], "shapes": [shape, shape]}
    for axis in (0, 1, -1):
        out.record("SparseConcat", {"concat_dim": axis}, values=[values, f32(5, 6)], **pair)
        out.record("SparseConcat", {"concat_dim": axis}, values=[words, words[2:]], **pair)
    out.record("SparseConcat", {"concat_dim": 2}, values=[values, f32(5, 6)], **pair, error=True)
    pair["shapes"] = [shape, i64(3, 5)]
    out.record("SparseConcat", {"concat_dim": 1}, values=[values, f32(5, 6)], **pair)
    out.record("SparseConcat", {"concat_dim": 0}, values=[values, f32(5, 6)], **pair, error=True)
    empty = np.zeros((0, 2), np.int64)
    for op in ("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse"):
        rows = {"input_indices": indices, "input_values": values, "input_shape": shape}
        for keeps in (False, True):
            for axes in ([], [0], [1], [-1], [0, 1], [1, 1], 0):
                out.record(op, {"keep_dims": keeps}, **rows, reduction_axes=P(axes))
            out.record(op, {"keep_dims": keeps}, **rows, reduction_axes=P([2]), error=True)
            none = {"input_indices": empty, "input_values": f32()}
            out.record(op, {"keep_dims": keeps}, **(rows | none), reduction_axes=P([1]))
        out.record(op, **(rows | {"input_indices": indices[::-1]}), reduction_axes=P([1]))
        for dtype in (np.float64, np.int64, np.int32, np.int8, np.uint8, np.float16, np.complex64):
            typed = rows | {"input_values": np.array([1, 2, 3, 4], dtype)}
            out.record(op, each=True, **typed, reduction_axes=P([0]))
    out.record("SparseReduceSum", **(rows | {"input_indices": indices + 3}), reduction_axes=P([0]), error=True)
    other = i64([0, 2], [1, 1], [1, 3])
    for dtype in (np.float32, np.float64, np.int64, np.int32, np.int16, np.int8, np.complex64, np.complex128):
        a = {"a_indices": indices, "a_values": np.array([1, -2, 3, 4], dtype), "a_shape": shape}
        b = {"b_indices": other, "b_values": np.array([2, 1, 5], dtype), "b_shape": shape}
        part = {"c": dtype(0).real.dtype}.get(np.dtype(dtype).kind, dtype)
        for threshold in (0, 3, 5):
            out.record("SparseAdd", **a, **b, thresh=np.array(threshold, part))
        for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
            out.record(op, each=True, **a, **b)
    fails = {"b_shape": i64(3, 5)}
    out.record("SparseAdd", **a, **(b | fails), thresh=np.array(0, part), error=True)


def sparse_pair_cases(out):
    def i64(*values):
        return np.array(values, np.int64)

    indices, shape = i64([0, 0], [0, 2], [1, 1], [2, 0]), i64(3, 4)
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        sparse = {"sp_indices": indices, "sp_values": np.array([1, -2, 30, 4], dtype), "sp_shape": shape}
        for op in ("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv"):
            for dense in ([[1, 2, 3, 4], [5, 6, 7, 8], [9, 1, 2, 3]], [1, 2, 3, 4], [[2], [3], [5]], 7):
                out.record(op, **sparse, dense=np.array(dense, dtype))
            out.record(op, **sparse, dense=np.array([1, 2, 3], dtype), error=True)
        for integer in (np.int32, np.int64):
            sparse = {"a_indices": indices.astype(integer), "a_values": np.array([1, -2, 30, 4], dtype)}
            sparse["a_shape"] = shape.astype(integer)
            out.record("SparseTensorDenseAdd", **sparse, b=np.arange(12).reshape(3, 4).astype(dtype))
            out.record("SparseTensorDenseAdd", **sparse, b=np.arange(12).reshape(4, 3).astype(dtype), error=True)
            far = sparse | {"a_indices": sparse["a_indices"] + 2}
            out.record("SparseTensorDenseAdd", **far, b=np.arange(12).reshape(3, 4).astype(dtype), error=True)
    for words in (np.array([b"a", b"b", b"c", b"d", b"a", b"c", b"x"], object), f32(1, 2, 3, 4, 1, 3, 9), i64(1, 2, 3, 4, 1, 3, 9)):
        first = {"hypothesis_indices": i64([0, 0], [0, 1], [1, 0], [3, 2]), "hypothesis_values": words[:4]}
        first |= {"hypothesis_shape": i64(4, 3), "truth_shape": i64(3, 5)}
        first |= {"truth_indices": i64([0, 0], [0, 1], [2, 4]), "truth_values": words[4:]}
        for normalize in (True, False):
            out.record("EditDistance", {"normalize": normalize}, **first)
        out.record("EditDistance", **(first | {"truth_shape": i64(2, 5)}))
        out.record("EditDistance", **(first | {"truth_indices": i64([0, 0], [0, 1], [4, 0])}), error=True)
    cells = i64([0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 2, 0])
    boxes = {"hypothesis_indices": cells, "hypothesis_values": i32(1, 2, 3, 4), "hypothesis_shape": i64(2, 3, 2)}
    boxes |= {"truth_indices": cells[1:], "truth_values": i32(1, 3, 5), "truth_shape": i64(2, 3, 2)}
    out.record("EditDistance", **boxes)
    complex_cases = {"hypothesis_values": [1 + 2j, complex(0, -0.0), 3, complex(np.nan, 1)]}
    complex_cases |= {"truth_values": [1 - 2j, 0, complex(np.nan, 1)]}
    for dtype in (np.complex64, np.complex128):
        values = {name: np.array(given, dtype) for name, given in complex_cases.items()}
        out.record("EditDistance", **(boxes | values | {"truth_indices": cells[[0, 1, 3]]}))
    for dtype in (np.float32, np.int32, np.complex64):
        x = np.array([[1, 2], [3, 4], [5, 6]], dtype)
        out.record("ScatterNdNonAliasingAdd", input=x, indices=i32([2], [0], [2]), updates=x * 3 + 1)
    out.record("ScatterNdNonAliasingAdd", input=x, indices=i32([3]), updates=x[:1], error=True)


def random_cases(out):
    """The numbers of normal distributions depend on the C library's logarithm and sine in the last bit."""
    for seed in (np.array([1, 2]), i32(-7, 2147483647), np.array([1 << 62, -3])):
        key, counter = (value.numpy() for value in tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed))
        out.record("StatelessRandomGetKeyCounter", seed=seed)
        out.record("StatelessRandomGetKeyCounterAlg", seed=seed)
        state = {"key": key, "counter": counter, "alg": np.int32(1)}
        for shape in ([7], [2, 3], [], [0, 2]):
            for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
                for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
                    # A sum of squares of f16 would show the rounding of the logarithm.
                    if op == "StatelessRandomUniform" or dtype in (tf.float32, tf.float64):
                        out.record(op, {"dtype": dtype}, shape=P(shape), seed=seed)
                        out.record(op + "V2", {"dtype": dtype}, shape=P(shape), **state)
            for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
                out.record("StatelessRandomUniformFullInt", {"dtype": dtype}, shape=P(shape), seed=seed)
                out.record("StatelessRandomUniformFullIntV2", {"dtype": dtype}, shape=P(shape), **state)
            for bounds in (i32(-3, 4), i32(-(1 << 31), (1 << 31) - 1), np.array([5, 1 << 60]), np.array([0, 6])):
                given = {"minval": bounds[0], "maxval": bounds[1]}
                out.record("StatelessRandomUniformInt", shape=P(shape), seed=seed, **given)
                out.record("StatelessRandomUniformIntV2", shape=P(shape), **state, **given)
    out.record("StatelessRandomGetAlg")
    given = {"minval": np.int32(4), "maxval": np.int32(4)}
    out.record("StatelessRandomUniformInt", shape=P([2]), seed=seed, **given, error=True)
    out.record("StatelessRandomUniform", shape=P([2]), seed=np.array([1]), error=True)
    out.record("StatelessRandomUniformV2", shape=P([2]), **(state | {"alg": np.int32(2)}), error=True)
    wrapped = state | {"counter": np.array([2**64 - 1, 2**64 - 1], np.uint64)}
    out.record("StatelessRandomUniformV2", shape=P([9]), **wrapped)
    out.record("StatelessTruncatedNormalV2", shape=P([300]), **state)


def ragged_feature_cases(out):
    rowids, nrows = np.array([1, 1, 3], np.int64), P(5, np.int64)
    rows = {"value_rowids": rowids, "values": f32(5, 6, 7), "nrows": nrows, "default_value": np.float32(-1)}
    out.record("RaggedFillEmptyRows", **rows)
    out.record("RaggedFillEmptyRows", **(rows | {"value_rowids": np.array([3, 0, 3], np.int64)}))
    words = {"values": np.array([b"a", b"", b"c"], object), "default_value": np.array(b"none", object)}
    out.record("RaggedFillEmptyRows", **(rows | words))
    out.record("RaggedFillEmptyRows", **(rows | {"value_rowids": np.zeros(0, np.int64), "values": f32()}))
    out.record("RaggedFillEmptyRows", error=True, **(rows | {"nrows": P(3, np.int64)}))
    for op in ("RaggedFillEmptyRowsGrad", "SparseFillEmptyRowsGrad"):
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            gradients = np.array([1, 2, 4, 8], dtype)
            out.record(op, reverse_index_map=np.array([3, 1], np.int64), grad_values=gradients)
        out.record(op, reverse_index_map=np.zeros(0, np.int64), grad_values=f32(1, 2))
        out.record(op, reverse_index_map=np.array([2], np.int64), grad_values=f32(1, 2), error=True)
    splits, indices = np.array([0, 2, 2, 4], np.int64), np.array([[0, 1], [0, 4], [2, 0], [2, 3]], np.int64)
    for integer in (np.int32, np.int64):
        numbers = np.array([2, 0, 2, 5], integer)
        for weights in (f32(), np.zeros(0, np.int64), f32(0.5, 1, 2, 4), np.array([1, 2, 3, 4], np.float64), i32(3, 4, 5, 6)):
            for attrs in ({}, {"minlength": 9}, {"maxlength": 3}, {"minlength": 2, "maxlength": 8}, {"binary_output": True}):
                attrs = {"binary_output": False} | attrs
                out.record("DenseCountSparseOutput", attrs, values=numbers, weights=weights)
                matrix = weights.reshape(2, 2) if weights.size else weights
                out.record("DenseCountSparseOutput", attrs, values=numbers.reshape(2, 2), weights=matrix)
                out.record("RaggedCountSparseOutput", attrs, splits=splits, values=numbers, weights=weights)
                sparse = {"indices": indices, "values": numbers, "dense_shape": np.array([3, 5], np.int64)}
                out.record("SparseCountSparseOutput", attrs, **sparse, weights=weights)
    numbers = {"binary_output": False}
    out.record("RaggedCountSparseOutput", numbers, splits=splits, values=i32(2, 0, 2), weights=f32(), error=True)
    out.record("DenseCountSparseOutput", numbers, values=i32(2, 0), weights=f32(1), error=True)
    empty = {"splits": np.array([0, 0], np.int64), "values": i32(), "weights": f32()}
    out.record("RaggedCountSparseOutput", numbers, **empty)
    words, ids = np.array([b"a", b"bc", b"", b"d"], object), np.array([5, -6, 7, 8], np.int64)
    cells = np.array([[0, 0], [0, 3], [2, 1]], np.int64)
    cross = {"ragged_values": [words, ids], "ragged_row_splits": [splits, np.array([0, 1, 3, 4], np.int64)]}
    cross |= {"sparse_indices": [], "sparse_values": [], "sparse_shape": [], "dense_inputs": []}
    dense = {"dense_inputs": [np.array([[1, 2], [3, 4], [5, 6]], np.int64), np.array([[b"x"], [b"y"], [b"z"]], object)]}
    sparse = {"sparse_indices": [cells], "sparse_values": [ids[:3]], "sparse_shape": [np.array([3, 4], np.int64)]}
    for hashed, buckets in ((False, 0), (True, 0), (True, 1000)):
        kind = tf.int64 if hashed else tf.string
        attrs = {"hashed_output": hashed, "num_buckets": buckets, "hash_key": 0xDECAFCAFFE, "out_values_type": kind}
        attrs["out_row_splits_type"] = tf.int64
        out.record("RaggedCross", attrs | {"input_order": "RR"}, **cross)
        out.record("RaggedCross", attrs | {"input_order": "RDRD"}, **(cross | dense))
        out.record("RaggedCross", attrs | {"input_order": "SRR"}, **(cross | sparse))
        out.record("RaggedCross", attrs | {"input_order": "DSRDR"}, **(cross | dense | sparse))
    short = {"dense_inputs": [dense["dense_inputs"][0][:2]]}
    out.record("RaggedCross", attrs | {"input_order": "RRD"}, **(cross | short), error=True)


def narrow_cases(out):
    x = MATRIX
    short = lambda values: np.array(values, np.int16)
    out.record("GatherV2", params=x, indices=short([2, 0]), axis=P(1))
    out.record("GatherV2", params=x, indices=short([2, -1]), axis=P(1), error=True)
    out.record("GatherNd", params=x, indices=short([[2, 0], [1, 1]]))
    out.record("GatherNd", params=x, indices=short([[3, 0]]), error=True)
    for op in ("ArgMax", "ArgMin"):
        for dtype in (tf.int16, tf.uint16, tf.int32, tf.int64):
            for values in (x, x.astype(np.int32), x > 4):
                out.record(op, {"output_type": dtype}, each=True, input=values, dimension=P(0))
    for dtype in (np.float64, np.float32, np.float16):
        x, y = np.array([7, -7, 0.5, 100], dtype), np.array([2, 2, -0.25, 0.3], dtype)
        out.record("TruncateDiv", x=x, y=y)


def area_cases(out):
    images = np.arange(2 * 5 * 7 * 2).reshape(2, 5, 7, 2) % 13
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.uint8, np.int8, np.int16, np.int32, np.int64):
        out.record("ResizeArea", images=images.astype(dtype), size=P([2, 3]))
    for size in ([5, 7], [1, 1], [4, 20], [10, 14], [3, 1]):
        for align in (False, True):
            out.record("ResizeArea", {"align_corners": align}, images=images.astype(np.float32), size=P(size))
    out.record("ResizeArea", images=np.zeros((1, 0, 3, 1), np.float32), size=P([2, 2]), error=True)
    out.record("ResizeArea", images=np.zeros((3, 3, 1), np.float32), size=P([2, 2]), error=True)


def least_squares_cases(out):
    rng = np.random.default_rng(16)
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        for sizes in ((4, 2, 2), (2, 4, 1), (3, 3, 1), (1, 1, 1)):
            rows, unknowns, columns = sizes
            parts = rng.normal(size=(2, 2, rows, unknowns)), rng.normal(size=(2, 2, rows, columns))
            a, b = ((part[0] + (1j * part[1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype) for part in parts)
            for fast, l2 in ((True, 0.0), (True, 0.5), (False, 0.0), (False, 0.5)):
                out.record("MatrixSolveLs", {"fast": fast}, matrix=a, rhs=b, l2_regularizer=np.float64(l2))
    flat, side, none = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[1.0], [2.0]]), np.float64(0)
    out.record("MatrixSolveLs", {"fast": False}, matrix=flat, rhs=side, l2_regularizer=none)
    out.record("MatrixSolveLs", {"fast": True}, matrix=flat, rhs=side, l2_regularizer=none, error=True)
    out.record("MatrixSolveLs", matrix=flat, rhs=side[:1], l2_regularizer=none, error=True)
    for dtype in (np.float32, np.float64):
        for sizes in ((3, 3), (2, 4, 4), (1, 1)):
            root = rng.normal(size=sizes)
            factor = np.linalg.cholesky(root @ np.swapaxes(root, -1, -2) + np.eye(sizes[-1]))
            out.record("CholeskyGrad", l=factor.astype(dtype), grad=rng.normal(size=sizes).astype(dtype))


def mixed_dtype_cases(out):
    """Operands of a dtype that the result does not have, and parameters of narrow dtypes."""
    bytes_of = {np.int8: ([100, -128, 127], [[-3, 5], [127, 2], [1, -128]]), np.uint8: ([200, 3, 255], [[7, 255], [1, 0], [9, 4]])}
    for left, right in ((np.int8, np.int8), (np.uint8, np.int8), (np.int8, np.uint8), (np.uint8, np.uint8)):
        x, y = np.array([[bytes_of[left][0]] * 2], left), np.array([bytes_of[right][1]], right)
        out.record("BatchMatMulV3", {"Tout": tf.int32}, x=x, y=y)
        out.record("BatchMatMulV3", {"Tout": tf.int32, "adj_y": True}, x=x, y=np.swapaxes(y, 1, 2).copy())
    bounds = {name: P(value, np.int16) for name, value in (("begin", [1]), ("end", [-1]), ("strides", [2]))}
    out.record("StridedSlice", input=i32(9, 8, 7, 6, 5, 4), **bounds)
    sizes = P([1, 2], np.int8)
    out.record("SplitV", {"num_split": 2}, value=i32(9, 8, 7), size_splits=sizes, split_dim=P(0))
    plain = (np.uint8, np.int16, HALF, np.int32, np.float32, np.int64, np.float64)
    complexes = (np.complex64, np.complex128)
    for source in plain + complexes:
        for target in plain + complexes:
            if source in complexes or target in complexes:
                ratio = max(1, np.dtype(target).itemsize // np.dtype(source).itemsize)
                x = np.frombuffer(bytes([3, 60, 5, 61, 7, 62, 9, 63] * 4), source).reshape(-1, ratio)
                x = x if ratio > 1 else x.reshape(-1)
                out.record("Bitcast", {"type": tf.as_dtype(target)}, input=x)
    out.record("Bitcast", {"type": tf.complex64}, input=f32(1, 2, 3), error=True)


def distribution_cases(out):
    """Samples of distributions. TensorFlow numbers the samples of one parameter before those of the next one."""
    seeds = (np.array([1, 2]), i32(-7, 2147483647))
    for seed in seeds:
        key, counter = (value.numpy() for value in tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed))
        state = {"key": key, "counter": counter, "alg": np.int32(1)}
        for x in (i32(*range(9)), np.arange(10, dtype=np.float64).reshape(5, 2), np.array([b"a", b"bc", b""], object)):
            out.record("StatelessShuffle", value=x, **state)
        for x in (np.float32(3), f32(), f32(1), np.zeros((3, 0), np.int8), np.array([True, False, False])):
            out.record("StatelessShuffle", value=x, **state)
        for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
            logits = np.array([[0.5, -1, 2, 0], [0, 0, 0, 0], [-9, 4, 3.5, 4]], dtype)
            for count in (7, 1, 0):
                out.record("StatelessMultinomial", logits=logits, num_samples=P(count), seed=seed)
            out.record("StatelessMultinomial", {"output_dtype": tf.int32}, logits=logits, num_samples=P(3), seed=seed)
        odd = f32([0, np.inf, -np.inf, 1], [-np.inf] * 4, [np.nan, 0, 0, np.nan])
        out.record("StatelessMultinomial", logits=odd, num_samples=P(5), seed=seed)
        for dtype in (np.float32, np.float64):
            alpha = np.array([0.125, 0.9, 1, 3.5, 700], dtype)
            out.record("StatelessRandomGammaV2", shape=P([4, 5]), seed=seed, alpha=alpha)
            out.record("StatelessRandomGammaV3", shape=P([4, 5]), **state, alpha=alpha)
            out.record("StatelessRandomGammaV2", shape=P([3]), seed=seed, alpha=alpha[3])
            out.record("StatelessRandomGammaV2", shape=P([0, 5]), seed=seed, alpha=alpha)
            out.record("StatelessRandomGammaV2", shape=P([2, 3]), seed=seed, alpha=np.array([0, 1, np.inf], dtype))
        for dtype in (tf.float32, tf.float64, tf.float16, tf.int32, tf.int64):
            rates = np.array([0, 0.5, 3, 9.75, 10, 25.5, 1000], np.float32)
            out.record("StatelessRandomPoisson", {"dtype": dtype}, shape=P([6, 7]), seed=seed, lam=rates)
            for rate in (np.float64(14.5), np.int32(3), np.int64(77), np.float16(2.5)):
                out.record("StatelessRandomPoisson", {"dtype": dtype}, shape=P([2, 3]), seed=seed, lam=rate)
            out.record("StatelessRandomPoisson", {"dtype": dtype}, shape=P([0]), seed=seed, lam=np.float32(1))
            for real in (np.float32, np.float64, np.float16):
                counts = np.array([[0], [1], [9], [40], [1000]], real)
                chances = np.array([0, 0.03125, 0.5, 0.75, 1], real)
                given = {"counts": counts, "probs": chances}
                out.record("StatelessRandomBinomial", {"dtype": dtype}, shape=P([3, 5, 5]), seed=seed, **given)
            given = {"counts": np.float64(50), "probs": np.float64(0.625)}
            out.record("StatelessRandomBinomial", {"dtype": dtype}, shape=P([4]), seed=seed, **given)
    for seed in seeds:
        for dtype in (np.float32, np.float64, np.float16):
            inf = dtype(np.inf)
            # Numbers from normal, uniform and exponential proposals, with the deciding bound below and above the mean.
            low = np.array([-2, 0.5, 2, -inf, -inf, -5, -1, 1.25], dtype)
            high = np.array([1, 0.75, inf, 0.5, -1.5, -4, inf, 40], dtype)
            given = {"means": dtype(0.25), "stddevs": dtype(0.5), "minvals": low, "maxvals": high}
            out.record("StatelessParameterizedTruncatedNormal", shape=P([7, 8]), seed=seed, **given)
            out.record("StatelessParameterizedTruncatedNormal", shape=P([0, 8]), seed=seed, **given)
            given = {"means": np.array([[0], [3]], dtype), "stddevs": np.array([1, 2, 4], dtype)}
            given |= {"minvals": dtype(-1), "maxvals": np.array([5], dtype)}
            out.record("StatelessParameterizedTruncatedNormal", shape=P([2, 2, 2, 3]), seed=seed, **given)
            given = {"means": dtype(1), "stddevs": dtype(2), "minvals": dtype(-1), "maxvals": dtype(4)}
            out.record("StatelessParameterizedTruncatedNormal", shape=P([5]), seed=seed, **given)
            out.record("StatelessParameterizedTruncatedNormal", shape=P([]), seed=seed, **given)
    for dtype in (np.float32, np.float64, np.float16):
        given = {"means": dtype(1), "stdevs": dtype(2), "minvals": dtype(-1), "maxvals": dtype(4)}
        out.record("ParameterizedTruncatedNormal", {"seed": 3, "seed2": 5}, shape=P([50, 5]), **given)
        high = np.array([5, 7], dtype)
        given = {"means": np.array([0, 3], dtype), "stdevs": dtype(2), "minvals": np.array([-1], dtype), "maxvals": high}
        out.record("ParameterizedTruncatedNormal", {"seed": 3, "seed2": 5}, shape=P([2, 3, 2]), **given)
        out.record("ParameterizedTruncatedNormal", {"seed": 7}, shape=P([2]), **given)
    for given in (
        {"means": f32(0), "stddevs": f32(0), "minvals": f32(-1), "maxvals": f32(1)},
        {"means": f32(0), "stddevs": f32(1), "minvals": f32(1), "maxvals": f32(1)},
        {"means": f32(0), "stddevs": f32(1), "minvals": f32(-np.inf), "maxvals": f32(np.inf)},
        {"means": f32(0, 1), "stddevs": f32(1), "minvals": f32(-1), "maxvals": f32(1)},
    ):
        out.record("StatelessParameterizedTruncatedNormal", shape=P([3]), seed=seed, **given, error=True)
    out.record("StatelessShuffle", value=i32(1, 2), **(state | {"alg": np.int32(2)}), error=True)
    out.record("StatelessMultinomial", logits=np.zeros((2, 0), np.float32), num_samples=P(5), seed=seed, error=True)
    out.record("StatelessRandomGammaV2", shape=P([2]), seed=seed, alpha=f32(1), error=True)
    out.record("StatelessRandomPoisson", {"dtype": tf.float32}, shape=P([2]), seed=seed, lam=f32(1), error=True)
    given = {"counts": f32(1), "probs": f32(0.5)}
    out.record("StatelessRandomBinomial", {"dtype": tf.float32}, shape=P([2]), seed=seed, **given, error=True)


def sparse_part_cases(out):
    cells, shape = np.array([[0, 0], [0, 2], [1, 1], [2, 4]]), np.array([3, 5])
    for dtype in (np.float32, np.float64, np.float16):
        values = np.array([1, 2, 4, 8], dtype)
        out.record("SparseSoftmax", sp_indices=cells, sp_values=values, sp_shape=shape)
        cube = np.array([[0, 0, 0], [0, 0, 6], [0, 1, 2], [4, 0, 0], [4, 0, 2], [4, 0, 9]])
        spread = np.array([0, 0, -7, 500, 500, 500], dtype)
        out.record("SparseSoftmax", sp_indices=cube, sp_values=spread, sp_shape=np.array([5, 2, 10]))
        none = {"sp_indices": np.zeros((0, 2), np.int64), "sp_values": np.zeros(0, dtype)}
        out.record("SparseSoftmax", **none, sp_shape=shape)
    infinite = np.array([np.inf, 0, -np.inf, np.nan], np.float32)
    out.record("SparseSoftmax", sp_indices=cells, sp_values=infinite, sp_shape=shape)
    out.record("SparseSoftmax", sp_indices=cells[:, :1], sp_values=f32(1, 2, 3, 4), sp_shape=shape[:1], error=True)
    words = np.array([b"a", b"bc", b"", b"d"], object)
    for values in (f32(1, 2, 3, 4), np.arange(4, dtype=np.int8), words, np.array([1j, 2, 3, 4], np.complex64)):
        given = {"indices": cells, "values": values, "shape": shape}
        for axis in (0, 1, -1, -2):
            for count in (1, 2, 3):
                out.record("SparseSplit", {"num_split": count}, split_dim=np.int64(axis), **given)
    out.record("SparseSplit", {"num_split": 2}, split_dim=np.int64(2), **given, error=True)
    out.record("SparseSplit", {"num_split": 4}, split_dim=np.int64(0), **given, error=True)
    far = given | {"indices": cells * 3}
    out.record("SparseSplit", {"num_split": 2}, split_dim=np.int64(1), **far, error=True)


def pool_gradient_cases(out):
    image = (np.arange(2 * 4 * 3 * 2) * 7 % 11 - 5).reshape(2, 4, 3, 2)
    rng = np.random.default_rng(7)
    wide = np.float32, np.float64
    for padding in ("SAME", "VALID"):
        for sizes, strides in (([1, 2, 3, 1], [1, 1, 1, 1]), ([1, 3, 2, 1], [1, 2, 3, 1]), ([1, 2, 1, 1], [1, 3, 3, 1])):
            attrs = {"ksize": sizes, "strides": strides, "padding": padding}
            pooled = tf.raw_ops.MaxPool(input=image.astype(np.float32), **attrs).numpy()
            gradient = rng.integers(-8, 9, pooled.shape)
            x, y, dy = image.astype(np.float32), pooled, gradient.astype(np.float32)
            params = {"ksize": P(sizes), "strides": P(strides)}
            out.record("MaxPoolGradV2", {"padding": padding}, orig_input=x, orig_output=y, grad=dy, **params)
            out.record("MaxPoolGrad", attrs, orig_input=x, orig_output=y, grad=dy)
            for dtype in wide:
                out.record("AvgPoolGrad", attrs, orig_input_shape=P(x.shape), grad=gradient.astype(dtype))
            for batch in (False, True):
                more = attrs | {"include_batch_in_index": batch}
                _, argmax = tf.raw_ops.MaxPoolWithArgmax(input=x, **more)
                out.record("MaxPoolWithArgmax", more, input=x)
                out.record("MaxPoolGradWithArgmax", more, input=x, grad=dy, argmax=argmax.numpy())
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 1, 1], "padding": "VALID"}
    part = image[:1]
    pooled = tf.raw_ops.MaxPool(input=part.astype(np.float32), **attrs).numpy()
    halves = np.float16, tf.bfloat16.as_numpy_dtype
    for dtype in (np.float64, *halves, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        x, y, dy = part.astype(dtype), pooled.astype(dtype), (np.arange(pooled.size).reshape(pooled.shape) % 7).astype(dtype)
        out.record("MaxPoolGrad", attrs, each=True, orig_input=x, orig_output=y, grad=dy)
        out.record("MaxPoolWithArgmax", attrs, each=True, input=x)
        _, argmax = tf.raw_ops.MaxPoolWithArgmax(input=part.astype(np.float32), **attrs)
        out.record("MaxPoolGradWithArgmax", attrs, each=True, input=x, grad=dy, argmax=argmax.numpy())
    x = part.astype(np.float32)
    out.record("MaxPoolWithArgmax", attrs | {"Targmax": tf.int32}, each=True, input=x)
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    # Shares of powers of 2 are exact in every dtype.
    for dtype in halves:
        dy = (np.arange(2 * 2 * 2 * 3).reshape(2, 2, 2, 3) % 5 - 2).astype(dtype)
        out.record("AvgPoolGrad", attrs, orig_input_shape=P([2, 5, 4, 3]), grad=dy)
    empty = np.zeros((0, 5, 4, 2), np.float32)
    none = np.zeros((0, 2, 2, 2), np.float32)
    out.record("MaxPoolGrad", attrs, orig_input=empty, orig_output=none, grad=none)
    out.record("AvgPoolGrad", attrs, orig_input_shape=P([0, 5, 4, 2]), grad=none)
    one = np.full((1, 1, 1, 1), 3, np.float32)
    attrs = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    out.record("MaxPoolGrad", attrs, orig_input=one, orig_output=one, grad=one + 1)
    out.record("AvgPoolGrad", attrs, orig_input_shape=P([1, 1, 1, 1]), grad=one + 1)
    wrong = {"orig_input": image.astype(np.float32), "orig_output": none, "grad": none}
    out.record("MaxPoolGrad", attrs, error=True, **wrong)


def fake_quant_gradient_cases(out):
    x = f32(-3, -1.2, -0.5, -0.26, 0, 0.24, 0.6, 0.74, 1.7, 7)
    dy = np.arange(1, 11, dtype=np.float32)
    out.record("FakeQuantWithMinMaxArgsGradient", gradients=dy, inputs=x)
    attrs = {"min": -1.0, "max": 1.0, "num_bits": 3, "narrow_range": True}
    out.record("FakeQuantWithMinMaxArgsGradient", attrs, gradients=dy, inputs=x)
    for low, high in ((0.5, 2), (-2, -0.5), (-1.5, 1), (0, 0)):
        ends = {"min": np.float32(low), "max": np.float32(high)}
        for options in ({"num_bits": 4}, {"narrow_range": True}):
            out.record("FakeQuantWithMinMaxVarsGradient", options, gradients=dy, inputs=x, **ends)
    for size in (0, 1):
        part = {"gradients": dy[:size], "inputs": x[:size]}
        out.record("FakeQuantWithMinMaxArgsGradient", **part)
        out.record("FakeQuantWithMinMaxVarsGradient", **part, min=np.float32(-1), max=np.float32(1))
    ends = {"min": f32(-1, 0.25), "max": f32(1, 3)}
    for shape in ((5, 2), (1, 5, 1, 2), (0, 2)):
        part = {"gradients": dy[: np.prod(shape)].reshape(shape), "inputs": x[: np.prod(shape)].reshape(shape)}
        out.record("FakeQuantWithMinMaxVarsPerChannelGradient", **part, **ends)
    ends = {"min": f32(0, 0.25), "max": f32(0, 3)}
    part = {"gradients": dy.reshape(5, 2), "inputs": x.reshape(5, 2)}
    out.record("FakeQuantWithMinMaxVarsPerChannelGradient", **part, **ends)


def further_spelling_cases(out):
    for dtype in (np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype):
        out.record("CheckNumericsV2", {"message": "x"}, tensor=np.array([1, -2, 0.5], dtype))
        for wrong in (np.inf, -np.inf, np.nan):
            out.record("CheckNumericsV2", {"message": "x"}, tensor=np.array([1, wrong], dtype), error=True)
    out.record("CheckNumericsV2", {"message": "x"}, tensor=f32())
    mixed = [f32(1, 2), np.array([True, False]), np.int64(7), np.array([b"a", b""], object), np.zeros((0, 3), np.uint8)]
    out.record("IdentityN", input=mixed)
    out.record("IdentityN", input=mixed[:1])


DTYPES = """bfloat16 bool complex128 complex64 float16 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 uint8
    qint8 quint8 qint16 quint16 qint32 float8_e5m2 float8_e4m3fn int4 uint4"""


def converted(value, dtype):
    """Returns an array with elements of another dtype. Equal elements stay equal, and small numbers stay small."""
    if isinstance(value, list):
        return [converted(part, dtype) for part in value]
    if isinstance(value, Parameter):
        return Parameter(converted(value.value, dtype), dtype.as_numpy_dtype)
    value = np.asarray(value)
    if dtype.is_quantized or dtype.is_integer:
        value = np.nan_to_num(np.round(value.real.astype(np.float64)), nan=1)
        limit = 7 if dtype.name in ("int4", "uint4") else 100
        value = np.clip(value, -limit, limit)
    if dtype.is_quantized:
        return np.abs(value).astype(QUANTIZED[dtype]).view(dtype.as_numpy_dtype)
    if dtype.is_integer:
        return (np.abs(value) if dtype.is_unsigned else value).astype(dtype.as_numpy_dtype)
    return (value if dtype.is_complex else value.real).astype(dtype.as_numpy_dtype)


def smallest(calls):
    """Returns the recorded call with the fewest elements among those with at least 3 in an input."""
    def count(call):
        parts = [part for value in call[2].values() for part in (value if isinstance(value, list) else [value])]
        sizes = [np.asarray(part.value if isinstance(part, Parameter) else part).size for part in parts]
        return (max(sizes, default=0) < 3, sum(sizes))

    return min(calls, key=count)


def numeric(op, inputs):
    """Returns the type attributes of numeric inputs, each with the inputs that have it."""
    by_attr = {}
    for arg in op_def_registry.get(op).input_arg:
        parts = inputs[arg.name] if isinstance(inputs[arg.name], list) else [inputs[arg.name]]
        arrays = [np.asarray(part.value if isinstance(part, Parameter) else part) for part in parts]
        if arg.type_attr and all(array.dtype.kind in "fiub" for array in arrays) and arrays:
            by_attr.setdefault(arg.type_attr, []).append(arg.name)
    return by_attr


# Ops that TensorFlow computes in several rounded steps of 16-bit floats. shapeflow rounds once.
HALVES = """Elu HSVToRGB InvGrad LRN LogSoftmax Qr RGBToHSV ReciprocalGrad Selu SeluGrad Sigmoid SigmoidGrad Softmax
    SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad SparseSoftmaxCrossEntropyWithLogits TanhGrad""".split()
LEFT_OUT = {
    # TensorFlow's kernel of integers gives 0.
    "Round": "int32 int64",
    # TensorFlow reads a threshold of another dtype than the values as if it had the dtype of the values.
    "SparseAdd": "bfloat16 float16 uint8 uint16 uint32 uint64",
    # A sum of 0 differs by rounding.
    "TridiagonalMatMul": "float32",
}
# Ops whose calls without rows or with one row have operands that contradict each other. Without rows, the results of
# MatrixSolveLs and of the gradients of sparse segments are memory that no kernel of TensorFlow has written.
UNCUT = """AccumulateNV2 MatrixSolveLs RaggedGather RaggedTensorToTensor SparseSegmentMeanGrad SparseSegmentSqrtNGrad
    SparseSegmentSumGrad StatelessRandomNormalV2 StatelessRandomUniformFullIntV2 StatelessRandomUniformIntV2
    StatelessRandomUniformV2 StatelessShuffle StatelessTruncatedNormalV2""".split()
# The greatest length of a line that `dtype_cases` and `size_cases` keep, because there are many.
SHORT = 800


def is_left_out(op, dtype):
    return op in HALVES and dtype.name in ("float16", "bfloat16") or dtype.name in LEFT_OUT.get(op, "").split()


def has_kernel(op, attr, dtype):
    """Returns whether a CPU kernel of an op takes a dtype for a type attribute."""
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        rules = [rule for rule in kernel.constraint if rule.name == attr]
        if kernel.device_type == "CPU" and all(dtype in rule.allowed_values.list.type for rule in rules):
            return True
    return False


def dtype_cases(out):
    """Records a call of each op with each dtype that TensorFlow's kernels take and that has no case yet."""
    for op, calls in sorted(out.calls.items()):
        attrs, unset, inputs = smallest(calls)
        for attr, names in numeric(op, inputs).items():
            for dtype in map(tf.as_dtype, DTYPES.split()):
                number = dtype.as_datatype_enum
                is_new = (op, attr, number) not in out.types and not is_left_out(op, dtype)
                if is_new and has_kernel(op, attr, number):
                    changed = inputs | {name: converted(inputs[name], dtype) for name in names}
                    out.attempt(op, attrs, unset, changed)


def size_cases(out):
    """Records a call of each op with inputs of no row and of one row, if TensorFlow takes them."""
    for op, calls in sorted(out.calls.items()):
        attrs, unset, inputs = smallest(calls)
        for size in (0, 1):
            def cut(value):
                if isinstance(value, list):
                    return [cut(part) for part in value]
                is_row = not isinstance(value, Parameter) and np.ndim(value) > 0
                return value[:size] if is_row else value

            changed = {name: cut(value) for name, value in inputs.items()}
            if op not in UNCUT:
                out.attempt(op, attrs, unset, changed)


def device_algorithm_cases(out):
    """Algorithm 3 lets the device choose. The CPU chooses Philox."""
    key, counter = (value.numpy() for value in tf.raw_ops.StatelessRandomGetKeyCounter(seed=np.array([1, 2])))
    state = {"key": key, "counter": counter, "alg": np.int32(3)}
    for op in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"):
        out.record(op, {"dtype": tf.float32}, shape=P([5]), **state)
    out.record("StatelessRandomUniformFullIntV2", {"dtype": tf.int64}, shape=P([5]), **state)
    out.record("StatelessRandomUniformIntV2", shape=P([5]), **state, minval=np.int32(-3), maxval=np.int32(9))
    out.record("StatelessShuffle", value=i32(*range(9)), **state)
    out.record("StatelessRandomGammaV3", shape=P([4]), **state, alpha=np.float32(3.5))


def small_dtype_cases(out):
    """Records small calls of ops with dtypes for which `dtype_cases` makes long lines."""
    half, brain = np.float16, tf.bfloat16.as_numpy_dtype
    numbers = np.array([1 + 2j, -3 + 0.5j, 0.25 - 4j, 2 + 2j, -1 - 1j, 5 + 0j])
    for dtype in (np.complex64, np.complex128):
        z = numbers.astype(dtype)
        for low, high in ((-1 - 1j, 1 + 2j), (0, 4), (2 + 0j, 2 + 1j)):
            out.record("ClipByValue", t=z, clip_value_min=dtype(low), clip_value_max=dtype(high))
        out.record("SparseFillEmptyRowsGrad", reverse_index_map=np.array([4, 0, 1]), grad_values=z)
        out.record("RaggedFillEmptyRowsGrad", reverse_index_map=np.array([4, 0, 1]), grad_values=z)
    for dtype in (np.complex64, np.complex128, half, brain):
        z = (numbers if np.dtype(dtype).kind == "c" else numbers.real).astype(dtype)
        for mode in ("REFLECT", "SYMMETRIC"):
            out.record("MirrorPadGrad", {"mode": mode}, input=z.reshape(2, 3)[:1], paddings=P([[0, 0], [0, 1]]))
        cells = {"a_indices": np.array([[0, 1], [1, 0], [1, 1]]), "a_values": z[:3], "a_shape": np.array([2, 2])}
        for attrs in ({}, {"adjoint_a": True}, {"adjoint_b": True}):
            out.record("SparseTensorDenseMatMul", attrs, b=z[2:].reshape(2, 2), **cells)
    integers = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64
    for dtype in integers:
        x = np.array([[100, 3], [77, 5], [120, 1]], dtype)
        rows = {"indices": i32(0, 2, 1, 2), "segment_ids": i32(0, 0, 2, 2)}
        out.record("SparseSegmentSum", data=x, **rows)
        out.record("SparseSegmentSumWithNumSegments", data=x, num_segments=P(4), **rows)
    for dtype in (half, brain):
        dy = np.array([[1.1, -2.3], [0.7, 3.9]], np.float32).astype(dtype)
        rows = {"indices": i32(0, 2, 2, 1), "segment_ids": i32(0, 0, 0, 1)}
        for op in ("SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"):
            out.record(op, grad=dy, output_dim0=P(4), **rows)
    ids = {"segment_ids": np.array([2, 0, -1, 2], np.int16), "num_segments": P(3)}
    out.record("UnsortedSegmentSum", data=np.arange(2, 10, dtype=np.float32).reshape(4, 2), **ids)
    out.record("UnsortedSegmentSum", data=i32(4, 3, 5, 7), **ids | {"num_segments": P(2)}, error=True)
    flags = np.array([True, False, False, True])
    places = {"indices": np.array([[1], [3], [1]]), "updates": np.array([True, False, False])}
    out.record("ScatterNdNonAliasingAdd", input=flags, **places)
    slices = {"shape": P([5]), "begin": P([1]), "end": P([5]), "strides": P([2])}
    for dtype in map(tf.as_dtype, "qint8 quint8 qint32 float8_e5m2 float8_e4m3fn string bool complex64".split()):
        dy = np.array([b"a", b"bc"], object) if dtype == tf.string else converted(f32(3, 7), dtype)
        out.record("StridedSliceGrad", dy=dy, **slices)


SAMPLING_KERNELS = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()


def sampling_cases(out):
    image = (np.arange(5 * 7 * 2) * 7 % 23 / 4 + 2).reshape(1, 5, 7, 2).astype(np.float32)
    for kernel in SAMPLING_KERNELS:
        for antialias in (True, False):
            attrs = {"kernel_type": kernel, "antialias": antialias}
            for size in ([3, 2], [8, 9]):
                scale = {"scale": f32(size[0] / 5, size[1] / 7), "translation": f32(0, 0)}
                out.record("ScaleAndTranslate", attrs, images=image, size=P(size), **scale)
        # Some pixels of the result show points outside the image.
        moved = {"scale": f32(0.5, 1.25), "translation": f32(-1.5, 2.25)}
        out.record("ScaleAndTranslate", {"kernel_type": kernel}, images=image[:, :3, :2], size=P([3, 5]), **moved)
    small = {"images": image[:, :2, :3, :1], "size": P([1, 2])}
    out.record("ScaleAndTranslate", **small, scale=f32(0.5, 0.75), translation=f32(0, 0.5))
    still = {"scale": f32(1, 1), "translation": f32(0, 0)}
    out.record("ScaleAndTranslate", {"kernel_type": "cubic"}, **small, **still, error=True)
    for scale in (f32(0, 1), f32(1, -1), f32(1, np.nan)):
        out.record("ScaleAndTranslate", **small | still | {"scale": scale}, error=True)
    out.record("ScaleAndTranslate", **small | still | {"size": P([0, 2])}, error=True)
    for shape in ((1, 0, 3, 1), (1, 2, 3, 0)):
        out.record("ScaleAndTranslate", **small | still | {"images": np.zeros(shape, np.float32)}, error=True)


def edge_cases(out):
    """Operands at the edges of what TensorFlow accepts, and just beyond."""
    rgb = f32([-1, -2, -3], [0, -1, -2], [-1, -1, -1], [3, -2, -1], [-3, -1, -2], [-2, -3, -1], [5, 2, 5], [0.2, 0.7, 0.4])
    for delta in (0, 0.3, -0.7, 1, -1):
        out.record("AdjustHue", images=rgb.reshape(2, 4, 3), delta=np.float32(delta))
    for equation, a, b in (
        ("bij,bjk->bik", (1, 2, 3), (5, 3, 4)),
        ("bij,bjk->bik", (5, 2, 3), (1, 3, 4)),
        ("bij,bij->bij", (1, 2, 3), (5, 2, 3)),
        ("ij,jk->ik", (2, 1), (3, 4)),
        ("ij,jk->ik", (2, 3), (1, 4)),
        ("b...ij,b...jk->b...ik", (1, 2, 2, 3), (5, 2, 3, 4)),
        ("aij,ijb->ab", (1, 2, 3), (3, 2, 1)),
        ("...ij,...jk->...ik", (1, 2, 3), (5, 3, 4)),
        ("...i,...i->...", (1, 3), (2, 3)),
    ):
        inputs = [counted(*a), counted(*b, start=2)]
        out.record("Einsum", {"equation": equation}, inputs=inputs, error=not equation.startswith("..."))
    numbers = np.array([1.9999999999, -1.9999999999, 1.00390624999, 65504.9, 3.4e38, 6.1e-5, 0.1, np.nan, np.inf])
    z = (numbers[:-2] * (1 - 0.3j)).astype(np.complex128)
    for target in (tf.complex64, tf.float32, tf.float16, tf.bfloat16, tf.float64):
        out.record("Cast", {"DstT": target, "Truncate": True}, x=z)
        if target != tf.complex64:
            out.record("Cast", {"DstT": target, "Truncate": True}, x=z[[0, 1, 2, 3, 5, 6]].astype(np.complex64))
    bytes = (tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn)
    for dtype in (np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64):
        for target in (tf.float32, tf.float16, tf.bfloat16, *bytes):
            if tf.as_dtype(dtype) != target:
                x = numbers[[0, 1, 2, 5, 6, 7]].astype(dtype)
                out.record("Cast", {"DstT": target, "Truncate": True}, x=x)
    x = f32(-1.5, -0.6, 0, 0.2, 0.5, 0.6, 1.25, 10)
    ends = {"input_min": np.float32(-1), "input_max": np.float32(2)}
    for signed in (True, False):
        most = 61 if signed else 62
        for bits in (-1, 0, 1, 2, most, most + 1, 70):
            refused = not 1 <= bits <= most
            attrs = {"signed_input": signed, "range_given": False}
            for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
                out.record(op, attrs | {"num_bits": bits}, input=x, error=refused, **ends)
            attrs["range_given"] = True
            out.record("QuantizeAndDequantizeV3", attrs, input=x, num_bits=np.int32(bits), error=refused, **ends)
        for mode in ("HALF_UP", "HALF_TO_EVEN"):
            for given in (True, False):
                attrs = {"signed_input": signed, "narrow_range": True, "round_mode": mode, "range_given": given}
                for low, high in ((0, 1), (-1, 1), (0.5, 2)):
                    range_ends = {"input_min": np.float32(low), "input_max": np.float32(high)}
                    out.record("QuantizeAndDequantizeV2", attrs, input=x, **range_ends)
    for low, high in ((1, -1), (np.nan, 1), (-1, np.nan)):
        range_ends = {"input_min": np.float32(low), "input_max": np.float32(high)}
        for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
            out.record(op, {"range_given": True}, input=x, error=True, **range_ends)
        out.record("QuantizeAndDequantizeV3", input=x, num_bits=np.int32(8), error=True, **range_ends)
    out.record("QuantizeAndDequantizeV2", {"round_mode": "half_up"}, input=x, error=True, **ends)
    out.record("QuantizeAndDequantizeV2", {"axis": -2}, input=x.reshape(4, 2), error=True, **ends)
    image = counted(1, 3, 4, 1)
    box = {"image": image, "boxes": f32([0, 0, 1, 1]), "box_ind": i32(0)}
    for wrong in (np.nan, np.inf, -np.inf):
        for edge in range(4):
            edges = f32([0, 0, 1, 1])
            edges[0, edge] = wrong
            out.record("CropAndResize", **box | {"boxes": edges}, crop_size=P([2, 2]), error=True)
    out.record("CropAndResize", {"method": "cubic"}, **box, crop_size=P([2, 2]), error=True)
    none = {"boxes": np.zeros((0, 4), np.float32), "box_ind": np.zeros(0, np.int32)}
    for size in ([0, 2], [2, 0]):
        for boxes in (box, box | none):
            out.record("CropAndResize", **boxes, crop_size=P(size), error=True)
    for shape in ((1, 0, 4, 1), (1, 3, 0, 1)):
        empty = np.zeros(shape, np.float32)
        out.record("CropAndResize", **box | none | {"image": empty}, crop_size=P([2, 2]), error=True)
    out.record("CropAndResize", **box | {"image": image[..., :0]}, crop_size=P([2, 2]))
    out.record("CropAndResize", **box | none, crop_size=P([2, 2]))
    for op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "ResizeArea"):
        if op != "ResizeArea":
            both = {"align_corners": True, "half_pixel_centers": True}
            out.record(op, both, images=image, size=P([2, 2]), error=True)
        for size in ([0, 2], [2, 0], [-1, 2]):
            out.record(op, images=image, size=P(size), error=True)
        for shape in ((1, 0, 4, 1), (1, 3, 0, 1), (1, 3, 4, 0), (0, 0, 4, 1)):
            out.record(op, images=np.zeros(shape, np.float32), size=P([2, 2]), error=True)
        out.record(op, images=image[:0], size=P([2, 2]))
    for dtype, part in ((np.complex64, tf.float32), (np.complex128, tf.float64)):
        i, n = np.inf, np.nan
        ends = [complex(i, n), complex(n, i), complex(-i, n), complex(n, -i), complex(1, -i), complex(i, -i), complex(-i, 1)]
        z = np.array(ends, dtype)
        out.record("ComplexAbs", {"Tout": part}, x=z)
        for op in ("Log", "Sqrt", "Rsqrt"):
            out.record(op, x=z)
    places = np.array([[0, 0], [1, 1]])
    pair = {"a_indices": places, "a_shape": np.array([2, 2]), "b_indices": places, "b_shape": np.array([2, 2])}
    for dtype, threshold in ((np.float32, np.float64(0)), (np.complex64, np.int32(0)), (np.int32, np.int64(3))):
        values = {"a_values": np.array([1, -2], dtype), "b_values": np.array([4, 0], dtype)}
        out.record("SparseAdd", **pair, **values, thresh=threshold)
    for bits in (2, 8, 16):
        for low, high in ((-6, 6), (-0.1, 0.9), (-1, 1), (0.5, 2), (-2, -1)):
            x = np.concatenate([np.linspace(low - 0.1, high + 0.1, 7), [low, high, -1.2, -0.002, 0]]).astype(np.float32)
            attrs = {"num_bits": bits, "narrow_range": bits == 8}
            out.record("FakeQuantWithMinMaxArgs", attrs | {"min": float(low), "max": float(high)}, inputs=x)
            out.record("FakeQuantWithMinMaxVars", attrs, inputs=x, min=np.float32(low), max=np.float32(high))
            channels = {"inputs": x.reshape(-1, 1), "min": f32(low), "max": f32(high)}
            out.record("FakeQuantWithMinMaxVarsPerChannel", attrs, **channels)


def volume_cases(out):
    """Convolutions and pools of volumes, at the dtypes for which TensorFlow has kernels."""
    floats = (np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype)
    volume = (np.arange(4 * 3 * 3 * 2) * 7 % 31 - 11).reshape(1, 4, 3, 3, 2)
    weights = (np.arange(2 * 3 * 2 * 2 * 2) * 5 % 13 - 6).reshape(2, 3, 2, 2, 2)
    for padding in ("SAME", "VALID"):
        for strides in ([1, 1, 1, 1, 1], [1, 2, 1, 3, 1]):
            attrs = {"strides": strides, "padding": padding}
            for dtype in floats if strides[1] == 1 else floats[:1]:
                # Small dtypes get small sums, which no order of additions rounds.
                x, w = volume, weights
                if np.dtype(dtype).itemsize == 2:
                    x, w = x % 3, w % 3
                x, w = x.astype(dtype), w.astype(dtype)
                out.record("Conv3D", attrs, each=True, input=x, filter=w)
                gradient = tf.raw_ops.Conv3D(input=x, filter=w, **attrs).numpy() % dtype(3)
                sizes = P(np.array(x.shape, np.int64 if dtype == np.float64 else np.int32))
                sizes = {"input_sizes": sizes, "filter": w, "out_backprop": gradient}
                out.record("Conv3DBackpropInputV2", attrs, each=True, **sizes)
                out.record("Conv3DBackpropInput", attrs, each=True, version=9, input=x, filter=w, out_backprop=gradient)
        # TensorFlow's kernels disagree if a stride is greater than the window.
        for sizes, strides in (([1, 2, 3, 1, 1], [1, 1, 1, 1, 1]), ([1, 3, 1, 2, 1], [1, 2, 1, 2, 1])):
            attrs = {"ksize": sizes, "strides": strides, "padding": padding}
            for dtype in floats if strides[1] == 1 else floats[:1]:
                out.record("MaxPool3D", attrs, each=True, input=volume.astype(dtype))
                out.record("AvgPool3D", attrs, each=True, input=volume.astype(dtype))
    x, w = volume.astype(np.float32), weights.astype(np.float32)
    attrs = {"strides": [1] * 5, "padding": "SAME"}
    # Some kernels of TensorFlow refuse groups and dilations.
    out.record("Conv3D", attrs, attempt=True, input=np.concatenate([x, x * 2 + 1], -1), filter=w)
    out.record("Conv3D", {"strides": [1, 1, 2, 1, 1], "padding": "VALID"}, input=x, filter=w[:1, :1, :1])
    out.record("Conv3D", attrs | {"dilations": [1, 2, 1, 2, 1]}, attempt=True, input=x, filter=w)
    out.record("Conv3D", attrs, error=True, input=x, filter=np.ones((1, 1, 1, 3, 2), np.float32))
    pooled = {"ksize": [1, 1, 1, 1, 2], "strides": [1, 1, 1, 1, 2], "padding": "VALID"}
    out.record("AvgPool3D", pooled, error=True, input=x)
    out.record("MaxPool3D", pooled, error=True, input=x)
    pooled = {"ksize": [1, 6, 1, 1, 1], "strides": [1] * 5, "padding": "VALID"}
    out.record("MaxPool3D", pooled, error=True, input=x)


def suppression_cases(out):
    rng = np.random.default_rng(11)
    corners = rng.integers(0, 8, (12, 4)).astype(np.float32) / 4
    corners[3] = corners[2]
    corners[5] = corners[2] + np.float32(0.125)
    corners[7] = [2, 1, 2, 3]
    scores = np.array([0.5, 0.75, 0.9, 0.9, 0.25, 0.8, -1, 0.6, NAN, 0.5, INF, 0.3], np.float32)
    for dtype in (np.float32, np.float16):
        boxes = {"boxes": corners.astype(dtype), "scores": scores.astype(dtype)}
        for most in (0, 1, 4, 20, -1):
            wrong, count = most < 0, {"max_output_size": P(most)}
            for iou in (0.0, 0.5, 1.0):
                if dtype == np.float32:
                    out.record("NonMaxSuppression", {"iou_threshold": iou}, **boxes, **count, error=wrong)
                for threshold in (np.float16, np.float32):
                    both = {"iou_threshold": threshold(iou), "score_threshold": threshold(0.1)}
                    out.record("NonMaxSuppressionV2", **boxes, **count, iou_threshold=threshold(iou), error=wrong)
                    out.record("NonMaxSuppressionV3", **boxes, **count, **both, error=wrong)
            both = {"iou_threshold": dtype(0.5), "score_threshold": dtype(0.1)}
            for pad in (False, True):
                attrs = {"pad_to_max_output_size": pad}
                out.record("NonMaxSuppressionV4", attrs, **boxes, **count, **both, error=wrong)
                for sigma in (0, 0.25, 1):
                    soft = both | {"soft_nms_sigma": dtype(sigma)}
                    out.record("NonMaxSuppressionV5", attrs, **boxes, **count, **soft, error=wrong)
        one = boxes | {"max_output_size": P(5)}
        for iou in (-0.5, 1.5, NAN):
            both = {"iou_threshold": dtype(iou), "score_threshold": dtype(0)}
            out.record("NonMaxSuppressionV2", **one, iou_threshold=dtype(iou), error=True)
            out.record("NonMaxSuppressionV3", **one, **both, error=True)
            out.record("NonMaxSuppressionV5", **one, **both, soft_nms_sigma=dtype(0), error=True)
        both = {"iou_threshold": dtype(0.5), "score_threshold": dtype(-INF)}
        out.record("NonMaxSuppressionV3", **one, **both)
        out.record("NonMaxSuppressionV5", **one, **both, soft_nms_sigma=dtype(0.5))
        out.record("NonMaxSuppressionV5", **one, **both, soft_nms_sigma=dtype(-1), error=True)
        none = {"boxes": np.zeros((0, 4), dtype), "scores": np.zeros(0, dtype), "max_output_size": P(3)}
        out.record("NonMaxSuppressionV3", **none, **both)
        out.record("NonMaxSuppressionV4", {"pad_to_max_output_size": True}, **none, **both)
    overlaps = rng.random((6, 6)).astype(np.float32)
    overlaps[1, 2], overlaps[4, 0] = NAN, -3
    scores = f32(0.5, 0.75, 0.75, NAN, 0.25, 0.8)
    for threshold in (-1, 0.5, 2, NAN):
        for least in (-1, 0.3):
            both = {"overlap_threshold": np.float32(threshold), "score_threshold": np.float32(least)}
            out.record("NonMaxSuppressionWithOverlaps", overlaps=overlaps, scores=scores, max_output_size=P(5), **both)


def combined_suppression_cases(out):
    rng = np.random.default_rng(12)
    for classes in (1, 3):
        for kinds in {1, classes}:
            low = rng.integers(-2, 8, (2, 9, kinds, 2)) / 8
            boxes = np.concatenate([low, low + rng.integers(1, 6, low.shape) / 8], axis=-1).astype(np.float32)
            scores = (rng.permutation(2 * 9 * classes) / 8 - 1).reshape(2, 9, classes).astype(np.float32)
            for per_class, total in ((1, 2), (4, 14), (0, 3), (2, 0)):
                sizes = {"max_output_size_per_class": P(per_class), "max_total_size": P(total)}
                for attrs in ({}, {"pad_per_class": True}, {"clip_boxes": False}):
                    for least in (-0.5, 1.5):
                        both = {"iou_threshold": np.float32(0.25), "score_threshold": np.float32(least)}
                        wrong = 0 in (per_class, total)
                        out.record("CombinedNonMaxSuppression", attrs, boxes=boxes, scores=scores, **sizes, **both, error=wrong)
    # Equal scores, and scores below -1.
    low = np.arange(30, dtype=np.float32).reshape(1, 30, 1, 1)
    boxes = np.concatenate([2 * low, 0 * low, 2 * low + 1, 0 * low + 1], axis=-1)
    both = {"iou_threshold": np.float32(0.5), "score_threshold": np.float32(-9)}
    sizes = {"max_output_size_per_class": P(20), "max_total_size": P(50)}
    for scores in (np.full((1, 30, 3), 0.5), rng.integers(0, 3, (1, 30, 3)), rng.integers(-4, 1, (1, 30, 2)) - 0.5):
        attrs, scores = {"clip_boxes": False}, scores.astype(np.float32)
        out.record("CombinedNonMaxSuppression", attrs, boxes=boxes, scores=scores, **sizes, **both)
    for threshold in (-0.5, 1.5):
        both["iou_threshold"] = np.float32(threshold)
        out.record("CombinedNonMaxSuppression", boxes=boxes, scores=scores, **sizes, **both, error=True)


def projection_cases(out):
    image = counted(2, 3, 4, 2)
    turned = f32([0.75, -0.5, 0.25, 0.5, 1.25, -1, 0, 0], [1, 0.125, -7.25, -0.25, 1, 6.5, 0.0625, -0.125])
    shifted = f32([1, 0, 0.5, 0, 1, -0.5, 0, 0])
    infinite = f32([1, 0, 0, 0, 1, 0, -0.5, 0])
    modes = ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
    for interpolation in ("NEAREST", "BILINEAR"):
        for mode in modes:
            attrs = {"interpolation": interpolation, "fill_mode": mode}
            for transforms in (turned, shifted, infinite):
                for size in ([3, 4], [7, 2]):
                    operands = {"images": image, "transforms": transforms, "output_shape": P(size)}
                    out.record("ImageProjectiveTransformV2", attrs, **operands)
                    out.record("ImageProjectiveTransformV3", attrs, **operands, fill_value=np.float32(2.5))
            operands = {"transforms": turned, "output_shape": P([4, 5]), "fill_value": np.float32(3)}
            for dtype in (np.uint8, np.int32, np.int64, np.float16, np.float64, tf.bfloat16.as_numpy_dtype):
                out.record("ImageProjectiveTransformV3", attrs, images=image.astype(dtype), **operands)
                two = {"images": image.astype(dtype), "transforms": turned, "output_shape": P([3, 2])}
                out.record("ImageProjectiveTransformV2", attrs, **two)
            small = {"images": image[:, :1, :1], "transforms": turned, "output_shape": P([3, 3])}
            out.record("ImageProjectiveTransformV2", attrs, **small)
            for shift in (1e20, -1e20, 1e6, -1e6):
                far = np.copy(shifted)
                far[0, 2] = shift
                if mode != "CONSTANT" or interpolation == "NEAREST":
                    out.record("ImageProjectiveTransformV2", attrs, images=image, transforms=far, output_shape=P([1, 2]))
    operands = {"images": image, "transforms": shifted, "output_shape": P([2, 2])}
    attrs = {"interpolation": "NEAREST"}
    for size in ([0, 2], [2, 0], [-1, 2]):
        out.record("ImageProjectiveTransformV2", attrs, **operands | {"output_shape": P(size)}, error=True)
    three = operands | {"transforms": np.concatenate([turned, shifted])}
    out.record("ImageProjectiveTransformV2", attrs, **three, error=True)


def ctc_cases(out):
    rng = np.random.default_rng(13)
    for dtype in (np.float32, np.float64):
        x = rng.normal(size=(6, 3, 4)).astype(dtype)
        x[0, 0, 1] = x[0, 0, 2] = 3
        lengths = i32(6, 4, 0)
        for merged in (False, True):
            for blank in (-1, 0, 2, -4, 4, -5):
                attrs = {"merge_repeated": merged, "blank_index": blank}
                out.record("CTCGreedyDecoder", attrs, inputs=x, sequence_length=lengths, error=not -4 <= blank < 4)
            for width, paths in ((1, 1), (3, 1), (5, 3), (100, 2), (2, 3)):
                attrs = {"merge_repeated": merged, "beam_width": width, "top_paths": paths}
                few = {"inputs": x[:, :2], "sequence_length": lengths[:2]}
                out.record("CTCBeamSearchDecoder", attrs, **few, error=paths > width)
        out.record("CTCGreedyDecoder", inputs=x, sequence_length=i32(7, 1, 1), error=True)
        out.record("CTCGreedyDecoder", inputs=x, sequence_length=i32(-7, 1, 1))
        out.record("CTCGreedyDecoder", inputs=x[:0], sequence_length=i32(0, 0, 0), error=True)
        attrs = {"beam_width": 3, "top_paths": 2}
        out.record("CTCBeamSearchDecoder", attrs, inputs=x, sequence_length=lengths, error=True)


def glimpse_cases(out):
    image = np.arange(2 * 4 * 5, dtype=np.float32).reshape(2, 4, 5, 1) + 1
    for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
        for centered in (False, True):
            for normalized in (False, True):
                attrs = {"centered": centered, "normalized": normalized, "uniform_noise": False, "noise": "zero"}
                for size in ([2, 3], [3, 2], [6, 7], [4, 5], [0, 2]):
                    for offsets in (f32([0.3, -0.6], [-0.2, 0.5]), f32([1.6, 2.7], [-1.5, 0]), f32([-9, 1], [0, 8])):
                        out.record(op, attrs, input=image, size=P(size), offsets=offsets)
                out.record(op, attrs, input=image, size=P([1, 2]), offsets=f32([NAN, 0], [0, 1e30]))
        few = {"input": image, "size": P([2, 2]), "offsets": f32([0.1, 0.2], [0, 0])}
        # The windows are inside the image, so that no noise shows.
        out.record(op, **few)
        out.record(op, {"uniform_noise": False, "noise": "gaussian"}, **few)
        out.record(op, {"uniform_noise": False, "noise": ""}, **few)
        out.record(op, **(few | {"size": P([-1, 2])}), error=True)
        out.record(op, **(few | {"offsets": f32([0.1, 0.2])}), error=True)


def fractional_pool_cases(out):
    rng = np.random.default_rng(41)
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = rng.integers(-50, 50, size=(1, 9, 7, 1)).astype(dtype)
        for pseudo in (False, True):
            for overlapping in (False, True):
                attrs = {"pseudo_random": pseudo, "overlapping": overlapping, "deterministic": True}
                for seed, ratio in (
                    (3, [1.0, 1.5, 1.7, 1.0]), (8, [1.0, 2.2, 1.0, 1.0]), (5, [1.0, 1.3, 7.0, 1.0]), (6, [1.0, 3.0, 1.7, 1.0])
                ):
                    random = attrs | {"seed": seed, "seed2": seed * seed, "pooling_ratio": ratio}
                    for op in ("FractionalMaxPool", "FractionalAvgPool"):
                        out.record(op, random, value=x)
        starts = {"row_pooling_sequence": np.array([0, 2, 3, 6, 9]), "col_pooling_sequence": np.array([0, 3, 5, 7])}
        gradient = rng.integers(-9, 9, size=(1, 4, 3, 1)).astype(dtype)
        for overlapping in (False, True):
            attrs = {"overlapping": overlapping}
            shape = P([1, 9, 7, 1], np.int64)
            out.record("FractionalAvgPoolGrad", attrs, orig_input_tensor_shape=shape, out_backprop=gradient, **starts)
            pooled = np.array(
                [
                    [
                        [
                            x[n, a : b + overlapping, c : d + overlapping].max((0, 1))
                            for c, d in ((0, 3), (3, 5), (5, 7))
                        ]
                        for a, b in ((0, 2), (2, 3), (3, 6), (6, 9))
                    ]
                    for n in range(1)
                ]
            )
            operands = {"orig_input": x, "orig_output": pooled, "out_backprop": gradient}
            out.record("FractionalMaxPoolGrad", attrs, **operands, **starts)
    for wrong in ([1.0, 1.0, 1.0], [1.0, 20.0, 1.0, 1.0]):
        for op in ("FractionalMaxPool", "FractionalAvgPool"):
            out.record(op, {"pooling_ratio": wrong}, value=x, error=True)


def older_spelling_cases(out):
    rng = np.random.default_rng(43)
    for dtype in (np.uint8, np.int8, np.int16, np.int32, np.float32, np.float64):
        x = rng.integers(0, 100, size=(2, 3, 4, 3)).astype(dtype)
        for factor in (0.5, 2.0, -1.5):
            limits = {"min_value": np.float32(10), "max_value": np.float32(80)}
            out.record("AdjustContrast", version=1, images=x, contrast_factor=np.float32(factor), **limits)
        limits = {"min_value": np.float32(80), "max_value": np.float32(10)}
        out.record("AdjustContrast", version=1, images=x[0], contrast_factor=np.float32(1.5), **limits)
    out.record("AdjustContrast", version=1, images=x[0, 0], contrast_factor=np.float32(1.5), **limits, error=True)
    out.record("AdjustContrast", version=1, images=x, contrast_factor=f32(1.5), **limits, error=True)
    for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        for antialias in (False, True):
            attrs = {"kernel_type": kernel, "antialias": antialias}
            gradient = rng.uniform(1, 2, size=(2, 3, 4, 2)).astype(np.float32)
            for scale, shift in ((f32(0.6, 1.5), f32(0.25, -0.5)), (f32(2, 0.75), f32(0, 0.5))):
                operands = {"grads": gradient, "original_image": np.zeros((2, 5, 3, 2), np.float32)}
                out.record("ScaleAndTranslateGrad", attrs, **operands, scale=scale, translation=shift)
    mapping = {"scale": f32(1, 2), "translation": f32(0, 0.5)}
    out.record("ScaleAndTranslateGrad", **operands, **(mapping | {"scale": f32(0, 1)}), error=True)
    for dtype in (np.float32, np.float64):
        x = np.array([-1, -0.5, 0, 0.3, 0.8, 2.5, NAN], dtype)
        for bits in (2, 8, 17):
            for signed in (False, True):
                attrs = {"num_bits": bits, "signed_input": signed}
                out.record("QuantizeAndDequantize", attrs, version=20, input=x[:-1])
                attrs |= {"range_given": True, "input_min": -1.25, "input_max": 2.0}
                out.record("QuantizeAndDequantize", attrs, version=20, input=x)
    attrs |= {"input_min": 3.0}
    out.record("QuantizeAndDequantize", attrs, version=20, input=x, error=True)


def sparse_gradient_cases(out):
    rng = np.random.default_rng(47)
    a = np.array([[0, 0], [0, 3], [1, 1], [2, 2], [3, 0]], np.int64)
    b = np.array([[0, 1], [1, 1], [2, 0], [3, 0]], np.int64)
    both = np.array([[0, 0], [0, 1], [0, 3], [1, 1], [2, 0], [2, 2], [3, 0]], np.int64)
    real = "int8 int16 int32 int64 float32 float64".split()
    more = "uint8 uint16 uint32 uint64 float16 bfloat16".split()
    for name in real + more + ["complex64", "complex128"]:
        dtype = tf.as_dtype(name).as_numpy_dtype
        gradient = rng.integers(1, 90, size=7).astype(dtype)
        if name not in more:
            for dropped in ([], [1], [0, 6], [3, 4]):
                sums, kept = np.delete(both, dropped, 0), np.delete(gradient, dropped)
                indices = {"a_indices": a, "b_indices": b, "sum_indices": sums}
                out.record("SparseAddGrad", backprop_val_grad=kept, **indices)
        indices = {"input_indices": both, "input_start": np.array([1, 0]), "output_indices": both[3:] - np.array([1, 0])}
        out.record("SparseSliceGrad", backprop_val_grad=gradient[:4], **indices)
    indices = {"a_indices": a, "b_indices": b, "sum_indices": both}
    out.record("SparseAddGrad", backprop_val_grad=f32(1, 2), **indices, error=True)
    out.record("SparseAddGrad", backprop_val_grad=f32(*range(7)), **(indices | {"b_indices": b[:, :1]}), error=True)
    indices = {"input_indices": both, "input_start": np.array([0, 1]), "output_indices": both[3:]}
    out.record("SparseSliceGrad", backprop_val_grad=f32(1, 2, 3, 4), **indices, error=True)
    out.record("SparseSliceGrad", backprop_val_grad=f32(1, 2, 3), **indices, error=True)


def sobol_cases(out):
    for dtype in (tf.float32, tf.float64):
        for dim, results, skip in ((1, 7, 0), (5, 9, 3), (40, 33, 1000), (3, 4, 2**24), (2, 3, 2**30 - 6)):
            out.record("SobolSample", {"dtype": dtype}, dim=P(dim), num_results=P(results), skip=P(skip))
    out.record("SobolSample", {"dtype": tf.float32}, dim=P(1500), num_results=P(1), skip=P(12345))
    out.record("SobolSample", dim=P(21201), num_results=P(1), skip=P(0), error=True)
    out.record("SobolSample", dim=P(2), num_results=P(5), skip=P(2**31 - 3), error=True)
    out.record("SobolSample", dim=P(2), num_results=P(5), skip=P(-1), error=True)


def index_shuffle_cases(out):
    rng = np.random.default_rng(53)
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        for seeds in (np.int32, np.int64, np.uint32, np.uint64):
            seed = rng.integers(0, 2**31 - 1, size=(3, 3)).astype(seeds)
            index = np.array([0, 7, 11], dtype)
            for rounds in (4, 8):
                attrs = {"rounds": rounds}
                out.record("RandomIndexShuffle", attrs, index=index, seed=seed[0], max_index=dtype(12))
            out.record("RandomIndexShuffle", index=index, seed=seed, max_index=np.array([8, 300, 70000], dtype))
            out.record("RandomIndexShuffle", index=index[1], seed=seed[0], max_index=dtype(2**30))
    for limit in (0, 1, 2**16, 2**16 + 1, 2**40 - 5, 2**62 + 1, 2**63 - 1):
        index = np.array([0, limit // 3, limit])
        out.record("RandomIndexShuffle", index=index, seed=i32(1, -2, 3), max_index=np.int64(limit))
    three = {"index": i32(0, 1, 2), "max_index": np.int32(5)}
    out.record("RandomIndexShuffle", **three, seed=i32(1, 2), error=True)
    out.record("RandomIndexShuffle", **three, seed=i32([1, 2, 3], [4, 5, 6]), error=True)


def neighbor_cases(out):
    rng = np.random.default_rng(59)
    points = rng.integers(-9, 9, size=(4, 3)).astype(np.float32)
    centers = rng.integers(-9, 9, size=(7, 3)).astype(np.float32)
    for k in (0, 1, 3, 7, 9):
        out.record("NearestNeighbors", points=points, centers=centers, k=np.int64(k))
        out.record("NearestNeighbors", points=points, centers=centers, k=P(k, np.int64))
    out.record("NearestNeighbors", points=points, centers=centers[:0], k=P(2, np.int64))
    out.record("NearestNeighbors", points=points, centers=centers[:, :2], k=P(2, np.int64), error=True)
    out.record("NearestNeighbors", points=points[0], centers=centers, k=P(2, np.int64), error=True)
    for name in "int8 int16 int32 int64 float16 bfloat16 float32 float64".split():
        result = {"int8": "float32", "int16": "float32", "int32": "float64", "int64": "float64"}.get(name, name)
        x = rng.integers(-50, 50, size=(2, 3, 9)).astype(tf.as_dtype(name).as_numpy_dtype)
        for operand in (x, np.sort(x), x[0, 0], x[..., :0], x[0, 0, 0]):
            out.record("IsotonicRegression", {"output_dtype": tf.as_dtype(result)}, input=operand)
    out.record("IsotonicRegression", input=f32(3, NAN, 5, 1, INF, 2))


def bessel_cases(out):
    ends = [0, -0.0, INF, -INF, NAN]
    for dtype in (np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype):
        x = np.array([0.25, 1, 1.75, 3.25, 6.5, 11, 18, 33.5, 60, 1e-3] + ends, dtype)
        both = np.concatenate([x, -x])
        for op in "BesselI0 BesselI1 BesselJ0 BesselJ1 BesselY0 BesselY1 BesselK0 BesselK1 BesselK0e BesselK1e".split():
            # TensorFlow rounds every step of a computation in f16.
            values = np.array([0.5], dtype) if dtype == np.float16 else both
            if op == "BesselY1" and dtype == np.float32:
                # TensorFlow gives NaN for 0 in f32, and -inf in f64.
                values = values[values != 0]
            out.record(op, each=True, x=values)
        for op in "Dawsn Expint FresnelCos FresnelSin Spence".split():
            out.record(op, each=True, x=both)


def matrix_function_cases(out):
    rng = np.random.default_rng(14)
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        is_complex = np.dtype(dtype).kind == "c"

        def numbers(*shape):
            x = rng.integers(-9, 10, shape) / 8
            return (x + 1j * rng.integers(-9, 10, shape) / 8 if is_complex else x).astype(dtype)

        square = numbers(2, 3, 3) + 3 * np.eye(3, dtype=dtype)[[2, 0, 1]]
        nothing = (np.zeros((0, 0), dtype), np.zeros((2, 0, 0), dtype), np.zeros((0, 2, 2), dtype))
        for index in (tf.int32, tf.int64):
            attrs = {"output_idx_type": index}
            out.record("Lu", attrs, input=square)
            out.record("Lu", attrs, input=np.array([[0, 2], [1, 3]], dtype))
            for x in nothing:
                out.record("Lu", attrs, input=x)
            out.record("Lu", attrs, input=np.array([[1, 2], [2, 4]], dtype), error=True)
            out.record("Lu", attrs, input=np.zeros((1, 1), dtype), error=True)
        # The eigenvalues are positive.
        definite = np.array([[[4, 1, 2], [1, 5, 1], [2, 1, 6]], [[2, 1, 0.5], [0, 3, 1], [0, 0, 9]]], dtype)
        definite += np.array([[0, 0.5j, 0], [-0.5j, 0, 0.25j], [0, -0.25j, 0]])[None] if is_complex else dtype(0)
        for x in (definite, dtype([[0, 1], [0, 4]]), dtype([[0, -1], [1, 0]]) * 3, *nothing):
            out.record("MatrixSquareRoot", input=x)
        ends = [dtype([[-4, 0], [0, 9]])] if not is_complex else []
        for x in (np.zeros((2, 2), dtype), np.full((1, 1), NAN, dtype), *ends):
            out.record("MatrixSquareRoot", input=x)
        for x in (definite / 8, definite / 2, np.zeros((2, 2), dtype), *nothing):
            out.record("MatrixExponential", version=26, input=x)
        if is_complex:
            for x in (definite, definite * 100, dtype([[-4, 0], [0, 9]]), dtype([[2, 64], [0, 2]]), *nothing):
                out.record("MatrixLogarithm", input=x)
            for x in (np.zeros((2, 2), dtype), np.full((1, 1), NAN, dtype)):
                out.record("MatrixLogarithm", input=x)
        attrs = {"Tout": tf.as_dtype(np.result_type(dtype, np.complex64)), "compute_v": False}
        for x in (definite, np.diag([-1, 2, 7]).astype(dtype), *nothing):
            out.record("Eig", attrs, unset=1, input=x)
        if not is_complex:
            out.record("Eig", attrs, unset=1, input=dtype([[3, -2, 0], [2, 3, 0], [0, 0, 1]]))
        # The phases of eigenvectors are arbitrary.
        out.record("Eig", attrs | {"compute_v": True}, input=np.zeros((0, 0), dtype))
        out.record("Eig", attrs, input=np.full((2, 2), NAN, dtype), error=True)
        if not is_complex:
            for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
                for x in (np.diag([3, 1, 2]).astype(dtype), dtype([[5]]), np.zeros((2, 0, 0), dtype)):
                    out.record(op, version=10, input=x)
        bands, rhs = numbers(2, 2, 4) + dtype(3), numbers(2, 4, 3)
        for lower in (False, True):
            for adjoint in (False, True):
                attrs = {"lower": lower, "adjoint": adjoint}
                for matrix, sides in ((bands, rhs), (bands[0], rhs), (bands, rhs[1]), (bands[:, :1], rhs)):
                    out.record("BandedTriangularSolve", attrs, matrix=matrix, rhs=sides)
                whole = numbers(4, 4) + dtype(3)
                out.record("BandedTriangularSolve", attrs, matrix=whole, rhs=rhs[0])
                out.record("BandedTriangularSolve", attrs, matrix=bands * 0, rhs=rhs, error=True)
        for matrix, sides in ((bands[:, :0], rhs), (bands, rhs[:, :, :0]), (bands[:0], rhs[:0]), (bands, rhs[:, :3])):
            out.record("BandedTriangularSolve", matrix=matrix, rhs=sides, error=True)


def layout_cases(out):
    for dtype in (np.int32, np.int64):
        dims = np.array([2, 3, 4], dtype)
        for indices in (5, [5, 23, 0], [-1, -13, 7]):
            out.record("UnravelIndex", indices=np.array(indices, dtype), dims=dims)
        out.record("UnravelIndex", indices=np.array(0, dtype), dims=np.zeros(0, dtype))
        out.record("UnravelIndex", indices=np.array([1, 2], dtype), dims=dims[1:2])
        for indices, sizes in (([24], dims), ([[1]], dims), ([], dims), ([0], [2, 0]), ([0], [2, -1]), ([0], 3)):
            wrong = {"indices": np.array(indices, dtype), "dims": np.array(sizes, dtype)}
            out.record("UnravelIndex", **wrong, error=True)
        pairs = np.arange(12, dtype=dtype).reshape(6, 2)[:5]
        for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("HWNC", "WHCN"), ("NDHWC", "NCDHW"), ("WDHCN", "NHCDW")):
            attrs = {"src_format": source, "dst_format": target}
            out.record("DataFormatDimMap", attrs, x=np.arange(-7, 9, dtype=dtype).reshape(2, 8))
            out.record("DataFormatDimMap", attrs, x=np.array(3, dtype))
            for count in (len(source), len(source) - 2):
                out.record("DataFormatVecPermute", attrs, x=pairs[:count])
                out.record("DataFormatVecPermute", attrs, x=pairs[:count, 1] * 3)
            for wrong in (pairs[:1], pairs[: len(source), :1], np.array(1, dtype), pairs[None]):
                out.record("DataFormatVecPermute", attrs, x=wrong, error=True)
        for source, target in (("NHW", "NWH"), ("NHWC", "NWH"), ("ABCD", "ABCE"), ("NHHW", "NHWH")):
            attrs = {"src_format": source, "dst_format": target}
            out.record("DataFormatDimMap", attrs, x=np.array([1], dtype), error=True)
            out.record("DataFormatVecPermute", attrs, x=pairs[:4], error=True)
    numbers = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
    numbers += (np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64, np.complex64, np.complex128)
    for op in ("InplaceAdd", "InplaceSub", "InplaceUpdate"):
        for dtype in numbers + ((np.bool_,) if op == "InplaceUpdate" else ()):
            x, v = np.arange(6).reshape(3, 2).astype(dtype), np.array([[1, 4], [3, 0], [2, 7]]).astype(dtype)
            for rows in ([2, 0, 1], [1, 1, 2], [-1, 4, -7]):
                out.record(op, x=x, i=i32(*rows), v=v)
        x, v = MATRIX[:, :2], MATRIX[:2, 1:]
        out.record(op, x=x, i=i32(), v=x[:0])
        out.record(op, x=x[:0], i=i32(0, 1), v=v)
        out.record(op, x=x[:, 0], i=i32(2, 2), v=v[0])
        wrong = ((x, i32(0), v), (x, i32(0, 1), v[0]), (x, i32(0, 1), v[:, :1]), (x, np.int32(1), v[:1]))
        for x, rows, v in wrong:
            out.record(op, x=x, i=rows, v=v, error=True)
    words = np.array([b"a", b"b", b"c"], object)
    out.record("InplaceUpdate", x=words, i=i32(2, -3), v=np.array([b"d", b"e"], object))
    dtypes = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 string"
    for dtype in dtypes.split():
        for sizes in ([2, 3], [0, 2], []):
            out.record("Empty", {"dtype": tf.as_dtype(dtype), "init": True}, shape=P(sizes))
    for sizes in (2, [-1], [[2]]):
        out.record("Empty", {"dtype": tf.float32, "init": True}, shape=P(sizes), error=True)


def sparse_matmul_cases(out):
    rng = np.random.default_rng(15)
    a, b = rng.integers(-3, 4, (3, 5)) / 4, rng.integers(-3, 4, (5, 2)) / 4
    kinds = (np.float32, tf.bfloat16.as_numpy_dtype)
    for left in kinds:
        for right in kinds:
            for sparse in range(4):
                for transposed in range(4):
                    attrs = {"a_is_sparse": bool(sparse & 1), "b_is_sparse": bool(sparse & 2)}
                    attrs |= {"transpose_a": bool(transposed & 1), "transpose_b": bool(transposed & 2)}
                    x, y = a.T if transposed & 1 else a, b.T if transposed & 2 else b
                    out.record("SparseMatMul", attrs, a=x.astype(left), b=y.astype(right))
            x, y = a.astype(left), b.astype(right)
            for first, second in ((x[:0], y), (x[:, :0], y[:0]), (x, y[:, :0])):
                out.record("SparseMatMul", a=first, b=second)
            out.record("SparseMatMul", a=x, b=y[:3], error=True)
            out.record("SparseMatMul", a=x[None], b=y[None], error=True)


def slice_update_cases(out):
    def record(x, begin, end, strides, value, attrs=None, **more):
        params = {"begin": P(begin), "end": P(end), "strides": P(strides)}
        out.record("TensorStridedSliceUpdate", attrs, input=x, **params, value=value, **more)

    dtypes = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
    for dtype in dtypes.split():
        dtype = tf.as_dtype(dtype).as_numpy_dtype
        x = np.arange(12).reshape(3, 4).astype(dtype)
        record(x, [0, 1], [3, 4], [2, 2], np.array([[9, 8], [7, 0]]).astype(dtype))
        record(x, [2], [-4], [-2], np.array([[3], [5]]).astype(dtype))
    words = np.array([b"a", b"b", b"c"], object)
    record(words, [0], [3], [2], np.array([b"d", b"e"], object))
    x = MATRIX[:, :2]
    record(x, [0, 0], [2, 1], [1, 1], np.float32(9))
    record(x, [1], [2], [1], f32(8, 9), {"shrink_axis_mask": 1})
    record(x, [1], [2], [1], f32([8, 9]), {"shrink_axis_mask": 1})
    record(x, [-1, 1], [0, 0], [1, 1], np.float32(9), {"shrink_axis_mask": 3})
    record(x, [0, 0], [0, 0], [1, -1], x[::-1] * 2, {"begin_mask": 3, "end_mask": 3})
    record(x, [0, 0, 0], [0, 0, 0], [1, 1, 1], x[:, None] * 3, {"begin_mask": 7, "end_mask": 7, "new_axis_mask": 2})
    record(x, [0, 1], [0, 2], [1, 1], f32(7, 8, 9), {"ellipsis_mask": 1, "shrink_axis_mask": 2})
    record(x, [2], [1], [1], x[:0])
    record(x, [2], [1], [1], np.float32(5))
    record(x[:0], [0], [9], [1], np.float32(5))
    record(np.float32(1), [], [], [], np.float32(7))
    record(x, [0, 1], [3, 2], [1, 1], f32(7, 8, 9), error=True)
    record(x, [0], [2], [1], x, error=True)
    record(x, [5], [2], [1], np.float32(7), {"shrink_axis_mask": 1}, error=True)
    record(x, [0], [2], [0], np.float32(7), error=True)
    record(x, [0, 0, 0], [1, 1, 1], [1, 1, 1], np.float32(7), error=True)


def moment_cases(out):
    """Batch norms that compute moments, and gradients of batch norms."""
    rng = np.random.default_rng(17)
    half, brain, none = np.float16, tf.bfloat16.as_numpy_dtype, f32()
    def images(*shape):
        return (rng.permutation(np.prod(shape)) / 4 - 3).reshape(shape).astype(np.float32)

    vectors = {"scale": f32(2, -1, 0.5), "offset": f32(0.5, 7, -2), "mean": f32(1.5, 3, -1), "variance": f32(0.25, 9, 4)}
    x, dy = images(2, 3, 2, 3), images(2, 3, 2, 3)

    def is_near_zero(dy, epsilon):
        """Returns whether an element of the gradient of x is a difference of similar numbers."""
        centered, factor = x - vectors["mean"], 1 / (vectors["variance"] + epsilon)
        axes = (0, 1, 2)
        dx = dy - dy.mean(axes) - centered * factor * (dy * centered).mean(axes)
        return np.abs(dx).min() < 0.1 or np.abs((dy * centered).sum(axes)).min() < 1

    while is_near_zero(dy, 1e-4) or is_near_zero(dy, 0.5):
        dy = images(2, 3, 2, 3)
    formats = {"NHWC": (0, 1, 2, 3), "NCHW": (0, 3, 1, 2), "NDHWC": (0, 1, 2, 3, 4), "NCDHW": (0, 4, 1, 2, 3)}
    for version in ("", "V2", "V3"):
        op, unset = f"FusedBatchNorm{version}", int(version == "V3")
        dtypes = (np.float32,) if version == "" else (np.float32, half, brain)
        for attrs in ({}, {"epsilon": 0.5}, {"exponential_avg_factor": 0.25}, {"exponential_avg_factor": 0.0}):
            out.record(op, attrs, unset=unset, x=x, **vectors)
        for dtype in dtypes:
            out.record(op, {"epsilon": 0.25}, unset=unset, x=x.astype(dtype), **vectors)
        out.record(op, unset=unset, x=x, **vectors | {"mean": none, "variance": none})
        for shape in ((0, 3, 2, 3), (2, 0, 2, 3), (1, 1, 1, 3)):
            out.record(op, {"exponential_avg_factor": 0.25}, unset=unset, x=images(*shape), **vectors)
            out.record(op, unset=unset, x=images(*shape), **vectors)
        out.record(op, error=True, x=x, **vectors | {"scale": f32(1, 2)})
        out.record(op, error=True, x=x[0], **vectors)
    no_channels = {name: none for name in vectors}
    out.record("FusedBatchNormV3", unset=1, x=images(2, 1, 2, 0), **no_channels)
    for name, perm in formats.items():
        given = (x if len(perm) == 4 else x[:, :, None]).transpose(perm)
        attrs = {"data_format": name, "exponential_avg_factor": 0.5}
        out.record("FusedBatchNormV3", attrs, unset=1, x=given, **vectors)
        out.record("FusedBatchNormV3", {"data_format": name, "is_training": False}, unset=3, x=given, **vectors)
    out.record("FusedBatchNormV3", {"data_format": "NDHWC"}, error=True, x=x, **vectors)

    kept = {"scale": vectors["scale"], "reserve_space_1": vectors["mean"], "reserve_space_2": vectors["variance"]}
    for version in ("", "V2", "V3"):
        op = f"FusedBatchNormGrad{version}"
        more = {"reserve_space_3": none} if version == "V3" else {}
        for training in (True, False):
            attrs = {"is_training": training}
            for extra in ({}, {"epsilon": 0.5}):
                out.record(op, attrs | extra, y_backprop=dy, x=x, **kept, **more)
            for dtype in (half, brain) if version else ():
                # Numbers that every sum and product holds exactly.
                a, b = ((np.arange(2 * 2 * 3) * k % 5 - 2).reshape(1, 2, 2, 3).astype(dtype) for k in (2, 3))
                exact = {"scale": f32(2, -1, 0.5), "reserve_space_1": f32(1, -2, 0), "reserve_space_2": f32(0.75, 3.75, 0)}
                out.record(op, attrs | {"epsilon": 0.25}, y_backprop=a, x=b, **exact, **more)
            for shape in ((0, 3, 2, 3), (2, 3, 0, 3), (1, 1, 1, 3)):
                out.record(op, attrs, y_backprop=images(*shape), x=images(*shape) + 1, **kept, **more)
            out.record(op, attrs, error=True, y_backprop=dy[:1], x=x, **kept, **more)
            out.record(op, attrs, error=True, y_backprop=dy, x=x, **kept | {"scale": f32(1, 2)}, **more)
    for name, perm in formats.items():
        a, b = ((value if len(perm) == 4 else value[:, :, None]).transpose(perm) for value in (dy, x))
        for training in (True, False):
            # TensorFlow's CPU has no gradient of this format outside of training.
            if training or name.endswith("C"):
                attrs = {"data_format": name, "is_training": training}
                out.record("FusedBatchNormGradV3", attrs, y_backprop=a, x=b, **kept, reserve_space_3=f32(1, 2))

    norm = {"m": vectors["mean"], "v": vectors["variance"], "gamma": vectors["scale"]}
    for scaled in (True, False):
        attrs = {"variance_epsilon": 0.5, "scale_after_normalization": scaled}
        for dtype in (np.float32, np.float64):
            old = {name: value.astype(dtype) for name, value in norm.items()}
            for shape in ((2, 3, 2, 3), (0, 3, 2, 3), (1, 1, 1, 3)):
                t, backprop = images(*shape).astype(dtype), images(*shape).astype(dtype)
                beta = vectors["offset"].astype(dtype)
                out.record("BatchNormWithGlobalNormalization", attrs, version=8, t=t, beta=beta, **old)
                out.record("BatchNormWithGlobalNormalizationGrad", attrs, version=8, t=t, backprop=backprop, **old)
        attrs = {"variance_epsilon": 0.25, "scale_after_normalization": scaled}
        old = {"m": np.array([1, 2, 0], half), "v": np.array([0.75, 3.75, 0], half), "gamma": np.array([2, -1, 4], half)}
        t, backprop = ((np.arange(12) * k % 5 - 2).reshape(1, 2, 2, 3).astype(half) for k in (2, 3))
        beta = np.array([0.5, -2, 3], half)
        out.record("BatchNormWithGlobalNormalization", attrs, version=8, t=t, beta=beta, **old)
        out.record("BatchNormWithGlobalNormalizationGrad", attrs, version=8, t=t, backprop=backprop, **old)
    out.record("BatchNormWithGlobalNormalization", attrs, version=8, error=True, t=t[0], beta=beta, **old)
    out.record("BatchNormWithGlobalNormalizationGrad", attrs, version=8, error=True, t=t, backprop=backprop[0], **old)


def dilation_cases(out):
    rng = np.random.default_rng(18)
    half, brain = np.float16, tf.bfloat16.as_numpy_dtype
    integers = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64
    ones = [1, 1, 1, 1]

    def both(attrs, x, f, error=False):
        out.record("Dilation2D", attrs, input=x, filter=f, error=error)
        if not error:
            sizes = tf.raw_ops.Dilation2D(input=tf.constant(x), filter=tf.constant(f), **attrs).shape
            dy = (rng.permutation(np.prod(sizes, dtype=int)) % 7).reshape(sizes).astype(x.dtype)
            for op in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter"):
                out.record(op, attrs, input=x, filter=f, out_backprop=dy)

    for padding in ("SAME", "VALID"):
        for strides, rates in (((1, 1), (1, 1)), ((2, 1), (1, 2)), ((3, 2), (2, 1)), ((1, 3), (2, 2))):
            attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
            x = rng.integers(-9, 10, (2, 5, 6, 2)).astype(np.float32) / 2
            both(attrs, x, rng.integers(-4, 5, (2, 3, 2)).astype(np.float32) / 2)
        attrs = {"strides": ones, "rates": ones, "padding": padding}
        for dtype in (np.float64, half, brain, *integers):
            unsigned = np.dtype(dtype).kind == "u"
            x = rng.integers(0 if unsigned else -5, 6, (1, 3, 4, 1)).astype(dtype)
            both(attrs, x, rng.integers(0 if unsigned else -3, 4, (2, 2, 1)).astype(dtype))
            if dtype in integers:
                ends = np.iinfo(dtype)
                x = np.array([ends.min, ends.max, ends.max - 1, 5], dtype).reshape(1, 1, 4, 1)
                both(attrs, x, np.array([3, ends.max], dtype).reshape(1, 2, 1))
        for low, high in ((NAN, 1), (-INF, NAN), (-INF, -INF), (INF, NAN)):
            x = f32(low, high, NAN, 2, low).reshape(1, 1, 5, 1)
            both(attrs, x, np.zeros((1, 2, 1), np.float32))
        x, f = counted(2, 3, 4, 2), counted(2, 2, 2)
        for part in (x[:0], x[:1, :2], x[..., :0]):
            both(attrs, part, f[..., : part.shape[-1]])
    attrs = {"strides": [1, 2, 1, 1], "rates": ones, "padding": "VALID"}
    both(attrs, x[:, :1], f)
    both(attrs | {"strides": [2, 1, 1, 1]}, x, f, error=True)
    both(attrs | {"rates": [1, 1, 1, 2]}, x, f, error=True)
    both(attrs | {"strides": [1, 0, 1, 1]}, x, f, error=True)
    both(attrs, x, f[..., :1], error=True)
    both(attrs, x[0], f, error=True)
    for op in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter"):
        out.record(op, attrs, input=x, filter=f, out_backprop=x, error=True)


def filter_gradient_cases(out):
    """Gradients of depthwise convolutions and of filters of volumes."""
    rng = np.random.default_rng(19)
    half, brain = np.float16, tf.bfloat16.as_numpy_dtype

    def small(*shape, dtype=np.float32):
        return rng.integers(-2, 3, shape).astype(dtype)

    def depthwise(attrs, n, h, w, c, m, kh, kw, dtype=np.float32):
        x, f = small(n, h, w, c, dtype=dtype), small(kh, kw, c, m, dtype=dtype)
        first = attrs.get("data_format") == "NCHW"
        last = {key: value for key, value in attrs.items() if key != "data_format"}
        if first:
            order = [0, 2, 3, 1]
            last |= {key: [last[key][axis] for axis in order] for key in ("strides", "dilations") if key in last}
            pairs = last.get("explicit_paddings")
            last |= {"explicit_paddings": pairs[:2] + pairs[4:] + pairs[2:4]} if pairs else {}
        y = tf.raw_ops.DepthwiseConv2dNative(input=x.astype(np.float32), filter=f.astype(np.float32), **last)
        dy = small(*y.shape, dtype=dtype)
        if first:
            x, dy = x.transpose(0, 3, 1, 2), dy.transpose(0, 3, 1, 2)
        op = "DepthwiseConv2dNativeBackprop"
        out.record(op + "Input", attrs, input_sizes=P(x.shape), filter=f, out_backprop=dy)
        out.record(op + "Filter", attrs, input=x, filter_sizes=P(f.shape), out_backprop=dy)

    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            for c, m in ((2, 3), (3, 1), (1, 2)):
                depthwise({"strides": [1, stride, stride, 1], "padding": padding}, 2, 5, 4, c, m, 3, 2)
        for dtype in (np.float64, half, brain):
            depthwise({"strides": [1, 1, 1, 1], "padding": padding}, 1, 4, 3, 2, 2, 2, 2, dtype)
    paddings = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 2, 0, 0]}
    depthwise({"strides": [1, 1, 1, 1]} | paddings, 1, 4, 3, 2, 2, 3, 3)
    depthwise({"strides": [1, 1, 1, 1], "padding": "VALID"}, 1, 2, 2, 1, 1, 2, 2)
    attrs = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    x, f, dy = small(2, 4, 3, 2), small(2, 2, 2, 3), small(2, 3, 2, 6)
    op = "DepthwiseConv2dNativeBackprop"
    for wrong in (dy[:1], dy[..., :5], dy[:, :2], dy[0]):
        out.record(op + "Input", attrs, input_sizes=P(x.shape), filter=f, out_backprop=wrong, error=True)
        out.record(op + "Filter", attrs, input=x, filter_sizes=P(f.shape), out_backprop=wrong, error=True)
    none = {"out_backprop": dy[:0]}
    out.record(op + "Input", attrs, input_sizes=P([0, 4, 3, 2]), filter=f, **none)
    # Without images, TensorFlow's gradient of the filter is memory that no kernel has written.

    def volumes(attrs, sizes, window, c, m, dtype=np.float32):
        x, f = small(*sizes, c, dtype=dtype), small(*window, c, m, dtype=dtype)
        y = tf.raw_ops.Conv3D(input=x.astype(np.float32), filter=f.astype(np.float32), **attrs)
        dy = small(*y.shape, dtype=dtype)
        if dtype != brain:
            out.record("Conv3DBackpropFilter", attrs, version=9, input=x, filter=f, out_backprop=dy)
        out.record("Conv3DBackpropFilterV2", attrs, input=x, filter_sizes=P(f.shape), out_backprop=dy)

    for padding in ("SAME", "VALID"):
        for strides in ((1, 1, 1), (1, 2, 2), (2, 1, 3)):
            volumes({"strides": [1, *strides, 1], "padding": padding}, (2, 3, 4, 3), (2, 3, 2), 2, 3)
        for dtype in (np.float64, half, brain):
            volumes({"strides": [1, 1, 1, 1, 1], "padding": padding}, (1, 2, 3, 3), (2, 2, 2), 2, 2, dtype)
    attrs = {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}
    x, f, dy = small(2, 3, 3, 3, 2), small(2, 2, 2, 2, 3), small(2, 2, 2, 2, 3)
    for wrong in (dy[:1], dy[:, :1], dy[0]):
        out.record("Conv3DBackpropFilter", attrs, version=9, input=x, filter=f, out_backprop=wrong, error=True)
        out.record("Conv3DBackpropFilterV2", attrs, input=x, filter_sizes=P(f.shape), out_backprop=wrong, error=True)
    out.record("Conv3DBackpropFilter", attrs, version=9, input=x, filter=f[..., :2], out_backprop=dy, error=True)
    out.record("Conv3DBackpropFilterV2", attrs, input=x[:0], filter_sizes=P(f.shape), out_backprop=dy[:0])


def further_pool_gradient_cases(out):
    rng = np.random.default_rng(20)
    half, brain = np.float16, tf.bfloat16.as_numpy_dtype
    integers = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64

    def small(*shape):
        return rng.integers(0, 5, shape)

    def volumes(attrs, *shape, dtype=np.float32):
        x = small(*shape)
        y = tf.raw_ops.MaxPool3D(input=x.astype(np.float32), **attrs).numpy()
        dy, ddy = small(*y.shape), rng.permutation(x.size).reshape(x.shape)
        x, y, dy, ddy = (value.astype(dtype) for value in (x, y, dy, ddy))
        out.record("MaxPool3DGrad", attrs, orig_input=x, orig_output=y, grad=dy)
        out.record("MaxPool3DGradGrad", attrs, orig_input=x, orig_output=y, grad=ddy)
        out.record("AvgPool3DGrad", attrs, orig_input_shape=P(x.shape), grad=dy)

    for padding in ("SAME", "VALID"):
        for sizes, strides in (([1, 1, 2, 2, 1], [1, 1, 1, 1, 1]), ([1, 2, 3, 2, 1], [1, 1, 2, 3, 1])):
            volumes({"ksize": sizes, "strides": strides, "padding": padding}, 2, 3, 4, 3, 2)
        attrs = {"ksize": [1, 2, 2, 1, 1], "strides": [1, 1, 1, 1, 1], "padding": padding}
        volumes(attrs, 1, 3, 2, 2, 1, dtype=brain)
        none = np.zeros((0, 3, 2, 2, 1), np.float32)
        pooled = none if padding == "SAME" else none[:, :2, :1]
        out.record("MaxPool3DGrad", attrs, orig_input=none, orig_output=pooled, grad=pooled)
        out.record("AvgPool3DGrad", attrs, orig_input_shape=P(none.shape), grad=pooled)
    x, y = small(1, 2, 2, 2, 1).astype(np.float32), small(1, 1, 1, 2, 1).astype(np.float32)
    attrs = {"ksize": [1, 2, 2, 1, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
    # An output that is no maximum.
    out.record("MaxPool3DGrad", attrs, orig_input=x, orig_output=y * 0 + 9, grad=y + 1)
    out.record("MaxPool3DGradGrad", attrs, orig_input=x, orig_output=y * 0 + 9, grad=x + 1)
    out.record("MaxPool3DGrad", attrs, orig_input=x, orig_output=y, grad=y[..., :1, :], error=True)
    out.record("MaxPool3DGradGrad", attrs, orig_input=x, orig_output=y, grad=x[:, :1], error=True)
    out.record("AvgPool3DGrad", attrs, orig_input_shape=P(x.shape[1:]), grad=y, error=True)

    def images(attrs, *shape, dtype=np.float32, each=False):
        x = small(*shape)
        y = tf.raw_ops.MaxPool(input=x.astype(np.float32), **attrs).numpy()
        ddy = rng.permutation(x.size).reshape(x.shape)
        x, y, ddy = (value.astype(dtype) for value in (x, y, ddy))
        given = {"orig_input": x, "orig_output": y, "grad": ddy}
        out.record("MaxPoolGradGrad", attrs, **given)
        window = {"ksize": P(attrs["ksize"]), "strides": P(attrs["strides"])}
        out.record("MaxPoolGradGradV2", {"padding": attrs["padding"]}, **given, **window)

    for padding in ("SAME", "VALID"):
        for sizes, strides in (([1, 2, 2, 1], [1, 1, 1, 1]), ([1, 3, 2, 1], [1, 2, 3, 1]), ([1, 1, 1, 1], [1, 2, 1, 1])):
            images({"ksize": sizes, "strides": strides, "padding": padding}, 2, 5, 4, 2)
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "padding": "SAME"}
    for dtype in (np.float64, half, brain, *integers):
        images(attrs, 1, 3, 3, 1, dtype=dtype)
    images(attrs, 0, 3, 3, 1)
    x, y = small(1, 2, 2, 1).astype(np.float32), small(1, 2, 1, 1).astype(np.float32)
    out.record("MaxPoolGradGrad", attrs, orig_input=x, orig_output=y * 0 + 9, grad=x + 1)
    out.record("MaxPoolGradGrad", attrs, orig_input=x, orig_output=y[:, :1], grad=x, error=True)
    out.record("MaxPoolGradGrad", attrs, orig_input=x, orig_output=y, grad=x[:, :1], error=True)

    for attrs in ({}, {"depth_radius": 1, "bias": 2.0, "alpha": 0.5, "beta": 0.75}, {"depth_radius": 0, "beta": 1.0}):
        for shape in ((1, 2, 1, 7), (2, 1, 2, 3), (0, 2, 1, 3), (1, 1, 1, 1)):
            x, dy = (rng.integers(1, 9, shape).astype(np.float32) / 4 for _ in range(2))
            y = tf.raw_ops.LRN(input=x, **attrs).numpy()
            while np.abs(tf.raw_ops.LRNGrad(input_grads=dy, input_image=x, output_image=y, **attrs)).min(initial=1) < 0.01:
                x = rng.integers(1, 9, shape).astype(np.float32) / 4
                y = tf.raw_ops.LRN(input=x, **attrs).numpy()
            out.record("LRNGrad", attrs, input_grads=dy, input_image=x, output_image=y)
    exact = {"depth_radius": 0, "bias": 0.0, "beta": 1.0}
    x, y, dy = (np.array(values, half).reshape(1, 1, 1, 3) for values in ([1, 2, -0.5], [1, 0.5, -2], [2, 1, 4]))
    out.record("LRNGrad", exact, input_grads=dy, input_image=x, output_image=y)
    x = x.astype(np.float32)
    out.record("LRNGrad", input_grads=x[..., :2], input_image=x, output_image=x, error=True)
    out.record("LRNGrad", input_grads=x[0], input_image=x[0], output_image=x[0], error=True)


def image_gradient_cases(out):
    """Gradients of resized images and crops."""
    rng = np.random.default_rng(21)
    half, brain = np.float16, tf.bfloat16.as_numpy_dtype
    integers = np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16
    samplings = ({}, {"align_corners": True}, {"half_pixel_centers": True})

    def small(*shape, dtype=np.float32):
        return rng.integers(1, 9, shape).astype(dtype)

    for attrs in samplings:
        for size, resized in (((5, 4), (3, 7)), ((2, 3), (4, 6)), ((1, 1), (3, 2)), ((4, 3), (1, 1))):
            for op in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
                like = np.zeros((2, *size, 2), np.float32)
                out.record(op, attrs, grads=small(2, *resized, 2), original_image=like)
            out.record("ResizeNearestNeighborGrad", attrs, grads=small(2, *resized, 2), size=P(size))
    # The weights are f32, also for f64. These are multiples of a power of 2.
    for attrs, size, resized in ((samplings[0], (2, 3), (4, 6)), (samplings[1], (3, 3), (5, 5)), (samplings[2], (2, 3), (4, 6))):
        for op in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
            if op == "ResizeBilinearGrad" or attrs != samplings[2]:
                like = np.zeros((1, *size, 2), np.float64)
                out.record(op, attrs, grads=small(1, *resized, 2), original_image=like)
    for dtype in (half, brain):
        like = np.zeros((1, 2, 2, 1), dtype)
        out.record("ResizeBilinearGrad", grads=small(1, 4, 4, 1), original_image=like)
        out.record("ResizeNearestNeighborGrad", grads=small(1, 4, 3, 2, dtype=dtype), size=P([2, 2]))
    for dtype in (np.float64, np.int8, np.int32, np.uint8):
        out.record("ResizeNearestNeighborGrad", grads=small(1, 4, 3, 2, dtype=dtype), size=P([2, 2]))
        if dtype != np.float64:
            most = np.full((1, 3, 2, 1), np.iinfo(dtype).max, dtype)
            out.record("ResizeNearestNeighborGrad", grads=most, size=P([1, 1]))
    both = {"align_corners": True, "half_pixel_centers": True}
    x = small(2, 3, 4, 1)
    for op in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
        out.record(op, both, grads=x, original_image=x, error=True)
        out.record(op, grads=x, original_image=x[0], error=True)
        out.record(op, grads=x[:0], original_image=x[:0])
    out.record("ResizeNearestNeighborGrad", grads=x, size=P([2]), error=True)
    out.record("ResizeNearestNeighborGrad", grads=x, size=P([-1, 2]), error=True)
    out.record("ResizeNearestNeighborGrad", grads=x[:0], size=P([2, 2]))

    boxes = f32([0, 0, 1, 1], [0.25, 0.125, 0.75, 1.25], [-0.5, 0.75, 0.5, 0.25], [0.5, 0.5, 0.5, 0.5])
    numbers = i32(0, 1, 1, 0)
    image = rng.permutation(2 * 5 * 5 * 2).reshape(2, 5, 5, 2).astype(np.float32)
    for crop in ((3, 3), (1, 1), (1, 4), (2, 1)):
        grads = small(4, *crop, 2)
        for method in ("bilinear", "nearest"):
            for dtype in (tf.float32, tf.float64):
                attrs = {"method": method, "T": dtype}
                given = {"boxes": boxes, "box_ind": numbers, "image_size": P([2, 5, 5, 2])}
                out.record("CropAndResizeGradImage", attrs, grads=grads, **given)
        out.record("CropAndResizeGradBoxes", grads=grads, image=image, boxes=boxes, box_ind=numbers)
    given = {"boxes": boxes[:2], "box_ind": numbers[:2]}
    grads = small(2, 2, 3, 1)
    # The points of the crops are multiples of a quarter.
    out.record("CropAndResizeGradImage", {"T": tf.float16}, grads=grads, **given, image_size=P([2, 3, 3, 1]))
    for dtype in (np.float64, half, *integers):
        part = (image[:, :3, :3, :1] % 100).astype(dtype)
        out.record("CropAndResizeGradBoxes", grads=grads, image=part, **given)
    none = {"boxes": boxes[:0], "box_ind": numbers[:0]}
    out.record("CropAndResizeGradImage", {"T": tf.float32}, grads=grads[:0], **none, image_size=P([2, 3, 3, 1]))
    out.record("CropAndResizeGradBoxes", grads=grads[:0], image=image[..., :1], **none)
    wrong = given | {"box_ind": i32(0, 2)}
    out.record("CropAndResizeGradImage", {"T": tf.float32}, grads=grads, **wrong, image_size=P([2, 3, 3, 1]), error=True)
    out.record("CropAndResizeGradBoxes", grads=grads, image=image[..., :1], **wrong, error=True)
    out.record("CropAndResizeGradBoxes", grads=grads, image=image, **given, error=True)
    out.record("CropAndResizeGradImage", {"T": tf.float32}, grads=grads, **given, image_size=P([2, 3, 3, 2]), error=True)
    out.record("CropAndResizeGradImage", {"T": tf.float32}, grads=grads, **given, image_size=P([2, 0, 3, 1]), error=True)


def joined_range_cases(out):
    """Quantized values whose ranges differ, and casts and means that keep or lose elements."""
    q = {
        tf.quint8: quantized(tf.quint8, 3, 21, 90, 200, 255),
        tf.qint32: quantized(tf.qint32, -(2**31), -1512163869, 615127717, 604324918, 2**31 - 1),
    }
    for value in q.values():
        for ends in (
            ((-8.24046, 0.72506905), (-3.544931, 4.5882792)),
            ((-3, -2), (-2.5, -1)),
            ((1, 2), (1.5, 3)),
            ((-3, -2), (-3, -2)),
        ):
            mins = [np.float32(low) for low, _ in ends]
            maxes = [np.float32(high) for _, high in ends]
            values = [value, value[1:4]]
            out.record("QuantizedConcat", concat_dim=P(0), values=values, input_mins=mins, input_maxes=maxes)
    for truncate in (False, True):
        every = np.arange(256).astype(np.uint8).view(ml_dtypes.float8_e4m3fn)
        e5m2 = tf.as_dtype(ml_dtypes.float8_e5m2)
        out.record("Cast", {"DstT": e5m2, "Truncate": truncate}, x=every)
        words = np.array([[b"a", b""], [b"\xff", b"abc"]], object)
        out.record("Cast", {"DstT": tf.string, "Truncate": truncate}, x=words)
    for dtype in (np.complex64, np.complex128):
        for keep in (False, True):
            none = np.zeros((2, 0, 3), dtype)
            out.record("Mean", {"keep_dims": keep}, input=none, reduction_indices=P(1))


def general_convolution_cases(out):
    rng = np.random.default_rng(23)

    def small(*shape, dtype=np.float32):
        return rng.integers(-4, 5, shape).astype(dtype)

    filters = small(2, 3, 2, 3)
    for padding in ("SAME", "VALID"):
        for strides, dilations in (([1, 1, 1, 1], []), ([1, 2, 1, 1], [1, 1, 1, 1]), ([1, 1, 1, 1], [1, 2, 1, 1])):
            attrs = {"strides": strides, "dilations": dilations, "padding": padding}
            out.record("Conv", attrs, input=small(2, 5, 4, 2), filter=filters)
            out.record("Conv", attrs | {"batch_dims": 2}, input=small(2, 1, 5, 4, 2), filter=filters)
            out.record("Conv", attrs | {"batch_dims": 3}, input=small(1, 2, 2, 3, 4, 2), filter=filters)
        attrs = {"strides": [1, 1, 2, 1, 1], "padding": padding}
        out.record("Conv", attrs, input=small(1, 3, 5, 4, 2), filter=small(2, 2, 3, 2, 3))
    explicit = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]}
    out.record("Conv", explicit | {"strides": [1, 1, 1, 1]}, input=small(1, 5, 4, 2), filter=filters)
    plain = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    for dtype in (np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.int32):
        out.record("Conv", plain, input=small(1, 3, 3, 1, dtype=dtype), filter=small(1, 2, 1, 1, dtype=dtype))
    out.record("Conv", plain, input=small(0, 5, 4, 2), filter=filters)
    out.record("Conv", plain, input=small(1, 5, 4, 3), filter=filters, error=True)
    out.record("Conv", plain, input=small(5, 4, 2), filter=filters, error=True)
    out.record("Conv", plain | {"batch_dims": 0}, input=small(1, 5, 4, 2), filter=filters, error=True)


def drawing_cases(out):
    rng = np.random.default_rng(24)
    boxes = f32([0, 0, 1, 1], [0.25, 0.125, 0.75, 1.25], [-0.5, 0.25, 0.5, 0.75], [0.5, 0.5, 0.5, 0.5], [0.75, 0, 0.25, 1])
    boxes = np.stack([boxes, boxes[::-1] + np.float32(0.25), np.full_like(boxes, 2)])
    for channels in (1, 3, 4):
        images = rng.integers(2, 9, (3, 5, 4, channels)).astype(np.float32)
        out.record("DrawBoundingBoxes", images=images, boxes=boxes)
        for colors in (f32([0.25, 0.5, 0.75, 1], [2, 3, 4, 5]), np.zeros((0, 4), np.float32)):
            out.record("DrawBoundingBoxesV2", images=images, boxes=boxes, colors=colors)
        out.record("DrawBoundingBoxes", images=images[:1].astype(np.float16), boxes=boxes[:1, :2])
    many = np.stack([np.arange(12) / 12, np.zeros(12), np.arange(12) / 12, np.ones(12)], axis=1)[None].astype(np.float32)
    out.record("DrawBoundingBoxes", images=np.zeros((1, 12, 2, 3), np.float32), boxes=many)
    out.record("DrawBoundingBoxesV2", images=images[:1], boxes=boxes[:1], colors=f32([1, 2, 3]), error=True)
    out.record("DrawBoundingBoxes", images=images[..., :2], boxes=boxes, error=True)
    out.record("DrawBoundingBoxes", images=images, boxes=boxes[..., :3], error=True)
    out.record("DrawBoundingBoxes", images=images[:0], boxes=boxes[:0])
    out.record("DrawBoundingBoxes", images=images, boxes=boxes[:, :0])
    half = images[:1].astype(np.float16)
    out.record("DrawBoundingBoxesV2", images=half, boxes=boxes[:1], colors=f32([0.1, 0.7, 3, 4]))


def unknown_shape_cases(out):
    def record(op, attrs=None, error=False, **inputs):
        out.record(op, attrs, error=error, known=False, **inputs)

    image = (np.arange(5 * 4 * 2) * 7 % 31 - 11).reshape(1, 5, 4, 2).astype(np.float32)
    pools = [
        ([1, 2, 2, 1], [1, 2, 2, 1]),
        ([1, 3, 1, 1], [1, 1, 3, 1]),
        ([1, 6, 2, 1], [1, 1, 1, 1]),
        ([1, 8, 2, 1], [1, 2, 1, 1]),
    ]
    for padding in ("VALID", "SAME"):
        for sizes, strides in pools:
            windows = {"ksize": i32(*sizes), "strides": i32(*strides)}
            record("MaxPoolV2", {"padding": padding}, input=image, **windows)
        for sizes, strides in pools[:2]:
            windows = {"ksize": i32(*sizes), "strides": i32(*strides)}
            attrs = {"padding": padding, "ksize": sizes, "strides": strides}
            pooled = tf.raw_ops.MaxPool(input=image, **attrs).numpy()
            given = {"orig_input": image, "orig_output": pooled} | windows
            record("MaxPoolGradV2", {"padding": padding}, grad=pooled % 5, **given)
            record("MaxPoolGradGradV2", {"padding": padding}, grad=image % 5, **given)
    wrong = (
        ([2, 1, 1, 1], [1] * 4),
        ([1] * 4, [2, 1, 1, 1]),
        ([1, 0, 1, 1], [1] * 4),
        ([1] * 4, [1, 1, 0, 1]),
        ([1] * 3, [1] * 4),
        ([1, 7, 1, 1], [1] * 4),
        ([1, 9, 1, 1], [1, 2, 1, 1]),
    )
    for sizes, strides in wrong:
        windows = {"ksize": i32(*sizes), "strides": i32(*strides)}
        record("MaxPoolV2", {"padding": "VALID"}, input=image, error=True, **windows)
    valid = {"padding": "VALID"}
    volume = np.arange(4 * 3 * 2 * 2, dtype=np.float32).reshape(1, 4, 3, 2, 2)
    # Windows of 6 rows and of a depth of 5 exceed the image and the volume. A run refuses some of them.
    for stride in (1, 2):
        for rows, refused in ((5, False), (4, stride == 1), (3, stride == 1)):
            x, rows_of_6 = image[:, :rows], {"strides": [1, stride, 1, 1]} | valid
            pool = {"ksize": [1, 6, 1, 1]} | rows_of_6
            for op, name in (("MaxPool", "input"), ("AvgPool", "value")):
                record(op, pool, error=refused, **{name: x})
            record("MaxPoolWithArgmax", pool, error=refused, input=x)
            record("Conv2D", rows_of_6, error=refused, input=x, filter=np.ones((6, 1, 2, 3), np.float32))
            attrs = {"strides": [1, stride, stride, 1]} | valid
            record("DepthwiseConv2dNative", attrs, error=refused, input=x, filter=np.ones((6, 1, 2, 1), np.float32))
            attrs = rows_of_6 | {"rates": [1] * 4}
            record("Dilation2D", attrs, error=refused, input=x, filter=np.ones((6, 1, 2), np.float32))
            record("ExtractImagePatches", attrs | {"ksizes": [1, 6, 1, 1]}, error=refused, images=x)
        for depth, refused in ((4, False), (3, stride == 1)):
            x, depth_of_5 = volume[:, :depth], {"strides": [1, stride, 1, 1, 1]} | valid
            for op in ("MaxPool3D", "AvgPool3D"):
                record(op, {"ksize": [1, 5, 1, 1, 1]} | depth_of_5, error=refused, input=x)
            record("Conv3D", depth_of_5, error=refused, input=x, filter=np.ones((5, 1, 1, 2, 3), np.float32))
    dy = (np.arange(24) % 7 - 3).reshape(1, 3, 2, 4).astype(np.float32)
    w = (np.arange(3 * 3 * 2 * 4) * 5 % 13 - 6).reshape(3, 3, 2, 4).astype(np.float32)
    attrs = {"strides": [1] * 4} | valid
    for sizes, refused in (([1, 5, 4, 2], False), ([5, 4], False), ([2, 5, 4, 2], True), ([1, 5, 5, 2], True), ([5, 4, 2], True)):
        record("Conv2DBackpropInput", attrs, error=refused, input_sizes=i32(*sizes), filter=w, out_backprop=dy)
    strided = {"strides": [1, 2, 2, 1], "padding": "SAME"}
    record("Conv2DBackpropInput", strided, input_sizes=i32(1, 6, 3, 2), filter=w, out_backprop=dy)
    record("Conv2DBackpropInput", {"strides": [1] * 4} | valid, input_sizes=i32(1, 2, 4, 2), filter=w, out_backprop=dy[:, :0])
    for sizes, refused in (([1, 5, 4, 2], False), ([2, 5, 4, 2], True), ([1, 5, 4, 4], True)):
        given = {"input_sizes": i32(*sizes), "filter": w[..., :2], "out_backprop": dy}
        record("DepthwiseConv2dNativeBackpropInput", attrs, error=refused, **given)
    for sizes, refused in (([1, 1, 5, 4, 2], False), ([2, 1, 5, 4, 2], True), ([1, 5, 4, 2], True)):
        given = {"input_sizes": i32(*sizes), "filter": w[None], "out_backprop": dy[:, None]}
        record("Conv3DBackpropInputV2", {"strides": [1] * 5} | valid, error=refused, **given)
    for sizes, refused in (([1, 5, 4, 4], False), ([5, 4], True)):
        attrs = {"ksize": [1, 3, 3, 1], "strides": [1] * 4} | valid
        record("AvgPoolGrad", attrs, error=refused, orig_input_shape=i32(*sizes), grad=np.abs(dy) + 1)
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    first = {"data_format": "NCHW"}
    record("BiasAdd", first, value=matrix, bias=f32(5, 7, -1))
    record("BiasAdd", first, value=matrix, bias=f32(5, 7), error=True)
    record("BiasAdd", first, value=f32(1, 2), bias=f32(5, 7), error=True)
    record("BiasAddGrad", first, out_backprop=matrix)
    for axes in ([0, 0], [0, -2], [5], [-9], [0], []):
        axes = np.array(axes, np.int32)
        record("ReverseV2", tensor=matrix[:0], axis=axes)
        record("ReverseV2", tensor=matrix[:, :0], axis=axes)
        refused = len(axes) == 2 or (len(axes) == 1 and axes[0] != 0)
        record("ReverseV2", tensor=matrix, axis=axes, error=refused)


def large_angle_cases(out):
    x = np.array([1048575.9, -1048576.5, 2.0**49, -1e22, 6381956970095103 * 2.0**797, 1.7e308, np.inf, np.nan])
    for op in ("Sin", "Cos", "Tan"):
        out.record(op, x=x)
    out.record("Exp", x=np.array([0.5 + 1e22j, -0.5 - 3e300j]))


def audio_cases(out):
    rng = np.random.default_rng(17)
    sound = (rng.normal(size=(50, 2)) * 1000).astype(np.float32)
    for window, stride in ((16, 8), (13, 5), (2, 1), (50, 3), (51, 3), (20, 49), (8, 60)):
        for squared in (False, True):
            attrs = {"window_size": window, "stride": stride, "magnitude_squared": squared}
            out.record("AudioSpectrogram", attrs, input=sound)
    out.record("AudioSpectrogram", {"window_size": 400, "stride": 160}, input=sound.reshape(100, 1)[:3])
    for attrs in ({"window_size": 1, "stride": 8}, {"window_size": 8, "stride": 0}, {"window_size": -1, "stride": 1}):
        out.record("AudioSpectrogram", attrs, input=sound, error=True)
    out.record("AudioSpectrogram", {"window_size": 8, "stride": 8}, input=sound[:, 0], error=True)
    out.record("AudioSpectrogram", {"window_size": 8, "stride": 8}, input=sound[:, :0])
    spectrogram = (rng.normal(size=(2, 2, 33)) ** 2 * 1e4).astype(np.float32)
    spectrogram[0, 1] = 0
    narrow = {"lower_frequency_limit": 300.0, "upper_frequency_limit": 3000.0, "filterbank_channel_count": 10}
    for attrs in ({}, {"dct_coefficient_count": 40}, narrow | {"dct_coefficient_count": 5}):
        for rate in (8000, 22050):
            out.record("Mfcc", attrs, spectrogram=spectrogram, sample_rate=np.int32(rate))
    # The highest frequency exceeds the last bin.
    out.record("Mfcc", spectrogram=spectrogram, sample_rate=np.int32(4000))
    out.record("Mfcc", {"lower_frequency_limit": 0.0}, spectrogram=spectrogram[..., :2], sample_rate=np.int32(16000))
    for attrs in (
        {"dct_coefficient_count": 41}, {"dct_coefficient_count": 0}, {"filterbank_channel_count": 0},
        {"upper_frequency_limit": 10.0}, {"lower_frequency_limit": -1.0},
    ):
        out.record("Mfcc", attrs, spectrogram=spectrogram, sample_rate=np.int32(16000), error=True)
    out.record("Mfcc", spectrogram=spectrogram, sample_rate=np.int32(0), error=True)
    out.record("Mfcc", spectrogram=spectrogram[..., :1], sample_rate=np.int32(16000), error=True)


def recurrent_cases(out):
    """TensorFlow leaves the outputs of a BlockLSTM at times from seq_len_max on unset, except for cs and h."""
    rng = np.random.default_rng(19)
    for batch, inputs, cell in ((1, 1, 1), (2, 3, 2)):
        def normal(*shape):
            return (rng.normal(size=shape) * 1.5).astype(np.float32)

        state = {"cs_prev": normal(batch, cell), "h_prev": normal(batch, cell)}
        weights = {"w": normal(inputs + cell, 4 * cell), "b": normal(4 * cell)}
        weights |= {name: normal(cell) for name in ("wci", "wcf", "wco")}
        for attrs in ({}, {"use_peephole": True}, {"use_peephole": True, "cell_clip": 0.5}, {"cell_clip": -1.0}):
            layer = {"seq_len_max": np.int64(3), "x": normal(3, batch, inputs)} | state | weights
            out.record("BlockLSTMV2", attrs, **layer)
            for biased in (attrs, attrs | {"forget_bias": 0.25}):
                out.record("BlockLSTM", biased, **layer)
                out.record("LSTMBlockCell", biased, x=normal(batch, inputs), **state, **weights)
        gates = {"w_ru": normal(inputs + cell, 2 * cell), "w_c": normal(inputs + cell, cell)}
        biases = {"b_ru": normal(2 * cell), "b_c": normal(cell)}
        gru = {"x": normal(batch, inputs), "h_prev": state["h_prev"]} | gates | biases
        out.record("GRUBlockCell", **gru)
    out.record("GRUBlockCell", **gru | {"w_ru": gru["w_ru"][1:]}, error=True)
    out.record("BlockLSTM", **layer | {"w": layer["w"][1:]}, error=True)


def ctc_loss_cases(out):
    """TensorFlow reads and writes outside of its matrices if all labels of a sequence are blanks, which is left out."""
    rng = np.random.default_rng(23)
    indices = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 3]], np.int64)
    for dtype in (np.float32, np.float64):
        x = rng.normal(size=(6, 3, 4)).astype(dtype)
        labels = {"labels_indices": indices, "labels_values": i32(0, 2, 2, 1, 1, 0)}
        for collapses in (False, True):
            for merges in (False, True):
                attrs = {"preprocess_collapse_repeated": collapses, "ctc_merge_repeated": merges}
                for lengths in (i32(6, 5, 1), i32(4, 2, 6), i32(3, 2, 1)):
                    out.record("CTCLoss", attrs, inputs=x, **labels, sequence_length=lengths)
                    ignored = attrs | {"ignore_longer_outputs_than_inputs": True}
                    out.record("CTCLoss", ignored, inputs=x, **labels, sequence_length=lengths - 1)
        whole = {"inputs": x, "sequence_length": i32(6, 5, 4)} | labels
        out.record("CTCLoss", **whole | {"labels_values": i32(0, 2, 3, 1, 7, 0)})
        for values in (i32(0, 3, 1, 1, 1, 0), i32(0, -2, 1, 1, 1, 0)):
            out.record("CTCLoss", **whole | {"labels_values": values}, error=True)
        for lengths in (i32(7, 1, 1), i32(-1, 3, 3), i32(1, 3, 3), i32(6, 5)):
            out.record("CTCLoss", **whole | {"sequence_length": lengths}, error=True)
        for wrong in (indices[::-1], indices + i32(1, 0), indices - i32(0, 1), indices[:, :1] * i32(1, 1), indices * i32(0, 1)):
            out.record("CTCLoss", **whole | {"labels_indices": wrong.astype(np.int64)}, error=True)
        # TensorFlow takes a subnormal probability for 0, which makes a loss infinite.
        if dtype == np.float64:
            out.record("CTCLoss", **whole | {"inputs": x * 60})


def distorted_box_cases(out):
    rng = np.random.default_rng(67)
    boxes = np.array([[[0.1, 0.2, 0.6, 0.9], [0.5, 0.5, 0.7, 0.75]], [[0, 0, 1, 0.5], [0.25, 0, 0.25, 1]]], np.float32)
    whole = {"use_image_if_no_bounding_boxes": True}
    limits = (
        {},
        {"aspect_ratio_range": [0.3, 3.0], "area_range": [0.02, 0.5]},
        {"aspect_ratio_range": [2.0, 2.0], "area_range": [0.9, 1.0], "max_attempts": 7},
        {"aspect_ratio_range": [1.7, 0.6], "area_range": [0.3, 0.3], "max_attempts": 1},
    )
    for number, attrs in enumerate(limits):
        for dtype in (np.int32, np.int64, np.int16, np.uint8, np.int8):
            size = np.array([97, 61, 3], dtype)
            for covered in (0.0, 0.1, 0.7, 1.0, 2.0):
                seed = rng.integers(-(2**40), 2**40, size=2)
                parts = {"image_size": size, "bounding_boxes": boxes}
                scalar = np.float32(covered)
                op = "StatelessSampleDistortedBoundingBox"
                out.record(op, attrs, **parts, min_object_covered=scalar, seed=seed)
                state = attrs | {"seed": 5 + number, "seed2": int(100 * covered)}
                out.record("SampleDistortedBoundingBoxV2", state, **parts, min_object_covered=scalar)
                state |= {"min_object_covered": covered}
                out.record("SampleDistortedBoundingBox", state, **parts)
        none = {"bounding_boxes": boxes[:, :0], "min_object_covered": np.float32(0.1), "seed": i32(number, 3)}
        for size in (i32(500, 333, 3), i32(3, 2, 1), i32(1, 1, 1), i32(1, 40, 3), i32(0, 5, 3), i32(70000, 90000, 3)):
            out.record("StatelessSampleDistortedBoundingBox", attrs | whole, image_size=size, **none)
    few = {"image_size": i32(9, 8, 3), "bounding_boxes": boxes, "min_object_covered": np.float32(0.1), "seed": i32(1, 3)}
    op = "StatelessSampleDistortedBoundingBox"
    out.record(op, **(few | {"bounding_boxes": boxes[:, :0]}), error=True)
    out.record(op, **(few | {"bounding_boxes": boxes * 2}), error=True)
    out.record(op, **(few | {"bounding_boxes": boxes - NAN}), error=True)
    out.record(op, **(few | {"image_size": i32(-1, 8, 3)}), error=True)
    out.record(op, **(few | {"image_size": i32(9, 8)}), error=True)
    out.record(op, **(few | {"min_object_covered": np.float32(-1)}), error=True)
    out.record(op, **(few | {"seed": i32(1, 2, 3)}), error=True)
    for wrong in (
        {"area_range": [0.0, 1.0]},
        {"area_range": [0.5, 1.5]},
        {"aspect_ratio_range": [-1.0, 1.0]},
        {"aspect_ratio_range": [1.0]},
        {"max_attempts": 0},
    ):
        out.record(op, wrong, **few, error=True)


def random_crop_cases(out):
    rng = np.random.default_rng(71)
    for name in "uint8 int8 int16 int32 int64 float32 float64".split():
        image = rng.integers(0, 99, size=(5, 7, 2)).astype(tf.as_dtype(name).as_numpy_dtype)
        for number, size in enumerate(([2, 3], [5, 3], [2, 7], [5, 7], [1, 1], [0, 3])):
            for given in (P(size, np.int64), np.array(size)):
                out.record("RandomCrop", {"seed": 3, "seed2": number}, version=7, image=image, size=given)
    out.record("RandomCrop", {"seed": 3}, version=7, image=image, size=P([6, 7], np.int64), error=True)
    out.record("RandomCrop", {"seed": 3}, version=7, image=image, size=P([2, 2, 2], np.int64), error=True)
    for dtype in (np.float16, np.float32, np.float64):
        rate = np.array([[0.5, 3], [11, 60]], dtype)
        for shape in (i32(2, 3), np.array([4])):
            out.record("RandomPoisson", {"seed": 7, "seed2": -9}, version=20, shape=P(shape, shape.dtype), rate=rate)


def candidate_cases(out):
    truth = np.array([[0, 7], [3, 3], [9, 1]])
    for unique in (False, True):
        for seed, sampled in ((3, 1), (4, 6), (5, 10)):
            attrs = {"num_true": 2, "num_sampled": sampled, "unique": unique, "seed": seed, "seed2": 70 - seed}
            for op in (
                "UniformCandidateSampler",
                "LogUniformCandidateSampler",
                "LearnedUnigramCandidateSampler",
                "ThreadUnsafeUnigramCandidateSampler",
            ):
                for range_max in (10, 16, 1000, 99999):
                    out.record(op, attrs | {"range_max": range_max}, true_classes=truth)
            for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
                out.record(op, attrs | {"range_max": 2**40 + 7}, true_classes=truth)
            weights = [0.5, 3.0, 1.0, 0.25, 8.0, 1.5, 2.0, 0.125, 4.0, 1.0]
            fixed = attrs | {"unigrams": weights, "range_max": 10}
            for distortion in (1.0, 0.75, 0.0):
                out.record("FixedUnigramCandidateSampler", fixed | {"distortion": distortion}, true_classes=truth)
            if sampled < 10:
                reserved = attrs | {"unigrams": weights[:7], "range_max": 10, "num_reserved_ids": 3}
                out.record("FixedUnigramCandidateSampler", reserved, true_classes=truth)
                shards = attrs | {"unigrams": weights * 3, "range_max": 12, "num_reserved_ids": 4, "num_shards": 3}
                out.record("FixedUnigramCandidateSampler", shards | {"shard": 1, "range_max": 11}, true_classes=truth)
    for unique in (False, True):
        attrs = {"num_true": 2, "num_sampled": 10, "unique": unique}
        out.record("AllCandidateSampler", attrs, true_classes=truth)
    attrs = {"num_true": 2, "num_sampled": 6, "unique": True, "seed": 1, "range_max": 5}
    out.record("UniformCandidateSampler", attrs, true_classes=truth % 5, error=True)
    attrs |= {"range_max": 9}
    out.record("UniformCandidateSampler", attrs, true_classes=truth, error=True)
    out.record("UniformCandidateSampler", attrs, true_classes=truth[:, :1] % 5, error=True)
    out.record("UniformCandidateSampler", attrs | {"range_max": 0}, true_classes=truth, error=True)
    out.record("FixedUnigramCandidateSampler", attrs, true_classes=truth % 9, error=True)
    out.record("FixedUnigramCandidateSampler", attrs | {"unigrams": [1.0]}, true_classes=truth % 9, error=True)
    for sampled in (np.array([7, 2, 7, 3]), np.array([5, 6]), np.zeros(0, np.int64), np.arange(10)):
        out.record("ComputeAccidentalHits", {"num_true": 2}, true_classes=truth, sampled_candidates=sampled)
    out.record("ComputeAccidentalHits", {"num_true": 1}, true_classes=truth, sampled_candidates=sampled, error=True)


def approx_top_k_cases(out):
    rng = np.random.default_rng(73)
    for name in "float16 bfloat16 float32".split():
        x = rng.integers(-9, 9, size=(2, 3, 11)).astype(tf.as_dtype(name).as_numpy_dtype)
        for k in (0, 1, 4, 11):
            for attrs in ({}, {"recall_target": 0.5, "reduction_input_size_override": 7}):
                out.record("ApproxTopK", attrs | {"k": k}, input=x)
        out.record("ApproxTopK", {"k": 2}, input=x[0, 0])
    out.record("ApproxTopK", {"k": 5}, input=f32(-0.0, 0, -INF, INF, 0))
    out.record("ApproxTopK", {"k": 12}, input=x, error=True)
    out.record("ApproxTopK", {"k": 1}, input=x[0, 0, 0], error=True)


def fused_cases(out):
    """Products and convolutions with the ops that graph optimizers fuse with them."""
    draw = np.random.default_rng(41)

    def normal(*sizes):
        return draw.normal(size=sizes).astype(np.float32)

    a, b, bias = normal(2, 3), normal(3, 4), normal(4)
    kinds = [["BiasAdd"]] + [["BiasAdd", name] for name in "Relu Relu6 Elu LeakyRelu Tanh Sigmoid".split()]
    for kind in kinds:
        out.record("_FusedMatMul", {"fused_ops": kind}, a=a, b=3 * b, args=[bias])
    for flags in ({"transpose_a": True}, {"transpose_b": True}, {"transpose_a": True, "transpose_b": True}):
        attrs = flags | {"fused_ops": ["BiasAdd", "LeakyRelu"], "leakyrelu_alpha": 0.5}
        turned = [x.T.copy() if f"transpose_{name}" in flags else x for name, x in (("a", a), ("b", b))]
        out.record("_FusedMatMul", attrs, a=turned[0], b=turned[1], args=[bias])
    for dtype in (np.float16, ml_dtypes.bfloat16):
        for kind in (["BiasAdd"], ["BiasAdd", "Relu"]):
            parts = [x.astype(dtype) for x in (np.round(2 * a), np.round(2 * b), np.round(4 * bias))]
            out.record("_FusedMatMul", {"fused_ops": kind}, a=parts[0], b=parts[1], args=[parts[2]])
    refused = ([], ["Relu"], ["BiasAdd", "GeluExact"], ["BiasAdd", "Relu", "Relu"], ["BiasAdd", "Add"])
    for kind in refused:
        attrs = {"fused_ops": kind} if kind else {}
        out.record("_FusedMatMul", attrs, a=a, b=b, args=[bias], error=True)
    for args in ([bias, bias], [bias[None]]):
        out.record("_FusedMatMul", {"fused_ops": ["BiasAdd"]}, a=a, b=b, args=args, error=True)

    # Sums of products of these numbers are exact.
    x, filter = np.round(4 * normal(2, 4, 5, 2)) / 4, np.round(4 * normal(2, 3, 2, 4)) / 4
    # The scales are small, so that no result is near 0, where TensorFlow's Elu loses its digits.
    signs = np.array([-4, 4, -4, 4], np.float32)
    norm = [bias / 8, signs + normal(4) / 4, normal(4), np.abs(normal(4)) + np.float32(1)]

    def conv(kind, args, error=False, x=x, filter=filter, **attrs):
        attrs = {"strides": [1, 1, 1, 1], "padding": "VALID", "num_args": len(args)} | attrs
        attrs |= {"fused_ops": kind} if kind else {}
        out.record("_FusedConv2D", attrs, input=x, filter=filter, args=args, host_args=[], error=error)

    activations = "Relu Relu6 Elu LeakyRelu".split()
    for first, args in (("BiasAdd", [bias]), ("FusedBatchNorm", norm)):
        for kind in [[first]] + [[first, name] for name in activations]:
            conv(kind, args)
        conv([first], [arg.astype(np.float64) for arg in args], x=x.astype(np.float64), filter=filter.astype(np.float64))
    conv(["FusedBatchNorm", "LeakyRelu"], norm, epsilon=0.25, leakyrelu_alpha=0.5, padding="SAME")
    conv(["BiasAdd", "Relu"], [bias], strides=[1, 2, 1, 1], padding="SAME")
    conv(["BiasAdd"], [bias], dilations=[1, 2, 2, 1], padding="SAME")
    conv(["BiasAdd"], [bias], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0])
    for kind in ([], ["Relu"], ["BiasAdd", "Tanh"], ["FusedBatchNorm", "Sigmoid"], ["BiasAdd", "Add", "Relu"]):
        conv(kind, norm if "FusedBatchNorm" in kind else [bias], error=True)
    conv(["BiasAdd"], [bias, bias], error=True)
    conv(["FusedBatchNorm"], norm[:3], error=True)
    conv(["BiasAdd"], [bias[None]], error=True)
    conv(["BiasAdd"], [bias], filter=filter[:, :, :1], error=True)
    conv(["BiasAdd"], [bias], x=x.transpose(0, 3, 1, 2).copy(), data_format="NCHW", error=True)

    # Of several images, TensorFlow's kernels convolve the first one again and again.
    x = x[:1]
    borders = [[0, 0], [1, 2], [1, 0], [0, 0]]
    for mode in ("REFLECT", "SYMMETRIC"):
        for padding in ("SAME", "VALID"):
            attrs = {"mode": mode, "strides": [1, 1, 1, 1], "padding": padding}
            out.record("FusedPadConv2D", attrs, input=x, paddings=P(borders), filter=filter)
            attrs["strides"] = [1, 2, 1, 1]
            out.record("FusedPadConv2D", attrs, input=x, paddings=P(borders), filter=filter)
            attrs["resize_align_corners"] = padding == "SAME"
            # Pixels lie at the pixels of the image or in the middle between two of them.
            sizes = {"size": P([7, 9] if padding == "SAME" else [8, 10]), "paddings": P(borders)}
            out.record("FusedResizeAndPadConv2D", attrs, input=x, filter=filter, **sizes)
    attrs = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"}
    out.record("FusedPadConv2D", attrs, input=x.astype(np.float64), paddings=P(borders), filter=filter.astype(np.float64))
    for dtype in (np.float16, ml_dtypes.bfloat16):
        parts = [np.round(2 * part).astype(dtype) for part in (x, filter)]
        out.record("FusedPadConv2D", attrs, input=parts[0], paddings=P(borders), filter=parts[1])
    for wrong in ([[0, 0], [1, 1], [0, 0], [0, 1]], [[1, 0], [1, 1], [0, 0], [0, 0]], [[0, 0], [4, 0], [0, 0], [0, 0]]):
        out.record("FusedPadConv2D", attrs, input=x, paddings=P(wrong), filter=filter, error=True)
    out.record("FusedPadConv2D", attrs, input=x, paddings=P(borders), filter=filter[:, :, :1], error=True)
    attrs["strides"] = [2, 1, 1, 1]
    out.record("FusedPadConv2D", attrs, input=x, paddings=P(borders), filter=filter, error=True)


def quantized_layer_cases(out):
    """Activations, sums, products, convolutions and pools of the quantized graphs of TensorFlow 1."""
    draw = np.random.default_rng(42)

    def integers(dtype, *sizes):
        limits = np.iinfo(dtype.as_numpy_dtype[0])
        flat = draw.integers(limits.min, limits.max, size=int(np.prod(sizes)), endpoint=True)
        return quantized(dtype, *flat.tolist()).reshape(sizes)

    def ends(name, low, high):
        return {f"min_{name}": np.float32(low), f"max_{name}": np.float32(high)}

    ranges = ((-1.0, 1.0), (-3.7, 9.1), (0.0, 6.0), (-0.2, 700.0), (0.5, 2.5), (-4.0, -1.0), (2.0, 2.0), (-1e-3, 2.3e-3))
    for dtype in (tf.quint8, tf.qint32):
        x = integers(dtype, 2, 4)
        for low, high in ranges:
            for op in ("QuantizedRelu", "QuantizedRelu6"):
                out.record(op, {"out_type": dtype}, features=x, **ends("features", low, high))
    out.record("QuantizedRelu", features=integers(tf.quint8, 5), **ends("features", -1, 1))
    for dtype in (tf.quint8, tf.qint8):
        for (low, high), (least, most) in zip(ranges, ranges[1:] + ranges[:1]):
            values = {"input": integers(dtype, 3, 4), "bias": integers(dtype, 4)}
            attrs = {"out_type": tf.qint32}
            out.record("QuantizedBiasAdd", attrs, **values, **ends("input", low, high), **ends("bias", least, most))
    values = {"input": integers(tf.quint8, 2, 1, 2, 3), "bias": integers(tf.quint8, 3)}
    both = ends("input", -1, 2) | ends("bias", 0, 3)
    out.record("QuantizedBiasAdd", {"out_type": tf.qint32}, **values, **both)
    out.record("QuantizedBiasAdd", {"out_type": tf.qint32}, **(values | {"bias": values["bias"][:2]}), **both, error=True)

    byte = tf.quint8
    ordered = [pair for pair in ranges if pair[0] < pair[1]]
    shapes = (((2, 3), (2, 3)), ((2, 3), (3,)), ((4,), (2, 4)), ((), (5,)), ((2, 3), ()), ((1,), (1,)), ((1, 1), (3,)))
    for op in ("QuantizedAdd", "QuantizedMul"):
        for (low, high), (least, most) in zip(ordered, ordered[1:] + ordered[:1]):
            for x_sizes, y_sizes in shapes:
                x, y = integers(byte, *x_sizes), integers(byte, *y_sizes)
                out.record(op, x=x, y=y, **ends("x", low, high), **ends("y", least, most))
        x = integers(byte, 3)
        out.record(op, x=x, y=x, **ends("x", 2, 2), **ends("y", 0, 1), error=True)
        out.record(op, x=x, y=x, **ends("x", 0, 1), **ends("y", 2, 1), error=True)
    for (low, high), (least, most) in zip(ordered, ordered[1:] + ordered[:1]):
        both = ends("a", low, high) | ends("b", least, most)
        a, b = integers(byte, 2, 5), integers(byte, 5, 3)
        for flags in ({}, {"transpose_a": True}, {"transpose_b": True}, {"transpose_a": True, "transpose_b": True}):
            turned = [x.T.copy() if f"transpose_{name}" in flags else x for name, x in (("a", a), ("b", b))]
            out.record("QuantizedMatMul", flags, a=turned[0], b=turned[1], **both)
    a, b = integers(byte, 2, 5), integers(byte, 5, 3)
    out.record("QuantizedMatMul", a=a, b=b[:4], **ends("a", 0, 1), **ends("b", 0, 1), error=True)
    out.record("QuantizedMatMul", a=a, b=b, **ends("a", 1, 1), **ends("b", 0, 1), error=True)

    x = integers(byte, 2, 5, 4, 2)
    filter = integers(byte, 2, 3, 2, 3)
    for low, high in ranges:
        # TensorFlow's border is wrong if the range of the images ends below 0.
        for padding in ("SAME", "VALID") if high >= 0 else ("VALID",):
            attrs = {"strides": [1, 1, 1, 1], "padding": padding}
            both = ends("input", low, high) | ends("filter", -2.5, 1.25)
            out.record("QuantizedConv2D", attrs, input=x, filter=filter, **both)
    x = integers(byte, 1, 9, 8, 1)
    both = ends("input", -1, 2) | ends("filter", -2.5, 1.25)
    for stride in (2, 3, 4, 5):
        for window in (1, 2, 3):
            for padding in ("SAME", "VALID"):
                attrs = {"strides": [1, stride, stride, 1], "padding": padding}
                out.record("QuantizedConv2D", attrs, input=x, filter=integers(byte, window, 2, 1, 2), **both)
    attrs = {"strides": [1, 1, 2, 1], "padding": "SAME"}
    out.record("QuantizedConv2D", attrs, input=x, filter=integers(byte, 2, 2, 1, 2), **both, error=True)
    attrs["strides"] = [1, 2, 2, 1]
    out.record("QuantizedConv2D", attrs, input=x, filter=integers(byte, 2, 2, 2, 2), **both, error=True)
    for dtype in (tf.quint8, tf.qint8):
        x = integers(dtype, 2, 5, 4, 3)
        for op in ("QuantizedAvgPool", "QuantizedMaxPool"):
            for padding in ("SAME", "VALID"):
                for sizes, strides in (([1, 2, 2, 1], [1, 1, 1, 1]), ([1, 3, 2, 1], [1, 2, 2, 1])):
                    attrs = {"ksize": sizes, "strides": strides, "padding": padding}
                    out.record(op, attrs, input=x, **ends("input", -1.5, 2))
            attrs = {"ksize": [2, 1, 1, 1], "strides": [2, 1, 1, 1], "padding": "SAME"}
            out.record(op, attrs, input=x, **ends("input", -1.5, 2), error=True)


def uniform_quantized_cases(out):
    """Uniform quantization: a scale and a zero point of a tensor, or of each slice along an axis."""
    draw = np.random.default_rng(43)
    single, word = np.float32, np.int32

    def integers(dtype, *sizes, most=None):
        limits = np.iinfo(dtype.as_numpy_dtype[0])
        low, high = (limits.min, limits.max) if most is None else (-most, most)
        flat = draw.integers(low, high, size=int(np.prod(sizes)), endpoint=True)
        return quantized(dtype, *flat.tolist()).reshape(sizes)

    def parameters(name, count=None, spread=1.0):
        scales = np.exp(spread * draw.normal(size=count or ())).astype(single)
        zeros = np.asarray(draw.integers(-40, 40, size=count or ()), word)
        name = f"{name}_" if name else ""
        return {f"{name}scales": scales, f"{name}zero_points": zeros}

    def bounds(dtype, name="", narrow=0):
        limits = np.iinfo(dtype.as_numpy_dtype[0])
        name = f"{name}_" if name else ""
        return {f"{name}quantization_min_val": limits.min + narrow, f"{name}quantization_max_val": limits.max}

    x = (20 * draw.normal(size=(3, 4))).astype(single)
    for dtype in (tf.qint8, tf.quint8, tf.qint32):
        for axis, count in ((-1, None), (0, 3), (1, 4)):
            attrs = {"Tout": dtype, "quantization_axis": axis} | bounds(dtype, narrow=1)
            out.record("UniformQuantize", attrs, input=x, **parameters("", count))
            attrs = {"Tout": tf.float32, "quantization_axis": axis} | bounds(dtype)
            q = integers(dtype, 3, 4, most=1 << 24 if dtype == tf.qint32 else None)
            out.record("UniformDequantize", attrs, input=q, **parameters("", count))
    attrs = {"Tout": tf.qint8} | bounds(tf.qint8)
    ties = f32(-2.5, -1.5, -0.5, 0.49999997, 0.5, 1.5, 2.5, 200, -200)
    out.record("UniformQuantize", attrs, input=ties, scales=single(1), zero_points=word(0))
    out.record("UniformQuantize", attrs, input=ties, scales=single(-0.5), zero_points=word(3))
    out.record("UniformQuantize", attrs, input=ties[:0], scales=single(1), zero_points=word(0))
    for axis, count in ((1, None), (-1, 4), (0, 4), (2, 4), (-2, 4)):
        wrong = attrs | {"quantization_axis": axis}
        out.record("UniformQuantize", wrong, error=True, input=x, **parameters("", count))
        wrong = {"Tout": tf.float32, "quantization_axis": axis} | bounds(tf.qint8)
        out.record("UniformDequantize", wrong, error=True, input=integers(tf.qint8, 3, 4), **parameters("", count))
    wrong = {"Tout": tf.float32} | bounds(tf.qint8)
    for scale in (0, -1):
        out.record("UniformDequantize", wrong, error=True, input=integers(tf.qint8, 3), scales=single(scale), zero_points=word(0))

    axes = ((-1, -1), (0, -1), (-1, 0), (0, 0), (1, -1), (-1, 1), (1, 1))
    for dtype in (tf.qint8, tf.qint32):
        for spread in (0.5, 3.0):
            for each in axes:
                attrs = {f"{name}_quantization_axis": axis for name, axis in zip(("input", "output"), each)}
                attrs |= {"Tout": tf.qint8} | bounds(dtype, "input") | bounds(tf.qint8, "output", 1)
                counts = [None if axis < 0 else (3, 4)[axis] for axis in each]
                pairs = parameters("input", counts[0], spread) | parameters("output", counts[1], spread)
                out.record("UniformRequantize", attrs, input=integers(dtype, 3, 4, most=100), **pairs)
    attrs = {"Tout": tf.qint8} | bounds(tf.qint32, "input") | bounds(tf.qint8, "output")
    big = integers(tf.qint32, 8, most=1 << 24)
    for scale in (1e-5, 1e-10, 2.0**-32, 2.0**-33, 1e8, 2.0**30, 1e12):
        # The kernel's sum of a great integer and a zero point wraps.
        out.record("UniformRequantize", attrs, input=big, input_scales=single(scale), input_zero_points=word(5), output_scales=single(1), output_zero_points=word(0))
    for scales in ((0, 1), (1, 0), (-1, -1), (np.inf, 1), (1, np.inf)):
        both = {"input_scales": single(scales[0]), "output_scales": single(scales[1])}
        out.record("UniformRequantize", attrs, error=True, input=big, **both, input_zero_points=word(0), output_zero_points=word(0))
    attrs |= {"input_quantization_axis": 0, "output_quantization_axis": 1}
    out.record("UniformRequantize", attrs, error=True, input=integers(tf.qint32, 2, 2), **parameters("input", 2), **parameters("output", 2))

    word_bounds = bounds(tf.qint32, "lhs") | bounds(tf.qint32, "rhs")
    # Of operands whose rank is less than that of the sum, TensorFlow's kernel reads the axes of the sum.
    shapes = (((3, 4), (3, 4)), ((3, 4), (4,)), ((), (3, 4)), ((3, 1), (1, 4)))
    for sizes in shapes:
        for narrow in ({"output_quantization_min_val": -20, "output_quantization_max_val": 30}, bounds(tf.qint32, "output")):
            both = [integers(tf.qint32, *each, most=90) for each in sizes]
            three = parameters("lhs") | parameters("rhs") | parameters("output")
            out.record("UniformQuantizedAdd", word_bounds | narrow, lhs=both[0], rhs=both[1], **three)
    for each in ((0, 0, 0), (0, -1, 0), (1, 1, 1), (0, 0, -1), (0, 1, -1), (1, -1, -1)):
        attrs = {f"{name}_quantization_axis": axis for name, axis in zip(("lhs", "rhs", "output"), each)}
        three = [parameters(name, None if axis < 0 else (3, 4)[axis]) for name, axis in zip(("lhs", "rhs", "output"), each)]
        both = [integers(tf.qint32, 3, 4, most=90) for _ in range(2)]
        attrs |= word_bounds | bounds(tf.qint32, "output")
        out.record("UniformQuantizedAdd", attrs, lhs=both[0], rhs=both[1], **three[0], **three[1], **three[2])
    attrs = word_bounds | bounds(tf.qint32, "output")
    three = parameters("lhs") | parameters("rhs") | parameters("output")
    out.record("UniformQuantizedAdd", attrs, error=True, lhs=integers(tf.qint32, 3), rhs=integers(tf.qint32, 2), **three)
    wrong = attrs | {"lhs_quantization_axis": 0, "output_quantization_axis": 1}
    pair = {name: integers(tf.qint32, 2, 2) for name in ("lhs", "rhs")}
    out.record("UniformQuantizedAdd", wrong, error=True, **pair, **parameters("lhs", 2), **parameters("rhs"), **parameters("output", 2))
    zero = three | {"output_scales": single(0)}
    out.record("UniformQuantizedAdd", attrs, error=True, **pair, **zero)

    x = integers(tf.qint32, 3, 4, most=90)
    for axis, count in ((-1, None), (0, 3), (1, 4)):
        attrs = {"quantization_axis": axis} | bounds(tf.qint32)
        sizes = () if count is None else (count,)
        ends = {name: integers(tf.qint32, *sizes, most=60) for name in ("min", "max")}
        out.record("UniformQuantizedClipByValue", attrs, operand=x, **ends, **parameters("", count))
        other = {name: integers(tf.qint32, 5) for name in ("min", "max")}
        out.record("UniformQuantizedClipByValue", attrs, error=True, operand=x, **other, **parameters("", count))

    every = {f"{name}_quantization_{end}_val": value for name in ("lhs", "rhs") for end, value in (("min", -128), ("max", 127))}
    every |= {"Tout": tf.qint32}
    for spread in (0.5, 2.0):
        for rhs_axis, output_axis in ((-1, -1), (1, -1), (1, 1)):
            for narrow in ({"output_quantization_min_val": -500, "output_quantization_max_val": 300}, bounds(tf.qint32, "output")):
                attrs = every | narrow | {"rhs_quantization_axis": rhs_axis, "output_quantization_axis": output_axis}
                three = parameters("lhs", None, spread) | parameters("rhs", 3 if rhs_axis > 0 else None, spread)
                three |= parameters("output", 3 if output_axis > 0 else None, spread)
                out.record("UniformQuantizedDot", attrs, lhs=integers(tf.qint8, 2, 5), rhs=integers(tf.qint8, 5, 3), **three)
        for axis, count in ((-1, None), (1, 3)):
            attrs = {"rhs_quantization_min_val": -128, "rhs_quantization_max_val": 127, "Tout": tf.float32}
            attrs["rhs_quantization_axis"] = axis
            x = (np.exp(2 * draw.normal(size=(4, 1))) * draw.normal(size=(4, 5)) + [[0], [3], [-3], [0]]).astype(single)
            x[3] = 0
            out.record("UniformQuantizedDotHybrid", attrs, lhs=x, rhs=integers(tf.qint8, 5, 3), **parameters("rhs", count))
    attrs = every | bounds(tf.qint32, "output")
    three = parameters("lhs") | parameters("rhs") | parameters("output")
    pair = {"lhs": integers(tf.qint8, 2, 5), "rhs": integers(tf.qint8, 5, 3)}
    out.record("UniformQuantizedDot", attrs, error=True, lhs=pair["lhs"], rhs=pair["rhs"][:4], **three)
    out.record("UniformQuantizedDot", attrs, error=True, lhs=pair["lhs"][0], rhs=pair["rhs"], **three)
    out.record("UniformQuantizedDot", attrs, error=True, **pair, **(three | {"lhs_scales": single(-1)}))
    out.record("UniformQuantizedDot", attrs | {"rhs_quantization_axis": 0}, error=True, **pair, **(three | parameters("rhs", 5)))
    out.record("UniformQuantizedDot", attrs | {"output_quantization_axis": 1}, error=True, **pair, **(three | parameters("output", 3)))
    out.record("UniformQuantizedDot", attrs | {"lhs_quantization_axis": 0}, error=True, **pair, **(three | parameters("lhs", 2)))


def uniform_quantized_convolution_cases(out):
    """Convolutions of uniformly quantized tensors."""
    draw = np.random.default_rng(44)
    single, word = np.float32, np.int32

    def integers(*sizes):
        return quantized(tf.qint8, *draw.integers(-128, 127, size=int(np.prod(sizes)), endpoint=True).tolist()).reshape(sizes)

    def parameters(name, count=None):
        scales = np.exp(draw.normal(size=count or ())).astype(single)
        return {f"{name}_scales": scales, f"{name}_zero_points": np.asarray(draw.integers(-40, 40, size=count or ()), word)}

    def numbers(input, filter, output):
        # Fields 1 and 2 of each operand are its batch and its channels, or its input and output channels.
        message = UniformQuantizedConvolutionDimensionNumbersAttr()
        message.input_batch_dimension, message.input_feature_dimension = input[:2]
        message.input_spatial_dimensions.extend(input[2:])
        message.kernel_input_feature_dimension, message.kernel_output_feature_dimension = filter[:2]
        message.kernel_spatial_dimensions.extend(filter[2:])
        message.output_batch_dimension, message.output_feature_dimension = output[:2]
        message.output_spatial_dimensions.extend(output[2:])
        return message.SerializeToString().decode()

    both_bounds = {"rhs_quantization_min_val": -128, "rhs_quantization_max_val": 127}
    all_bounds = both_bounds | {"lhs_quantization_min_val": -128, "lhs_quantization_max_val": 127}
    all_bounds |= {"output_quantization_min_val": -(2**31), "output_quantization_max_val": 2**31 - 1, "Tout": tf.qint32}

    def record(lhs, rhs, channels=(0, 1), axes=(-1, -1), error=False, padding="VALID", filters=None, **attrs):
        attrs = {"padding": padding} | {name: value for name, value in attrs.items() if value}
        filters = rhs.shape[channels[0]] if filters is None else filters
        rhs_axis, output_axis = [channel if axis >= 0 else -1 for channel, axis in zip(channels, axes)]
        three = parameters("lhs") | parameters("rhs", filters if rhs_axis >= 0 else None)
        three |= parameters("output", filters if output_axis >= 0 else None)
        quantized_axes = {"rhs_quantization_axis": rhs_axis, "output_quantization_axis": output_axis}
        out.record("UniformQuantizedConvolution", all_bounds | attrs | quantized_axes, error=error, lhs=lhs, rhs=rhs, **three)
        floats = lhs.view(np.int8).astype(single) * single(0.37) + draw.normal(size=lhs.shape).astype(single)
        given = {name: three[name] for name in ("rhs_scales", "rhs_zero_points")}
        attrs |= both_bounds | {"Tout": tf.float32, "rhs_quantization_axis": rhs_axis}
        out.record("UniformQuantizedConvolutionHybrid", attrs, error=error, lhs=floats, rhs=rhs, **given)

    x, filter = integers(2, 2, 5, 4), integers(3, 2, 2, 3)
    for padding in ("SAME", "VALID"):
        for axes in ((-1, -1), (0, -1), (0, 0)):
            record(x, filter, axes=axes, padding=padding)
        for strides, lhs_dilation, rhs_dilation in (([2, 1], [], []), ([1, 3], [2, 1], []), ([], [1, 2], [2, 1]), ([2, 3], [3, 2], [1, 2])):
            record(x, filter, padding=padding, window_strides=strides, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation)
    record(x, filter, padding="EXPLICIT", explicit_padding=[1, 0, 2, 3])
    record(x, filter, padding="EXPLICIT", explicit_padding=[0, 2, 1, 0], lhs_dilation=[2, 2], window_strides=[2, 1])
    nhwc, hwio = (0, 3, 1, 2), (2, 3, 0, 1)
    for axes in ((-1, -1), (0, -1), (0, 0)):
        named = {"dimension_numbers": numbers(nhwc, hwio, nhwc), "channels": (3, 3)}
        record(x.transpose(0, 2, 3, 1).copy(), filter.transpose(2, 3, 1, 0).copy(), axes=axes, filters=3, **named)
    mixed = {"dimension_numbers": numbers((1, 2, 3, 0), (0, 1, 2, 3), (3, 0, 2, 1)), "channels": (1, 0)}
    record(x.transpose(3, 0, 1, 2).copy(), filter.transpose(1, 0, 2, 3).copy(), axes=(0, 0), filters=3, **mixed)
    for groups, batch_groups, channels, filters in ((2, 1, 4, 6), (4, 1, 4, 4), (1, 2, 2, 4), (2, 2, 4, 4), (3, 2, 6, 6), (2, 3, 4, 6), (1, 6, 1, 6)):
        attrs = {"feature_group_count": groups, "batch_group_count": batch_groups}
        record(integers(6, channels, 3, 4), integers(filters, channels // groups, 2, 2), axes=(0, 0), **attrs)
    record(integers(2, 3, 6), integers(4, 3, 2), padding="SAME", window_strides=[2])
    record(integers(1, 2, 3, 4, 3), integers(2, 2, 2, 2, 1), padding="SAME", lhs_dilation=[1, 2, 1])
    record(integers(1, 2, 2, 3, 2, 2), integers(2, 2, 1, 2, 1, 2), axes=(0, 0), window_strides=[1, 1, 1, 1])
    bad = (
        {"explicit_padding": [1, 0, 0, 0]},
        {"padding": "EXPLICIT"},
        {"padding": "EXPLICIT", "explicit_padding": [-1, 0, 0, 0]},
        {"padding": "HALF"},
        {"window_strides": [2]},
        {"window_strides": [0, 1]},
        {"lhs_dilation": [1, 0]},
        {"rhs_dilation": [1, 1, 1]},
        {"feature_group_count": 2},
        {"batch_group_count": 2},
        {"dimension_numbers": "?"},
        {"dimension_numbers": numbers((0, 1, 2), (1, 0, 2), (0, 1, 2))},
        {"dimension_numbers": numbers((0, 1, 2, 4), (1, 0, 2, 3), (0, 1, 2, 3))},
        {"channels": (1, 0), "axes": (0, -1)},
    )
    # TensorFlow crashes if the output has scales along an axis and the filter has none.
    for attrs in bad:
        record(x, filter, error=True, filters=3, **attrs)
    record(x, integers(3, 3, 2, 3), error=True)
    record(x[0], filter, error=True)
    record(x[0, 0], filter[0, 0], error=True)
    record(x, integers(3, 2, 8, 3), error=True)


def quantized_image_cases(out):
    """Resized and normalized quantized images, and integers with a range for each channel."""
    draw = np.random.default_rng(45)
    single = np.float32

    def integers(dtype, *sizes, most=None):
        limits = np.iinfo(dtype.as_numpy_dtype[0])
        low, high = (limits.min, limits.max) if most is None else (-most, most)
        flat = draw.integers(low, high, size=int(np.prod(sizes)), endpoint=True)
        return quantized(dtype, *flat.tolist()).reshape(sizes)

    for flags in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        for size in ([4, 7], [2, 3], [1, 5]):
            ends = {"size": P(size), "min": single(-1), "max": single(2)}
            out.record("QuantizedResizeBilinear", flags, images=integers(tf.quint8, 2, 3, 4, 2), **ends)
            # The kernel rounds greater pixels to f32.
            words = integers(tf.qint32, 1, 3, 4, 2, most=1 << 24)
            out.record("QuantizedResizeBilinear", flags, images=words, **ends)
            floats = draw.normal(size=(1, 3, 4, 1)).astype(single)
            out.record("QuantizedResizeBilinear", flags, images=floats, **ends)
    ends = {"min": single(0), "max": single(1)}
    out.record("QuantizedResizeBilinear", images=integers(tf.quint8, 1, 2, 2, 1), size=P([0, 2]), **ends, error=True)
    out.record("QuantizedResizeBilinear", images=integers(tf.quint8, 2, 2, 1), size=P([2, 2]), **ends, error=True)

    x = integers(tf.quint8, 2, 3, 4, 3)
    for low, high in ((-1.0, 1.0), (-3.7, 9.1), (0.0, 6.0)):
        ends = {"x_min": single(low), "x_max": single(high)}
        out.record("QuantizedInstanceNorm", x=x, **ends)
        given = {"output_range_given": True, "given_y_min": -2.5, "given_y_max": 1.25}
        out.record("QuantizedInstanceNorm", given, x=x, **ends)
        out.record("QuantizedInstanceNorm", {"variance_epsilon": 0.5, "min_separation": 9.0}, x=x, **ends)
    constant = quantized(tf.quint8, *[7] * 8).reshape(1, 2, 2, 2)
    out.record("QuantizedInstanceNorm", x=constant, x_min=single(-1), x_max=single(1))
    out.record("QuantizedInstanceNorm", x=x, x_min=single(1), x_max=single(1), error=True)
    wrong = {"output_range_given": True, "given_y_min": 1.0, "given_y_max": 1.0}
    out.record("QuantizedInstanceNorm", wrong, x=x, x_min=single(0), x_max=single(1), error=True)
    out.record("QuantizedInstanceNorm", x=x[0], x_min=single(0), x_max=single(1), error=True)

    for scaled in (True, False):
        for _ in range(3):
            attrs = {"out_type": tf.qint32, "variance_epsilon": 0.125, "scale_after_normalization": scaled}
            inputs = {"t": integers(tf.quint8, 2, 2, 3, 3)} | {name: integers(tf.quint8, 3) for name in ("m", "v", "beta", "gamma")}
            for name in list(inputs):
                low, high = (0.0, 3.5) if name == "v" else (-3 * draw.random(), 4 * draw.random())
                inputs |= {f"{name}_min": single(low), f"{name}_max": single(high)}
            out.record("QuantizedBatchNormWithGlobalNormalization", attrs, **inputs)
    out.record("QuantizedBatchNormWithGlobalNormalization", attrs, **(inputs | {"m": inputs["m"][:2]}), error=True)

    for most in (1 << 24, None):
        x = integers(tf.qint32, 1, 2, 2, 3, most=most)
        for _ in range(3):
            ranges = {"input_min": (-3 * draw.random(3)).astype(single), "input_max": (3 * draw.random(3)).astype(single)}
            for dtype in (tf.qint8, tf.quint8):
                wanted = {"requested_output_min": single(-0.5 * draw.random()), "requested_output_max": single(draw.random())}
                out.record("RequantizePerChannel", {"out_type": dtype}, input=x, **ranges, **wanted)
            for clip in (0.5, 1e3):
                out.record("RequantizationRangePerChannel", {"clip_value_max": clip}, input=x, **ranges)
    one = {name: value[:1] for name, value in ranges.items()}
    out.record("RequantizePerChannel", {"out_type": tf.quint8}, input=x, **one, **wanted)
    positive = np.abs(x.view(np.int32) // 2).view(x.dtype)
    out.record("RequantizationRangePerChannel", {"clip_value_max": 1e3}, input=positive, **ranges)
    two = {name: value[:2] for name, value in ranges.items()}
    out.record("RequantizationRangePerChannel", {"clip_value_max": 1.0}, input=x, **two, error=True)


FAMILIES = (
    unary_cases,
    binary_cases,
    reduction_cases,
    array_cases,
    block_cases,
    position_cases,
    diagonal_cases,
    shift_cases,
    vector_cases,
    sort_cases,
    count_cases,
    sparse_segment_cases,
    set_cases,
    complex_cases,
    storage_cases,
    special_value_cases,
    sum_cases,
    product_cases,
    special_function_cases,
    window_cases,
    quantization_cases,
    image_cases,
    batch_norm_cases,
    sparse_cases,
    sparse_op_cases,
    sparse_pair_cases,
    random_cases,
    ragged_cases,
    quantized_cases,
    flag_cases,
    host_function_cases,
    ragged_feature_cases,
    linalg_cases,
    fourier_cases,
    narrow_cases,
    area_cases,
    least_squares_cases,
    mixed_dtype_cases,
    distribution_cases,
    sparse_part_cases,
    complex_gradient_cases,
    batch_spelling_cases,
    pool_gradient_cases,
    fake_quant_gradient_cases,
    further_spelling_cases,
    sampling_cases,
    dtype_cases,
    size_cases,
    device_algorithm_cases,
    small_dtype_cases,
    edge_cases,
    volume_cases,
    suppression_cases,
    combined_suppression_cases,
    projection_cases,
    ctc_cases,
    bessel_cases,
    matrix_function_cases,
    layout_cases,
    sparse_matmul_cases,
    slice_update_cases,
    moment_cases,
    dilation_cases,
    filter_gradient_cases,
    further_pool_gradient_cases,
    image_gradient_cases,
    joined_range_cases,
    general_convolution_cases,
    drawing_cases,
    unknown_shape_cases,
    large_angle_cases,
    audio_cases,
    recurrent_cases,
    ctc_loss_cases,
    glimpse_cases,
    fractional_pool_cases,
    older_spelling_cases,
    sparse_gradient_cases,
    index_shuffle_cases,
    sobol_cases,
    neighbor_cases,
    distorted_box_cases,
    random_crop_cases,
    candidate_cases,
    approx_top_k_cases,
    fused_cases,
    quantized_layer_cases,
    uniform_quantized_cases,
    uniform_quantized_convolution_cases,
    quantized_image_cases,
)


def record(families, output):
    """Writes the cases of all families, each a function of a recorder, to a file."""
    out = Recorder()
    for family in families:
        family(out)
    output.write_text("\n".join(out.lines) + "\n")
    print(f"{len(out.lines)} cases, {output.stat().st_size} bytes, TensorFlow {tf.__version__}")


if __name__ == "__main__":
    record(FAMILIES, OUTPUT)
