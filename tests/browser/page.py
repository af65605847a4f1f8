"""Checks the HTML page of a model in a real browser, such as that a click on a node shows the node's shape, and the
loops and code of its kernel.

Run: python3 tests/browser/page.py target/debug/shapeflow [FOLDER-FOR-SCREENSHOTS]

`cargo build --features cli` builds the binary. Without a browser, the test prints a message and is skipped.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, find

DATA = Path(__file__).parent.parent / "data"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = find()
    if path is None:
        print("skipped: Chromium is not installed")
        return
    shots = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder, Browser(path) as browser:
        page = os.path.join(folder, "mlp.html")
        subprocess.run([sys.argv[1], "dump", DATA / "mlp.pb", "--stage", "kernels", "--shape", "x=batch,4",
                        "--feeds", DATA / "mlp_feeds.npz", "-o", page], check=True)
        browser.open(page)
        text = lambda selector: browser.evaluate(f"document.querySelector({selector!r})?.textContent")
        number = lambda name: browser.evaluate(
            "JSON.parse(document.getElementById('data').textContent)"
            f".nodes.findIndex((node) => node.name === {name!r})")

        def shot(name):
            if shots:
                shots.mkdir(parents=True, exist_ok=True)
                browser.screenshot(shots / f"{name}.png")

        # The constants are lines in the boxes of the nodes that read them.
        assert browser.evaluate("document.querySelectorAll('g.node').length") == 7
        assert browser.evaluate("document.querySelectorAll('[data-constant]').length") == 4
        assert text("#op") is None and "1 input" in text("#details"), text("#details")
        shot("light")

        # A click on a node shows its details.
        relu = number("hidden/Relu")
        browser.click(f"g.node[data-node='{relu}'] .box")
        assert text("#op") == "relu" and text("#name") == "hidden/Relu", text("#details")
        assert "f32[batch, 8]" in text("#outputs"), text("#outputs")
        assert "batch is axis 0 of x" in text("#outputs"), text("#outputs")
        assert "for i0 < batch" in text("#loops"), text("#loops")
        assert text("#clif") is None, "the stage `kernels` has no Cranelift code"
        assert "1 run" in text("#time"), text("#time")
        assert browser.evaluate("document.querySelectorAll('.wire.lit').length") == 2
        assert "f32[batch, 8]" in text(f"g.node[data-node='{relu}'] .shape")
        shot("node")

        # Escape shows the graph again.
        browser.press("Escape")
        assert text("#op") is None, text("#details")

        # A click on a constant's line shows the constant.
        browser.click("[data-constant]")
        assert text("#op") == "constant", text("#details")
        browser.press("Escape")

        # The details include attributes.
        browser.click(f"g.node[data-node='{number('class')}'] .box")
        assert "output_type" in text("#attrs"), text("#attrs")
        browser.press("Escape")

        # A click on a kernel in the list marks its nodes.
        browser.click(".kernel:nth-of-type(2)")
        assert browser.evaluate("document.querySelectorAll('.node.in-focus').length") == 2
        shot("kernel")
        browser.press("Escape")

        # The search finds shapes and names.
        browser.press("/")
        browser.type("softmax")
        assert browser.evaluate("document.querySelectorAll('.node.found').length") == 1
        browser.press("Enter")
        assert "f32[batch, 3]" in text("#outputs"), text("#outputs")
        shot("search")

        # The wheel zooms about the pointer.
        scale = "new DOMMatrix(getComputedStyle(document.getElementById('scene')).transform).a"
        before = browser.evaluate(scale)
        browser.scroll(600, 400, 300)
        browser.wait(f"{scale} < {before}")
        browser.prefer("dark")
        assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"
        browser.click("#fit")
        shot("dark")
        assert browser.errors == [], browser.errors
        assert all(url.startswith("file://") for url in browser.requests), browser.requests
    print("The page shows nodes, shapes, kernels, and code.")


if __name__ == "__main__":
    main()
