"""Builds the cases as ONNX models, for the peers that read ONNX."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "i32": TensorProto.INT32,
    "i64": TensorProto.INT64,
    "u8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
OPSET = 20
sys.path.insert(0, str(Path(__file__).resolve().parent / "workers"))
from formulas import EINSUMS  # noqa: E402


class Model:
    """A model under construction: `m.Relu(x)` adds a node and returns the name of its result."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def __getattr__(self, op):
        def add(*inputs, outputs=1, **attributes):
            names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
            self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
            return names[0] if outputs == 1 else names

        return add

    def const(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)


def scaled_relu(m, x, a, b):
    return m.Relu(m.Add(m.Mul(a, x), b))


def ten(m, x):
    for k in range(5):
        x = m.Add(m.Mul(x, m.const(0.5)), m.const(k))
    return x


def two_hundred(m, x):
    for k in range(50):
        k = k % 5
        x = m.Max(m.Mul(m.Add(x, m.const(k)), m.const(0.75)), m.const(-2))
        x = m.Sub(x, m.const(0.125 * k))
    return x


def black_scholes(dtype):
    def build(m, spot, strike, time):
        def c(value):
            return m.const(value, dtype)

        rate, volatility = 0.02, 0.3
        spread = m.Mul(m.Sqrt(time), c(volatility))
        drift = m.Mul(time, c(rate + 0.5 * volatility * volatility))
        d1 = m.Div(m.Add(m.Log(m.Div(spot, strike)), drift), spread)
        d2 = m.Sub(d1, spread)

        def normal(d):
            return m.Add(m.Mul(m.Erf(m.Mul(d, c(0.7071067811865476))), c(0.5)), c(0.5))

        discounted = m.Mul(strike, m.Exp(m.Mul(time, c(-rate))))
        return m.Sub(m.Mul(spot, normal(d1)), m.Mul(discounted, normal(d2)))

    return build


def quantize(m, x):
    return m.QuantizeLinear(x, m.const(0.03125), m.const(128, np.uint8))


def dequantize(m, x):
    return m.DequantizeLinear(x, m.const(0.03125), m.const(128, np.uint8))


def quantized_chain(m, x):
    once = dequantize(m, quantize(m, x))
    active = m.Relu(m.Add(m.Mul(once, m.const(0.7)), m.const(0.1)))
    return dequantize(m, quantize(m, active))


def normalized(m, x):
    x = m.Mul(m.Cast(x, to=TensorProto.FLOAT), m.const(1 / 255))
    x = m.Div(m.Sub(x, m.const([0.485, 0.456, 0.406])), m.const([0.229, 0.224, 0.225]))
    return m.Transpose(x, perm=[0, 3, 1, 2])


def image_pipeline(m, x):
    x = m.Slice(x, m.ints(16, 16), m.ints(240, 240), m.ints(1, 2))
    return normalized(m, m.Slice(x, m.ints(-1), m.ints(-10000), m.ints(2), m.ints(-1)))


def reverse(m, x, axis):
    return m.Slice(x, m.ints(-1), m.ints(-10000), m.ints(axis), m.ints(-1))


def every_other(m, x):
    return m.Slice(x, m.ints(-1, -1), m.ints(-10000, -10000), m.ints(0, 1), m.ints(-1, -2))


def space_to_depth(m, x):
    x = m.Reshape(x, m.ints(8, 128, 2, 128, 2, 16))
    return m.Reshape(m.Transpose(x, perm=[0, 1, 3, 2, 4, 5]), m.ints(8, 128, 128, 64))


def space_to_batch(m, x):
    x = m.Reshape(m.Pad(x, m.ints(0, 2, 2, 0, 0, 2, 2, 0)), m.ints(8, 130, 2, 130, 2, 16))
    return m.Reshape(m.Transpose(x, perm=[2, 4, 0, 1, 3, 5]), m.ints(32, 130, 130, 16))


def patches(m, x):
    x = m.Pad(x, m.ints(0, 1, 1, 0, 0, 1, 1, 0))
    parts = [
        m.Slice(x, m.ints(r, c), m.ints(r + 128, c + 128), m.ints(1, 2)) for r in range(3) for c in range(3)
    ]
    return m.Concat(*parts, axis=3)


