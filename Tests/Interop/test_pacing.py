"""Pacing per device: cooldown, batches, the daily cap, quiet hours, and all of that over a crash."""

import json
import sqlite3
import time
from datetime import datetime, timedelta, timezone

import pytest

from nostr import Socket, device_token, ios
from programs import carillon, wait_until

BATCH_OF_THREE = b'{"aps":{"content-available":1},"t":"batch","n":3}'


@pytest.fixture(autouse=True)
def far_from_midnight():
    """A device's day ends at midnight, here UTC's, and what is counted begins anew."""
    now = datetime.now(timezone.utc)
    left = 86_400 - (now.hour * 3_600 + now.minute * 60 + now.second)
    if left < 60:
        time.sleep(left)


@pytest.fixture
def paced_router(stopped_router):
    """A router with a cooldown that a test can wait for."""
    stopped_router.configuration["defaults"] = {"cooldown_seconds": 2, "window_seconds": 0, "daily_cap": 100}
    return stopped_router.start()


def publish(router, *events):
    with Socket(router) as socket:
        socket.publish(*events)


def first_push(router, lab, alice, bob, **wishes):
    """Registers a phone of Alice's and has it woken once, until the router knows that it was."""
    publish(router, alice.registration(router, ios(device_token(), **wishes)))
    publish(router, bob.note("the first", alice))
    lab.accepted(1)
    router.wait_for_deliveries(1)


def test_events_during_the_cooldown_are_one_push_at_its_end(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob)
    publish(paced_router, *(bob.note(f"number {number}", alice) for number in range(3)))
    pushes = lab.accepted(2)
    assert pushes[1].payload == {"aps": {"content-available": 1}, "t": "batch", "n": 3}
    assert pushes[1].line["received_at"] - pushes[0].line["received_at"] >= 1900
    assert paced_router.stop() == 0
    assert len(lab.received()) == 2


def test_a_single_held_event_is_sent_as_itself(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob, mode="alert")
    publish(paced_router, bob.note("the second", alice))
    second = lab.accepted(2)[1]
    assert second.payload["aps"]["alert"]["body"] == "the second"
    assert "n" not in second.payload


def test_a_batch_that_may_be_read_shows_the_rules_summary(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob, mode="alert")
    publish(paced_router, *(bob.note(f"secret {number}", alice) for number in range(2)))
    batch = lab.accepted(2)[1]
    assert batch.payload["aps"]["alert"]["title"] == "2 new notifications"
    assert b"secret" not in batch.body


def test_held_events_survive_a_crash(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob, batch={"cooldown_seconds": 4})
    held = [bob.note(f"number {number}", alice) for number in range(3)]
    publish(paced_router, *held)
    paced_router.kill()
    assert len(lab.received()) == 1
    paced_router.start()
    # They are known still, so a copy does not count.
    with Socket(paced_router) as socket:
        accepted, words = socket.offer(held[0])
        assert accepted and words.startswith("duplicate:")
    pushes = lab.accepted(2)
    assert pushes[1].body == BATCH_OF_THREE
    assert pushes[1].line["received_at"] - pushes[0].line["received_at"] >= 3900
    assert paced_router.stop() == 0
    assert len(lab.received()) == 2


def test_operators_see_held_events_with_their_time(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob, batch={"cooldown_seconds": 3600})
    publish(paced_router, *(bob.note(f"number {number}", alice) for number in range(3)))

    def paced() -> dict | None:
        shown = carillon("devices", "show", "1", "--config", paced_router.configuration_file, "--json")
        assert shown.returncode == 0, shown.stderr
        pace = json.loads(shown.stdout)["pace"]
        # Until its end is on disk, a push is under way.
        return pace if pace["reason"] == "the device was notified a moment ago" else None

    pace = wait_until(paced, "the first push is over", paced_router.process)
    assert (pace["pushes_today"], pace["held"]) == (1, 3)
    until = datetime.fromisoformat(pace["next_push_at"])
    assert timedelta(minutes=58) < until - datetime.now(timezone.utc) <= timedelta(hours=1)


