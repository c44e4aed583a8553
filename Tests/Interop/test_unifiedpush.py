"""UnifiedPush endpoints: plain, and encrypted so that another implementation of RFC 8291 can read it."""

import json

import pytest

from nostr import ALL_SIGNALS, Socket, device_token, ios
from subscriptions import App, base64url


def registration(**more) -> dict:
    return {"platform": "unifiedpush", "filters": ALL_SIGNALS, **more}


def test_a_plain_endpoint_gets_the_signal_as_json(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, registration(push_endpoint=lab.endpoint("upAlice"))))
    socket.publish(bob.message("hello", alice))
    [push] = lab.accepted(1)
    assert push.line["service"] == "unifiedpush"
    assert push.line["method"] == "POST"
    assert push.target == "upAlice"
    assert push.body == b'{"t":"dm"}'
    assert push.header("content-type") == "application/json"
    assert push.header("content-encoding") is None
    # RFC 8030 sections 5.2 and 5.3.
    assert int(push.header("ttl")) > 0
    assert push.header("urgency") == "high"


def subscription(endpoint: str, app: App) -> dict:
    return {"subscription": {"endpoint": endpoint, "keys": app.keys}}


def keys_beside_the_endpoint(endpoint: str, app: App) -> dict:
    return {"push_endpoint": endpoint, **app.keys}


@pytest.mark.parametrize("form", [subscription, keys_beside_the_endpoint])
def test_keys_in_the_registration_encrypt_the_body_to_them(router, lab, socket, alice, bob, form):
    app = App()
    socket.publish(alice.registration(router, registration(**form(lab.endpoint("upAlice"), app))))
    socket.publish(bob.message("hello", alice))
    [push] = lab.accepted(1)
    assert push.header("content-encoding") == "aes128gcm"
    assert b'"t"' not in push.body
    assert app.decrypt(push.body) == b'{"t":"dm"}'


def test_no_two_bodies_are_encrypted_alike(router, lab, socket, alice, bob):
    app = App()
    socket.publish(alice.registration(router, registration(**subscription(lab.endpoint("upAlice"), app))))
    socket.publish(*[bob.message("hello", alice) for _ in range(4)])
    pushes = lab.accepted(4)
    assert [app.decrypt(push.body) for push in pushes] == [b'{"t":"dm"}'] * 4
    # The salt, then the sender's key of this one message (RFC 8188 section 2.1, RFC 8291 section 3.1).
    assert len({push.body[:16] for push in pushes}) == 4
    assert len({push.body[21:86] for push in pushes}) == 4


def test_an_encrypted_alert_holds_the_whole_notification(router, lab, socket, alice, bob):
    app = App()
    content = registration(mode="alert", **subscription(lab.endpoint("upAlice"), app))
    note = alice.note("root")
    reply = bob.reply("Grüße aus Łódź", note)
    socket.publish(alice.registration(router, content), note, reply)
    [push] = lab.accepted(1)
    message = json.loads(app.decrypt(push.body))
    delivery = message.pop("id")
    assert delivery and delivery != reply["id"]
    assert message == {
        "t": "reply",
        "title": f"💬 {bob.hex[:8]}... sent you a note",
        "body": "Grüße aus Łódź",
        "category": "kind_1",
        "event_id": reply["id"],
        "author_pubkey": bob.hex,
        "kind": 1,
        "created_at": reply["created_at"],
        "referenced_event_id": note["id"],
        "referenced_event_kind": 1,
        "referenced_event_content": "root",
    }


@pytest.mark.parametrize(
    "keys",
    [
        {"p256dh": base64url(b"\x04" + bytes(64)), "auth": base64url(bytes(16))},
        {"p256dh": App().keys["p256dh"]},
        {"p256dh": App().keys["p256dh"], "auth": base64url(bytes(15))},
    ],
    ids=["not a point of the curve", "without auth", "short auth"],
)
def test_invalid_keys_are_refused(router, lab, socket, alice, keys):
    content = registration(push_endpoint=lab.endpoint("upAlice"), **keys)
    accepted, words = socket.offer(alice.registration(router, content))
    assert not accepted
    assert words.startswith("invalid: ")


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:{}", "http://[::1]:{}", "http://localhost:{}", "http://2130706433:{}", "http://0x7f.1:{}"],
)
def test_an_endpoint_in_a_private_network_is_never_contacted(stopped_router, lab, alice, bob, address):
    """Without the operator's exception, loopback stands for everything that users must not reach."""
    router = stopped_router
    del router.configuration["http"]["allow_private"]
    router.start()
    port = lab.addresses["unifiedpush_url"].rsplit(":", 1)[1]
    content = registration(push_endpoint=address.format(port) + "/upAlice")
    with Socket(router) as socket:
        socket.offer(alice.registration(router, content, device="degoogled"))
        socket.publish(alice.registration(router, ios(device_token()), device="phone"))
        socket.publish(bob.message("hello", alice))
    lab.accepted(1, service="apns")
    assert router.stop() == 0
    assert lab.received("unifiedpush") == []
