"""numpy. Functions that take `out=` get it, so that results reuse memory, as the results of shapeflow do."""

import numpy as np
from formulas import DEVIATION, EINSUMS, MEAN, RELUS, SCALE, TENS, ZERO_POINT

VERSION = np.__version__


def kept(function):
    """Returns a case that calls `function(memory, *inputs)`. `memory` holds the arrays that the first call makes."""
    return lambda *inputs: (lambda memory: (lambda: function(memory, *inputs)))({})


def out(memory, name, like, dtype=None):
    if name not in memory:
        memory[name] = np.empty(like, dtype or np.float32)
    return memory[name]


def scaled_relu(memory, x, a, b):
    y = out(memory, "y", x.shape)
    np.multiply(x, a, out=y)
    np.add(y, b, out=y)
    return np.maximum(y, np.float32(0), out=y)


def ten(memory, x):
    y = out(memory, "y", x.shape)
    np.multiply(x, np.float32(0.5), out=y)
    np.add(y, np.float32(0), out=y)
    for k in range(1, 5):
        np.multiply(y, np.float32(0.5), out=y)
        np.add(y, np.float32(k), out=y)
    return y


def two_hundred(memory, x):
    y = out(memory, "y", x.shape)
    y[:] = x
    for k in range(50):
        k = np.float32(k % 5)
        np.add(y, k, out=y)
        np.multiply(y, np.float32(0.75), out=y)
        np.maximum(y, np.float32(-2), out=y)
        np.subtract(y, np.float32(0.125) * k, out=y)
    return y


def softmax(memory, x):
    y = out(memory, "y", x.shape)
    np.subtract(x, x.max(-1, keepdims=True), out=y)
    np.exp(y, out=y)
    return np.divide(y, y.sum(-1, keepdims=True), out=y)


def layer_norm(memory, x, scale, shift):
    y, squares = out(memory, "y", x.shape), out(memory, "s", x.shape)
    np.subtract(x, x.mean(-1, keepdims=True), out=y)
    np.multiply(y, y, out=squares)
    y *= 1 / np.sqrt(squares.mean(-1, keepdims=True) + np.float32(1e-5))
    y *= scale
    y += shift
    return y


def quantize(memory, x):
    y, q = out(memory, "y", x.shape), out(memory, "q", x.shape, np.uint8)
    np.multiply(x, np.float32(1 / SCALE), out=y)
    np.rint(y, out=y)
    y += np.float32(ZERO_POINT)
    np.clip(y, 0, 255, out=y)
    q[:] = y
    return q


def dequantize(memory, x):
    y = out(memory, "y", x.shape)
    np.subtract(x, np.float32(ZERO_POINT), out=y)
    y *= np.float32(SCALE)
    return y


def normalized(memory, x):
    n, h, w, c = x.shape
    y, planes = out(memory, "y", x.shape), out(memory, "p", (n, c, h, w))
    np.multiply(x, np.float32(1 / 255), out=y)
    y -= np.float32(MEAN)
    y /= np.float32(DEVIATION)
    planes[:] = y.transpose(0, 3, 1, 2)
    return planes


def copied(view):
    def copy(memory, *inputs):
        source = view(*inputs)
        y = out(memory, "y", source.shape, source.dtype)
        y[...] = source
        return y

    return kept(copy)


def padded(memory, x, n=3):
    b, h, w, c = x.shape
    if "y" not in memory:
        memory["y"] = np.zeros((b, h + 2 * n, w + 2 * n, c), np.float32)
    y = memory["y"]
    y[:, :n] = y[:, -n:] = 0
    y[:, :, :n] = y[:, :, -n:] = 0
    y[:, n:-n, n:-n] = x
    return y


def space_to_depth(x):
    return x.reshape(8, 128, 2, 128, 2, 16).transpose(0, 1, 3, 2, 4, 5)


def space_to_batch(memory, x):
    split = padded(memory, x, 2).reshape(8, 130, 2, 130, 2, 16).transpose(2, 4, 0, 1, 3, 5)
    z = out(memory, "z", split.shape)
    z[:] = split
    return z.reshape(32, 130, 130, 16)


def patches(memory, x):
    p = padded(memory, x, 1)
    y = out(memory, "z", (8, 128, 128, 9, 32))
    for r in range(3):
        for c in range(3):
            y[:, :, :, 3 * r + c] = p[:, r : r + 128, c : c + 128]
    return y.reshape(8, 128, 128, 288)


def one_hot(memory, indices):
    y = out(memory, "y", (indices.size, 256))
    y.fill(0)
    y[np.arange(indices.size), indices] = 1
    return y