def mask(m, lengths):
    return m.Less(m.const(np.arange(256), np.int32), m.Unsqueeze(lengths, m.ints(-1)))


def reverse_sequence(m, x, lengths):
    return m.ReverseSequence(x, m.Cast(lengths, to=TensorProto.INT64), batch_axis=0, time_axis=1)


def one_hot(m, indices):
    return m.OneHot(indices, m.const([256], np.int32), m.const([0.0, 1.0]))


def perceptron(m, x, w1, b1, w2, b2):
    hidden = m.Relu(m.Gemm(x, w1, b1))
    return m.Softmax(m.Gemm(hidden, w2, b2), axis=-1)


def attention(m, x, query, key, value, out):
    q, k, v = m.MatMul(x, query), m.MatMul(x, key), m.MatMul(x, value)
    scores = m.Mul(m.MatMul(q, m.Transpose(k, perm=[0, 2, 1])), m.const(0.125))
    return m.Add(m.MatMul(m.MatMul(m.Softmax(scores, axis=-1), v), out), x)


def scatter(m, indices, x):
    zeros = m.const(np.zeros(1 << 20), np.float32)
    return m.ScatterND(zeros, m.Cast(indices, to=TensorProto.INT64), x, reduction="add")


def segment_sum(m, x, ids):
    zeros = m.const(np.zeros(10_000), np.float32)
    return m.ScatterElements(zeros, ids, x, axis=0, reduction="add")


