"""Records the results of TensorFlow's CPU kernels, op by op, into data/values.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off, one thread. Every value is TensorFlow's
own. The random generator is seeded per op and dtype, so a second run writes the same file.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_values.py

Each line is a JSON object:

    {"op": .., "attrs": {..}, "inputs": [tensor, ..], "outputs": [tensor, ..]}
    {"op": .., "attrs": {..}, "inputs": [tensor, ..], "error": "Class: message"}
    tensor = {"dtype": "f32", "shape": [2, 1], "data": [1.5, "nan"]}

The dtypes are f32, f64, i32, i64, u8, and bool, and for some ops c64 and c128, whose elements are two
numbers, f8e5m2 and f8e4m3fn, whose elements are their bits, and the quantized types, i4 and u4. Data is in row-major order. A float that is not
finite is the string "nan", "inf", or "-inf". An f32 is the shortest decimal that parses to the same
f32, also by way of an f64. An absent attribute has TensorFlow's default: all axes for `axis` of a
reduction, the last axis for softmax, 0 for a mask, 1 for `on_value`, and 0 for `off_value`. `dtype`
is the dtype of the result (cast, one_hot, shape, size, rank) or of the indices
(unique_with_counts). Operands are in TensorFlow's order: select(condition, x, y),
clip_by_value(x, low, high), gather(params, indices), boolean_mask(x, mask), range(start, limit,
delta).

These cases are left out, because TensorFlow's answer depends on the processor, or on the position
or order of elements, or because the answer is probably not intended:
- casts to an integer of a value that it cannot hold, or of NaN: the result depends on the processor;
- subnormal operands of arithmetic and comparisons, which TensorFlow flushes to zero;
- elements whose result depends on their position, because TensorFlow computes some elements by vector
  code and others by scalar code. An example is the sign of zero in maximum(0.0, -0.0);
- erf of an f64 infinity, which is NaN in TensorFlow, and reverse of a scalar, which ignores its axes;
- clip_by_value with a NaN bound, where the API and the kernel of that name differ;
- round of integers by the kernel, which returns 0. The API, which is recorded, returns its operand;
- boolean_mask with a negative axis, which TensorFlow refuses although the shapes agree;
- maximum and minimum scatters and segments of NaN and a number: the result depends on their order;
- rows of a dynamic_stitch that no index names;
- dtypes without a kernel: u8 for neg, abs, sign, pow, squared_difference, and matmul.
"""

import json
import os
import re
import zlib
from collections import Counter
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import ml_dtypes
import numpy as np
import tensorflow as tf

RAW = tf.raw_ops
OUTPUT = Path(__file__).resolve().parent / "data" / "values.jsonl"
NUMPY = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "i4": np.dtype(ml_dtypes.int4),
    "u4": np.dtype(ml_dtypes.uint4),
    "qi8": tf.qint8.as_numpy_dtype,
    "qu8": tf.quint8.as_numpy_dtype,
    "qi16": tf.qint16.as_numpy_dtype,
    "qu16": tf.quint16.as_numpy_dtype,
    "qi32": tf.qint32.as_numpy_dtype,
}
NAME = {np.dtype(dtype): name for name, dtype in NUMPY.items()}
COMPLEX = ["c64", "c128"]
FLOATS = ["f32", "f64"]
SIGNED = ["i32", "i64"]
NUMBERS = FLOATS + SIGNED + ["u8"]
ALL = NUMBERS + ["bool"]
NAN, INF = float("nan"), float("inf")


# Functions that run each op: they map its attributes and tensors to TensorFlow's result.


def unary(kernel, operand="x"):
    return lambda a, x: kernel(**{operand: x})


def binary(kernel):
    return lambda a, x, y: kernel(x=x, y=y)


def reduction(kernel):
    def run(a, x):
        axes = a.get("axis", list(range(x.shape.rank)))
        return kernel(input=x, axis=ints(axes), keep_dims=a["keep_dims"])

    return run


def ints(values):
    """Returns a parameter as i64. Without the dtype, an empty list would be float."""
    return np.array(values, np.int64)


def result_type(a):
    return tf.as_dtype(NUMPY[a["dtype"]])


def part_type(x):
    return tf.float32 if x.dtype == tf.complex64 else tf.float64


def part(kernel, operand="input"):
    return lambda a, x: kernel(**{operand: x}, Tout=part_type(x))


def strided_slice(a, x):
    masks = {k: a.get(k, 0) for k in MASKS}
    bounds = {k: ints(a[k]) for k in ("begin", "end", "strides")}
    return RAW.StridedSlice(input=x, **bounds, **masks)


def pad(a, x):
    paddings = ints(a["paddings"]).reshape(-1, 2)
    if a["mode"] == "constant":
        value = np.array(a["constant_value"], x.dtype.as_numpy_dtype)
        return RAW.PadV2(input=x, paddings=paddings, constant_values=value)
    return RAW.MirrorPad(input=x, paddings=paddings, mode=a["mode"].upper())


def one_hot(a, indices):
    dtype = NUMPY[a["dtype"]]
    on = np.array(a.get("on_value", 1), dtype)
    off = np.array(a.get("off_value", 0), dtype)
    depth = np.int32(a["depth"])
    return RAW.OneHot(indices=indices, depth=depth, on_value=on, off_value=off, axis=a["axis"])


def matmul(a, x, y):
    return tf.linalg.matmul(x, y, transpose_a=a["transpose_a"], transpose_b=a["transpose_b"])


def scatter(kernel):
    return lambda a, x, i, updates: kernel(tensor=x, indices=i, updates=updates)


def segment(how):
    kernel = getattr(RAW, f"Segment{how.title()}")
    return lambda a, x, ids: kernel(data=x, segment_ids=ids)


def unsorted_segment(how):
    kernel = getattr(RAW, f"UnsortedSegment{how.title()}")
    return lambda a, x, ids: kernel(data=x, segment_ids=ids, num_segments=a["num_segments"])


