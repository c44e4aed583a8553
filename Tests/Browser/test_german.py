"""A German reader finds no English on any screen, whatever the router has to say: after pushes, without any, and when
something fails."""

import contextlib
import json
import re
import sqlite3
import time

import pytest

from console import Console
from german import speaks_german
from nostr import Person, Socket, device_token, ios
from pages import check, picture
from programs import REPOSITORY, carillon, wait_until
from stage import Operator, Subscriber

SOURCES = REPOSITORY / "Sources"


@pytest.fixture
def german(operator) -> Operator:
    operator.open()
    operator.browser.choose("#language", "de")
    speaks_german(operator.browser)
    return operator


def publish(console, *events):
    with Socket(console.router) as socket:
        socket.publish(*events)


def looked_at(page, axe: str, name: str, router: list[str] = ()):
    speaks_german(page, router)
    check(page, axe)
    picture(page, f"german-{name}")


def open_all(page):
    page.js("for (const d of document.querySelectorAll('#screen details, main details')) d.open = true")


def test_the_check_finds_english(german):
    """A check that finds nothing would pass every test here."""
    page = german.browser
    page.js("document.querySelector('#screen').append('delivered: ios/default took it (200)')")
    with pytest.raises(AssertionError, match="delivered: ios/default took it"):
        speaks_german(page)
    page.js("document.querySelector('#screen').lastChild.remove()")
    page.js("document.querySelector('#screen').setAttribute('aria-label', 'There is no record of this event')")
    with pytest.raises(AssertionError, match="aria-label"):
        speaks_german(page)
    page.js("document.querySelector('#screen').removeAttribute('aria-label')")
    quotation = "Object.assign(document.createElement('q'), { className: a[0], textContent: 'it is the router' })"
    page.js(f"document.querySelector('#screen').append({quotation})", "router")
    with pytest.raises(AssertionError, match="own words: it is the router"):
        speaks_german(page)
    page.js("document.querySelector('#screen').lastChild.className = ''")
    speaks_german(page)


def test_outcomes_of_events_are_shown(german, console, alice, bob, axe):
    """One is delivered, one is held, one is switched off, one is dropped; and all of it as it happens."""
    quiet = {"start": "00:00", "end": "23:59", "tz": "UTC", "dm_bypass_quiet": True}
    wishes = ios(device_token(), mode="alert", filters={"dm": True, "mention": True}, quiet=quiet)
    registration = alice.registration(console.router, wishes, device="phone")
    page = german.sign_in().browser
    german.go("follow")
    page.wait_for("/Verbunden/.test(document.querySelector('#screen').textContent)")
    reaction = bob.event(7, "+", [["e", "00" * 32], ["p", alice.hex]])
    note, message, again = bob.note("hello", alice), bob.message("hi", alice), bob.note("again", alice)
    own = alice.note("my own", alice)
    publish(console, registration, note, message, reaction, again, own)
    console.router.wait_for_deliveries(1)
    page.wait_for("/zugestellt: ios/.test(document.querySelector('.tail')?.textContent)")
    tail = page.text(".tail")
    for words in ["Anmeldung angenommen: ein neues Gerät", "Das Gerät hat Ruhezeit", "schalten Reaktionen ab", "vom Empfänger selbst"]:
        assert words in tail, words
    looked_at(page, axe, "live")
    for event, outcome in [(message, "zugestellt: ios/default hat es angenommen (200)"), (note, "zurückgehalten: Das Gerät hat Ruhezeit; geht frühestens"), (reaction, "nicht gesendet: Die Einstellungen des Geräts schalten Reaktionen ab"), (own, "nicht gesendet: vom Empfänger selbst")]:
        german.go(f"follow/{event['id']}")
        page.wait_for("document.querySelector('.outcome')")
        assert outcome in page.text(".outcome")
        speaks_german(page)
    looked_at(page, axe, "own-event")
    german.go("devices/1")
    assert "Das Gerät hat Ruhezeit" in page.text("#screen")
    looked_at(page, axe, "held-device")


