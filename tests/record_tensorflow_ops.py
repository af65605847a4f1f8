"""Records the signatures of TensorFlow's ops into src/interchange/signatures.tsv and signature_dtypes.txt.

Recorded with TensorFlow 2.21.0. Run: pip install tensorflow-cpu==2.21.0 && python tests/record_tensorflow_ops.py

Each line is an op: its type, inputs, outputs, and attributes, separated by tabs. The lines are sorted.

    ConcatV2    values:N*T axis:Tidx    output:T    N:int>2 T:type{12} Tidx:type{0}=int32

An argument is NAME:TYPE. TYPE is a dtype, or the attribute that holds the dtype. `N*T` is a list of N tensors, where N
is an integer attribute; `[T]` has one tensor for each entry of the list attribute T. An attribute is NAME:KIND. `>2` after
an integer attribute is its least value. `{12}` after an attribute that holds a dtype is the set of dtypes that the op
takes: line 12, counted from 0, of signature_dtypes.txt. A dtype of the set has a kernel for a CPU. After all this
stands `=` and the default, if the default is a dtype, number, bool or word, or `=?` for any other default. An op
that TensorFlow has removed has a fifth column: the version of graphs from which on it refuses the op.

`^` after an argument says that it must be a vector: the op refuses a scalar of integers and takes a vector.

The table leaves out ops whose name starts with an underscore, except those that graph optimizers write into
graphs, and ops with a resource or variant argument, which is not a tensor of plain elements.
"""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.core.framework import (
    attr_value_pb2,
    graph_pb2,
    node_def_pb2,
    op_def_pb2,
    tensor_shape_pb2,
)
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels

FOLDER = Path(__file__).resolve().parent.parent / "src" / "interchange"
INTEGERS = [tf.int32.as_datatype_enum, tf.int64.as_datatype_enum]
# Inputs that must be vectors, but whose rank an op checks only if it knows the rank of another input.
VECTORS = {"Transpose": [1], "ConjugateTranspose": [1]}
# Dtypes with a kernel that gives wrong results, 0 for every integer, or that fails in every run.
WRONG = {"Round": INTEGERS, "Where": [tf.float16.as_datatype_enum]}
NUMBERS = [
    dtype.as_datatype_enum
    for dtype in (
        tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.float16, tf.bfloat16,
        tf.float32, tf.float64, tf.complex64, tf.complex128,
    )
]  # fmt: skip
BOOL, STRING, VARIANT, U16 = (
    dtype.as_datatype_enum for dtype in (tf.bool, tf.string, tf.variant, tf.uint16)
)
# The dtypes of an op whose kernel takes every dtype, but fails in every run with another one.
COMPUTED = {
    "InplaceAdd": NUMBERS,
    "InplaceSub": NUMBERS,
    "InplaceUpdate": [*NUMBERS, BOOL, STRING],
    "Tile": [number for number in [*NUMBERS, BOOL, STRING, VARIANT] if number != U16],
}
OPAQUE = {"resource", "variant"}
# Ops that the optimizers of graphs write.
OPTIMIZED = {"_FusedBatchNormEx", "_FusedConv2D", "_FusedDepthwiseConv2dNative", "_FusedMatMul"}


def type_name(number):
    return tf.dtypes.as_dtype(number % 100).name


def argument(arg, is_vector=False):
    if arg.type_list_attr:
        return f"{arg.name}:[{arg.type_list_attr}]"
    kind = arg.type_attr or type_name(arg.type)
    mark = "^" if is_vector else ""
    return f"{arg.name}:{arg.number_attr}*{kind}" if arg.number_attr else f"{arg.name}:{kind}{mark}"


def default_of(attr, allowed):
    """Returns a value of an attribute without a default."""
    value = attr_value_pb2.AttrValue()
    least = max(attr.minimum, 1) if attr.has_minimum else 1
    if attr.type == "type":
        value.type = next((number for number in INTEGERS if number in allowed or not allowed), 0) or allowed[0]
    elif attr.type == "int":
        value.i = least
    elif attr.type == "bool":
        value.b = False
    elif attr.type == "float":
        value.f = 1.0
    elif attr.type == "string":
        value.s = attr.allowed_values.list.s[0] if attr.allowed_values.list.s else b""
    elif attr.type == "shape":
        value.shape.unknown_rank = True
    elif attr.type == "list(type)":
        value.list.type.append(tf.float32.as_datatype_enum)
    elif attr.type == "list(int)":
        value.list.i.extend([1] * least)
    else:
        value.list.SetInParent()
    return value


