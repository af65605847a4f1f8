#!/usr/bin/env python3
"""Compares the number of instructions per element of a few kernels with the recorded numbers in counts.json.

Unlike times, these counts do not depend on other work on the machine. `valgrind --tool=callgrind` counts the
instructions of a program that calls a case once, and of a program that calls the case 5 times; the difference is the
cost of 4 calls. The script fails if a count exceeds the recorded count by more than 3 %. Without valgrind it prints a
message and does nothing.

    python3 benches/counts.py            compares
    python3 benches/counts.py --update   records
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "counts.json"
CASES = [
    "relu(a*x+b) 256 KiB",
    "chain of 200 ops, 64K",
    "softmax [1024,1024]",
    "gather_nd 1M scalars from 1024²",
    "tile [1024,256] × [4,4]",
]
# The crate's own emitter, and Cranelift. Both emit AVX2 code under valgrind.
ISAS = ["avx2", "clif"]
TOLERANCE = 0.03
CALLS = (1, 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record the counts")
    parser.add_argument("--cases", default="", help="only cases that contain this text")
    parser.add_argument("--bench", help="the executable of the pipelines, if it is built already")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 0
    bench = options.bench or built()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    failures = 0
    for case in (case for case in CASES if options.cases in case):
        for isa in ISAS:
            name = f"{case}, {isa}"
            found = per_element(bench, case, isa)
            if found is None:
                print(f"{name}: skipped, valgrind cannot run it")
                continue
            known = recorded.get(name)
            worse = known is not None and found > known * (1 + TOLERANCE) + 0.005
            failures += worse and not options.update
            verdict = "" if known is None else f", recorded {known:.3f}" + (" - MORE" if worse else "")
            print(f"{name}: {found:.3f} instructions per element{verdict}", flush=True)
            if options.update:
                recorded[name] = round(found, 3)
    if options.update:
        RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    return 1 if failures else 0


def built():
    """Builds the pipelines. Returns the path of the executable."""
    command = ["cargo", "bench", "--bench", "pipelines", "--no-run", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, check=True)
    found = [json.loads(line).get("executable") for line in done.stdout.splitlines() if line.startswith(b"{")]
    return [path for path in found if path][-1]


def per_element(bench, case, isa):
    """Counts the instructions of a call per element of its results; `None` if valgrind fails."""
    counts = []
    for calls in CALLS:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", bench, "count", case, str(calls)]
        environment = {**os.environ, "SHAPEFLOW_ISA": isa}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        total = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or total is None:
            return None
        counts.append(int(total.group(1)))
    return (counts[1] - counts[0]) / (CALLS[1] - CALLS[0]) / int(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
