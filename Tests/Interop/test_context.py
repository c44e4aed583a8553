"""What a notification says about its author and about the event it refers to is fetched from relays."""

import json
import time

import nostr_sdk as sdk
import pytest

from nostr import Person, Socket, device_token, ios
from relays import LocalRelay, NostrRelay, ScriptedRelay, publish


@pytest.fixture(params=[LocalRelay, NostrRelay], ids=["nostr-sdk", "nostr-relay"])
def relay(request, tmp_path):
    relay = request.param(tmp_path / "relay").start()
    yield relay
    relay.kill()


@pytest.fixture
def router(stopped_router, relay):
    stopped_router.watch(always=[relay])
    # A relay of another process may take its time to answer.
    stopped_router.configuration["context"] = {"wait_milliseconds": 10_000}
    return stopped_router.start()


def register(router, person: Person, **wishes):
    with Socket(router) as socket:
        socket.publish(person.registration(router, ios(device_token(), mode="alert", **wishes)))


def alert(push) -> dict:
    return push.payload["aps"]["alert"]


def test_the_name_comes_from_the_profile(router, lab, relay, alice, bob):
    publish(relay, bob, bob.event(0, json.dumps({"name": "bob", "display_name": "Bob the Builder"})))
    register(router, alice)
    publish(relay, bob, bob.note("hello", alice))
    [push] = lab.accepted(1)
    assert "Bob the Builder" in alert(push)["title"]


def test_an_event_over_the_socket_gets_context_from_relays(router, lab, relay, alice, bob):
    note = alice.note("The root of it all. " + "x" * 200)
    publish(relay, bob, bob.event(0, json.dumps({"name": "bob"})), note)
    register(router, alice)
    router.wait_for_connection(relay)
    with Socket(router) as socket:
        socket.publish(bob.reaction("+", note))
    [push] = lab.accepted(1)
    assert "bob" in alert(push)["title"]
    assert push.payload["referenced_event_id"] == note["id"]
    assert push.payload["referenced_event_kind"] == 1
    assert push.payload["referenced_event_content"].startswith("The root of it all.")
    assert len(push.payload["referenced_event_content"]) == 100 + len("...")


def test_mentions_are_spelled_as_names_and_excerpts(stopped_router, lab, relay, alice, bob):
    carol = Person()
    rules = """
version: 1
mentions: names
rules:
  - { match: { kinds: [1] }, title: "to {{referenced.author.name}}", body: "{{event.content}}" }
"""
    (stopped_router.folder / "own.yaml").write_text(rules)
    stopped_router.configuration["rules"] = ["own.yaml"]
    stopped_router.watch(always=[relay])
    stopped_router.configuration["context"] = {"wait_milliseconds": 10_000}
    stopped_router.start()
    note = carol.note("This is the way")
    article = carol.event(30023, "Once upon a time", [["d", "tale"]])
    publish(relay, carol, carol.event(0, json.dumps({"name": "carol"})), note, article)
    register(stopped_router, alice)
    stopped_router.wait_for_connection(relay)
    tale = sdk.Coordinate(sdk.Kind(30023), carol.keys.public_key(), "tale")
    names = [
        carol.keys.public_key().to_bech32(),
        sdk.Nip19Profile(carol.keys.public_key(), [sdk.RelayUrl.parse("wss://r.example")]).to_bech32(),
        sdk.EventId.parse(note["id"]).to_bech32(),
        sdk.Nip19Event(sdk.EventId.parse(note["id"]), carol.keys.public_key(), sdk.Kind(1), []).to_bech32(),
        sdk.Nip19Coordinate(tale, []).to_bech32(),
    ]
    with Socket(stopped_router) as socket:
        socket.publish(bob.event(1, " ".join(f"nostr:{name}" for name in names), [["p", alice.hex], ["q", note["id"]]]))
    [push] = lab.accepted(1)
    assert alert(push)["title"] == "to carol"
    assert alert(push)["body"] == "@carol @carol “This is the way” “This is the way” “Once upon a time”"


def test_context_unknown_to_all_relays_delays_no_push(router, lab, relay, alice, bob):
    note = alice.note("nowhere to be found")
    router.stop()
    router.configuration["context"] = {"wait_milliseconds": 1_500}
    router.start()
    register(router, alice)
    router.wait_for_connection(relay)
    began = time.monotonic()
    with Socket(router) as socket:
        socket.publish(bob.reaction("+", note))
    [push] = lab.accepted(1)
    assert time.monotonic() - began < 10
    assert bob.hex[:8] + "..." in alert(push)["title"]
    assert push.payload["referenced_event_id"] == note["id"]
    assert "referenced_event_content" not in push.payload


