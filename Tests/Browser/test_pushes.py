"""An event's whole way: relay socket, router, Web Push plugin, lab, browser, service worker, notification."""

import json
import random

import nostr_sdk
import pytest

from nostr import Socket
from stage import Subscriber

OWN_CLIENT = "http://localhost:{port}/opened/{{nevent}}"


def test_a_sealed_push_is_shown(subscriber, socket, bob):
    """Mode `sealed`, which the page proposes: the lab sees ciphertext of one length."""
    subscriber.open().turn_on()
    socket.publish(bob.note("hello <b>you</b>", subscriber.person))
    [shown] = subscriber.browser.shown(1)
    assert (shown["title"], shown["body"]) == ("A note", "hello <b>you</b>")
    [notification] = subscriber.browser.notifications()
    assert notification["title"] == "A note" and notification["lang"] == "en"


def test_an_alert_is_shown(subscriber, socket, bob):
    subscriber.open().turn_on("alert")
    socket.publish(bob.note("hello", subscriber.person))
    [shown] = subscriber.browser.shown(1)
    assert (shown["title"], shown["body"]) == ("A note", "hello")


NUDGES = [("en", ("Something new", "Open your app")), ("de", ("Etwas Neues", "Öffne deine App"))]


@pytest.mark.parametrize("language, texts", NUDGES)
def test_a_nudge_is_shown_in_the_persons_language(subscriber, socket, bob, language, texts):
    subscriber.open().turn_on("nudge", language=language)
    socket.publish(bob.note("secret words", subscriber.person))
    [shown] = subscriber.browser.shown(1)
    assert (shown["title"], shown["body"]) == texts
    assert "secret" not in json.dumps(subscriber.browser.notifications())


def test_wake_ups_of_one_sort_are_counted(subscriber, socket, bob):
    """The worker has words of its own for them, and each takes the place of the one before."""
    subscriber.open().turn_on("wake", language="de")
    socket.publish(bob.note("one", subscriber.person))
    assert subscriber.browser.shown(1)[0]["title"] == "Neue Erwähnung"
    socket.publish(bob.note("two", subscriber.person))
    assert subscriber.browser.shown(2)[1]["title"] == "2 neue Erwähnungen"
    socket.publish(bob.message("three", subscriber.person))
    assert subscriber.browser.shown(3)[2]["title"] == "Neue private Nachricht"
    titles = sorted(notification["title"] for notification in subscriber.browser.notifications())
    assert titles == ["2 neue Erwähnungen", "Neue private Nachricht"]


def test_wake_ups_that_come_together_are_all_counted(subscriber, socket, bob):
    subscriber.open().turn_on("wake")
    socket.publish(*[bob.note(f"number {number}", subscriber.person) for number in range(10)])
    subscriber.browser.shown(10)
    assert [notification["title"] for notification in subscriber.browser.notifications()] == ["10 new mentions"]


@pytest.mark.parametrize("mode, title", [("sealed", "3 new notifications"), ("wake", "3 new notifications")])
def test_a_batch_is_one_notification(stopped_router, browser, alice, bob, mode, title):
    stopped_router.configuration["defaults"] = {"cooldown_seconds": 2, "window_seconds": 0, "daily_cap": 0}
    stopped_router.start()
    subscriber = Subscriber(browser, stopped_router, alice).open().turn_on(mode)
    with Socket(stopped_router) as socket:
        socket.publish(bob.note("first", alice))
        browser.shown(1)
        socket.publish(*[bob.note(f"later {number}", alice) for number in range(3)])
    assert subscriber.browser.shown(2)[1]["title"] == title


def test_a_click_opens_the_event_in_the_chosen_client(subscriber, socket, bob):
    """Here a client at an address of the person's own. The name holds id and author (NIP-19)."""
    page = subscriber.open().browser
    page.choose("#client", "own")
    page.choose("#template", OWN_CLIENT.format(port=subscriber.router.port))
    subscriber.turn_on("alert", client="own")
    note = bob.note("hello", subscriber.person)
    socket.publish(note)
    page.shown(1)
    opened = page.click_notification("A note")
    assert "/opened/nevent1" in opened, opened
    event = nostr_sdk.Nip19Event.from_bech32(opened.rsplit("/", 1)[1])
    assert event.event_id().to_hex() == note["id"] and event.author().to_hex() == bob.hex


