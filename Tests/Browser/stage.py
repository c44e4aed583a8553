"""What tests and the demo set up: a router with the page, a way to the lab, and a person with a signer."""

import json

import nostr_sdk

from browsers import Browser
from console import Console
from lab import Lab
from nostr import Person
from proxy import ConnectProxy
from router import Router

RULES = """
version: 1
rules:
  - name: buttons
    match: { kinds: [1], content: "buttons" }
    title: "{{author.name}} asks"
    body: "{{event.content}}"
    actions:
      - { id: read, label: Read }
      - { id: help, label: Help, url: "https://help.example.com/asked" }
  - name: staying
    match: { kinds: [1], content: "stays" }
    title: "A note that stays"
    body: "{{event.content}}"
    webpush: { requireInteraction: true }
  - name: reaction
    match: { kinds: [7] }
    signal: reaction
    title: "A reaction"
    body: "{{event.content}}"
  - name: note
    match: { kinds: [1] }
    title: "A note"
    body: "{{event.content}}"
  - name: direct-message
    match: { kinds: [1059, 4] }
    signal: dm
    urgency: high
    title: "A message"
    body: "Only you can read it"
nudge: { title: { default: "Something new", de: "Etwas Neues" }, body: { default: "Open your app", de: "Öffne deine App" } }
summary: { title: "{{count}} new notifications" }
"""


def way_to_google(lab: Lab) -> ConnectProxy:
    """A proxy that leads what is for Google to the lab: Chromium's endpoints are at a fixed host."""
    port = int(lab.addresses["webpush"]["url"].rsplit(":", 1)[1].strip("/"))
    return ConnectProxy(routes={f"{lab.addresses['browsers']['chromium_endpoint_host']}:443": ("127.0.0.1", port)})


def configure(router: Router, proxy: ConnectProxy):
    """Switches the page on."""
    (router.folder / "rules.yaml").write_text(RULES)
    router.configuration |= {"subscribe": {}, "rules": ["rules.yaml"]}
    router.configuration["relay"] |= {"name": "The test's router", "contact": "mailto:operator@example.com"}
    router.configuration["http"]["proxy"] = f"http://127.0.0.1:{proxy.port}"


class Subscriber:
    """A person with a signer extension, at the page."""

    def __init__(self, browser: Browser, router: Router, person: Person):
        self.browser, self.router, self.person = browser, router, person
        self.declines = False
        self.asked: list[str] = []
        """What the signer was asked for."""
        browser.signer = self.sign

    @property
    def url(self) -> str:
        return f"http://localhost:{self.router.port}/subscribe/"

    def sign(self, method: str, parameters: list):
        self.asked.append(method)
        if self.declines:
            raise PermissionError
        match method:
            case "getPublicKey":
                return self.person.hex
            case "encrypt":
                return self.person.encrypt(parameters[1], parameters[0])
            case "signEvent":
                event = {**parameters[0], "pubkey": self.person.hex}
                unsigned = nostr_sdk.UnsignedEvent.from_json(json.dumps(event))
                return json.loads(unsigned.sign(self.person.keys).as_json())

    def open(self, fragment: str = "") -> "Subscriber":
        self.browser.open(self.url + fragment)
        self.browser.wait_for("document.body?.dataset.ready")
        return self

    def turn_on(self, mode: str = "sealed", client: str = "message", language: str = "en", signals=()) -> "Subscriber":
        """Fills in the form and sends it."""
        page = self.browser
        page.choose("#language", language)
        page.wait_for("document.documentElement.lang === a[0]", language)
        page.choose(f"#mode-{mode}", True)
        page.choose("#client", client)
        for signal in signals:
            page.choose(f"#signal-{signal}", True)
        page.click("#submit")
        page.wait_for("!document.querySelector('#on').hidden", what="the page says that notifications are on")
        return self


class Operator:
    """Somebody at the console."""

    def __init__(self, browser: Browser, console: Console):
        self.browser, self.console = browser, console
        browser.signer = None

    @property
    def url(self) -> str:
        return f"http://localhost:{self.console.port}/console/"

    def open(self) -> "Operator":
        self.browser.open(self.url)
        self.browser.wait_for("document.body?.dataset.ready")
        return self

    def sign_in(self, token: str = "") -> "Operator":
        """Opens the page and signs in; cookies of other tests are of other routers, but a browser sends them as well."""
        self.open()
        self.browser.choose("#field-token", token or self.console.token)
        self.browser.click(".sign-in button")
        self.browser.wait_for("!document.querySelector('#screens').hidden")
        return self

    def go(self, screen: str) -> "Operator":
        """To a screen, once it has loaded what it shows."""
        self.browser.js("location.hash = a[0]", screen)
        self.browser.wait_for("document.querySelector('#screen h1') && location.hash.slice(1) === a[0]", screen)
        self.browser.wait_for("!/Loading …|Wird geladen …|Sending a test …/.test(document.querySelector('#screen').textContent)")
        return self
