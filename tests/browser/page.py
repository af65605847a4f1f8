"""Checks the HTML page of a model in a real browser, such as that a click on a node shows the node's shape, and the
loops and code of its kernel.

Run: python3 tests/browser/page.py target/debug/shapeflow [FOLDER-FOR-SCREENSHOTS]

`cargo build --features cli` builds the binary. Without a browser, the test prints a message and is skipped.
"""

import os
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib
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

    # A click opens a scope. Then the title of the scope is at the pointer.
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


def decoded(png):
    """Returns the width, the height and the bytes of a PNG. Checks that the file is whole."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n"), png[:8]
    place, chunks = 8, []
    while place < len(png):
        length, = struct.unpack_from(">I", png, place)
        kind, content = png[place + 4:place + 8], png[place + 8:place + 8 + length]
        check, = struct.unpack_from(">I", png, place + 8 + length)
        assert check == zlib.crc32(kind + content), f"the chunk {kind} is damaged"
        chunks.append((kind, content))
        place += 12 + length
    assert chunks[-1][0] == b"IEND", chunks[-1][0]
    width, height, depth, color = struct.unpack_from(">IIBB", chunks[0][1])
    pixels = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    channels = {2: 3, 6: 4}[color]
    assert depth == 8 and len(pixels) == height * (1 + channels * width), (depth, color, len(pixels))
    return width, height, pixels


def check_saved(browser, folder, page):
    """Checks that the saved SVG and PNG are whole, in both themes."""
    for scheme in ["light", "dark"]:
        browser.prefer(scheme)
        browser.open(page)
        width, height, boxes, lines = browser.evaluate("[extent.width, extent.height, items.length, wires.length]")
        svg = browser.download("#save-svg", os.path.join(folder, f"svg_{scheme}"), ".svg")
        root = xml.etree.ElementTree.fromstring(svg)
        assert float(root.get("width")) == width and float(root.get("height")) == height, root.attrib
        drawn = [(element.get("class") or "").split() for element in root.iter()]
        assert sum("node" in names for names in drawn) == boxes, boxes
        assert sum("wire" in names for names in drawn) >= lines, lines
        png_width, png_height, pixels = decoded(
            browser.download("#save-png", os.path.join(folder, f"png_{scheme}"), ".png"))
        assert abs(png_width - 2 * width) <= 1 and abs(png_height - 2 * height) <= 1, (png_width, png_height)
        # The page has text in each quarter of its height, and a row of one color compresses to almost nothing.
        rows = [pixels[len(pixels) * part // 4:len(pixels) * (part + 1) // 4] for part in range(4)]
        assert all(len(zlib.compress(part)) > 2000 for part in rows), [len(zlib.compress(part)) for part in rows]
        # The first pixel follows the byte of the row's filter. It shows the paper.
        assert (pixels[1] > 200) == (scheme == "light"), pixels[:4]
        assert browser.evaluate("byId('notice').textContent") == ""
    browser.prefer("light")


def check_large_png(browser, binary, folder):
    """Checks that the PNG of a graph that is too high for 2 pixels a point is smaller and whole."""
    open_layers(browser, binary, folder, layers=16)
    browser.click("#unfold")
    width, height = browser.evaluate("[extent.width, extent.height]")
    png_width, png_height, _ = decoded(browser.download("#save-png", os.path.join(folder, "large"), ".png"))
    assert 16000 < png_height < 33000 < 2 * height, (png_height, height)
    assert abs(png_width / png_height - width / height) < 0.01, (png_width, png_height, width, height)


def check_addresses(browser, binary, folder, page):
    """Checks what the addresses of a page show, and the way back."""
    text = lambda selector: browser.evaluate(f"document.querySelector({selector!r})?.textContent")
    address = lambda: browser.evaluate("location.hash")
    browser.open(page)
    relu = browser.evaluate("nodes.findIndex((node) => node.name === 'hidden/Relu')")
    value = browser.evaluate(f"addressOf({relu})")
    browser.open(page, f"#{value}")
    assert text("#name") == "hidden/Relu" and address() == f"#{value}", text("#details")
    for unknown in ["#v99999", "#s99", "#step99", "#asm", "#%E0%A4"]:
        browser.open(page, unknown)
        assert text("#details h3") == "Graph", (unknown, text("#details"))

    # Each link of each node leads to what it names: a node, a scope or a kernel.
    browser.open(page)
    for node in range(browser.evaluate("nodes.length")):
        browser.evaluate(f"select({node}, true)")
        names = browser.evaluate("[...document.querySelectorAll('#details .ref')].map((link) => link.textContent)")
        assert names, node
        for number, name in enumerate(names):
            browser.evaluate(f"select({node}, true)")
            browser.evaluate(f"document.querySelectorAll('#details .ref')[{number}].click()")
            shown = text("#name") or text("#details h3")
            assert name in (shown, "Show in the graph") or name.endswith(f": {shown}"), (name, shown)

    # The way back and forth leads over what the reader looked at.
    browser.open(page)
    browser.click("g.input")
    browser.click("#outputs .ref")
    after = text("#name")
    browser.evaluate("history.back()")
    browser.wait("document.querySelector('#name')?.textContent === 'x'")
    browser.evaluate("history.back()")
    browser.wait("document.querySelector('#details h3').textContent === 'Graph'")
    browser.evaluate("history.go(2)")
    browser.wait(f"document.querySelector('#name')?.textContent === {after!r}")

    # `#asm`, `#clif` and `#step1` show a kernel with its code. Its instructions and constants have colors.
    asm = os.path.join(folder, "asm.html")
    subprocess.run([binary, "dump", DATA / "mlp.pb", "--stage", "asm", "--shape", "x=batch,4", "-o", asm], check=True)
    in_view = "(() => {{ const box = document.getElementById('{}').getBoundingClientRect();" \
              " return box.height > 0 && box.top < innerHeight && box.bottom > 0; }})()"
    for name in ["asm", "clif", "loops"]:
        browser.open(asm, f"#{name}")
        assert text(f"#{name}") and browser.evaluate(in_view.format(name)), (name, text("#details"))
        assert browser.evaluate(f"document.querySelectorAll('#{name} span').length") > 3, name
    browser.open(asm, "#asm")
    # Constants follow the instructions as data.
    _, _, constants = text("#asm").partition("; constants")
    assert not constants or " dd " in constants or " dq " in constants, constants
    assert browser.evaluate("document.querySelectorAll('#asm .kw').length") > 10
    browser.open(asm, "#step1")
    assert "step 1" in text("#details .sub"), text("#details")
    assert browser.evaluate("document.querySelectorAll('.kernel.on').length") == 1


def check_inner(browser, binary, folder):
    """Checks the links between a scope and the nodes around it."""
    text = lambda selector: browser.evaluate(f"document.querySelector({selector!r})?.textContent")
    open_layers(browser, binary, folder, layers=16)
    browser.click("g.node[data-scope]")
    assert browser.evaluate("document.querySelectorAll('#inputs .ref').length") == 1
    browser.evaluate("goToScope(scopes.findIndex((scope) => scope?.path === 'net/layer_7'))")
    assert "net/layer_6/step_29" in text("#inputs") and "step_29" in text("#outputs"), text("#details")
    assert browser.evaluate("document.querySelectorAll('.on > .box').length") == 1
    browser.evaluate("document.querySelector('.crumbs .ref').click()")
    assert text("#name") == "net", text("#details")

    # A wire leaves out the label at a box. Without labels, the wire is whole.
    drawn = "(() => {{ zoom(0, 0, {} / camera.scale); render(); return [...shown].every(([thing, made]) =>" \
            " thing.d === undefined || made.getAttribute('d') === thing.{}); }})()"
    browser.evaluate("fit()")
    assert browser.evaluate("wires.some((wire) => wire.d !== wire.whole)")
    assert browser.evaluate(drawn.format(0.3, "whole")) and browser.evaluate(drawn.format(1, "d"))

    # A loop leads to its condition and its body, and these lead back.
    loop = os.path.join(folder, "loop.html")
    subprocess.run([binary, "dump", DATA / "saved_models" / "lstm", "-o", loop], check=True)
    browser.open(loop)
    browser.evaluate("select(nodes.findIndex((node) => node.op === 'while_loop'), true)")
    name = text("#name")
    assert browser.evaluate("[...document.querySelectorAll('#regions .ref')].map((link) => link.textContent)") == [
        "condition", "body"], text("#details")
    browser.evaluate("document.querySelectorAll('#regions .ref')[1].click()")
    assert text("#name") == f"{name}/body", text("#details")
    browser.evaluate("document.querySelector('#owner .ref').click()")
    assert text("#name") == name, text("#details")


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
        check_inner(browser, sys.argv[1], folder)
        check_addresses(browser, sys.argv[1], folder, page)
        check_saved(browser, folder, page)
        check_large_png(browser, sys.argv[1], folder)
        assert browser.errors == [], browser.errors
    print("The page shows nodes, shapes, kernels, and code.")


if __name__ == "__main__":
    main()
