"""Writes bessel_functions.txt: values of Bessel functions and of integrals, computed by mpmath with 60 digits.

A line holds the function, its argument, and the double nearest to the exact value.
Run: python bessel_functions.py > bessel_functions.txt (needs mpmath).
"""

import random

import mpmath as mp

mp.mp.dps = 60
random.seed(5)

# Each function with the least and the greatest exponent of 2 of its arguments, and whether they may be negative.
FUNCTIONS = {
    "bessel_i0": (lambda x: mp.besseli(0, x), -10, 9, True),
    "bessel_i1": (lambda x: mp.besseli(1, x), -10, 9, True),
    "bessel_j0": (lambda x: mp.besselj(0, x), -10, 30, True),
    "bessel_j1": (lambda x: mp.besselj(1, x), -10, 30, True),
    "bessel_y0": (lambda x: mp.bessely(0, x), -10, 30, False),
    "bessel_y1": (lambda x: mp.bessely(1, x), -10, 30, False),
    "bessel_k0": (lambda x: mp.besselk(0, x), -10, 9, False),
    "bessel_k1": (lambda x: mp.besselk(1, x), -10, 9, False),
    "bessel_k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), -10, 20, False),
    "bessel_k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), -10, 20, False),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), -20, 6, True),
    "expint": (mp.ei, -10, 9, False),
    "fresnel_cos": (mp.fresnelc, -10, 20, True),
    "fresnel_sin": (mp.fresnels, -10, 20, True),
    "spence": (lambda x: mp.re(mp.polylog(2, 1 - x)), -10, 30, False),
}

for name, (function, low, high, signed) in FUNCTIONS.items():
    for row in range(40):
        # Half of the arguments have sizes where the methods of computation change.
        x = random.uniform(0.1, 40) if row % 2 else 2.0 ** random.uniform(low, high)
        x = random.choice([-x, x]) if signed else x
        print(name, repr(x), repr(float(function(mp.mpf(x)))))

# The least positive number, half of which is 0.
for name in ["bessel_k0", "bessel_k0e", "bessel_y0"]:
    print(name, repr(5e-324), repr(float(FUNCTIONS[name][0](mp.mpf(5e-324)))))