@pytest.mark.parametrize("answer", ["paused", "gone", "rejected", "later"])
def test_a_refusal_of_the_push_service_is_german(german, console, alice, bob, lab, axe, answer):
    """What is said of the queue, the issue, the device, and the event."""
    publish(console, alice.registration(console.router, ios(device_token(), mode="alert"), device="phone"))
    status, reason = {"paused": (403, "InvalidProviderToken"), "gone": (410, "Unregistered"), "rejected": (400, "PayloadEmpty"), "later": (503, "ServiceUnavailable")}[answer]
    lab.misbehave("answer", status=status, reason=reason, times=0)
    note = bob.note("hello", alice)
    publish(console, note)
    words = {"paused": "lehnt die Zugangsdaten des Routers ab", "gone": "dass es das Gerät nicht mehr gibt", "rejected": "lehnt es endgültig ab", "later": "neuer Versuch, frühestens"}[answer]
    wait_until(lambda: [d for d in console.json(f"/v1/events/{note['id']}/explain")[1]["accounts"] if d["devices"] and len(d["devices"][0]["steps"]) > 1], "the push was answered")
    page = german.sign_in().browser
    if answer == "paused":
        page.wait_for("document.querySelector('.issue')")
        assert "lehnt die Zugangsdaten ab" in page.text(".issue") and "carillon reload" in page.text(".remedy")
        assert "der Push-Dienst lehnt die Zugangsdaten ab" in page.js("return [...document.querySelectorAll('tbody tr')].find(n => /^ios/.test(n.textContent)).textContent")
        looked_at(page, axe, "paused")
    german.go(f"follow/{note['id']}")
    page.wait_for("document.querySelector('.outcome')")
    outcome = page.text(".outcome")
    # The plugin's word for what Apple said.
    assert words in outcome and re.sub(r"(?<!^)(?=[A-Z])", "-", reason).lower() in outcome
    looked_at(page, axe, f"refused-{answer}")
    german.go("devices/1")
    looked_at(page, axe, f"refused-{answer}-device")
    if answer == "gone":
        assert "Gerät 1 gibt es nicht mehr" in page.text("#screen [role=alert]")
        return
    page.click("#screen .main")
    page.wait_for("document.querySelector('[role=status] .notice.bad')")
    speaks_german(page)
    german.go("devices")
    speaks_german(page)


def test_every_screen(german, console, alice, bob, axe):
    publish(console, alice.registration(console.router, ios(device_token(), mode="alert"), device="phone"))
    note = bob.note("hello", alice)
    publish(console, note, alice.event(10002, "", [["r", "wss://relay.example.com", "read"]]))
    console.router.wait_for_deliveries(1)
    page = german.sign_in().browser
    for screen in ["now", "follow", "devices", "devices/1", "playground", "listeners", "access"]:
        german.go(screen)
        if screen == "playground":
            page.wait_for("document.querySelector('.iphone')")
            page.js("document.querySelector('[aria-labelledby=heading-yesterday] button').click()")
            page.wait_for("document.querySelector('[aria-labelledby=heading-yesterday] [role=status]')")
            open_all(page)
        looked_at(page, axe, screen.replace("/", "-"))
    german.go("devices/1")
    page.click("#screen .main")
    page.wait_for("/im Modus/.test(document.querySelector('#screen').textContent)")
    looked_at(page, axe, "tested")
    page.click("#screen .danger")
    page.wait_for("document.querySelector('dialog[open]')")
    speaks_german(page)


