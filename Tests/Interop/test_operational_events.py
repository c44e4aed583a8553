"""What happens to the router itself, told by signed webhooks, in the stream, and to the operator's devices."""

import base64
import datetime
import json
import os
import secrets
import signal
import sqlite3
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from authority import Authority
from clock import Clock
from console import Console
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios
from programs import carillon, wait_until
from readable import ReadableServer
from relays import ScriptedRelay
from stream import Stream
from test_me import Me


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


class Endpoint(ReadableServer):
    """An operator's endpoint that trusts nothing unsigned."""

    def __init__(self, router, answer=None, **more):
        super().__init__(answer)
        self.secret = new_secret()
        file = router.folder / f"webhook-{secrets.token_hex(4)}.secret"
        file.touch(mode=0o600)
        file.write_text(self.secret + "\n")
        self.block = {"url": f"{self.url}/hook", "secret_file": file.name, **more}

    @property
    def events(self) -> list[dict]:
        return [Webhook(self.secret).verify(message.body, message.headers) for message in self.messages]

    def wait_for(self, kind: str) -> dict:
        def found():
            return next((event for event in self.events if event["type"] == kind), None)

        return wait_until(found, f"{kind} is told", timeout=40)


@pytest.fixture
def endpoint(stopped_router):
    server = Endpoint(stopped_router)
    stopped_router.configuration["operational_events"] = {"webhooks": [server.block]}
    yield server
    server.stop()


def test_gone_devices_and_paused_queues_are_reported(stopped_router, endpoint, lab, alice, bob):
    console = Console(stopped_router).start()
    phone, carol = device_token(), Person()
    with Socket(stopped_router) as socket, Stream(console.port, "?kind=operation", console.token) as stream:
        socket.publish(
            alice.registration(stopped_router, ios(phone)), carol.registration(stopped_router, ios(device_token()))
        )
        lab.declare(phone, "unregistered", since=int(time.time() * 1000))
        socket.publish(bob.message("the text of a secret", alice))
        gone = endpoint.wait_for("device.gone")
        assert gone["data"]["platform"] == "ios" and gone["data"]["status"] == "410"
        lab.misbehave(kind="answer", status=403, reason="InvalidProviderToken", times=0)
        socket.publish(bob.message("another secret", carol))
        paused = endpoint.wait_for("queue.paused")
        assert paused["data"]["app"] == "default" and paused["data"]["reason"]
        lab.behave()
        assert carillon("reload", "--config", stopped_router.folder / "carillon.yaml").returncode == 0
        assert endpoint.wait_for("queue.resumed")["data"]["platform"] == "ios"
        told = stream.until(lambda entry: entry.data["type"] == "queue.resumed")
        assert [entry.data["type"] for entry in told] == ["device.gone", "queue.paused", "queue.resumed"]
    # The same message says the same to whoever knows the secret, and nothing to others.
    message = endpoint.messages[0]
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(message.body, message.headers)
    bodies = b"".join(message.body for message in endpoint.messages)
    for secret in [phone, "secret", alice.hex, endpoint.secret]:
        assert secret.encode() not in bodies
    assert endpoint.secret not in stopped_router.log_text and endpoint.url not in stopped_router.log_text


def test_a_crashed_plugin_is_reported(stopped_router, endpoint):
    console = Console(stopped_router).start()
    process = console.json("/v1/plugins")[1]["processes"][0]
    os.kill(process["process"], signal.SIGKILL)
    crashed = endpoint.wait_for("plugin.crashed")
    assert process["plugins"][0] in crashed["data"]["plugins"]


def test_a_failing_endpoint_gets_the_message_again_under_the_same_id(stopped_router, lab, alice, bob):
    answers = [(503, {}, b""), (200, {}, b"")]
    server = Endpoint(stopped_router, lambda _: answers.pop(0) if answers else (200, {}, b""), events=["device.gone"])
    stopped_router.configuration["operational_events"] = {"webhooks": [server.block]}
    stopped_router.start()
    phone = device_token()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(phone)))
        lab.declare(phone, "unregistered", since=int(time.time() * 1000))
        socket.publish(bob.message("hello", alice))
    server.wait(2)
    first, second = server.messages
    assert first.headers["webhook-id"] == second.headers["webhook-id"] and first.body == second.body
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) >= 4
    assert [event["type"] for event in server.events] == ["device.gone"] * 2
    server.stop()


