"""Models whose signatures write variables. The cases of a signature are runs one after the other."""

import numpy as np
import tensorflow as tf

from .recording import f32, record, variable


class State(tf.Module):
    """Writes in the main graph, in branches and in loops; a variable of any length; a generator in a loop."""

    def __init__(self):
        self.count = tf.Variable(np.int32(0), name="count")
        self.mean = tf.Variable(f32(3), name="mean")
        self.total = tf.Variable(np.float32(0.5), name="total")
        self.table = tf.Variable(f32(5, 2), name="table")
        self.seen = tf.Variable(np.zeros((0, 2), np.float32), shape=[None, 2], name="seen")
        self.generator = tf.random.Generator.from_state([5, 3, 7], "philox")

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, "x")])
    def average(self, x):
        before = self.mean.read_value()
        self.count.assign_add(1)
        self.mean.assign(0.75 * self.mean + 0.25 * x)
        if self.count > 2:
            self.count.assign(0)
            self.total.assign_sub(tf.reduce_sum(self.mean))
        after = {"after": self.mean.read_value(), "count": self.count.read_value(), "total": self.total + 0.0}
        return {"before": before} | after

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, "n")])
    def loop(self, n):
        result = tf.constant(0.0)
        for i in tf.range(n):
            if i % 2 == 0:
                self.total.assign_add(tf.cast(i, tf.float32))
            else:
                result += self.total * self.generator.uniform([])
        return {"result": result, "total": self.total.read_value()}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.int32, "rows"), tf.TensorSpec([None, 2], tf.float32, "updates")]
    )
    def update(self, rows, updates):
        self.table.scatter_add(tf.IndexedSlices(updates, rows))
        self.table.scatter_nd_update(tf.stack([rows, rows % 2], 1), updates[:, 0])
        self.table.scatter_max(tf.IndexedSlices(updates * 2, rows))
        self.table[1:3, 0].assign([0.125, -0.5])
        return {"table": self.table.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, "by")])
    def scale(self, by):
        self.table.scatter_mul(tf.IndexedSlices(by * tf.ones([1, 2]), [1]))
        return {"table": self.table.read_value(), "total": self.total.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])
    def remember(self, x):
        self.seen.assign(tf.concat([self.seen, x], 0))
        return {"count": tf.shape(self.seen)[0], "sum": tf.reduce_sum(self.seen, 0)}


def state(folder):
    module = State()
    names = ["average", "loop", "update", "remember", "scale"]
    tf.saved_model.save(module, str(folder), signatures={name: getattr(module, name) for name in names})
    ends = ["", "_2", "_3", "_4"]
    record(folder, [("average", f"average{end}", {"x": f32(3) * run - 1}) for run, end in enumerate(ends)])
    counts = {"loop": 5, "loop_2": 0, "loop_3": 8}
    record(folder, [("loop", file, {"n": np.int32(count)}) for file, count in counts.items()])
    rows = [np.array([0, 4, 4], np.int32), np.zeros(0, np.int32), np.array([1], np.int32)]
    updates = [f32(3, 2) + 1, np.zeros((0, 2), np.float32), f32(1, 2)]
    names = ["update", "update_2", "update_3"]
    record(folder, [("update", name, {"rows": r, "updates": u}) for name, r, u in zip(names, rows, updates)])
    record(folder, [("remember", "remember", {"x": f32(2, 2)}), ("remember", "remember_2", {"x": f32(3, 2) + 1})])