def test_the_playground(german, axe):
    """What wakes nobody, what does not go out, and mistakes; those are the rules' own language, and quoted."""
    page = german.sign_in().browser
    german.go("playground")
    page.wait_for("document.querySelector('.iphone')")
    rules = page.js("return document.querySelector('#field-rulesText').value")
    event = json.loads(page.js("return document.querySelector('#field-eventJSON').value"))
    [recipient] = {tag[1] for tag in event["tags"] if tag[0] == "p"}

    def becomes(words: str, change: dict | None = None, text: str = rules):
        page.choose("#field-rulesText", text)
        page.choose("#field-eventJSON", json.dumps(event | (change or {})))
        page.wait_for(f"/{words}/.test(document.querySelector('#screen').textContent) && !document.querySelector('#screen [aria-busy]')")
        open_all(page)
        speaks_german(page)

    becomes("keine Regel ist für die Art 9999 da", {"kind": 9999})
    becomes("die Regel buttons verwirft es", {"content": "buttons"}, rules.replace('title: "{{author.name}} asks"', "drop: true", 1).replace('    body: "{{event.content}}"\n    actions:\n      - { id: read, label: Read }\n      - { id: help, label: Help, url: "https://help.example.com/asked" }\n', "", 1))
    becomes("der Empfänger hat es selbst geschrieben", {"pubkey": recipient})
    becomes("Das Ereignis hat keinen Empfänger", {"tags": []})
    becomes("Das Ereignis hat mehrere Empfänger", {"tags": [["p", "11" * 32], ["p", "22" * 32]]})
    becomes("Ein Fehler:", text=rules.replace("title:", "titel:", 1))
    looked_at(page, axe, "mistakes")
    page.choose("#field-rulesText", rules)
    page.choose("#field-eventJSON", "{")
    page.wait_for("/ist kein gültiges JSON/.test(document.querySelector('#screen').textContent)")
    speaks_german(page)


def test_pages_work_before_the_first_registration(german, console, axe):
    page = german.sign_in().browser
    german.go("devices")
    looked_at(page, axe, "no-devices")
    german.go("follow/" + "0" * 64)
    assert "Dieses Ereignis ist unbekannt" in page.text("#screen") and "dass es nie kam" in page.text("#screen")
    looked_at(page, axe, "unknown-event")
    german.go("playground")
    page.wait_for("document.querySelector('.iphone')")
    page.js("document.querySelector('[aria-labelledby=heading-yesterday] button').click()")
    page.wait_for("/hat keine Regel über ein Ereignis/.test(document.querySelector('[aria-labelledby=heading-yesterday]').textContent)")
    speaks_german(page)


def test_refusals(german, console, alice, axe):
    page = german.browser
    page.choose("#field-token", "x" * 43)
    page.click(".sign-in button")
    page.wait_for("document.querySelector('.sign-in [role=alert]')")
    looked_at(page, axe, "wrong-token")
    publish(console, alice.registration(console.router, ios(device_token()), device="phone"))
    made = carillon(
        "tokens", "create", "reader", "--scope", "read", "--json", "--config", console.router.folder / "carillon.yaml"
    )
    german.sign_in(json.loads(made.stdout)["token"])
    for place, words in {
        "follow/none": "Erwartet wird die ID eines Ereignisses",
        "devices/999": "Es gibt kein Gerät 999",
        "devices?account=nobody": "Erwartet wird ein Konto",
    }.items():
        german.go(place)
        page.wait_for("document.querySelector('#screen [role=alert]')")
        assert words in page.text("#screen [role=alert]")
        looked_at(page, axe, "refused-" + re.sub(r"\W", "-", place))
    german.go("devices/1")
    assert "Du hast nur Lesezugriff" in page.text("#screen")
    speaks_german(page)
    # What the page would not ask: without a scope, and something that has no code.
    words = page.js(
        "const { ask } = await import('./api.js'); const { Parts } = await import('./parts.js');"
        "const { textIn, phraseIn } = await import('./console-texts.js');"
        "const parts = new Parts('de', (...v) => textIn('de', ...v), (...v) => phraseIn('de', ...v), () => {});"
        "for (const path of ['devices/1/test', 'queue?limit=x']) await ask(path, { method: /test/.test(path) ? 'POST' : 'GET' })"
        ".catch(error => document.querySelector('#screen').append(parts.problem(error)));"
        "return [...document.querySelectorAll('#screen [role=alert]')].map(n => n.textContent)"
    )
    assert words[0] == "Das darfst du nicht: Dafür braucht dein Token das Recht operate."
    assert words[1].startswith("Der Router hat abgelehnt: Der Router versteht die Anfrage nicht. limit: expected")
    looked_at(page, axe, "refused-scope", router=["limit: expected"])
    carillon("tokens", "revoke", "reader", "--config", console.router.folder / "carillon.yaml")
    page.js("location.hash = 'listeners'")
    page.wait_for("document.querySelector('.sign-in')")
    looked_at(page, axe, "session-ended")


