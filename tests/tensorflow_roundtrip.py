"""Runs graphs that this crate wrote in TensorFlow, and compares TensorFlow's results with this crate's.

Run: pip install tensorflow-cpu==2.21.0 && python tests/tensorflow_roundtrip.py

tests/interchange/roundtrip.rs and control.rs write the graphs, with the feeds of each and this crate's results. With
--dtypes, dtypes_in_tensorflow.rs writes other graphs. The script exits with 1 if a graph does not load, does not run, or
has another result.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf

ROOT = Path(__file__).resolve().parent.parent
TESTS = [
    "imported_graphs_give_the_same_results",
    "exported_control_flow_gives_what_tensorflow_gives",
]
# With --dtypes: every op with every dtype instead. Its floats have other errors than the tolerances below, most of them
# in complex functions and in bf16. What matters is that TensorFlow loads and runs every graph.
if "--dtypes" in sys.argv:
    TESTS = ["ops_are_exported_with_every_dtype", "--ignored"]
TEST = ["cargo", "test", "--all-features", "--test", "interchange", "--", *TESTS]
TOLERANCE = {np.dtype(np.float16): 1e-3, np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


def load(path):
    """Returns the arrays of an npz file. Strings are stored as bytes, offsets and a shape."""
    arrays = dict(np.load(path))
    for key in [key.removesuffix("__offs") for key in arrays if key.endswith("__offs")]:
        data, ends, shape = (arrays.pop(f"{key}__{part}") for part in ("bytes", "offs", "shape"))
        strings = np.empty(len(ends) - 1, object)
        strings[:] = [data[start:end].tobytes() for start, end in zip(ends, ends[1:])]
        arrays[key] = strings.reshape(shape)
    return arrays


def run(folder, name):
    """Describes the first result of a graph that differs; None if all results are equal."""
    graph_def = tf.compat.v1.GraphDef.FromString((folder / f"{name}.pb").read_bytes())
    names = (folder / f"{name}.txt").read_text().split()
    feeds = load(folder / f"{name}.feeds.npz")
    given = load(folder / f"{name}.given.npz")
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        fetches = [graph.get_tensor_by_name(n if ":" in n else n + ":0") for n in names]
        with tf.compat.v1.Session(graph=graph) as session:
            expected = session.run(fetches, {f"{key}:0": value for key, value in feeds.items()})
    for index, (fetch, theirs) in enumerate(zip(names, expected)):
        ours = given[str(index)]
        theirs = np.array(theirs, object) if isinstance(theirs, bytes) else np.asarray(theirs)
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return f"{fetch}: ours {ours.dtype}{ours.shape}, TensorFlow {theirs.dtype}{theirs.shape}"
        if ours.dtype == object:
            if ours.tolist() != theirs.tolist():
                return f"{fetch}: ours {ours.tolist()}, TensorFlow {theirs.tolist()}"
            continue
        bound = TOLERANCE.get(ours.dtype, 0)
        if not np.allclose(ours, theirs, rtol=bound, atol=bound / 10, equal_nan=bound > 0):
            return f"{fetch}: ours {ours.tolist()}, TensorFlow {theirs.tolist()}"
    return None


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "SHAPEFLOW_ROUNDTRIP": name}
        subprocess.run(TEST, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
        graphs = sorted(path.stem for path in folder.glob("*.pb"))
        for graph in graphs:
            try:
                difference = run(folder, graph)
            except Exception as error:
                difference = f"{type(error).__name__}: {error}"
            failed += difference is not None
            print(f"{graph}: {difference or 'equal'}")
    print(f"{len(graphs) - failed} of {len(graphs)} graphs have equal results")
    sys.exit(failed > 0 or not graphs)


main()
