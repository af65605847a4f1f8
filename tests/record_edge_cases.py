"""Records TensorFlow graphs whose runs fail in places that no data edge shows, and other rare graphs, with their results,
into data/edge_cases.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off, one thread, no graph rewrites.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_edge_cases.py

The lines have the form that record_control.py describes.
"""

from pathlib import Path

import record_control
from record_control import B, COUNT, F, FLAG, I, SCALAR, V1, VECTOR, f32, i32, np, tf
from google.protobuf import text_format
from record_imports import tensor as numbers
from tensorflow.python.framework import function as legacy

OUTPUT = Path(__file__).resolve().parent / "data" / "edge_cases.jsonl"
WORDS = tf.TensorSpec([None], tf.string)
WORD = tf.TensorSpec([], tf.string)
record_control.CASES.clear()
case = record_control.case
after = tf.control_dependencies
GOOD, BAD = f32(1, 2), f32(1, -2)
NAN = f32(1, float("nan"))


def tensor(array):
    """Returns the text of a TensorProto of numbers or of strings."""
    is_text = isinstance(array, bytes) or np.asarray(array).dtype == object
    return text_format.MessageToString(tf.make_tensor_proto(array), as_one_line=True) if is_text else numbers(array)


record_control.tensor = tensor


def words(*values):
    return np.array(values, object)


def both(*specs, runs):
    """Declares a case with the control flow of TensorFlow 2, and the same case with the one of TensorFlow 1."""

    def declare(function):
        case(*specs, runs=runs)(function)
        name = function.__name__
        record_control.CASES.append((f"{name}_v1", function, specs, runs, True))
        return function

    return declare


@both(VECTOR, runs=[(GOOD,), (NAN,)])
def checked_numbers(x):
    return -tf.debugging.assert_all_finite(x, "x")


@both(VECTOR, runs=[(GOOD,), (BAD,)])
def asserted_numbers(x):
    with after([tf.debugging.assert_positive(x)]):
        return -x


@both(VECTOR, runs=[(GOOD,), (NAN,)])
def checked_through_an_op(x):
    with after([-tf.debugging.check_numerics(x, "x")]):
        return -x


@both(VECTOR, FLAG, runs=[(GOOD, True), (NAN, True), (NAN, False)])
def checked_in_a_branch(x, p):
    def checked():
        with after([tf.debugging.check_numerics(x, "x")]):
            return tf.zeros([2])

    return tf.cond(p, checked, lambda: tf.ones([2]))


@both(VECTOR, FLAG, runs=[(GOOD, True), (BAD, True), (BAD, False)])
def branch_that_only_a_control_edge_reaches(x, p):
    def asserted():
        with after([tf.debugging.assert_positive(x)]):
            return tf.constant(1.0)

    with after([tf.cond(p, asserted, lambda: tf.constant(2.0))]):
        return -x


@both(VECTOR, COUNT, runs=[(GOOD, np.int32(2)), (BAD, np.int32(1)), (BAD, np.int32(2)), (BAD, np.int32(0))])
def asserted_in_a_loop(x, n):
    def body(i, total):
        with after([tf.debugging.assert_positive(x[i])]):
            return i + 1, total + 1.0

    return tf.while_loop(lambda i, _: i < n, body, [0, 0.0])[1]


@both(VECTOR, COUNT, runs=[(GOOD, np.int32(2)), (BAD, np.int32(1)), (BAD, np.int32(2))])
def loop_that_only_a_control_edge_reaches(x, n):
    def body(i):
        with after([tf.debugging.assert_positive(x[i])]):
            return i + 1

    with after(tf.nest.flatten(tf.while_loop(lambda i: i < n, body, [0]))):
        return -x


@case(COUNT, runs=[(np.int32(2),), (np.int32(9),)])
def asserted_in_the_condition_of_a_loop(n):
    def condition(i):
        with after([tf.debugging.assert_less(i, 5)]):
            return i < n

    return tf.while_loop(condition, lambda i: i + 1, [0])


