"""The page /me: a person asks the router about themselves, and finds out why a notification did not come."""

import json

import pytest

from bunker import Bunker
from nostr import Socket, device_token, ios
from pages import XSS, check, check_and_picture, nothing_ran, spoil_answers
from programs import carillon
from stage import Subscriber


@pytest.fixture
def asker(browser, console, alice) -> Subscriber:
    class Asker(Subscriber):
        @property
        def url(self) -> str:
            return f"http://localhost:{console.port}/me/"

        def ask(self) -> "Asker":
            self.open()
            self.browser.click("#connect")
            self.browser.wait_for("!document.querySelector('#report').hidden")
            return self

    return Asker(browser, console.router, alice)


@pytest.fixture
def phone(console, alice):
    """A phone that sleeps at all times, but for messages."""
    quiet = {"start": "00:00", "end": "23:59", "tz": "UTC", "dm_bypass_quiet": True}
    content = ios(device_token(), mode="nudge", filters={"dm": True, "mention": True}, quiet=quiet)
    with Socket(console.router) as socket:
        socket.publish(alice.registration(console.router, content, device="phone"))


def settle(page):
    page.wait_for("!document.body.ariaBusy && (!document.querySelector('#progress').hidden || !document.querySelector('#problem').hidden)")


def test_a_user_finds_out_why(asker, console, phone, alice, bob, axe):
    note, message = bob.note("hello", alice), bob.message("hi", alice)
    reaction = bob.event(7, "+", [["e", "00" * 32], ["p", alice.hex]])
    with Socket(console.router) as socket:
        socket.publish(note, message, reaction)
        console.router.wait_for_deliveries(1)
    page = asker.open().browser
    check_and_picture(page, axe, "me-start")
    asker.ask()
    assert asker.asked == ["getPublicKey", "signEvent"]
    text = page.text("#devices")
    assert "quiet hours until 23:59" in text and "Turned off: Replies, Reactions" in text
    assert "A neutral text" in text
    events = page.text("#events")
    assert "the device's filters switch reactions off" in events and "held: quiet hours" in events and "delivered" in events
    for identifier in [note["id"], f"nostr:{console.json('/v1/events/' + note['id'] + '/explain')[1]['note']}"]:
        page.choose("#one", identifier)
        page.click("#one-form button")
        page.wait_for("/held: quiet hours/.test(document.querySelector('#one-answer').textContent)")
    page.choose("#one", "0" * 64)
    page.click("#one-form button")
    page.wait_for("/probably never arrived/.test(document.querySelector('#one-answer').textContent)")
    page.choose("#one", "hello")
    page.click("#one-form button")
    page.wait_for("!document.querySelector('#problem').hidden")
    assert "starts with note1" in page.text("#problem")
    for language in ["en", "de"]:
        page.choose("#language", language)
        page.js("for (const d of document.querySelectorAll('main details')) d.open = true")
        check_and_picture(page, axe, f"me-report-{language}")
    nothing_ran(page)


def test_a_group_is_left(asker, console, phone, alice, axe):
    made = carillon(
        "tokens", "create", "shop", "--scope", "send", "--json", "--config", console.router.folder / "carillon.yaml"
    )
    token = json.loads(made.stdout)["token"]
    for group in ["beta-testers", "newsletter"]:
        status, answer = console.json(f"/v1/groups/{group}?app=default", "POST", token, body={"add": [alice.hex]})
        assert (status, answer["added"]) == (200, 1)
    page = asker.ask().browser
    assert "beta-testers" in page.text("#groups") and "in default, since" in page.text("#groups")
    check_and_picture(page, axe, "me-groups")
    page.click("#groups button")
    settle(page)
    assert page.text("#progress") == "You left the group beta-testers." and "beta-testers" not in page.text("#groups")
    assert console.json("/v1/groups?app=default", token=token)[1]["groups"] == [{"group": "newsletter", "members": 1}]


def test_a_device_is_tested_changed_and_removed(asker, console, phone, lab):
    page = asker.ask().browser
    page.click("article .buttons button")
    settle(page)
    assert "push service accepted the test" in page.text("#progress")
    assert len(lab.accepted(1, "apns")) == 1
    page.js("document.querySelector('article details').open = true")
    [name] = page.js("return [...document.querySelectorAll('input[type=radio][value=alert]')].map(n => n.id)")
    page.choose(f"#{name}", True)
    device = name.rsplit("-", 2)[1]
    page.choose(f"#signal-{device}-reaction", True)
    page.choose(f"#quiet-{device}", False)
    page.click("article form button")
    page.wait_for("/Saved/.test(document.querySelector('#progress').textContent)")
    [now] = console.json("/v1/devices")[1]["devices"]
    assert now["mode"] == "alert" and "reaction" in now["signals"] and "quiet" not in now["wishes"]
    assert "Everything" in page.text("#devices dl")
    page.js("document.querySelectorAll('article .buttons button')[1].click()")
    page.wait_for("!document.querySelector('.sure').hidden")
    page.click(".sure button")
    page.wait_for("/Removed/.test(document.querySelector('#progress').textContent)")
    assert console.json("/v1/devices")[1]["devices"] == []
    page.click("#refresh")
    page.wait_for("!document.querySelector('#nothing').hidden")


