"""Drives a headless Chromium over a pipe. It needs no package."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

# The browser talks to this machine only.
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
         "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]


def find():
    """Returns the path of a browser, or None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page of a browser. The browser ends with the `with` block."""

    def __init__(self, path, width=1440, height=900):
        self.profile = tempfile.mkdtemp(prefix="shapeflow-browser-")
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()

        def attach():
            # The browser reads from file descriptor 3 and writes to 4.
            spare_in, spare_out = os.dup(to_browser), os.dup(from_browser)
            os.dup2(spare_in, 3)
            os.dup2(spare_out, 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *QUIET,
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", f"--window-size={width},{height}",
             "about:blank"],
            preexec_fn=attach, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.session = 0, b"", None
        self.errors = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Network.enable")
        self.call("Log.enable")
        self.requests = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **params):
        """Sends a command and waits for its answer. Handles the events that arrive before it."""
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        event = json.loads(message)
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details.get("text")))
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.errors.append(event["params"]["entry"]["text"])
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        return event

    def open(self, path, address=""):
        """Opens a file, at an address such as `#v3` in it, and waits until its script has run."""
        self.requests.clear()
        # An address in the page that is open already would not load the page anew.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + address)
        self.wait("document.readyState === 'complete' && document.getElementById('scene')?.hasAttribute('transform')")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"condition must become true within {seconds} s: {condition}")
            time.sleep(0.05)

    def click(self, selector):
        """Clicks in the middle of the element that the selector finds, as a mouse does."""
        box = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
                            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        assert box, f"the page has no element {selector}"
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key):
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def scroll(self, x, y, delta):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def prefer(self, scheme):
        """Sets the preferred color scheme, `light` or `dark`, as a reader's system does."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def download(self, selector, folder, extension, seconds=60):
        """Clicks on an element that saves a file with this extension, and returns the bytes of the file."""
        os.makedirs(folder)
        # The command is the browser's, not the page's.
        session, self.session = self.session, None
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        self.session = session
        self.click(selector)
        end = time.monotonic() + seconds
        # The browser gives a file its name when the file is whole.
        while not (files := [name for name in os.listdir(folder) if name.endswith(extension)]):
            if time.monotonic() > end:
                raise RuntimeError(f"{selector} must save a file within {seconds} s")
            time.sleep(0.05)
        with open(os.path.join(folder, files[0]), "rb") as file:
            return file.read()

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