def test_refusals_of_operators(german, console, axe):
    """What the screens ask only where somebody else was faster, or the configuration is in the way."""
    page = german.sign_in().browser
    words = page.js(
        "const { ask } = await import('./api.js'); const { Parts } = await import('./parts.js');"
        "const { textIn, phraseIn } = await import('./console-texts.js');"
        "const parts = new Parts('de', (...v) => textIn('de', ...v), (...v) => phraseIn('de', ...v), () => {});"
        "const show = error => document.querySelector('#screen').append(parts.problem(error));"
        "await ask('relays/unblock', { method: 'POST', query: { subject: 'wss://relay.example.com' } }).catch(show);"
        "await ask('cluster').catch(show);"
        "await ask('rules/save', { method: 'POST', body: { file: '/etc/passwd', rules: '', digest: 'x' } }).catch(show);"
        "await ask('rules/try', { method: 'POST', body: { fixture: 'nonsense' } }).catch(show);"
        "return [...document.querySelectorAll('#screen [role=alert]')].map(n => n.textContent)"
    )
    for each, part in zip(words, ["Das ist nicht gesperrt.", "Dieser Router gehört zu keinem Cluster.", "keine der Regeldateien", "Das Beispiel nonsense gibt es nicht."], strict=True):
        assert part in each
    looked_at(page, axe, "refused-operator")


def test_problems_are_german(stopped_router, browser, axe):
    """Issues with their details and remedies, a relay that cannot be reached, a plugin that is refused."""
    stopped_router.configuration["relays"] = {"always": ["wss://127.0.0.1:1"]}
    console = Console(stopped_router).start()
    german = Operator(browser, console).open()
    browser.choose("#language", "de")
    german.sign_in()
    browser.wait_for("document.querySelector('.issue')")
    assert "Unter relays.always ist kein Relay verbunden (von 1)." in browser.text(".issue")
    assert "zeigt den Status aller Relays" in browser.text(".remedy")
    looked_at(browser, axe, "issue")
    german.go("listeners")
    browser.wait_for("/Letzter Fehler/.test(document.querySelector('#screen').textContent)")
    looked_at(browser, axe, "relay-down")
    german.go("now")
    console.router.stop()
    browser.wait_for("/antwortet nicht/.test(document.querySelector('#screen').textContent)")
    looked_at(browser, axe, "unreachable")


def test_unresponsive_cluster_members_are_german(german, axe):
    """As the router says it: a test of one router has no other members."""
    page = german.browser
    values = {"member": "member2"}
    silent = {
        "member-absent": values, "member-late": values, "member-version": values,
        "member-unasked": {**values, "detail": "no server is connected"}, "member-silent": {**values, "detail": "says: no"},
    }
    page.js(
        "const real = globalThis.fetch; globalThis.fetch = async (...asked) => { const answer = await real(...asked);"
        "if (!/v1\\/status/.test(asked[0])) return answer; const status = await answer.json();"
        "for (const [code, values] of Object.entries(a[0])) status.issues.push({ code: 'member-silent', message: 'the member',"
        " params: { code, values }, fix: 'look at it', severity: 'warning', member: values.member });"
        "return new Response(JSON.stringify(status), { headers: answer.headers }) }",
        silent,
    )
    page.choose("#field-token", german.console.token)
    page.click(".sign-in button")
    silent = "[...document.querySelectorAll('.issue')].map(n => n.textContent).filter(text => text.includes('member2'))"
    page.wait_for(f"{silent}.length === 5")
    words = page.js(f"return {silent}")
    for each, part in zip(words, ["ist nicht da", "antwortet nicht rechtzeitig", "antwortet im Format einer anderen Version", "ist nicht erreichbar", "antwortet nicht ("]):
        assert f"Das Mitglied member2 {part}" in each
    looked_at(page, axe, "silent-members")


