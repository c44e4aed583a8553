"""The router at other people's relays: it goes there by itself, misses nothing and tells nothing twice."""

import sqlite3
import threading
import time
from contextlib import closing

import pytest

from nostr import ADDRESSABLE_REGISTRATION, Person, Socket, device_token, ios
from programs import wait_until
from relays import Client, GuardedLocalRelay, LocalRelay, NostrRelay, publish

RELAYS = {"nostr-sdk": LocalRelay, "nostr-sdk with NIP-42": GuardedLocalRelay, "nostr-relay": NostrRelay}


@pytest.fixture
def relay_of(tmp_path):
    """Starts relays of a kind."""
    started = []

    def start(kind, name: str = ""):
        relay = kind(tmp_path / f"relay-{len(started)}{name}").start()
        started.append(relay)
        return relay

    yield start
    for relay in started:
        relay.kill()


@pytest.fixture(params=RELAYS.values(), ids=RELAYS.keys())
def relay(request, relay_of):
    return relay_of(request.param)


@pytest.fixture
def relay_list():
    def event(person: Person, *relays, marker: str | None = "read", **details) -> dict:
        """NIP-65."""
        return person.event(10002, "", [["r", relay.url, *([marker] if marker else [])] for relay in relays], **details)

    return event


def register(router, person: Person, token: str, **wishes) -> dict:
    with Socket(router) as socket:
        event = person.registration(router, ios(token, **wishes))
        socket.publish(event)
        return event


def targets(pushes) -> list[str]:
    return sorted(push.target for push in pushes)


def settle(router, lab, count: int) -> list:
    """Exactly `count` pushes come, and none is left behind when the router stops."""
    lab.accepted(count)
    assert router.stop() == 0
    return [push for push in lab.received() if push.status == 200]


def test_events_at_the_operators_relay_send_a_push(stopped_router, lab, relay, alice, bob):
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    register(router, alice, device_token())
    router.wait_until_read()
    note = bob.note("hello", alice)
    publish(relay, bob, note, bob.note("not for you"), bob.message("hello in secret", alice))
    assert sorted(push.payload["t"] for push in settle(router, lab, 2)) == ["dm", "mention"]


def test_users_are_watched_at_the_relays_of_their_list(stopped_router, lab, relay, relay_of, relay_list, alice, bob):
    meeting_point, elsewhere = relay_of(LocalRelay), relay_of(LocalRelay)
    stopped_router.watch(always=[meeting_point])
    router = stopped_router.start()
    publish(meeting_point, alice, relay_list(alice, relay))
    publish(elsewhere, bob, bob.note("nobody looks here", alice))
    register(router, alice, device_token())
    publish(relay, bob, bob.note("hello", alice))
    [push] = lab.accepted(1)
    assert push.payload["t"] == "mention"

    # Alice moves. Whoever writes to the new place reaches her.
    moved = relay_of(LocalRelay)
    publish(meeting_point, alice, relay_list(alice, moved, created_at=int(time.time()) + 2))
    publish(moved, bob, bob.reaction("+", alice.note("root")))
    assert sorted(push.payload["t"] for push in settle(router, lab, 2)) == ["mention", "reaction"]


def test_private_messages_are_read_at_their_relays(stopped_router, lab, relay, relay_of, alice, bob):
    meeting_point = relay_of(LocalRelay)
    stopped_router.watch(always=[meeting_point])
    router = stopped_router.start()
    register(router, alice, device_token())
    publish(meeting_point, alice, alice.event(10050, "", [["relay", relay.url]]))
    router.wait_until_read(2)
    publish(relay, bob, bob.message("hello", alice))
    [push] = settle(router, lab, 1)
    assert push.payload["t"] == "dm"


def test_a_registration_may_name_its_relays(stopped_router, lab, relay, alice, bob):
    router = stopped_router.start()
    register(router, alice, device_token(), relays=[relay.url])
    publish(relay, bob, bob.note("hello", alice))
    [push] = settle(router, lab, 1)
    assert push.payload["t"] == "mention"


def test_a_lost_store_is_filled_again_from_relays(stopped_router, lab, relay, relay_of, relay_list, alice, bob):
    """Every device comes back, whatever it is called, by whomever it was registered, and wherever that lies."""
    router, elsewhere, carol, phone = stopped_router.start(), relay_of(LocalRelay), Person(), Person()
    tokens = {name: device_token() for name in ["", "phone", "tablet", "carol's", "elsewhere", "tagged"]}

    def named(person: Person, name: str, **details) -> dict:
        return person.registration(router, ios(tokens[name]), device=name, kind=ADDRESSABLE_REGISTRATION, **details)

    publish(relay, alice, alice.registration(router, ios(tokens[""])))
    publish(relay, alice, named(alice, "phone"), named(alice, "tablet"), relay_list(alice, elsewhere))
    # A phone with a key of its own, under Carol.
    publish(relay, phone, phone.registration(router, ios(tokens["carol's"]), device="mine", root=carol))
    publish(relay, carol, carol.event(10050, "", [["device", phone.hex]]))
    # And registrations that only a relay of Alice's has: one of hers, and one of a stranger to it.
    publish(elsewhere, alice, named(alice, "elsewhere"))
    publish(elsewhere, bob, named(bob, "tagged", tags=[["p", router.public_key]]))
    # What is for other routers, or for something else altogether.
    publish(relay, bob, bob.event(30062, "x", [["d", carol.hex + ":phone"]]), bob.event(10062, "x"))
    router.stop()
    for file in router.folder.glob("carillon.sqlite*"):
        file.unlink()
    lab.forget()
    router.watch(always=[relay])
    router.start()
    wait_until(lambda: len(devices(router)) == len(tokens), "all devices are back", router.process)
    router.wait_until_read(2)
    publish(relay, bob, Person().note("hello", alice, bob, carol))
    assert targets(settle(router, lab, len(tokens))) == sorted(tokens.values())


