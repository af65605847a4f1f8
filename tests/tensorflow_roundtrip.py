"""Runs graphs that this crate wrote in TensorFlow, and compares TensorFlow's results with this crate's.

Run: pip install tensorflow-cpu==2.21.0 && python tests/tensorflow_roundtrip.py

tests/interchange/roundtrip.rs and control.rs write the graphs, with the feeds of each and this crate's results. With
--dtypes, the release command line writes graphs of every op with every dtype instead: see tensorflow_dtypes.py.
Arguments after --dtypes are the ops to try; the environment variable SHAPEFLOW names another command line. The script
exits with 1 if a graph does not load, does not run, or has another result, except for the differences that
tests/data/tensorflow_differences.txt lists.
"""

import fnmatch
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf

import tensorflow_dtypes

ROOT = Path(__file__).resolve().parent.parent
TESTS = [
    "imported_graphs_give_the_same_results",
    "exported_control_flow_gives_what_tensorflow_gives",
]
TEST = ["cargo", "test", "--all-features", "--test", "interchange", "--", *TESTS]
BUILD = ["cargo", "build", "--release", "--all-features", "--bin", "shapeflow"]
DIFFERENCES = ROOT / "tests/data/tensorflow_differences.txt"
# The relative errors of results. Those of short floats are a few units in the last place.
TOLERANCE = {
    "float8_e5m2": 2**-2, "float8_e4m3fn": 2**-3, "bfloat16": 2**-6, "float16": 2**-9, "float32": 1e-5,
    "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12,
}  # fmt: skip


def difference(ours, theirs, dtype):
    """Describes how a result differs from TensorFlow's; None if the two are equal. `dtype` is that of the result, which
    an npz file may lack."""
    theirs = np.array(theirs, object) if isinstance(theirs, bytes) else np.asarray(theirs)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"ours {ours.dtype}{ours.shape}, TensorFlow {theirs.dtype}{theirs.shape}"
    bound = TOLERANCE.get(dtype or ours.dtype.name, 0)
    if not bound:
        return None if ours.tolist() == theirs.tolist() else f"ours {ours.tolist()}, TensorFlow {theirs.tolist()}"
    with np.errstate(all="ignore"):
        # A complex number is as exact as its magnitude is.
        finite = np.isfinite(theirs)
        size = np.where(finite, np.abs(theirs), 0)
        scale = min(1, size.max(initial=0))
        is_close = np.abs(ours - theirs) <= bound * np.maximum(size, scale / 10)
        is_same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | is_close
        if np.iscomplexobj(ours):
            is_same |= ~np.isfinite(ours) & ~finite
    if is_same.all():
        return None
    errors = np.abs(ours - theirs) / np.where(size > 0, size, 1)
    error = errors[~is_same].max()
    return f"ours {ours[~is_same][:4].tolist()}, TensorFlow {theirs[~is_same][:4].tolist()}, relative error {error:.2g}"


def run(path, fetches, dtypes, feeds, given):
    """Describes the first result of a graph that differs; None if all results are equal."""
    graph_def = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    nodes = {node.name for node in graph_def.node}
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        tensors = [graph.get_tensor_by_name(n if ":" in n else n + ":0") for n in fetches]
        with tf.compat.v1.Session(graph=graph) as session:
            # Some ops of TensorFlow write to their feeds.
            needed = {f"{key}:0": np.copy(value) for key, value in feeds.items() if key in nodes}
            expected = session.run(tensors, needed)
    for fetch, dtype, ours, theirs in zip(fetches, dtypes, given, expected):
        text = difference(ours, theirs, dtype)
        if text:
            return f"{fetch}: {text}"
    return None


def results(runs):
    """Runs all graphs in TensorFlow. Returns their differences by name. Processes of their own run the graphs: some ops
    abort TensorFlow."""
    processes = os.cpu_count() or 1
    parts = [(runs[number::processes], tempfile.TemporaryFile()) for number in range(processes)]
    children = [start(part, file, 0) for part, file in parts]
    for number, (part, file) in enumerate(parts):
        done = 0
        while done < len(part):
            os.waitpid(children[number], 0)
            file.seek(0)
            done = 0
            while True:
                try:
                    name, text = pickle.load(file)
                except EOFError:
                    break
                done += 1
                yield name, text
            if done < len(part):
                yield part[done][0], "TensorFlow aborts"
                part, done = part[done + 1 :], 0
                file.seek(0)
                file.truncate()
                children[number] = start(part, file, 0)


def start(runs, file, first):
    """Starts a process that runs graphs and writes each name and difference to a file."""
    child = os.fork()
    if child:
        return child
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    for name, *rest in runs[first:]:
        try:
            text = run(*rest)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        pickle.dump((name, text), file)
        file.flush()
    os._exit(0)


def written_by_tests(folder):
    environment = {**os.environ, "SHAPEFLOW_ROUNDTRIP": str(folder)}
    subprocess.run(TEST, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    for path in sorted(folder.glob("*.pb")):
        fetches = path.with_suffix(".txt").read_text().split()
        feeds, given = (tensorflow_dtypes.load(path.with_suffix(f".{part}.npz")) for part in ("feeds", "given"))
        given = [given[str(number)] for number in range(len(fetches))]
        yield path.stem, path, fetches, [None] * len(fetches), feeds, given


def written_by_command(folder, ops):
    command = os.environ.get("SHAPEFLOW")
    if not command:
        subprocess.run(BUILD, cwd=ROOT, check=True)
        command = ROOT / "target/release/shapeflow"
    yield from tensorflow_dtypes.runs(command, folder, ops)


def known_differences():
    """Returns the patterns of names that DIFFERENCES lists, each with its reason."""
    lines = DIFFERENCES.read_text().splitlines()
    lines = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {pattern: reason for patterns, _, reason in lines for pattern in patterns.split()}


def main():
    known = known_differences()
    sweeps = "--dtypes" in sys.argv
    ops = sys.argv[sys.argv.index("--dtypes") + 1 :] if sweeps else []
    failed, listed, used = 0, 0, set()
    with tempfile.TemporaryDirectory() as name:
        runs = list(written_by_command(Path(name), ops) if sweeps else written_by_tests(Path(name)))
        for graph, text in results(runs):
            if text is None:
                continue
            pattern = next((pattern for pattern in known if fnmatch.fnmatchcase(graph, pattern)), None)
            used.add(pattern)
            listed += pattern is not None
            failed += pattern is None
            if pattern is None:
                print(f"{graph}: {' '.join(text.split())[:600]}", flush=True)
    for pattern in known if sweeps and not ops else []:
        if pattern not in used:
            failed += 1
            print(f"{pattern}: listed, but no result differs")
    print(f"{len(runs)} graphs, {listed} differ as listed, {failed} failed")
    sys.exit(failed > 0 or not runs)


main()
