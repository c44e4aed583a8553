"""A clock that is set back while the router runs: nobody waits for it to be there again."""

import pytest

from clock import Clock
from nostr import ALL_SIGNALS, Socket

HALF_AN_HOUR = 1800


@pytest.fixture
def clock(stopped_router, tmp_path):
    clock = Clock(tmp_path)
    stopped_router.environment = clock.environment
    return clock


@pytest.fixture
def paced_router(stopped_router, clock):
    """A router with a cooldown that a test can wait for."""
    stopped_router.configuration["defaults"] = {"cooldown_seconds": 2, "window_seconds": 0, "daily_cap": 100}
    return stopped_router.start()


def register(router, lab, person, **wishes):
    content = {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice"), "filters": ALL_SIGNALS, **wishes}
    publish(router, person.registration(router, content))


def publish(router, *events):
    with Socket(router) as socket:
        socket.publish(*events)


def test_what_is_held_goes_when_the_cooldown_ends(paced_router, clock, lab, alice, bob):
    register(paced_router, lab, alice)
    publish(paced_router, bob.note("the first", alice))
    lab.accepted(1)
    paced_router.wait_for_deliveries(1)
    publish(paced_router, bob.note("the second", alice))
    clock.set(-HALF_AN_HOUR)
    lab.accepted(2)


def test_what_failed_is_tried_again(stopped_router, clock, lab, alice, bob):
    router = stopped_router.start()
    register(router, lab, alice)
    lab.misbehave("answer", status=503, times=0)
    publish(router, bob.note("again", alice))
    lab.attempts(1)
    router.wait_for_log("outcome=retry")
    clock.set(-HALF_AN_HOUR)
    lab.behave()
    # An alarm that is set just then looks at the clock again after a minute.
    lab.accepted(1, timeout=150)
