"""Mode `wake`, which a device gets that asks for nothing: push services learn only that something happened."""

import pytest

from nostr import device_token, ios

WAKE = {"aps": {"content-available": 1}, "t": "dm"}


@pytest.mark.parametrize("wishes", [{}, {"mode": "wake"}], ids=["by default", "when asked for"])
def test_a_wake_push_contains_no_details(router, lab, socket, alice, bob, wishes):
    token = device_token()
    socket.publish(alice.registration(router, ios(token, **wishes)))
    wrap = bob.message("the cat is in the bag", alice)
    socket.publish(wrap)

    [push] = lab.accepted(1)
    assert push.payload == WAKE
    assert push.body == b'{"aps":{"content-available":1},"t":"dm"}'
    assert push.header("apns-push-type") == "background"
    assert push.header("apns-priority") == "5"
    assert push.header("apns-topic") == lab.ios["topic"]
    assert push.header("apns-collapse-id") is None


@pytest.mark.parametrize("platform", ["ios", "unifiedpush"])
def test_neither_author_nor_event_nor_content_reach_the_push_service(router, lab, socket, alice, bob, platform):
    if platform == "ios":
        content = ios(device_token())
    else:
        content = ios("") | {"platform": platform, "push_endpoint": lab.endpoint("upAlice")}
        del content["token"]
    socket.publish(alice.registration(router, content))
    socket.publish(bob.event(0, '{"name":"bob-the-builder"}'))
    note = alice.note("the-root-of-it-all")
    events = [
        bob.reply("the-cat-is-in-the-bag", note),
        bob.note("the-dog-is-in-the-bag", alice),
        bob.reaction("🔥", note),
        bob.event(6, "", [["e", note["id"]], ["p", alice.hex]]),
        bob.event(3, "", [["p", alice.hex]]),
        bob.event(4, "ciphertext-for-alice", [["p", alice.hex]]),
        bob.message("hello-in-secret", alice),
    ]
    socket.publish(note, *events)

    pushes = lab.accepted(len(events))
    signals = ["reply", "mention", "reaction", "repost", "follow", "dm", "dm"]
    assert sorted(push.payload["t"] for push in pushes) == sorted(signals)
    told = "\n".join(push.everything_but_path for push in pushes).lower()
    for event in [note, *events]:
        for secret in [event["id"], event["pubkey"], event["sig"], event["content"]]:
            assert not secret or secret.lower() not in told
    for secret in ["builder", "wss://", alice.hex]:
        assert secret not in told


def test_signals_decide_which_events_send_a_push(router, lab, socket, alice, bob):
    token = device_token()
    filters = {"dm": True, "mention": False, "reply": False, "reaction": False}
    socket.publish(alice.registration(router, ios(token, filters=filters)))
    note = alice.note("root")
    socket.publish(bob.note("hi", alice), bob.reply("hi", note), bob.reaction("+", note), bob.message("hi", alice))
    lab.accepted(1)
    assert router.stop() == 0
    assert [push.payload for push in lab.received()] == [WAKE]
