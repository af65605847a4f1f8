#!/usr/bin/env python3
"""Runs the rows of the bench `pipelines` in shapeflow and in its peers, in turn, each program on one pinned thread.

    python3 benches/peers/run.py [--quick] [--rows TEXT|..] [--peers NAME,..] [--core N] [--work FOLDER]

The script makes a virtual environment and builds the programs in `target/peers`, or in the folder of `--work`. It
reports a peer that cannot be installed, and leaves it out. It prints a table and writes `results.json` beside this
file.

A time is the median of all samples. The minimum is shown too, because other programs disturbed that sample least. A
ratio above 1 means that shapeflow is faster than the fastest peer. Peers reuse the memory of results from call to call
if they can, and the allocator keeps freed pages.
"""

import argparse
import json
import os
import platform
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # only the results are written beside the sources
from table import ENGINES, figure, table  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Name: (module of the Python worker or None for a Rust peer, packages, environment).
PEERS = {
    "jax": ("jax", ["jax"], {}),
    "tf": ("tensorflow", ["tensorflow-cpu"], {}),
    "tf xla": ("tensorflow", ["tensorflow-cpu"], {"PEERS_XLA": "1"}),
    "torch": ("torch", ["torch"], {}),
    "torch.compile": ("torch", ["torch"], {"PEERS_COMPILE": "1"}),
    "ort": ("onnxruntime", ["onnxruntime"], {}),
    "numpy": ("numpy", [], {}),
    "numexpr": ("numexpr", ["numexpr"], {}),
    "tract": (None, [], {}),
    "candle": (None, [], {}),
    "ndarray": (None, [], {}),
    "gemm": (None, [], {}),
    "rust": (None, [], {}),
    "copy": (None, [], {}),
}
# References show the least time that the machine needs. They are not compared with shapeflow.
REFERENCES = ["copy"]
ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RAYON", "TF_NUM_INTEROP")},
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
# With these variables, the allocator of a process keeps freed pages, because a new page costs more than most calls.
KEEP_PAGES = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 26),
}


def main():
    options = parse()
    work = Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = environment(work, options.peers)
    if "PEERS_INNER" not in os.environ:
        os.execve(python, [str(python), __file__, *sys.argv[1:]], {**os.environ, "PEERS_INNER": "1"})
    comparison = Comparison(options, work, python)
    try:
        comparison.run()
    finally:
        comparison.stop()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="only rows that contain one of these texts, separated by |")
    parser.add_argument("--peers", default=",".join(PEERS), help="only these peers")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument("--rounds", type=int, help="number of turns of each program")
    parser.add_argument("--seconds", type=float, help="seconds of a turn")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core to run on")
    parser.add_argument("--nice", type=int, default=0, help="priority; below 0, as root, on a machine with other work")
    parser.add_argument("--work", default=ROOT / "target" / "peers", help="folder for builds and intermediate files")
    parser.add_argument("--bench", help="the executable of the bench, if it is built already")
    parser.add_argument("--results", default=HERE / "results.json", help="file to write the results to")
    parser.add_argument("--keep", action="store_true", help="keep rows of the file that are not measured")
    options = parser.parse_args()
    options.peers = [peer.strip() for peer in options.peers.split(",") if peer.strip()]
    unknown = [peer for peer in options.peers if peer not in PEERS]
    if unknown:
        parser.error(f"peers must be among {list(PEERS)}, got {unknown}")
    options.rounds = options.rounds or (3 if options.quick else 7)
    options.seconds = options.seconds or (0.05 if options.quick else 0.25)
    return options


def environment(work, peers):
    """Makes a virtual environment with the peers' packages. Returns its Python."""
    folder = work / "venv"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    marks = folder / "installed"
    marks.mkdir(exist_ok=True)
    wanted = ["numpy", "onnx"] + [package for peer in peers for package in PEERS[peer][1]]
    for package in dict.fromkeys(wanted):
        if (marks / package).exists():
            continue
        log(f"installing {package}")
        done = subprocess.run([python, "-m", "pip", "install", "-q", package], capture_output=True, text=True)
        if done.returncode == 0:
            (marks / package).touch()
        else:
            log(f"{package} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    return python


def log(text):
    print(text, file=sys.stderr, flush=True)


def confine(options):
    """Sets the core and the priority of a process that is about to start."""
    os.sched_setaffinity(0, {options.core})
    if options.nice:
        os.setpriority(os.PRIO_PROCESS, 0, options.nice)


class Worker:
    """A process that reads requests as lines of JSON and answers each with a line of JSON."""

    def __init__(self, name, command, options, extra=None, greets=True):
        self.name = name
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **ENVIRONMENT, **(extra or {}), "PEERS_CORE": str(options.core)},
            preexec_fn=lambda: confine(options),
        )
        self.version = ""
        if greets:
            self.version = self.read(180).get("version", "")

    def ask(self, request, timeout=240):
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            return {"error": f"{self.name} has ended: {self.last_words()}"}
        return self.read(timeout)

    def read(self, timeout):
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.stop()
            ended = f"the process has ended: {self.last_words()}"
            return {"error": ended if ready else f"no answer within {timeout} s"}
        return json.loads(line)

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()[-300:]

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.kill()
        self.process.wait()


