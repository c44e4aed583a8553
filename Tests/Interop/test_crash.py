"""What was accepted survives `kill -9`: a sender's OK is a promise."""

import pytest

from nostr import Person, Socket, device_token, ios


@pytest.mark.parametrize(
    "trouble",
    [{"kind": "answer", "status": 503}, {"kind": "silence"}],
    ids=["APNs answers 503", "APNs is silent"],
)
def test_a_push_in_flight_arrives_after_a_crash(router, lab, alice, bob, trouble):
    token = device_token()
    lab.misbehave(**trouble, times=0)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(token)))
        socket.publish(bob.message("hello", alice))
    lab.attempts(1)
    router.kill()
    before = lab.received()
    assert all(attempt.status != 200 for attempt in before)

    lab.behave()
    router.start()
    lab.accepted(1)
    assert router.stop() == 0
    attempts = lab.received()
    assert len([attempt for attempt in attempts if attempt.status == 200]) == 1
    assert {attempt.target for attempt in attempts} == {token}
    assert {attempt.body for attempt in attempts} == {b'{"aps":{"content-available":1},"t":"dm"}'}
    assert len({attempt.apns_id for attempt in attempts}) == 1


@pytest.mark.parametrize("is_killed", [False, True], ids=["running", "killed in between"])
def test_a_deleted_event_gets_no_further_attempt(router, lab, alice, bob, is_killed):
    other = Person()
    lab.misbehave("answer", status=503, times=0)
    slip, kept = bob.note("a slip of the pen", alice), bob.note("meant", other)
    with Socket(router) as socket:
        for person in alice, other:
            socket.publish(person.registration(router, ios(device_token(), mode="alert")))
        socket.publish(slip, kept)
        lab.attempts(2)
        socket.publish(bob.event(5, "", [["e", slip["id"]]]))
    if is_killed:
        router.kill()
    lab.behave()
    if is_killed:
        router.start()
    lab.accepted(1)
    router.wait_until_nothing_waits()
    assert [push.payload["event_id"] for push in lab.received() if push.status == 200] == [kept["id"]]


def test_events_accepted_just_before_a_crash_all_arrive(router, lab, alice, bob):
    people = [alice, *(Person() for _ in range(3))]
    tokens = {person.hex: device_token() for person in people}
    with Socket(router) as socket:
        for person in people:
            socket.publish(person.registration(router, ios(tokens[person.hex], mode="alert")))
        events = [bob.note(f"number {number}", people[number % len(people)]) for number in range(40)]
        socket.publish(*events)
        router.kill()

    router.start()
    # A repeat of what was in flight is allowed, under the same name; a loss is not.
    router.wait_until_nothing_waits()
    ids: dict[str, set] = {}
    for push in lab.accepted(len(events)):
        ids.setdefault(push.payload["event_id"], set()).add(push.apns_id)
    assert set(ids) == {event["id"] for event in events}
    assert router.stop() == 0
    assert all(len(names) == 1 for names in ids.values()), "an attempt came under another apns-id"
    assert len({next(iter(names)) for names in ids.values()}) == len(events)
    owners = {event["id"]: event["tags"][-1][1] for event in events}
    for push in lab.received():
        assert push.target == tokens[owners[push.payload["event_id"]]]


def test_a_registration_that_was_accepted_survives_a_crash(router, lab, alice, bob):
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        router.kill()
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.message("hello", alice))
    lab.accepted(1)


def test_a_delivered_event_is_not_pushed_again_after_a_crash(router, lab, alice, bob):
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        first = [bob.note(f"number {number}", alice) for number in range(5)]
        socket.publish(*first)
    lab.accepted(5)
    assert router.stop() == 0
    router.start()
    router.kill()
    router.start()
    last = bob.note("after all that", alice)
    with Socket(router) as socket:
        socket.publish(last)
    lab.accepted(6)
    assert router.stop() == 0
    pushed = [push.payload["event_id"] for push in lab.received()]
    assert sorted(pushed) == sorted(event["id"] for event in [*first, last])