def tiled(memory, x):
    y = out(memory, "y", (4, 1024, 4, 256))
    y[:] = x[None, :, None, :]
    return y.reshape(4096, 1024)


def perceptron(memory, x, w1, b1, w2, b2):
    h = np.matmul(x, w1, out=out(memory, "h", (x.shape[0], 512)))
    h += b1
    np.maximum(h, 0, out=h)
    y = np.matmul(h, w2, out=out(memory, "y", (x.shape[0], 10)))
    y += b2
    y -= y.max(-1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(-1, keepdims=True)
    return y


def attention(memory, x, query, key, value, o):
    q, k, v = x @ query, x @ key, x @ value
    s = np.matmul(q, k.transpose(0, 2, 1), out=out(memory, "s", (8, 128, 128)))
    s *= np.float32(0.125)
    s -= s.max(-1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(-1, keepdims=True)
    y = np.matmul(s @ v, o, out=out(memory, "y", x.shape))
    y += x
    return y


def hashing(x, table):
    hashed = (x.astype(np.int64) * 2654435761) % 100000
    distinct, positions = np.unique(hashed, return_inverse=True)
    return table[distinct][positions]


def scatter(memory, indices, x):
    # `bincount` sums in f64. `np.add.at` would take several times as long.
    return np.bincount(indices[:, 0], x, 1 << 20).astype(np.float32)


def stitch(memory, *parts):
    y = out(memory, "y", 1 << 20)
    for positions, part in zip(parts[:8], parts[8:]):
        y[positions] = part
    return y


def reverse_sequence(memory, x, lengths):
    positions, n = np.arange(512), lengths[:, None]
    source = np.where(positions < n, n - 1 - positions, positions)
    flat = source + 512 * np.arange(256)[:, None]
    y = out(memory, "y", (256 * 512, 64))
    return np.take(x.reshape(-1, 64), flat.ravel(), axis=0, out=y, mode="clip").reshape(x.shape)


def fresh(function):
    return lambda *inputs: lambda: function(*inputs)


def top_k(x):
    # Negative numbers order the largest first.
    found = np.argpartition(-x, 100, axis=1)[:, :100]
    values = np.take_along_axis(x, found, 1)
    order = np.argsort(-values, axis=1)
    return np.take_along_axis(values, order, 1), np.take_along_axis(found, order, 1)


def multiply_add(memory, a, b, c):
    y = np.multiply(a, b, out=out(memory, "y", a.shape, np.complex64))
    return np.add(y, c, out=y)


def halved(x):
    # At half the size, each pixel is the mean of four.
    return x.reshape(8, 256, 2, 256, 2, 3).mean((2, 4))


def summed(equation):
    return fresh(lambda *x: np.einsum(equation, *x, optimize=True))


def matmul(memory, a, b):
    return np.matmul(a, b, out=out(memory, "y", (a.shape[0], b.shape[1])))


def row_mean(x, splits):
    # `reduceat` takes no end of the array as a start, and gives one element for an empty row.
    sums = np.add.reduceat(x, np.minimum(splits[:-1], x.size - 1))
    lengths = np.diff(splits).astype(np.float32)
    with np.errstate(invalid="ignore"):
        return np.where(lengths == 0, np.float32(0), sums) / lengths


def padded_rows(memory, x, splits):
    lengths = np.diff(splits)
    y = out(memory, "y", (lengths.size, lengths.max(initial=0)))
    y.fill(0)
    y[np.arange(y.shape[1]) < lengths[:, None]] = x
    return y


def checked_sum(memory, x, splits, y, other_splits):
    if not np.array_equal(splits, other_splits):
        raise ValueError("the rows differ")
    return np.add(x, y, out=out(memory, "y", x.shape))


CASES = {
    **{name: kept(scaled_relu) for name in RELUS},
    **{name: kept(ten) for name in TENS},
    "chain of 200 ops, 64K": kept(two_hundred),
    "softmax [1024,1024]": kept(softmax),
    "softmax [4096,1024]": kept(softmax),
    "layer norm [4096,1024]": kept(layer_norm),
    "quantize 4M": kept(quantize),
    "dequantize 4M": kept(dequantize),
    "sum axis 0 of 4096²": kept(lambda m, x: np.sum(x, 0, out=out(m, "y", 4096))),
    "sum axis 1 of 4096²": kept(lambda m, x: np.sum(x, 1, out=out(m, "y", 4096))),
    "sum all of 4096²": fresh(np.sum),
    "transpose 4096² f32": copied(np.transpose),
    "u8 NHWC [32,224,224,3] to f32 NCHW, normalized": kept(normalized),
    "image pipeline: crop, mirror, normalize [32,256,256,3]":
        kept(lambda m, x: normalized(m, x[:, 16:240, 16:240][:, :, ::-1])),
    "concat 8 × [1024,512] axis 1": kept(lambda m, *x: np.concatenate(x, 1, out=out(m, "y", (1024, 4096)))),
    "pad [32,224,224,3] by 3": kept(padded),
    "tile [1024,256] × [4,4]": kept(tiled),
    "x[::-1, ::-2] of 4096²": copied(lambda x: x[::-1, ::-2]),
    "reverse axis 1 of 4096²": copied(lambda x: x[:, ::-1]),
    "space_to_depth [8,256,256,16] by 2":
        lambda x: (lambda call: lambda: call().reshape(8, 128, 128, 64))(copied(space_to_depth)(x)),
    "space_to_batch_nd [8,256,256,16] by 2": kept(space_to_batch),
    "image patches 3×3 [8,128,128,32]": kept(patches),
    "sequence_mask [65536,256]":
        kept(lambda m, n: np.less(np.arange(256, dtype=np.int32), n[:, None], out=out(m, "y", (65536, 256), bool))),
    "gather 100k rows of 64 from 1M":
        kept(lambda m, x, at: np.take(x, at, 0, out=out(m, "y", (100_000, 64)), mode="clip")),
    "gather_nd 1M scalars from 1024²": fresh(lambda x, at: x[at[:, 0], at[:, 1]]),
    "scatter_nd add 1M": kept(scatter),
    "dynamic_stitch of 1M from 8": kept(stitch),
    "one_hot [65536] × 256": kept(one_hot),
    "boolean_mask half of 4M": fresh(lambda x, mask: np.compress(mask, x)),
    "unique_with_counts 1M, 10k distinct": fresh(lambda x: np.unique(x, return_inverse=True, return_counts=True)),
    "reverse_sequence [256,512,64]": kept(reverse_sequence),
    "dynamic_partition 1M in 8": fresh(lambda x, part: tuple(x[part == p] for p in range(8))),
    "feature hashing: unique + gather 256K, 16 columns": fresh(hashing),
    "sort 1M f32": fresh(np.sort),
    "argsort 1M f32": fresh(np.argsort),
    "top_k 100 of [1024,10000]": fresh(top_k),
    "searchsorted 1M in 10k": fresh(np.searchsorted),
    "cumsum 1M f32": kept(lambda m, x: np.cumsum(x, 0, out=out(m, "y", x.shape))),
    "cumsum axis 0 of [4096,1024]": kept(lambda m, x: np.cumsum(x, 0, out=out(m, "y", x.shape))),
    "cumsum axis 1 of [4096,1024]": kept(lambda m, x: np.cumsum(x, 1, out=out(m, "y", x.shape))),
    "bincount 4M in 1024": fresh(lambda x: np.bincount(x, minlength=1024)),
    "unsorted_segment_sum 1M in 10k": fresh(lambda x, ids: np.bincount(ids, x, 10_000).astype(np.float32)),
    "softplus 1M": kept(lambda m, x: np.logaddexp(np.float32(0), x, out=out(m, "y", x.shape))),
    "complex multiply-add 1M": kept(multiply_add),
    "resize bilinear [8,512,512,3] by 0.5": fresh(halved),
    **{name: summed(equation) for name, equation in EINSUMS.items()},
    "matmul 512³": kept(matmul),
    "matmul 2048³": kept(matmul),
    "[1,784]×[784,512]": kept(matmul),
    "MLP 784-512-10, batch 1": kept(perceptron),
    "MLP 784-512-10, batch 64": kept(perceptron),
    "attention block [8,128,64]": kept(attention),
    "embedding lookup + mean [1024,32] from 50k × 64": fresh(lambda indices, table: table[indices].mean(1)),
    "ragged row mean, 100k rows": fresh(row_mean),
    "ragged to_tensor": kept(padded_rows),
    "ragged + ragged": kept(lambda m, x, splits, y: (np.add(x, y, out=out(m, "y", x.shape)), splits)),
    "ragged + ragged, flat values": kept(lambda m, x, splits, y: np.add(x, y, out=out(m, "y", x.shape))),
    "ragged + ragged, other splits": kept(checked_sum),
    "dense + dense beside ragged": kept(lambda m, x, y: np.add(x, y, out=out(m, "y", x.shape))),
}


def place(arrays):
    return arrays


def make(case, placed, fed, request):
    return CASES[case](*placed)


def fetch(result):
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else [result])]
