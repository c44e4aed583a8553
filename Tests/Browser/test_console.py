"""The console: what an operator does with it, for whom it works, and what it does with text of strangers."""

import contextlib
import json
import re
import sqlite3
import time

import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from pages import XSS, check, check_and_picture, nothing_ran, spoil_answers
from programs import REPOSITORY, carillon, wait_until
from stage import Operator

SCREENS = ["now", "follow", "devices", "devices/1", "playground", "listeners", "access"]


def token(console, name: str, *scopes: str) -> str:
    options = [part for scope in scopes for part in ("--scope", scope)]
    made = carillon("tokens", "create", name, *options, "--json", "--config", console.router.folder / "carillon.yaml")
    return json.loads(made.stdout)["token"]


@pytest.fixture
def phone(console, alice):
    """Somebody with a phone that wants to be told of everything."""
    with Socket(console.router) as socket:
        socket.publish(alice.registration(console.router, ios(device_token(), mode="alert"), device="phone"))
    return alice


def publish(console, *events):
    with Socket(console.router) as socket:
        socket.publish(*events)


def test_signing_in_and_out(operator, console, axe):
    page = operator.open().browser
    assert page.js("return document.activeElement.id") == "field-token"
    check_and_picture(page, axe, "console-sign-in")
    page.choose("#field-token", "x" * 43)
    page.click(".sign-in button")
    page.wait_for("document.querySelector('.sign-in [role=alert]')")
    assert "invalid, revoked or expired" in page.text(".sign-in [role=alert]")
    check_and_picture(page, axe, "console-sign-in-refused")
    page.choose("#field-token", token(console, "deploy", "read", "operate"))
    page.click(".sign-in button")
    page.wait_for("!document.querySelector('#screens').hidden")
    assert page.text("#who") == "deploy" and page.js("return document.cookie") == ""
    # The session outlives the page.
    operator.open()
    assert page.is_shown("#screens")
    operator.go("access")
    assert "this browser" in page.text("#screen table") and "read, make changes" in page.text("#screen")
    page.click("#screen section button")
    page.wait_for("document.querySelector('.sign-in')")
    operator.open()
    assert page.is_shown(".sign-in") and not page.is_shown("#screens")


def test_an_expired_session_is_shown(operator, console):
    page = operator.sign_in(token(console, "short", "read")).browser
    operator.go("devices")
    carillon("tokens", "revoke", "short", "--config", console.router.folder / "carillon.yaml")
    page.js("location.hash = 'listeners'")
    page.wait_for("document.querySelector('.sign-in')")
    assert "session has ended" in page.text("#told")


def test_following_an_event_live(operator, console, phone, bob):
    page = operator.sign_in().browser
    operator.go("follow")
    page.wait_for("/Connected/.test(document.querySelector('#screen').textContent)")
    note = bob.note("hello", phone)
    publish(console, note)
    link = 'a[href="#follow/' + note["id"] + '"]'
    row = f"[...document.querySelectorAll('.tail li')].find(n => /delivered/.test(n.textContent) && n.querySelector('{link}'))"
    page.wait_for(row, what="the delivery is in the tail")
    assert "hello" not in page.text(".tail")
    page.js(f"{row}.querySelector('a[href^=\"#follow\"]').click()")
    page.wait_for("/delivered/.test(document.querySelector('.way .outcome')?.textContent)")
    assert "by the rule 'note'" in page.text(".way .steps")
    # The filters narrow it down.
    page.choose("#field-contains", "no such word")
    assert page.js("return [...document.querySelectorAll('.tail li')].every(n => n.hidden)")
    page.choose("#field-contains", "")
    page.choose("#field-kind", "outcome")
    page.wait_for("/Connected/.test(document.querySelector('#screen').textContent)")
    publish(console, bob.note("again", phone))
    page.wait_for("/delivered/.test(document.querySelector('.tail li')?.textContent)")
    # By its npub a person is found, too.
    page.choose("#field-event", console.json("/v1/devices")[1]["devices"][0]["npub"])
    page.click("form.search button")
    page.wait_for("location.hash.startsWith('#devices?account=npub1')")


def test_an_unknown_event_is_reported(operator, axe):
    page = operator.sign_in().browser
    operator.go("follow/" + "0" * 64)
    assert "This event is unknown" in page.text("#screen")
    check(page, axe)
    operator.go("follow/none")
    assert "refused" in page.text("#screen [role=alert]")