def test_messages_queued_for_an_endpoint_survive_restarts(stopped_router, lab, alice, bob):
    down = [True]
    server = Endpoint(stopped_router, lambda _: (503, {}, b"") if down else (200, {}, b""), events=["device.gone"])
    stopped_router.configuration["operational_events"] = {"webhooks": [server.block]}
    stopped_router.start()
    phones = [device_token(), device_token()]
    with Socket(stopped_router) as socket:
        for name, phone in zip(["one", "two"], phones):
            socket.publish(alice.registration(stopped_router, ios(phone), device=name))
            lab.declare(phone, "unregistered", since=int(time.time() * 1000))
        socket.publish(bob.message("hello", alice))
    server.wait(2)
    ids = {message.headers["webhook-id"] for message in server.messages}
    assert len(ids) == 2, "two devices are gone, and each is tried"
    # An orderly end, and one that a crash would make.
    stopped_router.restart()
    stopped_router.kill()
    before = len(server.messages)
    down.clear()
    file = stopped_router.folder / "carillon.sqlite-webhooks"
    with sqlite3.connect(file) as kept:
        # Nobody wants to wait for what a third attempt waits for.
        kept.execute("UPDATE messages SET due_at = 0")
    kept.close()
    stopped_router.start()
    server.wait(before + 2)
    later = server.messages[before:]
    assert {message.headers["webhook-id"] for message in later} == ids
    assert {Webhook(server.secret).verify(message.body, message.headers)["type"] for message in later} == {"device.gone"}
    assert file.stat().st_mode & 0o777 == 0o600 and server.url.encode() not in file.read_bytes()
    # What arrived does not come again.
    stopped_router.restart()
    time.sleep(1)
    assert len(server.messages) == before + 2
    server.stop()


def test_a_device_failing_for_days_is_reported_and_disabled(stopped_router, endpoint, tmp_path, alice, bob):
    router, carol, hours = stopped_router, Person(), 3600
    clock = Clock(tmp_path)
    router.environment = clock.environment
    router.configuration["operational_events"] |= {"failing_days": 1, "disable_days": 2}
    works = []
    # Two hosts, so that one in trouble keeps nothing from the other.
    broken = ReadableServer(lambda _: (200 if works else 500, {}, b"{}"))
    sound = ReadableServer()
    console = Console(router).start()

    def publish(*events):
        with Socket(router) as socket:
            socket.publish(*events)

    def push_to(person: Person, server: ReadableServer) -> dict:
        before = len(server.messages)
        note = bob.note("hello", person)
        publish(note)
        wait_until(lambda: len(server.messages) > before, "it is tried")
        return note

    def command(*arguments):
        return carillon("devices", *arguments, "--config", router.folder / "carillon.yaml")

    def told(kind: str) -> dict:
        """Without its signature's time, which is the router's."""
        def found():
            bodies = [json.loads(message.body) for message in endpoint.messages]
            return next((body["data"] for body in bodies if body["type"] == kind), None)

        return wait_until(found, f"{kind} is told")

    content = {"platform": "ntfy", "filters": ALL_SIGNALS}
    publish(
        alice.registration(router, content | {"push_endpoint": f"{broken.url}/alice"}),
        carol.registration(router, content | {"push_endpoint": f"{sound.url}/carol"}),
    )
    push_to(carol, sound)
    push_to(alice, broken)
    [device] = [each["device"] for each in console.json(f"/v1/devices?account={alice.hex}")[1]["devices"]]
    # The failure is of the first day: what is noted after the clock is set would be of the second.
    wait_until(lambda: console.json(f"/v1/devices/{device}")[1].get("last_error"), "the failure is noted")
    clock.set(26 * hours)
    push_to(carol, sound)
    push_to(alice, broken)
    failing = told("device.failing")
    assert failing["device"] == device and failing["platform"] == "ntfy" and failing["since"]
    assert "disabled_at" not in console.json(f"/v1/devices/{device}")[1]

    clock.set(50 * hours)
    push_to(carol, sound)
    # What waited has expired by now, which is a failure as well, and perhaps the last one.
    publish(bob.note("hello", alice))
    disabled = told("device.disabled")
    assert disabled["device"] == device and disabled["since"] == failing["since"]
    shown = console.json(f"/v1/devices/{device}")[1]
    assert shown["disabled_at"] and shown["failing_since"]
    assert "switched off" in command("list").stdout
    assert "carillon devices enable" in command("show", str(device)).stdout
    missed = bob.note("hello again", alice)
    publish(missed)
    explained = carillon("explain", missed["id"], "--recipient", alice.hex, "--config", router.folder / "carillon.yaml")
    assert f"Device {device} of {alice.npub} is not woken: it is switched off since" in explained.stdout
    # The account's proof is of the machine's time, and not of the router's.
    clock.set(0)
    [own] = Me(console, alice).ask()["devices"]
    assert own["reason"].endswith("register it again to end that")
    clock.set(51 * hours)

    works.append(True)
    enabled = command("enable", str(device))
    assert enabled.returncode == 0 and "is switched on again" in enabled.stdout
    assert "was not switched off" in command("enable", str(device)).stdout
    assert command("enable", "999").returncode == 1
    note = push_to(alice, broken)
    path = f"/v1/events/{note['id']}/explain"
    wait_until(lambda: "delivered" in json.dumps(console.json(path)[1]), "it reaches the device again")
    assert "disabled_at" not in console.json(f"/v1/devices/{device}")[1]
    # What comes next says so in the same words, without a router too.
    router.stop()
    assert "was not switched off" in command("enable", str(device)).stdout
    for server in [broken, sound]:
        server.stop()


