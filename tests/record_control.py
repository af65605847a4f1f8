"""Records TensorFlow graphs with control flow and tensor lists, and their results, into data/control.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off, one thread, no graph rewrites.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_control.py

Each line is a JSON object. Graphs and tensors are protobuf text:

    {"name": .., "graph": "..", "runs": [{"feeds": {"x": "..", ..}, "outputs": ["..", ..]}, ..], "fetches": ["y:0", ..]}

A run that TensorFlow refuses has "error" instead of "outputs".
"""

import json
import os
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from record_imports import tensor

OUTPUT = Path(__file__).resolve().parent / "data" / "control.jsonl"
V1 = tf.compat.v1
CASES = []


def f32(*values):
    return np.array(values, np.float32)


def i32(*values):
    return np.array(values, np.int32)



F, I, B = tf.float32, tf.int32, tf.bool
VECTOR, SCALAR, COUNT, FLAG = (
    tf.TensorSpec([None], F),
    tf.TensorSpec([], F),
    tf.TensorSpec([], I),
    tf.TensorSpec([], B),
)


def case(*specs, runs, v1=False, lowered=False):
    """Declares a case: a function of tensors, with these specs and these argument lists.

    `v1` takes the control flow of TensorFlow 1. `lowered` turns branches into Switch nodes, as freezing a model does.
    """

    def declare(function):
        CASES.append((function.__name__, function, specs, runs, v1, lowered))
        return function

    return declare


@case(VECTOR, FLAG, runs=[(f32(1, 2), True), (f32(1, 2), False), (f32(), True)])
def branch(x, p):
    y = x + 1
    return tf.cond(p, lambda: (y * x, tf.reduce_sum(y)), lambda: (x - y, tf.constant(7.0)))


@case(VECTOR, FLAG, runs=[(f32(1, 2), True), (f32(1, 2), False)])
def branches_of_different_sizes(x, p):
    return tf.cond(p, lambda: tf.concat([x, x], 0), lambda: x) * 2


@case(VECTOR, COUNT, runs=[(f32(3, 4), np.int32(i)) for i in (-1, 0, 1, 2, 5)])
def switch_case(x, i):
    return tf.switch_case(i, [lambda: x, lambda: x * 10, lambda: tf.reverse(x, [0])])


@case(VECTOR, COUNT, runs=[(f32(1, 2), np.int32(5)), (f32(1, 2), np.int32(0)), (f32(), np.int32(3))])
def while_with_captures(x, n):
    w = x * 2 + 1
    return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * w + x), [0, x])


@case(VECTOR, COUNT, runs=[(f32(1), np.int32(3)), (f32(1, 2), np.int32(0))])
def while_that_grows(x, n):
    return tf.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, tf.concat([s, s[:1]], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )


@case(COUNT, runs=[(np.int32(n),) for n in (1, 6, 7, 27)])
def cond_in_while(n):
    def body(x, count):
        return tf.cond(tf.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1), count + 1

    return tf.while_loop(lambda x, count: x > 1, body, [n, 0])[1]


@case(COUNT, FLAG, runs=[(np.int32(4), True), (np.int32(4), False)])
def while_in_cond_in_while(n, p):
    def inner(i, s):
        add = lambda: tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j), [0, s])[1]
        return i + 1, tf.cond(p, add, lambda: s - 1)

    return tf.while_loop(lambda i, s: i < n, inner, [0, 100])


@case(tf.TensorSpec([None, None], F), runs=[(f32([1, 2], [3, 4]),), (np.zeros((0, 2), np.float32),)])
def map_rows(x):
    return tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)


TEXTS = tf.TensorSpec([None, 2], tf.string)
TEXT_RUNS = [
    (np.array([[b"a", b"\0b"], [b"", b"\xff"], [b"cd" * 40, b"e"]], object),),
    (np.array([[b"alone", b""]], object),),
]


@case(TEXTS, runs=TEXT_RUNS)
def map_over_strings(x):
    return tf.map_fn(
        lambda row: (tf.strings.reduce_join(row, separator="-"), tf.strings.upper(row), tf.strings.length(row[0])),
        x,
        fn_output_signature=(tf.string, tf.string, tf.int32),
    )


