"""A clock that is set back while the router runs: nobody waits for it to be there again."""

import threading
import time

import pytest

from clock import Clock
from console import Console
from nostr import ALL_SIGNALS, Socket
from programs import carillon
from test_python_plugins import add
from test_python_plugins import register as register_pager

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


def test_a_held_push_is_sent_when_the_cooldown_ends(paced_router, clock, lab, alice, bob):
    register(paced_router, lab, alice)
    publish(paced_router, bob.note("the first", alice))
    lab.accepted(1)
    paced_router.wait_for_deliveries(1)
    publish(paced_router, bob.note("the second", alice))
    clock.set(-HALF_AN_HOUR)
    lab.accepted(2)


def test_a_failed_push_is_retried(stopped_router, clock, lab, alice, bob):
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


def test_health_and_status_are_answered(stopped_router, clock):
    console = Console(stopped_router).start()
    for offset in [-2 * HALF_AN_HOUR, -HALF_AN_HOUR]:
        clock.set(offset)
        began = time.monotonic()
        assert console.json("/healthz", token=None) == (200, {"alive": True, "stuck": []})
        assert carillon("status", "--config", stopped_router.configuration_file).returncode == 1
        assert time.monotonic() - began < 10, "it took longer than looking for stuck parts does"


def test_an_unresponsive_plugin_times_out(stopped_router, clock, alice):
    add(
        stopped_router,
        """
        import time
        from carillon import Request, log

        PLATFORM = "pager"

        def validate(registration):
            log("asked")
            time.sleep(3600)

        def deliver(notification, registration, app):
            return Request("POST", registration.token)
        """,
    )
    stopped_router.configuration["plugins"]["question_deadline_seconds"] = 5
    router = stopped_router.start()
    answers = []

    def offer():
        with Socket(router) as socket:
            answers.append(socket.offer(register_pager(router, alice, "http://pager.example/bell")))

    asking = threading.Thread(target=offer, daemon=True)
    asking.start()
    router.wait_for_log("asked")
    clock.set(-HALF_AN_HOUR)
    asking.join(timeout=30)
    assert [is_accepted for is_accepted, _ in answers] == [False]
