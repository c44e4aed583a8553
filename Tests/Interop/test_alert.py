"""What reaches APNs of a device that asked for `alert`, published by nostr-sdk's own client (contrib/docs/rules.md)."""

import asyncio
import json
import uuid
from datetime import timedelta

import nostr_sdk as sdk
import pytest

from nostr import Person, device_token, ios

APS = {"badge": 1, "sound": "default", "mutable-content": 1}


def payload(event: dict, title: str, body: str, **more) -> dict:
    """A whole payload, as contrib/docs/rules.md describes it."""
    return {
        "aps": {"alert": {"title": title, "body": body}, **APS},
        "category": f"kind_{event['kind']}",
        "event_id": event["id"],
        "author_pubkey": event["pubkey"],
        "kind": event["kind"],
        "created_at": event["created_at"],
        **more,
    }


def referring(note: dict, content: str | None = None) -> dict:
    return {
        "referenced_event_id": note["id"],
        "referenced_event_kind": note["kind"],
        "referenced_event_content": note["content"] if content is None else content,
    }


def publish_with_nostr_sdk(router, *events: dict):
    """By a client that nobody here wrote; fails when the relay does not accept an event."""

    async def publish():
        client = sdk.ClientBuilder().build()
        url = sdk.RelayUrl.parse(router.url)
        await client.add_relay(url)
        await client.connect(and_wait=timedelta(seconds=10))
        for event in events:
            output = await client.send_event(sdk.Event.from_json(json.dumps(event)))
            assert output.failed == {} and len(output.success) == 1, output
        await client.shutdown()

    asyncio.run(publish())


class Scene:
    """Alice has a phone and a note, Bob a name; everything is published."""

    def __init__(self, router, lab, alice, bob):
        self.router, self.lab, self.alice, self.bob = router, lab, alice, bob
        self.token = device_token()
        self.note = alice.note("This is the original note that was liked")
        profile = bob.event(0, json.dumps({"name": "bob2000", "display_name": "bob"}))
        registration = alice.registration(router, ios(self.token, mode="alert"))
        publish_with_nostr_sdk(router, registration, self.note, profile)

    def push_for(self, event: dict):
        """The one push that `event` causes."""
        self.lab.forget()
        publish_with_nostr_sdk(self.router, event)
        pushes = self.lab.accepted(1)
        assert len(pushes) == 1
        assert pushes[0].target == self.token
        return pushes[0]


@pytest.fixture
def scene(router, lab, alice, bob):
    return Scene(router, lab, alice, bob)


def test_a_reply_becomes_the_alert_of_the_specification(scene):
    reply = scene.bob.reply("Hey, check this out!", scene.note)
    push = scene.push_for(reply)
    assert push.payload == payload(reply, "💬 bob sent you a note", "Hey, check this out!", **referring(scene.note))
    assert push.line["method"] == "POST"
    assert push.line["path"] == f"/3/device/{scene.token}"
    assert push.header("apns-push-type") == "alert"
    assert push.header("apns-priority") == "10"
    assert push.header("apns-topic") == scene.lab.ios["topic"]
    assert str(uuid.UUID(push.apns_id)) == push.apns_id


def test_a_long_note_is_cut_after_100_characters_and_so_is_the_one_it_answers(scene):
    long = "Ünïcödé 👩‍👩‍👧‍👦 " * 20
    note = scene.alice.note(long)
    publish_with_nostr_sdk(scene.router, note)
    reply = scene.bob.reply("x" * 99 + "yz", note)
    # Characters as a reader counts them: nine and the family, which is one, and a space.
    cut = "Ünïcödé 👩‍👩‍👧‍👦 " * 10 + "..."
    expected = payload(reply, "💬 bob sent you a note", "x" * 99 + "y...", **referring(note, cut))
    assert scene.push_for(reply).payload == expected


@pytest.mark.parametrize("content", ["+", "❤️"])
def test_a_like_becomes_the_alert_of_the_specification(scene, content):
    like = scene.bob.reaction(content, scene.note)
    expected = payload(like, "⚡ bob liked your note", content, **referring(scene.note))
    assert scene.push_for(like).payload == expected


