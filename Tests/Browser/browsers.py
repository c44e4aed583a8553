"""Debian's Firefox and Chromium, headless, each spoken to in its own protocol (WebDriver BiDi, DevTools) over one WebSocket."""

import base64
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from authority import Authority
from lab import Lab
from programs import PATIENCE, free_port, wait_until

SIGNER = """
(() => {
  const pending = new Map()
  let next = 0
  globalThis.__answer = (id, isFine, value) => {
    const [resolve, reject] = pending.get(id)
    pending.delete(id)
    isFine ? resolve(value) : reject(new Error("declined"))
  }
  const ask = (method, ...parameters) => new Promise((resolve, reject) => {
    const id = next++
    pending.set(id, [resolve, reject])
    globalThis.__ask(JSON.stringify({ id, method, parameters }))
  })
  globalThis.nostr = {
    getPublicKey: () => ask("getPublicKey"),
    signEvent: event => ask("signEvent", event),
    nip44: { encrypt: (key, text) => ask("encrypt", key, text) },
  }
})()
"""
"""A signer extension (NIP-07), whose answers come from the test."""

WATCH = """
globalThis.__shown = []
globalThis.__blocked = []
navigator.serviceWorker?.addEventListener("message", ({ data }) => globalThis.__shown.push(data))
document.addEventListener("securitypolicyviolation", ({ blockedURI, violatedDirective }) =>
  globalThis.__blocked.push(`${violatedDirective} ${blockedURI}`))
"""
"""What the worker tells the page, and what the page's policy stops."""


class BrowserError(Exception):
    pass


class Connection:
    """Commands with their answers, and events on threads of their own."""

    def __init__(self, url: str):
        self._context = connect(url, max_size=None, proxy=None, compression=None, open_timeout=PATIENCE)
        self._socket = self._context.__enter__()
        self._lock = threading.Lock()
        self._number = 0
        self._pending: dict[int, Future] = {}
        self._workers = ThreadPoolExecutor(4)
        self.on_event = lambda message: None
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, method: str, parameters: dict | None = None, **more) -> dict:
        future: Future = Future()
        with self._lock:
            self._number += 1
            self._pending[self._number] = future
            message = {"id": self._number, "method": method, "params": parameters or {}, **more}
            self._socket.send(json.dumps(message))
        return future.result(timeout=PATIENCE)

    def close(self):
        self._socket.close()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _read(self):
        try:
            for text in self._socket:
                message = json.loads(text)
                future = self._pending.pop(message.get("id"), None)
                if future is None:
                    self._workers.submit(self._tell, message)
                elif "error" in message:
                    future.set_exception(BrowserError(json.dumps(message)[:2000]))
                else:
                    future.set_result(message.get("result", {}))
        except (ConnectionClosed, RuntimeError):
            pass
        for future in self._pending.values():
            future.set_exception(BrowserError("the browser is gone"))

    def _tell(self, message: dict):
        try:
            self.on_event(message)
        except (BrowserError, ConnectionClosed):
            pass