def test_an_expiring_certificate_is_reported(stopped_router, endpoint, lab, tmp_path):
    certificate, key = Authority(tmp_path / "authority").push_certificate(lab.ios["topic"], days=5)
    stopped_router.configuration["apps"]["default"]["ios"] = {
        "topic": lab.ios["topic"], "certificate_file": str(certificate), "certificate_key_file": str(key)
    }
    console = Console(stopped_router).start()
    ending = endpoint.wait_for("credential-expiring")["data"]
    assert (ending["platform"], ending["app"], ending["what"]) == ("ios", "default", "client-certificate")
    left = datetime.datetime.fromisoformat(ending["ends_at"]) - datetime.datetime.now(datetime.UTC)
    assert datetime.timedelta(days=4, hours=23) < left <= datetime.timedelta(days=5)
    assert any(issue["code"] == "credential-expiring" for issue in console.json("/v1/issues")[1]["issues"])


class GuardedRelay(ScriptedRelay):
    """Wants everybody to sign in, and takes nobody's key."""

    def _serve(self, connection):
        connection.send(json.dumps(["AUTH", "who-are-you"]))
        for text in connection:
            message = json.loads(text)
            if message[0] == "REQ":
                connection.send(json.dumps(["CLOSED", message[1], "auth-required: members only"]))
            elif message[0] == "AUTH":
                connection.send(json.dumps(["OK", message[1]["id"], False, "restricted: you are no member"]))


def test_a_members_only_relay_is_reported(stopped_router, endpoint, alice):
    relay = GuardedRelay()
    stopped_router.configuration["relays"] = {"always": [relay.url]}
    stopped_router.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
    told = endpoint.wait_for("relay.auth_required")["data"]
    assert told["relay"].rstrip("/") == relay.url and "requires authentication" in told["words"]
    relay.stop()


def test_the_operators_devices_get_a_push(stopped_router, lab, alice, bob):
    operator = Person()
    stopped_router.configuration["operational_events"] = {"push": {"accounts": [operator.npub]}}
    other = lab.android
    stopped_router.configuration["apps"]["default"]["android"] = other
    stopped_router.add_plugin("libCarillonFCM.so")
    console = Console(stopped_router).start()
    with Socket(stopped_router) as socket:
        content = {"platform": "android", "token": lab.android_token(), "mode": "alert", "filters": {"dm": True}}
        socket.publish(operator.registration(stopped_router, content))
        socket.publish(alice.registration(stopped_router, ios(device_token())))
        lab.misbehave(kind="answer", status=403, reason="InvalidProviderToken", times=0, service="apns")
        socket.publish(bob.message("hello", alice))
        [push] = lab.accepted(1, service="fcm")
    assert "queue.paused" in push.body.decode()
    assert console.ask("/v1/status")[0] == 200


def test_check_names_webhook_errors(stopped_router):
    (stopped_router.folder / "bad.secret").write_text("hunter2hunter2\n")
    (stopped_router.folder / "bad.secret").chmod(0o600)
    stopped_router.configuration["operational_events"] = {
        "webhooks": [{"url": "ops.example.com", "secret_file": "bad.secret", "events": ["device.lost"]}],
        "push": {"accounts": ["alice"]},
        "failing_days": 0,
    }
    checked = carillon("check", "--config", stopped_router.configuration_file)
    assert checked.returncode == 1
    for words in ["expected a URL", "bad.secret: expected whsec_", "device.lost", "npub1", "from 1 to 60"]:
        assert words in checked.stderr, words
    assert "hunter2" not in checked.stderr
