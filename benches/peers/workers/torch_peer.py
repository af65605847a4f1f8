"""torch, which runs op by op, or compiled if `PEERS_COMPILE` is set."""

import os

import torch
import torch.nn.functional as F
from formulas import bound, normalized

torch.set_num_threads(1)
torch.set_num_interop_threads(1)
torch.inference_mode().__enter__()
COMPILE = "PEERS_COMPILE" in os.environ
VERSION = torch.__version__


class Namespace:
    sqrt, exp, log, erf, rsqrt, relu, round = (
        torch.sqrt, torch.exp, torch.log, torch.erf, torch.rsqrt, torch.relu, torch.round,
    )
    clip, reshape = torch.clamp, torch.reshape
    maximum = staticmethod(lambda x, k: torch.clamp(x, min=k))
    softplus, lgamma, einsum = F.softplus, torch.lgamma, torch.einsum
    softmax = staticmethod(lambda x: torch.softmax(x, -1))
    mean = staticmethod(lambda x, axis: x.mean(axis, keepdim=True))
    concat = staticmethod(lambda xs, axis: torch.cat(xs, axis))
    pad = staticmethod(lambda x, n: F.pad(x, (0, 0, n, n, n, n)))
    transpose = staticmethod(lambda x, axes: x.permute(axes))
    cast = staticmethod(lambda x, dtype: x.to(getattr(torch, dtype)))
    constant = staticmethod(lambda values: torch.tensor(values))


def reverse_sequence(x, lengths):
    positions = torch.arange(512)
    lengths = lengths[:, None]
    source = torch.where(positions < lengths, lengths - 1 - positions, positions)
    return torch.gather(x, 1, source[:, :, None].expand(-1, -1, 64))


def stitch(*parts):
    return torch.empty(1 << 20).index_copy_(0, torch.cat(parts[:8]).long(), torch.cat(parts[8:]))


def resized(x):
    # The images keep their order in memory, with the channels last.
    return F.interpolate(x.permute(0, 3, 1, 2), size=(256, 256), mode="bilinear").permute(0, 2, 3, 1)


def hashing(x, table):
    hashed = torch.remainder(x.long() * 2654435761, 100000)
    distinct, positions = torch.unique(hashed, return_inverse=True)
    return table[distinct][positions]


def padded_rows(x, splits):
    longest = int(splits.diff().max())
    return torch.ops.aten._jagged_to_padded_dense_forward(x[:, None], [splits], [longest], 0.0)[:, :, 0]


UNCOMPILED = {
    "boolean_mask half of 4M": lambda x, mask: torch.masked_select(x, mask),
    "unique_with_counts 1M, 10k distinct": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    "dynamic_partition 1M in 8": lambda x, part: tuple(x[part == p] for p in range(8)),
    "feature hashing: unique + gather 256K, 16 columns": hashing,
    "ragged row mean, 100k rows": lambda x, splits: torch.segment_reduce(x, "mean", offsets=splits),
    "ragged to_tensor": padded_rows,
}
OVERRIDES = {
    **UNCOMPILED,
    "gelu erf 1M": lambda x: F.gelu(x),
    "gelu tanh 1M": lambda x: F.gelu(x, approximate="tanh"),
    "layer norm [4096,1024]": lambda x, scale, shift: F.layer_norm(x, (1024,), scale, shift, 1e-5),
    "sum axis 0 of 4096²": lambda x: x.sum(0),
    "sum axis 1 of 4096²": lambda x: x.sum(1),
    "sum all of 4096²": lambda x: x.sum(),
    "transpose 4096² f32": lambda x: x.t().contiguous(),
    "u8 NHWC [32,224,224,3] to f32 NCHW, normalized": lambda x: normalized(Namespace, x).contiguous(),
    "image pipeline: crop, mirror, normalize [32,256,256,3]":
        lambda x: normalized(Namespace, x[:, 16:240, 16:240].flip(2)).contiguous(),
    "tile [1024,256] × [4,4]": lambda x: x.tile((4, 4)),
    "x[::-1, ::-2] of 4096²": lambda x: x.flip(0, 1)[:, ::2].contiguous(),
    "reverse axis 1 of 4096²": lambda x: x.flip(1),
    "sequence_mask [65536,256]": lambda n: torch.arange(256, dtype=torch.int32) < n[:, None],
    "gather 100k rows of 64 from 1M": lambda x, indices: torch.index_select(x, 0, indices),
    "gather_nd 1M scalars from 1024²": lambda x, indices: x[indices[:, 0], indices[:, 1]],
    "scatter_nd add 1M": lambda indices, x: torch.zeros(1 << 20).index_add_(0, indices[:, 0], x),
    "dynamic_stitch of 1M from 8": stitch,
    "one_hot [65536] × 256": lambda indices: F.one_hot(indices.long(), 256).float(),
    "reverse_sequence [256,512,64]": reverse_sequence,
    "sort 1M f32": lambda x: torch.sort(x)[0],
    "argsort 1M f32": lambda x: torch.argsort(x),
    "top_k 100 of [1024,10000]": lambda x: tuple(torch.topk(x, 100)),
    "searchsorted 1M in 10k": lambda row, x: torch.searchsorted(row, x),
    "cumsum 1M f32": lambda x: x.cumsum(0),
    "cumsum axis 0 of [4096,1024]": lambda x: x.cumsum(0),
    "cumsum axis 1 of [4096,1024]": lambda x: x.cumsum(1),
    "bincount 4M in 1024": lambda x: torch.bincount(x, minlength=1024),
    "unsorted_segment_sum 1M in 10k": lambda x, ids: torch.zeros(10_000).index_add_(0, ids, x),
    "resize bilinear [8,512,512,3] by 0.5": resized,
    "embedding lookup + mean [1024,32] from 50k × 64": lambda indices, table: F.embedding(indices, table).mean(1),
}
if not COMPILE:
    OVERRIDES["quantize 4M"] = lambda x: torch.quantize_per_tensor(x, 0.03125, 128, torch.quint8)
    OVERRIDES["embedding lookup + mean [1024,32] from 50k × 64"] = (
        lambda indices, table: F.embedding_bag(indices, table, mode="mean")
    )
FUNCTIONS = bound(Namespace, OVERRIDES)


def place(arrays):
    return [torch.from_numpy(array) for array in arrays]


def make(case, placed, fed, request):
    function = FUNCTIONS[case]
    if COMPILE:
        if case in UNCOMPILED:
            raise KeyError(case)
        function = torch.compile(lambda *inputs, function=function: function(*inputs), dynamic=False)
    return lambda: function(*placed)


def forget():
    torch._dynamo.reset()


def fetch(result):
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [(part.int_repr() if part.is_quantized else part).numpy() for part in parts]
