"""A process for a Python peer. It reads requests as lines of JSON, and answers each with a line of JSON.

The requests are listed in benches/pipelines/serve.rs.

`worker.py PEER` imports the module `PEER_peer` beside it. The module has

- `VERSION`;
- `place(arrays)`, which converts the inputs to the peer's own arrays;
- `make(case, placed, fed, request)`, which returns a function without arguments. That function runs the case once,
  waits for the end of the run, and returns a result for `fetch`. The inputs from index `fed` on are constants. `make`
  raises `KeyError` if the peer does not have the case;
- `fetch(result)`, which returns numpy arrays;
- optionally `forget()`, which drops compiled code.
"""

import gc
import importlib
import json
import os
import sys
import time
import traceback

CORE = os.environ.get("PEERS_CORE")
if CORE is not None:
    os.sched_setaffinity(0, {int(CORE)})

import numpy as np

FILE_TYPES = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "u8": "u1", "bool": "?", "c64": "c8"}


def read(files):
    return [np.fromfile(f["path"], FILE_TYPES[f["dtype"]]).reshape(f["sizes"]) for f in files]


def samples(call, seconds):
    """Samples the microseconds of a call for some seconds.

    A sample is the mean over several calls, which together take at least 200 µs.
    """
    call()
    count = 1
    while timed(call, count) < 200e-6 and count < 1 << 20:
        count *= 2
    start, found = time.perf_counter(), []
    while len(found) < 3 or time.perf_counter() - start < seconds:
        found.append(timed(call, count) * 1e6 / count)
    return found


def timed(call, count):
    loop = range(count)
    start = time.perf_counter()
    for _ in loop:
        call()
    return time.perf_counter() - start


def resident(name):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    return float("nan")


class Worker:
    def __init__(self, peer):
        self.peer = peer
        self.call = None
        self.case = None

    def load(self, request):
        self.drop(request)
        files = request["inputs"]
        fed = sum(not f["constant"] for f in files)
        placed = self.peer.place(read(files))
        call = self.peer.make(request["case"], placed, fed, request)
        written = []
        for index, array in enumerate(self.peer.fetch(call())):
            path = os.path.join(request["folder"], f"{request['peer']}{index}.npy")
            np.save(path, np.asarray(array))
            written.append(path)
        self.case, self.call = (request["case"], placed, fed, request), call
        return {"outputs": written}

    def time(self, request):
        return {"us": samples(self.call, request["seconds"])}

    def first(self, request):
        getattr(self.peer, "forget", gc.collect)()
        start = time.perf_counter()
        call = self.peer.make(*self.case)
        result = call()
        taken = time.perf_counter() - start
        del result, call
        return {"us": [taken * 1e6]}

    def memory(self, request):
        """Returns the peak memory of a run, minus the memory that the process holds after a run on 8 elements."""
        small = [np.ones(8, "f4")]
        self.peer.make(request["case"], self.peer.place(small), 1, {**request, "model": request.get("small")})()
        gc.collect()
        before = resident("VmRSS")
        placed = self.peer.place(read(request["inputs"]))
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        result = self.peer.make(request["case"], placed, 1, request)()
        peak = resident("VmHWM")
        del result
        return {"mib": peak - before}

    def drop(self, request):
        self.call = self.case = None
        gc.collect()
        return {}


def main():
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of a peer must not mix with the answers
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    peer = importlib.import_module(f"{sys.argv[1]}_peer")
    worker = Worker(peer)
    print(json.dumps({"version": peer.VERSION}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request["do"])(request)
        except KeyError as error:
            answer = {"missing": str(error)}
        except Exception as error:  # any failure of one peer must not stop the others
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(answer), file=replies, flush=True)


if __name__ == "__main__":
    main()