@case(TEXTS, runs=TEXT_RUNS)
def scan_over_strings(x):
    return tf.scan(lambda text, row: text + row[0] + ".", x, initializer=tf.constant(""))


@case(VECTOR, runs=[(f32(1, 2, 3),), (f32(),)])
def scan_sums(x):
    return tf.scan(lambda sum, x: sum + x, x, initializer=np.float32(0))


@case(tf.TensorSpec([None, 2], F), runs=[(f32([1, 2], [3, 4], [5, 6]),), (np.zeros((0, 2), np.float32),)])
def recurrent_cell(x):
    w = tf.constant([[0.5, -1.0, 0.25], [1.0, 0.5, -0.5], [0.25, 0.75, 1.0], [-1.0, 0.5, 0.5], [0.1, 0.2, 0.3]])
    rows = tf.shape(x)[0]
    out = tf.TensorArray(F, rows, element_shape=[3])

    def body(i, h, out):
        h = tf.tanh(tf.linalg.matvec(w, tf.concat([x[i], h], 0), transpose_a=True))
        return i + 1, h, out.write(i, h)

    _, h, out = tf.while_loop(lambda i, *_: i < rows, body, [0, tf.zeros([3]), out])
    return h, out.stack()


@case(COUNT, runs=[(np.int32(n),) for n in (0, 1, 5)])
def array_of_unknown_size(n):
    out = tf.TensorArray(I, 0, dynamic_size=True, element_shape=[])
    _, out = tf.while_loop(lambda i, out: i < n, lambda i, out: (i + 1, out.write(i, i * i)), [0, out])
    return out.stack(), out.size()


@case(tf.TensorSpec([None, None], F), runs=[(f32([1, 2], [3, 4], [5, 6]),)])
def array_of_rows(x):
    rows = tf.TensorArray(F, 0, dynamic_size=True).unstack(x)
    return rows.read(1), rows.gather([2, 0]), rows.size(), rows.concat()


def list_of(x):
    return tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant(x.shape[1:].as_list(), I))


@case(tf.TensorSpec([3, 2], F), COUNT, runs=[(f32([1, 2], [3, 4], [5, 6]), np.int32(i)) for i in (0, 2, 3, -1)])
def list_items(x, i):
    items = list_of(x)
    shape = tf.constant([2], I)
    item = tf.raw_ops.TensorListGetItem(input_handle=items, index=i, element_shape=shape, element_dtype=F)
    items = tf.raw_ops.TensorListSetItem(input_handle=items, index=i, item=item * 10)
    stacked = tf.raw_ops.TensorListStack(input_handle=items, element_shape=shape, element_dtype=F)
    return item, stacked, tf.raw_ops.TensorListLength(input_handle=items)


@case(VECTOR, VECTOR, runs=[(f32(1, 2), f32(3, 4)), (f32(1), f32(3, 4))])
def list_pushes(x, y):
    shape = tf.constant([-1], I)
    items = tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=F)
    for item in (x, y, x + 1):
        items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=item)
    items, last = tf.raw_ops.TensorListPopBack(input_handle=items, element_shape=shape, element_dtype=F)
    element = tf.raw_ops.TensorListElementShape(input_handle=items, shape_type=I)
    joined, lengths = tf.raw_ops.TensorListConcatV2(
        input_handle=items, element_shape=shape, leading_dims=tf.constant([], tf.int64), element_dtype=F
    )
    return last, element, joined, lengths