def test_buttons_open_the_rules_urls(subscriber, socket, bob):
    page = subscriber.open().browser
    page.choose("#template", OWN_CLIENT.format(port=subscriber.router.port))
    subscriber.turn_on("alert", client="own")
    socket.publish(bob.note("buttons", subscriber.person))
    [shown] = page.shown(1)
    [notification] = page.notifications()
    assert [action["title"] for action in notification["actions"]] == ["Read", "Help"]
    if not page.draws_buttons:
        # Firefox knows them, but draws none in the alerts that it has without a desktop.
        return
    assert "/opened/nevent1" in page.click_notification(shown["title"], "read")
    socket.publish(bob.note("buttons", subscriber.person, tags=[["n", "2"]]))
    page.shown(2)
    assert page.click_notification(shown["title"], "help") == "https://help.example.com/asked"


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><script>fetch("https://evil.example")</script>',
    "javascript:alert(1)",
    "\u202e\u0000{{event.content}} ${7*7} {nevent}",
    "'; DROP TABLE values; --",
    "a" * 4000,
]


def test_hostile_content_stays_text(subscriber, socket, bob):
    subscriber.open().turn_on("alert")
    for number, content in enumerate(HOSTILE, start=1):
        socket.publish(bob.note(content, subscriber.person))
        subscriber.browser.shown(number)
    page = subscriber.browser
    assert page.js("return __blocked") == []
    assert page.js("return document.querySelectorAll('img[src=x], script:not([src])').length") == 0
    assert len(page.notifications()) == len(HOSTILE)


def odd_values(chance: random.Random, depth: int = 0):
    """Anything that JSON can say, often where the worker looks for something else."""
    names = ["t", "n", "notification", "data", "title", "body", "tag", "actions", "action", "navigate", "url", "id", "kind"]
    names += ["icon", "sealed", "event_id", "author_pubkey", "referenced_event_id", "vibrate", "silent", "renotify", "lang"]
    texts = [*HOSTILE, "", "dm", "batch", "ab" * 32, "data:text/html,<script>", "file:///etc/passwd", "https://ok.example.com/"]
    kind = chance.randrange(8 if depth < 4 else 5)
    if kind >= 6:
        return {name: odd_values(chance, depth + 1) for name in chance.sample(names, chance.randrange(8))}
    if kind == 5:
        return [odd_values(chance, depth + 1) for _ in range(chance.randrange(4))]
    return [None, True, chance.choice([0, -1, 7, 1.5, 2**60, 1059]), chance.choice(texts), chance.choice(texts)][kind]


def test_every_message_shows_a_notification(subscriber):
    """Browsers punish pushes that show nothing. Only web addresses are ever opened or loaded, and the browser takes the options."""
    page = subscriber.open().browser
    chance = random.Random(20)
    messages = [odd_values(chance) for _ in range(1_000)]
    messages += [{"t": odd_values(chance), "notification": odd_values(chance, 1)} for _ in range(1_000)]
    messages += [{"notification": {"silent": True, "vibrate": [1, 2], "renotify": True, "tag": tag}} for tag in ["", "x"]]
    result = page.js(
        """
        const { notification } = await import("./notes.js")
        const problems = []
        const isFine = url => url === null || /^https?:/.test(url)
        for (const message of a[0]) for (const client of ["message", "primal", "own", "odd"]) {
          const state = { client, template: "https://own.example.com/{id}", language: "de" }
          try {
            const { title, options } = notification(message, state)
            const urls = [options.data.open, ...Object.values(options.data.buttons)]
            const loaded = ["image", "badge"].map(name => options[name] ?? null).concat(options.actions.map(b => b.icon ?? null))
            if (typeof title !== "string" || !title || ![...urls, ...loaded].every(isFine)) problems.push([message, title, options])
            if (options.renotify && !options.tag) problems.push(["renotify without tag", message])
            if (options.silent && options.vibrate) problems.push(["silent and vibrating", message])
          } catch (error) {
            problems.push([message, String(error)])
          }
        }
        return problems.slice(0, 3)
        """,
        messages,
    )
    assert result == []
