"""The page itself: what it says where something fails, how it looks, and whether everybody can use it."""

import subprocess

import nostr_sdk
import pytest

from nostr import Socket
from pages import check, picture
from stage import Subscriber

@pytest.mark.parametrize("language", ["en", "de"])
def test_the_whole_way_without_violations(subscriber, socket, bob, axe, language):
    page = subscriber.open().browser
    page.choose("#language", language)
    for state in ["start", "on", "renewal"]:
        if state == "on":
            subscriber.turn_on(language=language)
            socket.publish(bob.note("hello", subscriber.person))
            page.shown(1)
            page.wait_for("!document.querySelector('#last').hidden")
        if state == "renewal":
            page.lose_subscription()
            page.wait_for("!document.querySelector('#renewal').hidden")
        for is_dark in [False, True]:
            page.screen(390, 844, is_dark)
            check(page, axe)
        picture(page, f"subscribe-{state}-{language}")
    assert page.js("return __blocked") == []


def test_every_way_of_the_form(subscriber, axe):
    page = subscriber.open().browser
    for way in ["ntfy", "unifiedpush", "gotify"]:
        page.choose(f"#way-{way}", True)
        page.choose("#quiet", True)
        check(page, axe)
        picture(page, f"subscribe-{way}")


def test_without_a_signer(subscriber, axe):
    """What a person sees first who has none yet."""
    page = subscriber.browser
    page.signer = None
    subscriber.open()
    page.js("document.querySelector('#remote').open = true")
    check(page, axe)
    picture(page, "subscribe-no-signer-yet")


@pytest.mark.parametrize("kind", ["no signer", "declines", "no encryption", "nothing chosen", "denied", "not ready"])
def test_errors_are_shown(subscriber, axe, kind):
    page = subscriber.browser
    if kind == "no signer":
        page.signer = None
    subscriber.open()
    if kind == "declines":
        subscriber.declines = True
    if kind == "no encryption":
        page.js("delete globalThis.nostr.nip44")
    if kind == "nothing chosen":
        for name in ["dm", "mention", "reply"]:
            page.choose(f"#signal-{name}", False)
    if kind == "denied":
        page.js("Notification.requestPermission = async () => 'denied'")
    if kind == "not ready":
        # A router that stops meanwhile; the page keeps what it knows.
        subscriber.router.stop()
    page.click("#submit")
    page.wait_for("!document.querySelector('#problem').hidden")
    expected = {
        "no signer": "No signer found",
        "declines": "Your signer declined.",
        "no encryption": "cannot encrypt (NIP-44)",
        "nothing chosen": "Choose at least one thing",
        "denied": "Your browser blocks notifications",
        "not ready": "The router does not answer",
    }
    assert expected[kind] in page.text("#problem")
    assert not page.is_shown("#on") and not page.is_shown("#progress")
    check(page, axe)
    picture(page, "subscribe-problem-" + kind.replace(" ", "-"))


def test_the_routers_refusal_is_shown_as_text(stopped_router, browser, alice):
    stopped_router.configuration["access"] = {"mode": "allowlist", "allow": []}
    stopped_router.start()
    subscriber = Subscriber(browser, stopped_router, alice).open()
    browser.click("#submit")
    browser.wait_for("!document.querySelector('#problem').hidden")
    assert "does not serve your key" in browser.text("#problem")
    assert subscriber.asked[-1] == "signEvent"


def test_the_key_is_shown_as_npub(subscriber):
    page = subscriber.open().browser
    page.click("#connect")
    page.wait_for("!document.querySelector('#key').hidden")
    assert page.text("#key") == nostr_sdk.PublicKey.parse(subscriber.person.hex).to_bech32()


def test_ntfy_gets_a_topic_and_a_code(stopped_router, browser, lab, bob, alice, tmp_path):
    """Another program reads the topic's address from a picture of the page."""
    # The proxy is only for Google's host, with TLS.
    del stopped_router.configuration["http"]["proxy"]
    page = Subscriber(browser, stopped_router.start(), alice).open().browser
    page.choose("#way-ntfy", True)
    page.choose("#ntfy-server", lab.addresses["ntfy"]["url"])
    page.click("#submit")
    page.wait_for("!document.querySelector('#code').hidden")
    link = page.text("#code-link")
    assert link.startswith(lab.addresses["ntfy"]["url"]) and len(link.rsplit("/", 1)[1]) == 24
    page.screen(1280, 900, True)
    page.screenshot(tmp_path / "page.png")
    read = subprocess.run(["zbarimg", "-q", "--raw", tmp_path / "page.png"], capture_output=True, text=True)
    assert read.stdout.strip() == link
    picture(page, "subscribe-ntfy-on")
    with Socket(stopped_router) as socket:
        socket.publish(bob.note("hello", alice))
    [push] = lab.accepted(1, "ntfy")
    assert "hello" not in push.body.decode()


def test_gotify_keeps_its_token_out_of_the_browser(subscriber, lab, alice):
    page = subscriber.open().browser
    page.choose("#way-gotify", True)
    page.choose("#gotify-server", lab.addresses["gotify"]["url"])
    page.choose("#gotify-token", "AbCdEfGhIjKlMnO")
    page.click("#submit")
    page.wait_for("!document.querySelector('#on').hidden")
    assert "AbCdEfGhIjKlMnO" not in page.js("return JSON.stringify(await (await import('./storage.js')).read())")


def test_by_keyboard_alone(subscriber):
    """From the top of the page to a registration, by Tab, the arrows, Space and Enter."""
    page = subscriber.open().browser
    if page.name != "chromium":
        pytest.skip("keys are pressed in Chromium")
    reached = []

    def focus() -> str:
        return page.js("const n = document.activeElement; return n.id || n.getAttribute('href') || n.tagName")

    for _ in range(40):
        page.press("Tab", 9)
        reached.append(focus())
        visible = page.js(
            "const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && s.outlineWidth !== '0px'"
        )
        assert visible, f"nobody sees that {reached[-1]} has the focus"
        if reached[-1] == "signal-reaction":
            page.press(" ", 32, " ")
        if reached[-1] == "mode-sealed":
            page.press("ArrowDown", 40)
        if reached[-1] == "submit":
            break
    assert reached[0] == "#main", reached
    assert {"language", "way-web", "signal-dm", "mode-sealed", "client", "quiet", "submit"} <= set(reached), reached
    page.press("Enter", 13, "\r")
    page.wait_for("!document.querySelector('#on').hidden")
    state = page.js("return await (await import('./storage.js')).read()")
    assert state["ways"]["web"]["wishes"]["mode"] == "alert" and state["ways"]["web"]["wishes"]["filters"]["reaction"]


def test_pages_load_only_from_the_router(subscriber, socket, bob):
    """Every address that the page loaded is the router's."""
    page = subscriber.open().turn_on().browser
    origins = page.js("return [...new Set(performance.getEntriesByType('resource').map(e => new URL(e.name).origin))]")
    assert origins == [subscriber.url.removesuffix("/subscribe/")]
