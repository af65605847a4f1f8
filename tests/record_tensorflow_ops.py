"""Records the signatures of TensorFlow's ops into src/interchange/signatures.tsv.

Recorded with TensorFlow 2.21.0. Run: pip install tensorflow-cpu==2.21.0 && python tests/record_tensorflow_ops.py

Each line is an op: its type, inputs, outputs, and attributes, separated by tabs. The lines are sorted.

    ConcatV2    values:N*T axis:Tidx    output:T    N:int T:type Tidx:type=int32

An argument is NAME:TYPE. TYPE is a dtype, or the attribute that holds the dtype. `N*T` is a list of N tensors, where N
is an integer attribute; `[T]` has one tensor for each entry of the list attribute T. An attribute is NAME:KIND. After
it stands `=` and the default, if the default is a dtype, number, bool or word, or `=?` for any other default. An op
that TensorFlow has removed has a fifth column: the version of graphs from which on it refuses the op.

The table leaves out ops whose name starts with an underscore, except those that graph optimizers write into
graphs, and ops with a resource or variant argument, which is not a tensor of plain elements.
"""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "interchange" / "signatures.tsv"
OPAQUE = {"resource", "variant"}
# Ops that the optimizers of graphs write.
OPTIMIZED = {"_FusedBatchNormEx", "_FusedConv2D", "_FusedDepthwiseConv2dNative", "_FusedMatMul"}


def type_name(number):
    return tf.dtypes.as_dtype(number % 100).name


def argument(arg):
    if arg.type_list_attr:
        return f"{arg.name}:[{arg.type_list_attr}]"
    kind = arg.type_attr or type_name(arg.type)
    return f"{arg.name}:{arg.number_attr}*{kind}" if arg.number_attr else f"{arg.name}:{kind}"


def attribute(attr):
    text = f"{attr.name}:{attr.type}"
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
    for op in ops.op:
        arguments = list(op.input_arg) + list(op.output_arg)
        plain = all(not a.type or type_name(a.type) not in OPAQUE for a in arguments)
        if (op.name.startswith("_") and op.name not in OPTIMIZED) or ">" in op.name or not plain or not arguments:
            continue
        columns = [
            op.name,
            " ".join(map(argument, op.input_arg)),
            " ".join(map(argument, op.output_arg)),
            " ".join(map(attribute, op.attr)),
        ]
        if op.HasField("deprecation"):
            columns.append(str(op.deprecation.version))
        lines.append("\t".join(columns))
    OUTPUT.write_text("\n".join(sorted(lines)) + "\n")
    print(f"{len(lines)} ops")


main()
