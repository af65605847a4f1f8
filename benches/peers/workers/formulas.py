"""Cases that are written the same way for every array library, as functions of a namespace and the inputs.

A namespace `m` has `sqrt`, `exp`, `log`, `erf`, `relu`, `softmax`, `maximum`, `round`, `clip`, `mean`, `rsqrt`,
`softplus`, `lgamma`, `einsum(equation, *arrays)`,
`pad(x, n)`, `concat(arrays, axis)`, `transpose(x, axes)`, `reshape(x, sizes)`, `cast(x, dtype)` and `constant(list)`.
"""

MEAN = [0.485, 0.456, 0.406]
DEVIATION = [0.229, 0.224, 0.225]
SCALE, ZERO_POINT = 0.03125, 128.0
RELUS = [f"relu(a*x+b) {size}" for size in ("4 KiB", "256 KiB", "4 MiB", "256 MiB")]
# Case: equation.
EINSUMS = {
    "einsum bij,bjk->bik [32,128,128]": "bij,bjk->bik",
    "einsum bqhd,bkhd->bhqk [8,128,8,64]": "bqhd,bkhd->bhqk",
    "einsum ij,jk,kl->il [1024,32,1024,32]": "ij,jk,kl->il",
    "einsum ij,ij->i [4096,1024]": "ij,ij->i",
}
TENS = ["10 ops, scalar", "10 ops, 8 elements", "10 ops, 256 MiB"]


def scaled_relu(m, x, a, b):
    return m.relu(a * x + b)


def ten(m, x):
    for k in range(5):
        x = x * 0.5 + float(k)
    return x


def two_hundred(m, x):
    for k in range(50):
        k = float(k % 5)
        x = m.maximum((x + k) * 0.75, -2.0) - 0.125 * k
    return x


def black_scholes(m, spot, strike, time):
    rate, volatility = 0.02, 0.3
    spread = m.sqrt(time) * volatility
    d1 = (m.log(spot / strike) + time * (rate + 0.5 * volatility * volatility)) / spread
    d2 = d1 - spread

    def normal(d):
        return m.erf(d * 0.7071067811865476) * 0.5 + 0.5

    return spot * normal(d1) - strike * m.exp(time * -rate) * normal(d2)


def quantize(m, x):
    return m.cast(m.clip(m.round(x * (1 / SCALE)) + ZERO_POINT, 0.0, 255.0), "uint8")


def dequantize(m, x):
    return (m.cast(x, "float32") - ZERO_POINT) * SCALE


def quantized_chain(m, x):
    return dequantize(m, quantize(m, m.relu(dequantize(m, quantize(m, x)) * 0.7 + 0.1)))


def layer_norm(m, x, scale, shift):
    centred = x - m.mean(x, -1)
    return centred * m.rsqrt(m.mean(centred * centred, -1) + 1e-5) * scale + shift


def normalized(m, x):
    x = (m.cast(x, "float32") * (1 / 255) - m.constant(MEAN)) / m.constant(DEVIATION)
    return m.transpose(x, (0, 3, 1, 2))


def space_to_depth(m, x):
    x = m.transpose(m.reshape(x, (8, 128, 2, 128, 2, 16)), (0, 1, 3, 2, 4, 5))
    return m.reshape(x, (8, 128, 128, 64))


def patches(m, x):
    x = m.pad(x, 1)
    return m.concat([x[:, r : r + 128, c : c + 128, :] for r in range(3) for c in range(3)], -1)


def space_to_batch(m, x):
    x = m.reshape(m.pad(x, 2), (8, 130, 2, 130, 2, 16))
    return m.reshape(m.transpose(x, (2, 4, 0, 1, 3, 5)), (32, 130, 130, 16))


def perceptron(m, x, w1, b1, w2, b2):
    return m.softmax(m.relu(x @ w1 + b1) @ w2 + b2)


def attention(m, x, query, key, value, out):
    q, k, v = x @ query, x @ key, x @ value
    scores = m.softmax((q @ m.transpose(k, (0, 2, 1))) * 0.125)
    return (scores @ v) @ out + x


def einsum(equation):
    return lambda m, *x: m.einsum(equation, *x)


FORMULAS = {
    **{name: einsum(equation) for name, equation in EINSUMS.items()},
    "erf 1M": lambda m, x: m.erf(x),
    "softplus 1M": lambda m, x: m.softplus(x),
    "lgamma 1M": lambda m, x: m.lgamma(x),
    "complex multiply-add 1M": lambda m, a, b, c: a * b + c,
    **{name: scaled_relu for name in RELUS},
    **{name: ten for name in TENS},
    "chain of 200 ops, 64K": two_hundred,
    "Black-Scholes f32 1M": black_scholes,
    "Black-Scholes f64 1M": black_scholes,
    "quantize 4M": quantize,
    "dequantize 4M": dequantize,
    "quantize-dequantize chain 4M": quantized_chain,
    "softmax [1024,1024]": lambda m, x: m.softmax(x),
    "softmax [4096,1024]": lambda m, x: m.softmax(x),
    "layer norm [4096,1024]": layer_norm,
    "u8 NHWC [32,224,224,3] to f32 NCHW, normalized": normalized,
    "concat 8 × [1024,512] axis 1": lambda m, *x: m.concat(x, 1),
    "pad [32,224,224,3] by 3": lambda m, x: m.pad(x, 3),
    "space_to_depth [8,256,256,16] by 2": space_to_depth,
    "space_to_batch_nd [8,256,256,16] by 2": space_to_batch,
    "image patches 3×3 [8,128,128,32]": patches,
    "matmul 512³": lambda m, a, b: a @ b,
    "matmul 2048³": lambda m, a, b: a @ b,
    "[1,784]×[784,512]": lambda m, a, b: a @ b,
    "MLP 784-512-10, batch 1": perceptron,
    "MLP 784-512-10, batch 64": perceptron,
    "attention block [8,128,64]": attention,
    # Equal row splits are known to be equal, so that only the flat values are added.
    "ragged + ragged": lambda m, x, splits, y: (x + y, splits),
    "ragged + ragged, flat values": lambda m, x, splits, y: x + y,
    "dense + dense beside ragged": lambda m, x, y: x + y,
}


def bound(namespace, overrides):
    """Binds the formulas to a namespace. `overrides` are the cases that the library writes in its own way."""

    def bind(formula):
        return lambda *inputs: formula(namespace, *inputs)

    return {**{name: bind(formula) for name, formula in FORMULAS.items()}, **overrides}