class Browser:
    """One page of one browser."""

    name = ""
    draws_buttons = True
    """Whether a notification's buttons can be clicked there."""

    def __init__(self, folder: Path, lab: Lab, is_visible: bool = False):
        """`lab` is its push service. `is_visible` for people, who need a display."""
        self.lab = lab
        self.folder = folder
        self.is_visible = is_visible
        self.folder.mkdir(parents=True)
        self.certificate = Authority(folder / "authority").server("localhost")
        """Of servers of a test's own, which the browser trusts."""
        self.process: subprocess.Popen | None = None
        self.signer = None
        """Answers for `window.nostr`: `signer(method, parameters)`; nil: there is none."""

    def _start(self, *command: str):
        environment = os.environ | {"HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        if not self.is_visible:
            environment.pop("DISPLAY", None)
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)

    def stop(self):
        if self.process:
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answer(self, text: str) -> str:
        """The script that gives the page what its signer says."""
        question = json.loads(text)
        try:
            value = self.signer(question["method"], question["parameters"])
            return f"__answer({question['id']}, true, {json.dumps(value)})"
        except PermissionError:
            return f"__answer({question['id']}, false, null)"

    # What both do in their own way.

    def open(self, url: str):
        raise NotImplementedError

    def js(self, body: str, *arguments):
        """The result of an async function's body in the page; arguments are `a`."""
        raise NotImplementedError

    @staticmethod
    def _call(body: str, arguments) -> str:
        return (
            f"(async (...a) => {{ {body} }})(...{json.dumps(arguments)})"
            ".then(v => JSON.stringify({ v }), e => JSON.stringify({ e: `${e.name}: ${e.message}\\n${e.stack}` }))"
        )

    @staticmethod
    def _value(text: str):
        answer = json.loads(text)
        if "e" in answer:
            raise BrowserError(answer["e"])
        return answer.get("v")

    # What tests do with either.

    def wait_for(self, condition: str, *arguments, what: str = ""):
        """The first true value of an expression in the page; of an element only that it is there."""
        expression = f"const v = {condition}; return v instanceof Node || v"
        try:
            return wait_until(lambda: self.js(expression, *arguments), what or condition, self.process)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._state}") from None

    @property
    def _state(self) -> str:
        """What tells why something did not happen: the page, its worker, what both remember, and the push service."""
        text, heard = self.js("return [document.body.innerText, globalThis.__shown ?? []]")
        remembered = self.js(
            "if (!/\\/subscribe\\//.test(location.href)) return null;"
            "const { read } = await import('./storage.js'); const { lastShown, addressChanged, ways } = await read();"
            "const worker = (await navigator.serviceWorker.getRegistration())?.active?.state;"
            "return { lastShown, addressChanged, ways: Object.keys(ways ?? {}), worker }"
        )
        return (
            f"The page says:\n{text}\nIts worker said: {heard}\nThey remember: {remembered}\n"
            f"The push service has: {self.lab.browsers()}"
        )

    def click(self, selector: str):
        self.wait_for("(n => n && !n.closest('[hidden]') && !document.body.ariaBusy)(document.querySelector(a[0]))", selector)
        self.js("document.querySelector(a[0]).click()", selector)

    def choose(self, selector: str, value):
        """Fills in a field, as a person would: with the events that follow."""
        self.js(
            "const n = document.querySelector(a[0]); if (typeof a[1] === 'boolean') n.checked = a[1]; else n.value = a[1];"
            "for (const e of ['input', 'change']) n.dispatchEvent(new Event(e, { bubbles: true }))",
            selector,
            value,
        )

    def text(self, selector: str) -> str:
        return self.js("return document.querySelector(a[0])?.textContent ?? ''", selector)

    def is_shown(self, selector: str) -> bool:
        return self.js("return document.querySelector(a[0])?.checkVisibility() ?? false", selector)

    def shown(self, count: int) -> list[dict]:
        """Waits until the worker has shown so many notifications since the page was opened."""
        self.wait_for(f"__shown.filter(m => m.type === 'shown').length >= {count} && __shown", what=f"{count} shown")
        return [message for message in self.js("return __shown") if message["type"] == "shown"]

    def clear_screen(self):
        """Takes away what would look like the next test's."""
        with contextlib.suppress(BrowserError):
            self.js(
                "for (const r of await navigator.serviceWorker.getRegistrations())"
                " for (const n of await r.getNotifications()) n.close()"
            )

    def notifications(self) -> list[dict]:
        """What is on the screen."""
        return self.js(
            "const r = await navigator.serviceWorker.ready;"
            "return (await r.getNotifications()).map(n => ({ title: n.title, body: n.body, tag: n.tag, lang: n.lang,"
            " data: n.data, actions: (n.actions ?? []).map(({ action, title }) => ({ action, title })) }))"
        )


