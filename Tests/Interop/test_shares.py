"""One push service or one user's server that hangs, and everybody else: each has a share of the outbox."""

import http.client
import json
import os
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flood import FloodedRouter
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until

UNPACED = {"window_seconds": 0, "cooldown_seconds": 0, "daily_cap": 100}


class Server:
    """A push server of a user's choice, which takes everything and answers nothing until it is told to."""

    def __init__(self):
        self.told: dict[str, int] = {}
        """Of how many events pushes told, by path."""
        self.answers = threading.Event()
        server, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.answers.wait()
                with lock:
                    server.told[self.path] = server.told.get(self.path, 0) + message.get("n", 1)
                self.send_response(201)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # Whoever is made to wait may have gone.
        self._server.handle_error = lambda *_: None
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def router(tmp_path, lab):
    router = FloodedRouter(tmp_path / "router", lab)
    # A queue may have 75 of them, a host 18.
    router.configuration["store"]["max_waiting"] = 300
    yield router
    if router.is_running:
        router.kill()


def at(endpoint: str, **more) -> dict:
    return {"platform": "unifiedpush", "push_endpoint": endpoint, "mode": "wake", "filters": ALL_SIGNALS, **more}


def told(pushes) -> int:
    """Of how many events they tell."""
    return sum(push.payload.get("n", 1) for push in pushes)


def held(router) -> int:
    """How many groups of events wait for room."""
    with closing(sqlite3.connect(router.folder / "carillon.sqlite-outbox")) as outbox:
        return outbox.execute("SELECT count(*) FROM outbox_held").fetchone()[0]


def test_a_hanging_server_affects_only_its_users(router, lab, server, alice, bob):
    router.start()
    carol, mallory = Person(), [Person() for _ in range(20)]
    with Socket(router) as socket:
        socket.publish(
            alice.registration(router, ios(device_token(), mode="alert")),
            carol.registration(router, at(lab.endpoint("carol"))),
            *(
                somebody.registration(router, at(f"http://127.0.0.1:{server.port}/{number}", batch=UNPACED))
                for number, somebody in enumerate(mallory)
            ),
        )
        # All of these, and the registration, are answered.
        for number in range(30):
            socket.publish(bob.note(f"everybody {number}", *mallory))
        assert router.waiting <= 75
        assert held(router) > 0
        for number in range(3):
            socket.publish(bob.note(f"alice {number}", alice), bob.note(f"carol {number}", carol))
        socket.publish(Person().registration(router, ios(device_token())))
        lab.accepted(3, service="apns")
        # At a queue in which much waits a device has one push at a time.
        wait_until(lambda: told(lab.received("unifiedpush")) == 3, "Carol is told of all", router.process)
        assert not server.told
        router.wait_for_log("A push service or a user's server is behind")
        waits = bob.note("who waits", mallory[0])
        socket.publish(waits)
    wait_until(
        lambda: "held: the push service is behind" in carillon(
            "explain", waits["id"], "--config", router.configuration_file
        ).stdout,
        "it is said what is waited for",
    )
    server.answers.set()
    wait_until(lambda: router.waiting == 0 and held(router) == 0, "everything goes", router.process, timeout=60)
    wait_until(
        lambda: sum(server.told.values()) >= 20 * 30 + 1 and len(server.told) == 20, "everything arrives", router.process
    )
    router.wait_for_log("Passed: A push service or a user's server is behind")
    assert f":{server.port}" not in router.log_text


def test_held_pushes_arrive_after_a_crash(router, lab, server, bob):
    router.start()
    mallory = [Person() for _ in range(20)]
    with Socket(router) as socket:
        socket.publish(
            *(
                somebody.registration(router, at(f"http://127.0.0.1:{server.port}/{number}", batch=UNPACED))
                for number, somebody in enumerate(mallory)
            ),
        )
        for number in range(10):
            socket.publish(bob.note(f"everybody {number}", *mallory))
    router.kill()
    assert held(router) > 0
    server.answers.set()
    router.start()
    wait_until(lambda: router.waiting == 0 and held(router) == 0, "everything goes", router.process, timeout=60)
    # The two figures are not of one moment: a group may have become a delivery between them.
    wait_until(
        lambda: len(server.told) == 20 and all(count >= 10 for count in server.told.values()),
        "everything arrives",
        router.process,
    )


def test_senders_of_push_messages_leave_capacity_for_others(router, lab, alice, bob):
    port = free_port()
    router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{port}"}
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, at(lab.endpoint("alice"))))
        socket.publish(bob.registration(router, ios(device_token())))
        lab.misbehave("silence", times=0, service="apns")
        sender = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        answers = []
        for _ in range(120):
            headers = {"content-encoding": "aes128gcm", "ttl": "86400"}
            sender.request("POST", f"/push/{device_token()}/x", os.urandom(300), headers)
            answer = sender.getresponse()
            answer.read()
            answers.append(answer.status)
        sender.close()
        # Half of the queue's share.
        assert answers == [202] * 37 + [503] * 83
        socket.publish(alice.note("for bob", bob), bob.note("for alice", alice))
        assert router.waiting >= 38
        lab.accepted(1, service="unifiedpush")