def test_a_device_is_tested_and_removed(operator, console, phone, lab):
    page = operator.sign_in().browser
    operator.go("devices")
    assert "phone" in page.text("#screen table")
    page.js("document.querySelector('#screen table a').click()")
    page.wait_for("document.querySelector('#heading-deviceTest')")
    page.choose("#field-mode", "nudge")
    page.click("#screen .main")
    page.wait_for("/accepted the test in mode nudge/.test(document.querySelector('#screen').textContent)")
    [push] = lab.accepted(1, "apns")
    assert b"This is a test" in push.body
    page.click("#screen .danger")
    page.wait_for("document.querySelector('dialog[open]')")
    page.click("dialog button[value=no]")
    page.wait_for("!document.querySelector('dialog')")
    assert len(console.json("/v1/devices")[1]["devices"]) == 1
    page.click("#screen .danger")
    page.wait_for("document.querySelector('dialog[open]')")
    page.click("dialog button[value=yes]")
    page.wait_for("/No device is registered/.test(document.querySelector('#screen').textContent)")
    assert console.json("/v1/devices")[1]["devices"] == []


def test_several_devices_are_changed_together(operator, console):
    people = [Person() for _ in range(3)]
    publish(console, *(person.registration(console.router, ios(device_token())) for person in people))
    page = operator.sign_in().browser
    operator.go("devices")
    assert not page.is_shown(".bulk")
    page.js("for (const box of [...document.querySelectorAll('tbody input')].slice(0, 2)) box.click()")
    assert "2 devices selected" in page.text(".bulk")
    page.click(".bulk button")
    page.wait_for("document.querySelector('dialog[open]')")
    page.click("dialog button[value=yes]")
    page.wait_for("/No failed or queued/.test(document.querySelector('#told').textContent)")
    page.click(".bulk .danger")
    page.wait_for("document.querySelector('dialog[open]')")
    page.click("dialog button[value=yes]")
    page.wait_for("/2 devices were removed/.test(document.querySelector('#told').textContent)")
    page.wait_for("document.querySelectorAll('tbody tr').length === 1")
    assert len(console.json("/v1/devices")[1]["devices"]) == 1


def test_signed_in_by_a_proxy(stopped_router, browser):
    if browser.name != "chromium":
        pytest.skip("Chromium takes a header from the test, as a proxy would add it")
    sign_on = {"header": "X-Forwarded-User", "users": {"alice": ["read"]}}
    console = Console(stopped_router, trusted_proxies=["127.0.0.1"], sign_on=sign_on).start()
    operator = Operator(browser, console)
    browser._page("Network.enable")
    browser._page("Network.setExtraHTTPHeaders", headers={"X-Forwarded-User": "alice"})
    try:
        operator.open()
        assert browser.text("#who") == "signed on as alice"
        operator.go("access")
        assert "Your proxy signs you in" in browser.text("#screen") and "No browser is signed in" in browser.text("#screen")
    finally:
        browser._page("Network.setExtraHTTPHeaders", headers={})


def test_rules_are_tried_and_saved(operator, console, phone, bob, lab):
    page = operator.sign_in().browser
    operator.go("playground")
    page.wait_for("document.querySelector('.iphone')")
    file = console.router.folder / "rules.yaml"
    before = file.read_text()
    assert page.js("return document.querySelector('#field-rulesText').value") == before
    assert page.text(".iphone .title") == "A note" and page.js("return document.querySelector('#screen .main').disabled")
    # A mistake is named with its place, and nothing can be saved.
    page.choose("#field-rulesText", before.replace("title: \"A note\"", "titel: \"A note\""))
    page.wait_for("/did you mean/.test(document.querySelector('#screen').textContent)")
    assert page.js("return document.querySelector('#screen .main').disabled")
    page.click("#screen .inline")
    assert page.js("const t = document.querySelector('#field-rulesText'); return t.value.slice(t.selectionStart).startsWith('titel')")
    # Another title is seen at once, beside what is in force.
    page.choose("#field-rulesText", before.replace('title: "A note"', 'title: "Heard"'))
    page.wait_for("document.querySelector('.iphone .title')?.textContent === 'Heard'")
    assert "some requests differ" in page.text("#screen")
    assert page.js("return [...document.querySelectorAll('.difference ins')].some(n => n.textContent.includes('Heard'))")
    # What is not saved yet stays while somebody looks at something else.
    operator.go("devices").go("playground")
    page.wait_for("document.querySelector('.iphone .title')?.textContent === 'Heard'")
    page.click("#screen .main")
    page.wait_for("document.querySelector('dialog[open]')")
    page.click("dialog button[value=yes]")
    page.wait_for("/rules are active/.test(document.querySelector('#told').textContent)")
    assert file.read_text() == before.replace('title: "A note"', 'title: "Heard"')
    publish(console, bob.note("hello", phone))
    [push] = lab.accepted(1, "apns")
    assert b"Heard" in push.body


