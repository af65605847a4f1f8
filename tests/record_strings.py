"""Records TensorFlow nodes on strings and their results into data/strings.jsonl, in the form of data/imports.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, one thread, no graph rewrites.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_strings.py

The strings are bytes: empty, long, with zeros inside, UTF-8, and not UTF-8. These results are left out, because ours
differ on purpose:
- UnicodeScript of characters that are younger than the Unicode version in TensorFlow;
- UnicodeDecode of encodings that only ICU knows, and of several strings with byte order marks: TensorFlow reads all of
  them in the order of the first mark;
- Substr of a string that is not UTF-8 by characters, from a position behind its last character.
"""

import base64
from pathlib import Path

from record_imports import P, f32, i32, record

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import tensor_pb2

OUTPUT = Path(__file__).resolve().parent / "data" / "strings.jsonl"


def s(*values):
    """Returns a vector of byte strings."""
    return of(values, (len(values),))


def of(values, shape):
    """Returns byte strings of a shape."""
    array = np.empty(shape, object)
    array.reshape(-1)[:] = [value.encode() if isinstance(value, str) else value for value in values]
    return array


def scalar(value):
    return of([value], ())


def i64(*values):
    return np.array(values, np.int64)


LONG = bytes(range(256)) * 2
MIXED = s("", "a", "Hello World", "héllo wörld", "日本語 text", b"\xff\xfeab\x80", b"a\0b\0", "  pad\t\n", "ÀÉÎ ß ŒΣΑΣ", LONG)
GRID = of(["a", "", "cé", b"d\0", "ee", b"\xff"], (2, 3))


def text_cases(out):
    for op in ("StringLower", "StringUpper"):
        for attrs in ({}, {"encoding": "utf-8"}):
            out.record(op, attrs, input=MIXED if not attrs else MIXED[:-1])
            out.record(op, attrs, input=GRID)
        out.record(op, {"encoding": "latin1"}, input=MIXED, error=True)
    out.record("StringStrip", input=MIXED)
    out.record("StringStrip", input=s(" a b ", "\v\f\r x", b"\xa0y\xa0", " \t"))
    out.record("StringStrip", input=scalar(" x "))
    for attrs in ({}, {"unit": "BYTE"}, {"unit": "UTF8_CHAR"}):
        out.record("StringLength", attrs, input=MIXED)
        out.record("StringLength", attrs, input=of([], (0, 2)))
    out.record("StringLength", {"unit": "WORD"}, input=MIXED, error=True)


def join_cases(out):
    out.record("StringJoin", inputs=[s("a", "b"), s("c", b"\xff")])
    out.record("StringJoin", {"separator": "--"}, inputs=[s("a", "b"), scalar("x"), s("", b"\0")])
    out.record("StringJoin", {"separator": "é"}, inputs=[GRID])
    out.record("StringJoin", inputs=[s("a", "b"), s("c")], error=True)
    out.record("Add", x=s("a", "b"), y=of(["x", "y"], (2, 1)))
    out.record("Add", x=scalar("q"), y=GRID)
    out.record("Add", x=GRID, y=s("1", "2"), error=True)
    for axes in ([0], [1], [-1], [0, 1], [1, 0], [-2, -1], []):
        for keep in (False, True):
            attrs = {"separator": "-", "keep_dims": keep}
            out.record("ReduceJoin", attrs, inputs=GRID, reduction_indices=P(axes))
    out.record("ReduceJoin", inputs=GRID, reduction_indices=P(1))
    out.record("ReduceJoin", {"separator": "-"}, inputs=of(["", "", "a", ""], (2, 2)), reduction_indices=P([1]))
    out.record("StringJoin", {"separator": "-"}, inputs=[s("", ""), s("", "a")])
    for axes in ([2], [-3], [0, 0]):
        out.record("ReduceJoin", inputs=GRID, reduction_indices=P(axes), error=True)
    out.record("ReduceJoin", inputs=of([], (0, 2)), reduction_indices=P([0]))
    cube = of([f"{i}{j}{k}" for i in range(2) for j in range(3) for k in range(2)], (2, 3, 2))
    for axes in ([0, 2], [2, 0], [1], [2, 1, 0], [1, 2]):
        out.record("ReduceJoin", {"separator": ","}, inputs=cube, reduction_indices=P(axes))
    words = s("a", "b", "c", "d", "e")
    out.record("UnsortedSegmentJoin", inputs=words, segment_ids=i32(0, 2, 0, 2, 1), num_segments=P(3))
    attrs = {"separator": ", "}
    out.record("UnsortedSegmentJoin", attrs, inputs=words, segment_ids=i64(3, 0, 3, 0, 0), num_segments=P(5))
    gaps = s("", "a", "", "", "b", "", "", "", "c")
    out.record("UnsortedSegmentJoin", attrs, inputs=gaps, segment_ids=i32(0, 0, 0, 1, 1, 1, 2, 2, 2), num_segments=P(3))
    out.record("UnsortedSegmentJoin", attrs, inputs=cube, segment_ids=i32(1, 0), num_segments=P(2))
    out.record("UnsortedSegmentJoin", attrs, inputs=words, segment_ids=i32(0, 2, 0, 3, 1), num_segments=P(3), error=True)
    out.record("UnsortedSegmentJoin", attrs, inputs=words, segment_ids=i32(0, -1, 0, 1, 1), num_segments=P(2), error=True)


def substr_cases(out):
    x = s("hello", "日本語テキスト", "wörld!")
    for unit in ("BYTE", "UTF8_CHAR"):
        attrs = {"unit": unit}
        for pos, length in ((0, 3), (1, 2), (-3, 2), (-4, 99), (5, 1), (2, 0), (-5, 4), (3, -1), (-2, -1)):
            fails = unit == "UTF8_CHAR" and pos < 0 and length < 0
            out.record("Substr", attrs, input=x, pos=np.int32(pos), len=np.int32(length), error=fails)
        out.record("Substr", attrs, input=x, pos=i64(0, 1, -2), len=i64(2, 3, 1))
        out.record("Substr", attrs, input=x, pos=i32([0, 1, 2], [-1, -2, -3]), len=i32([1, 1, 1], [9, 9, 9]))
        out.record("Substr", attrs, input=scalar("abcdef"), pos=i32(1, 2), len=i32(2, 3))
        out.record("Substr", attrs, input=x, pos=np.int32(60), len=np.int32(1), error=True)
        out.record("Substr", attrs, input=x, pos=np.int32(-60), len=np.int32(1), error=True)
        out.record("Substr", attrs, input=s(""), pos=np.int32(0), len=np.int32(2))
    out.record("Substr", input=s(b"\xff\0\xfe"), pos=np.int32(1), len=np.int32(1))
    out.record("Substr", {"unit": "UTF8_CHAR"}, input=s(b"\xff\0\xfe"), pos=np.int32(1), len=np.int32(1))
    out.record("Substr", input=x, pos=i32(0, 1), len=i32(2), error=True)