def test_a_deletion_at_a_relay_deregisters(stopped_router, lab, relay, alice, bob):
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    tokens = [device_token(), device_token()]
    registrations = [
        alice.registration(router, ios(token), device=name, kind=ADDRESSABLE_REGISTRATION)
        for token, name in zip(tokens, ["phone", "tablet"], strict=True)
    ]
    publish(relay, alice, *registrations)
    wait_until(lambda: len(devices(router)) == 2, "both devices are known", router.process)
    router.wait_until_read()
    publish(relay, alice, alice.event(5, "", [["e", registrations[0]["id"]], ["k", "30062"]]))
    wait_until(lambda: devices(router) == ["tablet"], "the one that was deleted is gone", router.process)
    publish(relay, bob, bob.note("hello", alice))
    assert targets(settle(router, lab, 1)) == [tokens[1]]


def devices(router) -> list[str]:
    with closing(sqlite3.connect(f"file:{router.folder / 'carillon.sqlite'}?mode=ro", uri=True)) as database:
        return [name for [name] in database.execute("SELECT device_id FROM devices")]


def test_users_cannot_send_the_router_into_private_networks(stopped_router, lab, relay_of, alice, bob):
    private, allowed = relay_of(LocalRelay), relay_of(LocalRelay)
    # The lab itself is on loopback, but on the other one: IPv6 stays allowed.
    stopped_router.configuration["http"]["allow_private"] = []
    stopped_router.watch(always=[allowed])
    router = stopped_router.start()
    register(router, alice, device_token(), relays=[private.url])
    publish(private, bob, bob.note("from the private network", alice))
    publish(allowed, bob, bob.reaction("+", alice.note("root")))
    [push] = settle(router, lab, 1)
    assert push.payload["t"] == "reaction"


def test_events_published_while_the_router_was_down_are_caught_up(stopped_router, lab, relay_of, alice, bob):
    relay = relay_of(NostrRelay)
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    register(router, alice, device_token())
    router.wait_until_read()
    publish(relay, bob, bob.note("first", alice), bob.message("first", alice))
    settle(router, lab, 2)
    lab.forget()
    publish(relay, bob, bob.note("second", alice), bob.message("second", alice), bob.message("third", alice))
    router.start()
    assert sorted(push.payload["t"] for push in settle(router, lab, 3)) == ["dm", "dm", "mention"]
    # And once more, with nothing new: nothing is told twice.
    lab.forget()
    router.start()
    publish(relay, bob, bob.reaction("+", alice.note("root")))
    assert [push.payload["t"] for push in settle(router, lab, 1)] == ["reaction"]