def test_why_an_event_is_not_there_yet_can_be_explained(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob, batch={"cooldown_seconds": 8})
    held = [bob.note(f"number {number}", alice) for number in range(2)]
    publish(paced_router, *held)
    paced_router.wait_for_log("step=batched")

    def explained(event) -> str:
        answer = carillon("explain", event["id"], "--config", paced_router.configuration_file)
        # 3: nothing is known of it, which is so until the trace is written.
        assert answer.returncode in (0, 3), answer.stderr
        return answer.stdout

    wait_until(lambda: "held: the device was notified a moment ago" in explained(held[0]), "it is said why")
    wait_until(lambda: "held together with others" in explained(held[1]), "it is said of the second one too")
    lab.accepted(2)
    paced_router.wait_for_deliveries(2)
    wait_until(lambda: "in a batch of 2" in explained(held[0]), "it is said how they went")
    for event in held:
        wait_until(lambda event=event: "delivered: " in explained(event), "it is said that it arrived")
        assert "no longer held: sent in a batch of 2" in explained(event)


def test_the_cap_holds_the_rest_of_the_day(paced_router, lab, alice, bob):
    wishes = {"cooldown_seconds": 0, "window_seconds": 0, "daily_cap": 2}
    first_push(paced_router, lab, alice, bob, batch=wishes)
    publish(paced_router, bob.note("the second", alice))
    lab.accepted(2)
    paced_router.wait_for_deliveries(2)
    publish(paced_router, *(bob.note(f"too much {number}", alice) for number in range(3)))
    # Another of Alice's phones shows that they are through.
    publish(paced_router, alice.registration(paced_router, ios(device_token(), batch=wishes), device="tablet"))
    publish(paced_router, bob.note("for both", alice))
    lab.accepted(3)
    assert paced_router.stop() == 0
    assert len(lab.received()) == 3
    paced_router.start()
    publish(paced_router, bob.note("after a restart", alice))
    lab.accepted(4)
    assert paced_router.stop() == 0
    assert len(lab.received()) == 4


def test_quiet_hours_hold_all_but_messages_if_the_device_requests_it(paced_router, lab, alice, bob):
    now = datetime.now(timezone.utc)
    night = {
        "start": (now - timedelta(hours=1)).strftime("%H:%M"),
        "end": (now + timedelta(hours=2)).strftime("%H:%M"),
        "tz": "Z",
        "dm_bypass_quiet": True,
    }
    publish(paced_router, alice.registration(paced_router, ios(device_token(), quiet=night)))
    publish(paced_router, bob.note("hush", alice), bob.message("psst", alice))
    [push] = lab.accepted(1)
    assert push.payload["t"] == "dm"
    paced_router.wait_for_deliveries(1)
    assert paced_router.stop() == 0
    assert len(lab.received()) == 1


def test_a_push_service_that_is_down_gets_one_push_a_device_when_it_is_back(paced_router, lab, alice, bob):
    lab.misbehave("answer", status=503, times=0)
    publish(paced_router, alice.registration(paced_router, ios(device_token())))
    publish(paced_router, bob.note("the first", alice))
    lab.attempts(1)
    publish(paced_router, *(bob.note(f"number {number}", alice) for number in range(30)))
    lab.behave()
    pushes = lab.accepted(2)
    assert [push.payload for push in pushes] == [
        {"aps": {"content-available": 1}, "t": "mention"},
        {"aps": {"content-available": 1}, "t": "batch", "n": 30},
    ]
    assert paced_router.stop() == 0


def test_a_removed_device_drops_its_held_events(paced_router, lab, alice, bob):
    first_push(paced_router, lab, alice, bob, mode="alert", batch={"cooldown_seconds": 3600})
    publish(paced_router, bob.note("never-to-be-told", alice))

    def is_on_disk() -> bool:
        with sqlite3.connect(f"file:{paced_router.outbox}?mode=ro", uri=True) as database:
            rows = database.execute("SELECT notification FROM outbox_held_member").fetchall()
        return any(b"never-to-be-told" in (row[0] or b"") for row in rows)

    assert is_on_disk()
    publish(paced_router, alice.registration(paced_router, None))
    wait_until(lambda: not is_on_disk(), "nothing of it is on disk", paced_router.process)
    assert paced_router.stop() == 0
    assert len(lab.received()) == 1