def split_cases(out):
    x = s("a b  c", "", " x ", "one", b"p,q,,r\0 s", "tab\tnl\n")
    for skip in (True, False):
        for delimiter in (" ", "", ", ", "\t\n", "é"):
            out.record("StringSplit", {"skip_empty": skip}, input=x, delimiter=scalar(delimiter))
    out.record("StringSplit", input=s(), delimiter=scalar(" "))
    out.record("StringSplit", input=GRID, delimiter=scalar(" "), error=True)
    for limit in (-1, 0, 1, 2):
        for sep in (" ", "", ",", "  ", "ne", "é"):
            out.record("StringSplitV2", {"maxsplit": limit}, input=x, sep=scalar(sep))
    out.record("StringSplitV2", input=s("aaaa", "aaa"), sep=scalar("aa"))
    out.record("StringSplitV2", input=s(), sep=scalar(","))
    data = s("aa", "b", "c", "d", "", "é")
    base = {"separator": "|", "left_pad": "L", "right_pad": "R", "preserve_short_sequences": False}
    for widths in ([1], [2], [3], [1, 2], [3, 1], [5], [6, 2]):
        for pads in (-1, 0, 1, 2):
            for short in (False, True):
                attrs = base | {"ngram_widths": widths, "pad_width": pads, "preserve_short_sequences": short}
                splits = i64(0, 4, 4, 6) if short else i32(0, 1, 1, 6)
                out.record("StringNGrams", attrs, data=data, data_splits=splits)
    attrs = base | {"ngram_widths": [2], "pad_width": 0}
    out.record("StringNGrams", attrs, data=s(), data_splits=i64())
    out.record("StringNGrams", attrs, data=s(), data_splits=i64(0, 0))
    for splits in (i64(0, 3), i64(1, 6), i64(0, 4, 2, 6), i64(0, 9), i64(0, -1, 6)):
        out.record("StringNGrams", attrs, data=data, data_splits=splits, error=True)
    out.record("StringNGrams", attrs | {"ngram_widths": [0]}, data=data, data_splits=i64(0, 6), error=True)


PATTERNS = [
    "a", "", "a*", "b+", "(a)(b)?", "[a-c]+", "^a", "b$", "a|b", ".", ".*", r"\d+", r"\w+", r"\s", r"\bb", r"\Ba",
    "é", "[é]", "[^a]", r"(?i)AB", r"(?s)a.b", r"(?m)^b", "(?P<x>a)b", r"\x61", r"\141", r"\x{e9}", r"\pL", r"\p{Greek}",
    r"[[:alpha:]]+", r"[[:^digit:]]", r"\Qa.b\E", "a{2}", "a{1,}?", "a{,2}", "a{", "[a&&b]", "[[a]", r"[\d]", r"[^\W]",
    r"\C", "(?U)a+", "a??", r"\z", r"\A", "(?:a|b)c", r"[\]\-]", "[a-]", "[]a]", r"\.", r"\_", "x*", "~", "[~~]", r"\<", "[+--]", "[a-b-]", "[a-c-e]", r"[\d-z]", r"[\x61-\x63]", "[^-a]",
    "(?i)k", "[[:word:]]", r"\pN+", "^$", "a|", "()", "(|a)*", "(a*)+", r"\PL", r"[\PL]", r"\p{^Greek}", r"\pC", "(?P<x>a)(?P<x>b)", "a$", "(?m)a$",
]
BAD_PATTERNS = ["(", "a**", "[b-a]", r"\8", "(?x)a", r"\p{Nope}", "a{1001}", "*a", r"[\b]", "(?<=a)b", "[a--]", "a++", "[a", r"\Z", "[[:nope:]]", "(?<x>a)b", r"\p{Alphabetic}", "(?P<x y>a)", "\\"]
TEXTS = s("", "a", "aab abb", "xaby", "a.b a\nb", "é日", "AB ab", "12 b_3", b"\xffa\xfe", b"a\0b", "a{,2} a{ ]&-~[", "αβγ λ", "\n", "b\nb")


def regex_cases(out):
    for pattern in PATTERNS:
        out.record("RegexReplace", input=TEXTS, pattern=scalar(pattern), rewrite=scalar(r"<\0>"))
        out.record("RegexFullMatch", input=TEXTS, pattern=scalar(pattern))
    for pattern in BAD_PATTERNS:
        out.record("RegexReplace", input=TEXTS, pattern=scalar(pattern), rewrite=scalar("x"), error=True)
        out.record("RegexFullMatch", input=TEXTS, pattern=scalar(pattern), error=True)
    for pattern in ("a", "(a)(b)?", "x*", r"\bb"):
        for rewrite in ("", "é", r"[\1\2]" if "(" in pattern else r"\\", r"\0\0"):
            for every in (True, False):
                attrs = {"replace_global": every}
                out.record("RegexReplace", attrs, input=TEXTS, pattern=scalar(pattern), rewrite=scalar(rewrite))
                out.record("StaticRegexReplace", attrs | {"pattern": pattern, "rewrite": rewrite}, input=TEXTS)
        out.record("StaticRegexFullMatch", {"pattern": pattern + ".*"}, input=TEXTS)
    out.record("RegexReplace", input=GRID, pattern=scalar("[a-e]+"), rewrite=scalar("x"))
    out.record("RegexFullMatch", input=GRID, pattern=scalar("[a-e]+"))
    out.record("StaticRegexFullMatch", {"pattern": "("}, input=TEXTS, error=True)
    out.record("StaticRegexReplace", {"pattern": "(", "rewrite": ""}, input=TEXTS, error=True)


def hash_cases(out):
    counts = [*range(18), 23, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 129, 191, 192, 193, 600]
    lengths = s(*[bytes((7 * i * (n + 3) + i * i) % 256 for i in range(n)) for n in counts])
    for buckets, x in ((1, MIXED), (10, MIXED), (2**31 + 11, MIXED), (2**63 - 1, lengths)):
        attrs = {"num_buckets": buckets}
        out.record("StringToHashBucketFast", attrs, input=x)
        out.record("StringToHashBucket", attrs, string_tensor=x)
        out.record("StringToHashBucketStrong", attrs | {"key": [123, -456]}, input=x)
    out.record("StringToHashBucketFast", {"num_buckets": 7}, input=of([], (0,)))
    out.record("StringToHashBucketFast", {"num_buckets": 0}, input=MIXED, error=True)
    out.record("StringToHashBucketStrong", {"num_buckets": 7, "key": [1]}, input=MIXED, error=True)


NUMBERS = s("0", "-1.5", " 2 ", "+3", "1e3", "1E-2", "inf", "-Inf", "nan", "0x1F", "007", ".5", "5.", "1e400", "-0", "\t7\n")
BAD_NUMBERS = ("", " ", "abc", "1 2", "1,5", "--1", "1e", "0x", "1.5.2", "infx", b"1\0", "1_0", "+-1")


