"""JAX, compiled by XLA. Cases whose result sizes depend on data run op by op."""

import jax
import jax.numpy as jnp
import numpy as np
from formulas import bound, normalized

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
VERSION = jax.__version__


class Namespace:
    sqrt, exp, log, maximum, round = jnp.sqrt, jnp.exp, jnp.log, jnp.maximum, jnp.round
    erf, rsqrt = jax.scipy.special.erf, jax.lax.rsqrt
    transpose, reshape, einsum = jnp.transpose, jnp.reshape, jnp.einsum
    softplus, lgamma = jax.nn.softplus, jax.lax.lgamma
    relu = staticmethod(lambda x: jnp.maximum(x, 0))
    softmax = staticmethod(lambda x: jax.nn.softmax(x, -1))
    clip = staticmethod(lambda x, low, high: jnp.clip(x, low, high))
    mean = staticmethod(lambda x, axis: jnp.mean(x, axis, keepdims=True))
    concat = staticmethod(lambda xs, axis: jnp.concatenate(xs, axis))
    pad = staticmethod(lambda x, n: jnp.pad(x, ((0, 0), (n, n), (n, n), (0, 0))))
    cast = staticmethod(lambda x, dtype: x.astype(dtype))
    constant = staticmethod(lambda values: jnp.asarray(values, "float32"))


def reverse_sequence(x, lengths):
    positions = jnp.arange(512)
    lengths = lengths[:, None]
    source = jnp.where(positions < lengths, lengths - 1 - positions, positions)
    return jnp.take_along_axis(x, source[:, :, None], axis=1)


def stitch(*parts):
    positions, data = jnp.concatenate(parts[:8]), jnp.concatenate(parts[8:])
    return jnp.zeros(1 << 20, "float32").at[positions].set(data, unique_indices=True, mode="promise_in_bounds")


def hashing(x, table):
    hashed = (x.astype("int64") * 2654435761) % 100000
    distinct, positions = jnp.unique(hashed, return_inverse=True)
    return jnp.take(jnp.take(table, distinct, axis=0), positions, axis=0)


def row_mean(x, ids, lengths):
    sums = jax.ops.segment_sum(x, ids, lengths.size, indices_are_sorted=True, mode="promise_in_bounds")
    return sums / lengths


def row_numbers(x, splits):
    """Returns the values, the row of each value, and the lengths of the rows: JAX has segments, but no row splits."""
    lengths = np.diff(np.asarray(splits))
    ids = np.repeat(np.arange(lengths.size, dtype="int32"), lengths)
    return [x, jnp.asarray(ids), jnp.asarray(lengths, "float32")]


def positions(x, splits):
    """Returns the values, the row and the column of each value, and an array of the longest row's length."""
    splits = np.asarray(splits)
    lengths = np.diff(splits)
    ids = np.repeat(np.arange(lengths.size, dtype="int32"), lengths)
    columns = np.arange(x.size) - splits[ids]
    return [x, jnp.asarray(ids), jnp.asarray(columns, "int32"), jnp.zeros((lengths.size, lengths.max()), "float32")]


def padded_rows(x, ids, columns, zeros):
    return jnp.zeros_like(zeros).at[ids, columns].set(x, unique_indices=True, mode="promise_in_bounds")


