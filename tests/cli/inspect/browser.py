"""A page in headless Chromium, driven through its debugging pipe with nothing but the standard library."""
import base64, json, os, select, shutil, subprocess, tempfile, time


class Browser:
    """One page. Whatever it says on the console, every error and every request is kept in `complaints` and `requests`."""

    def __init__(self, program, width=1280, height=900):
        self.profile = tempfile.mkdtemp()
        to_them, our_write = os.pipe()
        our_read, from_them = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                 "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + self.profile]
        # the pipe's ends must be descriptors 3 and 4
        command = 'exec "$@" 3<&%d 4>&%d' % (to_them, from_them)
        self.process = subprocess.Popen(["sh", "-c", command, "sh", program] + flags + ["about:blank"],
                                        pass_fds=(to_them, from_them), stderr=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        os.close(to_them)
        os.close(from_them)
        self.write, self.read = our_write, our_read
        self.left, self.number, self.session = b"", 0, None
        self.events, self.complaints, self.requests = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.size(width, height)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write)
        os.close(self.read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, timeout):
        while b"\0" not in self.left:
            if not select.select([self.read], [], [], timeout)[0]:
                raise RuntimeError("the browser does not answer")
            got = os.read(self.read, 1 << 20)
            if not got:
                raise RuntimeError("the browser has gone")
            self.left += got
        one, self.left = self.left.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.number += 1
        ask = {"id": self.number, "method": method, "params": params}
        if self.session:
            ask["sessionId"] = self.session
        out = json.dumps(ask).encode() + b"\0"
        while out:
            out = out[os.write(self.write, out):]
        while True:
            answer = self.message(60)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.event(answer)

    def event(self, e):
        method, p = e.get("method"), e.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append(p["exceptionDetails"].get("exception", {}).get("description", str(p)))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append("console: %s" % [a.get("value") for a in p["args"]])
        elif method == "Log.entryAdded":
            self.complaints.append("log: " + p["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def cpu(self):
        """Seconds that all its processes have computed."""
        page, self.session = self.session, None
        try:
            return sum(p["cpuTime"] for p in self.call("SystemInfo.getProcessInfo")["processInfo"])
        finally:
            self.session = page

    def size(self, width, height, ratio=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio,
                  mobile=False)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, path, fragment=""):
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")
        self.frames()

    def run(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise RuntimeError("%s: %s" % (expression, r["exceptionDetails"]))
        return r["result"].get("value")

    def until(self, expression, seconds=30):
        end = time.time() + seconds
        while not self.run(expression):
            if time.time() > end:
                raise RuntimeError("it never came: " + expression)
            time.sleep(0.02)

    def frames(self, n=2):
        """Waits until what was asked for has been drawn."""
        self.run("new Promise(r => { let n = %d; const f = () => n-- ? requestAnimationFrame(f) : r(true); f(); })" % n)

    def key(self, key, modifiers=0):
        code = {"Tab": 9, "Escape": 27, "Home": 36, "End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                "ArrowDown": 40, "Enter": 13}.get(key, ord(key[0].upper()))
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers,
                      **(text if kind == "keyDown" else {}))
        self.frames()

    def mouse(self, x, y, kind="mouseMoved", modifiers=0):
        extra = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, modifiers=modifiers, **extra)

    def middle(self, selector):
        """The middle of an element, which is scrolled to."""
        return self.run("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'nearest'}); const r ="
                        " e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
                        % json.dumps(selector))

    def hover(self, selector):
        self.mouse(*self.middle(selector))
        self.frames()

    def click(self, selector, modifiers=0):
        x, y = self.middle(selector)
        self.mouse(x, y)
        self.mouse(x, y, "mousePressed", modifiers)
        self.mouse(x, y, "mouseReleased", modifiers)
        self.frames()

    def shot(self, path, whole=False):
        r = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(r["data"]))