def number_cases(out):
    for dtype in (tf.float32, tf.float64):
        attrs = {"out_type": dtype}
        out.record("StringToNumber", attrs, string_tensor=NUMBERS)
        out.record("StringToNumber", attrs, string_tensor=s("0.1", "123456789.123456789", "1e-45", "3.4028236e38", "1e-400"))
        for text in BAD_NUMBERS:
            out.record("StringToNumber", attrs, string_tensor=s(text), error=True)
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        attrs = {"out_type": dtype}
        out.record("StringToNumber", attrs, string_tensor=s("0", "12", " 34 ", "+5", "007", "2147483647"))
        for text in BAD_NUMBERS + ("1.5", "1e3", "99999999999999999999", "0x1F", "inf"):
            out.record("StringToNumber", attrs, string_tensor=s(text), error=True)
        out.record("StringToNumber", attrs, string_tensor=s("-1"), error=dtype.name[0] == "u")
    out.record("StringToNumber", string_tensor=scalar("2.5"))
    for digits in (28, 30, 31, 60):
        out.record("StringToNumber", {"out_type": tf.float64}, string_tensor=s("0." + "3" * digits))
    integers = {np.int8: [0, -5, 127, -128], np.int16: [-300, 7], np.int32: [-(2**31), 12345], np.int64: [-(2**63), 9],
                np.uint8: [0, 255], np.uint16: [65535], np.uint32: [2**32 - 1], np.uint64: [2**64 - 1, 3]}
    for dtype, values in integers.items():
        x = np.array(values, dtype)
        out.record("AsString", input=x)
        for fill in ("", "0", "-", "+", " "):
            out.record("AsString", {"width": 8, "fill": fill}, input=x)
        out.record("AsString", {"precision": 4}, input=x, error=True)
        out.record("AsString", {"scientific": True}, input=x, error=True)
        out.record("AsString", {"shortest": True}, input=x, error=True)
    floats = [0.0, -0.0, 1.0, -2.5, 3.14159265358979, 1e-5, 123456.789, 1e10, 1e30, 1.5e-20, 0.1, np.inf, -np.inf, np.nan, 9.9999995]
    for dtype in (np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype):
        with np.errstate(over="ignore"):
            x = np.array(floats, dtype)
        for attrs in ({}, {"precision": 0}, {"precision": 2}, {"precision": 12}):
            for kind in ({}, {"scientific": True}, {"shortest": True}):
                widths = ({}, {"width": 12}, {"width": 12, "fill": "0"}, {"width": 12, "fill": "-"})
                # Halves are written as f32.
                for width in widths if x.itemsize > 2 else widths[:1]:
                    out.record("AsString", attrs | kind | width, input=x)
        out.record("AsString", {"width": 3, "fill": "+"}, input=x)
        out.record("AsString", {"width": 14, "fill": " "}, input=x)
    out.record("AsString", {"scientific": True, "shortest": True}, input=f32(1.0), error=True)
    for fill in ("00", "x"):
        out.record("AsString", {"width": 5, "fill": fill}, input=f32(1.0), error=True)
    out.record("AsString", {"width": 5, "fill": "#", "precision": 0}, input=f32(1.0))
    out.record("AsString", {"width": 5, "fill": "#", "shortest": True}, input=f32(1.0))
    for dtype in (np.complex64, np.complex128):
        x = np.array([1.5 - 2j, 0, complex(np.inf, 3)], dtype)
        for attrs in ({}, {"precision": 2}, {"shortest": True}, {"scientific": True, "precision": 1}):
            out.record("AsString", attrs, input=x)
        out.record("AsString", {"precision": 2, "width": 9}, input=x)
    flags = np.array([True, False])
    out.record("AsString", input=flags)
    out.record("AsString", {"width": 8}, input=flags)
    out.record("AsString", {"width": 8, "fill": "0"}, input=flags)
    out.record("AsString", {"precision": 2}, input=flags, error=True)
    out.record("AsString", input=GRID)
    out.record("AsString", {"width": 8}, input=GRID)
    for fill in ("-", "0", "+", " "):
        out.record("AsString", {"width": 4, "fill": fill}, input=GRID)
        out.record("AsString", {"width": 8, "fill": fill}, input=flags)
    out.record("AsString", {"precision": 2}, input=GRID)


def format_cases(out):
    cube = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    matrix = np.arange(40, dtype=np.float32).reshape(10, 4) / 7
    values = [np.float32(2.5), f32(1, 2.5, -3e-7, 1e20), cube, matrix, GRID, scalar("x\"\n"), np.array([True, False]),
              np.array([], np.float32), np.zeros((2, 0), np.int32), np.array([1e-3, np.nan, np.inf, 123456789.0], np.float64),
              np.array([1.5, -2], np.float16), np.array([1 + 2j], np.complex64), np.array([200], np.uint8),
              np.array([-3], np.int8), i64(2**62), np.arange(7, dtype=np.int32), np.arange(8, dtype=np.int32), np.float64(0.1),
              np.array([0.1, 1 / 3, 1e16, 12345678.9], np.float32), np.zeros((1, 1, 2), np.int32), np.arange(9).reshape(9, 1)]
    for value in values:
        for summarize in (3, 1, -1, 2):
            attrs = {"template": "<%s>", "summarize": summarize}
            out.record("StringFormat", attrs, inputs=[value])
    attrs = {"template": "a {} and {}: {}", "placeholder": "{}"}
    out.record("StringFormat", attrs, inputs=[cube[0], s("q", b"\xff"), np.bool_(True)])
    out.record("StringFormat", {"template": "%s %s"}, inputs=[i32(1)], error=True)
    out.record("StringFormat", {"template": "%s%s"}, inputs=[np.int32(1), np.int32(2)])


def raw_cases(out):
    x = s(bytes(range(16)), bytes(range(240, 256)))
    types = (tf.float16, tf.float32, tf.float64, tf.int32, tf.uint16, tf.uint8, tf.int16, tf.int8, tf.int64, tf.bool)
    for dtype in types:
        for little in (True, False):
            given = s(b"\0\1", b"\1\0") if dtype == tf.bool else x
            out.record("DecodeRaw", {"out_type": dtype, "little_endian": little}, bytes=given)
    for little in (True, False):
        given = s(np.array([1.5, -2], np.float64).tobytes())
        out.record("DecodeRaw", {"out_type": tf.complex64, "little_endian": little}, bytes=given)
    out.record("DecodeRaw", {"out_type": tf.uint8}, bytes=of(["ab", "cd", "ef", "gh"], (2, 2)))
    out.record("DecodeRaw", {"out_type": tf.uint8}, bytes=scalar("abc"))
    out.record("DecodeRaw", {"out_type": tf.int32}, bytes=s("", ""))
    out.record("DecodeRaw", {"out_type": tf.int32}, bytes=of([], (0, 2)))
    out.record("DecodeRaw", {"out_type": tf.int32}, bytes=s("abcde"), error=True)
    out.record("DecodeRaw", {"out_type": tf.uint8}, bytes=s("a", "bc"), error=True)
    for pad in (False, True):
        out.record("EncodeBase64", {"pad": pad}, input=MIXED)
        out.record("EncodeBase64", {"pad": pad}, input=s("a", "ab", "abc", "abcd", b"\xfb\xff"))
    out.record("DecodeBase64", input=s("", "YQ", "YQ==", "YWI", "YWI=", "YWJj", "-_8", "YWJjZA", "YR", "YWK"))
    for text in ("Y", "YQ=", "+/8", "YW Jj", "YQ===", "=", "Y===", "é", "YQ==YQ==", "YWI=YQ", b"YQ\0"):
        out.record("DecodeBase64", input=s(text), error=True)


UNICODE = s("", "aé", "日本 😀", b"a\xffb", b"\xe6\x97", b"\xed\xa0\x80x", "a\tb\x01\x7f", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"a\0b")
WIDE = s("ab".encode("utf-16-be"), "é😀".encode("utf-16-be"), b"\xd8\x00", b"\xdc\x00\x00a", b"\x00", b"")
FULL = s("a😀".encode("utf-32-be"), b"\x00\x11\x00\x00", b"\x00\x00\xd8\x00", b"\x00\x00", b"")


