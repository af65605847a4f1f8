"""numexpr: elementwise expressions whose results reuse the same memory."""

import numexpr
import numpy as np
from formulas import RELUS, TENS

numexpr.set_num_threads(1)
VERSION = numexpr.__version__

TEN = "x"
for k in range(5):
    TEN = f"({TEN} * half + k{k})"
# A literal is an f64, and would make numexpr compute in f64.
CONSTANTS = {"zero": np.float32(0), "half": np.float32(0.5), **{f"k{k}": np.float32(k) for k in range(5)}}
EXPRESSIONS = {
    **{name: ("where(a * x + b > zero, a * x + b, zero)", "xab") for name in RELUS},
    **{name: (TEN, "x") for name in TENS},
}


def place(arrays):
    return arrays


def make(case, placed, fed, request):
    text, names = EXPRESSIONS[case]
    inputs = {**dict(zip(names, placed)), **CONSTANTS}
    out = np.empty_like(placed[0])
    numexpr.evaluate(text, inputs, {}, out=out, casting="same_kind")
    return lambda: numexpr.re_evaluate(inputs)


def fetch(result):
    return [result]