def test_a_device_that_is_off(german, console, alice, bob, axe):
    publish(console, alice.registration(console.router, ios(device_token()), device="phone"))
    console.router.stop()
    now = int(time.time() * 1000)
    with contextlib.closing(sqlite3.connect(console.router.folder / "carillon.sqlite")) as registry, registry:
        registry.execute("INSERT INTO disabled_devices VALUES (1, ?, ?)", (now, now - 30 * 86_400_000))
    console.start()
    note = bob.note("hello", alice)
    publish(console, note)
    page = german.sign_in().browser
    page.choose("#language", "de")
    for screen in ["devices", "devices/1", f"follow/{note['id']}"]:
        german.go(screen)
        speaks_german(page)
    looked_at(page, axe, "device-off")


# MARK: /me


@pytest.fixture
def asker(browser, console, alice) -> Subscriber:
    class Asker(Subscriber):
        @property
        def url(self) -> str:
            return f"http://localhost:{console.port}/me/"

        def open(self, fragment: str = "") -> "Asker":
            super().open(fragment)
            self.browser.choose("#language", "de")
            self.browser.wait_for("document.documentElement.lang === 'de'")
            return self

        def ask(self) -> "Asker":
            self.open()
            self.browser.click("#connect")
            self.browser.wait_for("!document.querySelector('#report').hidden")
            return self

    return Asker(browser, console.router, alice)


def settle(page):
    page.wait_for("!document.body.ariaBusy && (!document.querySelector('#progress').hidden || !document.querySelector('#problem').hidden)")


def test_me(asker, console, alice, bob, lab, axe):
    quiet = {"start": "00:00", "end": "23:59", "tz": "UTC", "dm_bypass_quiet": True}
    content = ios(device_token(), mode="nudge", filters={"dm": True, "mention": True}, quiet=quiet)
    publish(console, alice.registration(console.router, content, device="phone"))
    reaction = bob.event(7, "+", [["e", "00" * 32], ["p", alice.hex]])
    publish(console, bob.note("hello", alice), bob.message("hi", alice), reaction)
    console.router.wait_for_deliveries(1)
    page = asker.open().browser
    looked_at(page, axe, "me-start")
    asker.ask()
    assert "Ein Event wartet" not in page.text("#devices") and "Das Gerät hat Ruhezeit; geht frühestens" in page.text("#devices")
    open_all(page)
    looked_at(page, axe, "me")
    page.choose("#one", "0" * 64)
    page.click("#one-form button")
    page.wait_for("document.querySelector('#one-answer').children.length")
    speaks_german(page)
    page.choose("#one", "hello")
    page.click("#one-form button")
    page.wait_for("!document.querySelector('#problem').hidden")
    speaks_german(page)
    # A push service that refuses, and then a person who tests too often.
    lab.misbehave("answer", status=403, reason="InvalidProviderToken", times=0)
    said = ""
    for _ in range(7):
        page.click("article .buttons button")
        settle(page)
        speaks_german(page)
        said += page.text("#problem")
    assert "lehnt die Zugangsdaten des Routers ab" in said and "Zu viele Anfragen" in said
    looked_at(page, axe, "me-too-often")


@pytest.mark.parametrize("kind", ["unknown", "blocked", "declines", "gone", "other clock"])
def test_me_where_something_fails(asker, console, alice, axe, kind):
    page = asker.browser
    if kind == "blocked":
        console.json(f"/v1/users/block?subject={alice.hex}", "POST")
    if kind == "declines":
        asker.declines = True
    asker.open()
    if kind == "gone":
        console.router.stop()
    if kind == "other clock":
        page.js("const now = Date.now; Date.now = () => now() - 600_000")
    page.click("#connect")
    page.wait_for("!document.querySelector('#problem').hidden || !document.querySelector('#report').hidden")
    if kind == "other clock":
        assert "Die Uhr deines Geräts oder die des Routers geht falsch" in page.text("#problem")
    looked_at(page, axe, "me-" + kind.replace(" ", "-"))