def unicode_cases(out):
    for errors in ("replace", "ignore", "strict"):
        for control in (False, True):
            for mark in (65533, 63):
                policy = {"errors": errors, "replace_control_characters": control, "replacement_char": mark}
                for encoding, x in (("UTF-8", UNICODE), ("UTF-16-BE", WIDE), ("UTF-32-BE", FULL)):
                    attrs = policy | {"input_encoding": encoding}
                    fails = errors == "strict"
                    out.record("UnicodeDecodeWithOffsets", attrs, input=x, error=fails)
                    for target in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                        out.record("UnicodeTranscode", attrs | {"output_encoding": target}, input=x, error=fails)
    good = s("", "aé", "日本 😀")
    for encoding in ("UTF-8", "utf-8", "utf8", "UTF8"):
        out.record("UnicodeDecode", {"input_encoding": encoding, "errors": "strict"}, input=good)
    out.record("UnicodeDecode", {"input_encoding": "UTF-8", "Tsplits": tf.int32}, input=GRID)
    latin = s(b"a\xe9\xff", b"\x80\x9f")
    for encoding in ("ISO-8859-1", "US-ASCII", "latin1", "ascii", "UTF-16", "UTF-16-LE", "UTF-16LE", "UTF-32", "UTF-32-LE", "UTF-16BE"):
        out.record("UnicodeDecodeWithOffsets", {"input_encoding": encoding}, input=latin)
    for encoding in ("UTF-16", "UTF-32", "UTF-16-LE", "UTF-32-LE"):
        python = encoding.lower()
        for x in ("aé😀".encode(python), "aé😀".encode(python[:6] + "-be"), b"\xfe\xff\0a", b"\xff\xfea\0"):
            attrs = {"input_encoding": encoding}
            out.record("UnicodeDecodeWithOffsets", attrs, input=s(x))
            out.record("UnicodeTranscode", attrs | {"output_encoding": "UTF-8"}, input=s(x))
    out.record("UnicodeDecode", {"input_encoding": "no such"}, input=good, error=True)
    out.record("UnicodeTranscode", {"input_encoding": "UTF-8", "output_encoding": "UTF-7"}, input=good, error=True)
    out.record("UnicodeTranscode", {"input_encoding": "UTF-8", "output_encoding": "UTF-8", "replacement_char": 1114112}, input=good, error=True)
    values = i32(97, 233, 26085, 128512, 0, 8364)
    broken = i32(97, 55296, -1, 1114112, 98, 57343, 65535)
    for target in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        attrs = {"output_encoding": target}
        out.record("UnicodeEncode", attrs | {"errors": "strict"}, input_values=values, input_splits=i64(0, 2, 2, 6))
        for errors in ("replace", "ignore", "strict"):
            for mark in (65533, 63):
                policy = attrs | {"errors": errors, "replacement_char": mark}
                fails = errors == "strict"
                out.record("UnicodeEncode", policy, input_values=broken, input_splits=i32(0, 4, 7), error=fails)
    attrs = {"output_encoding": "UTF-8"}
    for splits in (i64(0, 3), i64(1, 6), i64(0, 4, 2, 6), i64(0, 9)):
        out.record("UnicodeEncode", attrs, input_values=values, input_splits=splits, error=True)
    out.record("UnicodeEncode", attrs, input_values=i32(), input_splits=i64(0))
    letters = "aZ1 é\u0300αжא عहกあア漢字한😀Ⰰ᚛\u200d"
    out.record("UnicodeScript", input=i32(*[ord(letter) for letter in letters]))
    out.record("UnicodeScript", input=i32([-1, 1114112], [0, 1114111], [55296, 888]))


def byte_cases(out):
    texts = s("abcdefghij", "x", "", b"\x00\x01\x02\x03\xff\xfe")
    for dtype in (tf.uint8, tf.int8, tf.int16, tf.uint16, tf.int32, tf.int64, tf.bfloat16, tf.float32, tf.float64):
        for attrs in ({}, {"little_endian": False}):
            out.record("DecodePaddedRaw", attrs | {"out_type": dtype}, input_bytes=texts, fixed_length=P(8))
    out.record("DecodePaddedRaw", {"out_type": tf.int16}, input_bytes=GRID, fixed_length=P(2))
    for length in (0, 3, -2):
        out.record("DecodePaddedRaw", {"out_type": tf.int16}, input_bytes=texts, fixed_length=P(length), error=True)
    method = scalar("farmhash64")
    for data in (MIXED, GRID, s(), np.arange(12).reshape(3, 2, 2), f32(1.5, -2), np.zeros((2, 0), np.int32), np.arange(60, dtype=np.uint8).reshape(2, 30)):
        out.record("Fingerprint", data=data, method=method)
    out.record("Fingerprint", data=GRID, method=scalar("md5"), error=True)
    out.record("Fingerprint", data=np.float32(1), method=method, error=True)


def csv_cases(out):
    lines = s('1,a,2.5,7', '2,"b, ""c""",-1e3,8', " 3 ,,0.5 , 9")
    defaults = [i32(0), s("none"), f32(-1.0), np.array(5, np.int64)]
    out.record("DecodeCSV", records=lines, record_defaults=defaults)
    out.record("DecodeCSV", records=lines.reshape(3, 1), record_defaults=defaults)
    out.record("DecodeCSV", records=scalar("4,x,1,2"), record_defaults=defaults)
    doubles = [np.array([0.5]), s(), f32(1), np.array([], np.int64)]
    out.record("DecodeCSV", records=s("1e-3,a,1,2", "x,a,1,2"), record_defaults=doubles, error=True)
    for line, fails in (("1e-3,a,,2", False), (",a,1,2", False), ("1,,1,2", True), ("1,a,1,", True), ("1,a,1", True),
                        ("1,a,1,2,3", True), ("", True), ("\r\n1,a,1,2", False), ("1,a,1,2\n", True)):
        out.record("DecodeCSV", records=s(line), record_defaults=doubles, error=fails)
    texts = [s("p"), s("q")]
    for line, fails in (('a,"b"', False), ('"a\nb",c', False), ('a"b,c', True), ('"a"b,c', True), ('"a,b', True), ('"",""', False),
                        ('"a""",b', False), ("a\nb,c", True), (",", False), ("\n", True), ('"a",', False), ('a,"', True)):
        out.record("DecodeCSV", records=s(line), record_defaults=texts, error=fails)
    out.record("DecodeCSV", {"use_quote_delim": False}, records=s('a"b,"c"'), record_defaults=texts)
    out.record("DecodeCSV", {"field_delim": "\t"}, records=s("a,b\tc", "\t"), record_defaults=texts)
    out.record("DecodeCSV", {"na_value": "NA"}, records=s("NA,b", ",NA", "na,x"), record_defaults=texts)
    for columns in ([0, 2], [1, 3]):
        out.record("DecodeCSV", {"select_cols": columns}, records=s("a,b,c,d", 'a,b,"c",'), record_defaults=texts)
    out.record("DecodeCSV", {"select_cols": [2, 1]}, records=s("a,b,c,d"), record_defaults=texts, error=True)
    out.record("DecodeCSV", {"select_cols": [1]}, records=s("a,b,c,d"), record_defaults=texts, error=True)


def feature(values):
    """Returns a feature; one that is None has no list."""
    if values is None:
        return tf.train.Feature()
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(**features):
    """Returns a serialized example."""
    features = tf.train.Features(feature={key: feature(values) for key, values in features.items()})
    return tf.train.Example(features=features).SerializeToString(deterministic=True)