MASKS = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]
UNARY = {
    "identity": unary(RAW.Identity, "input"),
    "neg": unary(RAW.Neg),
    "abs": unary(RAW.Abs),
    "sign": unary(RAW.Sign),
    "square": unary(RAW.Square),
    "relu": unary(RAW.Relu, "features"),
    "round": unary(tf.math.round),
    "sqrt": unary(RAW.Sqrt),
    "rsqrt": unary(RAW.Rsqrt),
    "exp": unary(RAW.Exp),
    "log": unary(RAW.Log),
    "log1p": unary(RAW.Log1p),
    "expm1": unary(RAW.Expm1),
    "sin": unary(RAW.Sin),
    "cos": unary(RAW.Cos),
    "tanh": unary(RAW.Tanh),
    "sigmoid": unary(RAW.Sigmoid),
    "erf": unary(RAW.Erf),
    "asin": unary(RAW.Asin),
    "acos": unary(RAW.Acos),
    "atan": unary(RAW.Atan),
    "sinh": unary(RAW.Sinh),
    "cosh": unary(RAW.Cosh),
    "asinh": unary(RAW.Asinh),
    "acosh": unary(RAW.Acosh),
    "atanh": unary(RAW.Atanh),
    "erfc": unary(RAW.Erfc),
    "floor": unary(RAW.Floor),
    "ceil": unary(RAW.Ceil),
    "logical_not": unary(RAW.LogicalNot),
}
ARITHMETIC = {
    "add": binary(RAW.AddV2),
    "sub": binary(RAW.Sub),
    "mul": binary(RAW.Mul),
    "div": binary(RAW.RealDiv),
    "floordiv": binary(RAW.FloorDiv),
    "floormod": binary(RAW.FloorMod),
    "pow": binary(RAW.Pow),
    "atan2": lambda a, y, x: RAW.Atan2(y=y, x=x),
    "maximum": binary(RAW.Maximum),
    "minimum": binary(RAW.Minimum),
    "squared_difference": binary(RAW.SquaredDifference),
}
COMPARISONS = {
    "equal": binary(RAW.Equal),
    "not_equal": binary(RAW.NotEqual),
    "less": binary(RAW.Less),
    "less_equal": binary(RAW.LessEqual),
    "greater": binary(RAW.Greater),
    "greater_equal": binary(RAW.GreaterEqual),
}
LOGICAL = {"logical_and": binary(RAW.LogicalAnd), "logical_or": binary(RAW.LogicalOr)}
REDUCTIONS = {
    "reduce_sum": reduction(RAW.Sum),
    "reduce_mean": reduction(RAW.Mean),
    "reduce_max": reduction(RAW.Max),
    "reduce_min": reduction(RAW.Min),
    "reduce_prod": reduction(RAW.Prod),
    "reduce_any": reduction(RAW.Any),
    "reduce_all": reduction(RAW.All),
}
PARTS = {
    "real": part(RAW.Real),
    "imag": part(RAW.Imag),
    "angle": part(RAW.Angle),
    "complex_abs": part(RAW.ComplexAbs, "x"),
    "conj": unary(RAW.Conj, "input"),
}
RUN = {
    **UNARY,
    **PARTS,
    "reciprocal": unary(RAW.Reciprocal),
    "tan": unary(RAW.Tan),
    "cumsum": lambda a, x: RAW.Cumsum(x=x, axis=a["axis"], exclusive=a["exclusive"], reverse=a["reverse"]),
    "complex": lambda a, x, y: RAW.Complex(real=x, imag=y, Tout={"float32": "complex64", "float64": "complex128"}[x.dtype.name]),
    "complex_prod": reduction(RAW.Prod),
    "conjugate_transpose": lambda a, x: RAW.ConjugateTranspose(x=x, perm=ints(a["perm"])),
    **ARITHMETIC,
    **COMPARISONS,
    **LOGICAL,
    **REDUCTIONS,
    "select": lambda a, c, x, y: RAW.SelectV2(condition=c, t=x, e=y),
    "cast": lambda a, x: RAW.Cast(x=x, DstT=result_type(a)),
    "clip_by_value": lambda a, x, lo, hi: tf.clip_by_value(x, lo, hi),
    "reshape": lambda a, x: RAW.Reshape(tensor=x, shape=ints(a["shape"])),
    "expand_dims": lambda a, x: RAW.ExpandDims(input=x, axis=a["axis"]),
    "squeeze": lambda a, x: RAW.Squeeze(input=x, axis=a.get("axis", [])),
    "transpose": lambda a, x: RAW.Transpose(x=x, perm=ints(a["perm"])),
    "broadcast_to": lambda a, x: RAW.BroadcastTo(input=x, shape=ints(a["shape"])),
    "slice": lambda a, x: RAW.Slice(input=x, begin=ints(a["begin"]), size=ints(a["size"])),
    "strided_slice": strided_slice,
    "reverse": lambda a, x: RAW.ReverseV2(tensor=x, axis=ints(a["axis"])),
    "pad": pad,
    "concat": lambda a, *x: RAW.ConcatV2(values=x, axis=a["axis"]),
    "stack": lambda a, *x: RAW.Pack(values=x, axis=a["axis"]),
    "split": lambda a, x: RAW.Split(axis=a["axis"], value=x, num_split=a["num"]),
    "tile": lambda a, x: RAW.Tile(input=x, multiples=ints(a["multiples"])),
    "shape": lambda a, x: RAW.Shape(input=x, out_type=result_type(a)),
    "size": lambda a, x: RAW.Size(input=x, out_type=result_type(a)),
    "rank": lambda a, x: RAW.Rank(input=x),
    "fill": lambda a, x: RAW.Fill(dims=ints(a["shape"]), value=x),
    "range": lambda a, start, limit, delta: RAW.Range(start=start, limit=limit, delta=delta),
    "argmax": lambda a, x: RAW.ArgMax(input=x, dimension=a["axis"]),
    "argmin": lambda a, x: RAW.ArgMin(input=x, dimension=a["axis"]),
    "softmax": lambda a, x: tf.nn.softmax(x, axis=a.get("axis", -1)),
    "log_softmax": lambda a, x: tf.nn.log_softmax(x, axis=a.get("axis", -1)),
    "matmul": matmul,
    "gather": lambda a, x, i: RAW.GatherV2(params=x, indices=i, axis=a["axis"]),
    "one_hot": one_hot,
    "unique_with_counts": lambda a, x: RAW.UniqueWithCounts(x=x, out_idx=result_type(a)),
    "boolean_mask": lambda a, x, mask: tf.boolean_mask(x, mask, axis=a["axis"]),
    "gather_nd": lambda a, x, i: tf.gather_nd(x, i, batch_dims=a["batch_dims"]),
    "scatter_nd": lambda a, i, x: RAW.ScatterNd(
        indices=i, updates=x, shape=np.array(a["shape"], i.dtype.as_numpy_dtype)
    ),
    "tensor_scatter_nd_update": scatter(RAW.TensorScatterUpdate),
    "tensor_scatter_nd_add": scatter(RAW.TensorScatterAdd),
    "tensor_scatter_nd_sub": scatter(RAW.TensorScatterSub),
    "tensor_scatter_nd_min": scatter(RAW.TensorScatterMin),
    "tensor_scatter_nd_max": scatter(RAW.TensorScatterMax),
    "dynamic_stitch": lambda a, *x: RAW.DynamicStitch(indices=x[: len(x) // 2], data=x[len(x) // 2 :]),
    "dynamic_partition": lambda a, x, parts: RAW.DynamicPartition(
        data=x, partitions=parts, num_partitions=a["num_partitions"]
    ),
    "space_to_depth": lambda a, x: RAW.SpaceToDepth(input=x, block_size=a["block_size"]),
    "depth_to_space": lambda a, x: RAW.DepthToSpace(input=x, block_size=a["block_size"]),
    "space_to_batch_nd": lambda a, x: RAW.SpaceToBatchND(
        input=x, block_shape=ints(a["block_shape"]), paddings=ints(a["paddings"]).reshape(-1, 2)
    ),
    "batch_to_space_nd": lambda a, x: RAW.BatchToSpaceND(
        input=x, block_shape=ints(a["block_shape"]), crops=ints(a["crops"]).reshape(-1, 2)
    ),
    "reverse_sequence": lambda a, x, n: RAW.ReverseSequence(
        input=x, seq_lengths=n, seq_dim=a["seq_dim"], batch_dim=a["batch_dim"]
    ),
    "sequence_mask": lambda a, n: tf.sequence_mask(n, a["maxlen"]),
    "extract_image_patches": lambda a, x: RAW.ExtractImagePatches(images=x, **a),
    **{f"segment_{how}": segment(how) for how in ("sum", "mean", "prod", "max", "min")},
    **{f"unsorted_segment_{how}": unsorted_segment(how) for how in ("sum", "prod", "max", "min")},
}


# Runs a case and records it.


def compute(op, attrs, inputs):
    """Runs an op. Returns its results as a list of arrays."""
    result = RUN[op](attrs, *(tf.constant(x, x.dtype) for x in inputs))
    results = result if isinstance(result, (list, tuple)) else [result]
    # A quantized tensor gives an array of plain integers.
    return [r.numpy().view(r.dtype.as_numpy_dtype) if r.dtype.is_quantized else r.numpy() for r in results]


def message(error):
    """Returns TensorFlow's error without the names of its wrappers."""
    text = re.sub(r"\{\{.*?\}\} ?", "", str(error).splitlines()[0])
    text = re.sub(r" ?\[Op:.*$", "", text)
    return f"{type(error).__name__}: {text}"


def number(value):
    """Returns an element as JSON text."""
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.integer):
        return str(int(value))
    if not np.isfinite(value):
        return json.dumps(str(value))
    text = str(value)
    back = value.dtype.type(float(text))
    assert back == value and np.signbit(back) == np.signbit(value), f"{text} must parse to {value!r}"
    return text


def shape_text(array):
    shape = json.dumps(list(array.shape), separators=(",", ":"))
    return f'"shape":{shape}'


def tensor(array):
    name = NAME[array.dtype]
    if name in COMPLEX:
        parts = np.stack([array.real, array.imag], -1)
        return tensor(parts).replace(NAME[parts.dtype], name, 1).replace(shape_text(parts), shape_text(array), 1)
    if name.startswith("f8"):
        bits = array.view(np.uint8)
        return tensor(bits).replace("u8", name, 1)
    if name[0] == "q" or name in ("i4", "u4"):
        whole = array.view(array.dtype[0]) if name[0] == "q" else array.astype(np.int32)
        return tensor(whole.astype(np.int32)).replace("i32", name, 1)
    data = ",".join(number(v) for v in array.reshape(-1))
    return f'{{"dtype":"{name}",{shape_text(array)},"data":[{data}]}}'


class Recorder:
    def __init__(self):
        self.lines = []
        self.seen = set()
        self.counts = Counter()

    def record(self, op, attrs, *inputs, error=False):
        """Runs and records one case. `error` tells whether TensorFlow must refuse it."""
        try:
            outputs, refusal = compute(op, attrs, inputs), None
        except (tf.errors.InvalidArgumentError, ValueError) as caught:
            refusal = message(caught)
        assert (refusal is not None) == error, f"{op} {attrs} {inputs}: {refusal}"
        if refusal is None:
            tail = f'"outputs":[{",".join(tensor(t) for t in outputs)}]'
        else:
            tail = f'"error":{json.dumps(refusal)}'
        parameters = json.dumps(attrs, separators=(",", ":"))
        operands = ",".join(tensor(t) for t in inputs)
        line = f'{{"op":"{op}","attrs":{parameters},"inputs":[{operands}],{tail}}}'
        if line not in self.seen:
            self.seen.add(line)
            self.lines.append(line)
            self.counts[op] += 1


def source(*key):
    """Returns the random generator of a key, so that cases do not depend on those of other ops."""
    return np.random.default_rng(zlib.crc32("/".join(key).encode()))


def same_everywhere(op, columns):
    """Returns which rows of elementwise operands have equal results in vector code and in scalar code."""
    kept = []
    for row in zip(*columns, strict=True):
        scalar = compute(op, {}, [np.array([v]) for v in row])[0]
        vector = compute(op, {}, [np.repeat(v, 37) for v in row])[0]
        with np.errstate(all="ignore"):
            close = np.isclose(vector.astype(float), scalar.astype(float), 1e-6, 0, True).all()
        signs = np.isnan(scalar).any() or (np.signbit(vector) == np.signbit(scalar)).all()
        kept.append(bool(close and signs))
    return np.array(kept)


# Values.

# The smallest normal and the largest finite value, a subnormal value, and a large value whose reciprocal is normal.
SMALLEST = {name: float(np.finfo(NUMPY[name]).tiny) for name in FLOATS}
LARGEST = {name: float(np.finfo(NUMPY[name]).max) for name in FLOATS}
SUBNORMAL = {"f32": 1e-40, "f64": 1e-310}
HUGE = {"f32": 1e30, "f64": 1e300}


def special(name):
    """Returns special values of a dtype, which moves must not change."""
    if name in FLOATS:
        odd = [SUBNORMAL[name], SMALLEST[name], LARGEST[name], 0.1]
        return np.array([NAN, INF, -INF, 0.0, -0.0] + odd, NUMPY[name])
    if name == "bool":
        return np.array([True, False])
    limits = np.iinfo(NUMPY[name])
    return np.array([limits.min, limits.max, 0, 1], NUMPY[name])


def exact(rng, name, shape):
    """Returns small values whose sums and products are exact, and whose decimals are short."""
    if name == "bool":
        return rng.random(shape) < 0.5 if shape else np.array(rng.random() < 0.5)
    if name == "u8":
        return np.asarray(rng.integers(0, 256, shape), np.uint8)
    if name in SIGNED:
        return np.asarray(rng.integers(-20, 21, shape), NUMPY[name])
    return np.asarray(rng.integers(-16, 17, shape) / 4, NUMPY[name])


def moved(rng, name, shape):
    """Returns values for an op that only moves them. Some are special."""
    x = exact(rng, name, shape).copy()
    odd = special(name)
    if x.size >= 4 and rng.random() < 0.4:
        positions = rng.choice(x.size, min(4, x.size), replace=False)
        x.reshape(-1)[positions] = rng.choice(odd, len(positions))
    return x


def spread(rng, name, shape, low, high):
    """Returns values between `low` and `high` with five decimals."""
    return np.asarray(rng.uniform(low, high, shape), NUMPY[name]).round(5)


SHAPES = [(), (0,), (1,), (7,), (2, 3), (3, 1, 2), (2, 0, 3), (1, 1), (19,)]
COMMON = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5]


