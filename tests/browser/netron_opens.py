"""Checks that Netron, in a real browser, opens a model that this crate wrote.

Run: pip install netron && python tests/browser/netron_opens.py target/debug/shapeflow [SCREENSHOT.png]

Without Netron or a browser, the test prints a message and is skipped.
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
    try:
        import netron
    except ImportError:
        print("skipped: netron is not installed")
        return
    if path is None:
        print("skipped: Chromium is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "mlp.pb")
        subprocess.run([sys.argv[1], "dump", DATA / "mlp.pb", "--shape", "x=batch,4", "-o", model], check=True)
        address, port = netron.start(model, browse=False)
        try:
            with Browser(path) as browser:
                browser.call("Page.navigate", url=f"http://{address}:{port}")
                # Netron shows a notice shortly after the page, which must be accepted first.
                browser.wait("(() => { const button = document.getElementById('message-button');"
                             " if (button?.offsetParent) button.click();"
                             " return document.querySelectorAll('.node').length > 4; })()", seconds=60)
                browser.wait("document.body.classList.contains('default')")
                texts = browser.evaluate(
                    "[...document.querySelectorAll('.node')].map((node) => node.textContent).join(' ')")
                for op in ["MatMul", "AddV2", "Relu", "Softmax", "ArgMax"]:
                    assert op in texts, f"the page must show {op}, got {texts}"
                if len(sys.argv) > 2:
                    browser.screenshot(sys.argv[2])
                assert browser.errors == [], browser.errors
        finally:
            netron.stop((address, port))
    print("Netron shows the model.")


if __name__ == "__main__":
    main()
