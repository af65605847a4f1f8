"""Writes complex_edges.txt: functions of complex numbers whose parts are zeros, ones, large, infinite or NaN.

Computed with numpy 2.4.6, which follows annex G of C99. A line holds a function, the parts of its argument and the parts
of its result.

Run: pip install numpy==2.4.6 && python tests/reference/complex_edges.py
"""

from pathlib import Path

import numpy as np

PARTS = [0.0, -0.0, 1.0, -1.0, 4.0, -4.0, np.inf, -np.inf, np.nan]
FUNCTIONS = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}

np.seterr(all="ignore")
lines = []
for name, function in FUNCTIONS.items():
    for real in PARTS:
        for imaginary in PARTS:
            result = function(np.array([complex(real, imaginary)]))[0]
            numbers = [real, imaginary, float(result.real), float(result.imag)]
            lines.append(" ".join([name, *map(repr, numbers)]))
(Path(__file__).resolve().parent / "complex_edges.txt").write_text("\n".join(lines) + "\n")