@both(VECTOR, COUNT, runs=[(BAD, np.int32(0)), (BAD, np.int32(1)), (GOOD, np.int32(1)), (BAD, np.int32(7))])
def asserted_in_a_case(x, n):
    def asserted():
        with after([tf.debugging.assert_positive(x)]):
            return tf.constant(1.0)

    return tf.switch_case(n, [lambda: tf.constant(0.0), asserted, lambda: tf.constant(2.0)])


@both(VECTOR, COUNT, runs=[(GOOD, np.int32(3)), (GOOD, np.int32(0))])
def division_that_only_a_control_edge_reaches(x, n):
    with after([6 // n]):
        return -x


@both(VECTOR, COUNT, runs=[(GOOD, np.int32(1)), (GOOD, np.int32(2))])
def gather_that_only_a_control_edge_reaches(x, n):
    with after([tf.gather(x, n)]):
        return -x


@both(VECTOR, VECTOR, runs=[(GOOD, GOOD), (GOOD, f32(1, 2, 3))])
def sum_that_only_a_control_edge_reaches(x, w):
    with after([x + w]):
        return -x


@both(VECTOR, WORD, runs=[(GOOD, b"1.5"), (GOOD, b"one")])
def number_that_only_a_control_edge_reaches(x, word):
    with after([tf.strings.to_number(word)]):
        return -x


@both(VECTOR, runs=[(GOOD,), (BAD,)])
def constants_after_an_assertion(x):
    with after([tf.debugging.assert_positive(x)]):
        return tf.reduce_sum(tf.reshape(x, tf.constant([1, -1])), axis=tf.constant(1)), tf.constant(3.0)


@both(VECTOR, FLAG, runs=[(GOOD, True), (BAD, True), (BAD, False)])
def branch_after_an_assertion(x, p):
    with after([tf.debugging.assert_positive(x)]):
        return tf.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0))


@both(VECTOR, COUNT, runs=[(GOOD, np.int32(3)), (BAD, np.int32(3)), (BAD, np.int32(0))])
def loop_after_an_assertion(x, n):
    with after([tf.debugging.assert_positive(x)]):
        return tf.while_loop(lambda i: i < n, lambda i: i + 2, [0])


@both(VECTOR, COUNT, FLAG, runs=[(GOOD, np.int32(2), True), (BAD, np.int32(2), True), (BAD, np.int32(2), False)])
def asserted_in_a_branch_in_a_loop(x, n, p):
    def body(i):
        def asserted():
            with after([tf.debugging.assert_positive(x[i])]):
                return i + 1

        return tf.cond(p, asserted, lambda: i + 1)

    return tf.while_loop(lambda i: i < n, body, [0])


@case(VECTOR, FLAG, runs=[(GOOD, True), (BAD, True), (BAD, False)])
def branch_without_outputs(x, p):
    @tf.function(input_signature=[VECTOR])
    def asserted(x):
        tf.debugging.assert_positive(x)

    @tf.function(input_signature=[VECTOR])
    def nothing(x):
        tf.identity(x)

    functions = [asserted.get_concrete_function(), nothing.get_concrete_function()]
    for function in functions:
        function.add_to_graph()
    branch = tf.raw_ops.If(cond=p, input=[x], Tout=[], then_branch=functions[0], else_branch=functions[1])
    with after([branch]):
        return -x


@case(VECTOR, VECTOR, runs=[(GOOD, GOOD), (GOOD, BAD), (GOOD, NAN)])
def call_that_only_a_control_edge_reaches(x, w):
    @tf.function
    def called(w):
        tf.debugging.assert_greater(w, -1.0)
        return tf.debugging.check_numerics(w, "w")

    with after([called(w)]):
        return -x


@case(VECTOR, VECTOR, runs=[(GOOD, GOOD), (GOOD, NAN)])
def call_with_an_output_that_nothing_reads(x, w):
    @tf.function
    def called(x, w):
        return -x, tf.debugging.check_numerics(w, "w")

    result = called(x, w)[0]
    with after([result]):
        return tf.identity(result)


@both(VECTOR, runs=[(GOOD,), (NAN,)])
def shape_after_a_check(x):
    with after([tf.debugging.check_numerics(x, "x")]):
        return tf.shape(x), tf.range(tf.rank(x)) + 1