@pytest.mark.parametrize("kind", [NostrRelay, LocalRelay], ids=["nostr-relay", "nostr-sdk"])
def test_pages_that_end_within_a_second_lose_no_events(stopped_router, lab, relay_of, alice, bob, kind):
    """nostr-relay takes `until` as exclusive, nostr-sdk's relay as inclusive (NIP-01)."""
    relay = relay_of(kind)
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    now = int(time.time())
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token()), created_at=now - 500))
    router.wait_until_read()
    publish(relay, bob, bob.note("first", alice))
    settle(router, lab, 1)
    lab.forget()
    p = [["p", alice.hex]]
    notes = [bob.event(1, f"number {number}", p, now - number // 7) for number in range(1_200)]
    for some in range(0, len(notes), 50):
        # nostr-sdk's relay takes no more over one connection.
        publish(relay, bob, *notes[some : some + 50])
    router.start()
    assert len(settle(router, lab, 1_200)) == 1_200


def test_events_older_than_a_registration_send_no_push(stopped_router, lab, relay_of, alice, bob):
    relay = relay_of(NostrRelay)
    old = int(time.time()) - 3600
    publish(relay, bob, bob.event(1, "old", [["p", alice.hex]], old), *(bob.message("old", alice) for _ in range(5)))
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    register(router, alice, device_token())
    router.wait_until_read()
    publish(relay, bob, bob.message("new", alice))
    assert [push.payload["t"] for push in settle(router, lab, 1)] == ["dm"]
    # Nor after a restart, which reads two days of gift wraps again.
    lab.forget()
    router.start()
    publish(relay, bob, bob.note("newer", alice))
    assert [push.payload["t"] for push in settle(router, lab, 1)] == ["mention"]


def test_the_same_event_from_three_relays_sends_one_push(stopped_router, lab, relay_of, alice, bob):
    relays = [relay_of(kind) for kind in [LocalRelay, LocalRelay, NostrRelay]]
    stopped_router.watch(always=relays)
    router = stopped_router.start()
    register(router, alice, device_token())
    router.wait_until_read(3)
    events = [bob.note(f"note {number}", alice) for number in range(10)]
    events += [bob.message(f"message {number}", alice) for number in range(5)]
    for relay in relays:
        publish(relay, bob, *events)
    pushes = settle(router, lab, len(events))
    assert len(pushes) == len(events)
    lab.forget()
    router.start()
    publish(relays[0], bob, bob.reaction("+", alice.note("root")))
    assert [push.payload["t"] for push in settle(router, lab, 1)] == ["reaction"]


def test_no_event_is_lost_while_a_relay_dies_and_comes_back(stopped_router, lab, relay_of, alice, bob):
    steady, dying, quiet = relay_of(LocalRelay), relay_of(NostrRelay), relay_of(LocalRelay)
    stopped_router.watch(always=[steady, dying, quiet])
    router = stopped_router.start()
    register(router, alice, device_token())
    reactions = [bob.reaction("+", alice.note(f"note {number}")) for number in range(60)]

    def flow():
        """To two relays where both live, else to the one that does; the dying one alone gets some of them."""
        for number, event in enumerate(reactions):
            if number == 20:
                dying.kill()
            if number == 40:
                dying.start()
            lives = not 20 <= number < 40
            if lives:
                publish(dying, bob, event)
            if not lives or number % 2:
                publish(steady, bob, event)
            time.sleep(0.02)

    writer = threading.Thread(target=flow)
    writer.start()
    lab.accepted(len(reactions))
    writer.join()
    pushes = settle(router, lab, len(reactions))
    assert len(pushes) == len(reactions)
    assert len({push.apns_id for push in pushes}) == len(reactions)


def test_forged_copies_from_a_relay_send_no_push_and_hide_no_event(stopped_router, lab, hostile_relay, alice, bob):
    note = bob.note("hello", alice)
    stopped_router.configuration["relays"] = {"always": [hostile_relay.url]}
    router = stopped_router.start()
    register(router, alice, device_token())
    router.wait_until_read()
    hostile_relay.tell({**note, "content": "send money"}, {**note, "sig": "0" * 128}, "not an event", note, note)
    [push] = settle(router, lab, 1)
    assert push.payload["t"] == "mention"


def test_own_expired_and_self_addressed_events_send_no_push(stopped_router, lab, relay_of, alice, bob):
    relay = relay_of(LocalRelay)
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    register(router, alice, device_token())
    router.wait_until_read()
    hostile = alice.event(1059, "ciphertext", [["p", alice.hex]])
    publish(relay, bob, alice.note("to myself", alice), hostile, bob.reaction("+", alice.note("root")))
    assert [push.payload["t"] for push in settle(router, lab, 1)] == ["reaction"]
    lab.forget()
    # The relay takes nothing that has expired.
    gone = int(time.time()) + 4
    publish(relay, bob, bob.note("soon gone", alice, tags=[["expiration", str(gone)]]))
    wait_until(lambda: time.time() > gone + 1, "the note expires")
    router.start()
    publish(relay, bob, bob.reaction("+", alice.note("root")))
    assert [push.payload["t"] for push in settle(router, lab, 1)] == ["reaction"]


def test_a_follow_is_a_name_that_was_not_in_the_last_list(stopped_router, lab, relay_of, alice, bob):
    relay = relay_of(NostrRelay)
    carol = Person()

    def follow(author: Person, *people: Person, at: int):
        event = author.event(3, "", [["p", person.hex] for person in people], registered_at + at)
        publish(relay, author, event)
        router.wait_for_log(f"event={event['id']}")

    publish(relay, bob, bob.event(3, "", [["p", alice.hex]], int(time.time()) - 100))
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    tokens = {person.hex: device_token() for person in [alice, carol]}
    for count, person in enumerate([alice, carol], start=1):
        register(router, person, tokens[person.hex])
        router.wait_until_read(count)
    # What is older than a registration is no news to it.
    registered_at = int(time.time())
    # Bob follows Carol as well; Alice's name is no news.
    follow(bob, alice, carol, at=1)
    # Nobody has seen a list of Carol's before, and what the relay had was read.
    follow(carol, alice, at=2)
    # Gone from the list and back again.
    follow(bob, carol, at=3)
    follow(bob, carol, alice, at=4)
    pushes = settle(router, lab, 3)
    assert [push.payload["t"] for push in pushes] == ["follow"] * 3
    assert targets(pushes) == sorted([tokens[alice.hex]] * 2 + [tokens[carol.hex]])
