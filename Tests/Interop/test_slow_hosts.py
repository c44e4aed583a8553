"""Hosts of users that accept connections and never respond: the others are served as if there were none."""

import socket as sockets
import time

import pytest

from nostr import ALL_SIGNALS, Person, Socket
from programs import wait_until

HOSTS = 300
LIMITS = dict.fromkeys(
    ["per_connection_per_second", "connection_burst", "per_client_per_second", "client_burst", "client_registration_burst"],
    100_000,
)
"""Of the relay socket: one connection registers everybody here."""


def at(endpoint: str) -> dict:
    return {"platform": "unifiedpush", "push_endpoint": endpoint, "mode": "wake", "filters": ALL_SIGNALS}


@pytest.fixture
def tarpit():
    """Is a host at every address of the loopback."""
    listener = sockets.create_server(("0.0.0.0", 0), backlog=4096)
    yield listener.getsockname()[1]
    listener.close()


@pytest.mark.parametrize("devices", [1, 16])
def test_hundreds_of_unresponsive_hosts_do_not_delay_others(stopped_router, lab, alice, bob, tarpit, devices):
    router = stopped_router
    router.configuration["relay"]["limits"] = LIMITS
    router.start()
    victims = [Person() for _ in range(HOSTS)]
    with Socket(router) as socket:
        socket.publish(alice.registration(router, at(lab.endpoint("alice"))))
        socket.publish(
            *(
                person.registration(
                    router, at(f"http://127.1.{number // 200}.{1 + number % 200}:{tarpit}/up{device}"), f"{device}"
                )
                for number, person in enumerate(victims)
                for device in range(devices)
            )
        )
        for start in range(0, HOSTS, 20):
            socket.publish(bob.note("everybody", *victims[start:start + 20]))
        waits = []
        for number in range(5):
            before = time.monotonic()
            socket.publish(bob.message(f"alice {number}", alice))
            wait_until(
                lambda: len(lab.received("unifiedpush")) > number, "Alice is told", router.process, timeout=60
            )
            waits.append(time.monotonic() - before)
    print("seconds:", [round(wait, 2) for wait in waits])
    assert max(waits) < 5, waits