class Firefox(Browser):
    name = "firefox"
    draws_buttons = False

    def __init__(self, folder: Path, lab: Lab, is_visible: bool = False):
        super().__init__(folder, lab, is_visible)
        preferences: dict[str, bool | int | str] = {
            "remote.prefs.recommended": False,
            "dom.push.serverURL": lab.addresses["browsers"]["firefox_url"],
            "dom.push.testing.allowInsecureServerURL": True,
            "permissions.default.desktop-notification": 1,
            "alerts.useSystemBackend": False,
            # Else each lost connection makes the next one wait twice as long as the one before.
            "dom.push.retryBaseInterval": 100,
            "browser.shell.checkDefaultBrowser": False,
            "datareporting.policy.dataSubmissionEnabled": False,
            "app.update.disabledForTesting": True,
            "browser.aboutwelcome.enabled": False,
            "termsofuse.bypassNotification": True,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
        }
        profile = folder / "profile"
        profile.mkdir()
        lines = [f'user_pref("{name}", {json.dumps(value)});' for name, value in preferences.items()]
        (profile / "user.js").write_text("\n".join(lines) + "\n")
        port = free_port()
        self._start(
            "firefox-esr", *([] if is_visible else ["--headless"]), "--no-remote", "--profile", str(profile),
            "--remote-debugging-port", str(port), "--remote-allow-system-access", "about:blank",
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.connection = Connection(f"ws://127.0.0.1:{port}/session")
                break
            except (OSError, TimeoutError):
                assert time.monotonic() < deadline and self.process.poll() is None, "Firefox does not start"
                time.sleep(0.1)
        self.connection.on_event = self._event
        self.connection.ask("session.new", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": True}}})
        self.connection.ask("session.subscribe", {"events": ["script.message"]})
        self.context = self.connection.ask("browsingContext.getTree")["contexts"][0]["context"]
        self._script = None

    def stop(self):
        try:
            self.connection.ask("browser.close")
        except Exception:  # noqa: BLE001 - it is over either way
            pass
        self.connection.close()
        super().stop()

    def open(self, url: str):
        if self._script:
            self.connection.ask("script.removePreloadScript", {"script": self._script})
        signer = SIGNER if self.signer else ""
        declaration = "channel => { globalThis.__ask = text => channel(text); " + signer + WATCH + " }"
        channel = {"type": "channel", "value": {"channel": "signer"}}
        self._script = self.connection.ask(
            "script.addPreloadScript", {"functionDeclaration": declaration, "arguments": [channel]}
        )["script"]
        self.connection.ask("browsingContext.navigate", {"context": self.context, "url": url, "wait": "complete"})

    def js(self, body: str, *arguments):
        result = self._evaluate(self.context, self._call(body, arguments))
        return self._value(result)

    def _evaluate(self, context: str, expression: str):
        result = self.connection.ask(
            "script.evaluate",
            {"target": {"context": context}, "awaitPromise": True, "userActivation": True, "expression": expression},
        )
        if result["type"] != "success":
            raise BrowserError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def _event(self, message: dict):
        if message.get("method") == "script.message":
            parameters = message["params"]
            answer = self._answer(parameters["data"]["value"])
            self._evaluate(parameters["source"]["context"], answer)

    def screen(self, width: int, height: int, is_dark: bool):
        self.connection.ask(
            "browsingContext.setViewport", {"context": self.context, "viewport": {"width": width, "height": height}}
        )

    def screenshot(self, path: Path):
        shot = self.connection.ask("browsingContext.captureScreenshot", {"context": self.context, "origin": "document"})
        path.write_bytes(base64.b64decode(shot["data"]))

    def clear_screen(self):
        super().clear_screen()
        # Alerts of other origins stay as well, and too many of them hold further ones back.
        for _ in range(10):
            alerts = [context["context"] for context in self._windows() if "alert" in context["url"]]
            for window in alerts:
                with contextlib.suppress(BrowserError):
                    self._evaluate(window, "window.close()")
            if not alerts:
                return

    def _windows(self) -> list[dict]:
        """Those of the browser itself, alerts included."""
        return self.connection.ask("browsingContext.getTree", {"moz:scope": "chrome"})["contexts"]

    def click_notification(self, title: str, button: str = "") -> str:
        """Clicks on the alert's own window, as a person does. Returns what opened."""
        before = {context["context"] for context in self._pages()}

        def alert():
            for context in self._windows():
                if "alert" in context["url"]:
                    text = self._evaluate(context["context"], "document.documentElement.innerText ?? ''")
                    titled = self._evaluate(
                        context["context"], "document.getElementById('alertTitleLabel')?.getAttribute('value') ?? ''"
                    )
                    if title in f"{text} {titled}":
                        return context["context"]
            return None

        window = wait_until(alert, f"an alert says {title!r}", self.process)
        self._evaluate(window, "window.onAlertClick()")

        def opened():
            for context in self._pages():
                if context["context"] not in before and context["url"].startswith("http"):
                    return context
            return None

        page = wait_until(opened, "a click opens a page", self.process)
        self.connection.ask("browsingContext.close", {"context": page["context"]})
        return page["url"]

    def _pages(self) -> list[dict]:
        return self.connection.ask("browsingContext.getTree")["contexts"]

    def lose_subscription(self):
        """As Mozilla's service does when it has forgotten a browser."""
        self.lab.forget_browsers()


class Chromium(Browser):
    name = "chromium"

    def __init__(self, folder: Path, lab: Lab, is_visible: bool = False):
        super().__init__(folder, lab, is_visible)
        *switches, trusted = lab.addresses["browsers"]["chromium_switches"]
        key = x509.load_pem_x509_certificate(self.certificate.read_bytes()).public_key()
        digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
        profile = folder / "profile"
        self._start(
            "chromium", *([] if is_visible else ["--headless=new"]), "--no-sandbox", "--disable-gpu",
            "--no-first-run", "--remote-debugging-port=0",
            "--disable-features=SystemNotifications", f"--user-data-dir={profile}",
            *([] if is_visible else ["--hide-scrollbars"]),
            *switches, f"{trusted},{base64.b64encode(digest).decode()}",
            "about:blank",
        )  # fmt: skip
        port_file = profile / "DevToolsActivePort"
        wait_until(lambda: port_file.exists() and len(port_file.read_text().split()) == 2, "Chromium starts", self.process)
        port, path = port_file.read_text().split()
        self.connection = Connection(f"ws://127.0.0.1:{port}{path}")
        self.connection.on_event = self._event
        pages = self.connection.ask("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in pages if target["type"] == "page")
        self.session = self._attach(page)
        self._page("Page.enable")
        self._page("Runtime.enable")
        self._page("Runtime.addBinding", name="__ask")
        self._script = None
        self._loaded = threading.Event()

    def stop(self):
        try:
            self.connection.ask("Browser.close")
        except Exception:  # noqa: BLE001 - it is over either way
            pass
        self.connection.close()
        super().stop()

    def _attach(self, target: str) -> str:
        return self.connection.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]

    def _page(self, method: str, **parameters) -> dict:
        return self.connection.ask(method, parameters, sessionId=self.session)

    def open(self, url: str):
        origin = "/".join(url.split("/")[:3])
        self.connection.ask("Browser.grantPermissions", {"origin": origin, "permissions": ["notifications"]})
        if self._script:
            self._page("Page.removeScriptToEvaluateOnNewDocument", identifier=self._script)
        script = (SIGNER if self.signer else "") + WATCH
        self._script = self._page("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        self._loaded.clear()
        # To the same address with another fragment it would not load anew.
        if self.js("return location.href.split('#')[0]") == url.split("#")[0]:
            self._page("Page.reload")
        else:
            self._page("Page.navigate", url=url)
        assert self._loaded.wait(PATIENCE), f"{url} does not load"

    def js(self, body: str, *arguments):
        return self._value(self._evaluate(self.session, self._call(body, arguments)))

    def _evaluate(self, session: str, expression: str):
        result = self.connection.ask(
            "Runtime.evaluate",
            {"expression": expression, "awaitPromise": True, "returnByValue": True, "userGesture": True},
            sessionId=session,
        )
        if "exceptionDetails" in result:
            raise BrowserError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def _event(self, message: dict):
        if message.get("method") == "Page.loadEventFired":
            self._loaded.set()
        if message.get("method") == "Runtime.bindingCalled":
            answer = self._answer(message["params"]["payload"])
            parameters = {"expression": answer, "contextId": message["params"]["executionContextId"]}
            self.connection.ask("Runtime.evaluate", parameters, sessionId=message["sessionId"])

    def screen(self, width: int, height: int, is_dark: bool):
        self._page("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._page("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str, code: int, text: str = ""):
        """One key, as from the keyboard."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self._page("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self._page("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path: Path):
        shot = self._page("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _worker(self) -> str:
        """A session with the service worker, which a message wakes."""

        def target():
            self.js("(await navigator.serviceWorker.ready).active.postMessage({ type: 'hello' })")
            found = self.connection.ask("Target.getTargets")["targetInfos"]
            origin = self.js("return location.origin")
            return next(
                (t["targetId"] for t in found if t["type"] == "service_worker" and t["url"].startswith(origin)), None
            )

        return self._attach(wait_until(target, "the service worker runs", self.process))

    def click_notification(self, title: str, button: str = "") -> str:
        """Chromium shows no windows here that could be clicked, so its event is made in the worker. Returns what opened."""
        expression = self._call(
            """
            const [notification] = (await registration.getNotifications()).filter(n => n.title === a[0])
            if (!notification) throw new Error(`no notification ${a[0]}`)
            let opened = ""
            clients.openWindow = async url => { opened = new URL(url, location.href).href }
            const event = new NotificationEvent("notificationclick", { notification, action: a[1] })
            const work = []
            event.waitUntil = promise => work.push(promise)
            dispatchEvent(event)
            await Promise.all(work)
            delete clients.openWindow
            return opened
            """,
            [title, button],
        )
        return self._value(self._evaluate(self._worker(), expression))

    def lose_subscription(self):
        """Chromium tells of that only after other events, so it is made in the worker."""
        expression = self._call(
            """
            await (await registration.pushManager.getSubscription())?.unsubscribe()
            const event = new ExtendableEvent("pushsubscriptionchange")
            const work = []
            event.waitUntil = promise => work.push(promise)
            dispatchEvent(event)
            await Promise.all(work)
            """,
            [],
        )
        self._value(self._evaluate(self._worker(), expression))


BROWSERS = {browser.name: browser for browser in [Firefox, Chromium]}