def test_another_reaction_is_shown_as_a_reaction(scene):
    fire = scene.bob.reaction("🔥", scene.note)
    expected = payload(fire, "⚡ bob reacted to your note", "🔥", **referring(scene.note))
    assert scene.push_for(fire).payload == expected


@pytest.mark.parametrize("kind", [6, 1809])
def test_a_repost_becomes_the_alert_of_the_specification(scene, kind):
    repost = scene.bob.event(kind, "", [["e", scene.note["id"]], ["p", scene.alice.hex]])
    expected = payload(repost, "🔄 bob reposted your note", "Your note was reposted", **referring(scene.note))
    assert scene.push_for(repost).payload == expected


def test_an_audio_note_becomes_the_alert_of_the_specification(scene):
    audio = scene.bob.event(1808, "https://example.com/sound.ogg", [["p", scene.alice.hex]])
    expected = payload(audio, "🎵 bob shared an audio note", "New audio content available")
    assert scene.push_for(audio).payload == expected


def test_a_follow_becomes_the_alert_of_the_specification_once(scene):
    follow = scene.bob.event(3, "", [["p", scene.alice.hex]])
    expected = payload(follow, "👤 bob started following you", "You have a new follower")
    assert scene.push_for(follow).payload == expected

    # The next list names everybody again, and one more.
    carol = Person()
    longer = scene.bob.event(3, "", [["p", scene.alice.hex], ["p", carol.hex]], follow["created_at"] + 1)
    reply = scene.bob.reply("still here", scene.note)
    scene.lab.forget()
    publish_with_nostr_sdk(scene.router, longer, reply)
    scene.lab.accepted(1)
    assert scene.router.stop() == 0
    assert [push.payload["event_id"] for push in scene.lab.received()] == [reply["id"]]


def test_a_gift_wrap_by_nostr_sdk_shows_no_sender(scene):
    wrap = scene.bob.message("for your eyes only", scene.alice)
    assert wrap["kind"] == 1059
    push = scene.push_for(wrap)
    expected = payload(wrap, "🔒 You received an encrypted message", "You have a new encrypted message")
    assert push.payload == expected
    assert scene.bob.hex not in push.everything_but_path
    assert "bob" not in push.everything_but_path


def test_an_author_without_a_profile_is_called_by_the_key(scene):
    carol = Person()
    reply = carol.reply("hello", scene.note)
    expected = payload(reply, f"💬 {carol.hex[:8]}... sent you a note", "hello", **referring(scene.note))
    assert scene.push_for(reply).payload == expected


def test_a_note_that_was_never_seen_is_referred_to_by_its_id_alone(scene):
    unseen = scene.alice.note("only on other relays")
    reply = scene.bob.reply("hello", unseen)
    expected = payload(reply, "💬 bob sent you a note", "hello", referenced_event_id=unseen["id"])
    assert scene.push_for(reply).payload == expected


def test_own_events_and_those_for_others_send_no_push(scene):
    carol = Person()
    own = scene.alice.note("talking to myself", scene.alice)
    elsewhere = scene.bob.note("psst", carol)
    answered_to_carol = scene.bob.event(
        7, "+", [["e", carol.note("hers")["id"]], ["p", scene.alice.hex], ["p", carol.hex]]
    )
    reply = scene.bob.reply("and this one does", scene.note)
    publish_with_nostr_sdk(scene.router, own, elsewhere, answered_to_carol, reply)
    scene.lab.accepted(1)
    assert scene.router.stop() == 0
    assert [push.payload["event_id"] for push in scene.lab.received()] == [reply["id"]]


def test_an_event_that_comes_twice_pushes_once(scene):
    reply = scene.bob.reply("once", scene.note)
    publish_with_nostr_sdk(scene.router, reply)
    publish_with_nostr_sdk(scene.router, reply)
    scene.lab.accepted(1)
    assert scene.router.stop() == 0
    assert len(scene.lab.received()) == 1


