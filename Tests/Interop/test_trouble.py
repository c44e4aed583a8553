"""Push services in trouble: everything arrives in the end, each under one name."""

import pytest

from nostr import Person, device_token, ios


def test_429_is_retried_no_sooner_than_requested(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    lab.misbehave("answer", status=429, retry_after=1)
    socket.publish(bob.message("hello", alice))
    [push] = lab.accepted(1)
    refused, accepted = lab.received()
    assert (refused.status, accepted.status) == (429, 200)
    assert accepted.line["received_at"] - refused.line["received_at"] >= 1000
    assert refused.apns_id == accepted.apns_id
    assert refused.body == accepted.body


@pytest.mark.parametrize("service", ["apns", "unifiedpush"])
@pytest.mark.parametrize(
    "trouble",
    [{"kind": "answer", "status": 500}, {"kind": "answer", "status": 503}, {"kind": "html", "status": 502}],
    ids=["500", "503", "a proxy's page"],
)
def test_server_errors_are_retried(router, lab, socket, alice, bob, service, trouble):
    if service == "apns":
        content = ios(device_token())
    else:
        content = {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice")}
    socket.publish(alice.registration(router, content))
    lab.misbehave(**trouble, times=2)
    socket.publish(bob.message("hello", alice))
    lab.accepted(1)
    attempts = lab.received(service)
    assert [attempt.status for attempt in attempts] == [trouble["status"]] * 2 + [200]
    assert len({(attempt.body, attempt.apns_id) for attempt in attempts}) == 1


# Where the connection goes, the answers to requests that were accepted may go with it: these are sent again, under the
# same name.
TROUBLES = [
    pytest.param({"kind": "goaway", "gracefully": True}, False, id="GOAWAY after the last answer"),
    pytest.param({"kind": "goaway", "gracefully": False}, True, id="GOAWAY that refuses"),
    pytest.param({"kind": "reset", "code": 7}, False, id="RST_STREAM with REFUSED_STREAM"),
    pytest.param({"kind": "reset", "code": 2}, False, id="RST_STREAM with INTERNAL_ERROR"),
    pytest.param({"kind": "close"}, True, id="TCP closes"),
]


@pytest.mark.parametrize("trouble, answers_get_lost", TROUBLES)
def test_none_of_twenty_events_is_lost(router, lab, socket, bob, trouble, answers_get_lost):
    """Four devices, so that several streams are open when it happens, and it happens three times."""
    people = [Person() for _ in range(4)]
    tokens = {person.hex: device_token() for person in people}
    for person in people:
        socket.publish(person.registration(router, ios(tokens[person.hex], mode="alert")))
    for after in [0, 3, 6]:
        lab.misbehave(**trouble, after=after)
    events = [bob.note(f"number {number}", people[number % 4]) for number in range(20)]
    socket.publish(*events)

    router.wait_for_deliveries(20)
    assert router.stop() == 0
    attempts = lab.received()
    assert len([attempt for attempt in attempts if attempt.line.get("misbehaviour")]) == 3
    accepted = [attempt for attempt in attempts if attempt.status == 200]
    assert {attempt.payload["event_id"] for attempt in accepted} == {event["id"] for event in events}
    if answers_get_lost:
        assert len(attempts) <= 20 + 3 * len(people)
    else:
        assert len(accepted) == 20
    assert len({(attempt.payload["event_id"], attempt.apns_id) for attempt in attempts}) == 20
    owners = {event["id"]: event["tags"][-1][1] for event in events}
    assert all(attempt.target == tokens[owners[attempt.payload["event_id"]]] for attempt in attempts)


def test_the_pushes_of_one_device_keep_their_order_through_trouble(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
    lab.misbehave("close", times=2)
    events = [bob.note(f"number {number}", alice) for number in range(5)]
    socket.publish(*events)
    router.wait_for_deliveries(5)
    pushes = [push for push in lab.received() if push.status == 200]
    assert [push.payload["event_id"] for push in pushes] == [event["id"] for event in events]


def test_one_failing_device_does_not_delay_another(router, lab, socket, alice, bob):
    carol = Person()
    stuck, fine = device_token(), device_token()
    socket.publish(alice.registration(router, ios(stuck)), carol.registration(router, ios(fine)))
    lab.misbehave("silence", target=stuck, times=0)
    socket.publish(bob.message("hello", alice))
    lab.attempts(1)
    socket.publish(*[bob.message(f"number {number}", carol) for number in range(10)])
    pushes = lab.accepted(10)
    assert {push.target for push in pushes} == {fine}


def test_pushes_queued_at_a_stop_are_sent_after_the_start(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    lab.misbehave("answer", status=503, times=0)
    socket.publish(bob.message("hello", alice))
    lab.attempts(1)
    assert router.stop() == 1
    lab.behave()
    router.start()
    lab.accepted(1)
    assert router.stop() == 0
    assert len({attempt.apns_id for attempt in lab.received()}) == 1


def test_a_deregistered_device_gets_no_queued_push(router, lab, socket, alice, bob):
    token, other = device_token(), device_token()
    carol = Person()
    socket.publish(alice.registration(router, ios(token)), carol.registration(router, ios(other)))
    lab.misbehave("answer", status=503, target=token, times=0)
    socket.publish(bob.message("hello", alice))
    lab.attempts(1)
    socket.publish(alice.registration(router, None))
    lab.behave()
    socket.publish(bob.message("hello", carol))
    lab.accepted(1)
    router.wait_for_log("outcome=unregistered")
    assert router.stop() == 0
    assert {push.target for push in lab.received() if push.status == 200} == {other}
