"""Writes data/mlp.pb, a small classifier as a TensorFlow GraphDef, and data/mlp_feeds.npz, rows to run it on.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_mlp.py
"""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

DATA = Path(__file__).parent / "data"


def main():
    draw = np.random.default_rng(7)
    weights = draw.normal(size=(4, 8)).astype(np.float32).round(2)
    bias = draw.normal(size=8).astype(np.float32).round(2)
    last = draw.normal(size=(8, 3)).astype(np.float32).round(2)
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], "x")
        with tf.name_scope("hidden"):
            hidden = tf.nn.relu(tf.matmul(x, tf.constant(weights, name="weights")) + tf.constant(bias, name="bias"))
        with tf.name_scope("last"):
            scores = tf.matmul(hidden, tf.constant(last, name="weights"))
        tf.nn.softmax(scores, name="probabilities")
        tf.argmax(scores, axis=-1, name="class")
    (DATA / "mlp.pb").write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
    np.savez_compressed(DATA / "mlp_feeds.npz", x=draw.normal(size=(5, 4)).astype(np.float32).round(2))


if __name__ == "__main__":
    main()
