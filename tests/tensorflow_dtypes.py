"""Graphs of every op with every dtype, for `tests/tensorflow_roundtrip.py --dtypes`.

A graph has one op, in the node `y`. Its data are recorded in tests/data, and have another dtype in place of the
recorded one. A variant of a graph has the limits of an integer dtype as data, or data without elements. Only graphs
that compute the op with a function that the export wrote have variants.

The placeholders of a graph have no shape. Another graph with the recorded dtype knows the ranks of the data, and one
knows their sizes.
"""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import tensor_pb2, types_pb2

DATA = Path(__file__).resolve().parent / "data"
# The dtypes of recorded data that change.
FROM = "BOOL INT8 INT32 INT64 UINT8 FLOAT DOUBLE COMPLEX64 COMPLEX128".split()
# The dtypes that the data get.
TO = (
    "BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 HALF BFLOAT16 FLOAT DOUBLE COMPLEX64 COMPLEX128 "
    "FLOAT8_E5M2 FLOAT8_E4M3FN INT4 UINT4"
).split()
# The dtypes that an npz file lacks, each with the dtype that stands for it in feeds and results.
CARRIER = {"BFLOAT16": "FLOAT", "FLOAT8_E5M2": "FLOAT", "FLOAT8_E4M3FN": "FLOAT", "INT4": "INT32", "UINT4": "INT32"}
# The recorded cases of an op and a dtype that are tried: this crate may refuse the values of the first ones.
CASES = 4


def dtype_of(name):
    """Returns numpy's dtype for a name such as BFLOAT16."""
    return tf.dtypes.as_dtype(types_pb2.DataType.Value(f"DT_{name}")).as_numpy_dtype


class Graph:
    """A graph with the op of a recorded case, whose data of dtype DT_`given` have the dtype DT_`to`."""

    def __init__(self, case, given, to):
        self.op, self.given, self.to = case["op"], given, to
        self.name = f"{self.op}_{given.lower()}_{to.lower()}"
        self.outputs = len(case["outputs"])
        self.attrs = case["attrs"].replace(f"type: DT_{given} }}", f"type: DT_{to} }}")
        self.inputs = case["inputs"]
        self.data = {}
        for number, (text, is_fed) in enumerate(zip(case["inputs"], case["fed"])):
            if is_fed:
                self.data[number] = dtype_name(text)

    def values(self):
        """Returns the feeds by the names of the placeholders, and the names of those that have the new dtype."""
        feeds, changed = {}, []
        for number, name in self.data.items():
            proto = text_format.Parse(self.inputs[number], tensor_pb2.TensorProto())
            array = tf.make_ndarray(proto)
            if name == self.given != self.to:
                array = converted(array, self.to)
            if name == self.given:
                changed.append(f"x{number}")
            name = self.to if name == self.given else name
            feeds[f"x{number}"] = array.astype(dtype_of(CARRIER[name])) if name in CARRIER else array
        return feeds, changed

    def nodes(self, prefix, dtypes=(), shapes="unknown"):
        """Returns the nodes as text. The nodes `r0`, `r1` and so on have the results, whose dtypes are `dtypes`.
        `shapes` says what is known of the data: `unknown`, `ranked` or `sized`."""
        lines, inputs = [], []
        for number, text in enumerate(self.inputs):
            given = dtype_name(text)
            if number not in self.data:
                attrs = {"dtype": f"type: DT_{given}", "value": f"tensor {{ {text} }}"}
                lines.append(node(f"{prefix}v{number}", "Const", [], attrs))
                inputs.append(f"{prefix}v{number}")
                continue
            name = self.to if given == self.given else given
            fed = CARRIER.get(name, name)
            attrs = {"dtype": f"type: DT_{fed}"}
            if shapes != "unknown":
                sizes = re.findall(r"dim \{ (?:size: (\d+) )?\}", text.partition("_val")[0])
                sizes = [size or "0" if shapes == "sized" else "-1" for size in sizes]
                attrs["shape"] = "shape {" + " ".join(f"dim {{ size: {size} }}" for size in sizes) + "}"
            lines.append(node(f"{prefix}x{number}", "Placeholder", [], attrs))
            inputs.append(f"{prefix}x{number}")
            if fed != name:
                inputs[-1] = f"{prefix}c{number}"
                lines.append(cast(inputs[-1], f"{prefix}x{number}", fed, name))
        inputs = "".join(f'input: "{name}" ' for name in inputs)
        lines.append(f'node {{ name: "{prefix}y" op: "{self.op}" {inputs} {self.attrs} }}')
        for number, name in enumerate(dtypes):
            result, source = f"{prefix}r{number}", f"{prefix}y:{number}"
            if name in CARRIER:
                lines.append(cast(result, source, name, CARRIER[name]))
            else:
                lines.append(node(result, "Identity", [source], {"T": f"type: DT_{name}"}))
        return "\n".join(lines)



