"""What refuses at once gets no more of us than what is slow, and hides nobody else's events."""

import contextlib
import datetime
import http.client
import json
import re
import socket as sockets
import threading

from nostr import ALL_SIGNALS, Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until


def registration(endpoint: str) -> dict:
    return {"platform": "unifiedpush", "push_endpoint": endpoint, "filters": ALL_SIGNALS}


def devices(router) -> list[dict]:
    listing = carillon("devices", "list", "--json", "--config", router.configuration_file)
    return json.loads(listing.stdout)["devices"]


def test_a_refusing_endpoint_gets_at_most_as_many_pushes_as_another(stopped_router, lab, alice, bob):
    router, carol = stopped_router, Person()
    router.log_level = "info"
    router.start()
    lab.misbehave("answer", status=405, target="upAlice", times=0)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, registration(lab.endpoint("upAlice"))))
        socket.publish(carol.registration(router, registration(lab.endpoint("upCarol"))))
        for number in range(100):
            socket.publish(bob.message(f"number {number}", alice), bob.message(f"number {number}", carol))
    lab.accepted(100)
    targets = [push.target for push in lab.received()]
    assert targets.count("upCarol") == 100
    # After four in a row it is left alone.
    assert 4 <= targets.count("upAlice") <= 8
    lines = [line for line in router.log_text.splitlines() if "outcome=rejected" in line]
    assert len(lines) <= 8, lines[:10]


def test_a_flood_at_a_closed_port_hides_no_other_failure(stopped_router, lab, alice, bob):
    router, honest = stopped_router, Person()
    router.configuration["trace"] = {"rows": 2_000}
    router.log_level = "info"
    router.start()
    nowhere = f"http://127.0.0.1:{free_port()}/"
    with Socket(router) as socket:
        for number in range(8):
            content = registration(f"{nowhere}{number}")
            socket.publish(alice.registration(router, content, device=f"phone-{number}"))
        socket.publish(honest.registration(router, ios(device_token(), mode="alert")))
        note = bob.note("hello", honest)
        socket.publish(note)
        lab.accepted(1)
        for _ in range(10):
            socket.publish(*[bob.message("flood", alice) for _ in range(50)])
    told = carillon("explain", note["id"], "--config", router.configuration_file)
    assert told.returncode == 0 and "→ delivered: ios/default took it" in told.stdout, told.stdout + told.stderr
    failed = [line for line in router.log_text.splitlines() if " Delivery" in line or "More deliveries" in line]
    assert len(failed) <= 30, len(failed)
    # What waits says when it will really be tried, and counts.
    assert devices(router)[0]["waiting"] > 0


def test_explain_names_the_time_at_which_a_paused_host_is_asked_again(router, lab, socket, alice, bob):
    carol = Person()
    socket.publish(alice.registration(router, registration(lab.endpoint("upAlice"))))
    socket.publish(carol.registration(router, registration(lab.endpoint("upCarol"))))
    lab.misbehave("answer", status=503, retry_after=600, target="upAlice", times=0)
    first, second = bob.message("hello", alice), bob.message("hello", carol)
    socket.publish(first)
    lab.attempts(1)
    router.wait_for_log("outcome=retry")
    socket.publish(second)

    def outcome(event: dict) -> str:
        told = carillon("explain", event["id"], "--config", router.configuration_file).stdout
        return next((line.strip() for line in told.splitlines() if "→" in line), "")

    def until(event: dict) -> datetime.datetime:
        found = re.search(r"it is tried (?:again )?from (\S+ \S+) UTC on", outcome(event))
        assert found, outcome(event)
        return datetime.datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S")

    wait_until(lambda: "waits: the device's server asked for a pause" in outcome(second), "the pause is told")
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    for event in [first, second]:
        assert datetime.timedelta(minutes=9) < until(event) - now <= datetime.timedelta(minutes=10, seconds=5)
    # One behind the first to the same device waits for that one.
    third = bob.message("hello again", alice)
    socket.publish(third)
    wait_until(lambda: "an earlier push to this device is tried again from" in outcome(third), "the other one is told")
    waiting = {device["account"]: device["waiting"] for device in devices(router)}
    assert waiting == {alice.hex: 2, carol.hex: 1}


class TwoAnswersServer:
    """An HTTP server that sends a stray answer behind each."""

    def __init__(self):
        self.listener = sockets.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requests = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=[connection], daemon=True).start()

    def _converse(self, connection):
        # A client that met the stray answer leaves.
        with contextlib.suppress(OSError):
            self._answer(connection)

    def _answer(self, connection):
        connection.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as stream:
            while True:
                length = 0
                while (line := stream.readline()) not in [b"\r\n", b""]:
                    name, _, value = line.decode("latin-1").partition(":")
                    length = int(value) if name.lower() == "content-length" else length
                if line == b"":
                    return
                stream.read(length)
                self.requests += 1
                # At once: what came after the next request would be its answer for anybody.
                created = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
                connection.sendall(created + b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    def close(self):
        self.listener.close()


def test_a_stray_response_removes_no_device(router, socket, alice, bob):
    """404 says at UnifiedPush that a device is gone."""
    server = TwoAnswersServer()
    people = [alice, *[Person() for _ in range(3)]]
    for number, person in enumerate(people):
        socket.publish(person.registration(router, registration(f"http://127.0.0.1:{server.port}/{number}")))
    for number in range(5):
        for person in people:
            # One after the other, so that connections are used again.
            socket.publish(bob.message(f"number {number}", person))
            wait_until(lambda: server.requests >= 1, "a request comes", router.process)
        router.wait_for_deliveries(4 * (number + 1))
    server.close()
    assert len(devices(router)) == 4
    assert "outcome=gone" not in router.log_text


def test_made_up_tokens_are_tried_one_at_a_time(stopped_router, lab, alice, bob):
    router, port = stopped_router, free_port()
    router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{port}"}
    router.start()
    known, tokens = device_token(), [device_token() for _ in range(40)]
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(known)), bob.message("hello", alice))
        lab.accepted(1)
        for token in tokens:
            lab.misbehave("silence", target=token, times=0)
        statuses = set()
        for number, token in enumerate(tokens):
            # Each from an address of its own.
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", f"/push/{token}/a", b"x", {"X-Forwarded-For": f"198.51.100.{number}"})
            statuses.add(connection.getresponse().status)
            connection.close()
        assert statuses == {202}
        lab.attempts(2)
        # Nobody else waits for them.
        for number in range(5):
            socket.publish(bob.message(f"number {number}", alice))
        lab.accepted(6)
    assert [push.target for push in lab.received() if push.target != known] == tokens[:1]


def test_a_client_with_made_up_tokens_loses_its_allowance(stopped_router, lab):
    router, port = stopped_router, free_port()
    router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{port}"}
    router.start()

    def post(token: str, client: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", f"/push/{token}/a", b"x", {"X-Forwarded-For": client})
        status = connection.getresponse().status
        connection.close()
        return status

    for number in range(30):
        token = device_token()
        lab.declare(token, "bad")
        status = post(token, "198.51.100.1")
        assert status == 202 if number <= 20 else status in [202, 429]
        lab.attempts(min(number, 20) + 1)
    wait_until(lambda: post(device_token(), "198.51.100.1") == 429, "the client loses its allowance", router.process)
    assert post(device_token(), "198.51.100.2") == 202