@both(VECTOR, runs=[(GOOD,), (NAN,)])
def pivot_after_a_check(x):
    total = tf.reduce_sum(tf.debugging.check_numerics(x, "x"))
    return tf.cond(total > 2.0, lambda: tf.constant([1.0, 2.0])[1:], lambda: tf.constant([3.0]))


def legacy_control_flow(body, specs):
    """Calls a function whose body has the control flow of TensorFlow 1."""

    def function(*inputs):
        defined = legacy.Defun(*[spec.dtype for spec in specs])(body)
        return defined(*inputs)

    function.__name__ = body.__name__
    return function


def in_function(*specs, runs):
    def declare(body):
        function = legacy_control_flow(body, specs)
        record_control.CASES.append((body.__name__, function, specs, runs, True))
        return body

    return declare


@in_function(VECTOR, FLAG, runs=[(GOOD, True), (GOOD, False)])
def branch_in_a_function(x, p):
    return tf.cond(p, lambda: x * 2.0, lambda: x - 1.0)


@in_function(VECTOR, COUNT, runs=[(GOOD, np.int32(3)), (GOOD, np.int32(0))])
def loop_in_a_function(x, n):
    return tf.while_loop(lambda i, _: i < n, lambda i, x: (i + 1, x * 2.0), [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])[1]


@in_function(VECTOR, COUNT, FLAG, runs=[(GOOD, np.int32(3), True), (GOOD, np.int32(3), False), (BAD, np.int32(2), True), (BAD, np.int32(2), False)])
def branch_in_a_loop_in_a_function(x, n, p):
    def body(i, total):
        def asserted():
            with after([tf.debugging.assert_greater(x, float(-1))]):
                return total + tf.reduce_sum(x)

        return i + 1, tf.cond(p, asserted, lambda: total + 1.0)

    return tf.while_loop(lambda i, _: i < n, body, [0, 0.0])[1]


@case(VECTOR, runs=[(BAD,)])
def outputs_of_a_function_by_name(x):
    @legacy.Defun(F)
    def inner(a):
        return -a, tf.abs(a)

    @legacy.Defun(F)
    def outer(a):
        negated, positive = inner(a)
        return positive, negated

    return outer(x)


@case(COUNT, runs=[(np.int32(0),), (np.int32(2),)], v1=True)
def joined_items_of_an_empty_array(n):
    items = tf.TensorArray(F, size=n, infer_shape=False, element_shape=None)
    items = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a.write(i, tf.fill([i + 1, 3], 2.0))), [0, items])[1]
    value, lengths = tf.raw_ops.TensorArrayConcatV3(
        handle=items.handle, flow_in=items.flow, dtype=F, element_shape_except0=[3]
    )
    return value, lengths


@case(COUNT, COUNT, runs=[(np.int32(0), np.int32(1)), (np.int32(1), np.int32(1)), (np.int32(0), np.int32(2))], v1=True)
def items_written_twice(i, j):
    items = tf.TensorArray(F, size=2, infer_shape=False, clear_after_read=False)
    return items.write(i, 1.0).write(j, 2.0).stack()


@case(COUNT, runs=[(np.int32(1),), (np.int32(2),)], v1=True)
def items_beyond_the_end_of_an_array(i):
    items = tf.TensorArray(F, size=2, infer_shape=False)
    return items.scatter(tf.stack([0, i]), tf.constant([1.0, 2.0])).stack()


@case(tf.TensorSpec([None, 3], F), VECTOR, runs=[(f32(1, 2, 3).reshape(1, 3), f32(1, 2, 3, 4, 5))])
def item_of_another_shape(x, item):
    item = tf.reshape(item, [5])
    items = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=-1)
    pushed = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=item)
    _, last = tf.raw_ops.TensorListPopBack(input_handle=pushed, element_shape=-1, element_dtype=F)
    set_item = tf.raw_ops.TensorListSetItem(input_handle=items, index=0, item=item)
    return last, tf.raw_ops.TensorListGetItem(input_handle=set_item, index=0, element_shape=-1, element_dtype=F)


