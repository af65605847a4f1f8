"""Recurrent nets: LSTM and GRU, each by a loop over time and by unrolled cells."""

import numpy as np
import tensorflow as tf

from .recording import f32, record, variable, weights

UNITS, FEATURES = 8, 5
UNROLLED = 4
SEQUENCES = tf.TensorSpec([None, None, FEATURES], tf.float32, "x")
SHORT = tf.TensorSpec([None, UNROLLED, FEATURES], tf.float32, "x")
LENGTHS = tf.TensorSpec([None], tf.int32, "lengths")


class Lstm(tf.Module):
    """Sequences of unequal lengths: a step after the end of a sequence keeps its state and gives zeros."""

    def __init__(self):
        self.kernel = variable(1, "kernel", FEATURES + UNITS, 4 * UNITS)
        self.bias = tf.Variable(f32(4 * UNITS), name="bias")

    def cell(self, x, hidden, cell):
        gates = tf.matmul(tf.concat([x, hidden], 1), self.kernel) + self.bias
        i, c, f, o = tf.split(gates, 4, axis=1)
        cell = tf.sigmoid(f + 1.0) * cell + tf.sigmoid(i) * tf.tanh(c)
        return tf.sigmoid(o) * tf.tanh(cell), cell

    @tf.function(input_signature=[SEQUENCES, LENGTHS])
    def loop(self, x, lengths):
        steps = tf.shape(x)[1]
        by_time = tf.TensorArray(tf.float32, steps, element_shape=[None, FEATURES]).unstack(tf.transpose(x, [1, 0, 2]))
        outputs = tf.TensorArray(tf.float32, steps, element_shape=[None, UNITS])
        zero = tf.zeros([tf.shape(x)[0], UNITS])

        def body(t, hidden, cell, outputs):
            new_hidden, new_cell = self.cell(by_time.read(t), hidden, cell)
            is_inside = tf.expand_dims(t < lengths, 1)
            outputs = outputs.write(t, tf.where(is_inside, new_hidden, 0.0))
            return t + 1, tf.where(is_inside, new_hidden, hidden), tf.where(is_inside, new_cell, cell), outputs

        _, hidden, cell, outputs = tf.while_loop(lambda t, *_: t < steps, body, (0, zero, zero, outputs))
        return {"sequence": tf.transpose(outputs.stack(), [1, 0, 2]), "hidden": hidden, "cell": cell}

    @tf.function(input_signature=[SHORT])
    def unrolled(self, x):
        hidden = cell = tf.zeros([tf.shape(x)[0], UNITS])
        outputs = []
        for step in tf.unstack(x, axis=1):
            hidden, cell = self.cell(step, hidden, cell)
            outputs.append(hidden)
        return {"sequence": tf.stack(outputs, axis=1), "hidden": hidden, "cell": cell}


class Gru(tf.Module):
    """The reset gate is applied after the matrix product, as in cuDNN. One loop goes forward and one backward."""

    def __init__(self):
        self.kernel = variable(2, "kernel", FEATURES, 3 * UNITS)
        self.recurrent = variable(3, "recurrent", UNITS, 3 * UNITS)
        self.bias = tf.Variable(weights(4, 2, 3 * UNITS), name="bias")

    def cell(self, x, hidden):
        xz, xr, xh = tf.split(tf.nn.bias_add(tf.matmul(x, self.kernel), self.bias[0]), 3, axis=-1)
        hz, hr, hh = tf.split(tf.nn.bias_add(tf.matmul(hidden, self.recurrent), self.bias[1]), 3, axis=-1)
        z = tf.sigmoid(xz + hz)
        candidate = tf.tanh(xh + tf.sigmoid(xr + hr) * hh)
        return z * hidden + (1 - z) * candidate

    def over_time(self, x, is_reversed):
        """Returns the outputs of each time, in the order of time."""
        by_time = tf.transpose(x, [1, 0, 2])
        if is_reversed:
            by_time = tf.reverse(by_time, [0])
        first = tf.zeros([tf.shape(x)[0], UNITS])
        outputs = tf.scan(lambda hidden, step: self.cell(step, hidden), by_time, first)
        if is_reversed:
            outputs = tf.reverse(outputs, [0])
        return tf.transpose(outputs, [1, 0, 2])

    @tf.function(input_signature=[SEQUENCES])
    def loop(self, x):
        both = tf.concat([self.over_time(x, False), self.over_time(x, True)], 2)
        return {"sequence": both, "largest": tf.reduce_max(both, 1)}

    @tf.function(input_signature=[SHORT])
    def unrolled(self, x):
        hidden = tf.zeros([tf.shape(x)[0], UNITS])
        for step in range(UNROLLED):
            hidden = self.cell(x[:, step], hidden)
        return {"hidden": hidden}


def lstm(folder):
    module = Lstm()
    signatures = {"serving_default": module.loop, "unrolled": module.unrolled}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"x": f32(3, 6, FEATURES), "lengths": np.array([6, 2, 0], np.int32)}),
            ("serving_default", "serving_default_2", {"x": f32(1, 1, FEATURES), "lengths": np.array([1], np.int32)}),
            ("unrolled", "unrolled", {"x": f32(2, UNROLLED, FEATURES)}),
        ],
    )


def gru(folder):
    module = Gru()
    signatures = {"serving_default": module.loop, "unrolled": module.unrolled}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"x": f32(2, 7, FEATURES)}),
            ("serving_default", "serving_default_2", {"x": f32(1, 1, FEATURES)}),
            ("unrolled", "unrolled", {"x": f32(3, UNROLLED, FEATURES)}),
        ],
    )
