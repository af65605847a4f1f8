#!/usr/bin/env python3
"""Measures the HTML page of a graph in headless Chromium, beside Netron and TensorBoard's graph plugin.

    pip install netron tensorboard
    python3 benches/peers/pages.py target/debug/shapeflow [--nodes 11,134,..] [--viewers ours,..] [--shots FOLDER]

`cargo build --features cli` builds the binary. The script skips a viewer that is not installed, and needs Chromium. The
graph of 11 nodes is `tests/data/mlp.pb`; the others are layers of a text encoder, with scopes as real models have. The
largest graph is shown in our page only.

The script serves Netron and TensorBoard on this machine, blocks all other addresses, and visits each page once before
it measures. It prints a Markdown table with the medians of 5 visits:

- open: milliseconds from navigation to the second frame after the graph is drawn. TensorBoard and our page draw closed
  scopes at first, Netron draws all nodes. The row "ours, all open" is after a click on "Open all", and its time is from
  this click.
- pan: frames per second while the pointer drags the graph for 2 seconds. The browser makes 60 at most.
- zoom: milliseconds from a step of the wheel to the second frame after it, at least about 17; in brackets the slowest.
- MB: the size of the page, or of the model that a viewer reads.
"""

import argparse
import contextlib
import importlib.util
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "browser"))
from browser import Browser, find  # noqa: E402
from layered import graph  # noqa: E402

VISITS = 5
SIZES = [11, 134, 974, 4814, 100_000]
OURS_ONLY = 50_000
WIDTH, HEIGHT = 1400, 900
OPEN_ALL = """(() => { const start = performance.now();
    document.getElementById("unfold").click();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.openedIn = performance.now() - start; })); })()"""
# Runs in each new document, before its own scripts.
RECORDER = """(() => {
    window.frames_ = 0; window.zooms = [];
    const after = (act) => requestAnimationFrame(() => requestAnimationFrame(act));
    const look = () => {
        let is = false;
        try { is = READY; } catch { }
        if (is) after(() => { window.pictureAt = performance.now(); });
        else setTimeout(look, 10);
    };
    look();
    const tick = () => { window.frames_ += 1; requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
    window.addEventListener("wheel", () => {
        const start = performance.now();
        after(() => window.zooms.push(performance.now() - start));
    }, { capture: true, passive: true });
})()"""


class Ours:
    """Our page, a file. `is_open` opens all scopes."""

    ready = "document.getElementById('scene').hasAttribute('transform')"
    keys, step = 0, 120

    def __init__(self, binary, model, folder, is_open=False):
        self.is_open = is_open
        self.name = "ours, all open" if is_open else "ours"
        self.page = os.path.join(folder, "page.html")
        subprocess.run([binary, "dump", model, "-o", self.page], check=True)
        self.url = f"file://{self.page}"
        self.bytes = os.path.getsize(self.page)

    def prepare(self, browser):
        pass

    def stop(self):
        pass


class Netron:
    """Netron, which serves itself. It zooms while Ctrl is held."""

    name = "Netron"
    ready = "document.body.classList.contains('default') && document.querySelectorAll('.node').length > 0"
    keys, step, is_open = 2, 12, False

    def __init__(self, model):
        import netron

        self.netron = netron
        with contextlib.redirect_stdout(sys.stderr):
            self.address = netron.start(str(model), address=("127.0.0.1", free_port()), browse=False)
        self.url = f"http://{self.address[0]}:{self.address[1]}/"
        self.bytes = os.path.getsize(model)

    def prepare(self, browser):
        # With this cookie, Netron does not ask the reader about cookies first.
        browser.call("Network.setCookie", name="consent", value="1", url=self.url)

    def stop(self):
        with contextlib.redirect_stdout(sys.stderr):
            self.netron.stop(self.address)


