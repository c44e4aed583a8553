"""What pacing does to each kind of push: it delays, or lets a later one take the place, and changes none into another."""

import json
import secrets
import sqlite3

import pytest

from nostr import Socket, device_token, ios
from programs import carillon, wait_until
from test_apns import broadcaster, new_channel  # noqa: F401

SCORE, CALL, SYNC, STREAM = 30_500, 30_501, 30_502, 30_311


def rule(name: str, kind: int, status: str | None = None, **keys) -> dict:
    tags = {"tags": {"status": status}} if status else {}
    return {"name": name, "signal": "x", "match": {"kinds": [kind], **tags}, **keys}


RULES = [
    rule("end", SCORE, "ended", title="Over", apns={"event": "end", "content-state": {"score": "{{event.content}}"}}),
    rule("score", SCORE, title="Score", apns={"event": "update", "content-state": {"score": "{{event.content}}"}}),
    rule("call", CALL, title="{{event.content}} calls", apns={"push-type": "voip"}),
    rule("sync", SYNC, apns={"content-available": 1}, data={"sync": "{{event.content}}"}),
    rule("stream", STREAM, title="{{event.tag.title}}", pace="latest", key="{{event.tag.d}}"),
    rule("note", 1, title="{{event.content}}"),
]


@pytest.fixture
def router(stopped_router):
    """One that paces as it does out of the box."""
    rules = stopped_router.folder / "rules.yaml"
    rules.write_text(json.dumps({"version": 1, "rules": RULES}))
    stopped_router.configuration["rules"] = str(rules)
    stopped_router.configuration["defaults"] = {"mode": "alert"}
    return stopped_router.start()


def phone(**more) -> dict:
    tokens = {"live_activity_token": device_token(), "voip_token": device_token()}
    return ios(device_token(), **tokens, **more) | {"filters": {"x": True}}


def publish(router, *events):
    """One after the other, each kept before the next is sent."""
    with Socket(router) as socket:
        for event in events:
            socket.publish(event)


def score(bob, alice, text: str, *status: str) -> dict:
    return bob.event(SCORE, text, [["p", alice.hex], ["d", "match"], *(["status", word] for word in status)])


def types(pushes) -> list[str]:
    return [push.header("apns-push-type") for push in pushes]


def states(pushes) -> list[tuple[str, str]]:
    return [(push.payload["aps"]["event"], push.payload["aps"]["content-state"]["score"]) for push in pushes]


def held(router) -> list[int]:
    with sqlite3.connect(f"file:{router.outbox}?mode=ro", uri=True) as database:
        return [count for (count,) in database.execute("SELECT count FROM outbox_held")]


def test_updates_are_replaced_by_the_latest_and_the_end_is_immediate(router, lab, alice, bob):
    publish(router, alice.registration(router, phone()), score(bob, alice, "1:0"))
    lab.accepted(1)
    router.wait_for_deliveries(1)
    publish(router, score(bob, alice, "2:0"), score(bob, alice, "2:1"))
    assert held(router) == [2]
    # The cooldown is a minute: nobody waits for that.
    publish(router, score(bob, alice, "3:1", "ended"))
    pushes = lab.accepted(3, timeout=20)
    assert types(pushes) == ["liveactivity"] * 3
    assert states(pushes) == [("update", "1:0"), ("update", "2:1"), ("end", "3:1")]
    assert router.stop() == 0
    assert len(lab.received()) == 3 and held(router) == []


def test_the_latest_update_survives_a_crash(router, lab, alice, bob):
    content = phone(batch={"cooldown_seconds": 4})
    publish(router, alice.registration(router, content), score(bob, alice, "1:0"))
    lab.accepted(1)
    router.wait_for_deliveries(1)
    publish(router, score(bob, alice, "2:0"), score(bob, alice, "2:1"))
    router.kill()
    router.start()
    pushes = lab.accepted(2)
    assert states(pushes) == [("update", "1:0"), ("update", "2:1")]
    assert router.stop() == 0 and len(lab.received()) == 2


def test_calls_are_sent_immediately_and_delay_no_other_push(router, lab, alice, bob):
    publish(router, alice.registration(router, phone()))
    publish(router, *(bob.event(CALL, f"caller {number}", [["p", alice.hex]]) for number in range(3)))
    publish(router, bob.note("hello", alice))
    pushes = lab.accepted(4, timeout=20)
    assert sorted(types(pushes)) == ["alert", "voip", "voip", "voip"]
    assert router.stop() == 0


