#!/usr/bin/env python3
"""Measures the loops of the bench `loops` in TensorFlow and JAX, in nanoseconds per iteration on one thread.

    taskset -c 0 python3 benches/peers/loops.py [--scale N] [--peers tf,jax]

Needs numpy, and the peers that are measured: pip install numpy tensorflow-cpu jax. `--scale` divides the numbers of
iterations. A time is the median of five runs after a first one, which compiles.
"""

import argparse
import os
import statistics
import time

os.environ.update(
    CUDA_VISIBLE_DEVICES="",
    TF_CPP_MIN_LOG_LEVEL="3",
    OMP_NUM_THREADS="1",
    TF_NUM_INTEROP_THREADS="1",
    TF_NUM_INTRAOP_THREADS="1",
    XLA_FLAGS="--xla_cpu_multi_thread_eigen=false",
)

import numpy as np

UNITS = 64


def report(peer, name, iterations, run):
    run()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    print(f"{peer:<8} {name:<44} {iterations:>10} {statistics.median(times) / iterations * 1e9:>14.1f}", flush=True)


def tensorflow(scale):
    import tensorflow as tf

    for is_compiled in (False, True):
        peer = "tf xla" if is_compiled else "tf"

        def function(body, is_compiled=is_compiled):
            return tf.function(body, jit_compile=is_compiled)

        @function
        def ten_ops(n, x):
            def body(i, y):
                for k in range(3):
                    y = tf.nn.relu(y * 0.5 + (0.1 + k))
                return i + 1, y

            return tf.while_loop(lambda i, _: i < n, body, (tf.constant(0, tf.int64), x))[1]

        @function
        def counter(n):
            return tf.while_loop(lambda i: i < n, lambda i: (i + 1,), (tf.constant(0, tf.int64),))[0]

        @function
        def lstm(x, w):
            zero = tf.zeros([1, UNITS])
            steps = tf.shape(x)[0]
            outputs = tf.TensorArray(tf.float32, steps, element_shape=[1, UNITS])
            rows = tf.TensorArray(tf.float32, steps, element_shape=[1, UNITS]).unstack(x)

            def body(t, hidden, cell, outputs):
                i, f, o, c = tf.split(tf.matmul(tf.concat([rows.read(t), hidden], 1), w), 4, axis=1)
                cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(c)
                hidden = tf.sigmoid(o) * tf.tanh(cell)
                return t + 1, hidden, cell, outputs.write(t, hidden)

            last = tf.while_loop(lambda t, *_: t < steps, body, (0, zero, zero, outputs))
            return last[1], last[3].stack()

        # TensorFlow without XLA takes microseconds for an iteration.
        count = 1_000_000 // scale if is_compiled else 50_000 // scale
        n, ones = tf.constant(count, tf.int64), tf.ones([8])
        report(peer, "while: a counter", count, lambda: counter(n).numpy())
        report(peer, "while: ten ops on eight elements", count, lambda: ten_ops(n, ones).numpy())
        x, w = tf.fill([1000, 1, UNITS], 0.1), tf.fill([2 * UNITS, 4 * UNITS], 0.01)
        report(peer, "scan: LSTM, 64 units", 1000, lambda: lstm(x, w)[0].numpy())


def jax(scale):
    import jax
    from jax import lax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def counter(n):
        return lax.while_loop(lambda i: i < n, lambda i: i + 1, jnp.int64(0))

    def ten(y):
        for k in range(3):
            y = jax.nn.relu(y * np.float32(0.5) + np.float32(0.1 + k))
        return y

    @jax.jit
    def ten_ops(n, x):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, ten(s[1])), (jnp.int64(0), x))[1]

    @jax.jit
    def lstm(x, w):
        def body(state, x):
            hidden, cell = state
            i, f, o, c = jnp.split(jnp.concatenate([x, hidden], 1) @ w, 4, axis=1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(c)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        zero = jnp.zeros([1, UNITS], jnp.float32)
        return lax.scan(body, (zero, zero), x)

    count = 1_000_000 // scale
    ones = jnp.ones([8], jnp.float32)
    report("jax", "while: a counter", count, lambda: counter(count).block_until_ready())
    report("jax", "while: ten ops on eight elements", count, lambda: ten_ops(count, ones).block_until_ready())
    x, w = jnp.full([1000, 1, UNITS], np.float32(0.1)), jnp.full([2 * UNITS, 4 * UNITS], np.float32(0.01))
    report("jax", "scan: LSTM, 64 units", 1000, lambda: lstm(x, w)[1].block_until_ready())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--peers", default="tf,jax")
    arguments = parser.parse_args()
    for peer in arguments.peers.split(","):
        {"tf": tensorflow, "jax": jax}[peer](arguments.scale)


main()