def test_a_name_once_known_survives_a_restart_without_relays(router, lab, relay, alice, bob):
    publish(relay, bob, bob.event(0, json.dumps({"name": "bob"})))
    register(router, alice)
    publish(relay, bob, bob.note("hello", alice))
    lab.accepted(1)
    router.stop()
    relay.kill()
    lab.forget()
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.note("hello again", alice))
    [push] = lab.accepted(1)
    assert "bob" in alert(push)["title"]
    relay.start()


def test_a_wake_up_fetches_no_context(stopped_router, lab, hostile_relay, alice, bob):
    stopped_router.configuration["relays"] = {"always": [hostile_relay.url]}
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="wake")))
        socket.publish(bob.reaction("+", alice.note("secret interest")))
    lab.accepted(1)
    asked = json.dumps(hostile_relay.requests)
    assert bob.hex not in asked


@pytest.mark.parametrize("setting, mode", [({}, "wake"), ({}, "nudge"), ("off", "alert")])
def test_hidden_text_is_not_on_disk(stopped_router, lab, alice, bob, setting, mode):
    stopped_router.configuration["context"] = setting
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode=mode)))
        socket.publish(bob.event(0, json.dumps({"name": "Bob the Builder"})), bob.note("a thought for nobody"))
        socket.publish(bob.note("a thought for Alice", alice))
    lab.accepted(1)
    assert router.stop() == 0
    kept = {path.name: path.read_bytes() for path in router.folder.iterdir() if path.is_file()}
    assert "carillon.sqlite-context" not in kept
    # The outbox is empty by now; what an alert said may be in pages of it that are free.
    names = [name for name in kept if mode != "alert" or "outbox" not in name]
    for text in [b"thought", b"Builder"]:
        assert [name for name in names if text in kept[name]] == []


def test_a_zap_names_its_sender_and_the_amount(router, lab, relay, alice, bob):
    wallet = Person()
    note = alice.note("zap me")
    request = bob.event(9734, "Thank you!", [["relays", relay.url], ["amount", "21000"], ["p", alice.hex], ["e", note["id"]]])
    # BOLT-11: 210 n is 21,000 millisats. What follows the prefix is the wallet's business.
    invoice = "lnbc210n1" + "p" * 60
    tags = [["p", alice.hex], ["e", note["id"]], ["bolt11", invoice], ["description", json.dumps(request)]]
    publish(relay, bob, bob.event(0, json.dumps({"name": "bob"})), note)
    register(router, alice)
    publish(relay, wallet, wallet.event(9735, "", tags))
    [push] = lab.accepted(1)
    said = json.dumps(alert(push), ensure_ascii=False)
    assert "bob" in said and "21" in said
    # Alice's own zap, and one whose request somebody made up.
    lab.forget()
    own = alice.event(9734, "", [["amount", "21000"], ["p", alice.hex]])
    forged = {**request, "content": "I am generous"}
    for described in [own, forged]:
        description = ["description", json.dumps(described)]
        publish(relay, wallet, wallet.event(9735, "", [["p", alice.hex], ["bolt11", invoice], description]))
    publish(relay, bob, bob.note("hello", alice))
    lab.accepted(1)
    router.stop()
    assert len(lab.received()) == 1


@pytest.mark.parametrize(
    ("tags", "signal"),
    [
        (lambda mine, other: [["e", other], ["e", mine]], "reply"),
        (lambda mine, other: [["e", mine], ["e", other]], "mention"),
        (lambda mine, other: [["e", mine, "", "root"], ["e", other, "", "reply"]], "mention"),
        (lambda mine, other: [["e", other, "", "root"], ["e", mine, "", "reply"]], "reply"),
        (lambda mine, other: [["e", mine, "", "root"]], "reply"),
        (lambda mine, other: [["e", mine, "", "mention"]], "mention"),
        (lambda mine, other: [["q", mine]], "mention"),
    ],
)
def test_replies_and_mentions_are_distinguished_by_the_parents_author(router, lab, relay, alice, bob, tags, signal):
    carol = Person()
    mine, other = alice.note("mine"), carol.note("hers")
    publish(relay, bob, mine, other)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    note = bob.note("so it goes", alice, carol, tags=tags(mine["id"], other["id"]))
    publish(relay, bob, note)
    [push] = lab.accepted(1)
    assert push.payload["t"] == signal
