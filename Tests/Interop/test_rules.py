"""What rules make of events on the way through the whole router: languages, follows, tags, new kinds, buttons."""

import json

import nostr_sdk as sdk
import pytest

from nostr import Socket, device_token, ios
from programs import carillon, wait_until
from relays import ScriptedRelay

RULES = """
version: 1
rules:
  - name: hellthread
    match: { p_tags: { min: 3 } }
    drop: true
  - name: friend
    match: { kinds: [1], followed: true }
    title: "a friend wrote"
  - name: urgent
    match: { kinds: [1], tags: { t: [urgent, now], subject: { matches: "^(re: )?fire" } } }
    title: "urgent: {{event.subject}}"
  - name: german
    match: { kinds: [1], language: de }
    title: { default: "unreachable", de: "{{author.name}} schrieb", de-AT: "{{author.name}} hat geschrieben" }
  - name: buttons
    match: { kinds: [1], tags: { button: true } }
    title: buttons
    url: "example://note/{{event.id}}"
    event_data: false
    actions:
      - { id: org.example.reply, label: { default: Reply, fr: Répondre }, url: "example://reply/{{event.id}}", icon: star.fill }
      - { id: org.example.mute, label: Mute }
  - name: whole
    match: { kinds: [1], tags: { whole: true } }
    title: whole
    body: "{{event.content}}"
  - name: score
    match: { kinds: [1], tags: { score: true } }
    title: score
    apns: { relevance-score: "{{event.tag.score}}", badge: 1 }
  - name: game
    match: { kinds: [1], tags: { goals: true } }
    title: game
    apns: { event: update, content-state: { goals: !!int "{{event.tag.goals}}" } }
  - name: note
    match: { kinds: [1] }
    title: { default: "{{author.name}} wrote", fr: "{{author.name}} a écrit" }
    body: "{{truncate5(event.content)}}"
  - name: wallet
    match: { kinds: [23194] }
    signal: wallet
    title: "somebody wants {{event.tag.amount}}"
"""


@pytest.fixture
def ruled(stopped_router):
    (stopped_router.folder / "own.yaml").write_text(RULES)
    (stopped_router.folder / "common.yaml").write_text(
        "version: 1\nrules:\n  - { name: like, match: { kinds: [7] }, title: liked }\n"
        "  - { name: never, match: { kinds: [1] }, title: never }\n"
    )
    stopped_router.configuration["rules"] = ["own.yaml", "common.yaml"]
    return stopped_router


@pytest.fixture
def scene(ruled, lab, alice, bob):
    ruled.start()
    with Socket(ruled) as socket:
        yield ruled, socket


def alert_for(lab, socket, event) -> dict:
    lab.forget()
    socket.publish(event)
    [push] = lab.accepted(1)
    return push.payload


def introduce(socket, person, name):
    """Names are kept from when some device may be shown them."""
    socket.publish(person.event(0, json.dumps({"name": name})))


def register(router, socket, person, **more):
    socket.publish(person.registration(router, ios(device_token(), mode="alert", **more)))


def explained(router, event: dict, words: str) -> str:
    """What `carillon explain` says, once it says that: the trace is written a moment later."""

    def told():
        text = carillon("explain", event["id"], "--config", router.configuration_file).stdout
        return text if words in text else None

    return wait_until(told, f"the trace says {words}", router.process)


@pytest.mark.parametrize(
    "locale, title",
    [("de-AT", "bob hat geschrieben"), ("de_CH", "bob schrieb"), ("fr-CA", "bob a écrit"), (None, "bob wrote")],
)
def test_a_device_reads_its_own_language(scene, lab, alice, bob, locale, title):
    router, socket = scene
    register(router, socket, alice, **({"locale": locale} if locale else {}))
    introduce(socket, bob, "bob")
    assert alert_for(lab, socket, bob.note("hello there", alice))["aps"]["alert"]["title"] == title


def test_tags_and_patterns_decide(scene, lab, alice, bob):
    router, socket = scene
    register(router, socket, alice)
    introduce(socket, bob, "bob")
    urgent = bob.note("x", alice, tags=[["t", "urgent"], ["subject", "re: fire!"]])
    assert alert_for(lab, socket, urgent)["aps"]["alert"]["title"] == "urgent: re: fire!"
    calm = bob.note("hello there", alice, tags=[["t", "urgent"], ["subject", "no fire"]])
    assert alert_for(lab, socket, calm)["aps"]["alert"] == {"title": "bob wrote", "body": "hello"}