def unary_specials(op, name):
    """Returns edge cases of a function whose results are not subnormal."""
    wide = name == "f64"
    big = 1e300 if wide else 1e30
    odd = {
        "exp": [709.5, 710.0, -700.0, -800.0] if wide else [88.5, 89.0, -87.0, -200.0],
        "expm1": [1e-5, 1e-10, -1e-10, -50.0, 710.0 if wide else 89.0],
        "log": [SMALLEST[name], LARGEST[name], 2.0, 1.0001],
        "log1p": [1e-5, 1e-10, -1e-10, LARGEST[name], -0.9999, -2.0],
        "sqrt": [SMALLEST[name], LARGEST[name], 4.0, 2.0],
        "rsqrt": [SMALLEST[name], LARGEST[name], 4.0, 2.0],
        "sin": [3.1415927, 100.0, -100.0, 12345.0, 1e-5],
        "cos": [3.1415927, 100.0, -100.0, 12345.0, 1e-5],
        "tanh": [1e-5, 0.1, 10.0, -50.0, 0.0004],
        "sigmoid": [20.0, -20.0, 80.0, -80.0, 1000.0, -1000.0],
        "asin": [1e-5, 0.9999, -0.9999, 1.5],
        "acos": [1e-5, 0.9999, -0.9999, 1.5],
        "atan": [1e-5, 1e10, -1e10, 0.9999],
        "sinh": [1e-5, 20.0, -20.0, 80.0],
        "cosh": [1e-5, 20.0, -20.0, 80.0],
        "asinh": [1e-5, 1e10, -1e10, 0.1],
        "acosh": [1.0001, 1e10, 0.5, 1.5],
        "atanh": [1e-5, 0.9999, -0.9999, 1.5],
        "erfc": [1e-5, 0.1, 3.0, -3.5, 5.0, -30.0],
        "erf": [1e-5, 0.1, 3.0, -3.5, 5.0, -30.0],
        "sign": [big, -big, 1 / big],
        "square": [LARGEST[name], big**0.5, 1 / big**0.5],
        "neg": [SUBNORMAL[name], LARGEST[name], SMALLEST[name]],
        "abs": [-SUBNORMAL[name], -LARGEST[name], SMALLEST[name]],
        "relu": [LARGEST[name], -LARGEST[name]],
        "identity": [SUBNORMAL[name], LARGEST[name], SMALLEST[name]],
    }
    if op in ("floor", "ceil", "round"):
        edge = 2.0**52 if wide else 2.0**23
        near = np.nextafter(NUMPY[name].type(0.5), NUMPY[name].type(0))
        odd[op] = [near, -near, edge - 0.5, -edge + 0.5, edge + 1, LARGEST[name], 3.5, -3.5]
    values = np.array(COMMON + odd[op], NUMPY[name])
    return values[~np.isinf(values)] if op in ("erf", "erfc") and wide else values


DOMAIN = {
    "exp": (-20, 20),
    "expm1": (-5, 5),
    "log": (0.001, 50),
    "log1p": (-0.95, 20),
    "sqrt": (0, 100),
    "rsqrt": (0.01, 100),
    "tanh": (-4, 4),
    "sigmoid": (-10, 10),
    "erf": (-3, 3),
    "erfc": (-3, 3),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "acosh": (1, 50),
    "atanh": (-1, 1),
}
INTEGER_UNARY = {
    "neg": SIGNED,
    "abs": SIGNED,
    "sign": SIGNED,
    "square": SIGNED + ["u8"],
    "relu": SIGNED + ["u8"],
    "round": SIGNED,
    "identity": SIGNED + ["u8", "bool"],
    "logical_not": ["bool"],
}


# Cases by family of ops.


def unary_cases(out):
    for op in UNARY:
        for name in FLOATS if op != "logical_not" else []:
            rng = source(op, name)
            x = unary_specials(op, name)
            out.record(op, {}, x[same_everywhere(op, [x])])
            for shape in SHAPES:
                out.record(op, {}, spread(rng, name, shape, *DOMAIN.get(op, (-9, 9))))
        for name in INTEGER_UNARY.get(op, []):
            rng = source(op, name)
            out.record(op, {}, special(name))
            for shape in SHAPES:
                out.record(op, {}, exact(rng, name, shape))


PAIRS = [
    ((), ()),
    ((4,), ()),
    ((), (2, 2)),
    ((1,), (5,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 4)),
    ((2, 1, 3), (4, 1)),
    ((3, 2), (3, 2)),
    ((0,), (1,)),
    ((2, 0), (2, 1)),
    ((1, 3), (0, 1)),
    ((18,), (18,)),
]
MISMATCHED = [((2, 3), (2,)), ((4,), (3,)), ((2, 0), (2, 2))]


def binary_operands(rng, op, name, left, right):
    """Returns operands that the op accepts. Floats are multiples of 1/4 or have five decimals."""
    if name in FLOATS and op not in COMPARISONS:
        x, y = spread(rng, name, left, -9, 9), spread(rng, name, right, -9, 9)
        if op == "pow":
            x, y = np.abs(x) + NUMPY[name].type(0.125), y.clip(-4, 4)
        return np.asarray(x), np.asarray(y)
    x, y = exact(rng, name, left), exact(rng, name, right)
    if op in ("floordiv", "floormod"):
        y = np.where(y == 0, NUMPY[name].type(3), y)
    if op == "pow":
        y = abs(y) % NUMPY[name].type(6)
    return x, np.asarray(y, x.dtype)


def special_pairs(op, name):
    """Returns all pairs of special values whose result is the same in vector code and in scalar code."""
    if name in FLOATS:
        huge = HUGE[name]
        values = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0, -3.5, huge]
    elif name == "u8":
        values = [0, 1, 2, 7, 16, 255]
    else:
        limits = np.iinfo(NUMPY[name])
        values = [0, 1, -1, 2, 7, -7, 46341, limits.min, limits.max]
    values = np.array(values, NUMPY[name])
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    keep = np.ones(len(x), bool)
    if op in ("floordiv", "floormod") and name not in FLOATS:
        keep = y != 0
    if op == "pow" and name not in FLOATS:
        keep = (y >= 0) & (y < 64)
    x, y = x[keep], y[keep]
    keep = same_everywhere(op, [x, y])
    return x[keep], y[keep]


def chunks(columns, size):
    for start in range(0, len(columns[0]), size):
        yield [c[start : start + size] for c in columns]


def binary_cases(out):
    dtypes = {**{op: NUMBERS for op in [*ARITHMETIC, *COMPARISONS]}, "div": FLOATS, "atan2": FLOATS}
    dtypes["pow"] = dtypes["squared_difference"] = FLOATS + SIGNED
    dtypes["equal"] = dtypes["not_equal"] = ALL
    dtypes["logical_and"] = dtypes["logical_or"] = ["bool"]
    for op, names in dtypes.items():
        for name in names:
            rng = source(op, name)
            if name != "bool":
                for x, y in chunks(special_pairs(op, name), 50):
                    out.record(op, {}, x, y)
            else:
                out.record(op, {}, *np.array([[0, 0, 1, 1], [0, 1, 0, 1]], bool))
            skipped = rng.choice(len(PAIRS), 4, replace=False) if op in COMPARISONS else []
            for i, (left, right) in enumerate(PAIRS):
                if i not in skipped:
                    out.record(op, {}, *binary_operands(rng, op, name, left, right))
        left, right = MISMATCHED[len(op) % len(MISMATCHED)]
        mismatched = binary_operands(rng, op, names[-1], left, right)
        out.record(op, {}, *mismatched, error=True)
    for name in SIGNED + ["u8"]:
        x = np.array([6, 7, 8], NUMPY[name])
        for op in ("floordiv", "floormod"):
            out.record(op, {}, x, np.array([1, 0, 2], NUMPY[name]), error=True)
            out.record(op, {}, x[0], np.array(0, NUMPY[name]), error=True)
            out.record(op, {}, x[:0], np.array([0], NUMPY[name]))
    for name in SIGNED:
        x = np.array([2, 1, -1], NUMPY[name])
        out.record("pow", {}, x, np.array([2, -1, 2], NUMPY[name]), error=True)
        out.record("pow", {}, x, np.array([31, 64, 99], NUMPY[name]))
    for name in FLOATS:
        near = np.array([1.0, 0.3, 7.0, -7.0, 7.0, -7.0], NUMPY[name])
        by = np.array([0.1, 0.1, 2.5, 2.5, -2.5, -2.5], NUMPY[name])
        out.record("floordiv", {}, near, by)
        out.record("floormod", {}, near, by)


def select_cases(out):
    triples = [
        ((), (), ()),
        ((3,), (3,), (3,)),
        ((2, 1), (3,), ()),
        ((), (2, 2), (2, 2)),
        ((4,), (2, 4), (2, 1)),
        ((0,), (1,), ()),
        ((2, 1, 2), (3, 1), (1, 2)),
        ((2, 3), (2, 3), (2, 3)),
    ]
    for name in ALL:
        rng = source("select", name)
        for c, x, y in triples:
            out.record(
                "select", {}, exact(rng, "bool", c), moved(rng, name, x), moved(rng, name, y)
            )
        odd = special(name)
        out.record("select", {}, np.arange(len(odd)) % 2 == 0, odd, odd[::-1].copy())
    x = np.zeros((2, 3), np.float32)
    out.record("select", {}, np.ones(2, bool), x, x, error=True)
    out.record("select", {}, np.ones(3, bool), x, x[:, :2], error=True)


def cast_values(name, target):
    """Returns values of a dtype that the target can hold after rounding or truncation."""
    if name == "bool" or target == name:
        return special(name)
    if name not in FLOATS:
        limits = np.iinfo(NUMPY[name])
        values = [0, 1, 2, 100, 255, limits.min, limits.max]
        if name != "u8":
            values += [-1, -2, 256, 16777217, -16777219]
        if name == "i64":
            values += [2**31, 2**32 + 5, -(2**31) - 1, 2**53 + 1, -(2**53) - 3]
        return np.array(values, NUMPY[name])
    values = [0.0, -0.0, 0.1, 1.0, 1.5, 2.5, 2.9999, 100.75, 254.99]
    if target != "u8":
        values += [-0.1, -1.0, -1.9999, -2.5, -100.75, 65536.0, 16777216.0, -8388607.5]
    if target in FLOATS + ["bool"]:
        values += [NAN, INF, -INF, 1e-30, -1e-30, LARGEST[name], SMALLEST[name]]
        values += [1e300, -1e300, 16777217.0, 1.0000000596046448] if name == "f64" else []
        values = values if name == "f32" else [v for v in values if v != SMALLEST["f64"]]
    else:
        values = [v for v in values if v <= 255] if target == "u8" else values
        values += [-0.99] if target == "u8" else [-2147483648.0]
        values += [2147483647.0] if (name, target) == ("f64", "i32") else []
        values += [-(2.0**63), 2.0**62] if target == "i64" else []
    return np.array(values, NUMPY[name])


