"""Records the results of TensorFlow's ragged tensors into data/ragged.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off. The random generator is seeded, so a second run writes the
same file.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_ragged.py

The first lines are the inputs: {"splits": [[..], ..], "uniform": [..], "sizes": [..], "flat": [..]}. `uniform` has the row
length of each uniform partition, else null; `sizes` are the sizes of the flat values, which are f64. Every other line is a
case: [op, arguments, number of the input, result]. A result is {"list": nested lists, "shape": sizes} or {"error": class}.
A result whose dtype is not f64 has its "dtype" too. A ragged size is null. A float that is not finite is the string "nan", "inf", or "-inf".

The ops are those of these tests of TensorFlow, in tensorflow/python/ops/ragged:
- ragged_batch_gather_op_test, ragged_gather_nd_op_test, ragged_gather_op_test, ragged_getitem_test;
- ragged_bincount_ops_test, ragged_dynamic_partition_op_test, ragged_segment_op_test;
- ragged_boolean_mask_op_test, ragged_where_op_test;
- ragged_concat_op_test, ragged_expand_dims_op_test, ragged_reverse_op_test, ragged_split_op_test,
  ragged_squeeze_op_test, ragged_stack_op_test, ragged_tile_op_test;
- ragged_dispatch_test and ragged_operators_test: some elementwise ops, because all of them run on the flat values;
- ragged_from_tensor_op_test, ragged_from_sparse_op_test, ragged_to_sparse_op_test, ragged_to_tensor_op_test;
- ragged_math_ops_test, ragged_matmul_op_test, ragged_one_hot_op_test, ragged_reduce_op_test;
- ragged_merge_dims_op_test, ragged_range_op_test, ragged_rank_op_test, ragged_row_lengths_op_test,
  ragged_row_splits_to_segment_ids_op_test, ragged_segment_ids_to_row_splits_op_test, ragged_size_op_test,
  ragged_tensor_bounding_shape_op_test, ragged_tensor_test, row_partition_test;
- ragged_bitcast_op_test, ragged_map_fn_op_test, ragged_fill_empty_rows_op_test, ragged_factory_ops_test,
  embedding_lookup_sparse of ragged ids, and the broadcasts of dynamic_ragged_shape_test.

These tests of TensorFlow are left out:
- convert_to_tensor_or_ragged_tensor_op_test, ragged_const_op_test, ragged_constant_value_op_test, ragged_eager_test,
  ragged_placeholder_op_test, ragged_print_op_test, ragged_tensor_supported_values_test, ragged_util_test: Python
  conversions, which Rust's types replace;
- dynamic_ragged_shape_test, except its broadcasts, and ragged_tensor_shape_test: classes of shapes, which the
  dimensions of a graph replace;
- ragged_map_flat_values_op_test: calls of a function on flat values, which tests compare with the dense function;
- ragged_cross_op_test: its kernel is among the imported graphs of record_imports.py;
- ragged_resize_image_op_test: images of different sizes are resized by a map over the rows;
- string_ngrams_op_test, strings_reduce_join_op_test: string ops, which record_strings.py records.

These cases are left out, because ours differ on purpose:
- max and min of an empty row beside rows with infinities: TensorFlow's result of a row of -inf is the lowest number;
- variance: TensorFlow computes E[x*x] - E[x]*E[x]; the test compares with a tolerance;
- gather_nd with an index outside its row, where TensorFlow reads another row;
- ops that TensorFlow refuses and ours do: sort, argsort, top_k, argmax. Loops over lists check them;
- log_softmax: TensorFlow normalizes over the values of all rows;
- any and all of numbers: TensorFlow drops the fractions, so that 0.5 is false. Ours take bool;
- bincount of floats, whose fractions TensorFlow drops, and quotients of integers: ours ask for a cast;
- dtypes that TensorFlow refuses.
"""

import itertools
import json
import math
import os
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.ragged.ragged_array_ops import fill_empty_rows

OUTPUT = Path(__file__).resolve().parent / "data" / "ragged.jsonl"
RNG = np.random.default_rng(17)
FAILURES = (tf.errors.OpError, ValueError, TypeError, IndexError, AttributeError)


def lengths(rows, most=4):
    return RNG.integers(0, most, rows).tolist()