@case(tf.TensorSpec([4, 2], F), runs=[(np.arange(8, dtype=np.float32).reshape(4, 2),)])
def list_gathers(x):
    shape, indices = tf.constant([2], I), tf.constant([3, 0], I)
    items = list_of(x)
    gathered = tf.raw_ops.TensorListGather(
        input_handle=items, indices=indices, element_shape=shape, element_dtype=F
    )
    scattered = tf.raw_ops.TensorListScatterV2(
        tensor=x[:2], indices=indices, element_shape=shape, num_elements=tf.constant(-1)
    )
    scattered = tf.raw_ops.TensorListScatterIntoExistingList(
        input_handle=scattered, tensor=x[2:3], indices=tf.constant([1], I)
    )
    stacked = tf.raw_ops.TensorListStack(input_handle=scattered, element_shape=shape, element_dtype=F)
    resized = tf.raw_ops.TensorListResize(input_handle=items, size=tf.constant(6))
    padded = tf.raw_ops.TensorListStack(input_handle=resized, element_shape=shape, element_dtype=F)
    split = tf.raw_ops.TensorListSplit(tensor=x, element_shape=tf.constant([-1, 2], I), lengths=tf.constant([1, 0, 3], tf.int64))
    part = tf.raw_ops.TensorListGetItem(
        input_handle=split, index=tf.constant(2), element_shape=tf.constant([-1, 2], I), element_dtype=F
    )
    return gathered, stacked, padded, part


@case(tf.TensorSpec([None], F), COUNT, runs=[(f32(1, 2), np.int32(3)), (f32(1, 2), np.int32(0))], v1=True)
def frame_loop(x, n):
    return V1.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * 2 + x), [tf.constant(0), x])


@case(tf.TensorSpec([None], F), FLAG, runs=[(f32(1, 2), True), (f32(1, 2), False)], v1=True)
def switched_branch(x, p):
    return V1.cond(p, lambda: (x * 2, x + 1), lambda: (x - 1, x))


@case(COUNT, runs=[(np.int32(n),) for n in (1, 6, 7)], v1=True)
def switch_in_frame(n):
    def body(x, count):
        return V1.cond(tf.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1), count + 1

    return V1.while_loop(lambda x, count: x > 1, body, [n, tf.constant(0)])


@case(COUNT, runs=[(np.int32(4),), (np.int32(0),)], v1=True)
def frame_in_frame(n):
    def body(i, s):
        _, s = V1.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), [tf.constant(0), s])
        return i + 1, s + n

    return V1.while_loop(lambda i, s: i < n, body, [tf.constant(0), tf.constant(0)])


@case(tf.TensorSpec([None, 2], F), runs=[(f32([1, 2], [3, 4], [5, 6]),)], v1=True)
def array_in_frame(x):
    rows = tf.shape(x)[0]
    given = V1.TensorArray(F, rows).unstack(x)
    out = V1.TensorArray(F, rows)
    _, _, out = V1.while_loop(
        lambda i, *_: i < rows,
        lambda i, s, out: (i + 1, s + given.read(i), out.write(i, s * 2)),
        [tf.constant(0), tf.zeros([2]), out],
    )
    return out.stack(), out.size()

ROWS = (VECTOR, tf.TensorSpec([None], tf.int64))
ROW_RUNS = [
    (f32(3, 1, 4, 1, 5), np.int64([2, 0, 3])),
    (f32(7), np.int64([1])),
    (f32(), np.int64([0, 0])),
]


def rows(x, lengths):
    return tf.RaggedTensor.from_row_lengths(x, lengths, validate=False)


@case(*ROWS, runs=ROW_RUNS + [(f32(), np.int64([]))])
def map_over_ragged_rows(x, lengths):
    total = lambda row: tf.reduce_sum(row) * 2 + tf.cast(tf.size(row), F)
    return tf.map_fn(total, rows(x, lengths), fn_output_signature=F)


@case(*ROWS, runs=ROW_RUNS)
def map_to_ragged_rows(x, lengths):
    spec = tf.RaggedTensorSpec([None], F, ragged_rank=0)
    mapped = tf.map_fn(lambda row: tf.concat([row, [9.0]], 0), rows(x, lengths), fn_output_signature=spec)
    return mapped.values, mapped.row_splits


