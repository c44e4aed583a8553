"""What happens to the router itself, told by signed webhooks, in the stream, and to the operator's devices."""

import base64
import json
import os
import secrets
import signal
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until
from readable import ReadableServer
from stream import Stream


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


def test_a_device_that_is_gone_and_a_queue_that_is_paused_are_told(stopped_router, endpoint, lab, alice, bob):
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


def test_a_plugin_that_crashed_is_told(stopped_router, endpoint):
    console = Console(stopped_router).start()
    process = console.json("/v1/plugins")[1]["processes"][0]
    os.kill(process["process"], signal.SIGKILL)
    crashed = endpoint.wait_for("plugin.crashed")
    assert process["plugins"][0] in crashed["data"]["plugins"]


def test_an_endpoint_in_trouble_gets_it_again_under_the_same_id(stopped_router, lab, alice, bob):
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


def test_the_operators_devices_are_pushed_to(stopped_router, lab, alice, bob):
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


def test_a_check_names_what_is_wrong(stopped_router):
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
