"""The page /subscribe for a person to see: `contrib/demo --browser [firefox|chromium]`.

Starts a lab, a router and a browser on the display. A signer is there, with a new key. Once notifications are on, somebody writes every ten
seconds. Ends with the browser, or with Ctrl-C.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Interop"))

from browsers import BROWSERS, BrowserError  # noqa: E402
from lab import Lab  # noqa: E402
from nostr import Person, Socket  # noqa: E402
from router import Router  # noqa: E402
from stage import Subscriber, configure, way_to_google  # noqa: E402


def show(name: str, folder: Path):
    lab = Lab(folder / "lab", "--browsers")
    proxy = way_to_google(lab)
    router = Router(folder / "router", lab)
    configure(router, proxy)
    router.start()
    browser = BROWSERS[name](folder / "browser", lab, is_visible=True)
    try:
        alice, bob = Person(), Person()
        subscriber = Subscriber(browser, router, alice).open()
        print(f"The page is at {subscriber.url}, in the browser that just opened. Turn on notifications there.", flush=True)
        wait(browser, "!document.querySelector('#on').hidden")
        print("Somebody writes every ten seconds now. Close the browser to end this.", flush=True)
        number = 0
        while browser.process.poll() is None:
            number += 1
            with Socket(router) as socket:
                socket.publish(bob.note("buttons" if number % 3 == 0 else f"Hello for the {number}. time", alice))
            time.sleep(10)
    except (BrowserError, KeyboardInterrupt):
        pass
    finally:
        browser.stop()
        router.kill()
        lab.stop()
        proxy.stop()


def wait(browser, condition: str):
    """However long the person takes."""
    while browser.process.poll() is None:
        try:
            if browser.js(f"return {condition}"):
                return
        except BrowserError:
            pass
        time.sleep(0.5)


if __name__ == "__main__":
    chosen = (sys.argv[1:] or ["firefox"])[0]
    if chosen not in BROWSERS:
        sys.exit(f"contrib/demo --browser: expected {' or '.join(sorted(BROWSERS))}, found {chosen}")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        sys.exit(
            "contrib/demo --browser: there is no display. Run it on a desktop, or look at .build/screenshots after "
            "contrib/test browser."
        )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="carillon-browser.") as temporary:
        show(chosen, Path(temporary))