@case(*ROWS, runs=ROW_RUNS)
def map_over_ragged_tables(x, lengths):
    inner = tf.RaggedTensor.from_uniform_row_length(x, 1)
    table = tf.RaggedTensor.from_row_lengths(inner, lengths, validate=False)
    spec = tf.RaggedTensorSpec([None, None], F, ragged_rank=1)
    mapped = tf.map_fn(lambda part: tf.concat([part, part], 1), table, fn_output_signature=spec)
    return mapped.flat_values, *mapped.nested_row_splits


@case(*ROWS, runs=ROW_RUNS)
def ragged_in_one_variant(x, lengths):
    splits = tf.cast(rows(x, lengths).row_splits, I)
    variant = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[splits], rt_dense_values=x, batched_input=False
    )
    return tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variant, input_ragged_rank=1, output_ragged_rank=1, Tvalues=F, Tsplits=I
    )


@case(*ROWS, runs=ROW_RUNS)
def ragged_of_two_axes_in_variants(x, lengths):
    inner = rows(x, lengths).row_splits
    count = tf.size(lengths, tf.int64)
    outer = tf.stack([0, count - 1, count - 1, count])
    variants = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[outer, inner], rt_dense_values=tf.stack([x, -x], 1), batched_input=True
    )
    splits, values = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variants, input_ragged_rank=-1, output_ragged_rank=2, Tvalues=F
    )
    return values, *splits


@case(tf.TensorSpec([None, 2], I), runs=[(i32([1, 2], [3, 4], [5, 6]),), (i32([7, 8]),)])
def rows_of_a_table_in_variants(x):
    variants = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[], rt_dense_values=x, batched_input=True
    )
    (splits,), values = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variants, input_ragged_rank=0, output_ragged_rank=1, Tvalues=I
    )
    return values, splits


@case(*ROWS, runs=ROW_RUNS)
def ragged_of_another_rank_is_refused(x, lengths):
    variant = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[rows(x, lengths).row_splits], rt_dense_values=x, batched_input=False
    )
    splits, values = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variant, input_ragged_rank=2, output_ragged_rank=2, Tvalues=F
    )
    return values, *splits


@case(*ROWS, runs=ROW_RUNS)
def ragged_of_another_dtype_is_refused(x, lengths):
    variant = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[rows(x, lengths).row_splits], rt_dense_values=x, batched_input=False
    )
    splits, values = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variant, input_ragged_rank=1, output_ragged_rank=1, Tvalues=I
    )
    return values, *splits


@case(VECTOR, FLAG, runs=[(f32(1, 2, 3), True), (f32(1, 2, 3), False)])
def named_outputs_of_lists_in_branches(x, p):
    shape = tf.constant([1], I)
    items = tf.raw_ops.TensorListFromTensor(tensor=x[:, None], element_shape=shape)

    def last():
        rest, item = tf.raw_ops.TensorListPopBack(input_handle=items, element_shape=shape, element_dtype=F)
        return item + tf.cast(tf.raw_ops.TensorListLength(input_handle=rest), F)

    def all_items():
        joined, lengths = tf.raw_ops.TensorListConcatV2(
            input_handle=items, element_shape=shape, leading_dims=tf.constant([], tf.int64), element_dtype=F
        )
        return joined + tf.cast(lengths, F)

    return tf.cond(p, last, all_items)


@case(COUNT, runs=[(np.int32(5),)])
def random_numbers_of_seeds(n):
    shape = tf.stack([n, 3])
    return (
        tf.raw_ops.RandomUniform(shape=shape, dtype=F, seed=7, seed2=-9),
        tf.raw_ops.RandomStandardNormal(shape=shape, dtype=tf.float64, seed=0, seed2=5),
        tf.raw_ops.TruncatedNormal(shape=shape, dtype=F, seed=87654321, seed2=3),
        tf.raw_ops.RandomUniformInt(shape=shape, minval=tf.constant(-3, tf.int64), maxval=90, seed=1, seed2=2),
    )


