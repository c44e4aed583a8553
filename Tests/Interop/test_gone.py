"""410 from APNs: that device is forgotten, and nobody else."""

import time

import pytest

from nostr import Person, Socket, device_token, ios


def milliseconds() -> int:
    return int(time.time() * 1000)


class Household:
    """Alice with a phone and a tablet, Carol with a phone; the app is gone from Alice's phone."""

    def __init__(self, router, lab, alice, bob):
        self.router, self.lab, self.alice, self.bob = router, lab, alice, bob
        self.carol = Person()
        self.phone, self.tablet, self.carols = (device_token() for _ in range(3))
        self.registration = alice.registration(router, ios(self.phone), device="phone")
        with Socket(router) as socket:
            socket.publish(
                self.registration,
                alice.registration(router, ios(self.tablet), device="tablet"),
                self.carol.registration(router, ios(self.carols)),
            )
        lab.declare(self.phone, "unregistered", since=milliseconds())
        assert self.targets_of_an_event(expected=2) == sorted([self.phone, self.tablet, self.carols])
        router.wait_for_log("outcome=gone")

    def targets_of_an_event(self, expected: int) -> list[str]:
        """Who is pushed to when Bob writes to both; `expected` of them with success."""
        self.lab.forget()
        with Socket(self.router) as socket:
            socket.publish(self.bob.note("hello", self.alice, self.carol))
        self.lab.accepted(expected)
        assert self.router.stop() == 0
        targets = sorted(push.target for push in self.lab.received())
        self.router.start()
        return targets


@pytest.fixture
def household(router, lab, alice, bob):
    return Household(router, lab, alice, bob)


def test_only_the_gone_device_is_removed_permanently(household):
    others = sorted([household.tablet, household.carols])
    assert household.targets_of_an_event(expected=2) == others
    household.router.restart()
    assert household.targets_of_an_event(expected=2) == others


def test_a_device_that_returns_with_a_new_token_is_notified_again(household):
    fresh = device_token()
    with Socket(household.router) as socket:
        socket.publish(household.alice.registration(household.router, ios(fresh), device="phone"))
    expected = sorted([fresh, household.tablet, household.carols])
    assert household.targets_of_an_event(expected=3) == expected
    assert household.targets_of_an_event(expected=3) == expected


def test_a_device_that_returns_with_its_old_token_is_notified_again(household):
    household.lab.declare(household.phone, "registered")
    with Socket(household.router) as socket:
        socket.publish(household.alice.registration(household.router, ios(household.phone), device="phone"))
    expected = sorted([household.phone, household.tablet, household.carols])
    assert household.targets_of_an_event(expected=3) == expected


def test_an_old_copy_of_the_registration_does_not_bring_a_device_back(household):
    with Socket(household.router) as socket:
        socket.offer(household.registration)
    assert household.targets_of_an_event(expected=2) == sorted([household.tablet, household.carols])


def test_a_token_found_dead_before_it_was_registered_again_stays(router, lab, alice, bob):
    """Apple says since when: an answer older than the registration says nothing about it."""
    token = device_token()
    lab.declare(token, "unregistered", since=milliseconds() - 3_600_000)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(token)))
        socket.publish(bob.message("hello", alice))
        lab.attempts(1)
        router.wait_for_log("stale-gone")
        lab.declare(token, "registered")
        socket.publish(bob.message("still there?", alice))
    lab.accepted(1)


def test_a_bad_device_token_is_forgotten_as_well(router, lab, alice, bob):
    """Once any push passed: before that it may be the operator who is wrong about topic or environment."""
    carol, good, bad = Person(), device_token(), device_token()
    lab.declare(bad, "bad")
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(bad)), carol.registration(router, ios(good)))
        socket.publish(bob.message("is anybody there?", alice))
        router.wait_for_log("check topic and environment")
        socket.publish(bob.message("hello", carol))
        router.wait_for_log("outcome=delivered")
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("outcome=gone")
        socket.publish(bob.message("hello again", alice))
    assert router.stop() == 0
    assert [push.line.get("reason") for push in lab.received() if push.target == bad] == ["BadDeviceToken"] * 2
