"""A page in headless Chromium, driven over --remote-debugging-pipe with the standard library alone.

The browser gets commands on descriptor 3 and answers on descriptor 4: JSON, each ended by a NUL.
Nothing is loaded from the network: name resolution is switched off, and every request is recorded.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]


class BrowserError(Exception):
    """The browser did not start, died, or refused a command."""


def find():
    """The path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    return next((path for path in map(shutil.which, candidates) if path), None)


class Browser:
    """One headless Chromium with one page."""

    def __init__(self, path):
        self.home = tempfile.TemporaryDirectory(prefix="flashlag-chromium-", ignore_cleanup_errors=True)
        self.to_browser, self.from_browser = self._start(path)
        self.buffer = b""
        self.next_id = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _start(self, path):
        command_read, command_write = os.pipe()
        answer_read, answer_write = os.pipe()

        def place_descriptors():
            # Copies first: 3 or 4 may be one of the pipe's own ends.
            command, answer = os.dup(command_read), os.dup(answer_write)
            commands, answers = os.dup(command), os.dup(answer)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.log = open(os.path.join(self.home.name, "log"), "wb")
        self.process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={self.home.name}/profile", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            close_fds=False,
            preexec_fn=place_descriptors,
        )
        os.close(command_read)
        os.close(answer_write)
        return command_write, answer_read

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, deadline - time.time()))
            if not ready:
                raise BrowserError("no answer from the browser in time")
            chunk = os.read(self.from_browser, 1 << 16)
            if not chunk:
                raise BrowserError(f"the browser ended: {self._last_words()}")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _last_words(self):
        with open(self.log.name, errors="replace") as log:
            return log.read()[-400:]

    def call(self, method, **params):
        """Sends one command and returns its result; keeps events that come in between."""
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.time() + 60
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        """Returns when an event of this name has come."""
        deadline = time.time() + 60
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._receive(deadline))

    def view(self, width, height, scheme, scale=1, media="screen"):
        """Sets the size of the window in CSS pixels, and the colour scheme, `light` or `dark`."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        scheme = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def open(self, url):
        """Loads a page, and returns the events that it caused."""
        self.events = []
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")
        # One more round trip, so that what the load caused has been reported too.
        self.evaluate("document.readyState")
        return self.events

    def evaluate(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    def close(self):
        """Ends the browser and removes what it wrote."""
        try:
            self.session = None
            self.call("Browser.close")
        except (BrowserError, OSError):
            self.process.kill()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()
        self.home.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