@case(VECTOR, VECTOR, runs=[(f32(1, 2), f32(3, 4)), (f32(1, 2), f32()), (f32(), f32(5, 6))])
def joined_lists(x, y):
    of = lambda rows: tf.raw_ops.TensorListFromTensor(tensor=rows, element_shape=tf.constant([], I))
    stack = lambda handle: tf.raw_ops.TensorListStack(
        input_handle=handle, element_shape=tf.constant([], I), element_dtype=F
    )
    joined = tf.raw_ops.TensorListConcatLists(input_a=of(x), input_b=of(y), element_dtype=F)
    longer = tf.raw_ops.TensorListPushBack(input_handle=joined, tensor=tf.constant(7.0))
    thrice = tf.raw_ops.TensorListConcatLists(input_a=longer, input_b=joined, element_dtype=F)
    return tuple(stack(handle) for handle in (joined, longer, thrice))


@case(VECTOR, runs=[(f32(1, 2),)])
def joined_lists_of_different_shapes(x):
    first = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([], I))
    second = tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=F)
    joined = tf.raw_ops.TensorListConcatLists(input_a=first, input_b=second, element_dtype=F)
    return tf.raw_ops.TensorListLength(input_handle=joined)


@case(COUNT, runs=[(np.int32(7),)])
def shuffles_and_classes_of_seeds(n):
    logits = tf.reshape(tf.sin(tf.range(12, dtype=F)), [3, 4])
    return (
        tf.raw_ops.RandomShuffle(value=tf.range(n), seed=7, seed2=-9),
        tf.raw_ops.RandomShuffle(value=logits, seed=0, seed2=5),
        tf.raw_ops.Multinomial(logits=logits, num_samples=n, seed=3, seed2=4),
        tf.raw_ops.Multinomial(logits=logits, num_samples=3, seed=3, seed2=4, output_dtype=tf.int32),
    )


@case(COUNT, runs=[(np.int32(5),)])
def distributions_of_seeds(n):
    shape = tf.stack([n, 3])
    rates = tf.constant([[0.5, 3.0], [11.0, 60.0]])
    return (
        tf.raw_ops.RandomGamma(shape=shape, alpha=rates, seed=7, seed2=-9),
        tf.raw_ops.RandomGamma(shape=shape[:1], alpha=tf.constant(1.0, tf.float64), seed=0, seed2=5),
        tf.raw_ops.RandomGamma(shape=tf.zeros([0], tf.int32), alpha=tf.cast(rates, tf.float64), seed=3, seed2=5),
        tf.raw_ops.RandomPoissonV2(shape=shape, rate=rates, seed=7, seed2=-9),
        tf.raw_ops.RandomPoissonV2(shape=shape, rate=tf.cast(rates, tf.int32), seed=1, seed2=2, dtype=F),
        tf.raw_ops.RandomPoissonV2(shape=shape[:1], rate=tf.constant(4.0, tf.float64), seed=0, seed2=8, dtype=tf.int32),
    )


@case(COUNT, runs=[(np.int32(4),)])
def samples_in_a_loop(n):
    truth = tf.constant([[0, 7]], tf.int64)
    classes = {"true_classes": truth, "num_true": 2, "num_sampled": 3, "unique": True}

    def body(i, begins, uniform, logs, fixed):
        box = tf.raw_ops.SampleDistortedBoundingBox(
            image_size=[50, 60, 3], bounding_boxes=[[[0.1, 0.2, 0.9, 0.8]]], seed=3, seed2=4, max_attempts=20
        )
        of = lambda sampled: sampled.sampled_candidates
        weights = [1.0, 2.0, 0.5, 3.0, 1.0, 4.0, 1.0, 2.0]
        return (
            i + 1,
            begins * 100 + box.begin,
            uniform * 90 + of(tf.raw_ops.UniformCandidateSampler(**classes, range_max=90, seed=1, seed2=2)),
            logs * 90 + of(tf.raw_ops.LogUniformCandidateSampler(**classes, range_max=90, seed=1, seed2=2)),
            fixed * 8
            + of(tf.raw_ops.FixedUnigramCandidateSampler(**classes, range_max=8, unigrams=weights, seed=5, seed2=6)),
        )

    zeros = [tf.constant(0), tf.zeros([3], I)] + [tf.zeros([3], tf.int64)] * 3
    return tf.while_loop(lambda i, *_: i < n, body, zeros, parallel_iterations=1)[1:]