def ragged(rows, ragged_rank, inner=(), uniform=None, most=4):
    """Makes a ragged tensor; partition number `uniform` has rows of length 2."""
    partitions = []
    for level in range(ragged_rank):
        partitions.append([2] * rows if level == uniform else lengths(rows, most))
        rows = sum(partitions[-1])
    flat = RNG.integers(-9, 10, (rows, *inner)).astype(np.float64) / 2
    values = tf.constant(flat)
    for level in reversed(range(ragged_rank)):
        if level == uniform:
            values = tf.RaggedTensor.from_uniform_row_length(values, 2, nrows=len(partitions[level]))
        else:
            values = tf.RaggedTensor.from_row_lengths(values, np.array(partitions[level], np.int64))
    return values


def inputs():
    made = [ragged(rows, rank) for rank in (1, 2, 3) for rows in (0, 1, 2, 3, 5)]
    made += [ragged(rows, rank, inner) for rank in (1, 2) for inner in ((2,), (1, 3), (0,)) for rows in (0, 2, 4)]
    made += [ragged(rows, rank, uniform=level) for rank, level in ((2, 0), (2, 1), (3, 1)) for rows in (0, 2, 3)]
    made += [ragged(3, rank, most=1) for rank in (1, 2)]
    made += [ragged(4, 1, most=30), ragged(60, 1, most=9), ragged(6, 2, (2,), most=9)]
    return made


def number(value):
    if isinstance(value, bool) or isinstance(value, int):
        return value
    return value if math.isfinite(value) else str(value).replace("-nan", "nan")


def nested(value):
    return [nested(item) for item in value] if isinstance(value, list) else number(value)


def result(value):
    items = value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()
    recorded = {"list": nested(items), "shape": value.shape.as_list()}
    return recorded if value.dtype == tf.float64 else {**recorded, "dtype": value.dtype.name}


def item(entry):
    """Converts an entry of a slice: an integer, a list [begin, end, step], or "new"."""
    if isinstance(entry, list):
        return slice(*entry)
    return tf.newaxis if entry == "new" else entry