@case(WORDS, WORDS, runs=[(words(b"a", b"\xff"), words(b"b", b"c"))])
def separators_of_any_bytes(x, w):
    ngrams = tf.raw_ops.StringNGrams(
        data=x, data_splits=tf.constant([0, 2], tf.int64), separator=b"\xfe", ngram_widths=[2], left_pad=b"<\x80",
        right_pad=b"\xc3>", pad_width=1, preserve_short_sequences=False,
    )
    return (
        tf.raw_ops.StringJoin(inputs=[x, w], separator=b"\xff\x00"),
        tf.raw_ops.ReduceJoin(inputs=x, reduction_indices=0, separator=b"\xc3"),
        tf.raw_ops.UnsortedSegmentJoin(inputs=x, segment_ids=[0, 0], num_segments=1, separator=b"\xf0"),
        tf.raw_ops.StaticRegexReplace(input=x, pattern="a", rewrite=b"\xe9\\0"),
        tf.raw_ops.StringFormat(inputs=[tf.constant([1, 2])], template=b"\xff%\xfe%\xff", placeholder=b"%\xfe%", summarize=3),
        ngrams.ngrams,
    )


@case(WORDS, runs=[(words(b"1\xe92", b"\xff\xe94"),)])
def columns_between_any_bytes(x):
    return tf.raw_ops.DecodeCSV(records=x, record_defaults=[[b"-"], [0]], field_delim=b"\xe9", na_value=b"\xff")


PATTERNS = ["a.b", "a[^c]b", r"a\Wb", r"a\Sb", r"a\Db", r"a[^\x{e9}]b", r"a\PLb", r"a\pLb", r"a\pCb", "a(?s:.)b", "a(?i:[^k])b", r"a\Cb",
            r"a[\x{80}-\x{10ffff}]b", r"a[\x{81}-\x{10ffff}]b", r"a\C\C\Cb", r"a\p{Any}b", r"a[^[:alpha:]]b", r"a[\x{d000}-\x{f000}]b", "a.*b", r"a\P{Greek}b"]
TEXTS = [b"a\xed\xa0\x80b", b"a\xed\xbf\xbfb", b"a\xc0\x80b", b"a\xe0\x80\x80b", b"a\xf0\x80\x80\x80b", b"a\xf4\xbf\xbf\xbfb", b"a\xf5\x80\x80\x80b",
         b"a\xffb", b"a\xc3\xa9b", b"a\xe2\x82\xacb", b"a\xf0\x9f\x98\x80b", b"a\xc2b", b"a\xe2\x82b", b"acb", b"a\x80b", b"ab", b"a\xee\x80\x80b",
         b"a\xed\x9f\xbfb", b"a\xc3\xa9\xed\xa0\x80b", "a\u212ab".encode(), b"a\xe1\xbf\xbfb", b"a\xcd\xb0b"]


@case(WORDS, runs=[(words(*TEXTS),)])
def classes_on_bytes_that_are_no_characters(x):
    matches = tf.stack([tf.raw_ops.StaticRegexFullMatch(input=x, pattern=pattern) for pattern in PATTERNS])
    replaced = [tf.raw_ops.StaticRegexReplace(input=x, pattern=pattern, rewrite="<\\0>") for pattern in ["[^a-z]", ".", r"\C", "x*", r"[^\x{e9}a-c]", "(?:b|.)*?"]]
    return (matches, *replaced)


@case(WORDS, WORD, runs=[(words(b"ab", b"a"), pattern) for pattern in [b"a)(b", b"a)|(b", b"(a", b"a)", b"(ab)", b"((a)", b"()|(a)b", b"(?i)A(?:B)", b"a\xff", b"(?i:a"]])
def patterns_with_groups(x, pattern):
    return tf.strings.regex_full_match(x, pattern)


@case(WORDS, WORD, runs=[(words(b"ab", b"a"), pattern) for pattern in [b"a)(b", b"a)|(b", b"(a)"]])
def replaced_groups(x, pattern):
    return tf.strings.regex_replace(x, pattern, "-")


if __name__ == "__main__":
    record_control.OUTPUT = OUTPUT
    record_control.main()