def cast_cases(out):
    for name in ALL:
        for target in ALL:
            rng = source("cast", name, target)
            attrs = {"dtype": target}
            out.record("cast", attrs, cast_values(name, target))
            x = exact(rng, name, (3, 2))
            out.record("cast", attrs, np.abs(x) if target == "u8" and name != "bool" else x)
            out.record("cast", attrs, np.array(1, NUMPY[name]))
            out.record("cast", attrs, np.zeros((2, 0), NUMPY[name]))


def clip_cases(out):
    shapes = [
        ((), (), ()),
        ((6,), (), ()),
        ((2, 3), (3,), ()),
        ((2, 3), (2, 1), (1, 3)),
        ((0,), (), (1,)),
        ((2, 2, 2), (2, 2), (2, 1, 2)),
        ((1, 1), (1,), ()),
    ]
    for name in NUMBERS:
        rng = source("clip_by_value", name)
        for x, low, high in shapes:
            low, high = exact(rng, name, low), exact(rng, name, high)
            out.record("clip_by_value", {}, exact(rng, name, x), low, high)
        x = np.array([0, 1, 2, 3, 4, 5, 6], NUMPY[name])
        for low, high in [(2, 4), (4, 2), (3, 3)]:
            out.record("clip_by_value", {}, x, *np.array([low, high], NUMPY[name]))
        if name in FLOATS:
            x = np.array([NAN, INF, -INF, 1.5, -1.5, HUGE[name]], NUMPY[name])
            for low, high in [(-1, 1), (-INF, 1), (-1, INF), (-INF, INF)]:
                out.record("clip_by_value", {}, x, *np.array([low, high], NUMPY[name]))
    x = np.zeros((2, 3), np.float32)
    out.record("clip_by_value", {}, x, np.zeros(2, np.float32), np.float32(1), error=True)


# (attributes, input shape, whether TensorFlow refuses the case). Moves are the same for every dtype.
MOVES = {
    "reshape": [
        ({"shape": [3, 2]}, (2, 3), False),
        ({"shape": [6]}, (2, 3), False),
        ({"shape": [-1]}, (2, 2, 3), False),
        ({"shape": [2, -1, 2]}, (4, 3), False),
        ({"shape": []}, (1, 1), False),
        ({"shape": [1, 1]}, (), False),
        ({"shape": [-1]}, (), False),
        ({"shape": [0, 3]}, (2, 0), False),
        ({"shape": [-1, 3]}, (2, 0), False),
        ({"shape": [3, 4, 1]}, (2, 6), False),
        ({"shape": [4]}, (2, 3), True),
        ({"shape": [-1, 4]}, (2, 3), True),
        ({"shape": [-1, -1]}, (2, 3), True),
        ({"shape": [-2, 3]}, (2, 3), True),
        ({"shape": [-1, 0]}, (2, 0), False),
    ],
    "expand_dims": [
        ({"axis": 0}, (), False),
        ({"axis": -1}, (), False),
        ({"axis": 0}, (2, 3), False),
        ({"axis": 1}, (2, 3), False),
        ({"axis": 2}, (2, 3), False),
        ({"axis": -1}, (2, 3), False),
        ({"axis": -3}, (2, 3), False),
        ({"axis": 1}, (2, 0), False),
        ({"axis": 3}, (2, 3), True),
        ({"axis": -4}, (2, 3), True),
    ],
    "squeeze": [
        ({}, (1, 3, 1), False),
        ({}, (2, 3), False),
        ({}, (1, 1), False),
        ({}, (), False),
        ({"axis": [0]}, (1, 3, 1), False),
        ({"axis": [-1]}, (1, 3, 1), False),
        ({"axis": [2, 0]}, (1, 3, 1), False),
        ({"axis": [1]}, (0, 1), False),
        ({"axis": [1]}, (1, 3, 1), True),
        ({"axis": [3]}, (1, 3, 1), True),
    ],
    "transpose": [
        ({"perm": []}, (), False),
        ({"perm": [0]}, (5,), False),
        ({"perm": [1, 0]}, (3, 5), False),
        ({"perm": [1, 0]}, (1, 4), False),
        ({"perm": [0, 1]}, (2, 3), False),
        ({"perm": [2, 0, 1]}, (2, 3, 4), False),
        ({"perm": [1, 2, 0]}, (2, 3, 4), False),
        ({"perm": [0, 2, 1]}, (2, 3, 4), False),
        ({"perm": [2, 1, 0]}, (2, 0, 3), False),
        ({"perm": [-1, 0]}, (2, 3), False),
        ({"perm": [3, 1, 0, 2]}, (2, 3, 2, 2), False),
        ({"perm": [4, 2, 0, 3, 1]}, (2, 1, 3, 2, 2), False),
        ({"perm": [0, 0]}, (2, 3), True),
        ({"perm": [0]}, (2, 3), True),
        ({"perm": [0, 2]}, (2, 3), True),
    ],
    "broadcast_to": [
        ({"shape": []}, (), False),
        ({"shape": [3]}, (), False),
        ({"shape": [2, 3]}, (3,), False),
        ({"shape": [2, 3]}, (2, 1), False),
        ({"shape": [2, 3, 2]}, (1, 3, 1), False),
        ({"shape": [4, 2, 3]}, (2, 3), False),
        ({"shape": [0, 3]}, (1, 3), False),
        ({"shape": [2, 0]}, (2, 1), False),
        ({"shape": [2, 3]}, (2, 3), False),
        ({"shape": [2, 4]}, (2, 3), True),
        ({"shape": [3]}, (2, 3), True),
        ({"shape": [1, 3]}, (2, 3), True),
    ],
    "slice": [
        ({"begin": [], "size": []}, (), False),
        ({"begin": [1], "size": [3]}, (6,), False),
        ({"begin": [2], "size": [-1]}, (6,), False),
        ({"begin": [6], "size": [-1]}, (6,), False),
        ({"begin": [6], "size": [0]}, (6,), False),
        ({"begin": [0, 1], "size": [2, 2]}, (3, 4), False),
        ({"begin": [1, 0], "size": [-1, 1]}, (3, 4), False),
        ({"begin": [1, 2, 0], "size": [1, -1, 2]}, (2, 4, 3), False),
        ({"begin": [0, 0], "size": [-1, -1]}, (0, 3), False),
        ({"begin": [0, 1], "size": [2, 0]}, (2, 3), False),
        ({"begin": [3], "size": [4]}, (5,), True),
        ({"begin": [6], "size": [1]}, (5,), True),
        ({"begin": [-1], "size": [1]}, (5,), True),
        ({"begin": [1], "size": [-2]}, (5,), True),
        ({"begin": [1], "size": [1]}, (2, 3), True),
    ],
    "reverse": [
        ({"axis": []}, (), False),
        ({"axis": [0]}, (7,), False),
        ({"axis": [-1]}, (2, 5), False),
        ({"axis": [0]}, (3, 4), False),
        ({"axis": [0, 1]}, (3, 4), False),
        ({"axis": [1]}, (2, 3, 4), False),
        ({"axis": [-1, 0]}, (2, 3, 4), False),
        ({"axis": []}, (2, 3), False),
        ({"axis": [1]}, (2, 0), False),
        ({"axis": [0]}, (1, 3), False),
        ({"axis": [0, -2]}, (2, 3), True),
        ({"axis": [2]}, (2, 3), True),
    ],
    "tile": [
        ({"multiples": []}, (), False),
        ({"multiples": [3]}, (4,), False),
        ({"multiples": [1]}, (4,), False),
        ({"multiples": [0]}, (4,), False),
        ({"multiples": [2, 3]}, (2, 3), False),
        ({"multiples": [1, 4]}, (3, 1), False),
        ({"multiples": [3, 1]}, (2, 3), False),
        ({"multiples": [2, 1, 2]}, (2, 3, 2), False),
        ({"multiples": [2, 2]}, (0, 3), False),
        ({"multiples": [2, 0]}, (2, 3), False),
        ({"multiples": [-1]}, (4,), True),
        ({"multiples": [2]}, (2, 3), True),
    ],
    "split": [
        ({"axis": 0, "num": 2}, (6,), False),
        ({"axis": 0, "num": 1}, (4,), False),
        ({"axis": 1, "num": 3}, (2, 6), False),
        ({"axis": -1, "num": 2}, (3, 4), False),
        ({"axis": 0, "num": 3}, (3, 2, 2), False),
        ({"axis": 1, "num": 2}, (2, 4, 3), False),
        ({"axis": -2, "num": 2}, (2, 4, 3), False),
        ({"axis": 0, "num": 2}, (0, 3), False),
        ({"axis": 0, "num": 4}, (6,), True),
        ({"axis": 2, "num": 1}, (2, 3), True),
    ],
    "gather": [
        ({"axis": 0}, ((5,), [3, 0, 0, 4]), False),
        ({"axis": 0}, ((5,), 2), False),
        ({"axis": 0}, ((3, 4), [2, 0]), False),
        ({"axis": 1}, ((3, 4), [3, 3, 1]), False),
        ({"axis": -1}, ((2, 3, 4), [1, 0]), False),
        ({"axis": -2}, ((2, 3, 2), [2, 1]), False),
        ({"axis": 1}, ((2, 3, 2), 1), False),
        ({"axis": 1}, ((2, 3), [[0, 2], [1, 1]]), False),
        ({"axis": 0}, ((3, 2), [[[1], [2]]]), False),
        ({"axis": 0}, ((4,), []), False),
        ({"axis": 0}, ((0, 3), []), False),
        ({"axis": 0}, ((3, 0), [1, 2]), False),
        ({"axis": 0}, ((3,), [1, 3]), True),
        ({"axis": 0}, ((3,), [-1]), True),
        ({"axis": 1}, ((2, 3), [[0, 1], [2, 7]]), True),
        ({"axis": 0}, ((0, 3), [0]), True),
        ({"axis": 2}, ((2, 3), [0]), True),
        ({"axis": 0}, ((), [0]), True),
    ],
    "concat": [
        ({"axis": 0}, [(2,), (3,)], False),
        ({"axis": 0}, [(2, 3), (1, 3)], False),
        ({"axis": 1}, [(2, 3), (2, 1), (2, 2)], False),
        ({"axis": -1}, [(2, 2), (2, 2)], False),
        ({"axis": -2}, [(2, 3), (1, 3)], False),
        ({"axis": 1}, [(2, 1, 2), (2, 3, 2)], False),
        ({"axis": 2}, [(2, 1, 2), (2, 1, 3), (2, 1, 1)], False),
        ({"axis": 0}, [(0,), (3,)], False),
        ({"axis": 0}, [(0, 2), (0, 2)], False),
        ({"axis": 1}, [(2, 0), (2, 2), (2, 0)], False),
        ({"axis": 0}, [(1,), (1,), (1,), (1,), (1,)], False),
        ({"axis": 0}, [(2, 3), (2, 2)], True),
        ({"axis": 2}, [(2, 3), (2, 3)], True),
        ({"axis": 0}, [(), ()], True),
        ({"axis": 0}, [(2,), (2, 1)], True),
    ],
    "stack": [
        ({"axis": 0}, [(), ()], False),
        ({"axis": -1}, [(), (), ()], False),
        ({"axis": 0}, [(3,)], False),
        ({"axis": 0}, [(3,), (3,)], False),
        ({"axis": 1}, [(3,), (3,)], False),
        ({"axis": -1}, [(2, 3), (2, 3)], False),
        ({"axis": 1}, [(2, 3), (2, 3), (2, 3)], False),
        ({"axis": -3}, [(2, 3), (2, 3)], False),
        ({"axis": 1}, [(2, 0), (2, 0)], False),
        ({"axis": 0}, [(2,), (3,)], True),
        ({"axis": 2}, [(3,), (3,)], True),
        ({"axis": -3}, [(3,), (3,)], True),
    ],
    "pad": [
        ({"paddings": [], "mode": "constant"}, (), False),
        ({"paddings": [[1, 2]], "mode": "constant"}, (3,), False),
        ({"paddings": [[0, 0], [2, 1]], "mode": "constant"}, (2, 3), False),
        ({"paddings": [[1, 1], [0, 2]], "mode": "constant"}, (2, 3), False),
        ({"paddings": [[1, 0], [0, 1], [1, 1]], "mode": "constant"}, (1, 2, 2), False),
        ({"paddings": [[1, 2]], "mode": "constant"}, (0,), False),
        ({"paddings": [[0, 0], [0, 0]], "mode": "constant"}, (2, 2), False),
        ({"paddings": [[1, 2]], "mode": "reflect"}, (3,), False),
        ({"paddings": [[2, 2]], "mode": "reflect"}, (3,), False),
        ({"paddings": [[1, 0], [2, 1]], "mode": "reflect"}, (2, 3), False),
        ({"paddings": [[0, 1], [1, 1], [0, 2]], "mode": "reflect"}, (2, 2, 3), False),
        ({"paddings": [[0, 0]], "mode": "reflect"}, (1,), False),
        ({"paddings": [[1, 2]], "mode": "symmetric"}, (3,), False),
        ({"paddings": [[3, 3]], "mode": "symmetric"}, (3,), False),
        ({"paddings": [[1, 0], [2, 3]], "mode": "symmetric"}, (2, 3), False),
        ({"paddings": [[1, 1], [1, 0], [0, 1]], "mode": "symmetric"}, (1, 2, 2), False),
        ({"paddings": [[3, 0]], "mode": "reflect"}, (3,), True),
        ({"paddings": [[1, 0]], "mode": "reflect"}, (1,), True),
        ({"paddings": [[0, 4]], "mode": "symmetric"}, (3,), True),
        ({"paddings": [[1, 0]], "mode": "symmetric"}, (0,), True),
        ({"paddings": [[-1, 0]], "mode": "constant"}, (3,), True),
        ({"paddings": [[1, 0]], "mode": "constant"}, (2, 3), True),
    ],
}


