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


def open_layers(browser, binary, folder, layers):
    """Opens the page of a chain with 30 nodes in each layer."""
    float_type = 'attr { key: "T" value { type: DT_FLOAT } }'
    lines = ['node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }'
             ' attr { key: "shape" value { shape { dim { size: -1 } dim { size: 4 } } } } }']
    before = "x"
    for layer in range(layers):
        for step in range(30):
            name = f"net/layer_{layer}/step_{step}"
            lines.append(f'node {{ name: "{name}" op: "Tanh" input: "{before}" {float_type} }}')
            before = name
    model, page = os.path.join(folder, "scopes.pbtxt"), os.path.join(folder, "scopes.html")
    Path(model).write_text("\n".join(lines))
    subprocess.run([binary, "dump", model, "-o", page], check=True)
    browser.open(page)


def check_scopes(browser, binary, folder, shot):
    """Checks which scopes of a graph are open at first, and what opens, leaves and saves them."""
    boxes = lambda: browser.evaluate("document.querySelectorAll('g.node').length")
    frames = lambda: browser.evaluate("document.querySelectorAll('g.frame').length")
    # A scope that fits is open at first, a larger one is closed.
    open_layers(browser, binary, folder, layers=4)
    assert frames() == 1, frames()
    open_layers(browser, binary, folder, layers=16)
    assert (boxes(), frames()) == (2, 0), (boxes(), frames())
    shot("scopes")

    # A click opens a scope, whose title is then at the pointer; a second click closes it.
    under = ("(() => {{ const b = document.querySelector('{}').getBoundingClientRect();"
             " return [b.x + b.width / 2, b.y + b.height / 2]; }})()")
    x, y = browser.evaluate(under.format("g.node[data-scope]"))
    at_pointer = f"document.elementFromPoint({x}, {y}).closest('[data-scope]')?.dataset.scope"
    scope = browser.evaluate(at_pointer)
    browser.click("g.node[data-scope]")
    assert frames() == 1
    assert browser.evaluate(at_pointer) == scope
    assert browser.evaluate("items.length") >= 10
    shot("opened")

    # A click on a value that enters a scope shows the node of the value, and moves nothing.
    transform = "document.getElementById('scene').getAttribute('transform')"
    before = browser.evaluate(transform)
    browser.click("g.edge")
    assert browser.evaluate("document.querySelector('#name').textContent") == "x"
    assert browser.evaluate(transform) == before
    browser.click("#name .ref")
    assert browser.evaluate("document.querySelectorAll('.input.on').length") == 1

    # Keys reach every box: the arrows follow wires, Enter opens, Escape leaves.
    browser.click("g.input")
    label = "document.activeElement.getAttribute('aria-label')"
    for key in ["ArrowDown", "ArrowUp", "PageDown", "PageDown"]:
        browser.press(key)
        assert browser.evaluate(label), key
    seen = set()
    for _ in range(30):
        seen.add(browser.evaluate(label))
        browser.press("PageDown")
    assert len(seen) == browser.evaluate("items.length"), seen
    for _ in range(40):
        if "Scope net/layer_7" in browser.evaluate(label):
            break
        browser.press("PageDown")
    browser.press("Enter")
    assert browser.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert frames() == 2

    # The search opens the scopes around what it finds.
    browser.press("/")
    browser.type("layer_3/step_7")
    browser.press("Enter")
    assert browser.evaluate("document.querySelector('#name').textContent") == "net/layer_3/step_7"
    assert browser.evaluate("document.querySelectorAll('.node.on').length") == 1

    # The saved picture has all boxes of the open scopes, also those that the page does not show.
    count = browser.evaluate("new DOMParser().parseFromString(pictureSvg(), 'image/svg+xml')"
                             ".querySelectorAll('g.node, g.frame').length")
    assert count == browser.evaluate("items.length") > 60, count

    # Buttons open and close all scopes.
    browser.click("#unfold")
    assert browser.evaluate("items.length") > 240
    browser.click("#fold")
    assert (boxes(), frames()) == (2, 0), (boxes(), frames())


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
        assert "10 runs" in text("#time"), text("#time")
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

        # The search finds loops of kernels, which no node has.
        browser.press("Escape")
        browser.press("/")
        browser.type("for i0 <")
        assert browser.evaluate("document.querySelectorAll('.node.found').length") == 0
        found = browser.evaluate("document.querySelectorAll('#found [data-hit]').length")
        assert 0 < found <= browser.evaluate("kernels.length"), found
        browser.press("Enter")
        assert "for i0 <" in text("#details"), text("#details")
        browser.press("Escape")

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
        check_scopes(browser, sys.argv[1], folder, shot)
    print("The page shows nodes, shapes, kernels, and code.")


if __name__ == "__main__":
    main()