class TensorBoard:
    """The graph tab of TensorBoard."""

    name = "TensorBoard"
    ready = """(() => { let root = document;
        for (const tag of ["tf-graph-dashboard", "tf-graph-board", "tf-graph", "tf-graph-scene"])
            root = root.querySelector(tag).shadowRoot;
        const scene = root.querySelector("g.scene");
        return root.querySelector("g.node") && scene.getAttribute("opacity") !== "0"; })()"""
    keys, step, is_open = 0, 120, False

    def __init__(self, model, folder):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        logs = os.path.join(folder, "logs")
        writer = EventFileWriter(logs)
        writer.add_event(Event(wall_time=1.0, step=0, graph_def=Path(model).read_bytes()))
        writer.close()
        port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", logs, "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(f"http://127.0.0.1:{port}/data/plugin/graphs/info")
        self.url = f"http://127.0.0.1:{port}/#graphs"
        self.bytes = os.path.getsize(model)

    def wait_for(self, url):
        """Waits until the server has read the graph."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(url) as answer:
                    if b"run_graph" in answer.read():
                        return
            except OSError:
                pass
            time.sleep(0.2)
        self.stop()
        raise RuntimeError("TensorBoard must show the graph within 120 s")

    def prepare(self, browser):
        pass

    def stop(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def visit(browser, viewer, patience):
    """Opens a page. Returns the milliseconds to its first picture, frames per second, and the times of zoom steps."""
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=viewer.url)
    browser.wait("window.pictureAt", patience)
    opening = browser.evaluate("window.pictureAt")
    if viewer.is_open:
        browser.evaluate(OPEN_ALL)
        browser.wait("window.openedIn", patience)
        opening = browser.evaluate("window.openedIn")
    time.sleep(1)  # animations of the first picture end
    pan = panning(browser)
    for turn in range(6):
        before = browser.evaluate("window.zooms.length")
        delta = viewer.step if turn % 2 else -viewer.step
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=500, y=450, deltaX=0, deltaY=delta,
                     modifiers=viewer.keys)
        browser.wait(f"window.zooms.length > {before}", patience)
    return opening, pan, browser.evaluate("window.zooms")


def panning(browser, seconds=2):
    """Drags the picture to and fro. Returns the frames per second."""
    def mouse(kind, x, y):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    mouse("mousePressed", 620, 500)
    start, frames, moves = time.monotonic(), browser.evaluate("window.frames_"), 0
    while time.monotonic() < start + seconds:
        moves += 1
        away = abs(moves % 200 - 100) * 3
        mouse("mouseMoved", 620 + away, 500 - away)
    frames = browser.evaluate("window.frames_") - frames
    rate = frames / (time.monotonic() - start)
    mouse("mouseReleased", 620, 500)
    return rate


def measure(path, viewer, patience):
    """Returns the row of a viewer."""
    try:
        with Browser(path, WIDTH, HEIGHT) as browser:
            viewer.prepare(browser)
            browser.call("Page.addScriptToEvaluateOnNewDocument", source=RECORDER.replace("READY", viewer.ready))
            visit(browser, viewer, patience)
            visits = [visit(browser, viewer, patience) for _ in range(VISITS)]
    except RuntimeError as error:
        return f"not within {patience} s", "", "" if "condition" in str(error) else str(error)
    opening, pan = (statistics.median(row[i] for row in visits) for i in range(2))
    zooms = [time for row in visits for time in row[2]]
    return f"{opening:,.0f}", f"{pan:.0f}", f"{statistics.median(zooms):.0f} ({max(zooms):.0f})"


def viewers_of(options, model, nodes, folder):
    """Yields the installed viewers of a graph, each ready to be visited."""
    binary = os.path.abspath(options.binary)
    if "ours" in options.viewers:
        yield Ours(binary, model, folder)
        if 100 < nodes < OURS_ONLY:
            yield Ours(binary, model, folder, is_open=True)
    for name, make in [("netron", Netron), ("tensorboard", lambda model: TensorBoard(model, folder))]:
        if name not in options.viewers or nodes > OURS_ONLY:
            continue
        if importlib.util.find_spec(name) is None:
            log(f"skipped: {name} is not installed")
            continue
        yield make(model)


def shoot(path, viewer, nodes, folder):
    """Saves pictures of our page, light and dark."""
    os.makedirs(folder, exist_ok=True)
    with Browser(path, WIDTH, HEIGHT) as browser:
        for scheme in ["light", "dark"]:
            browser.prefer(scheme)
            browser.open(viewer.page)
            if viewer.is_open:
                browser.evaluate(OPEN_ALL)
                browser.wait("window.openedIn")
            browser.screenshot(os.path.join(folder, f"{nodes}{'_open' if viewer.is_open else ''}_{scheme}.png"))


def log(text):
    print(text, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--nodes", default=",".join(map(str, SIZES)))
    parser.add_argument("--viewers", default="ours,netron,tensorboard")
    parser.add_argument("--shots", help="a folder for pictures of our page")
    parser.add_argument("--patience", type=int, default=60, help="the most seconds that a step may take")
    options = parser.parse_args()
    options.viewers = options.viewers.split(",")
    path = find()
    if path is None:
        print("skipped: Chromium is not installed")
        return
    rows = ["| nodes | viewer | open, ms | pan, frames/s | zoom, ms | MB |", "|---:|---|---:|---:|---:|---:|"]
    for nodes in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            model = ROOT / "tests" / "data" / "mlp.pb"
            if nodes != 11:
                model = Path(folder) / "model.pb"
                model.write_bytes(graph(nodes))
            for viewer in viewers_of(options, model, nodes, folder):
                try:
                    if options.shots and isinstance(viewer, Ours):
                        shoot(path, viewer, nodes, options.shots)
                    row = measure(path, viewer, options.patience)
                finally:
                    viewer.stop()
                rows.append(f"| {nodes:,} | {viewer.name} | {' | '.join(row)} | {viewer.bytes / 1e6:.2f} |")
                log(rows[-1])
    print("\n".join(rows))


if __name__ == "__main__":
    main()