def example_cases(out):
    first = example(a=[1, -2, 3], f=[1.5, -0.5], b=[b"x", b""])
    second = example(a=[1 << 60], b=[b"yy"], f=[0.25, 2.0], other=[1])
    # Numbers one by one instead of packed: {"a": [7, 8], "f": [0.5, 1.0]}.
    plain = bytes.fromhex("0a200a0b0a016112061a04080708080a110a0166120c120a0d0000003f0d0000803f")
    batches = [s(first, second), s(first, b"", example(a=None)), s(plain), s()]
    unnamed, shape = s(), tf.TensorShape
    keys = {"sparse_keys": s("a", "none"), "dense_keys": s("f", "b"), "ragged_keys": s("b2", "a2")}
    for batch in batches + [scalar(first)]:
        dense = [f32(8, 9), scalar("p")]
        attrs = {"num_sparse": 2, "sparse_types": [tf.int64, tf.string], "dense_shapes": [shape([2]), shape([None])]}
        attrs |= {"ragged_value_types": [tf.string, tf.int64], "ragged_split_types": [tf.int32, tf.int64]}
        out.record("ParseExampleV2", attrs, serialized=batch, names=unnamed, **keys, dense_defaults=dense)
        ragged = {"sparse_keys": s(), "dense_keys": s(), "ragged_keys": s("b", "a"), "dense_defaults": []}
        none = attrs | {"num_sparse": 0, "sparse_types": [], "dense_shapes": []}
        out.record("ParseExampleV2", none, serialized=batch, names=unnamed, **ragged)
    plain_attrs = {"num_sparse": 0, "sparse_types": [], "ragged_value_types": [], "ragged_split_types": []}
    for batch, key, size, default, fails in (
        (s(first), "a", [3], np.array([], np.int64), False),
        (s(first, second), "a", [3], np.array([7, 8, 9], np.int64), True),
        (s(first, b""), "a", [3], np.array([7, 8, 9], np.int64), False),
        (s(first, b""), "a", [3, 1], np.array([[7], [8], [9]], np.int64), False),
        (s(first, b""), "a", [3], np.array([], np.int64), True),
        (s(first, b""), "a", [3], np.array(7, np.int64), True),
        (s(first, b""), "a", [3], f32(7, 8, 9), True),
        (s(first, second), "f", [None], np.float32(3), False),
        (s(first, second), "a", [None], np.array(-1, np.int64), False),
        (s(first, second), "a", [None, 3], np.array(-1, np.int64), True),
        (s(first, b""), "a", [None, 3], np.array(-1, np.int64), False),
        (s(first, second), "a", [None], np.array([], np.int64), True),
        (s(second), "b", [], scalar("none"), False),
        (s(first, b""), "b", [2, 1], of(["v", "w"], (2, 1)), False),
    ):
        attrs = plain_attrs | {"dense_shapes": [shape(size)]}
        given = {"serialized": batch, "names": unnamed, "dense_defaults": [default]}
        given |= {"sparse_keys": s(), "dense_keys": s(key), "ragged_keys": s()}
        out.record("ParseExampleV2", attrs, **given, error=fails)
        v1 = {"serialized": batch, "names": unnamed, "dense_defaults": [default], "dense_keys": [scalar(key)]}
        v1_attrs = {"sparse_types": [], "dense_shapes": [shape(size)]}
        out.record("ParseExample", v1_attrs, **v1, sparse_keys=[], error=fails)
        if batch.size == 1:
            single = {"num_sparse": 0, "sparse_keys": [], "sparse_types": [], "dense_keys": [key], "dense_shapes": [shape(size)]}
            out.record("ParseSingleExample", single, serialized=scalar(batch[0]), dense_defaults=[default], error=fails)
    scalars = [scalar("a"), scalar("b")]
    v1_attrs = {"sparse_types": [tf.int64, tf.string], "dense_shapes": [shape([2])]}
    v1 = {"sparse_keys": scalars, "dense_keys": [scalar("f")], "dense_defaults": [f32(1, 2)]}
    for batch in batches:
        out.record("ParseExample", v1_attrs, serialized=batch, names=unnamed, **v1)
    single = {"num_sparse": 2, "sparse_keys": ["a", "b"], "dense_keys": ["f"]} | v1_attrs
    for message in (first, second, b"", plain):
        out.record("ParseSingleExample", single, serialized=scalar(message), dense_defaults=[f32(1, 2)])


def sequence(context, lists):
    """Returns a serialized example of a context and feature lists."""
    context = tf.train.Features(feature={key: feature(values) for key, values in context.items()})
    rows = {key: tf.train.FeatureList(feature=[feature(row) for row in rows]) for key, rows in lists.items()}
    lists = tf.train.FeatureLists(feature_list=rows)
    return tf.train.SequenceExample(context=context, feature_lists=lists).SerializeToString(deterministic=True)


def sequence_cases(out):
    """Records parsers of sequence examples.

    The row splits of one example outside a batch are left out: TensorFlow leaves this scalar uninitialized.
    """
    first = sequence(
        {"a": [1, -2], "b": [b"x", b""], "f": [1.5]},
        {"l": [[1, 2], [3, 4]], "r": [[], [5], None, [6, 7, 8]], "s": [[b"p"], [b"q\0", b"\xff"]], "f": [[0.5], [1.0]]},
    )
    second = sequence({"b": [b"y"], "a": [1 << 60, 7]}, {"l": [[9, 10]], "r": [], "s": [[b"long" * 20]], "f": [[2.0]], "z": [[1]]})
    # Numbers one by one instead of packed: the context {"a": [7, 8]} and the feature list {"l": [[1, 2], [3, 4]]}.
    plain = bytes.fromhex("0a0d0a0b0a016112061a0408070808" "12170a150a016c12100a061a04080108020a061a0408030804")
    batches = [s(first, second), s(second, b"", first), s(plain, plain), s()]
    int64, string, float32, shape = tf.int64, tf.string, tf.float32, tf.TensorShape

    def batch_case(serialized, context=({}, {}, {}), lists=({}, {}, {}), error=False):
        """Records a call. The dicts have the features by key, of the kinds sparse, dense and ragged."""
        attrs, given = {}, {"serialized": serialized, "debug_name": s()}
        for prefix, (sparse, dense, ragged) in (("context_", context), ("feature_list_", lists)):
            for kind, features in (("sparse", sparse), ("dense", dense), ("ragged", ragged)):
                given[f"{prefix}{kind}_keys"] = s(*features)
            attrs[f"N{prefix}sparse"] = len(sparse)
            attrs[f"{prefix}sparse_types"] = list(sparse.values())
            attrs[f"{prefix}dense_shapes"] = [shape(entry[1]) for entry in dense.values()]
            attrs[f"{prefix}ragged_value_types"] = [dtype for dtype, _ in ragged.values()]
            attrs[f"{prefix}ragged_split_types"] = [splits for _, splits in ragged.values()]
        attrs["Nfeature_list_dense"] = len(lists[1])
        attrs["feature_list_dense_types"] = [dtype for dtype, *_ in lists[1].values()]
        given["feature_list_dense_missing_assumed_empty"] = np.array([entry[2] for entry in lists[1].values()], bool)
        given["context_dense_defaults"] = [entry[0] for entry in context[1].values()]
        out.record("ParseSequenceExampleV2", attrs, **given, error=error)

    def keyed_cases(serialized, context=({}, {}), lists=({}, {}), error=False):
        """Records the two ops without ragged features, the second one for one example."""
        attrs = {"context_sparse_types": list(context[0].values()), "feature_list_sparse_types": list(lists[0].values())}
        attrs["context_dense_shapes"] = [shape(size) for _, size in context[1].values()]
        attrs["feature_list_dense_shapes"] = [shape(entry[1]) for entry in lists[1].values()]
        attrs["feature_list_dense_types"] = [entry[0] for entry in lists[1].values()]
        missing = [key for key, entry in lists[1].items() if entry[2]]
        defaults = [default for default, _ in context[1].values()]
        keys = {"context_sparse_keys": context[0], "context_dense_keys": context[1]}
        keys |= {"feature_list_sparse_keys": lists[0], "feature_list_dense_keys": lists[1]}
        counts = {"Ncontext_sparse": len(context[0]), "Ncontext_dense": len(context[1])}
        counts |= {"Nfeature_list_sparse": len(lists[0]), "Nfeature_list_dense": len(lists[1])}
        of_attrs = attrs | counts | {name: list(value) for name, value in keys.items()}
        of_attrs["feature_list_dense_missing_assumed_empty"] = missing
        given = {"serialized": serialized, "debug_name": s(), "context_dense_defaults": defaults}
        out.record("ParseSequenceExample", of_attrs, **given, error=error)
        if serialized.size == 1:
            given = {"serialized": scalar(serialized.reshape(-1)[0]), "debug_name": scalar(""), "context_dense_defaults": defaults}
            given["feature_list_dense_missing_assumed_empty"] = s(*missing)
            given |= {name: [scalar(key) for key in value] for name, value in keys.items()}
            out.record("ParseSingleSequenceExample", attrs, **given, error=error)

    pair, texts = {"a": (np.array([8, 9], np.int64), [2])}, {"b": string, "none": float32}
    rows = {"l": (int64, [2], True), "f": (float32, [], True)}
    for serialized in batches:
        ragged = {"f": (float32, tf.int32), "none2": (float32, int64)}, {"r": (int64, int64), "s2": (string, tf.int32)}
        batch_case(serialized, ({"b": string}, pair, ragged[0]), ({"s": string}, rows, ragged[1]))
        batch_case(serialized, lists=({"r": int64, "s": string}, {}, {}))
        keyed_cases(serialized, (texts, pair), ({"r": int64, "s": string}, rows))
    keyed_cases(s(first), (texts, pair), ({"r": int64, "s": string}, rows))
    keyed_cases(s(first), ({"b": string}, pair), ({"r": int64, "s": string}, rows))
    keyed_cases(s(sequence({}, {})), (texts, pair), ({"r": int64, "s": string}, rows))
    batch_case(scalar(first), (texts, pair, {}), ({"r": int64}, rows, {}))
    none = np.array([], np.int64)
    for serialized, context, lists, fails in (
        (s(first), {"a": (none, [2])}, {}, False),
        (s(sequence({}, {})), {"a": (none, [2])}, {}, True),
        (s(first), {"a": (none, [3])}, {}, True),
        (s(first), {"a": (none, [2, 1])}, {}, False),
        (s(first), {"a": (np.array([7], np.int64), [2])}, {}, True),
        (s(first), {"f": (none, [])}, {}, True),
        (s(first), {}, {"l": (int64, [2], False)}, False),
        (s(first), {}, {"l": (int64, [2, 1], False)}, False),
        (s(first), {}, {"l": (int64, [], False)}, True),
        (s(first), {}, {"l": (float32, [2], False)}, True),
        (s(first), {}, {"r": (int64, [], False)}, True),
        (s(first), {}, {"z": (int64, [], False)}, True),
        (s(first), {}, {"z": (int64, [3], True)}, False),
        (s(sequence({}, {"l": []})), {}, {"l": (int64, [2], False)}, False),
    ):
        batch_case(serialized, ({}, context, {}), ({}, lists, {}), error=fails)
        keyed_cases(serialized, ({}, context), ({}, lists), error=fails)
    batch_case(s(first), ({"a": float32}, {}, {}), error=True)
    batch_case(s(first), lists=({"r": float32}, {}, {}), error=True)
    batch_case(s(first, first[:-1]), ({"a": int64}, {}, {}), error=True)
    batch_case(of([first], (1, 1)), ({"a": int64}, {}, {}), error=True)