class Comparison:
    def __init__(self, options, work, python):
        self.options, self.work, self.python = options, work, python
        self.build_programs()
        self.ours = self.start("ours")
        self.peers, self.versions = {}, {}
        for name in options.peers:
            worker = self.start(name)
            if worker is None or not worker.alive():
                log(f"{name} is left out: {worker.last_words() if worker else 'not built'}")
                continue
            self.peers[name] = worker
            self.versions[name] = worker.version
        log(f"peers: {self.versions}")
        self.results = []

    def build_programs(self):
        """Builds the bench and the Rust peers."""
        bench = self.options.bench
        self.bench = bench or built(["cargo", "bench", "--bench", "pipelines", "--no-run"], ROOT, None)
        self.rust = {}
        rust = [name for name in self.options.peers if PEERS[name][0] is None]
        together = self.build_rust(rust) if rust else None
        for name in rust:
            # If the peers do not build together, each is built alone.
            self.rust[name] = together or self.build_rust([name])

    def build_rust(self, names):
        """Builds the executable of these Rust peers. Returns its path, or `None` if the build fails."""
        features = ",".join(name for name in names if name not in ("rust", "copy"))
        # Generic code of the peers is compiled here, so it may use all instructions of the processor too.
        command = ["cargo", "rustc", "--release", "--features", features, "--", "-Ctarget-cpu=native"]
        try:
            path = Path(built(command, HERE / "rust", self.work / "rust"))
        except subprocess.CalledProcessError:
            log(f"the Rust peers {names} cannot be built")
            return None
        # The next build overwrites the executable.
        copy = path.with_name("-".join([path.name, *names]))
        shutil.copy2(path, copy)
        return str(copy)

    def start(self, name, memory=KEEP_PAGES):
        options = self.options
        if name == "ours":
            return Worker(name, [self.bench, "serve"], options, memory, greets=False)
        module, _, extra = PEERS[name]
        extra = {**extra, **memory}
        if module is None:
            return self.rust[name] and Worker(name, [self.rust[name], name], options, extra)
        return Worker(name, [self.python, HERE / "workers" / "worker.py", module], options, extra)

    def stop(self):
        for worker in [self.ours, *self.peers.values()]:
            worker.stop()

    def run(self):
        listed = self.ours.ask({"do": "rows"})
        texts = self.options.rows.split("|")
        rows = [row for row in listed["rows"] if any(text in row["row"] for text in texts)]
        order = {row["row"]: index for index, row in enumerate(listed["rows"])}
        path = Path(self.options.results)
        if self.options.keep and path.exists():
            self.results = [result for result in json.loads(path.read_text()) if result["row"] in order]
        for case in dict.fromkeys(row["case"] for row in rows):
            rows_of_case = [row for row in rows if row["case"] == case]
            with tempfile.TemporaryDirectory(dir=memory_folder(self.work)) as folder:
                self.measure(case, rows_of_case, folder)
            self.results.sort(key=lambda result: order[result["row"]])
            path.write_text(json.dumps(self.results, indent=1, ensure_ascii=False) + "\n")
        print(table(self.results, list(PEERS)))
        print("\nnot built: " + "; ".join(listed["not built"]))
        print(f"machine: {processor()}; " + ", ".join(f"{name} {v}" for name, v in self.versions.items()))

    def measure(self, case, rows, folder):
        log(f"{time.strftime('%H:%M:%S')} {case}")
        if not self.ours.alive():
            self.ours = self.start("ours")
        files = self.ours.ask({"do": "load", "case": case, "folder": folder})
        if "error" in files:
            log(f"  ours: {files['error']}")
            return
        request = {"case": case, "inputs": files["inputs"], "folder": folder, "model": self.model(case, files, folder)}
        if all(row["how"] == "Memory" for row in rows):
            self.ours.ask({"do": "drop"})
            for row in rows:
                self.memory(row, request)
            return
        wrong, failed, present = {}, {}, {}
        for name in self.peers:
            if not self.peers[name].alive():
                self.peers[name] = self.start(name)
            answer = self.peers[name].ask({"do": "load", "peer": name, **request})
            if "outputs" in answer:
                present[name] = self.peers[name]
                import agreement

                difference = None if name in REFERENCES else agreement.disagreement(
                    case, files["outputs"], answer["outputs"]
                )
                if difference:
                    wrong[name] = difference
                    log(f"  {name}: its results differ from ours: {difference}")
            elif "error" in answer:
                failed[name] = answer["error"]
                log(f"  {name}: {answer['error']}")
        for row in rows:
            self.take_turns(row, present, wrong, failed)
        for worker in [self.ours, *present.values()]:
            worker.ask({"do": "drop"})

    def model(self, case, files, folder):
        """Writes the ONNX model of a case. Returns its path, or `None` if the case has no model."""
        import models  # needs packages of the virtual environment

        path = os.path.join(folder, "model.onnx")
        return path if models.write(case, files["inputs"], files["outputs"], path) else None

    def take_turns(self, row, present, wrong, failed):
        first = row["how"] == "First"
        turns = {"ours": self.ours, **{n: w for n, w in present.items() if not first or n in ENGINES}}
        samples = {name: [] for name in turns}
        for turn in range(self.options.rounds):
            for name, worker in turns.items():
                if first and name == "torch.compile" and turn >= 2:
                    continue
                request = {"do": "first"} if first else {
                    "do": "time", "how": row["how"], "seconds": self.options.seconds
                }
                answer = worker.ask(request)
                if "us" in answer:
                    samples[name] += answer["us"]
                else:
                    failed[name] = answer.get("error", "the answer has no time")
        cold = {}
        if first:
            command = [self.bench, "first", row["case"]]
            runs = [
                subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: confine(self.options)).stdout
                for _ in range(5)
            ]
            cold = {"cold_us": statistics.median(float(run) for run in runs if run.strip())}
        self.record(row, {name: s for name, s in samples.items() if s}, wrong, failed, cold)

    def memory(self, row, request):
        samples, failed = {}, {}
        small = None
        if request["model"]:
            small_file = {"constant": False, "dtype": "f32", "sizes": [8]}
            small = os.path.join(request["folder"], "small.onnx")
            import models

            models.write(row["case"], [small_file], [small_file], small)
        for name in ["ours", *self.peers]:
            worker = self.start(name, memory={})
            if worker is None:
                continue
            answer = worker.ask({"do": "memory", "peer": name, "small": small, **request})
            worker.stop()
            if "mib" in answer:
                samples[name] = [answer["mib"]]
            elif "error" in answer:
                failed[name] = answer["error"]
                log(f"  {name}: {answer['error']}")
        self.record(row, samples, {}, failed, {})

    def record(self, row, samples, wrong, failed, more):
        medians = {name: statistics.median(values) for name, values in samples.items()}
        least = {name: min(values) for name, values in samples.items()}
        peers = {name: value for name, value in medians.items() if name != "ours"}
        # A peer whose results differ is shown, but is not compared with ours.
        compared = {name: value for name, value in peers.items() if name not in wrong and name not in REFERENCES}
        fastest = min(compared, key=compared.get, default=None)
        quickest = min((name for name in compared), key=least.get, default=None)
        result = {
            "row": row["row"],
            "how": row["how"],
            "unit": row["unit"],
            "ours_us": medians.get("ours"),
            "fastest_peer": fastest,
            "peer_us": compared.get(fastest),
            "ratio": ratio(compared.get(fastest), medians.get("ours")),
            "ratio_of_least": ratio(least.get(quickest), least.get("ours")),
            "peers": peers,
            "least": least,
            "disagree": wrong,
            "failed": failed,
            **more,
        }
        self.results = [old for old in self.results if old["row"] != row["row"]] + [result]
        log(f"  {row['row']}: ours {figure(result['ours_us'])}, {fastest} {figure(result['peer_us'])}, "
            f"ratio {figure(result['ratio'])}, ratio of minima {figure(result['ratio_of_least'])}")


def built(command, folder, target):
    """Runs a cargo command. Returns the path of the executable that it builds."""
    extra = {} if target is None else {"CARGO_TARGET_DIR": str(target)}
    end = command.index("--") if "--" in command else len(command)
    command = [*command[:end], "--message-format=json-render-diagnostics", *command[end:]]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **extra}, stdout=subprocess.PIPE, check=True)
    found = [json.loads(line).get("executable") for line in done.stdout.splitlines() if line.startswith(b"{")]
    return [path for path in found if path][-1]


def memory_folder(other):
    """Returns a folder in memory for temporary files, or `other` if the system has none."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() else other


def ratio(peer, ours):
    return peer / ours if peer and ours else None


def processor():
    try:
        with open("/proc/cpuinfo") as lines:
            name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, one thread"


if __name__ == "__main__":
    main()