def resized(m, x):
    scales = m.const([1, 0.5, 0.5, 1], np.float32)
    return m.Resize(x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")


def einsum(equation):
    return lambda m, *x: m.Einsum(*x, equation=equation)


def stitch(m, *parts):
    positions = m.Unsqueeze(m.Cast(m.Concat(*parts[:8], axis=0), to=TensorProto.INT64), m.ints(-1))
    return m.ScatterND(m.const(np.zeros(1 << 20), np.float32), positions, m.Concat(*parts[8:], axis=0))


def partition(m, x, part):
    return [m.Compress(x, m.Equal(part, m.const(p, np.int32)), axis=0) for p in range(8)]


def unique(m, x):
    values, _, positions, counts = m.Unique(m.Cast(x, to=TensorProto.INT64), outputs=4, sorted=0)
    return [values, positions, counts]


def hashing(m, x, table):
    x = m.Mod(m.Mul(m.Cast(x, to=TensorProto.INT64), m.const(2654435761, np.int64)), m.const(100000, np.int64))
    values, _, positions, _ = m.Unique(x, outputs=4, sorted=0)
    return m.Gather(m.Gather(table, values), positions)


CASES = {
    **{f"relu(a*x+b) {size}": scaled_relu for size in ("4 KiB", "256 KiB", "4 MiB", "256 MiB")},
    **{name: ten for name in ("10 ops, scalar", "10 ops, 8 elements", "10 ops, 256 MiB")},
    "chain of 200 ops, 64K": two_hundred,
    "gelu erf 1M": lambda m, x: m.Gelu(x),
    "gelu tanh 1M": lambda m, x: m.Gelu(x, approximate="tanh"),
    "Black-Scholes f32 1M": black_scholes(np.float32),
    "Black-Scholes f64 1M": black_scholes(np.float64),
    "quantize 4M": quantize,
    "dequantize 4M": dequantize,
    "quantize-dequantize chain 4M": quantized_chain,
    "softmax [1024,1024]": lambda m, x: m.Softmax(x, axis=-1),
    "softmax [4096,1024]": lambda m, x: m.Softmax(x, axis=-1),
    "layer norm [4096,1024]": lambda m, x, s, b: m.LayerNormalization(x, s, b, axis=-1, epsilon=1e-5),
    "sum axis 0 of 4096²": lambda m, x: m.ReduceSum(x, m.ints(0), keepdims=0),
    "sum axis 1 of 4096²": lambda m, x: m.ReduceSum(x, m.ints(1), keepdims=0),
    "sum all of 4096²": lambda m, x: m.ReduceSum(x, m.ints(0, 1), keepdims=0),
    "transpose 4096² f32": lambda m, x: m.Transpose(x, perm=[1, 0]),
    "u8 NHWC [32,224,224,3] to f32 NCHW, normalized": normalized,
    "image pipeline: crop, mirror, normalize [32,256,256,3]": image_pipeline,
    "concat 8 × [1024,512] axis 1": lambda m, *x: m.Concat(*x, axis=1),
    "pad [32,224,224,3] by 3": lambda m, x: m.Pad(x, m.ints(0, 3, 3, 0, 0, 3, 3, 0)),
    "tile [1024,256] × [4,4]": lambda m, x: m.Tile(x, m.ints(4, 4)),
    "x[::-1, ::-2] of 4096²": every_other,
    "reverse axis 1 of 4096²": lambda m, x: reverse(m, x, 1),
    "space_to_depth [8,256,256,16] by 2": space_to_depth,
    "space_to_batch_nd [8,256,256,16] by 2": space_to_batch,
    "image patches 3×3 [8,128,128,32]": patches,
    "sequence_mask [65536,256]": mask,
    "gather 100k rows of 64 from 1M": lambda m, x, indices: m.Gather(x, indices, axis=0),
    "gather_nd 1M scalars from 1024²": lambda m, x, indices: m.GatherND(x, m.Cast(indices, to=TensorProto.INT64)),
    "scatter_nd add 1M": scatter,
    "dynamic_stitch of 1M from 8": stitch,
    "one_hot [65536] × 256": one_hot,
    "boolean_mask half of 4M": lambda m, x, flags: m.Compress(x, flags, axis=0),
    "unique_with_counts 1M, 10k distinct": unique,
    "reverse_sequence [256,512,64]": reverse_sequence,
    "dynamic_partition 1M in 8": partition,
    "feature hashing: unique + gather 256K, 16 columns": hashing,
    "top_k 100 of [1024,10000]": lambda m, x: m.TopK(x, m.ints(100), outputs=2),
    "cumsum 1M f32": lambda m, x: m.CumSum(x, m.const(0, np.int64)),
    "cumsum axis 0 of [4096,1024]": lambda m, x: m.CumSum(x, m.const(0, np.int64)),
    "cumsum axis 1 of [4096,1024]": lambda m, x: m.CumSum(x, m.const(1, np.int64)),
    "unsorted_segment_sum 1M in 10k": segment_sum,
    "softplus 1M": lambda m, x: m.Softplus(x),
    "erf 1M": lambda m, x: m.Erf(x),
    "resize bilinear [8,512,512,3] by 0.5": resized,
    **{name: einsum(equation) for name, equation in EINSUMS.items()},
    "matmul 512³": lambda m, a, b: m.MatMul(a, b),
    "matmul 2048³": lambda m, a, b: m.MatMul(a, b),
    "[1,784]×[784,512]": lambda m, a, b: m.MatMul(a, b),
    "MLP 784-512-10, batch 1": perceptron,
    "MLP 784-512-10, batch 64": perceptron,
    "attention block [8,128,64]": attention,
    "embedding lookup + mean [1024,32] from 50k × 64":
        lambda m, indices, table: m.ReduceMean(m.Gather(table, indices), m.ints(1), keepdims=0),
}


def write(case, inputs, outputs, path):
    """Writes the model of a case, with the sizes of the given files. Returns whether the case has a model."""
    if case not in CASES:
        return False
    model = Model()
    names = [f"x{index}" for index in range(len(inputs))]
    results = CASES[case](model, *names)
    results = results if isinstance(results, list) else [results]
    fed = []
    for name, file in zip(names, inputs):
        if file["constant"]:
            data = np.fromfile(file["path"], helper.tensor_dtype_to_np_dtype(TYPES[file["dtype"]]))
            model.constants.append(numpy_helper.from_array(data.reshape(file["sizes"]), name))
        else:
            fed.append(helper.make_tensor_value_info(name, TYPES[file["dtype"]], file["sizes"]))
    ops = {node.op_type for node in model.nodes}
    has_known_sizes = not ops & {"Compress", "Unique"}
    given = []
    for name, file in zip(results, outputs):
        sizes = file["sizes"] if has_known_sizes else [None] * len(file["sizes"])
        # The runtimes have no Unique for 32-bit integers.
        wide = "Unique" in ops and file["dtype"] == "i32"
        given.append(helper.make_tensor_value_info(name, TYPES["i64" if wide else file["dtype"]], sizes))
    graph = helper.make_graph(model.nodes, "case", fed, given, model.constants)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    onnx.save(proto, path)
    return True
