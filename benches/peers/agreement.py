"""Compares the results of a peer with those of shapeflow."""

import numpy as np

FILE_TYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1", "bool": "?", "c64": "c8"}


def disagreement(case, ours, theirs):
    """Describes how a peer's results differ from ours beyond rounding; `None` if they agree."""

    def raw(file):
        return np.fromfile(file["path"], FILE_TYPES[file["dtype"]]).reshape(file["sizes"])

    ours = [raw(file) for file in ours]
    theirs = [np.load(file) if isinstance(file, str) else raw(file) for file in theirs]
    if "unique_with_counts" in case:
        ours, theirs = in_order(ours), in_order(theirs)
    if len(ours) != len(theirs):
        return f"expected {len(ours)} results, got {len(theirs)}"
    for a, b in zip(ours, theirs):
        if a.size != b.size or [n for n in a.shape if n != 1] != [n for n in b.shape if n != 1]:
            return f"expected sizes {a.shape}, got {b.shape}"
        if a.size == 0:
            continue
        a, b = reals(a.ravel()), reals(b.ravel())
        sample = np.abs(a[:: max(1, a.size >> 20)].astype("f8"))
        far, worst, largest = 0, 0.0, float(sample[np.isfinite(sample)].max(initial=0.0))
        for start in range(0, a.size, 1 << 20):
            x, y = a[start : start + (1 << 20)].astype("f8"), b[start : start + (1 << 20)].astype("f8")
            with np.errstate(invalid="ignore"):
                error = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
            # Libraries add in different orders, which makes an absolute error in proportion to the largest element.
            # Two NaN agree: their error is 0. The first comparison fails for them, because the bound is NaN.
            far += int((~((error <= 2e-4 * np.abs(x) + 2e-5 * largest) | (error == 0))).sum())
            worst = max(worst, float(error.max()))
        # A value halfway between two quantized values may be rounded either way.
        if far > a.size * (1e-2 if "quantize" in case else 0):
            return f"{far} of {a.size} elements differ, by at most {worst:.3g}"
    return None


def reals(array):
    """Returns the parts of complex numbers, or the numbers themselves."""
    return array.view(array.real.dtype) if np.iscomplexobj(array) else array


def in_order(unique):
    """Puts the results of `unique_with_counts` into a form that does not depend on the order of the distinct values.

    Returns the distinct values in ascending order, their counts, and the value of each element.
    """
    values, positions, counts = (np.asarray(part) for part in unique)
    order = np.argsort(values)
    return [values[order], counts[order], values[positions.ravel()]]
