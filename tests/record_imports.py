"""Records TensorFlow nodes and their results into data/imports.jsonl, for every op that the import gives a body.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off, one thread, no graph rewrites.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_imports.py

Each line is a JSON object. Attributes and tensors are protobuf text (AttrValue entries of a NodeDef, TensorProto):

    {"op": .., "attrs": "..", "inputs": ["..", ..], "fed": [true, ..], "outputs": ["..", ..]}
    {"op": .., "attrs": "..", "inputs": ["..", ..], "fed": [true, ..], "error": "Class: message"}

`fed` tells which inputs are data that a graph may feed. The other inputs are parameters. The inputs of a case differ
from each other, so that swapped operands change the result, unless the op is commutative.
"""

import json
import os
import re
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import attr_value_pb2, node_def_pb2, tensor_pb2
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.framework import op_def_registry

OUTPUT = Path(__file__).resolve().parent / "data" / "imports.jsonl"
FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "object": "string_val",
    "float16": "half_val",
    "bfloat16": "half_val",
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
    array = np.asarray(array)
    proto = tensor_pb2.TensorProto(dtype=tf.as_dtype(array.dtype).as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    field = FIELDS.get(array.dtype.name, "int_val")
    flat = array.view(np.uint16) if field == "half_val" else array
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

    def record(self, op, attrs=None, error=False, **inputs):
        """Runs and records one node of `op`. Keywords are TensorFlow's names of inputs; a list is an input of several
        tensors. `error` tells whether TensorFlow must refuse the node."""
        declared = op_def_registry.get(op).input_arg
        assert {arg.name for arg in declared} == set(inputs), f"{op} must get the inputs {declared}, got {set(inputs)}"
        # Inputs are in the order of TensorFlow's declaration, whatever the order of the keywords.
        groups = [inputs[arg.name] if isinstance(inputs[arg.name], list) else [inputs[arg.name]] for arg in declared]
        given = [part for group in groups for part in group]
        fed = [not isinstance(part, Parameter) for part in given]
        given = [np.asarray(part.value if isinstance(part, Parameter) else part) for part in given]
        graph = tf.compat.v1.GraphDef()
        graph.versions.producer = tf.version.GRAPH_DEF_VERSION
        for index, value in enumerate(given):
            placeholder = graph.node.add(name=f"x{index}", op="Placeholder")
            placeholder.attr["dtype"].CopyFrom(attribute(value.dtype))
            placeholder.attr["shape"].shape.CopyFrom(tf.TensorShape(value.shape).as_proto())
        node = graph.node.add(name="y", op=op, input=[f"x{index}" for index in range(len(given))])
        for name, value in (attrs or {}).items():
            node.attr[name].CopyFrom(attribute(value))
        first = 0
        for arg, group in zip(declared, groups, strict=True):
            if arg.type_attr:
                node.attr[arg.type_attr].CopyFrom(attribute(given[first].dtype))
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
                feeds = {f"x{index}:0": value for index, value in enumerate(given)}
                outputs = run.run(list(results), feeds)
        except (tf.errors.OpError, ValueError) as caught:
            refusal = message(caught)
        assert (refusal is not None) == error, f"{op} {attrs} {inputs}: {refusal}"
        line = {"op": op, "attrs": text(kept), "inputs": [tensor(value) for value in given], "fed": fed}
        line |= {"error": refusal} if error else {"outputs": [tensor(value) for value in outputs]}
        self.lines.append(json.dumps(line))


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


def main():
    out = Recorder()
    for family in (unary_cases, binary_cases, reduction_cases, array_cases, block_cases, position_cases, ragged_cases):
        family(out)
    OUTPUT.write_text("\n".join(out.lines) + "\n")
    print(f"{len(out.lines)} cases, {OUTPUT.stat().st_size} bytes, TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