# MARK: /subscribe


def test_subscribe(subscriber, socket, bob, axe):
    page = subscriber.open().browser
    page.choose("#language", "de")
    page.wait_for("document.documentElement.lang === 'de'")
    quotations = "q, code, pre, textarea, time, [translate=no], #router-name, #operator a"
    for way in ["ntfy", "unifiedpush", "gotify", "web"]:
        page.choose(f"#way-{way}", True)
        open_all(page)
        speaks_german(page, quotations=quotations)
    subscriber.turn_on(language="de")
    socket.publish(bob.note("hello", subscriber.person))
    page.shown(1)
    speaks_german(page, quotations=quotations)
    check(page, axe)
    page.lose_subscription()
    page.wait_for("!document.querySelector('#renewal').hidden")
    speaks_german(page, quotations=quotations)
    page.click("#ways button:last-child")
    settle(page)
    speaks_german(page, quotations=quotations)


# MARK: The texts


def cases(path: str, enumeration: str) -> set[str]:
    """The raw values of a Swift enumeration."""
    text = (SOURCES / path).read_text()
    body = text[text.index(f"enum {enumeration}") :]
    body = body[: body.index("\n}") if enumeration[0] != " " else None]
    found = set()
    for line in re.findall(r"^\s+case ([a-z][\w, ]*(?: = \"[a-z-]+\")?)$", body, re.M):
        name, _, raw = line.partition(" = ")
        found |= {raw.strip('"')} if raw else {each.strip() for each in name.split(",")}
    return found


def test_every_code_has_a_german_text(operator):
    """Whoever adds a code to the router is told here which text is missing."""
    page = operator.open().browser
    texts = page.js("return (await import('./sentence-texts.js')).texts.de")
    words = {
        "step": cases("Pipeline/PipelineStep.swift", "PipelineStep"),
        "report": cases("Delivery/DeliveryReport.swift", "Kind"),
        "hold": cases("Pipeline/PipelineStep.swift", "HoldReason"),
        "reason": cases("Pipeline/PipelineStep.swift", "StepReason"),
        "failure": cases("Relays/Relays/Pool/Connection/ConnectionLimits.swift", "ConnectionError"),
        "violation": cases("Relays/Relays/Pool/RelayBehavior.swift", "RelayViolation"),
        "gap": cases("Operations/Live/LiveEntry.swift", "Cause"),
    }
    words["word"] = words["step"] | words["report"]
    for name, codes in words.items():
        assert len(codes) >= 4 and codes - set(texts[name]) == set(), name
    code = re.compile(r'(?:Sentence|Statement|Issue|Self\.issue|Self\.problem|OwnerProof\.problem|add|command)\(\s*"([a-z-]+)"')
    prefix = {"Operations/Me/OwnerProof.swift": "proof-"}
    codes = set()
    for file in [*(SOURCES / "Operations").rglob("*.swift"), *(SOURCES / "HTTP/Console").rglob("*.swift")]:
        text = file.read_text()
        if re.search(r"\b(Sentence|Statement|Issue)\(", text):
            start = prefix.get(str(file.relative_to(SOURCES)), "")
            codes |= {start + found.removeprefix(start) for found in code.findall(text)}
    codes |= {"advice-no-trace", "advice-trace-fault", "perhaps-of-others", "perhaps-no-device", "former-key-unsealed", "no-blocked", "no-allowed"}
    said = {*texts["says"], *texts["issue"]}
    assert len(codes) > 60 and codes - said - {"reason", "at"} == set()
    assert set(texts["issue"]) == set(texts["remedy"])
