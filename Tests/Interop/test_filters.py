"""Filters: what people mute, whom they trust, and what is noise. Lists, notes and work by nostr-sdk."""

import json
import time

import nostr_sdk as sdk
import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until
from relays import LocalRelay, publish


@pytest.fixture
def relay(tmp_path):
    relay = LocalRelay(tmp_path / "relay").start()
    yield relay
    relay.kill()


@pytest.fixture
def mallory():
    return Person()


def mute_list(person: Person, *entries, private=(), **details) -> dict:
    """NIP-51: what anybody may read in tags, and the rest encrypted to oneself."""
    content = person.encrypt(json.dumps(private), person.hex) if private else ""
    return person.event(10000, content, entries, **details)


def contact_list(person: Person, *people: Person, **details) -> dict:
    return person.event(3, "", [["p", other.hex] for other in people], **details)


def worked(person: Person, content: str, to: Person, bits: int) -> dict:
    """NIP-13."""
    builder = sdk.EventBuilder(sdk.Kind(1), content).tags([sdk.Tag.parse(["p", to.hex])])
    unsigned = builder.finalize_unsigned(person.keys.public_key())
    mined = unsigned.mine(sdk.SingleThreadPow(), bits)
    return json.loads(mined.sign(person.keys).as_json())


def register(router, person: Person, **wishes):
    with Socket(router) as socket:
        socket.publish(person.registration(router, ios(device_token(), mode="alert", **wishes)))


def publish_in_turn(router, *events: dict):
    """Each when the one before was answered: events of a batch may wait for names and then go on in any order."""
    with Socket(router) as socket:
        for event in events:
            assert socket.offer(event)[0], event


def told(router, lab, count: int) -> list[str]:
    """The texts of exactly `count` pushes, after which nothing is left behind."""
    lab.accepted(count)
    assert router.stop() == 0
    pushes = [push for push in lab.received() if push.status == 200]
    assert len(pushes) == count
    return sorted(json.dumps(push.payload) for push in pushes)


def test_muted_people_words_hashtags_and_threads_send_no_push(stopped_router, lab, alice, bob, mallory):
    stopped_router.configuration["filter_plugins"] = {"mutes": {}}
    router = stopped_router.start()
    register(router, alice)
    root = bob.note("a root")
    muted = mute_list(
        alice, ["p", mallory.hex], ["word", "CASINO"], ["t", "spam"], ["e", root["id"]], private=[["word", "secretly"]]
    )
    child = bob.event(1, "a child", [["e", root["id"], "", "root"], ["p", alice.hex]])
    publish_in_turn(
        router,
        muted,
        mallory.note("from whom she mutes", alice),
        bob.note("come to the Casino tonight", alice),
        bob.note("buy #SPAM now", alice),
        bob.note("tagged", alice, tags=[["t", "Spam"]]),
        child,
        bob.event(1, "a grandchild", [["e", child["id"]], ["p", alice.hex]]),
        bob.note("secretly muted, which only she can read", alice),
        bob.note("hello", alice),
    )
    texts = told(router, lab, 2)
    assert [any(word in text for text in texts) for word in ["hello", "secretly muted"]] == [True, True]
    assert router.log_text.count("private entries (NIP-44)") == 1
    assert "secretly" not in router.log_text
    for reason in ["a muted account", "a muted word", "a muted hashtag", "a muted thread"]:
        assert f"mutes: {reason}" in router.log_text


def test_a_new_list_applies_to_the_next_event(stopped_router, lab, alice, bob):
    stopped_router.configuration["filter_plugins"] = {"mutes": {}}
    router = stopped_router.start()
    register(router, alice)
    now = int(time.time())
    publish_in_turn(
        router,
        mute_list(alice, ["word", "eggs"], created_at=now),
        bob.note("one with spam", alice),
        mute_list(alice, ["word", "spam"], created_at=now + 1),
        bob.note("two with spam", alice),
        mute_list(alice, ["word", "eggs"], created_at=now),
        bob.note("three with spam", alice),
        mute_list(alice, created_at=now + 2),
        bob.note("four with spam and eggs", alice),
    )
    texts = told(router, lab, 2)
    assert "one with spam" in "".join(texts) and "four with spam" in "".join(texts)