# Conversions of the inputs to the encoding that the case needs. They are not timed.
CONVERTED = {"ragged row mean, 100k rows": row_numbers, "ragged to_tensor": positions}
EAGER = {
    "boolean_mask half of 4M": lambda x, mask: x[mask],
    "unique_with_counts 1M, 10k distinct": lambda x: jnp.unique(x, return_inverse=True, return_counts=True),
    "dynamic_partition 1M in 8": lambda x, part: tuple(x[part == p] for p in range(8)),
    "feature hashing: unique + gather 256K, 16 columns": hashing,
}
# Compiled cases of several results, for which waiting takes longer.
OF_SEVERAL_RESULTS = ["top_k 100 of [1024,10000]", "ragged + ragged"]
FUNCTIONS = bound(Namespace, {
    **EAGER,
    "gelu erf 1M": lambda x: jax.nn.gelu(x, approximate=False),
    "gelu tanh 1M": lambda x: jax.nn.gelu(x, approximate=True),
    "sum axis 0 of 4096²": lambda x: x.sum(0),
    "sum axis 1 of 4096²": lambda x: x.sum(1),
    "sum all of 4096²": lambda x: x.sum(),
    "transpose 4096² f32": lambda x: x.T,
    "image pipeline: crop, mirror, normalize [32,256,256,3]":
        lambda x: normalized(Namespace, x[:, 16:240, 16:240][:, :, ::-1]),
    "tile [1024,256] × [4,4]": lambda x: jnp.tile(x, (4, 4)),
    "x[::-1, ::-2] of 4096²": lambda x: x[::-1, ::-2],
    "reverse axis 1 of 4096²": lambda x: x[:, ::-1],
    "sequence_mask [65536,256]": lambda n: jnp.arange(256, dtype="int32") < n[:, None],
    "gather 100k rows of 64 from 1M": lambda x, indices: jnp.take(x, indices, axis=0, mode="clip"),
    "gather_nd 1M scalars from 1024²": lambda x, indices:
        x.at[indices[:, 0], indices[:, 1]].get(mode="promise_in_bounds"),
    "scatter_nd add 1M":
        lambda indices, x: jnp.zeros(1 << 20, "float32").at[indices[:, 0]].add(x, mode="promise_in_bounds"),
    "dynamic_stitch of 1M from 8": stitch,
    "one_hot [65536] × 256": lambda indices: jax.nn.one_hot(indices, 256, dtype="float32"),
    "reverse_sequence [256,512,64]": reverse_sequence,
    "sort 1M f32": lambda x: jnp.sort(x, stable=False),
    "argsort 1M f32": lambda x: jnp.argsort(x, stable=False),
    "top_k 100 of [1024,10000]": lambda x: tuple(jax.lax.top_k(x, 100)),
    "searchsorted 1M in 10k": lambda row, x: jnp.searchsorted(row, x),
    "cumsum 1M f32": lambda x: jnp.cumsum(x, 0),
    "cumsum axis 0 of [4096,1024]": lambda x: jnp.cumsum(x, 0),
    "cumsum axis 1 of [4096,1024]": lambda x: jnp.cumsum(x, 1),
    "bincount 4M in 1024": lambda x: jnp.bincount(x, length=1024),
    "unsorted_segment_sum 1M in 10k": lambda x, ids: jax.ops.segment_sum(x, ids, 10_000),
    "resize bilinear [8,512,512,3] by 0.5":
        lambda x: jax.image.resize(x, (8, 256, 256, 3), "linear", antialias=False),
    "embedding lookup + mean [1024,32] from 50k × 64":
        lambda indices, table: jnp.take(table, indices, axis=0, mode="clip").mean(1),
    "ragged row mean, 100k rows": row_mean,
    "ragged to_tensor": padded_rows,
})


def place(arrays):
    return [jax.device_put(array) for array in arrays]


def make(case, placed, fed, request):
    function = FUNCTIONS[case]
    if case in CONVERTED:
        placed = CONVERTED[case](*placed)
    if case in EAGER:
        return lambda: jax.block_until_ready(function(*placed))
    compiled = jax.jit(lambda *inputs: function(*inputs))
    if case in OF_SEVERAL_RESULTS:
        return lambda: jax.block_until_ready(compiled(*placed))
    if len(placed) == 1:
        (only,) = placed
        return lambda: compiled(only).block_until_ready()
    return lambda: compiled(*placed).block_until_ready()


def fetch(result):
    return [np.asarray(part) for part in (result if isinstance(result, (tuple, list)) else [result])]
