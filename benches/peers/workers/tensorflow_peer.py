"""TensorFlow. Its own runtime runs the graphs, or XLA compiles them if `PEERS_XLA` is set."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from formulas import bound, normalized

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
XLA = "PEERS_XLA" in os.environ
VERSION = tf.__version__


class Namespace:
    sqrt, exp, log, maximum, round = tf.sqrt, tf.exp, tf.math.log, tf.maximum, tf.round
    erf, rsqrt, relu = tf.math.erf, tf.math.rsqrt, tf.nn.relu
    transpose, reshape, clip = tf.transpose, tf.reshape, tf.clip_by_value
    softplus, lgamma, einsum = tf.nn.softplus, tf.math.lgamma, tf.einsum
    concat, softmax, cast = tf.concat, tf.nn.softmax, tf.cast
    mean = staticmethod(lambda x, axis: tf.reduce_mean(x, axis, keepdims=True))
    pad = staticmethod(lambda x, n: tf.pad(x, ((0, 0), (n, n), (n, n), (0, 0))))
    constant = staticmethod(lambda values: tf.constant(values, "float32"))


def hashing(x, table):
    hashed = tf.math.floormod(tf.cast(x, tf.int64) * 2654435761, 100000)
    distinct, positions = tf.unique(hashed)
    return tf.gather(tf.gather(table, distinct), positions)


def rows(values, splits):
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def sum_of_rows(x, splits, y):
    x = rows(x, splits)
    # `with_values` tells TensorFlow that the rows are equal.
    total = x + x.with_values(y)
    return total.flat_values, total.row_splits


def outputs_of(unique):
    return unique.y, unique.idx, unique.count


UNCOMPILED = {
    "boolean_mask half of 4M": lambda x, mask: tf.boolean_mask(x, mask),
    "unique_with_counts 1M, 10k distinct": lambda x: outputs_of(tf.unique_with_counts(x)),
    "dynamic_partition 1M in 8": lambda x, part: tuple(tf.dynamic_partition(x, part, 8)),
    "feature hashing: unique + gather 256K, 16 columns": hashing,
    "ragged to_tensor": lambda x, splits: rows(x, splits).to_tensor(),
}
FUNCTIONS = bound(Namespace, {
    **UNCOMPILED,
    "gelu erf 1M": lambda x: tf.nn.gelu(x, approximate=False),
    "gelu tanh 1M": lambda x: tf.nn.gelu(x, approximate=True),
    "sum axis 0 of 4096²": lambda x: tf.reduce_sum(x, 0),
    "sum axis 1 of 4096²": lambda x: tf.reduce_sum(x, 1),
    "sum all of 4096²": lambda x: tf.reduce_sum(x),
    "transpose 4096² f32": lambda x: tf.transpose(x),
    "image pipeline: crop, mirror, normalize [32,256,256,3]":
        lambda x: normalized(Namespace, x[:, 16:240, 16:240, :][:, :, ::-1, :]),
    "tile [1024,256] × [4,4]": lambda x: tf.tile(x, (4, 4)),
    "x[::-1, ::-2] of 4096²": lambda x: x[::-1, ::-2],
    "reverse axis 1 of 4096²": lambda x: tf.reverse(x, [1]),
    "sequence_mask [65536,256]": lambda n: tf.sequence_mask(n, 256),
    "space_to_depth [8,256,256,16] by 2": lambda x: tf.nn.space_to_depth(x, 2),
    "space_to_batch_nd [8,256,256,16] by 2": lambda x: tf.space_to_batch(x, [2, 2], [[2, 2], [2, 2]]),
    "image patches 3×3 [8,128,128,32]":
        lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    "gather 100k rows of 64 from 1M": lambda x, indices: tf.gather(x, indices),
    "gather_nd 1M scalars from 1024²": lambda x, indices: tf.gather_nd(x, indices),
    "scatter_nd add 1M": lambda indices, x: tf.scatter_nd(indices, x, [1 << 20]),
    "dynamic_stitch of 1M from 8": lambda *parts: tf.dynamic_stitch(parts[:8], parts[8:]),
    "one_hot [65536] × 256": lambda indices: tf.one_hot(indices, 256),
    "reverse_sequence [256,512,64]": lambda x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
    "sort 1M f32": lambda x: tf.sort(x),
    "argsort 1M f32": lambda x: tf.argsort(x),
    "top_k 100 of [1024,10000]": lambda x: tuple(tf.math.top_k(x, 100)),
    "searchsorted 1M in 10k": lambda row, x: tf.searchsorted(row, x),
    "cumsum 1M f32": lambda x: tf.cumsum(x, 0),
    "cumsum axis 0 of [4096,1024]": lambda x: tf.cumsum(x, 0),
    "cumsum axis 1 of [4096,1024]": lambda x: tf.cumsum(x, 1),
    "bincount 4M in 1024": lambda x: tf.math.bincount(x, minlength=1024, maxlength=1024),
    "unsorted_segment_sum 1M in 10k": lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 10_000),
    "resize bilinear [8,512,512,3] by 0.5":
        lambda x: tf.raw_ops.ResizeBilinear(images=x, size=[256, 256], half_pixel_centers=True),
    "embedding lookup + mean [1024,32] from 50k × 64": lambda indices, table:
        tf.reduce_mean(tf.gather(table, indices), 1),
    "ragged row mean, 100k rows": lambda x, splits: tf.reduce_mean(rows(x, splits), 1),
    "ragged + ragged": sum_of_rows,
    "ragged + ragged, flat values": lambda x, splits, y: sum_of_rows(x, splits, y)[0],
    "ragged + ragged, other splits":
        lambda x, splits, y, other_splits: (rows(x, splits) + rows(y, other_splits)).flat_values,
})


def place(arrays):
    return [tf.constant(array) for array in arrays]


def make(case, placed, fed, request):
    function = FUNCTIONS[case]
    if XLA and case in UNCOMPILED:
        raise KeyError(case)
    constants = placed[fed:]
    compiled = tf.function(lambda *inputs: function(*inputs, *constants), jit_compile=XLA)
    concrete = compiled.get_concrete_function(*[tf.TensorSpec(x.shape, x.dtype) for x in placed[:fed]])
    inputs = placed[:fed]
    return lambda: concrete(*inputs)


def fetch(result):
    return [np.asarray(part) for part in (result if isinstance(result, (tuple, list)) else [result])]