@case(COUNT, FLAG, runs=[(np.int32(4), True)])
def random_numbers_in_a_branch(n, p):
    shape = tf.expand_dims(n, 0)
    drawn = lambda: tf.raw_ops.RandomUniform(shape=shape, dtype=F, seed=7, seed2=8)
    return tf.cond(p, drawn, lambda: tf.zeros(shape))


def random_sums(n):
    """Sums of random numbers, one of each kind in every iteration."""
    logits = tf.reshape(tf.sin(tf.range(12, dtype=F)), [3, 4])
    rates = tf.constant([[0.5, 3.0], [11.0, 60.0]])
    last = lambda i, *_: i < n

    def body(i, floats, normals, ints, order, classes, gammas, counts):
        # The sums of integers keep the order of the draws.
        return (
            i + 1,
            floats * 2 + tf.raw_ops.RandomUniform(shape=[3, 2], dtype=F, seed=7, seed2=-9),
            normals * 2 + tf.raw_ops.RandomStandardNormal(shape=[5], dtype=tf.float64, seed=0, seed2=5),
            ints * 200 + tf.raw_ops.RandomUniformInt(shape=[4], minval=tf.constant(-3, tf.int64), maxval=90, seed=1, seed2=2),
            tf.raw_ops.RandomShuffle(value=order, seed=7, seed2=-9),
            classes * 4 + tf.raw_ops.Multinomial(logits=logits, num_samples=3, seed=3, seed2=4),
            gammas * 2 + tf.raw_ops.RandomGamma(shape=[2], alpha=rates, seed=7, seed2=-9),
            counts * 200 + tf.raw_ops.RandomPoissonV2(shape=[2], rate=rates, seed=7, seed2=-9),
        )

    zeros = lambda shape, dtype: tf.zeros(shape, dtype)
    state = (
        tf.constant(0),
        zeros([3, 2], F),
        zeros([5], tf.float64),
        zeros([4], tf.int64),
        tf.range(9),
        zeros([3, 3], tf.int64),
        zeros([2, 2, 2], F),
        zeros([2, 2, 2], tf.int64),
    )
    # Parallel iterations would draw in any order.
    return tf.while_loop(last, body, state, parallel_iterations=1)[1:]


@case(COUNT, runs=[(np.int32(4),)])
def random_numbers_in_a_loop(n):
    return random_sums(n)


@case(COUNT, runs=[(np.int32(3),)], v1=True)
def random_numbers_in_a_loop_of_tensorflow_1(n):
    return random_sums(n)


@case(COUNT, runs=[(np.int32(11),)])
def random_numbers_in_a_condition(n):
    drawn = lambda: tf.raw_ops.RandomUniformInt(shape=tf.constant([], I), minval=0, maxval=9, seed=1, seed2=2)
    body = lambda i, x: (i + 1, x * 10 + drawn())
    return tf.while_loop(lambda i, _: drawn() + i < n, body, (0, 0), parallel_iterations=1)



LOWERED = [(f32(1, 2), np.int32(i)) for i in (0, 1, 2, 3, -1)]


@case(VECTOR, COUNT, runs=LOWERED, lowered=True)
def lowered_switch_case(x, i):
    return tf.switch_case(i, [lambda: (x * 2.0, tf.size(x)), lambda: (x[1:], 7 + i), lambda: (-x, 9)])


@case(VECTOR, COUNT, runs=LOWERED, lowered=True)
def lowered_switch_case_of_one_branch(x, i):
    return tf.switch_case(i, [lambda: tf.exp(x)]) + 1.0


@case(VECTOR, COUNT, runs=LOWERED, lowered=True)
def lowered_switch_cases_in_a_branch(x, i):
    inner = lambda: tf.switch_case(tf.size(x) - i, [lambda: x, lambda: x + 1.0, lambda: x + 2.0])
    return tf.cond(i > 0, lambda: tf.switch_case(i, [inner, lambda: x * 3.0, inner]), inner)