def test_a_note_to_a_crowd_is_dropped_and_files_are_asked_in_order(scene, lab, alice, bob):
    router, socket = scene
    register(router, socket, alice)
    crowd = bob.event(1, "hi all", [["p", alice.hex], ["p", "11" * 32], ["p", "22" * 32]])
    socket.publish(crowd)
    like = bob.reaction("+", alice.note("mine"))
    assert alert_for(lab, socket, like)["aps"]["alert"]["title"] == "liked"
    router.stop()
    assert [push.payload["event_id"] for push in lab.received()] == [like["id"]]


def test_a_new_kind_sends_a_push_with_its_own_signal(scene, lab, alice, bob):
    router, socket = scene
    register(router, socket, alice, signals={"wallet": True})
    request = bob.event(23194, "ciphertext", [["p", alice.hex], ["amount", "21"]])
    assert alert_for(lab, socket, request)["aps"]["alert"]["title"] == "somebody wants 21"


def test_buttons_reach_the_phone_as_specified(scene, lab, alice, bob):
    router, socket = scene
    register(router, socket, alice, locale="fr")
    note = bob.note("press", alice, tags=[["button", "1"]])
    payload = alert_for(lab, socket, note)
    assert payload["aps"]["mutable-content"] == 1
    assert payload["body"].pop("_k")
    assert payload["body"] == {
        "url": f"example://note/{note['id']}",
        "action_buttons": [
            {
                "id": "org.example.reply",
                "label": "Répondre",
                "url": f"example://reply/{note['id']}",
                "icon": "star.fill",
            },
            {"id": "org.example.mute", "label": "Mute"},
        ],
    }
    assert set(payload) == {"aps", "body"}


def test_links_are_readable_by_other_software(stopped_router, lab, alice, bob):
    """nostr-sdk decodes what the texts say of people, events and addresses."""
    (stopped_router.folder / "own.yaml").write_text(
        """
version: 1
rules:
  - name: listing
    match: { kinds: [30402], author: { file: shops.txt }, tags: { price: { 1: { max: 100 }, 2: EUR }, p: { recipient: true } } }
    signal: offer
    title: "{{#each2(event.tags.t)}}#{{.}}{{^last()}} {{/last()}}{{/each2(event.tags.t)}}"
    subtitle: { default: "{{number2(event.tag.price)}}", pt-BR: "R {{number2(event.tag.price)}}" }
    body: "{{naddr(event.address)}} {{naddr(event.tag.a)}} {{nprofile(author.pubkey)}} {{nevent(event.id)}}"
  - name: order
    match: { kinds: [30078], json: { order.total: { min: 5 }, order.paid: true } }
    signal: offer
    title: "{{event.json.order.total}}"
"""
    )
    (stopped_router.folder / "shops.txt").write_text(f"# ours\n{bob.keys.public_key().to_bech32()}\n")
    stopped_router.configuration["rules"] = ["own.yaml"]
    stopped_router.start()
    with Socket(stopped_router) as socket:
        register(stopped_router, socket, alice, signals={"offer": True}, locale="pt-PT")
        other = f"30023:{alice.hex}:a-b:c ü"
        tags = [["d", "bike 1"], ["t", "x"], ["t", "y"], ["t", "z"], ["a", other], ["p", alice.hex]]
        listing = bob.event(30402, "", [*tags, ["price", "12.5", "EUR"]])
        alert = alert_for(lab, socket, listing)["aps"]["alert"]
        assert (alert["title"], alert["subtitle"]) == ("#x #y", "R 12,50")
        naddr, of_tag, nprofile, nevent = alert["body"].split()
        own = sdk.Nip19Coordinate.from_bech32(naddr).coordinate()
        assert (own.kind().as_u16(), own.public_key().to_hex(), own.identifier()) == (30402, bob.hex, "bike 1")
        named = sdk.Nip19Coordinate.from_bech32(of_tag).coordinate()
        assert (named.kind().as_u16(), named.public_key().to_hex(), named.identifier()) == (30023, alice.hex, "a-b:c ü")
        assert sdk.Nip19Profile.from_bech32(nprofile).public_key().to_hex() == bob.hex
        assert sdk.Nip19Event.from_bech32(nevent).event_id().to_hex() == listing["id"]
        lab.forget()
        socket.publish(bob.event(30402, "", [*tags, ["price", "100.5", "EUR"]]))
        socket.publish(alice.event(30402, "", [*tags, ["price", "1", "EUR"]]))
        socket.publish(bob.event(30078, json.dumps({"order": {"total": 7.25, "paid": False}}), [["p", alice.hex]]))
        paid = bob.event(30078, json.dumps({"order": {"total": 7.25, "paid": True}}), [["p", alice.hex]])
        socket.publish(paid)
        [push] = lab.accepted(1)
        assert push.payload["aps"]["alert"]["title"] == "7.25" and push.payload["event_id"] == paid["id"]


