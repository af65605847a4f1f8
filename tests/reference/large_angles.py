"""Writes large_angles.txt: sine, cosine and tangent of large doubles, computed with integers.

A line holds a double, and for each function the nearest double and the exact value minus that double in units of the last
place. Doubles are written as 16 hexadecimal digits. Half of the arguments are close to multiples of pi/2.

Run: python large_angles.py > large_angles.txt
"""

import random
import struct
from fractions import Fraction

BITS = 1600
ONE = 1 << BITS


def arctan_of_inverse(n):
    """Returns arctan(1/n) in units of 2^-BITS."""
    term, total, k, sign = ONE // n, ONE // n, 3, -1
    while term:
        term //= n * n
        total += sign * (term // k)
        k, sign = k + 2, -sign
    return total


PI = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
HALF_PI = PI // 2


def sine_and_cosine(x):
    """Returns the sine and the cosine of a double of magnitude 1 or more, in units of 2^-500."""
    numerator, denominator = x.as_integer_ratio()
    angle = (numerator << BITS) // denominator
    quadrant = (2 * angle + HALF_PI) // (2 * HALF_PI)
    # The remainder keeps more than 500 bits: the largest double takes 1,024 of the bits of pi.
    r = (angle - quadrant * HALF_PI) >> (BITS - 500)
    sine = cosine = 0
    term, k = 1 << 500, 0
    while term:
        if k % 2 == 0:
            cosine += term if k % 4 == 0 else -term
        else:
            sine += term if k % 4 == 1 else -term
        k += 1
        size = abs(term * r) // (k << 500)
        term = size if (term < 0) == (r < 0) else -size
    turned = [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][quadrant % 4]
    return turned


def nearest(value):
    """Returns the nearest double of a fraction, and the difference in units of the last place."""
    double = value.numerator / value.denominator
    exponent = ((struct.unpack("<q", struct.pack("<d", double))[0] >> 52) & 0x7FF) - 1075
    return double, float((value - Fraction(double)) / Fraction(2) ** exponent)


def functions_of(x):
    sine, cosine = sine_and_cosine(x)
    return [Fraction(sine, 1 << 500), Fraction(cosine, 1 << 500), Fraction(sine, cosine)]


def close_to_quarter_turns(exponent):
    """Returns the double `m * 2^exponent` that is close to a multiple of pi/2 with the largest `m` below 2^53."""
    # The denominators of the convergents of the continued fraction of 2^exponent / (pi/2).
    a, b, before, m = (1 << exponent) << BITS, HALF_PI, 1, 0
    while True:
        quotient, rest = divmod(a, b)
        following = quotient * m + before
        if following >= 1 << 53:
            return float(m) * 2.0**exponent
        a, b, before, m = b, rest, m, following


def hexadecimal(x):
    return struct.pack(">d", x).hex()


def arguments(random):
    for row in range(120):
        exponent = 20 + row * 1003 // 119
        yield random.choice([-1, 1]) * random.uniform(1, 2) * 2.0**exponent
    for row in range(120):
        yield random.choice([-1, 1]) * close_to_quarter_turns(row * 970 // 119)
    yield from (2.0**20, -(2.0**20), 1e22, 6381956970095103 * 2.0**797, 1.7976931348623157e308)


if __name__ == "__main__":
    for x in arguments(random.Random(7)):
        if abs(x) >= 2.0**20:
            results = [f"{hexadecimal(double)} {rest:.4}" for double, rest in map(nearest, functions_of(x))]
            print(hexadecimal(x), *results)