def test_a_disabled_device_is_enabled(operator, console, phone, axe):
    console.router.stop()
    # Nobody wants to wait for thirty days of failures.
    now = int(time.time() * 1000)
    with contextlib.closing(sqlite3.connect(console.router.folder / "carillon.sqlite")) as registry, registry:
        registry.execute("INSERT INTO disabled_devices VALUES (1, ?, ?)", (now, now - 30 * 86_400_000))
    console.start()
    page = operator.sign_in().browser
    operator.go("devices")
    assert "disabled" in page.text("#screen table")
    operator.go("devices/1")
    assert "Unreachable since" in page.text("#screen")
    check_and_picture(page, axe, "console-device-off")
    page.js("[...document.querySelectorAll('#screen button')].find(n => n.textContent === 'Enable').click()")
    page.wait_for("/is enabled again/.test(document.querySelector('#told').textContent)")
    assert "disabled_at" not in console.json("/v1/devices/1")[1]
    page.wait_for("!/Unreachable since/.test(document.querySelector('#screen').textContent)")


def test_recent_events_are_compared_with_other_rules(operator, console, phone, bob, axe):
    page = operator.sign_in().browser
    operator.go("playground")
    page.wait_for("document.querySelector('.iphone')")
    card = "document.querySelector('[aria-labelledby=heading-yesterday]')"

    def compare(words: str):
        page.js(f"{card}.querySelector('button').click()")
        page.wait_for(f"/{words}/.test({card}.textContent)")

    compare("No rule decided about an event")
    note = bob.note("the-cat-is-in-the-bag", phone)
    publish(console, note, bob.event(7, "+", [["e", "00" * 32], ["p", phone.hex]]))
    console.router.wait_for_deliveries(2)
    compare("0 of 2 events would have a different result")
    rules = (console.router.folder / "rules.yaml").read_text()
    quiet = rules.replace('signal: reaction\n    title: "A reaction"\n    body: "{{event.content}}"', "drop: true")
    page.choose("#field-rulesText", quiet.replace('title: "A note"', 'title: "Heard"'))
    assert "would have a different result" not in page.js(f"return {card}.textContent"), "what was found was about other rules"
    compare("2 of 2 events would have a different result")
    rows = page.js(f"return [...{card}.querySelectorAll('tbody tr')].map(n => n.textContent)")
    assert len(rows) == 2 and all("ios" in row and "kind" in row for row in rows)
    assert any("title" in row and "note" in row for row in rows) and any("dropped by rule reaction" in row for row in rows)
    links = page.js(f"return [...{card}.querySelectorAll('a')].map(n => n.hash)")
    assert f"#follow/{note['id']}" in links
    assert "the-cat-is-in-the-bag" not in page.js(f"return {card}.textContent")
    # What is tried meanwhile is pale.
    page.wait_for("!document.querySelector('#screen [aria-busy]') && document.querySelector('.iphone .title')?.textContent === 'Heard'")
    check_and_picture(page, axe, "console-yesterday")


def test_relays_of_users_are_blocked_and_let_in_again(operator, console, phone, axe):
    publish(console, phone.event(10002, "", [["r", "wss://relay.example.com", "read"]]))
    wait_until(lambda: console.json("/v1/relays")[1]["relays"], "the relay of a user is known")
    page = operator.sign_in().browser
    operator.go("listeners")
    button = "[...document.querySelectorAll('#screen button')].find(n => /^{} wss:/.test(n.getAttribute('aria-label')))"
    page.js(button.format("Block") + ".click()")
    page.wait_for("document.querySelector('dialog[open]')")
    page.click("dialog button[value=yes]")
    page.wait_for(button.format("Unblock"))
    page.wait_for("/is blocked/.test(document.querySelector('#told').textContent)")
    assert "One relay is blocked" in page.text("#screen")
    check_and_picture(page, axe, "console-blocked-relay")
    [rule] = console.json("/v1/relays")[1]["blocked"]
    assert rule["subject"].startswith("wss://relay.example.com")
    page.js(button.format("Unblock") + ".click()")
    page.wait_for("/no longer blocked/.test(document.querySelector('#told').textContent)")
    assert console.json("/v1/relays")[1]["blocked"] == []