def test_silent_pushes_stay_silent(router, lab, alice, bob):
    publish(router, alice.registration(router, phone(batch={"cooldown_seconds": 2, "window_seconds": 0})))
    publish(router, bob.event(SYNC, "0", [["p", alice.hex]]))
    lab.accepted(1)
    router.wait_for_deliveries(1)
    publish(router, *(bob.event(SYNC, f"{number}", [["p", alice.hex]]) for number in range(1, 4)))
    pushes = lab.accepted(2)
    assert types(pushes) == ["background"] * 2
    assert [push.payload["aps"] for push in pushes] == [{"content-available": 1}] * 2
    assert [push.payload["sync"] for push in pushes] == ["0", "3"]
    assert router.stop() == 0 and len(lab.received()) == 2


def test_an_iphone_gets_three_background_pushes_an_hour(router, lab, alice, bob):
    publish(router, alice.registration(router, ios(device_token(), mode="wake", batch={"cooldown_seconds": 1})
            | {"filters": {"x": True}}))
    for number in range(3):
        publish(router, bob.note(f"note {number}", alice))
        lab.accepted(number + 1)
        router.wait_for_deliveries(number + 1)
    publish(router, *(bob.note(f"more {number}", alice) for number in range(2)))

    def reason() -> str:
        shown = carillon("devices", "show", "1", "--config", router.configuration_file, "--json")
        return json.loads(shown.stdout)["pace"]["reason"] or ""

    wait_until(lambda: "hourly limit of background pushes" in reason(), "operators are told why", router.process)
    assert held(router) == [2]
    assert router.stop() == 0 and len(lab.received()) == 3


def test_edits_of_one_stream_are_one_push(router, lab, alice, bob):
    """NIP-53: each edit is an event of its own under the same `d`."""
    publish(router, alice.registration(router, phone(batch={"cooldown_seconds": 3, "window_seconds": 0})))
    publish(router, bob.note("something", alice))
    lab.accepted(1)
    router.wait_for_deliveries(1)

    def edit(d: str, title: str) -> dict:
        return bob.event(STREAM, "", [["d", d], ["title", title], ["p", alice.hex, "", "host"]])

    edits = [edit("a", title) for title in ["planned", "live", "ended"]]
    publish(router, *edits, edit("b", "another"))
    pushes = lab.accepted(3)
    assert [push.payload["aps"]["alert"]["title"] for push in pushes] == ["something", "ended", "another"]
    assert all("n" not in push.payload for push in pushes)
    wait_until(
        lambda: "as the latest of 3" in carillon("explain", edits[0]["id"], "--config", router.configuration_file).stdout,
        "it is said that a later one took its place",
        router.process,
    )
    assert router.stop() == 0 and len(lab.received()) == 3


def test_a_channel_gets_its_live_activity_updates(broadcaster, lab, alice, bob):  # noqa: F811
    channel = new_channel(broadcaster)
    rules = broadcaster.folder / "rules.yaml"
    rules.write_text(json.dumps({"version": 1, "rules": RULES}))
    broadcaster.configuration["defaults"] = {}
    router = broadcaster.start()
    content = {
        "platform": "ios",
        "token": f"channel:{channel}",
        "broadcast_key": broadcaster.broadcast_key,
        "mode": "alert",
        "filters": {"x": True},
    }
    lab.forget()
    publish(router, alice.registration(router, content), score(bob, alice, "1:0"))
    lab.accepted(1, "apns")
    router.wait_for_deliveries(1)
    publish(router, score(bob, alice, "2:0"), score(bob, alice, "2:1"), score(bob, alice, "2:1", "ended"))
    pushes = lab.accepted(3, "apns", timeout=20)
    assert states(pushes) == [("update", "1:0"), ("update", "2:1"), ("end", "2:1")]
    assert {push.header("apns-channel-id") for push in pushes} == {channel}
    assert router.stop() == 0
    assert [push.status for push in lab.received("apns")] == [200] * 3


def test_refused_pushes_count_towards_the_limit(router, lab, alice, bob):
    lab.misbehave("answer", status=405, times=0)
    publish(router, alice.registration(router, phone()), bob.note("refused", alice))
    lab.attempts(1)
    wait_until(lambda: "outcome=rejected" in router.log_text, "it is refused", router.process)
    publish(router, *(bob.note(f"{secrets.token_hex(4)}", alice) for _ in range(20)))
    assert held(router) == [20]
    assert router.stop() == 0
    assert len(lab.received()) == 1