AWKWARD = s("", "a", b"\0", b"x\0y", b"\xff\xfe", b"caf\xc3", "é" * 40, bytes(range(0, 256, 3)))


def awkward_cases(out):
    """Records every op that takes strings on empty ones, long ones, ones with zeros and ones that are not UTF-8."""
    column, row = AWKWARD.reshape(-1, 1), AWKWARD.reshape(1, -1)
    reverse, count = AWKWARD[::-1].copy(), AWKWARD.size
    out.record("Add", x=column, y=row)
    for op in ("Equal", "NotEqual"):
        out.record(op, x=column, y=row)
    out.record("StringJoin", {"separator": "\0"}, inputs=[AWKWARD, reverse])
    out.record("ReduceJoin", {"separator": ", "}, inputs=row, reduction_indices=P([1]))
    ids = i32(0, 1, 0, 1, 2, 2, 3, 3)
    out.record("UnsortedSegmentJoin", {"separator": "|"}, inputs=AWKWARD, segment_ids=ids, num_segments=P(4))
    for attrs in ({}, {"width": 9}, {"width": 9, "fill": "-"}):
        out.record("AsString", attrs, input=AWKWARD)
    out.record("StringFormat", {"template": "<%s>", "summarize": -1}, inputs=[AWKWARD])
    for pos, length in ((0, 2), (0, 999), (-1, 1)):
        out.record("Substr", input=AWKWARD[3:], pos=np.int32(pos), len=np.int32(length))
    out.record("Substr", input=AWKWARD, pos=np.int32(2), len=np.int32(1), error=True)
    for sep in ("", "\0", "\xff".encode("latin1"), "a"):
        for maxsplit in (-1, 1):
            out.record("StringSplitV2", {"maxsplit": maxsplit}, input=AWKWARD, sep=scalar(sep))
    for delimiter in ("", "\0", b"\xff\0", "a"):
        for skip in (False, True):
            out.record("StringSplit", {"skip_empty": skip}, input=AWKWARD, delimiter=scalar(delimiter))
    attrs = {"separator": "\0", "ngram_widths": [2, 3], "left_pad": "<", "right_pad": ">", "pad_width": 1}
    attrs |= {"preserve_short_sequences": False}
    out.record("StringNGrams", attrs, data=AWKWARD, data_splits=i64(0, 2, 5, 8))
    for pattern, rewrite in (("a", "<\\0>"), ("x", ""), ("^", "é"), ("é+", "e")):
        given = {"pattern": scalar(pattern), "rewrite": scalar(rewrite)}
        out.record("RegexReplace", input=AWKWARD, **given)
        attrs = {"pattern": pattern, "rewrite": rewrite}
        out.record("StaticRegexReplace", attrs, input=AWKWARD)
    for pattern in ("", "a?", ".*", "é*", "x.y"):
        out.record("RegexFullMatch", input=AWKWARD, pattern=scalar(pattern))
        out.record("StaticRegexFullMatch", {"pattern": pattern}, input=AWKWARD)
    for text, fails in (("", True), (b"1\0", True), (b"\xff", True), ("0" * 100 + "7", False), ("7" + " " * 100, False)):
        for dtype in (tf.float32, tf.float64, tf.int32, tf.int64):
            out.record("StringToNumber", {"out_type": dtype}, string_tensor=s(text), error=fails)
    encoded = [base64.urlsafe_b64encode(value) for value in AWKWARD]
    out.record("DecodeBase64", input=s(*encoded))
    out.record("DecodeBase64", input=s(*(text.rstrip(b"=") for text in encoded)))
    for text in (b"\0", b"YQ\xff", b"YWJj" * 50 + b"Y"):
        out.record("DecodeBase64", input=s(text), error=True)
    quoted = [b'"' + value.replace(b'"', b'""') + b'",' + str(number).encode() for number, value in enumerate(AWKWARD)]
    out.record("DecodeCSV", records=s(*quoted), record_defaults=[s("none"), i32(0)])
    out.record("DecodeCSV", records=s(b"\xff", b"\0x", "", "é" * 40)[[0, 1, 3]], record_defaults=[s(b"\0")])
    for dtype in (tf.uint8, tf.int16, tf.float64):
        out.record("DecodeRaw", {"out_type": dtype}, bytes=s(LONG, LONG[::-1]))
        length = {"input_bytes": AWKWARD, "fixed_length": P(96)}
        out.record("DecodePaddedRaw", {"out_type": dtype}, **length)
    for encoding in ("UTF-8", "ISO-8859-1", "US-ASCII"):
        for errors in ("replace", "ignore"):
            attrs = {"input_encoding": encoding, "errors": errors}
            for op in ("UnicodeDecode", "UnicodeDecodeWithOffsets"):
                out.record(op, attrs, input=AWKWARD)
            out.record("UnicodeTranscode", attrs | {"output_encoding": "UTF-16-BE"}, input=AWKWARD)
    twice = np.concatenate([AWKWARD, reverse[:5]])
    out.record("Unique", x=twice)
    out.record("UniqueWithCounts", x=twice)
    for op in ("UniqueV2", "UniqueWithCountsV2"):
        out.record(op, x=twice, axis=P([0]))
    out.record("ListDiff", x=twice, y=AWKWARD[2:5])
    for name in ("a-b", "b-a", "intersection", "union"):
        out.record("DenseToDenseSetOperation", {"set_operation": name}, set1=row[:, :6], set2=row[:, 3:])
    cells = np.array([[number // 3, number % 3] for number in range(count)])
    sparse = {"indices": cells, "values": AWKWARD, "shape": i64(3, 3)}
    out.record("SetSize", set_indices=cells, set_values=AWKWARD, set_shape=i64(3, 3))
    out.record("SparseToDense", sparse_indices=cells, output_shape=P([3, 3], np.int64), sparse_values=AWKWARD, default_value=scalar(b"\xff\0"))
    out.record("SparseSlice", **sparse, start=i64(1, 0), size=i64(2, 2))
    out.record("SparseSplit", {"num_split": 2}, split_dim=P(1, np.int64), **sparse)
    doubled = {name: [value, value[::-1].copy() if name == "values" else value] for name, value in sparse.items()}
    out.record("SparseConcat", {"concat_dim": 1}, indices=doubled["indices"], values=doubled["values"], shapes=doubled["shape"])
    hollow = {"indices": cells * np.array([2, 1]), "values": AWKWARD, "dense_shape": i64(6, 3)}
    out.record("SparseFillEmptyRows", **hollow, default_value=scalar(b"\0"))
    given = {"value_rowids": i64(0, 0, 2, 2, 2, 5, 5, 6), "values": AWKWARD, "nrows": P(8, np.int64)}
    out.record("RaggedFillEmptyRows", **given, default_value=scalar(LONG))
    given = {"hypothesis_indices": cells, "hypothesis_values": AWKWARD, "hypothesis_shape": i64(3, 3)}
    given |= {"truth_indices": cells, "truth_values": reverse, "truth_shape": i64(3, 3)}
    out.record("EditDistance", **given)
    crossed = {"hashed_output": True, "num_buckets": 1000, "hash_key": 7, "out_type": tf.int64, "internal_type": tf.string}
    for attrs in (crossed, crossed | {"hashed_output": False, "num_buckets": 0, "out_type": tf.string}):
        out.record("SparseCross", attrs, indices=[cells], values=[AWKWARD], shapes=[i64(3, 3)], dense_inputs=[AWKWARD[:3].reshape(3, 1)])
    key, counter = (value.numpy() for value in tf.raw_ops.StatelessRandomGetKeyCounter(seed=[1, 2]))
    out.record("StatelessShuffle", value=AWKWARD, key=key, counter=counter, alg=np.int32(1))
    out.record("GatherV2", params=AWKWARD, indices=i32(7, 0, 4), axis=P(0))
    out.record("ConcatV2", values=[AWKWARD, reverse], axis=P(0))
    out.record("Tile", input=AWKWARD, multiples=P([2]))
    out.record("Transpose", x=np.stack([AWKWARD, reverse]), perm=P([1, 0]))
    out.record("SelectV2", condition=np.array([True, False] * 4), t=AWKWARD, e=reverse)


def feature_cases(out):
    """Crosses with options as inputs, and floats in hexadecimal. TensorFlow crashes on dense integers with a strong
    hash."""
    cells = i64([0, 0], [0, 3], [2, 0], [2, 1])
    words, other = s("a", "", LONG, b"\xff\0"), s("x", "long words have other hashes", b"a\0b")
    numbers, matrix = i64(5, -6, 7, -(1 << 63)), i64([3, -4], [5, 6], [7, 8])
    names = of(["x", "u", "y", b"\0", "", LONG], (3, 2))
    none = {"indices": [], "values": [], "shapes": []}
    single = {"indices": [cells], "values": [words], "shapes": [i64(3, 5)]}
    pair = {"indices": [cells, cells[1:]], "values": [words, other], "shapes": [i64(3, 5), i64(3, 4)]}
    mixed = {"indices": [cells, cells[1:]], "values": [numbers, other], "shapes": [i64(3, 5), i64(3, 4)]}
    empty = {"indices": [cells[:0]], "values": [words[:0]], "shapes": [i64(2, 0)]}
    cases = [
        (single, []), (pair, []), (pair, [names]), (mixed, [names]), (none, [names, names[:, 1:]]), (empty, []),
        (none, []), (empty, [names[:2]]), (mixed, []), (single, [names]),
    ]
    for number, (given, dense) in enumerate(cases):
        out.record("SparseCrossV2", **given, dense_inputs=dense, sep=scalar(["_X_", "", "é\0", LONG][number % 4]))
    for given, dense in (*cases, (none, [matrix]), (mixed, [matrix]), (pair, [matrix, names])):
        for is_strong, salt in ((False, i64(0, 0)), (False, i64(3, -4)), (True, i64(1, 2)), (True, i64(-1, 1 << 62))):
            if not (is_strong and any(part is matrix for part in dense)):
                buckets = np.int64(0 if salt[1] > 2 else 1000)
                options = {"num_buckets": buckets, "strong_hash": np.bool_(is_strong), "salt": salt}
                out.record("SparseCrossHashed", **given, dense_inputs=dense, **options)
    options = {"num_buckets": np.int64(0), "strong_hash": np.bool_(False)}
    out.record("SparseCrossHashed", **single, dense_inputs=[], **options, salt=i64(1), error=True)
    out.record("SparseCrossV2", **single, dense_inputs=[matrix[:2]], sep=scalar("-"), error=True)
    good = s(
        "0x1p3", "0X1.8P-1", "-0x10", " 0x1p3 ", "0x.8", "0x1.", "+0xap0", "0x1p2000", "-0x1p2000", "0x1.ffffffp0",
        "0x1.000001p0", "0x1.0000010000000000001p0", "0x1.ffffffffffffffp0", "0x1p-1080", "0x1p-1074", "0x1.8p-1075",
        "0x1p-1075", "0x1p-150", "0x1p-149", "0x1.8p-150", "0x0.00000000000000001p0", "0x1p+3", "0x1p99999999999999999999",
        "0x0p99999999999999", "0x12345678901234567890", "0xffffffffffffffff", "0x8000000000000400", "0x8000000000000c00",
        "0x80000080", "0x80000081", "0x1.fffffffffffff8p1023", "0x1.fffffep127", "0x1.ffffffp127", "0x1p-99999999999999999999",
        "infinity", "-Infinity", "INF", "0x.00000000000000000000001p100", "-0x0", "0x1.fffffffffffff7ffp1023",
    )
    for dtype in (tf.float32, tf.float64):
        out.record("StringToNumber", {"out_type": dtype}, string_tensor=good)
        for bad in ("0x", "0x.", "0x.p1", "0x1p3f", "0x1p", "0x1p+", "0x1 p3", "0x1p+-3", "0x-1", "0x+1", "0xg", "0x1.2.3"):
            out.record("StringToNumber", {"out_type": dtype}, string_tensor=s(bad), error=True)
    out.record("StringToNumber", {"out_type": tf.int64}, string_tensor=s("0x1p3"), error=True)


def tensor_proto_cases(out):
    """Messages of tensors, as TensorFlow writes them and in all other forms."""
    matrix = np.array([[1, 0, 5], [7, 100, 1]])
    for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
                  "float32", "float64", "complex64", "complex128"):
        for x in (matrix, matrix[:, :0], matrix[0, 2], *([np.resize(matrix, (150, 1))] if dtype == "int16" else [])):
            x = x.astype(tf.as_dtype(dtype).as_numpy_dtype)
            out.record("SerializeTensor", tensor=x)
            message = tf.io.serialize_tensor(x).numpy()
            out.record("ParseTensor", {"out_type": tf.as_dtype(dtype)}, serialized=scalar(message))
            if x.ndim == 0:
                other = tf.int64 if dtype == "float32" else tf.float32
                out.record("ParseTensor", {"out_type": other}, serialized=scalar(message), error=True)
    for x in (GRID, MIXED, scalar("a"), of([], (0, 2))):
        out.record("SerializeTensor", tensor=x)
        message = tf.io.serialize_tensor(tf.constant(x, tf.string)).numpy()
        out.record("ParseTensor", {"out_type": tf.string}, serialized=scalar(message))
    for dtype, fields in (
        (tf.float32, 'dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: [1, 2, 3]'),
        (tf.float32, 'dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: [1.5, 2.25]'),
        (tf.float32, 'dtype: DT_FLOAT tensor_shape { dim { size: 3 } }'),
        (tf.float32, 'dtype: DT_FLOAT tensor_shape { unknown_rank: true }'),
        (tf.float32, 'dtype: DT_FLOAT'),
        (tf.float64, 'dtype: DT_DOUBLE tensor_shape { dim { size: 2 name: "n" } } double_val: -0.1 version_number: 3'),
        (tf.int8, 'dtype: DT_INT8 tensor_shape { dim { size: 2 } } int_val: 300'),
        (tf.uint16, 'dtype: DT_UINT16 tensor_shape { dim { size: 2 } } int_val: [-1, 70000]'),
        (tf.int32, 'dtype: DT_INT32 tensor_shape { dim { size: 2 } } float_val: 2'),
        (tf.int32, 'dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: [-5, 2147483647]'),
        (tf.int64, 'dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: [-9223372036854775808, 3]'),
        (tf.uint32, 'dtype: DT_UINT32 tensor_shape { dim { size: 1 } } uint32_val: 4294967295'),
        (tf.uint64, 'dtype: DT_UINT64 tensor_shape { dim { size: 1 } } uint64_val: 18446744073709551615'),
        (tf.complex64, 'dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: [1, 2, 3]'),
        (tf.complex128, 'dtype: DT_COMPLEX128 tensor_shape { dim { size: 2 } } dcomplex_val: [1, 2, 3, 4]'),
        (tf.float16, 'dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 15360'),
        (tf.bfloat16, 'dtype: DT_BFLOAT16 tensor_shape { dim { size: 2 } } half_val: 16256'),
        (tf.bool, 'dtype: DT_BOOL tensor_shape { dim { size: 3 } } bool_val: [true, false]'),
        (tf.string, 'dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: ["a", "bc"]'),
        (tf.string, 'dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: ["a", "bc"]'),
        (tf.string, 'dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\\001\\002abc"'),
        (tf.int32, 'dtype: DT_INT32 tensor_shape { dim { size: 1 } } tensor_content: "aaaa" int_val: 3'),
    ):
        message = text_format.Parse(fields, tensor_pb2.TensorProto()).SerializeToString()
        out.record("ParseTensor", {"out_type": dtype}, serialized=scalar(message))
    for dtype, fields in (
        (tf.float32, 'dtype: DT_FLOAT tensor_shape { dim { size: -1 } }'),
        (tf.float32, 'dtype: DT_FLOAT tensor_shape { dim { size: 3 } } tensor_content: "aaaa"'),
        (tf.bool, 'dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: "\\001\\002"'),
        (tf.float32, 'dtype: DT_FLOAT_REF tensor_shape { dim { size: 1 } } float_val: 2'),
        (tf.string, 'dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\\001\\003abc"'),
    ):
        message = text_format.Parse(fields, tensor_pb2.TensorProto()).SerializeToString()
        out.record("ParseTensor", {"out_type": dtype}, serialized=scalar(message), error=True)
    for message in (b"\x08", b"abc", b"", b"\x08\x01\x12\x00\x22\x03abc"):
        out.record("ParseTensor", {"out_type": tf.float32}, serialized=scalar(message), error=True)
    out.record("ParseTensor", {"out_type": tf.float32}, serialized=s(b"\x08\x01"), error=True)


def sparse_proto_cases(out):
    indices = np.array([[0, 1], [0, 3], [2, 0], [3, 2]], np.int64)
    sizes = i64(5, 4)
    rng = np.random.default_rng(61)
    names = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128".split()
    every = [rng.integers(0, 90, size=4).astype(tf.as_dtype(name).as_numpy_dtype) for name in names]
    for values in every + [s("", "bc", b"\xff\0", "long" * 40)]:
        dtype = tf.as_dtype(values.dtype)
        parts = {"sparse_indices": indices, "sparse_values": values, "sparse_shape": sizes}
        out.record("SerializeSparse", **parts)
        out.record("SerializeManySparse", **parts)
        rows = tf.raw_ops.SerializeManySparse(**parts).numpy()
        whole = tf.raw_ops.SerializeSparse(**parts).numpy()
        out.record("DeserializeSparse", {"dtype": dtype}, serialized_sparse=whole)
        for op in ("DeserializeSparse", "DeserializeManySparse"):
            out.record(op, {"dtype": dtype}, serialized_sparse=rows)
            out.record(op, {"dtype": dtype}, serialized_sparse=rows[3:])
        out.record("DeserializeSparse", {"dtype": dtype}, serialized_sparse=rows[:4].reshape(2, 2, 3))
        out.record("DeserializeSparse", {"dtype": dtype}, serialized_sparse=rows[:2].reshape(1, 2, 1, 3))

    for dtype in (tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32):
        values = np.arange(4).astype(dtype.as_numpy_dtype)
        out.record("SerializeSparse", sparse_indices=indices, sparse_values=values, sparse_shape=sizes)

    def serialized(rows, values, sizes):
        rows = np.array(rows, np.int64).reshape(len(values), len(sizes))
        return tf.raw_ops.SerializeSparse(sparse_indices=rows, sparse_values=f32(*values), sparse_shape=i64(*sizes)).numpy()

    float_rows = {"dtype": tf.float32}
    for strings in (
        [serialized([5], [1], [3]), serialized([1], [2], [4])],
        [serialized([], [], [0, 3]), serialized([1, 2], [2], [4, 3])],
        [serialized([], [1], []), serialized([], [3], [])],
        [serialized([], [], [2]), serialized([], [], [7])],
        [serialized([0], [1], [0]), serialized([0], [1], [0])],
    ):
        strings = np.stack(strings)
        out.record("DeserializeSparse", float_rows, serialized_sparse=strings)
        out.record("DeserializeManySparse", float_rows, serialized_sparse=strings)
        is_wrong = strings[0][2] == serialized([0], [1], [0])[2]
        out.record("DeserializeSparse", float_rows, serialized_sparse=strings[None], error=is_wrong)
    pair = np.stack([serialized([5], [1], [3]), serialized([1, 2], [2], [4, 3])])
    for op in ("DeserializeSparse", "DeserializeManySparse"):
        out.record(op, float_rows, serialized_sparse=pair, error=True)
        out.record(op, float_rows, serialized_sparse=pair[:0], error=True)
        out.record(op, {"dtype": tf.int32}, serialized_sparse=pair[:1], error=True)
        out.record(op, float_rows, serialized_sparse=pair[:1, ::-1], error=True)
        out.record(op, float_rows, serialized_sparse=of([b"\x08", b"", b"a"], (1, 3)), error=True)
    out.record("DeserializeManySparse", float_rows, serialized_sparse=pair[0], error=True)
    two = {"sparse_values": f32(1, 2), "sparse_shape": i64(2, 3)}
    for wrong in ([[1, 0], [0, 1]], [[0, 1], [0, 1]], [[0, 1], [0, 3]], [[0, 1], [2, 0]], [[0, 1]]):
        out.record("SerializeManySparse", sparse_indices=np.array(wrong, np.int64), **two, error=True)
    vector = {"sparse_indices": np.array([[1]]), "sparse_values": f32(1), "sparse_shape": i64(3)}
    out.record("SerializeManySparse", **vector, error=True)
    # This op does not check its operands.
    out.record("SerializeSparse", sparse_indices=np.array([[1, 9]]), **two)


FAMILIES = (
    text_cases, join_cases, substr_cases, split_cases, regex_cases, hash_cases, number_cases, format_cases, raw_cases,
    unicode_cases, byte_cases, csv_cases, example_cases, sequence_cases, awkward_cases,
    feature_cases, tensor_proto_cases, sparse_proto_cases,
)

if __name__ == "__main__":
    record(FAMILIES, OUTPUT)
