"""Models whose signatures use names twice, whose functions write variables, and whose lengths are padded."""

import numpy as np
import tensorflow as tf

from .recording import f32, record, variable

v1 = tf.compat.v1


class SameName(tf.Module):
    """An input and an output have one name."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def double(self, x):
        return {"x": x * 2, "y": x + 1}


def same_name(folder):
    module = SameName()
    tf.saved_model.save(module, str(folder), signatures=module.double)
    record(folder, [("serving_default", "serving_default", {"x": f32(2, 4)})])


def swapped_names(folder):
    """Input `a` of the signature is node `b`, and input `b` is node `a`. Node `y` is not output `y`."""
    with tf.Graph().as_default(), v1.Session() as session:
        first = v1.placeholder(tf.float32, [None, 4], name="a")
        second = v1.placeholder(tf.float32, [None, 4], name="b")
        y = tf.identity(first - 2 * second, name="y") * 3
        v1.saved_model.simple_save(session, str(folder), {"a": second, "b": first}, {"y": y})
    record(folder, [("serving_default", "serving_default", {"a": f32(2, 4), "b": f32(2, 4) + 1})])


class Seeded(tf.Module):
    """Two functions count their calls. The count reaches the result of one of them."""

    def __init__(self):
        self.calls = tf.Variable(np.float32(5), name="calls")
        self.weights = variable(40, "weights", 4, 3)
        self.recent = tf.Variable(np.zeros((3, 2), np.float32), name="recent")

    def count(self):
        self.calls.assign_add(1)
        self.calls.assign(self.calls * 2)
        self.recent.scatter_update(tf.IndexedSlices(tf.ones((1, 2)), [1]))
        self.recent[2:].assign(tf.zeros((1, 2)))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def predict(self, x):
        self.count()
        return {"y": x @ self.weights}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def shifted(self, x):
        self.count()
        return {"y": x + self.calls}


def written_variable(folder):
    module = Seeded()
    signatures = {"serving_default": module.predict, "shifted": module.shifted}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    record(folder, [("serving_default", "serving_default", {"x": f32(2, 4)})])


class Causal(tf.Module):
    """Dilated convolutions over a time axis of unknown length, each added to its input."""

    DILATIONS = [1, 2, 4, 8, 16]

    def __init__(self):
        self.filters = [variable(50 + level, f"filter{level}", 2, 4, 4) for level in range(len(self.DILATIONS))]

    @tf.function(input_signature=[tf.TensorSpec([None, None, 4], tf.float32, "x")])
    def run(self, x):
        for dilation, weights in zip(self.DILATIONS, self.filters):
            padded = tf.pad(x, [[0, 0], [dilation, 0], [0, 0]])
            x = x + tf.nn.relu(tf.nn.conv1d(padded, weights, 1, "VALID", dilations=dilation))
        return {"y": x}


def causal(folder):
    module = Causal()
    tf.saved_model.save(module, str(folder), signatures=module.run)
    cases = [(2, 13), (1, 32), (3, 1)]
    names = ["serving_default", "serving_default_2", "serving_default_3"]
    record(folder, [("serving_default", name, {"x": f32(*sizes, 4)}) for name, sizes in zip(names, cases)])


def equal_names(folder):
    """Three Keras models whose layers have one name. In the graph, the names of their variables have numbers. The
    node that restores the variables writes to other handles."""

    def dense(value):
        x = tf.keras.Input((2,))
        start = tf.keras.initializers.Constant(value)
        layer = tf.keras.layers.Dense(2, name="dense", kernel_initializer=start, bias_initializer=start)
        return tf.keras.Model(x, layer(x))

    module = tf.Module()
    module.first, module.second, module.third = dense(1.0), dense(10.0), dense(100.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def f(x):
        return {"a": module.second(x), "b": module.first(x), "c": module.third(x), "d": module.second(module.third(x))}

    tf.saved_model.save(module, str(folder), signatures=f)
    record(folder, [("serving_default", "serving_default", {"x": f32(3, 2)})])