@pytest.mark.parametrize("kind", ["unknown", "blocked", "declines", "gone"])
def test_obstacles_are_shown(asker, console, alice, axe, kind):
    page = asker.browser
    if kind == "blocked":
        console.json(f"/v1/users/block?subject={alice.hex}", "POST")
    if kind == "declines":
        asker.declines = True
    asker.open()
    if kind == "gone":
        console.router.stop()
    page.click("#connect")
    if kind in ("declines", "gone"):
        page.wait_for("!document.querySelector('#problem').hidden")
        assert {"declines": "Your signer declined.", "gone": "does not answer"}[kind] in page.text("#problem")
    else:
        page.wait_for("!document.querySelector('#report').hidden")
        assert page.is_shown("#nothing") and page.is_shown("#blocked") == (kind == "blocked")
    check_and_picture(page, axe, f"me-{kind}")


def test_a_remote_signer_signs(asker, console, phone, browser, alice):
    bunker = Bunker(alice, browser.certificate)
    page = asker.browser
    page.signer = None
    asker.open()
    page.js("document.querySelector('#remote').open = true")
    page.choose("#bunker", bunker.url)
    page.click("#remote-form button")
    page.wait_for("!document.querySelector('#report').hidden")
    assert bunker.asked == ["connect", "get_public_key", "sign_event"] and "phone" in page.text("#devices")
    # The next visit goes on with it.
    asker.open()
    page.wait_for("!document.querySelector('#connect').hidden")
    page.click("#connect")
    page.wait_for("!document.querySelector('#report').hidden")
    page.click("#disconnect")
    page.wait_for("document.querySelector('#report').hidden")
    assert page.js("return (await (await import('./storage.js')).read()).signer") is None
    nothing_ran(page)
    bunker.stop()


@pytest.mark.parametrize("language", ["en", "de"])
def test_text_of_strangers_stays_text(asker, console, phone, alice, bob, language):
    with Socket(console.router) as socket:
        socket.publish(bob.note(XSS[0], alice), bob.message(XSS[1], alice))
        console.router.wait_for_deliveries(1)
    page = asker.open().browser
    page.choose("#language", language)
    page.wait_for("document.documentElement.lang === a[0]", language)
    spoil_answers(page)
    page.click("#connect")
    page.wait_for("!document.querySelector('#report').hidden")
    page.choose("#one", "0" * 64)
    page.click("#one-form button")
    page.wait_for("document.querySelector('#one-answer').children.length")
    page.click("article .buttons button")
    settle(page)
    nothing_ran(page)
    assert page.js("return __spoilt") >= 2


def test_both_languages_have_the_same_texts(asker):
    page = asker.open().browser
    texts = page.js("return (await import('./me-texts.js')).texts")
    assert set(texts["en"]) == set(texts["de"]) and len(texts["en"]) > 150
    wanted = page.js("return [...document.querySelectorAll('[data-text]')].map(n => n.dataset.text)")
    assert set(wanted) <= set(texts["en"])


def test_by_keyboard_alone(asker, console, phone, lab):
    page = asker.open().browser
    if page.name != "chromium":
        pytest.skip("keys are pressed in Chromium")

    def tab_to(condition: str):
        for _ in range(60):
            page.press("Tab", 9)
            if page.js(f"const n = document.activeElement; return {condition}"):
                style = page.js("return getComputedStyle(document.activeElement).outlineStyle")
                assert style != "none"
                return
        raise AssertionError(f"the focus never comes where {condition}")

    page.wait_for("!document.querySelector('#connect').hidden")
    tab_to("n.id === 'connect'")
    page.press("Enter", 13, "\r")
    page.wait_for("!document.querySelector('#report').hidden")
    tab_to("n.textContent === 'Send a test'")
    page.press("Enter", 13, "\r")
    settle(page)
    assert len(lab.accepted(1, "apns")) == 1


def test_pages_load_only_from_the_router(asker, phone):
    page = asker.ask().browser
    origins = page.js("return [...new Set(performance.getEntriesByType('resource').map(e => new URL(e.name).origin))]")
    assert origins == [asker.url.removesuffix("/me/")]
    assert json.loads(page.js("return JSON.stringify(__blocked)")) == []