def cases(x):
    """Yields names, arguments and functions."""
    rank = x.shape.rank
    depth = x.ragged_rank
    for how in ("sum", "prod", "max", "min", "mean", "variance", "std"):
        function = getattr(tf, f"reduce_{how}", None) or getattr(tf.math, f"reduce_{how}")
        for axis in range(-1, rank):
            yield f"reduce_{how}", [axis], lambda f=function, a=axis: f(x, axis=a)
        if how in ("sum", "mean", "variance", "std"):
            for axes in itertools.combinations(range(rank), 2):
                yield f"reduce_{how}", list(axes), lambda f=function, a=axes: f(x, axis=list(a))
            yield f"reduce_{how}", list(range(rank)), lambda f=function: f(x, axis=None)
        if how in ("sum", "variance"):
            for axes in (*([axis] for axis in range(rank)), *itertools.combinations(range(rank), 2)):
                yield f"keep_{how}", list(axes), lambda f=function, a=axes: f(x, axis=list(a), keepdims=True)
    ints = tf.cast(x, tf.int32)
    for axis in range(rank):
        yield "mean_of_ints", [axis], lambda a=axis: tf.reduce_mean(ints, axis=a)
    for axis in range(rank):
        yield "reduce_any", [axis], lambda a=axis: tf.reduce_any(x > 0, axis=a)
        yield "reduce_all", [axis], lambda a=axis: tf.reduce_all(x > 0, axis=a)
        yield "concat", [axis], lambda a=axis: tf.concat([x, x * 10], axis=a)
        yield "reverse", [axis], lambda a=axis: tf.reverse(x, axis=[a])
    for axis in range(rank + 1):
        yield "expand_dims", [axis], lambda a=axis: tf.expand_dims(x, axis=a)
        yield "stack", [axis], lambda a=axis: tf.stack([x, x * 10], axis=a)
    for outer, inner in itertools.combinations_with_replacement(range(rank), 2):
        yield "merge_dims", [outer, inner], lambda o=outer, i=inner: x.merge_dims(o, i)
    for axis in range(1, rank):
        yield "row_lengths", [axis], lambda a=axis: x.row_lengths(axis=a)
    yield "bounding_shape", [], x.bounding_shape
    yield "to_tensor", [], x.to_tensor
    yield "to_tensor", [-7], lambda: x.to_tensor(default_value=-7.0)
    yield "to_tensor", [5, None, 2], lambda: x.to_tensor(default_value=5.0, shape=[None, 2] + [None] * (rank - 2))
    yield "to_tensor", [5, 4, 1], lambda: x.to_tensor(default_value=5.0, shape=[4, 1] + [None] * (rank - 2))
    for name, function in (("square", tf.square), ("neg", tf.negative), ("abs", tf.abs), ("floor", tf.floor)):
        yield name, [], lambda f=function: f(x)
    yield "add", [], lambda: x + x
    yield "scale", [], lambda: x * 3.0 - 1.0
    numbers = tf.cast(tf.reshape(tf.range(x.nrows()), [-1] + [1] * (rank - 1)), tf.float64)
    yield "by_row", [], lambda: x + numbers
    rows = tf.experimental.DynamicRaggedShape.from_tensor(x)
    yield "broadcast_to", [], lambda: tf.broadcast_to(numbers, rows)
    yield "broadcast_to", [3], lambda: tf.broadcast_to(tf.constant(3.0, tf.float64), rows)
    sums = np.array([row.sum() for row in x.flat_values.numpy()], np.float64)
    yield "mask", [], lambda: tf.ragged.boolean_mask(x, x.with_flat_values(sums > 0))
    for indices in ([0], [1, 0, 1], [], [-1], [60]):
        yield "gather", indices, lambda i=indices: tf.gather(x, tf.constant(i, tf.int64))
    ranges = [[None, None, None], [1, None, None], [None, -1, None], [None, None, -1], [None, None, 2], [-2, 9, 1], [2, 0, -1]]
    for entry in [0, -1, 7, "new", *ranges]:
        yield "slice", [entry], lambda e=entry: x[item(e)]
        for second in [0, "new", *ranges[1:6]]:
            if entry in (0, "new", *ranges[:2]):
                yield "slice", [entry, second], lambda e=entry, s=second: x[item(e), item(s)]
    if depth > 1:
        yield "slice", [*ranges[1:3], ranges[3]], lambda: x[item(ranges[1]), item(ranges[2]), item(ranges[3])]


def coordinates(nested, depth):
    """Returns the indices of all items along the first `depth` axes."""
    if depth == 0:
        return [[]]
    return [[i, *rest] for i, item in enumerate(nested) for rest in coordinates(item, depth - 1)]


