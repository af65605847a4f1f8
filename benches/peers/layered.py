"""Writes GraphDefs of any number of nodes: the layers of a text encoder, with the scopes of real models. It
needs no package.
"""

import struct

INT32, FLOAT = 3, 1
WIDTH, LENGTH, HEADS, WORDS = 16, 8, 2, 100


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """Encodes a field of a protocol buffer: bytes, text, an integer or a float."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def shape_proto(sizes):
    return b"".join(field(2, field(1, size)) for size in sizes)


def tensor(dtype, sizes, elements):
    """Encodes a tensor. One element stands for all elements, as TensorFlow writes constant tensors."""
    packed = struct.pack(f"<{len(elements)}f", *elements) if dtype == FLOAT else b"".join(map(varint, elements))
    return field(1, dtype) + field(2, shape_proto(sizes)) + field(5 if dtype == FLOAT else 7, packed)


class Layered:
    """A GraphDef that grows node by node. Each method returns the name of the node that it adds last."""

    def __init__(self):
        self.nodes = []

    def node(self, name, op, *inputs, **attrs):
        """Adds a node. An attribute is the encoded field of an `AttrValue`."""
        content = field(1, name) + field(2, op) + b"".join(field(3, name) for name in inputs)
        for key, value in attrs.items():
            content += field(5, field(1, key) + field(2, value))
        self.nodes.append(field(1, content))
        return name

    def float_op(self, name, op, *inputs, **attrs):
        return self.node(name, op, *inputs, T=field(6, FLOAT), **attrs)

    def floats(self, name, *sizes, value=0.5):
        return self.node(name, "Const", dtype=field(6, FLOAT), value=field(8, tensor(FLOAT, sizes, [value])))

    def ints(self, name, elements):
        sizes = [len(elements)] if isinstance(elements, list) else []
        elements = elements if sizes else [elements]
        return self.node(name, "Const", dtype=field(6, INT32), value=field(8, tensor(INT32, sizes, elements)))

    def dense(self, scope, x, inner, outer):
        product = self.float_op(f"{scope}/MatMul", "MatMul", x, self.floats(f"{scope}/kernel", inner, outer),
                                transpose_a=field(5, 0), transpose_b=field(5, 0))
        return self.float_op(f"{scope}/BiasAdd", "BiasAdd", product, self.floats(f"{scope}/bias", outer))

    def reshape(self, scope, x, sizes):
        return self.float_op(f"{scope}/Reshape", "Reshape", x, self.ints(f"{scope}/Reshape/shape", sizes),
                             Tshape=field(6, INT32))

    def transpose(self, scope, x, perm):
        return self.float_op(f"{scope}/transpose", "Transpose", x, self.ints(f"{scope}/transpose/perm", perm),
                             Tperm=field(6, INT32))

    def mean(self, name, x):
        return self.float_op(name, "Mean", x, self.ints(f"{name}/reduction_indices", [1]), keep_dims=field(5, 1),
                             Tidx=field(6, INT32))

    def layer_norm(self, scope, x):
        mean = self.mean(f"{scope}/moments/mean", x)
        difference = self.float_op(f"{scope}/moments/SquaredDifference", "SquaredDifference", x, mean)
        variance = self.mean(f"{scope}/moments/variance", difference)
        shifted = self.float_op(f"{scope}/batchnorm/add", "AddV2", variance, self.floats(f"{scope}/batchnorm/add/y"))
        root = self.float_op(f"{scope}/batchnorm/Rsqrt", "Rsqrt", shifted)
        scale = self.float_op(f"{scope}/batchnorm/mul", "Mul", root, self.floats(f"{scope}/gamma", WIDTH))
        scaled = self.float_op(f"{scope}/batchnorm/mul_1", "Mul", x, scale)
        middle = self.float_op(f"{scope}/batchnorm/mul_2", "Mul", mean, scale)
        offset = self.float_op(f"{scope}/batchnorm/sub", "Sub", self.floats(f"{scope}/beta", WIDTH), middle)
        return self.float_op(f"{scope}/batchnorm/add_1", "AddV2", scaled, offset)

    def gelu(self, scope, x):
        part = self.float_op(f"{scope}/truediv", "RealDiv", x, self.floats(f"{scope}/truediv/y", value=1.4142135))
        erf = self.float_op(f"{scope}/Erf", "Erf", part)
        shifted = self.float_op(f"{scope}/add", "AddV2", erf, self.floats(f"{scope}/add/y", value=1.0))
        half = self.float_op(f"{scope}/mul", "Mul", x, self.floats(f"{scope}/mul/x"))
        return self.float_op(f"{scope}/mul_1", "Mul", half, shifted)

    def attention(self, scope, x):
        heads = []
        for name in ["query", "key", "value"]:
            rows = self.dense(f"{scope}/self/{name}", x, WIDTH, WIDTH)
            rows = self.reshape(f"{scope}/self/{name}", rows, [-1, LENGTH, HEADS, WIDTH // HEADS])
            heads.append(self.transpose(f"{scope}/self/{name}", rows, [0, 2, 1, 3]))
        query, key, value = heads
        scores = self.float_op(f"{scope}/self/MatMul", "BatchMatMulV2", query, key, adj_x=field(5, 0),
                               adj_y=field(5, 1))
        scaled = self.float_op(f"{scope}/self/Mul", "Mul", scores, self.floats(f"{scope}/self/Mul/y"))
        weights = self.float_op(f"{scope}/self/Softmax", "Softmax", scaled)
        mixed = self.float_op(f"{scope}/self/MatMul_1", "BatchMatMulV2", weights, value, adj_x=field(5, 0),
                              adj_y=field(5, 0))
        rows = self.reshape(f"{scope}/self", self.transpose(f"{scope}/self", mixed, [0, 2, 1, 3]), [-1, WIDTH])
        dense = self.dense(f"{scope}/output/dense", rows, WIDTH, WIDTH)
        return self.layer_norm(f"{scope}/output/LayerNorm", self.float_op(f"{scope}/output/add", "AddV2", dense, x))

    def layer(self, scope, x):
        x = self.attention(f"{scope}/attention", x)
        inner = self.dense(f"{scope}/intermediate/dense", x, WIDTH, 4 * WIDTH)
        outer = self.dense(f"{scope}/output/dense", self.gelu(f"{scope}/intermediate", inner), 4 * WIDTH, WIDTH)
        return self.layer_norm(f"{scope}/output/LayerNorm", self.float_op(f"{scope}/output/add", "AddV2", outer, x))

    def embeddings(self, scope):
        tokens = self.node("tokens", "Placeholder", dtype=field(6, INT32), shape=field(7, shape_proto([-1, LENGTH])))
        table = self.floats(f"{scope}/word_embeddings", WORDS, WIDTH)
        rows = self.node(f"{scope}/GatherV2", "GatherV2", table, tokens, self.ints(f"{scope}/GatherV2/axis", 0),
                         Tparams=field(6, FLOAT), Tindices=field(6, INT32), Taxis=field(6, INT32))
        placed = self.float_op(f"{scope}/add", "AddV2", rows,
                               self.floats(f"{scope}/position_embeddings", LENGTH, WIDTH))
        return self.layer_norm(f"{scope}/LayerNorm", self.reshape(scope, placed, [-1, WIDTH]))


def graph(count):
    """Returns a GraphDef of `count` nodes, which may end within a layer."""
    made = Layered()
    x, number = made.embeddings("embeddings"), 0
    while len(made.nodes) < count:
        x = made.layer(f"encoder/layer_{number}", x)
        number += 1
    versions = field(4, field(1, 1087))
    return b"".join(made.nodes[:count]) + versions