def refusal(op, probed, rank, is_constant):
    """Returns the error of a graph with the op, whose input `probed` has integers of this rank; None without error."""
    graph = graph_pb2.GraphDef()
    node = node_def_pb2.NodeDef(name="y", op=op.name)
    for attr in op.attr:
        given = attr.HasField("default_value")
        value = attr.default_value if given else default_of(attr, attr.allowed_values.list.type)
        node.attr[attr.name].CopyFrom(value)
    for number, arg in enumerate(op.input_arg):
        dtype = arg.type or (node.attr[arg.type_attr].type if arg.type_attr else tf.float32.as_datatype_enum)
        for _ in range(node.attr[arg.number_attr].i if arg.number_attr else 1):
            x = graph.node.add(name=f"x{len(node.input)}", op="Placeholder")
            node.input.append(x.name)
            x.attr["dtype"].type = dtype
            x.attr["shape"].shape.unknown_rank = number != probed
            if number == probed and is_constant:
                x.op = "Const"
                del x.attr["shape"]
                x.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([0] * rank or 0, tf.as_dtype(dtype)))
            elif number == probed:
                x.attr["shape"].shape.dim.extend([tensor_shape_pb2.TensorShapeProto.Dim(size=-1)] * rank)
    graph.node.append(node)
    try:
        with tf.Graph().as_default():
            tf.graph_util.import_graph_def(graph, name="")
    except Exception as error:
        return str(error)
    return None


def vectors(op):
    """Returns the numbers of the inputs that must be vectors. A process of its own finds them: some ops abort it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        found = []
        for number, arg in enumerate(op.input_arg):
            allowed = [attr.allowed_values.list.type for attr in op.attr if attr.name == arg.type_attr]
            is_integer = arg.type in INTEGERS or any(set(INTEGERS) & set(types or INTEGERS) for types in allowed)
            if not is_integer or arg.number_attr or arg.type_list_attr or refusal(op, number, 1, False):
                continue
            needs_vector = refusal(op, number, 0, True) or ""
            if refusal(op, number, 0, False) or "must be rank 1 but is rank 0" in needs_vector:
                found.append(number)
        os.write(writer, bytes(found))
        os._exit(0)
    os.close(writer)
    found = os.read(reader, 256)
    os.close(reader)
    os.waitpid(child, 0)
    return found


def dtypes_of(attr, op_kernels):
    """Returns the dtypes that an attribute takes, sorted; None if it takes all. `op_kernels` are the op's kernels."""
    declared = set(attr.allowed_values.list.type) or None
    computed = set()
    for kernel in op_kernels:
        constraints = [constraint for constraint in kernel.constraint if constraint.name == attr.name]
        if not constraints:
            return declared and sorted(declared)
        computed.update(constraints[0].allowed_values.list.type)
    if not op_kernels:
        return declared and sorted(declared)
    return sorted(computed if declared is None else computed & declared)


def attribute(attr, op_kernels, sets, wrong, computed):
    text = f"{attr.name}:{attr.type}"
    if attr.type == "int" and attr.has_minimum and attr.minimum > 0:
        text += f">{attr.minimum}"
    dtypes = dtypes_of(attr, op_kernels) if attr.type == "type" else None
    if attr.name == "T" and computed:
        dtypes = sorted(computed)
    if dtypes is not None:
        dtypes = [number for number in dtypes if number not in wrong]
        names = " ".join(type_name(number) for number in dtypes)
        text += f"{{{sets.setdefault(names, len(sets))}}}"
    if not attr.HasField("default_value"):
        return text
    value = attr.default_value
    kind = value.WhichOneof("value")
    if kind == "type":
        return f"{text}={type_name(value.type)}"
    if kind == "i":
        return f"{text}={value.i}"
    if kind == "b":
        return f"{text}={str(value.b).lower()}"
    if kind == "f":
        return f"{text}={value.f!r}"
    if kind == "s" and value.s.decode().isidentifier():
        return f"{text}={value.s.decode()}"
    return f"{text}=?"


def main():
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    lines = []
    sets = {}
    for op in sorted(ops.op, key=lambda op: op.name):
        arguments = list(op.input_arg) + list(op.output_arg)
        plain = all(not a.type or type_name(a.type) not in OPAQUE for a in arguments)
        if (op.name.startswith("_") and op.name not in OPTIMIZED) or ">" in op.name or not plain or not arguments:
            continue
        # A kernel with a label needs an attribute that asks for it.
        op_kernels = [
            kernel
            for kernel in kernels.get_registered_kernels_for_op(op.name).kernel
            if kernel.device_type in ("CPU", "DEFAULT") and not kernel.label
        ]
        numbers = VECTORS.get(op.name) or vectors(op)
        wrong, computed = WRONG.get(op.name, ()), COMPUTED.get(op.name)
        columns = [
            op.name,
            " ".join(argument(arg, number in numbers) for number, arg in enumerate(op.input_arg)),
            " ".join(map(argument, op.output_arg)),
            " ".join(attribute(attr, op_kernels, sets, wrong, computed) for attr in op.attr),
        ]
        if op.HasField("deprecation"):
            columns.append(str(op.deprecation.version))
        lines.append("\t".join(columns))
    (FOLDER / "signatures.tsv").write_text("\n".join(sorted(lines)) + "\n")
    (FOLDER / "signature_dtypes.txt").write_text("\n".join(sets) + "\n")
    print(f"{len(lines)} ops, {len(sets)} sets of dtypes")


main()