@case(VECTOR, COUNT, runs=LOWERED, lowered=True)
def lowered_switch_case_in_a_loop(x, i):
    body = lambda k, x: (k + 1, tf.switch_case(k, [lambda: x + 1.0, lambda: x * 2.0, lambda: -x]))
    return tf.while_loop(lambda k, _: k < i + 4, body, (i, x))


def nested_loops(x, n, inner):
    """`inner(z, x, a)` in a loop in a loop, and its gradient. The gradient keeps lists in lists."""

    def body(i, a):
        _, z = tf.while_loop(lambda q, z: q < i, lambda q, z: (q + 1, inner(z, x, a)), [0, a])
        return i + 1, z

    _, y = tf.while_loop(lambda i, a: i < n, body, [0, x])
    return y, tf.gradients(y, [x])[0]


NESTED = [(f32(1.5, 2, 0.5), np.int32(3)), (f32(2), np.int32(4)), (f32(1, 2), np.int32(0))]


@case(VECTOR, COUNT, runs=NESTED)
def gradient_of_products_in_nested_loops(x, n):
    return nested_loops(x, n, lambda z, x, a: z * x)


@case(VECTOR, COUNT, runs=NESTED)
def gradient_of_sums_in_nested_loops(x, n):
    return nested_loops(x, n, lambda z, x, a: z + a)


@case(tf.TensorSpec([3], F), COUNT, runs=NESTED[:1])
def gradient_of_products_and_sums_in_nested_loops(x, n):
    return nested_loops(x, n, lambda z, x, a: z * x + a)


@case(VECTOR, VECTOR, runs=[(f32(0.5, -0.25, 1), f32(2, 3, 0.5)), (f32(0.5), f32(1)), (f32(), f32())])
def gradient_of_scan(x, weights):
    """The gradients of two tensors that every step reads. The gradient adds lists."""

    def step(state, items):
        a, b = items
        return state * a + tf.sin(b) * state

    y = tf.reduce_sum(tf.scan(step, (x, weights), tf.constant(1.5)) ** 2)
    return y, *tf.gradients(y, [x, weights])


@case(VECTOR, FLAG, runs=[(f32(1, 2, 3), True), (f32(1, 2, 3), False), (f32(), True)])
def gradient_of_branches(x, p):
    """The gradient keeps what a branch computed in optionals. The other branch has none."""
    y = tf.cond(p, lambda: tf.reduce_sum(tf.exp(x) * x), lambda: tf.reduce_sum(x**3))
    return y, tf.gradients(y, [x])[0]


@case(VECTOR, COUNT, runs=[(f32(1, 2), np.int32(3)), (f32(0.5), np.int32(0)), (f32(1, -1, 2), np.int32(5))])
def gradient_of_branches_in_a_loop(x, n):
    def body(i, z):
        return i + 1, tf.cond(i % 2 < 1, lambda: tf.sin(z) * x, lambda: z * z * x)

    y = tf.while_loop(lambda i, z: i < n, body, (0, x), maximum_iterations=8)[1]
    return y, tf.gradients(y, [x])[0]


@case(VECTOR, SCALAR, runs=[(f32(1, 2), np.float32(3)), (f32(), np.float32(1))])
def optionals(x, s):
    """An optional has tensors of several dtypes, or none."""
    raw = tf.raw_ops
    some = raw.OptionalFromValue(components=[x, tf.cast(x, I), s > 2])
    kinds = {"output_types": [F, I, B], "output_shapes": [[None], None, []]}
    none = raw.OptionalNone()
    chosen = tf.cond(s > 2, lambda: some, lambda: raw.OptionalFromValue(components=[x + 1, tf.cast(x, I), s > 0]))
    present = raw.OptionalHasValue(optional=some), raw.OptionalHasValue(optional=none)
    return *raw.OptionalGetValue(optional=some, **kinds), *raw.OptionalGetValue(optional=chosen, **kinds), *present


