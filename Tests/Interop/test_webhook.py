"""Webhooks to endpoints of users and to the app's server, verified by the Standard Webhooks library."""

import base64
import json
import secrets

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from console import Console
from nostr import ALL_SIGNALS, Socket
from programs import carillon, free_port
from readable import Message, ReadableServer


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def verified(message: Message, secret: str) -> dict:
    """What the library reads out of a message that it trusts."""
    return Webhook(secret).verify(message.body, message.headers)


@pytest.fixture
def receiver():
    server = ReadableServer()
    yield server
    server.stop()


@pytest.fixture
def webhook_router(stopped_router):
    stopped_router.add_plugin("libCarillonWebhook.so")
    stopped_router.configuration["apps"]["default"]["webhook"] = {}
    return stopped_router


def registration(router, person, token: str, secret: str | None = None, **more) -> dict:
    content = {"platform": "webhook", "token": token, "filters": ALL_SIGNALS, **more}
    if secret is not None:
        content["secret"] = secret
        router.secrets.update(secret.split())
    return person.registration(router, content)


def test_an_endpoint_gets_signed_notifications(webhook_router, lab, alice, bob, receiver):
    router = webhook_router.start()
    secret = new_secret()
    note = alice.note("root")
    replies = [bob.reply("Grüße aus Łódź", note), bob.reply("second", note)]
    with Socket(router) as socket:
        socket.publish(registration(router, alice, f"{receiver.url}/hook?user=1", secret, mode="alert"), note)
        socket.publish(replies[0])
        receiver.wait(1)
        socket.publish(replies[1])
        receiver.wait(2)
    for message, reply in zip(receiver.messages, replies):
        content = verified(message, secret)
        assert (message.method, message.path) == ("POST", "/hook?user=1")
        assert message.headers["content-type"] == "application/json"
        assert content == json.loads(message.body)
        assert content["id"] == message.headers["webhook-id"]
        assert (content["mode"], content["signal"], content["count"]) == ("alert", "reply", 1)
        assert content["body"] == reply["content"]
        assert content["data"]["event_id"] == reply["id"]
        with pytest.raises(WebhookVerificationError):
            Webhook(new_secret()).verify(message.body, message.headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(message.body.replace(b"alert", b"nudge"), message.headers)
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == 2


@pytest.mark.parametrize("mode", ["wake", "nudge"])
def test_stricter_modes_show_less(webhook_router, lab, alice, bob, receiver, mode):
    router = webhook_router.start()
    secret = new_secret()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice, f"{receiver.url}/hook", secret, mode=mode), note)
        socket.publish(bob.reply("hello", note))
        receiver.wait(1)
    content = verified(receiver.messages[0], secret)
    assert (content["mode"], content["signal"], content["count"]) == (mode, "reply", 1)
    assert ("title" in content) == (mode == "nudge")
    assert b"hello" not in receiver.messages[0].body and bob.hex[:8].encode() not in receiver.messages[0].body


def test_a_repeat_has_the_same_id_and_a_signature_of_its_own(webhook_router, lab, alice, bob):
    answers = [(503, {"retry-after": "1"}, b""), (404, {}, b""), (204, {}, b"")]
    receiver = ReadableServer(lambda _: answers.pop(0))
    router = webhook_router.start()
    secret = new_secret()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, f"{receiver.url}/hook", secret))
        socket.publish(bob.message("hello", alice))
        router.wait_for_deliveries(1)
    receiver.stop()
    assert len(receiver.messages) == 3
    assert len({message.headers["webhook-id"] for message in receiver.messages}) == 1
    assert len({message.body for message in receiver.messages}) == 1
    for message in receiver.messages:
        assert verified(message, secret)["signal"] == "dm"


def test_a_registration_replaces_its_secret_in_two_steps(webhook_router, lab, alice, bob, receiver):
    router = webhook_router.start()
    old, new = new_secret(), new_secret()
    with Socket(router) as socket:
        for count, present in enumerate([old, f"{new} {old}", new], start=1):
            socket.publish(registration(router, alice, f"{receiver.url}/hook", present))
            socket.publish(bob.message("hello", alice))
            receiver.wait(count)
    first, second, third = receiver.messages
    assert verified(first, old) and verified(second, old) and verified(second, new) and verified(third, new)
    for message, secret in [(first, new), (third, old)]:
        with pytest.raises(WebhookVerificationError):
            verified(message, secret)