def move_operands(rng, op, name, shape, index_name):
    if op == "gather":
        return moved(rng, name, shape[0]), np.array(shape[1], NUMPY[index_name])
    shapes = shape if op in ("concat", "stack") else [shape]
    return [moved(rng, name, s) for s in shapes]


def move_cases(out):
    """Records all moves for f32, i64, and u8, which have different element sizes, and half of them for other dtypes."""
    for op, cases in MOVES.items():
        for number_of_dtype, name in enumerate(ALL):
            rng = source(op, name)
            for i, (attrs, shape, refused) in enumerate(cases):
                if refused and name != "f32":
                    continue
                if name in ("f64", "i32", "bool") and (i + number_of_dtype) % 2:
                    continue
                if op == "pad" and attrs["mode"] == "constant":
                    fill = {"u8": 7, "bool": True}.get(name, [-3, 0, 2][i % 3])
                    attrs = {**attrs, "constant_value": fill}
                inputs = move_operands(rng, op, name, shape, SIGNED[i % 2])
                out.record(op, attrs, *inputs, error=refused)


STRIDED = [
    ((6,), [1], [4], [1], {}),
    ((6,), [0], [6], [2], {}),
    ((6,), [5], [0], [-2], {}),
    ((6,), [-1], [-7], [-1], {}),
    ((6,), [0], [0], [-1], {"begin_mask": 1, "end_mask": 1}),
    ((6,), [-4], [-1], [1], {}),
    ((6,), [2], [100], [1], {}),
    ((6,), [4], [2], [1], {}),
    ((6,), [-2], [0], [1], {"shrink_axis_mask": 1}),
    ((3, 2, 3), [1, -1, 0], [2, -3, 3], [1, -1, 1], {}),
    ((3, 2, 3), [1, 0], [2, 1], [1, 1], {"ellipsis_mask": 2}),
    ((3, 2, 3), [0, 0, 1], [0, 0, 3], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 2}),
    ((2, 3), [0, 1], [0, 2], [1, 1], {"new_axis_mask": 1}),
    ((2, 3), [1, 2], [0, 0], [1, 1], {"shrink_axis_mask": 3}),
    ((2, 3), [0, 2], [2, -4], [1, -1], {}),
    ((2, 0), [0, 0], [2, 5], [1, 1], {}),
    ((), [0], [0], [1], {"new_axis_mask": 1}),
    ((), [], [], [], {}),
    ((2, 3), [0], [1], [1], {}),
]
STRIDED_REFUSED = [
    ((6,), [0], [6], [0], {}),
    ((6,), [6], [7], [1], {"shrink_axis_mask": 1}),
    ((6,), [-7], [7], [1], {"shrink_axis_mask": 1}),
    ((6,), [3], [0], [-1], {"shrink_axis_mask": 1}),
    ((6,), [0, 0], [1, 1], [1, 1], {}),
    ((2, 3), [0, 0], [1, 1], [1, 1], {"ellipsis_mask": 3}),
    ((2, 3), [0], [1, 1], [1, 1], {}),
]


def strided_attrs(begin, end, strides, masks):
    return {"begin": begin, "end": end, "strides": strides, **masks}


def strided_slice_cases(out):
    for name in ALL:
        rng = source("strided_slice", name)
        for i, (shape, begin, end, strides, masks) in enumerate(STRIDED):
            if name not in ("f64", "i32", "bool") or i % 3 == ALL.index(name) % 3:
                x = moved(rng, name, shape)
                out.record("strided_slice", strided_attrs(begin, end, strides, masks), x)
    for shape, begin, end, strides, masks in STRIDED_REFUSED:
        attrs = strided_attrs(begin, end, strides, masks)
        out.record("strided_slice", attrs, exact(rng, "f32", shape), error=True)
    rng = source("strided_slice", "random")
    recorded = 0
    while recorded < 60:
        rank, length = rng.integers(1, 5), rng.integers(1, 5)
        shape = tuple(int(n) for n in rng.integers(1, 5, rank))
        if np.prod(shape) > 60:
            continue
        begin, end = rng.integers(-5, 6, (2, length)).tolist()
        strides = rng.choice([-3, -2, -1, 1, 1, 2], length).tolist()
        masks = {}
        for key in ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"):
            bits = int((rng.random(length) < 0.3) @ (1 << np.arange(length)))
            masks.update({key: bits} if bits else {})
        if rng.random() < 0.3:
            masks["ellipsis_mask"] = 1 << int(rng.integers(length))
        attrs = strided_attrs(begin, end, strides, masks)
        x = exact(rng, ["f32", "i64", "u8"][recorded % 3], shape)
        try:
            compute("strided_slice", attrs, [x])
        except tf.errors.InvalidArgumentError:
            continue
        out.record("strided_slice", attrs, x)
        recorded += 1


def structure_cases(out):
    """Records the cases of shape, size, rank, fill, and range."""
    for i, shape in enumerate([(), (0,), (5,), (2, 3), (3, 0, 2), (1, 1, 2, 3)]):
        for name in (["f32", "bool"], ["i64", "u8"], ["f64", "i32"])[i % 3]:
            x = exact(source("shape", name), name, shape)
            for dtype in SIGNED:
                out.record("shape", {"dtype": dtype}, x)
                out.record("size", {"dtype": dtype}, x)
            out.record("rank", {"dtype": "i32"}, x)
    for name in ALL:
        odd = special(name)
        for i, shape in enumerate([[], [0], [4], [2, 3], [2, 0], [1, 2, 2]]):
            out.record("fill", {"shape": shape}, odd[i % len(odd)])
    out.record("fill", {"shape": [2, -1]}, np.float32(1), error=True)
    out.record("fill", {"shape": [2]}, np.zeros(2, np.float32), error=True)
    for name in SIGNED + FLOATS:
        make = NUMPY[name].type
        whole = [(0, 5, 1), (2, 11, 3), (5, 0, -2), (3, 3, 1), (-4, 4, 4), (7, -8, -5), (0, 1, 9)]
        fine = [(0, 1, 0.25), (1, -1, -0.5), (0.5, 0.75, 1), (-1.5, 2, 0.75), (1, 2, 0.1)]
        for case in whole + (fine if name in FLOATS else []):
            out.record("range", {}, *map(make, case))
        for case in [(5, 0, 1), (0, 5, -1), (0, 5, 0)]:
            out.record("range", {}, *map(make, case), error=True)
    out.record("range", {}, *map(np.int32, (0, 2**31 - 1, 2**30)))
    out.record("range", {}, *map(np.int64, (-(2**63), 2**62, 2**62)))
    out.record("range", {}, *map(np.float32, (NAN, 1, 1)), error=True)


