#!/usr/bin/env python3
"""Measures a SavedModel in TensorFlow as the bench `saved_models` does: the time to load it, to the first result, and of a
run, on one thread.

    taskset -c 0 python3 benches/peers/saved_models.py FOLDER FEEDS..

Needs numpy and tensorflow-cpu. A row is measured for each file of feeds, in the form that the bench reads.
"""

import os
import sys
import time
from pathlib import Path

os.environ.update(
    CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", TF_NUM_INTEROP_THREADS="1", TF_NUM_INTRAOP_THREADS="1"
)

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
# The loader of TensorFlow 1 loads every SavedModel; that of TensorFlow 2 restores Python objects, of which some no
# longer exist.
v1.disable_eager_execution()

SAMPLES = 20


def tensors(file):
    """Returns the inputs in a file by name."""
    arrays = np.load(file)
    result = {}
    for name in arrays.files:
        if name.startswith("out_") or name.endswith(("__offs", "__shape")):
            continue
        value = arrays[name]
        if name.endswith("__bytes"):
            name = name.removesuffix("__bytes")
            data, ends = value.tobytes(), arrays[f"{name}__offs"]
            texts = np.array([data[start:end] for start, end in zip(ends, ends[1:])], object)
            shape = f"{name}__shape"
            value = texts.reshape(arrays[shape]) if shape in arrays.files else texts
        result[name.removeprefix("in_")] = value
    return result


def median(times):
    return sorted(times)[len(times) // 2] * 1e3


def main():
    folder, *files = sys.argv[1:]
    print(f"{'milliseconds, medians':<32} {'load':>12} {'first result':>12} {'run':>12}")
    for file in files:
        feeds = tensors(file)
        loads, firsts, runs = [], [], []
        for _ in range(SAMPLES):
            start = time.perf_counter()
            with tf.Graph().as_default() as graph:
                session = v1.Session(graph=graph)
                signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
            fetches = [output.name for output in signature.outputs.values()]
            by_tensor = {signature.inputs[name].name: value for name, value in feeds.items()}
            loads.append(time.perf_counter() - start)
            session.run(fetches, by_tensor)
            firsts.append(time.perf_counter() - start)
        for _ in range(SAMPLES):
            start = time.perf_counter()
            session.run(fetches, by_tensor)
            runs.append(time.perf_counter() - start)
        print(f"{Path(file).stem:<32} {median(loads):>12.3f} {median(firsts):>12.3f} {median(runs):>12.3f}", flush=True)


main()