def dtype_name(text):
    """Returns the dtype in the text of a tensor, such as FLOAT."""
    return text.split(" ")[1].removeprefix("DT_")


def node(name, op, inputs, attrs):
    inputs = "".join(f'input: "{name}" ' for name in inputs)
    attrs = " ".join(f'attr {{ key: "{key}" value {{ {text} }} }}' for key, text in attrs.items())
    return f'node {{ name: "{name}" op: "{op}" {inputs} {attrs} }}'


def cast(name, source, given, to):
    return node(name, "Cast", [source], {"SrcT": f"type: DT_{given}", "DstT": f"type: DT_{to}"})


def converted(array, to):
    """Converts recorded data to another dtype: every number to one that the dtype has."""
    dtype = np.dtype(dtype_of(to))
    if np.iscomplexobj(array) or to in ("COMPLEX64", "COMPLEX128") or to == "BOOL":
        return array.astype(dtype)
    if to.startswith("UINT"):
        array = np.abs(array)
    if array.dtype.kind == "f" and "INT" in to:
        array = np.nan_to_num(np.trunc(array))
    if "INT" in to:
        least, greatest = limits(to)
        numbers = [min(max(int(number), least), greatest) for number in array.flat]
        return np.array(numbers, dtype).reshape(array.shape)
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def limits(to):
    """Returns the least and the greatest number of a dtype."""
    dtype = np.dtype(dtype_of(to))
    if to == "BOOL":
        return False, True
    info = ml_dtypes.iinfo(dtype) if "INT" in to else ml_dtypes.finfo(dtype)
    return int(info.min) if "INT" in to else info.min, int(info.max) if "INT" in to else info.max


def variants(graph, feeds, changed):
    """Returns feeds with other data, each with a name."""
    # Sums of the limits of floats overflow, and depend on the order of the elements.
    has_limits = "INT" in graph.to or graph.to == "BOOL"
    for name, first in (("limits", 0), ("limits2", 1)) if has_limits else ():
        least, greatest = limits(graph.to)
        numbers = [least, greatest, 0, 1] + ([] if graph.to.startswith("U") or graph.to == "BOOL" else [-1])
        dtype = np.dtype(dtype_of(graph.to))
        data = dict(feeds)
        for shift, key in enumerate(changed):
            array = feeds[key]
            cycle = np.resize(np.roll(np.array(numbers, dtype), -first - shift), array.shape)
            data[key] = cycle.astype(array.dtype)
        yield name, data
    for axis in (0, -1):
        data = dict(feeds)
        for key in feeds:
            array = feeds[key]
            if (key in changed or axis == 0) and array.ndim:
                data[key] = np.take(array, [], axis)
        yield f"empty{axis}", data


def cases(ops):
    """Returns the recorded cases that have results: of these ops, or of all if there are none."""
    for file in ("imports", "strings", "media"):
        lines = (DATA / f"{file}.jsonl").read_text().splitlines()
        yield from (case for case in map(json.loads, lines) if "outputs" in case and (case["op"] in ops or not ops))


def runs(command, folder, ops):
    """Writes the graphs into `folder`, as this crate exports them. Returns for each run of a graph its name, the path
    of the graph, the fetches and their dtypes, the feeds, and this crate's results."""
    recorded = list(cases(ops))
    chosen, missing = [], set()
    for to in TO:
        candidates = {}
        for case in recorded:
            fed = {dtype_name(text) for text, is_fed in zip(case["inputs"], case["fed"]) if is_fed}
            for given in sorted(fed & set(FROM)):
                # A complex number has no conversion to a real one.
                if to.startswith("COMPLEX") or not given.startswith("COMPLEX"):
                    key = case["op"], given.rstrip("0123456789")
                    candidates.setdefault(key, []).append(Graph(case, given, to))
        chosen += accepted(command, folder, to, candidates)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for written, lacks in pool.map(lambda tries: write(command, folder, tries), chosen):
            yield from written
            missing |= lacks
    print(f"TensorFlow lacks {', '.join(sorted(missing)) or 'no op'}", flush=True)


def accepted(command, folder, to, candidates):
    """Returns the candidates that this crate takes, each with the dtypes of its results."""
    every = [graph for graphs in candidates.values() for graph in graphs]
    path = folder / f"all_{to}.pbtxt"
    path.write_text("\n".join(graph.nodes(f"g{number}_") for number, graph in enumerate(every)) + VERSIONS)
    printed = subprocess.run([command, "infer", path, "--json"], capture_output=True, text=True)
    nodes = {node["name"]: node for node in json.loads(printed.stdout)["nodes"]}
    dtypes = {}
    for number, graph in enumerate(every):
        result = nodes.get(f"g{number}_y", {"error": "absent"})
        if "error" not in result and all(output["dtype"] in NAMES for output in result["outputs"]):
            dtypes[id(graph)] = [NAMES[output["dtype"]] for output in result["outputs"]][: graph.outputs]
    for graphs in candidates.values():
        taken = [(graph, dtypes[id(graph)]) for graph in graphs if id(graph) in dtypes]
        if taken:
            yield taken[:CASES]