def step(optimizer, weights, slots, gradient):
    """Applies an optimizer of TensorFlow to weights."""
    ops, rate = tf.raw_ops, 0.1
    x, slots = weights.handle, [slot.handle for slot in slots]
    match optimizer:
        case "descent":
            ops.ResourceApplyGradientDescent(var=x, alpha=rate, delta=gradient)
        case "momentum" | "nesterov":
            nesterov = optimizer == "nesterov"
            ops.ResourceApplyMomentum(
                var=x, accum=slots[0], lr=rate, grad=gradient, momentum=0.9, use_nesterov=nesterov
            )
        case "keras_momentum" | "keras_nesterov":
            nesterov = optimizer == "keras_nesterov"
            ops.ResourceApplyKerasMomentum(
                var=x, accum=slots[0], lr=rate, grad=gradient, momentum=0.9, use_nesterov=nesterov
            )
        case "adagrad":
            ops.ResourceApplyAdagrad(var=x, accum=slots[0], lr=rate, grad=gradient)
        case "adagrad_v2":
            ops.ResourceApplyAdagradV2(var=x, accum=slots[0], lr=rate, epsilon=1e-3, grad=gradient)
        case "rms_prop":
            ops.ResourceApplyRMSProp(
                var=x, ms=slots[0], mom=slots[1], lr=rate, rho=0.9, momentum=0.5, epsilon=1e-3, grad=gradient
            )
        case "adam" | "adam_nesterov":
            ops.ResourceApplyAdam(
                var=x,
                m=slots[0],
                v=slots[1],
                beta1_power=0.9**3,
                beta2_power=0.99**3,
                lr=rate,
                beta1=0.9,
                beta2=0.99,
                epsilon=1e-3,
                grad=gradient,
                use_nesterov=optimizer == "adam_nesterov",
            )


OPTIMIZERS = {
    "descent": 0,
    "momentum": 1,
    "nesterov": 1,
    "keras_momentum": 1,
    "keras_nesterov": 1,
    "adagrad": 1,
    "adagrad_v2": 1,
    "rms_prop": 2,
    "adam": 2,
    "adam_nesterov": 2,
}


class Training(tf.Module):
    """A step of training for each optimizer."""

    def __init__(self):
        self.weights = {name: variable(number, name, 3, 2) for number, name in enumerate(OPTIMIZERS)}
        self.slots = {
            name: [tf.Variable(np.full((3, 2), 0.25, np.float32), name=f"{name}_{slot}") for slot in range(count)]
            for name, count in OPTIMIZERS.items()
        }

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x"), tf.TensorSpec([None, 2], tf.float32, "y")])
    def train(self, x, y):
        losses = {}
        for name, weights in self.weights.items():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.tanh(tf.matmul(x, weights)) - y) ** 2)
            step(name, weights, self.slots[name], tape.gradient(loss, weights))
            losses[name] = loss
        return losses


def training(folder):
    module = Training()
    tf.saved_model.save(module, str(folder), signatures={"train": module.train})
    cases = {
        "train": {"x": f32(4, 3), "y": f32(4, 2) / 2},
        "train_2": {"x": f32(6, 3) + 0.5, "y": f32(6, 2)},
        "train_3": {"x": f32(1, 3), "y": f32(1, 2)},
    }
    record(folder, [("train", file, inputs) for file, inputs in cases.items()])


def stateful_layers(folder):
    """A recurrent net of Keras that keeps its state, and a layer that draws random numbers."""
    import keras

    keras.utils.set_random_seed(1)
    frames = keras.Input(batch_shape=(2, 4, 3), name="frames")
    hidden = keras.layers.GRU(5, stateful=True, return_sequences=True)(frames)
    hidden = keras.layers.LSTM(4, stateful=True)(hidden)
    model = keras.Model(frames, keras.layers.Dense(2)(hidden))
    layers = [keras.Input((6,)), keras.layers.Dropout(0.5, seed=3), keras.layers.BatchNormalization()]
    dropped = keras.Sequential(layers)
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.track(dropped)
    frames, rows = tf.TensorSpec([2, 4, 3], tf.float32, "frames"), tf.TensorSpec([None, 6], tf.float32, "x")
    archive.add_endpoint("listen", lambda frames: {"y": model(frames)}, [frames])
    archive.add_endpoint("drop", lambda x: {"y": dropped(x, training=True)}, [rows])
    archive.write_out(str(folder), verbose=False)
    ends = ["", "_2", "_3"]
    record(folder, [("listen", f"listen{end}", {"frames": f32(2, 4, 3) + run}) for run, end in enumerate(ends)])
    record(folder, [("drop", f"drop{end}", {"x": f32(4, 6) - run}) for run, end in enumerate(ends)])