def test_the_apps_server_gets_the_recipient_and_its_secret_rotates_with_a_reload(
    webhook_router, lab, alice, bob, receiver
):
    router = webhook_router
    old, new = new_secret(), new_secret()
    router.secrets.update([old, new])
    router.environment |= {"OLD_SECRET": old, "NEW_SECRET": new}
    block = {"url": f"{receiver.url}/app", "secrets": ["${OLD_SECRET}"], "endpoints": "refused"}
    router.configuration["apps"]["default"]["webhook"] = block
    console = Console(router, port=free_port())
    console.start()
    with Socket(router) as socket:
        accepted, words = socket.offer(registration(router, alice, f"{receiver.url}/mine"))
        assert not accepted and "the device's identifier at the app's server" in words
        socket.publish(registration(router, alice, "user-42"))
        socket.publish(bob.message("hello", alice))
        receiver.wait(1)
        block["secrets"] = ["${NEW_SECRET}", "${OLD_SECRET}"]
        _ = router.configuration_file
        status, answer = console.json("/v1/reload", "POST")
        assert status == 200 and answer["reloaded"], answer
        socket.publish(bob.message("hello again", alice))
        receiver.wait(2)
    first, second = receiver.messages
    assert verified(first, old)["recipient"] == "user-42"
    assert verified(second, old) == verified(second, new)
    with pytest.raises(WebhookVerificationError):
        verified(first, new)


@pytest.mark.parametrize("refuses", [False, True])
def test_simultaneous_messages_to_one_url_are_one_array(webhook_router, lab, alice, bob, refuses):
    """A receiver that refuses arrays of several gets each message by itself."""

    def answer(message):
        return (400 if refuses and len(json.loads(message.body)) > 1 else 204), {}, b""

    receiver = ReadableServer(answer)
    router = webhook_router
    secret = new_secret()
    router.secrets.add(secret)
    router.environment["SECRET"] = secret
    router.configuration["apps"]["default"]["webhook"] = {
        "url": f"{receiver.url}/app", "secrets": ["${SECRET}"], "batch": 10
    }
    router.start()
    tokens = ["user-1", "user-2", "user-3"]
    with Socket(router) as socket:
        for token in tokens:
            content = {"platform": "webhook", "token": token, "filters": ALL_SIGNALS}
            socket.publish(alice.registration(router, content, device=token))
        # New devices may be tried one after the other.
        socket.publish(bob.message("first", alice))
        router.wait_for_deliveries(3)
        before = len(receiver.messages)
        socket.publish(bob.message("second", alice))
        router.wait_for_deliveries(6)
    receiver.stop()
    batch, *alone = receiver.messages[before:]
    messages = verified(batch, secret)
    assert sorted(message["recipient"] for message in messages) == tokens
    assert len({message["id"] for message in messages}) == 3
    assert len(batch.headers["webhook-signature"].split()) == 1
    assert batch.headers["webhook-id"] not in {message["id"] for message in messages}
    assert len(alone) == (3 if refuses else 0)
    for message in alone:
        [content] = verified(message, secret)
        assert content["id"] == message.headers["webhook-id"] and content in messages


def test_an_endpoint_that_is_gone_is_forgotten(webhook_router, lab, alice, bob):
    receiver = ReadableServer(lambda _: (410, {}, b""))
    router = webhook_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, f"{receiver.url}/hook"))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("outcome=gone")
        socket.publish(bob.message("hello again", alice))
    assert router.stop() == 0
    receiver.stop()
    assert len(receiver.messages) == 1
    assert "webhook-signature" not in receiver.messages[0].headers


def test_errors_in_the_block_are_named(webhook_router):
    webhook_router.configuration["apps"]["default"]["webhook"] = {"secrets": ["whsec_c2hvcnQ="]}
    run = carillon("check", "--config", webhook_router.configuration_file)
    assert run.returncode == 1
    assert "secrets: expected whsec_ and the base64 of 24 to 64 random bytes" in run.stderr
    assert "c2hvcnQ" not in run.stderr