def test_an_app_has_rules_of_its_own(ruled, lab, alice, bob):
    (ruled.folder / "shop.yaml").write_text("version: 1\nrules: [{ match: { kinds: [7] }, title: in the shop }]\n")
    apps = ruled.configuration["apps"]
    apps["shop"] = {**apps["default"], "rules": "shop.yaml"}
    ruled.start()
    with Socket(ruled) as socket:
        register(ruled, socket, alice, app="shop")
        like = bob.reaction("+", alice.note("mine"))
        assert alert_for(lab, socket, like)["aps"]["alert"]["title"] == "in the shop"
        register(ruled, socket, bob)
        like = alice.reaction("+", bob.note("mine"))
        assert alert_for(lab, socket, like)["aps"]["alert"]["title"] == "liked"


def test_follows_of_the_recipient_count(ruled, lab, alice, bob):
    relay = ScriptedRelay()
    try:
        ruled.watch(always=[relay])
        ruled.start()
        with Socket(ruled) as socket:
            register(ruled, socket, alice)
            ruled.wait_until_read(1)
            assert alert_for(lab, socket, bob.note("before", alice))["aps"]["alert"]["title"] != "a friend wrote"
            follows = alice.event(3, "", [["p", bob.hex]])
            socket.publish(follows)
            assert alert_for(lab, socket, bob.note("after", alice))["aps"]["alert"]["title"] == "a friend wrote"
            socket.publish(alice.event(3, "", [["p", "33" * 32]], follows["created_at"] + 1))
            assert alert_for(lab, socket, bob.note("again", alice))["aps"]["alert"]["title"] != "a friend wrote"
    finally:
        relay.stop()


@pytest.mark.parametrize("content", ["x" * 50_000, "👩‍👩‍👧‍👦" * 1_000, '"\\' * 10_000], ids=len)
def test_a_payload_is_never_longer_than_apple_takes(scene, lab, alice, bob, content):
    router, socket = scene
    register(router, socket, alice)
    lab.forget()
    socket.publish(bob.note(content, alice, tags=[["whole"]]))
    [push] = lab.accepted(1)
    assert 3_000 < len(push.body) <= 4096
    assert content.startswith(push.payload["aps"]["alert"]["body"].rstrip("….").rstrip("\u200d"))


def test_values_made_invalid_by_variables_are_omitted_and_explained(scene, lab, alice, bob):
    router, socket = scene
    register(router, socket, alice)
    fit = alert_for(lab, socket, bob.note("a", alice, tags=[["score", "0.5"]]))
    assert fit["aps"]["relevance-score"] == 0.5
    note = bob.note("b", alice, tags=[["score", "12.7"]])
    unfit = alert_for(lab, socket, note)
    assert "relevance-score" not in unfit["aps"] and unfit["aps"]["badge"] == 1
    assert "sent without apns.relevance-score" in explained(router, note, "sent without")


def test_content_state_an_app_could_not_decode_is_not_sent(scene, lab, alice, bob):
    router, socket = scene
    socket.publish(alice.registration(router, ios(device_token(), mode="alert", live_activity_token=device_token())))
    note = bob.note("a", alice, tags=[["goals", "many"]])
    lab.forget()
    socket.publish(note)
    update = alert_for(lab, socket, bob.note("b", alice, tags=[["goals", "2"]]))
    assert update["aps"]["content-state"] == {"goals": 2}
    assert "no valid value for apns.content-state.goals" in explained(router, note, "no valid value")