# The names of dtypes that this crate prints, each with TensorFlow's.
NAMES = {
    "bool": "BOOL", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "u16": "UINT16",
    "u32": "UINT32", "u64": "UINT64", "f16": "HALF", "bf16": "BFLOAT16", "f32": "FLOAT", "f64": "DOUBLE",
    "c64": "COMPLEX64", "c128": "COMPLEX128", "f8e5m2": "FLOAT8_E5M2", "f8e4m3fn": "FLOAT8_E4M3FN", "i4": "INT4",
    "u4": "UINT4", "string": "STRING",
}  # fmt: skip
# The text before the missing ops in what this crate prints.
LACKS = "because it lacks "
VERSIONS = "\nversions { producer: 1882 }\n"


def write(command, folder, tries):
    """Writes the first of the graphs that this crate can run. Returns its runs, and the ops that TensorFlow lacks."""
    for graph, dtypes in tries:
        fetches = [f"r{number}" for number in range(len(dtypes))]
        path = folder / f"{graph.name}.pbtxt"
        path.write_text(graph.nodes("", dtypes) + VERSIONS)
        feeds, changed = graph.values()
        given = run(command, path, fetches, feeds)
        if given is None:
            continue
        exported, missing = export(command, path, fetches)
        if missing:
            return [], missing
        names = [np.dtype(dtype_of(name)).name for name in dtypes]
        found = [(graph.name, exported, fetches, names, feeds, given)]
        for shapes in ("ranked", "sized") if graph.to == graph.given else ():
            path = folder / f"{graph.name}_{shapes}.pbtxt"
            path.write_text(graph.nodes("", dtypes, shapes) + VERSIONS)
            known, missing = export(command, path, fetches)
            if known and not missing:
                found.append((path.stem, known, fetches, names, feeds, given))
        path = folder / f"{graph.name}.pbtxt"
        if b"shapeflow_" in exported.read_bytes().replace(b"_shapeflow_", b""):
            for variant, data in variants(graph, feeds, changed):
                given = run(command, path, fetches, data, variant)
                if given is not None:
                    found.append((f"{graph.name}_{variant}", exported, fetches, names, data, given))
        return found, set()
    return [], set()


def export(command, path, fetches):
    """Exports a graph. Returns the path of the file, or None if this crate refuses the graph, and the ops that
    TensorFlow lacks."""
    exported = path.with_suffix(".pb")
    line = [command, "dump", path, "--format", "pb", "-o", exported, "--fetch", *fetches]
    printed = subprocess.run(line, capture_output=True, text=True)
    lacks = printed.stderr.partition(LACKS)[2].strip()
    return exported if exported.exists() else None, set(lacks.split(", ")) if lacks else set()


def run(command, path, fetches, feeds, variant=""):
    """Runs a graph with this crate. Returns the results; None if the run is refused."""
    files = [path.with_suffix(f".{variant}{part}.npz") for part in ("feeds", "given")]
    save(files[0], feeds)
    line = [command, "run", path, "--feeds", files[0], "--out", files[1], "--fetch", *fetches]
    if subprocess.run(line, capture_output=True).returncode:
        return None
    given = load(files[1])
    return [given[name] for name in fetches]


def save(path, arrays):
    """Writes an npz file. Strings are stored as bytes, offsets and a shape."""
    parts = {}
    for key, array in arrays.items():
        array = np.asarray(array)
        if array.dtype != object:
            parts[key] = array
            continue
        strings = [bytes(string) for string in array.flat]
        parts[f"{key}__bytes"] = np.frombuffer(b"".join(strings), np.uint8)
        parts[f"{key}__offs"] = np.cumsum([0, *map(len, strings)], dtype=np.int64)
        parts[f"{key}__shape"] = np.array(array.shape, np.int64)
    np.savez(path, **parts)


def load(path):
    """Returns the arrays of an npz file. Strings are stored as bytes, offsets and a shape."""
    arrays = dict(np.load(path))
    for key in [key.removesuffix("__offs") for key in arrays if key.endswith("__offs")]:
        data, ends, shape = (arrays.pop(f"{key}__{part}") for part in ("bytes", "offs", "shape"))
        strings = np.empty(len(ends) - 1, object)
        strings[:] = [data[start:end].tobytes() for start, end in zip(ends, ends[1:])]
        arrays[key] = strings.reshape(shape)
    return arrays