@case(VECTOR, runs=[(f32(1, 2),)])
def value_of_no_optional(x):
    none = tf.raw_ops.OptionalNone()
    return tf.raw_ops.OptionalGetValue(optional=none, output_types=[F], output_shapes=[[None]])[0] + x


@case(VECTOR, VECTOR, runs=[(f32(1, 2), f32(3, 5)), (f32(), f32())])
def sums_of_lists(x, y):
    shape = tf.constant([], I)
    first, second = (tf.raw_ops.TensorListFromTensor(tensor=rows, element_shape=shape) for rows in (x, y))
    total = tf.raw_ops.AddN(inputs=[first, second, first])
    zeros = tf.raw_ops.ZerosLike(x=first)
    stack = lambda value: tf.raw_ops.TensorListStack(input_handle=value, element_shape=shape, element_dtype=F)
    return stack(total), stack(zeros)


BOX = tf.TensorSpec([None, 3], F)
ROWS = np.arange(9, dtype=np.float32).reshape(3, 3)


@case(BOX, tf.TensorSpec([None, None], F), tf.TensorSpec([2], I), runs=[
    (ROWS, np.full((2, 2), -1, np.float32), i32(1, 0)),
    (ROWS, np.full((2, 2), -1, np.float32), i32(-4, 9)),
    (ROWS, np.full((3, 3), -1, np.float32), i32(2, 2)),
    (ROWS, np.zeros((0, 2), np.float32), i32(1, 1)),
])  # fmt: skip
def box_of_xla(x, update, start):
    """A box that reaches outside is moved. A loop writes one row after the other."""
    once = gen_xla_ops.xla_dynamic_update_slice(x, update, start)
    write = lambda i, y: (i + 1, gen_xla_ops.xla_dynamic_update_slice(y, x[:1] + tf.cast(i, F), tf.stack([i, 0])))
    return once, tf.while_loop(lambda i, y: i < 2, write, (0, x))[1]


def lowered_graph_of(function, specs):
    """Returns the GraphDef of a function whose control flow is lowered, and the names of its results."""
    named = [tf.TensorSpec(spec.shape, spec.dtype, f"x{i}") for i, spec in enumerate(specs)]
    concrete = tf.function(function, autograph=False).get_concrete_function(*named)
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=True)
    return frozen.graph, [output.name for output in frozen.outputs]


def graph_of(function, specs, v1):
    """Returns the GraphDef of a function, and the names of its results."""
    graph = tf.Graph()
    with graph.as_default():
        (V1.disable_control_flow_v2 if v1 else V1.enable_control_flow_v2)()
        inputs = [V1.placeholder(spec.dtype, spec.shape, f"x{i}") for i, spec in enumerate(specs)]
        results = function(*inputs)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        names = [tf.identity(result, f"y{i}").name for i, result in enumerate(results)]
    return graph, names


def main():
    options = V1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    options.graph_options.rewrite_options.disable_meta_optimizer = True
    with OUTPUT.open("w") as file:
        for name, function, specs, runs, v1, lowered in CASES:
            graph, fetches = lowered_graph_of(function, specs) if lowered else graph_of(function, specs, v1)
            recorded = []
            with V1.Session(graph=graph, config=options) as session:
                for args in runs:
                    feeds = {f"x{i}": arg if isinstance(arg, bytes) else np.asarray(arg) for i, arg in enumerate(args)}
                    run = {"feeds": {key: tensor(value) for key, value in feeds.items()}}
                    try:
                        outputs = session.run(fetches, {f"{key}:0": value for key, value in feeds.items()})
                        run["outputs"] = [tensor(output) for output in outputs]
                    except (tf.errors.OpError, UnicodeDecodeError) as error:  # A message may have any bytes.
                        run["error"] = type(error).__name__
                    recorded.append(run)
            text = text_format.MessageToString(graph.as_graph_def(), as_one_line=True)
            file.write(json.dumps({"name": name, "graph": text, "fetches": fetches, "runs": recorded}) + "\n")


if __name__ == "__main__":
    main()