def test_an_event_of_ones_own_and_other_modes(operator):
    page = operator.sign_in().browser
    operator.go("playground")
    page.wait_for("document.querySelector('.iphone')")
    page.choose("#field-mode", "wake")
    page.wait_for("document.querySelector('.nothing')")
    assert "background push" in page.text(".previews")
    page.choose("#field-mode", "alert")
    page.wait_for("document.querySelector('.iphone')")
    event = json.loads(page.js("return document.querySelector('#field-eventJSON').value"))
    page.choose("#field-eventJSON", json.dumps(event | {"kind": 7, "content": XSS[0]}))
    page.wait_for("document.querySelector('.iphone .title')?.textContent === 'A reaction'")
    assert page.text(".iphone .text") == XSS[0] and page.js("return document.querySelector('#field-fixture').value") == ""
    page.choose("#field-eventJSON", "{")
    page.wait_for("/not valid JSON/.test(document.querySelector('#screen').textContent)")
    nothing_ran(page)


def test_a_read_only_operator_changes_nothing(operator, console, phone, axe):
    publish(console, phone.event(10002, "", [["r", "wss://relay.example.com", "read"]]))
    wait_until(lambda: console.json("/v1/relays")[1]["relays"], "the relay of a user is known")
    page = operator.sign_in(token(console, "reader", "read")).browser
    operator.go("listeners")
    assert "relay.example.com" in page.text("#screen") and "Block" not in page.text("#screen")
    operator.go("devices/1")
    assert "need the scope" in page.text("#screen") and not page.is_shown("#screen .danger")
    check(page, axe)
    operator.go("playground")
    page.wait_for("document.querySelector('.iphone')")
    page.choose("#field-rulesText", "version: 1\nrules: []\n")
    page.wait_for("/no notification/.test(document.querySelector('#screen').textContent)")
    assert page.js("return document.querySelector('#screen .main').disabled")
    check(page, axe)


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_screen_without_violations(operator, console, phone, bob, axe, language):
    note = bob.note("hello", phone)
    publish(console, note, bob.event(7, "+", [["e", "00" * 32], ["p", phone.hex]]))
    console.router.wait_for_deliveries(1)
    page = operator.sign_in().browser
    page.choose("#language", language)
    for screen in [*SCREENS, f"follow/{note['id']}"]:
        operator.go(screen)
        if screen == "playground":
            page.wait_for("document.querySelector('.iphone')")
            page.js("document.querySelector('#screen details').open = true")
        name = "follow-event" if screen.startswith("follow/") else screen.replace("/", "-")
        check_and_picture(page, axe, f"console-{name}-{language}")
    nothing_ran(page)


def test_empty_and_failing_screens_are_shown(operator, console, axe):
    """Before anybody has registered, and when the router is gone."""
    page = operator.sign_in().browser
    operator.go("devices")
    assert "No device is registered" in page.text("#screen")
    check_and_picture(page, axe, "console-no-devices")
    operator.go("now")
    console.router.stop()
    page.wait_for("/not responding/.test(document.querySelector('#screen').textContent)")
    check_and_picture(page, axe, "console-unreachable")


@pytest.mark.parametrize(
    ("language", "name", "detail"),
    [
        ("en", "No relay is connected", "none of the 1 relays under relays.always is connected"),
        ("de", "Kein Relay ist verbunden", "Unter relays.always ist kein Relay verbunden (von 1)."),
    ],
)
def test_an_issue_is_in_the_readers_language(stopped_router, browser, axe, language, name, detail):
    stopped_router.configuration["relays"] = {"always": ["wss://127.0.0.1:1"]}
    console = Console(stopped_router).start()
    page = Operator(browser, console).sign_in().browser
    page.choose("#language", language)
    page.wait_for("document.querySelector('.issue strong')?.textContent === a[0]", name)
    assert detail in page.text(".issue") and "carillon relays list" in page.text(".remedy")
    check_and_picture(page, axe, f"console-issue-{language}")