def selections(x):
    """Yields further cases: ops that select, split and merge."""
    rank, depth, listed = x.shape.rank, x.ragged_rank, x.to_list()
    for count in range(1, rank + 1):
        found = coordinates(listed, count)
        picked = found[-1:] + found[:1] + found[len(found) // 2 :][:1] + found[-1:]
        if picked:
            yield "gather_nd", picked, lambda i=picked: tf.gather_nd(x, tf.constant(i, tf.int64))
            pairs = [picked[:2], picked[2:]]
            if len(pairs[1]) == 2 and (count == 1 or count > depth):
                yield "gather_nd", pairs, lambda i=pairs: tf.gather_nd(x, tf.constant(i, tf.int64))
    if listed:
        pairs = [[0, len(listed) - 1], [len(listed) // 2, 0]]
        yield "gather", pairs, lambda i=pairs: tf.gather(x, tf.constant(i, tf.int64))
        some = [[0], [], [len(listed) - 1, 0, 0]]
        yield "gather_ragged", some, lambda i=some: tf.gather(x, tf.ragged.constant(i, dtype=tf.int64))
    picked = [[len(row) - 1, 0] if len(row) > 0 else [] for row in listed]
    if any(picked):
        indices = tf.ragged.constant(picked, dtype=tf.int64, ragged_rank=1)
        yield "batch_gather", picked, lambda i=indices: tf.gather(x, i, batch_dims=1)
    for axis in range(rank):
        yield "squeeze", [axis], lambda a=axis: tf.squeeze(x, [a])
        yield "expand_dims_squeeze", [axis], lambda a=axis: tf.squeeze(tf.expand_dims(x, a), [a])
        if rank - axis > 1:
            yield "expand_dims_squeeze", [axis, rank], lambda a=axis: tf.squeeze(tf.expand_dims(tf.expand_dims(x, a), rank), [a, rank])
        yield "tile", [2, axis], lambda a=axis: tf.tile(x, [2 if i == a else 1 for i in range(rank)])
        for part in range(2):
            yield "split", [2, axis, part], lambda a=axis, p=part: tf.split(x, 2, axis=a)[p]
            sizes = [1, (x.shape[axis] or 1) - 1]
            yield "split", [sizes, axis, part], lambda s=sizes, a=axis, p=part: tf.split(x, s, axis=a)[p]
    yield "where", [], lambda: tf.where(x > 0)
    yield "select", [], lambda: tf.where(x > 0, x, x * 10)
    yield "select_scalar", [], lambda: tf.where(x > 0, x, tf.constant(5.0, tf.float64))
    flags = [i % 3 == 1 for i in range(len(listed))]
    yield "select_rows", flags, lambda: tf.compat.v1.where(tf.constant(flags, tf.bool), x, x * 10)
    ids = [i * 7 % 3 for i in range(len(listed))]
    for count in (4, 2):
        yield "stack_partitions", [ids, count], lambda c=count: tf.ragged.stack_dynamic_partitions(
            x, tf.constant(ids, tf.int64), c
        )
    if depth == 1 and rank == 2:
        ints = tf.cast(tf.abs(x), tf.int64)
        yield "bincount", [4], lambda: tf.math.bincount(ints, minlength=4, maxlength=4, axis=-1, dtype=tf.int64)
        deep = x.with_flat_values(tf.range(tf.size(x.flat_values)) % 3)
        yield "stack_ragged", [3], lambda: tf.ragged.stack_dynamic_partitions(x, deep, 3)
    yield "reshape", [-1], lambda: tf.reshape(x, [-1])
    dense = x.to_tensor() if x.shape[1] != 0 and len(listed) > 0 else None
    if dense is not None:
        some = [2 * (i % 3) - 1 for i in range(len(listed))]
        yield "from_tensor_lengths", some, lambda: tf.RaggedTensor.from_tensor(dense, lengths=tf.constant(some, tf.int64))
        if rank == 2:
            yield "from_tensor_padding", [0], lambda: tf.RaggedTensor.from_tensor(dense, padding=0.0)


def flags_of(count, step):
    return [i % step != 1 for i in range(count)]


def constructions(x):
    """Yields further cases: constructors, members, and masks that have fewer axes than the values."""
    rank, depth, rows = x.shape.rank, x.ragged_rank, len(x.to_list())
    yield "row_starts", [], x.row_starts
    yield "row_limits", [], x.row_limits
    yield "value_rowids", [], x.value_rowids
    for axis in range(-1, rank + 1):
        yield "bounding_shape_along", [axis], lambda a=axis: x.bounding_shape(axis=a)
    flags = flags_of(rows, 3)
    yield "mask_rows", flags, lambda: tf.ragged.boolean_mask(x, tf.constant(flags, tf.bool))
    for level in range(1, depth):
        values = x
        for _ in range(level):
            values = values.values
        inner = flags_of(int(values.nrows()), 2)
        mask = tf.RaggedTensor.from_nested_row_splits(tf.constant(inner, tf.bool), x.nested_row_splits[:level])
        yield "mask_outer", [level, *inner], lambda m=mask: tf.ragged.boolean_mask(x, m)
    if x.uniform_row_length is not None:
        width = int(x.uniform_row_length)
        square = np.array(flags_of(rows * width, 3), bool).reshape(rows, width)
        yield "mask_dense", [rows, width], lambda: tf.ragged.boolean_mask(x, tf.constant(square))
    shape = x.flat_values.shape.as_list()
    if len(shape) > 1:
        inner = np.array(flags_of(shape[0] * shape[1], 3), bool).reshape(shape[:2])
        yield "mask_inner", [], lambda: tf.ragged.boolean_mask(x, x.with_flat_values(tf.constant(inner)))
    for length, nrows in ((1, None), (2, None), (3, None), (0, None), (0, 3), (1, rows), (2, rows // 2), (2, rows)):
        yield "from_uniform", [length, nrows], lambda l=length, n=nrows: tf.RaggedTensor.from_uniform_row_length(x, l, n)
    dense = x.to_tensor() if x.shape[1] != 0 and rows > 0 else None
    if dense is not None:
        for level in range(1, rank):
            yield "from_tensor", [level], lambda r=level: tf.RaggedTensor.from_tensor(dense, ragged_rank=r)
        lengths = x.nested_row_lengths()
        yield "from_tensor_nested", [], lambda: tf.RaggedTensor.from_tensor(dense, lengths=tuple(lengths))
        if rank > 2:
            cut = [i % 3 for i in range(dense.shape[0] * dense.shape[1])]
            yield "from_tensor_inner_lengths", cut, lambda: tf.RaggedTensor.from_tensor(
                dense, lengths=tf.constant(cut, tf.int64), ragged_rank=2
            )


def axes(x):
    """Yields further cases: ops along one axis or several axes."""
    rank, depth, listed = x.shape.rank, x.ragged_rank, x.to_list()
    for axis in range(-1, rank):
        yield "bounding_shape_along", [axis % rank], lambda a=axis: x.bounding_shape(axis=a % rank)
        yield "softmax", [axis], lambda a=axis: tf.nn.softmax(x, axis=a)
        for exclusive, reverse in itertools.product((0, 1), repeat=2):
            yield "cumsum", [axis, exclusive, reverse], lambda a=axis, e=exclusive, r=reverse: tf.cumsum(
                x, axis=a, exclusive=bool(e), reverse=bool(r)
            )
    for some in itertools.combinations(range(rank), 2):
        yield "reverse", list(some), lambda a=some: tf.reverse(x, axis=list(a))
    for multiples in itertools.product((1, 2), repeat=rank):
        if sum(multiples) == rank + 2:
            yield "tile_all", list(multiples), lambda m=multiples: tf.tile(x, list(m))
    yield "tile_all", [3] + [1] * (rank - 2) + [0], lambda: tf.tile(x, [3] + [1] * (rank - 2) + [0])
    ints = tf.cast(tf.abs(x), tf.int32)
    for axis in (-1, *range(depth, rank + 1)):
        yield "one_hot", [3, axis], lambda a=axis: tf.one_hot(ints, 3, on_value=2.0, off_value=-1.0, axis=a, dtype=tf.float64)
    table = tf.reshape(tf.range(20, dtype=tf.float64), [10, 2])
    yield "gather_dense", [0], lambda: tf.gather(table, ints, axis=0)
    # TensorFlow reads another row where an index lies outside its row, so these indices lie in their rows.
    for axis in range(1, rank):
        sizes = x.flat_values.shape[axis - depth :][:1] if axis > depth else x.row_lengths(axis=axis)
        sizes = sizes.flat_values if isinstance(sizes, tf.RaggedTensor) else sizes
        end = min([int(size) for size in sizes], default=1) - 1
        if end >= 0:
            for indices in ([end], [end, 0], [[0, end], [end, end // 2]]):
                yield "gather_axis", [axis, indices], lambda a=axis, i=indices: tf.gather(x, tf.constant(i, tf.int64), axis=a)
    if listed and all(listed):
        last = [len(row) - 1 for row in listed]
        yield "gather_column", last, lambda: tf.gather(x, tf.constant(last, tf.int64), axis=1, batch_dims=1)
        some = [[0, end, end // 2] for end in last]
        yield "gather_rows", [1, some], lambda: tf.gather(x, tf.constant(some, tf.int64), axis=1, batch_dims=1)
        if rank > 2:
            ends = [min(len(item) for item in row) - 1 for row in listed]
            pairs = [[end, 0] for end in ends]
            if min(ends) >= 0:
                yield "gather_rows", [2, pairs], lambda: tf.gather(x, tf.constant(pairs, tf.int64), axis=2, batch_dims=1)
    if rank == 3 and depth == 1:
        sizes = [x.nrows(), x.flat_values.shape[1], 2]
        dense = tf.reshape(tf.range(tf.reduce_prod(sizes)), sizes)
        scores = tf.matmul(x, x, transpose_b=True)
        yield "matmul_dense", [], lambda: tf.matmul(x, tf.cast(dense, tf.float64))
        yield "matmul_rows", [], lambda: scores
        yield "matmul_columns", [], lambda: tf.matmul(x, x, transpose_a=True)
        yield "matmul_scores", [], lambda: tf.matmul(scores, x)
    deep = [[[0] if row else [] for row in rows] for rows in listed] if depth > 1 else []
    if any(any(rows) for rows in deep):
        indices = tf.ragged.constant(deep, dtype=tf.int64, ragged_rank=2)
        yield "gather_deep", [deep], lambda: tf.gather(x, indices, axis=2, batch_dims=2)


def matrices(x):
    """Yields further cases: products of matrices of other dtypes, which are cast to f64."""
    if x.shape.rank != 3:
        return
    for dtype in (tf.float32, tf.float16, tf.bfloat16, tf.int32, tf.int64):
        y = tf.cast(x * 2.0, dtype)
        yield "matmul_of_dtype", [dtype.name], lambda y=y: tf.cast(tf.matmul(y, y, transpose_b=True), tf.float64)
    for dtype in (tf.complex64, tf.complex128):
        y = tf.cast(x, dtype) * tf.constant(1 - 2j, dtype)
        for part in (tf.math.real, tf.math.imag):
            yield "matmul_of_dtype", [dtype.name, part.__name__], lambda y=y, part=part: tf.cast(
                tf.ragged.map_flat_values(part, tf.matmul(y, y, transpose_b=True)), tf.float64
            )
    if x.ragged_rank == 1:
        weights = np.arange(x.shape[2] * 3, dtype=np.float64).reshape(-1, 3)
        yield "matmul_weights", [], lambda: tf.ragged.map_flat_values(tf.matmul, x, weights)


def encodings(x):
    """Yields further cases: ops on the encodings of rows."""
    yield "size", [], lambda: tf.size(x, out_type=tf.int64)
    yield "rank", [], lambda: tf.rank(x)
    yield "segment_ids", [], lambda: tf.ragged.row_splits_to_segment_ids(x.row_splits)
    yield "splits_of_ids", [], lambda: tf.ragged.segment_ids_to_row_splits(x.value_rowids(), x.nrows())
    yield "sparse_indices", [], lambda: x.to_sparse().indices
    yield "sparse_shape", [], lambda: x.to_sparse().dense_shape
    if x.shape.rank == 2:
        yield "from_sparse", [], lambda: tf.RaggedTensor.from_sparse(x.to_sparse())
    for delta in (1, -2):
        yield "range", [delta], lambda d=delta: tf.ragged.range(x.row_starts(), x.row_limits() * 2 - 3, d)
    ids = [i * 2 % 3 for i in range(len(x.to_list()))]
    for how in ("sum", "prod", "max", "min", "mean", "sqrt_n"):
        function = getattr(tf.math, f"unsorted_segment_{how}")
        yield f"segment_{how}", ids, lambda f=function: f(x, tf.constant(ids, tf.int64), 4)


def operands(x):
    """Yields further cases: dense operands and ragged operands of fewer partitions, and complex rows."""
    rank, depth, rows = x.shape.rank, x.ragged_rank, len(x.to_list())
    if rows > 0 and rows % 2 == 0:
        pairs = tf.RaggedTensor.from_uniform_row_length(x, 2)
        for sizes in ([2], [rows // 2, 1], [1, 2], [rows // 2, 2]):
            sizes = sizes + [1] * (rank - 1)
            numbers = tf.reshape(tf.range(np.prod(sizes), dtype=tf.float64), sizes)
            yield "beside_dense", sizes, lambda p=pairs, n=numbers: p + n
            yield "after_dense", sizes, lambda p=pairs, n=numbers: n - p
    if depth > 1:
        numbers = tf.range(x.values.nrows(), dtype=tf.int64)
        shallow = tf.RaggedTensor.from_row_splits(tf.cast(numbers, tf.float64), x.row_splits)
        for _ in range(rank - 2):
            shallow = tf.expand_dims(shallow, -1)
        yield "beside_shallow", [], lambda: x + shallow
        yield "after_shallow", [], lambda: shallow - x
    for dtype in (tf.complex64, tf.complex128):
        y = tf.cast(x, dtype) * tf.constant(1 - 2j, dtype)
        for how in ("sum", "prod", "mean"):
            function = getattr(tf, f"reduce_{how}")
            for axis, part in itertools.product(range(rank), (tf.math.real, tf.math.imag)):
                # Products of many numbers are compared in 64 bits only.
                if how != "prod" or dtype == tf.complex128:
                    yield f"complex_{how}", [dtype.name, part.__name__, axis], lambda y=y, f=function, a=axis, p=part: (
                        tf.cast(tf.ragged.map_flat_values(p, f(y, axis=a)), tf.float64)
                    )


def combined(x):
    """Yields further cases: means that are broadcast, functions of rows, embeddings, and lists."""
    rank, depth, listed = x.shape.rank, x.ragged_rank, x.to_list()
    for axis in range(1, rank):
        yield "centered", [axis], lambda a=axis: x - tf.reduce_mean(x, axis=a, keepdims=True)
        if x.shape[axis] is not None and listed:
            sizes = [x.shape[a] if a == axis else 1 for a in range(rank)]
            numbers = tf.reshape(tf.range(np.prod(sizes), dtype=tf.float64), sizes)
            yield "beside_axis", sizes, lambda n=numbers: x + n
    yield "bitcast", [], lambda: tf.bitcast(x, tf.int64)
    scalar = tf.TensorSpec([], tf.float64)
    yield "map_sums", [], lambda: tf.map_fn(tf.reduce_sum, x, fn_output_signature=scalar)
    if depth == 1 and listed:
        rows = tf.RaggedTensorSpec(x.shape[1:], tf.float64, ragged_rank=0)
        yield "map_reverse", [], lambda: tf.map_fn(lambda row: tf.reverse(row, [0]), x, fn_output_signature=rows)
    ids = [i * 7 % 3 for i in range(len(listed))]
    for part in range(3):
        yield "partition", [part, *ids], lambda p=part: tf.dynamic_partition(x, tf.constant(ids, tf.int32), 3)[p]
    # TensorFlow's shape function refuses a tensor without rows.
    if rank == 2 and listed:
        for part in range(2):
            yield "fill_empty_rows", [-7, part], lambda p=part: fill_empty_rows(x, tf.constant(-7.0, tf.float64))[p]
    if rank == 2:
        table = tf.reshape(tf.range(20, dtype=tf.float64), [10, 2]) / 4
        # TensorFlow drops empty rows at the end.
        full = tf.ragged.boolean_mask(x, x.row_lengths() > 0)
        ints = tf.cast(tf.abs(full), tf.int64)
        for how in ("sum", "mean", "sqrtn"):
            for weights in (None, tf.abs(full) + 1.0):
                if any(listed):
                    yield f"embed_{how}", [int(weights is not None)], lambda h=how, w=weights: (
                        tf.nn.embedding_lookup_sparse(table, ints, w, combiner=h)
                    )
    if coordinates(listed, rank):
        yield "constant", [], lambda: tf.ragged.constant(listed, dtype=tf.float64)


DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128".split()
)


def of_dtype(x):
    """Yields names of functions and their results for a ragged tensor of any dtype."""
    for how in ("sum", "prod", "max", "min", "mean", "variance", "std"):
        function = getattr(tf, f"reduce_{how}", None) or getattr(tf.math, f"reduce_{how}")
        for axis in (0, 1):
            yield f"reduce_{how} {axis}", lambda f=function, a=axis: f(x, axis=a)
    for how in ("any", "all"):
        function = getattr(tf, f"reduce_{how}")
        # For other dtypes, TensorFlow reduces the elements without their fractions.
        if x.dtype == tf.bool:
            yield f"reduce_{how} 1", lambda f=function: f(x, axis=1)
    ids = tf.constant([i % 2 for i in range(int(x.nrows()))], tf.int64)
    for how in ("sum", "prod", "max", "min", "mean", "sqrt_n"):
        yield f"segment_{how}", lambda h=how: getattr(tf.math, f"unsorted_segment_{h}")(x, ids, 2)
    yield "cumsum 0", lambda: tf.cumsum(x, axis=0)
    yield "cumsum 1", lambda: tf.cumsum(x, axis=1)
    yield "softmax", lambda: tf.nn.softmax(x)
    yield "to_tensor", x.to_tensor
    yield "to_sparse", lambda: x.to_sparse().values
    yield "concat", lambda: tf.concat([x, x], 1)
    yield "stack", lambda: tf.stack([x, x], 1)
    yield "tile", lambda: tf.tile(x, [1, 2] + [1] * (x.shape.rank - 2))
    yield "reverse", lambda: tf.reverse(x, [1])
    yield "gather", lambda: tf.gather(x, [1, 0])
    yield "where", lambda: tf.where(x)
    if x.dtype.is_integer:
        yield "one_hot", lambda: tf.one_hot(x, 3)
    if x.dtype in (tf.int32, tf.int64) and x.shape.rank == 2:
        yield "bincount", lambda: tf.math.bincount(
            x, axis=-1, minlength=5, maxlength=5, dtype=tf.int64
        )
    if x.shape.rank == 3:
        yield "matmul", lambda: tf.matmul(x, x, transpose_b=True)
    if not x.dtype.is_integer:
        yield "div", lambda: x / (x + x)
    for name, function in (
        ("square", tf.square), ("neg", tf.negative), ("abs", tf.abs), ("zeros_like", tf.zeros_like), ("ones_like", tf.ones_like),
        ("add", lambda x: x + x), ("sub", lambda x: x - x), ("mul", lambda x: x * x), ("add_n", lambda x: tf.add_n([x, x, x])),
        ("floordiv", lambda x: x // tf.ones_like(x)), ("mod", lambda x: x % tf.ones_like(x)), ("less", lambda x: x < x),
        ("equal", lambda x: x == x), ("maximum", lambda x: tf.maximum(x, x)), ("and", lambda x: x & x), ("not", lambda x: ~x),
        ("clip", lambda x: tf.clip_by_value(x, tf.cast(1, x.dtype), tf.cast(2, x.dtype))),
    ):
        yield name, lambda f=function: f(x)


def float64(value):
    """Converts any dtype to float64. A complex number `a + bi` becomes `a + 3 b`."""
    if isinstance(value, tf.RaggedTensor):
        return value.with_flat_values(float64(value.flat_values))
    if value.dtype.is_complex:
        value = tf.math.real(value) + 3 * tf.math.imag(value)
    return tf.cast(value, tf.float64)


def dtypes(x):
    """Yields further cases: each dtype that TensorFlow takes, with the dtype that it gives."""
    if x.ragged_rank != 1 or not (x.shape[0] == 5 or (x.shape[0] == 4 and x.shape[2:] == [2])):
        return
    for name in DTYPES:
        y = x > 0 if name == "bool" else tf.cast(tf.abs(x), name)
        y = y * tf.constant(1 - 2j, name) if name.startswith("complex") else y
        for op, function in of_dtype(y):
            try:
                got = function()
            except FAILURES:
                continue  # Ours take more dtypes.
            yield "of_dtype", [name, op, got.dtype.name], lambda got=got: float64(got)


def main():
    made = inputs()
    lines = []
    for x in made:
        partitions = [x]
        while partitions[-1].ragged_rank > 1:
            partitions.append(partitions[-1].values)
        uniform = [None if rows.uniform_row_length is None else int(rows.uniform_row_length) for rows in partitions]
        splits = [rows.row_splits.numpy().tolist() for rows in partitions]
        flat = x.flat_values.numpy()
        lines.append({"splits": splits, "uniform": uniform, "sizes": list(flat.shape), "flat": flat.reshape(-1).tolist()})
    counts = {}
    for generators in ((cases, selections, axes), (constructions,), (matrices, encodings), (operands,), (combined,), (dtypes,)):
        for index, x in enumerate(made):
            for op, arguments, function in itertools.chain(*(generator(x) for generator in generators)):
                try:
                    got = result(function())
                except FAILURES as error:
                    got = {"error": type(error).__name__}
                lines.append([op, arguments, index, got])
                counts[op] = counts.get(op, 0) + 1
    OUTPUT.write_text("\n".join(json.dumps(line, separators=(",", ":")) for line in lines) + "\n")
    print(f"{len(lines) - len(made)} cases, {OUTPUT.stat().st_size} bytes, TensorFlow {tf.__version__}", counts)


if __name__ == "__main__":
    main()