# (axes, or None for all axes; input shape)
REDUCED = [
    (None, ()),
    (None, (7,)),
    (None, (2, 3)),
    ([0], (7,)),
    ([0], (3, 4)),
    ([1], (3, 4)),
    ([-1], (2, 3, 2)),
    ([1], (2, 3, 2)),
    ([0, 2], (2, 3, 2)),
    ([-1, 0], (2, 3, 4)),
    ([], (2, 3)),
    ([0], (0, 3)),
    ([1], (0, 3)),
    (None, (2, 0)),
    ([1], (2, 1, 2)),
    ([0], (19,)),
    (None, (40,)),
]


def reduced_operand(rng, op, name, shape):
    if name in FLOATS and op == "reduce_prod":
        return rng.choice(np.array([0.5, 2, -1, 1, 1.5, -2], NUMPY[name]), shape)
    if name in FLOATS and op in ("reduce_sum", "reduce_mean") and rng.random() < 0.5:
        return spread(rng, name, shape, 0.1, 9)
    return exact(rng, name, shape)


def axis_attrs(axes, keep_dims):
    return {**({} if axes is None else {"axis": axes}), "keep_dims": keep_dims}


def reduction_cases(out):
    for op in REDUCTIONS:
        logical = op in ("reduce_any", "reduce_all")
        for name in ["bool"] if logical else NUMBERS:
            rng = source(op, name)
            for i, (axes, shape) in enumerate(REDUCED):
                x = np.asarray(reduced_operand(rng, op, name, shape), NUMPY[name])
                out.record(op, axis_attrs(axes, i % 3 == 1), x)
                if i in (0, 4, 8, 11) or logical:
                    out.record(op, axis_attrs(axes, i % 3 != 1), x)
            if name in FLOATS:
                odd = [[1, NAN, 3], [INF, 1, 2], [-INF, 1, 2], [INF, -INF, 0], [NAN, INF, -INF]]
                out.record(op, axis_attrs([1], False), np.array(odd, NUMPY[name]))
                long = np.ones((2, 20), NUMPY[name])
                long[0, 0] = long[1, 19] = NAN
                out.record(op, axis_attrs([1], False), long)
            elif not logical and not (op == "reduce_mean" and name == "i64"):
                limits = np.iinfo(NUMPY[name])
                x = np.array([limits.max, limits.max - 2, limits.min, limits.max], NUMPY[name])
                out.record(op, axis_attrs([0], False), x)
        x = exact(rng, name, (2, 3))
        for axes in ([2], [-3], [0, 0], [1, -1]):
            out.record(op, axis_attrs(axes, False), x, error=True)
        out.record(op, axis_attrs([0], False), x[0, 0], error=True)
    for name in SIGNED:
        x = np.array([[-1, -2, -2], [1, 2, 2], [-1, 0, 0]], NUMPY[name])
        out.record("reduce_mean", axis_attrs([1], False), x)


def index_of_extreme_cases(out):
    shapes = [((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), -2), ((2, 3, 2), -1)]
    shapes += [((1,), 0), ((2, 0), 0), ((0, 3), 1), ((37,), 0), ((4, 1), 1)]
    for op in ("argmax", "argmin"):
        for name in ALL:
            rng = source(op, name)
            for shape, axis in shapes:
                x = exact(rng, name, shape) if len(shape) == 1 else exact(rng, name, shape) // 4
                x = x if name == "bool" else x.astype(NUMPY[name])
                out.record(op, {"axis": axis}, np.asarray(x, NUMPY[name]))
            out.record(op, {"axis": 0}, special(name)[-4:])
            out.record(op, {"axis": 0}, np.zeros(5, NUMPY[name]))
            if name in FLOATS:
                odd = [[1, NAN, 3], [NAN, 3, 1], [NAN, NAN, NAN], [3, 1, NAN], [-INF, -INF, NAN]]
                odd += [[INF, NAN, INF], [INF, INF, INF], [-INF, INF, 0], [0.0, -0.0, 0.0]]
                out.record(op, {"axis": 1}, np.array(odd, NUMPY[name]))
                out.record(op, {"axis": 0}, np.array(odd, NUMPY[name]))
        for shape, axis in [((0, 3), 0), ((2, 3), 2), ((2, 3), -3), ((), 0)]:
            out.record(op, {"axis": axis}, np.zeros(shape, np.float32), error=True)


def softmax_cases(out):
    shapes = [((5,), -1), ((1,), 0), ((2, 3), -1), ((2, 3), 0), ((2, 3, 2), 1), ((3, 1), -1)]
    shapes += [((2, 0), -1), ((0, 3), 1), ((0, 3), 0), ((2, 3, 4), -1), ((33,), -1), ((2, 3), None)]
    # A log_softmax near zero is a difference of close numbers. Its relative error has no bound.
    for op, limit in (("softmax", 5), ("log_softmax", 1.5)):
        for name in FLOATS:
            rng = source(op, name)
            for shape, axis in shapes:
                attrs = {} if axis is None else {"axis": axis}
                out.record(op, attrs, spread(rng, name, shape, -limit, limit))
            odd = [[NAN, 1, 2], [-INF, 1, 2], [-INF, -INF, -INF], [INF, 1, 2], [1000, 0, -1000]]
            odd += [[-1000, -1000, -1000], [0.0, -0.0, 0.0], [LARGEST[name], 0, 0]]
            out.record(op, {"axis": -1}, np.array(odd, NUMPY[name]))
        out.record(op, {"axis": -1}, np.array(1.0, np.float32), error=True)
        out.record(op, {"axis": 2}, np.ones((2, 3), np.float32), error=True)