def test_both_languages_have_the_same_texts(operator):
    page = operator.open().browser
    texts = page.js("return (await import('./console-texts.js')).texts")
    assert set(texts["en"]) == set(texts["de"])
    operations = REPOSITORY / "Sources/Operations"
    files = ["Status/StatusIssues.swift", "Members/RouterStatus+Members.swift", "Metrics/RouterHealth.swift"]
    kinds = {kind for file in files for kind in re.findall(r'(?:[Ii]ssue\(\s*|code: )"([a-z-]+)"', (operations / file).read_text())}
    # Only commands read the file again and find this one.
    kinds.remove("configuration-invalid")
    assert len(kinds) >= 16 and {f"issue_{kind}" for kind in kinds} <= set(texts["en"])
    places = "text => [...JSON.stringify(text).matchAll(/\\{([a-z0-9]+)\\}/g)].map(m => m[1]).sort().join()"
    differing = page.js(
        f"const p = {places}; const {{ en, de }} = (await import('./console-texts.js')).texts;"
        "return Object.keys(en).filter(k => typeof en[k] !== typeof de[k] || (typeof en[k] === 'string' && p(en[k]) !== p(de[k])))"
    )
    assert differing == []


@pytest.mark.parametrize("language", ["en", "de"])
def test_text_of_strangers_stays_text(operator, console, phone, bob, axe, language):
    """Everything that the router says is hostile, on every screen."""
    publish(console, bob.note(XSS[1], phone))
    console.router.wait_for_deliveries(1)
    page = operator.sign_in().browser
    page.choose("#language", language)
    spoil_answers(page)
    for screen in [*SCREENS, "follow/" + "0" * 64]:
        operator.go(screen)
        if screen == "playground":
            page.choose("#field-rulesText", (console.router.folder / "rules.yaml").read_text())
            page.wait_for("document.querySelector('.previews figure')")
            page.js("for (const d of document.querySelectorAll('#screen details')) d.open = true")
            page.js("document.querySelector('[aria-labelledby=heading-yesterday] button').click()")
            page.wait_for("document.querySelector('[aria-labelledby=heading-yesterday] [role=status]')")
        nothing_ran(page)
    operator.go("follow")
    page.wait_for("document.querySelectorAll('.tail li').length > 20")
    nothing_ran(page)
    assert page.js("return __spoilt") > 8
    check(page, axe)


def test_by_keyboard_alone(operator, console, phone):
    """Signs in, goes to the devices, opens one and tests it."""
    page = operator.open().browser
    if page.name != "chromium":
        pytest.skip("keys are pressed in Chromium")

    def focus() -> str:
        return page.js("const n = document.activeElement; return n.id || n.getAttribute('href') || n.textContent || n.tagName")

    def tab_to(wanted: str):
        for _ in range(40):
            page.press("Tab", 9)
            style = page.js("return getComputedStyle(document.activeElement).outlineStyle")
            assert style != "none" or focus() == "BODY", f"nobody sees that {focus()} has the focus"
            if focus() == wanted:
                return
        raise AssertionError(f"the focus never comes to {wanted}")

    for letter in console.token:
        page.press(letter, 0, letter)
    page.press("Enter", 13, "\r")
    page.wait_for("!document.querySelector('#screens').hidden")
    tab_to("#devices")
    page.press("Enter", 13, "\r")
    page.wait_for("document.querySelector('#screen table')")
    tab_to("#devices/1")
    page.press("Enter", 13, "\r")
    page.wait_for("document.querySelector('#field-mode')")
    tab_to("Send a test")
    page.press("Enter", 13, "\r")
    page.wait_for("/accepted the test/.test(document.querySelector('#screen').textContent)")
    tab_to("Remove")
    page.press("Enter", 13, "\r")
    page.wait_for("document.querySelector('dialog[open]')")
    page.press("Escape", 27)
    page.wait_for("!document.querySelector('dialog')")
    assert len(console.json("/v1/devices")[1]["devices"]) == 1


def test_pages_load_only_from_the_router(operator, phone):
    page = operator.sign_in().browser
    for screen in SCREENS:
        operator.go(screen)
    origins = page.js("return [...new Set(performance.getEntriesByType('resource').map(e => new URL(e.name).origin))]")
    assert origins == [operator.url.removesuffix("/console/")]


def test_many_devices_come_page_by_page(operator, console):
    people = [Person() for _ in range(60)]
    publish(console, *(person.registration(console.router, ios(device_token())) for person in people))
    page = operator.sign_in().browser
    operator.go("devices")
    rows = "document.querySelectorAll('#screen tbody tr').length"
    assert page.js(f"return {rows}") == 50
    page.click("#screen > .buttons:not(.bulk) button")
    page.wait_for(f"{rows} === 60")
    wait_until(lambda: not page.is_shown("#screen > .buttons:not(.bulk) button"), "there are no more")
