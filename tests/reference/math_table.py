"""Writes math_table.txt: exact values of double-precision math functions, computed by mpmath.

A line holds the function, its arguments, the double nearest to the exact value, and the exact value minus that
double in units of the last place. Doubles are written as 16 hexadecimal digits.
Run: python math_table.py > math_table.txt (needs mpmath).
"""

import random
import struct

import mpmath as mp

mp.mp.prec = 400
# Rows of a function of one argument; a function of two has twice as many.
ROWS = 80


def spread(low, high, signed=True):
    """Returns a generator of doubles with magnitudes from 2^low to 2^high, uniform in the exponent."""

    def draw():
        exponent = random.uniform(low, high)
        if exponent < -1022:
            x = random.randrange(1, 1 << 52) * 5e-324
        else:
            x = 2.0 ** (exponent // 1) * random.uniform(1, 2)
        return random.choice([-x, x]) if signed else x

    return draw


def between(low, high):
    """Returns a generator of doubles uniform in [low, high]."""
    return lambda: random.uniform(low, high)


def quarter_turns(count):
    """Returns a generator of the doubles nearest to multiples of pi/2."""
    return lambda: float(random.randrange(1, count) * mp.pi / 2)


turns = [between(-10, 10), spread(-1074, 19.9), quarter_turns(1 << 19)]
unit = [between(-1, 1), between(-1, 1), spread(-60, -0.01)]
UNARY = {
    "exp": (mp.exp, [between(-746, 709), between(-2, 2), spread(-60, 9)]),
    "exp2": (lambda x: mp.mpf(2) ** x, [between(-1075, 1023), between(-2, 2), spread(-60, 9)]),
    "expm1": (mp.expm1, [between(-40, 709), between(-2, 2), spread(-1074, 9)]),
    "log": (mp.log, [spread(-1074, 1023, False), between(0.3, 3)]),
    "log2": (lambda x: mp.log(x) / mp.log(2), [spread(-1074, 1023, False), between(0.3, 3)]),
    "log1p": (mp.log1p, [spread(-1074, 1023, False), between(-1, 3)]),
    "sin": (mp.sin, turns),
    "cos": (mp.cos, turns),
    "tan": (mp.tan, turns),
    "tanh": (mp.tanh, [between(-22, 22), between(-2, 2), spread(-1074, 4)]),
    "sinh": (mp.sinh, [between(-710, 710), between(-2, 2), spread(-1074, 9)]),
    "cosh": (mp.cosh, [between(-710, 710), between(-2, 2), spread(-30, 9)]),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), [between(-746, 40), between(-4, 4)]),
    "erf": (mp.erf, [between(-6.5, 6.5), between(-1.5, 1.5), spread(-1022, 2)]),
    "erfc": (mp.erfc, [between(-6.5, 27), between(-1.5, 1.5), spread(-60, 4)]),
    "asin": (mp.asin, unit),
    "acos": (mp.acos, unit),
    "atan": (mp.atan, [between(-4, 4), spread(-1074, 1023)]),
    "asinh": (mp.asinh, [spread(-1074, 1023), between(-4, 4)]),
    "acosh": (mp.acosh, [spread(0, 1023, False), between(1, 3)]),
    "atanh": (mp.atanh, unit),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [spread(-1074, 1023), between(-8, 8)]),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [spread(-1074, 1023, False), between(0.3, 3)]),
}

# Printed last, so that the rows above them keep their random numbers.
SPECIAL = {
    "lgamma": (lambda x: mp.re(mp.loggamma(x)), [between(0, 4), spread(-1074, 1000, False), between(0.5, 40)]),
    "digamma": (mp.digamma, [between(0, 4), spread(-1000, 1000, False), between(0.5, 40)]),
    "bessel_i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [between(-8, 8), spread(-60, 20), between(0, 40)]),
    "bessel_i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [between(-8, 8), spread(-1000, 20), between(0, 40)]),
}



def ndtri(p):
    """Returns the quantile of the normal distribution."""
    x = mp.mpf(0)
    tail = min(p, 1 - p)
    if tail < mp.mpf("0.2"):
        x = -mp.sqrt(-2 * mp.log(tail))
        for _ in range(60):
            x -= (mp.log(mp.ncdf(x)) - mp.log(tail)) * mp.ncdf(x) / mp.npdf(x)
        return x if p < 0.5 else -x
    for _ in range(12):
        x -= (mp.ncdf(x) - p) / mp.npdf(x)
    return x


# Printed after all other rows.
INVERSES = {
    "erfinv": (mp.erfinv, [between(-1, 1), spread(-900, -0.01), lambda: 1 - spread(-53, -1, False)()]),
    "ndtri": (lambda p: ndtri(mp.mpf(p)), [between(0, 1), spread(-1000, -1, False), lambda: 1 - spread(-53, -1, False)()]),
}


def power_arguments():
    """Draws arguments of pow whose result is finite."""
    kind = random.randrange(4)
    if kind == 0:
        return random.uniform(0.5, 2), random.uniform(-1, 1) * 2 ** random.uniform(0, 10)
    if kind == 1:
        return -random.uniform(0.1, 10), float(random.randrange(-40, 40))
    x = 2.0 ** random.uniform(-1020, 1020) if kind == 2 else 1 + random.uniform(-1, 1) * 2.0 ** random.uniform(-50, -1)
    return x, float(random.uniform(-1, 1) * 1020 / (abs(mp.log(x, 2)) + mp.mpf(2) ** -60))


def point():
    """Draws arguments of atan2."""
    return (between(-4, 4)(), between(-4, 4)()) if random.random() < 0.6 else (spread(-500, 500)(), spread(-500, 500)())


BINARY = {
    "pow": (lambda x, y: mp.mpf(x) ** (int(y) if x < 0 else mp.mpf(y)), power_arguments),
    "atan2": (lambda y, x: mp.atan2(y, x), point),
}


def bits(x):
    """Returns the bits of a double as 16 hexadecimal digits."""
    return struct.pack(">d", x).hex()


def nearest(value):
    """Returns the double nearest to a value, possibly subnormal, and value - double in units of the last place."""
    exponent = max(int(mp.floor(mp.log(abs(value), 2))), -1022) - 52 if value else -1074
    unit = mp.mpf(2) ** exponent
    count = mp.nint(value / unit)
    return float(count) * 2.0**exponent if exponent > -1074 else int(count) * 5e-324, value / unit - count


def print_row(name, arguments, value):
    """Prints a line of the table."""
    double, error = nearest(mp.mpf(value))
    print(name, *map(bits, arguments), bits(double), mp.nstr(error, 4))


def print_unary(functions):
    """Prints the rows of functions of one argument."""
    for name, (function, generators) in functions.items():
        for row in range(ROWS):
            x = generators[row % len(generators)]()
            print_row(name, [x], function(mp.mpf(x)))


random.seed(1)
print_unary(UNARY)
for name, (function, draw) in BINARY.items():
    for _ in range(2 * ROWS):
        arguments = draw()
        print_row(name, arguments, function(*arguments))
print_unary(SPECIAL)
print_unary(INVERSES)