def test_texts_reach_the_phone_unchanged(scene):
    text = 'She said "no\\yes"\n\t</script> 👩🏽‍🚀 Ǖ é'
    reply = scene.bob.reply(text, scene.note)
    assert scene.push_for(reply).payload["aps"]["alert"]["body"] == text


def test_deceptive_characters_do_not_reach_the_phone(scene):
    reply = scene.bob.reply("pay \u0001\u001f\u007f\u202egnp.exe\u202c\u2028\u200b\u200b\ufeffnow", scene.note)
    assert scene.push_for(reply).payload["aps"]["alert"]["body"] == "pay gnp.exe\nnow"


@pytest.mark.parametrize("content", ["x" * 50_000, "👩‍👩‍👧‍👦" * 2_000, '"\\' * 10_000], ids=len)
def test_the_body_is_the_start_of_the_authors_text(scene, content):
    reaction = scene.bob.reaction(content, scene.note)
    push = scene.push_for(reaction)
    alert = push.payload["aps"]["alert"]
    assert alert["title"] == "⚡ bob reacted to your note"
    assert alert["body"].endswith("...") and 53 <= len(alert["body"]) <= 703
    assert content.startswith(alert["body"].removesuffix("..."))
    assert push.payload["referenced_event_id"] == scene.note["id"]


def test_a_body_is_never_missing(scene):
    """Seed 000. An empty reaction is a like (NIP-25)."""
    assert scene.push_for(scene.bob.reaction("", scene.note)).payload["aps"]["alert"] == {
        "title": "⚡ bob liked your note",
        "body": "❤️",
    }
    assert scene.push_for(scene.bob.reply(" ", scene.note)).payload["aps"]["alert"]["body"] == "You have a new note"


def test_a_note_that_only_mentions_an_event_names_it(scene):
    """Seed 000: `referenced_event_id` comes from the `e` tag, whatever its marker."""
    mention = scene.bob.note("look", scene.alice, tags=[["e", scene.note["id"], "", "mention"]])
    push = scene.push_for(mention)
    assert push.payload["referenced_event_id"] == scene.note["id"]
    assert push.payload["referenced_event_kind"] == 1


@pytest.mark.parametrize("kind", [4, 30023])
def test_articles_and_messages_seen_earlier_are_known(scene, kind):
    tags = [["p", scene.bob.hex]] if kind == 4 else [["d", "a"]]
    written = scene.alice.event(kind, "Some words", tags)
    publish_with_nostr_sdk(scene.router, written)
    like = scene.bob.event(7, "+", [["e", written["id"]], ["p", scene.alice.hex]])
    payload = scene.push_for(like).payload
    assert payload["referenced_event_kind"] == kind
    assert payload["referenced_event_content"] == "Some words"


def test_an_expired_event_sends_no_push(scene):
    """NIP-40."""
    past = scene.bob.note("too late", scene.alice, tags=[["expiration", "1700000000"]])
    future = scene.bob.note("in time", scene.alice, tags=[["expiration", "9000000000"]])
    publish_with_nostr_sdk(scene.router, past, future)
    scene.lab.accepted(1)
    assert scene.router.stop() == 0
    assert [push.payload["event_id"] for push in scene.lab.received()] == [future["id"]]


@pytest.mark.parametrize(
    "profile, name",
    [
        ({"display_name": "", "displayName": "  ", "name": "n", "username": "u"}, "n"),
        ({"displayName": "d", "name": "n"}, "d"),
        ({"username": "u", "handle": "h"}, "u"),
        ({"handle": "h"}, "h"),
        ({"display_name": 7, "name": ["x"], "handle": "h"}, "h"),
        ({"about": "nobody"}, None),
        (["no object"], None),
    ],
    ids=json.dumps,
)
def test_the_author_is_called_by_the_first_name_of_the_profile(scene, profile, name):
    carol = Person()
    publish_with_nostr_sdk(scene.router, carol.event(0, json.dumps(profile)))
    push = scene.push_for(carol.reply("hello", scene.note))
    assert push.payload["aps"]["alert"]["title"] == f"💬 {name or carol.hex[:8] + '...'} sent you a note"