MATMULS = [
    ((2, 3), (3, 4)),
    ((1, 5), (5, 1)),
    ((3, 1), (1, 4)),
    ((1, 1), (1, 1)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
    ((2, 3), (3, 0)),
    ((2, 2, 3), (2, 3, 2)),
    ((2, 2, 3), (1, 3, 2)),
    ((2, 3), (2, 3, 2)),
    ((2, 1, 2, 2), (3, 2, 2)),
    ((0, 2, 3), (0, 3, 2)),
    ((5, 7), (7, 3)),
]
MATMULS_REFUSED = [((2, 3), (4, 2)), ((3,), (3, 2)), ((2, 2, 3), (3, 3, 2)), ((2, 2), (2,))]


def matmul_cases(out):
    def swapped(x):
        return np.ascontiguousarray(np.swapaxes(x, -1, -2))

    for name in FLOATS + SIGNED:
        rng = source("matmul", name)
        for i, (left, right) in enumerate(MATMULS):
            x, y = exact(rng, name, left), exact(rng, name, right)
            for flags in [0, 1 + i % 3] if name in FLOATS else [i % 4]:
                attrs = {"transpose_a": bool(flags & 1), "transpose_b": bool(flags & 2)}
                a = swapped(x) if flags & 1 else x
                b = swapped(y) if flags & 2 else y
                out.record("matmul", attrs, a, b)
        if name in FLOATS:
            attrs = {"transpose_a": False, "transpose_b": False}
            x, y = spread(rng, name, (3, 4), 0, 2), spread(rng, name, (4, 3), 0, 2)
            out.record("matmul", attrs, x, y)
            x = np.array([[INF, 1], [NAN, 1], [0, 1]], NUMPY[name])
            y = np.array([[0, 1], [1, INF]], NUMPY[name])
            out.record("matmul", attrs, x, y)
        else:
            limits = np.iinfo(NUMPY[name])
            x = np.array([[limits.max, 1]], NUMPY[name])
            attrs = {"transpose_a": False, "transpose_b": True}
            out.record("matmul", attrs, x, np.array([[2, 3]], NUMPY[name]))
    for left, right in MATMULS_REFUSED:
        x, y = exact(rng, "f32", left), exact(rng, "f32", right)
        attrs = {"transpose_a": False, "transpose_b": False}
        out.record("matmul", attrs, x, y, error=True)


def one_hot_cases(out):
    cases = [
        ([2, 0, 1], 3, -1),
        (1, 4, -1),
        ([[0, 2], [1, 1]], 3, 1),
        ([0, 3, 1], 2, 0),
        ([], 3, -1),
        ([1, 0], 0, -1),
        ([[[1]], [[0]]], 2, 2),
        ([[1, 2]], 3, 0),
        ([0, 0], 1, 1),
    ]
    values = {"f32": (2.5, -1.0), "f64": (NAN, 0.5), "i32": (7, -7), "i64": (-1, 3)}
    values.update({"u8": (255, 1), "bool": (False, True)})
    for i, name in enumerate(ALL):
        for j, (indices, depth, axis) in enumerate(cases):
            attrs = {"depth": depth, "axis": axis, "dtype": name}
            if j % 2 and name != "f64":
                attrs["on_value"], attrs["off_value"] = values[name]
            elif j % 2:
                attrs["on_value"], attrs["off_value"] = -0.25, 4.0
            dtype = NUMPY[["i32", "i64", "u8"][(i + j) % 3]]
            out.record("one_hot", attrs, np.array(indices, dtype))
        attrs = {"depth": 3, "axis": -1, "dtype": name}
        out.record("one_hot", attrs, np.array([-1, 0, 3, 2, 2**31 - 1], NUMPY[SIGNED[i % 2]]))
    for depth, axis in [(-1, -1), (2, 2), (2, -2)]:
        attrs = {"depth": depth, "axis": axis, "dtype": "f32"}
        out.record("one_hot", attrs, np.array([0, 1], np.int32), error=True)


def unique_cases(out):
    for name in ALL:
        rng = source("unique_with_counts", name)
        for i, length in enumerate([0, 1, 2, 7, 12, 30]):
            x = exact(rng, name, (length,))
            x = x if name == "bool" else np.asarray(x // 5, NUMPY[name])
            out.record("unique_with_counts", {"dtype": SIGNED[i % 2]}, x)
        odd = special(name)
        odd = odd[odd != NUMPY[name].type(SUBNORMAL.get(name, 2))]
        out.record("unique_with_counts", {"dtype": "i32"}, np.concatenate([odd, odd[::-1]]))
        out.record("unique_with_counts", {"dtype": "i64"}, np.zeros(6, NUMPY[name]))
        if name in FLOATS:
            x = np.array([-0.0, 0.0, 1.0, -0.0], NUMPY[name])
            out.record("unique_with_counts", {"dtype": "i64"}, x)
    for shape in [(), (2, 2)]:
        x = np.zeros(shape, np.float32)
        out.record("unique_with_counts", {"dtype": "i32"}, x, error=True)


def boolean_mask_cases(out):
    cases = [
        ((6,), (6,), 0),
        ((1,), (1,), 0),
        ((0,), (0,), 0),
        ((4, 3), (4,), 0),
        ((3, 4), (4,), 1),
        ((3, 4), (3, 4), 0),
        ((2, 3, 2), (3, 2), 1),
        ((2, 3, 2), (2, 3), 0),
        ((3, 0), (3,), 0),
        ((2, 2, 5), (5,), 2),
    ]
    for name in ALL:
        rng = source("boolean_mask", name)
        for shape, mask, axis in cases:
            x = moved(rng, name, shape)
            out.record("boolean_mask", {"axis": axis}, x, exact(rng, "bool", mask))
        for value in (False, True):
            mask = np.full(4, value)
            out.record("boolean_mask", {"axis": 0}, moved(rng, name, (4, 2)), mask)
    for shape, mask, axis in [((2, 3), (3,), 0), ((2, 3), (), 0), ((2,), (2, 1), 0)]:
        x, m = exact(rng, "f32", shape), np.ones(mask, bool)
        out.record("boolean_mask", {"axis": axis}, x, m, error=True)


# (shape of params, indices, batch_dims)
GATHERED = [
    ((5,), [[3], [0], [3]], 0),
    ((3, 4), [[2, 1], [0, 3]], 0),
    ((3, 4), [[2], [0], [2]], 0),
    ((3, 4), [1, 2], 0),
    ((2, 3, 2), [[[1, 0], [0, 2]], [[1, 1], [0, 0]]], 0),
    ((2, 3), np.zeros((2, 0)), 0),
    ((3, 2), np.zeros((0, 1)), 0),
    ((3, 0), [[1], [2]], 0),
    ((2, 3), [[[2], [0]], [[1], [1]]], 1),
    ((2, 3, 2), [[2], [0]], 1),
    ((2, 2, 3), [[[2], [0]], [[1], [1]]], 2),
]


def index_of(i):
    return NUMPY[SIGNED[i % 2]]


def gather_nd_cases(out):
    for name in ALL:
        rng = source("gather_nd", name)
        for i, (shape, indices, batch) in enumerate(GATHERED):
            if 0 in shape:
                continue
            indices = np.array(indices, index_of(i))
            out.record("gather_nd", {"batch_dims": batch}, moved(rng, name, shape), indices)
    x = exact(rng, "f32", (3, 4))
    for indices in ([[3, 0]], [[0, -1]], [[0, 0, 0]], 1):
        out.record("gather_nd", {"batch_dims": 0}, x, np.array(indices, np.int32), error=True)


# (shape, indices, shape of updates). Some indices are repeated on purpose.
SCATTERED = [
    ((5,), [[3], [0], [3]], (3,)),
    ((3, 4), [[2, 1], [0, 3], [2, 1]], (3,)),
    ((4, 3), [[2], [0], [2]], (3, 3)),
    ((4, 2), [[[3], [1]], [[0], [3]]], (2, 2, 2)),
    ((2, 2, 3), [[1, 0]], (1, 3)),
    ((3, 2), np.zeros((0, 1)), (0, 2)),
    ((2, 2, 2, 2), [[1, 0, 1, 1], [0, 0, 0, 0]], (2,)),
]
SCATTERS_REFUSED = [((5,), [[5]], (1,)), ((5,), [[-1]], (1,)), ((2, 3), [[1, 3]], (1,)), ((3,), [[0]], (2,))]


def scatter_cases(out):
    def refused(op, *operands):
        for i, (shape, indices, updates) in enumerate(SCATTERS_REFUSED):
            indices, updates = np.array(indices, index_of(i)), np.ones(updates, np.float32)
            if op == "scatter_nd":
                out.record(op, {"shape": list(shape)}, indices, updates, error=True)
            else:
                out.record(op, {}, np.ones(shape, np.float32), indices, updates, error=True)

    for name in ALL:
        rng = source("scatter_nd", name)
        for i, (shape, indices, updates) in enumerate(SCATTERED):
            indices = np.array(indices, index_of(i))
            out.record("scatter_nd", {"shape": list(shape)}, indices, exact(rng, name, updates))
    refused("scatter_nd")
    for how in ("update", "add", "sub", "min", "max"):
        op = f"tensor_scatter_nd_{how}"
        for name in ALL if how == "update" else NUMBERS:
            rng = source(op, name)
            for i, (shape, indices, updates) in enumerate(SCATTERED):
                indices = np.array(indices, index_of(i + 1))
                values = moved if how == "update" else exact
                out.record(op, {}, values(rng, name, shape), indices, values(rng, name, updates))
        refused(op)
        out.record(op, {}, np.ones(3, np.int32), np.array([[0]], np.int32), np.int32(2), error=True)


def stitch_cases(out):
    cases = [
        ([[0, 2], [1]], [(2, 2), (1, 2)]),
        ([[3, 1, 0], 2], [(3,), ()]),
        ([[0, 1, 0], [1, 2]], [(3, 2), (2, 2)]),
        ([[[0, 3], [2, 1]]], [(2, 2, 3)]),
        ([[], [0, 1]], [(0, 2), (2, 2)]),
        ([[]], [(0, 3)]),
    ]
    for name in ALL:
        rng = source("dynamic_stitch", name)
        for indices, shapes in cases:
            indices = [np.array(part, np.int32) for part in indices]
            out.record("dynamic_stitch", {}, *indices, *(moved(rng, name, shape) for shape in shapes))
    x = np.ones(2, np.float32)
    for indices in ([0, -1], [[0, 1]], [0, 1, 2]):
        out.record("dynamic_stitch", {}, np.array(indices, np.int32), x, error=True)


def partition_cases(out):
    cases = [((6,), (6,), 3), ((4, 3), (4,), 2), ((2, 3, 2), (2, 3), 2)]
    cases += [((3, 2), (), 2), ((0, 2), (0,), 2), ((5,), (5,), 1)]
    for name in ALL:
        rng = source("dynamic_partition", name)
        for shape, parts, count in cases:
            parts = np.asarray(rng.integers(0, count, parts), np.int32)
            out.record("dynamic_partition", {"num_partitions": count}, moved(rng, name, shape), parts)
    for parts in ([0, 2], [-1, 0], [0]):
        parts = np.array(parts, np.int32)
        out.record("dynamic_partition", {"num_partitions": 2}, np.ones(2, np.float32), parts, error=True)


def block_cases(out):
    for name in ALL:
        rng = source("space_to_depth", name)
        for shape, block in [((1, 2, 2, 1), 2), ((2, 4, 2, 3), 2), ((1, 3, 6, 2), 3), ((0, 2, 2, 1), 2)]:
            out.record("space_to_depth", {"block_size": block}, moved(rng, name, shape))
        for shape, block in [((1, 1, 1, 4), 2), ((2, 1, 3, 8), 2), ((1, 2, 1, 9), 3), ((0, 1, 2, 4), 2)]:
            out.record("depth_to_space", {"block_size": block}, moved(rng, name, shape))
    x = exact(rng, "f32", (1, 3, 2, 3))
    for block in (2, 1):
        out.record("space_to_depth", {"block_size": block}, x, error=True)
        out.record("depth_to_space", {"block_size": block}, x, error=True)
    padded = [
        ((1, 4, 1), [2], [2, 0]),
        ((2, 3), [2], [0, 1]),
        ((1, 2, 4, 2), [2, 2], [0, 0, 0, 0]),
        ((2, 3, 5), [2, 3], [1, 0, 0, 1]),
        ((1, 2, 2, 2, 2), [2, 1, 2], [0, 0, 1, 0, 1, 1]),
        ((2, 3), [], []),
        ((0, 4), [2], [0, 0]),
        ((2, 2), [3], [1, 0]),
    ]
    cropped = [
        ((2, 2), [2], [1, 0]),
        ((4, 3, 1), [2], [0, 2]),
        ((4, 2, 2, 2), [2, 2], [0, 0, 0, 0]),
        ((12, 2, 2), [2, 3], [1, 0, 0, 2]),
        ((4, 1, 2, 2, 1), [2, 1, 2], [0, 1, 0, 0, 1, 0]),
        ((2, 3), [], []),
        ((0, 3), [2], [0, 0]),
    ]
    for name in NUMBERS:
        rng = source("space_to_batch_nd", name)
        for shape, blocks, paddings in padded:
            out.record("space_to_batch_nd", {"block_shape": blocks, "paddings": paddings}, moved(rng, name, shape))
        for shape, blocks, crops in cropped:
            out.record("batch_to_space_nd", {"block_shape": blocks, "crops": crops}, moved(rng, name, shape))
    x = exact(rng, "f32", (2, 3))
    for blocks, pairs in [([2], [0, 0]), ([0], [0, 0]), ([2], [-1, 2]), ([2, 2], [0, 0, 0, 0])]:
        out.record("space_to_batch_nd", {"block_shape": blocks, "paddings": pairs}, x, error=True)
    for blocks, pairs in [([3], [0, 0]), ([2], [4, 3]), ([2], [-1, 0])]:
        out.record("batch_to_space_nd", {"block_shape": blocks, "crops": pairs}, x, error=True)


def sequence_cases(out):
    cases = [((3, 4), [0, 2, 4], 1, 0), ((4, 3), [1, 4, 2], 0, 1), ((2, 3, 2), [3, 2], 1, 0)]
    cases += [((2, 2, 3), [3, 1], 2, 1), ((0, 3), [], 1, 0)]
    for name in ALL:
        rng = source("reverse_sequence", name)
        for i, (shape, lengths, along, batch) in enumerate(cases):
            attrs = {"seq_dim": along, "batch_dim": batch}
            out.record("reverse_sequence", attrs, moved(rng, name, shape), np.array(lengths, index_of(i)))
    x = exact(rng, "f32", (2, 3))
    for lengths, along, batch in [([4, 0], 1, 0), ([-1, 0], 1, 0), ([1], 1, 0), ([1, 1], 0, 0), ([1, 1], 2, 0)]:
        attrs = {"seq_dim": along, "batch_dim": batch}
        out.record("reverse_sequence", attrs, x, np.array(lengths, np.int32), error=True)
    for name in SIGNED + ["u8"]:
        for lengths, maxlen in [([1, 3, 0], 3), ([[1, 7], [2, 0]], 4), (2, 3), ([], 2), ([1, 2], 0)]:
            out.record("sequence_mask", {"maxlen": maxlen}, np.array(lengths, NUMPY[name]))
    out.record("sequence_mask", {"maxlen": 3}, np.array([-1, 1], np.int64))
    out.record("sequence_mask", {"maxlen": -1}, np.array([1], np.int64), error=True)


def patch_cases(out):
    def attrs(sizes, strides, rates, padding):
        entries = {"ksizes": sizes, "strides": strides, "rates": rates}
        return {**{name: [1, *entry, 1] for name, entry in entries.items()}, "padding": padding}

    cases = [
        ((1, 3, 3, 1), (2, 2), (1, 1), (1, 1)),
        ((2, 4, 5, 2), (3, 2), (1, 2), (1, 1)),
        ((1, 5, 4, 1), (2, 2), (2, 1), (1, 2)),
        ((1, 6, 6, 1), (3, 3), (3, 2), (2, 1)),
        ((1, 2, 3, 2), (1, 1), (2, 2), (1, 1)),
        ((0, 3, 3, 1), (2, 2), (1, 1), (1, 1)),
    ]
    for name in NUMBERS:
        rng = source("extract_image_patches", name)
        for i, (shape, *entries) in enumerate(cases):
            for padding in ("VALID", "SAME"):
                out.record("extract_image_patches", attrs(*entries, padding), moved(rng, name, shape))
    x = np.ones((1, 1, 3, 1), np.float32)
    out.record("extract_image_patches", attrs((2, 2), (1, 1), (1, 1), "VALID"), x)
    out.record("extract_image_patches", attrs((3, 2), (1, 1), (1, 1), "VALID"), x, error=True)


def segment_cases(out):
    sorted_cases = [((6,), [0, 0, 1, 1, 1, 2]), ((4, 2), [0, 0, 2, 4]), ((3, 2), [1, 1, 1])]
    sorted_cases += [((0, 2), []), ((5,), [0, 1, 2, 3, 4])]
    unsorted_cases = [
        ((6,), [2, 0, 0, 1, 0, 2], 3),
        ((4, 2), [3, 0, 3, 0], 5),
        ((4,), [-1, 1, -2, 0], 2),
        ((2, 3, 2), [[0, 1, 1], [2, 0, 0]], 3),
        ((2, 2), 1, 2),
        ((0, 2), [], 2),
        ((3,), [-1, -1, -1], 1),
    ]
    for how in ("sum", "mean", "prod", "max", "min"):
        for name in NUMBERS:
            rng = source("segment", how, name)
            for i, (shape, ids) in enumerate(sorted_cases):
                x = np.asarray(reduced_operand(rng, f"reduce_{how}", name, shape), NUMPY[name])
                out.record(f"segment_{how}", {}, x, np.array(ids, index_of(i)))
            for i, (shape, ids, count) in enumerate(unsorted_cases):
                if how == "mean":
                    continue
                x = np.asarray(reduced_operand(rng, f"reduce_{how}", name, shape), NUMPY[name])
                out.record(f"unsorted_segment_{how}", {"num_segments": count}, x, np.array(ids, index_of(i)))
        x = np.ones(3, np.float32)
        for ids in ([1, 0, 2], [-1, 0, 1], [0, 1], [[0, 1, 2]]):
            out.record(f"segment_{how}", {}, x, np.array(ids, np.int32), error=True)
        for ids, count in [([0, 2, 1], 2), ([0, 1], 2), ([0, 0, 0], -1)]:
            if how != "mean":
                attrs = {"num_segments": count}
                out.record(f"unsorted_segment_{how}", attrs, x, np.array(ids, np.int32), error=True)
    # The sum wraps, and the number of rows too: 300 rows count as 44.
    for value, rows in [(100, 3), (2, 300)]:
        out.record("segment_mean", {}, np.full(rows, value, np.uint8), np.zeros(rows, np.int32))


def complex_numbers(rng, name, shape):
    """Returns complex numbers with short decimals, away from poles and branch cuts."""
    part = "f32" if name == "c64" else "f64"
    return np.asarray(
        spread(rng, part, shape, -2, 2) + spread(rng, part, shape, 0.1, 0.9) * NUMPY[name].type(1j), NUMPY[name]
    )


def complex_cases(out):
    functions = (
        "neg sign square sqrt rsqrt reciprocal exp expm1 log log1p sin cos tan sinh cosh tanh asin acos atan asinh "
        "acosh atanh sigmoid identity real imag angle complex_abs conj"
    )
    for name in COMPLEX:
        part = "f32" if name == "c64" else "f64"
        for op in functions.split():
            rng = source("complex", op, name)
            for shape in [(), (0,), (1,), (19,), (2, 3), (3, 1, 2)]:
                out.record(op, {}, complex_numbers(rng, name, shape))
        for op in "add sub mul div pow squared_difference equal not_equal".split():
            rng = source("complex", op, name)
            for left, right in [((), ()), ((7,), (7,)), ((2, 3), (3,)), ((0,), (1,)), ((2, 1), (1, 5))]:
                x, y = complex_numbers(rng, name, left), complex_numbers(rng, name, right)
                out.record(op, {}, x, y)
                if left == right:
                    out.record(op, {}, x, x.copy())
        rng = source("complex", "moves", name)
        for left, right in [((), ()), ((7,), (7,)), ((2, 3), (3,)), ((0,), (1,))]:
            out.record("complex", {}, exact(rng, part, left), exact(rng, part, right))
        for keep in (False, True):
            for shape, axes in [((7,), [0]), ((2, 3), [1]), ((3, 4, 5), [0, 2]), ((2, 0), [1]), ((2, 3), [])]:
                x = complex_numbers(rng, name, shape)
                for op in "reduce_sum reduce_mean complex_prod".split():
                    # The mean of no elements is 0 + 0i in TensorFlow, although that of no floats is NaN.
                    if op != "reduce_mean" or x.size > 0:
                        out.record(op, {"axis": axes, "keep_dims": keep}, x)
        for left, right, a, b in [
            ((2, 3), (3, 4), False, False),
            ((3, 2), (4, 3), True, True),
            ((2, 0), (0, 3), False, False),
            ((5, 2, 3), (5, 3, 1), False, False),
        ]:
            attrs = {"transpose_a": a, "transpose_b": b}
            out.record("matmul", attrs, complex_numbers(rng, name, left), complex_numbers(rng, name, right))
        x = complex_numbers(rng, name, (2, 3, 4))
        out.record("transpose", {"perm": [2, 0, 1]}, x)
        out.record("conjugate_transpose", {"perm": [2, 0, 1]}, x)
        out.record("conjugate_transpose", {"perm": [0]}, x[0, 0])
        out.record("select", {}, x[0].real > 0, x[0], x[1])
        for exclusive, reverse in [(False, False), (True, False), (False, True), (True, True)]:
            attrs = {"axis": 1, "exclusive": exclusive, "reverse": reverse}
            out.record("cumsum", attrs, x)
        ids = np.array([0, 0, 2, 2, 2], np.int32)
        for how in ("sum", "mean", "prod"):
            out.record(f"segment_{how}", {}, complex_numbers(rng, name, (5, 2)), ids)
            if how != "mean":
                out.record(f"unsorted_segment_{how}", {"num_segments": 4}, complex_numbers(rng, name, (5, 2)), ids)
        for target in ["f32", "f64", "i32", "u8", "bool", "c64", "c128"]:
            if target != name:
                out.record("cast", {"dtype": target}, np.abs(x.real) + x.imag * NUMPY[name].type(1j))
        for origin in ["f32", "f64", "i32", "i64", "bool"]:
            out.record("cast", {"dtype": name}, exact(rng, origin, (7,)))


def storage_cases(out):
    for name in ("f8e5m2", "f8e4m3fn"):
        every = np.arange(256, dtype=np.uint8).view(NUMPY[name])
        other = "f8e4m3fn" if name == "f8e5m2" else "f8e5m2"
        for target in ["f32", "f64", "bool", "c64", other]:
            out.record("cast", {"dtype": target}, every)
        whole = every[np.isfinite(every.astype(np.float32))]
        out.record("cast", {"dtype": "i32"}, whole)
        finite = whole.astype(np.float64)
        finite.sort()
        ties = (finite[1:] + finite[:-1]) / 2
        odd = [0.0, -0.0, NAN, INF, -INF, 1e30, -1e30, 465.0, 464.0, 61439.0, 61440.0, 1e-9]
        x = np.concatenate([odd, ties, np.nextafter(ties, 0), np.nextafter(ties, INF)])
        out.record("cast", {"dtype": name}, x)
        y = ties.astype(np.float32)
        near = np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(INF))
        out.record("cast", {"dtype": name}, np.concatenate([np.array(odd, np.float32), y, *near]))
        for op, attrs in [("transpose", {"perm": [1, 0]}), ("slice", {"begin": [3, 1], "size": [5, 9]})]:
            out.record(op, attrs, every.reshape(16, 16))
    for name, low in (("i4", -8), ("u4", 0)):
        every = np.arange(low, low + 16).astype(NUMPY[name])
        for target in ["i32", "i64", "u8", "qi8", "qi32", "u4" if name == "i4" else "i4"]:
            out.record("cast", {"dtype": target}, every)
        out.record("cast", {"dtype": name}, np.arange(-40, 40, dtype=np.int32))
        out.record("split", {"axis": 0, "num": 4}, every)
    for name, x in [
        ("qi8", np.arange(-128, 128, 5)),
        ("qu8", np.arange(0, 256, 5)),
        ("qi16", np.arange(-32768, 32768, 997)),
        ("qu16", np.arange(0, 65536, 997)),
        ("qi32", np.array([-(2**31), -1, 0, 1, 2**31 - 1])),
    ]:
        out.record("cast", {"dtype": name}, x.astype(np.int32))
        out.record("cast", {"dtype": name}, np.array([-2.5, -1.5, 0.0, 1.9, 3.1], np.float32)[2 * (name[1] == "u") :])


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    out = Recorder()
    for family in (
        unary_cases,
        binary_cases,
        select_cases,
        cast_cases,
        clip_cases,
        move_cases,
        strided_slice_cases,
        structure_cases,
        reduction_cases,
        index_of_extreme_cases,
        softmax_cases,
        matmul_cases,
        one_hot_cases,
        unique_cases,
        boolean_mask_cases,
        gather_nd_cases,
        scatter_cases,
        stitch_cases,
        partition_cases,
        block_cases,
        sequence_cases,
        patch_cases,
        segment_cases,
        complex_cases,
        storage_cases,
    ):
        family(out)
    assert set(out.counts) == set(RUN), f"every op must have cases, but these have none: {set(RUN) - set(out.counts)}"
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text("\n".join(out.lines) + "\n")
    for op, count in out.counts.items():
        print(f"{count:5} {op}")
    print(f"{len(out.lines):5} cases, {OUTPUT.stat().st_size} bytes, TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