def test_lists_are_found_at_relays(stopped_router, lab, relay, alice, bob):
    """One is there before anybody registers, its successor comes while the router listens."""
    stopped_router.configuration["filter_plugins"] = {"mutes": {}}
    stopped_router.watch(always=[relay])
    now = int(time.time())
    publish(relay, alice, mute_list(alice, ["word", "spam"], created_at=now))
    router = stopped_router.start()
    register(router, alice)
    router.wait_until_read()
    publish(relay, bob, bob.note("with spam", alice), bob.note("hello", alice))
    lab.accepted(1)
    publish(relay, alice, mute_list(alice, ["word", "hello"], created_at=now + 1))
    publish(relay, bob, bob.note("hello again", alice), bob.note("with spam again", alice))
    texts = told(router, lab, 2)
    assert "hello" in texts[0] + texts[1] and "with spam again" in texts[0] + texts[1]


def test_a_device_toggles_only_filters_the_operator_allows(stopped_router, lab, alice, bob):
    stopped_router.configuration["filter_plugins"] = {
        "mutes": {"devices": "may-switch-off"},
        "noise": {"devices": "may-switch-on", "settings": {"hellthread": 1}},
    }
    router = stopped_router.start()
    tokens = {name: device_token() for name in ["usual", "open", "strict"]}
    with Socket(router) as socket:
        for name, token in tokens.items():
            switches = {"usual": {}, "open": {"mutes": False}, "strict": {"noise": True}}[name]
            content = ios(token, mode="alert", filter_plugins=switches)
            socket.publish(alice.registration(router, content, device=name))
        socket.publish(
            mute_list(alice, ["word", "spam"]),
            bob.note("with spam", alice),
            bob.note("to a crowd", alice, Person()),
        )
    lab.accepted(3)
    assert router.stop() == 0
    reached = sorted((push.target, json.dumps(push.payload)) for push in lab.received())
    assert len(reached) == 3
    assert {target for target, text in reached if "with spam" in text} == {tokens["open"]}
    assert {target for target, text in reached if "to a crowd" in text} == {tokens["usual"], tokens["open"]}


def test_follows_of_follows_are_found_at_relays(stopped_router, lab, relay, alice, bob, mallory):
    """Alice follows Bob, Bob follows Carol, nobody follows Mallory."""
    carol = Person()
    stopped_router.configuration["filter_plugins"] = {
        "web-of-trust": {"devices": "always", "settings": {"level": "follows-of-follows", "unknown": "drop"}}
    }
    # A relay of another process may take its time to answer.
    stopped_router.configuration["context"] = {"wait_milliseconds": 10_000}
    stopped_router.watch(always=[relay])
    publish(relay, bob, contact_list(bob, carol))
    publish(relay, mallory, contact_list(mallory, mallory))
    router = stopped_router.start()
    register(router, alice)
    router.wait_until_read()
    followed = contact_list(alice, bob)
    publish(relay, alice, followed)
    wait_until(
        lambda: any(followed["id"] in line and "learned" in line for line in router.log_text.splitlines()),
        "whom Alice follows is learned",
        router.process,
    )
    publish(relay, carol, carol.note("a friend of a friend", alice))
    publish(relay, mallory, mallory.note("a stranger", alice))
    publish(relay, bob, bob.note("a friend", alice))
    wait_until(lambda: "step=filtered" in router.log_text, "the stranger is dropped", router.process)
    texts = told(router, lab, 2)
    assert "a friend of a friend" in "".join(texts) and "stranger" not in "".join(texts)
    assert "web-of-trust: no account the recipient follows follows the author" in router.log_text


def test_friends_of_friends_are_found_after_trust_was_widened(stopped_router, lab, relay, alice, bob):
    """Alice follows Bob, Bob follows Carol. Relays send a list once, and what is kept of it depends on the level."""
    router = stopped_router
    carol = Person()
    router.configuration["context"] = {"wait_milliseconds": 10_000}
    router.watch(always=[relay])
    long_ago = int(time.time()) - 30 * 86_400
    publish(relay, alice, contact_list(alice, bob, created_at=long_ago))
    publish(relay, bob, contact_list(bob, carol))
    console = Console(router).start()
    register(router, alice)
    router.wait_until_read()
    for level in ["follows", "follows-of-follows", "follows", "follows-of-follows"]:
        router.configuration["filter_plugins"] = {"web-of-trust": {"devices": "always", "settings": {"level": level}}}
        router.configuration_file  # writes it
        assert console.ask("/v1/reload", "POST")[0] == 200
        publish_in_turn(router, carol.note(f"trust in {level}", alice))
    texts = told(router, lab, 2)
    assert all("trust in follows-of-follows" in text for text in texts)


def test_proof_of_work_matches_other_implementations(stopped_router, lab, alice, bob):
    stopped_router.configuration["filter_plugins"] = {"noise": {"settings": {"difficulty": 8}}}
    router = stopped_router.start()
    register(router, alice)
    with Socket(router) as socket:
        socket.publish(
            worked(bob, "hard work", alice, 8), worked(bob, "little work", alice, 2), bob.note("no work", alice)
        )
    [text] = told(router, lab, 1)
    assert "hard work" in text


def test_check_names_errors_in_filters(stopped_router):
    stopped_router.configuration["filter_plugins"] = {
        "mutes": {"devices": "sometimes"},
        "noise": {"settings": {"hellthread": "many"}},
        "web-of-trust": {},
        "nonsense": {},
    }
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1
    assert "always, may-switch-off, may-switch-on" in check.stderr
    stopped_router.configuration["filter_plugins"]["mutes"] = {"on_error": "drop"}
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1
    for mistake in [
        "filter_plugins.noise: the filter noise refuses its settings: hellthread: expected a whole number",
        "filter_plugins.web-of-trust: the filter web-of-trust refuses its settings: level: expected follows",
        "filter_plugins.nonsense: no loaded plugin offers the filter nonsense; available: mutes, noise, web-of-trust",
    ]:
        assert mistake in check.stderr
    assert "filter_plugins.mutes" not in check.stderr


def test_suspicious_filter_settings_are_warned_about(stopped_router):
    router = stopped_router
    router.configuration["filter_plugins"] = {
        "noise": {"settings": {"except": ["dms", "offer"], "difficulty": {"mentoin": 3}}},
        "web-of-trust": {"settings": {"level": "follows-of-follows", "except": ["dm"]}},
    }
    (router.folder / "rules.yaml").write_text(
        'version: 1\nrules:\n  - { match: { kinds: [30402] }, signal: offer, title: "an offer" }\n'
    )
    router.configuration["rules"] = "rules.yaml"
    doubts = [
        "filter_plugins.noise.settings.except[0]: no signal is called 'dms'; did you mean 'dm'?",
        "filter_plugins.noise.settings.difficulty.mentoin: no signal is called 'mentoin'; did you mean 'mention'?",
        "filter_plugins.web-of-trust: it asks relays whether accounts that the recipient follows follow the author, but ",
    ]
    check = carillon("check", "--config", router.configuration_file)
    assert check.returncode == 0
    warnings = [line for line in check.stderr.splitlines() if "filter_plugins." in line]
    assert len(warnings) == len(doubts) and all(line.startswith("warning: ") for line in warnings)
    console = Console(router, port=free_port()).start()
    reload = carillon("reload", "--config", router.configuration_file)
    assert reload.returncode == 0 and reload.stdout == "The configuration was reloaded and is active.\n"
    status, answer = console.json("/v1/reload", "POST")
    assert status == 200 and len(answer["warnings"]) == len(doubts)
    for doubt in doubts:
        assert doubt in check.stderr and doubt in reload.stderr and doubt in " ".join(answer["warnings"])
        assert router.log_text.count(doubt) == 3
    router.configuration["filter_plugins"]["noise"]["settings"] = {"except": ["DM"]}
    refused = carillon("reload", "--config", router.configuration_file)
    assert refused.returncode == 1 and "except: expected signals such as dm, of 1 to 32 of a-z" in refused.stderr


def test_filters_are_listed_and_pass_their_check(stopped_router):
    listing = carillon("plugin", "list", "--folder", stopped_router.plugins)
    assert listing.returncode == 0
    assert "filter     mutes (reads kind 10000)" in listing.stdout
    settings = stopped_router.folder / "trust.json"
    settings.write_text('{"level": "follows"}')
    for name, options in [("Mutes", []), ("Noise", []), ("WebOfTrust", ["--block", f"web-of-trust={settings}"])]:
        check = carillon("plugin", "check", stopped_router.plugins / f"libCarillon{name}.so", *options)
        assert check.returncode == 0, check.stdout
