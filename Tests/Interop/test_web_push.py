"""What a browser's push service gets, judged by http_ece and by py_vapid, which pywebpush signs with."""

import json
import time
import urllib.parse

import py_vapid
import pytest

from nostr import ALL_SIGNALS, Socket
from subscriptions import App, base64url, from_base64url


@pytest.fixture(params=["subscription", "push_endpoint and keys"])
def push(router, lab, socket, alice, bob, request):
    """A browser of Alice's, and what reaches it of a message of Bob's."""
    app = App()
    endpoint = lab.subscribe(app, "alice")
    subscription = {"endpoint": endpoint, "keys": app.keys}
    # Seed 004 has both.
    in_parts = {"push_endpoint": endpoint, "keys": app.keys}
    target = {"subscription": subscription} if request.param == "subscription" else in_parts
    content = {"platform": "web", **target, "filters": ALL_SIGNALS, "mode": "alert"}
    socket.publish(alice.registration(router, content))
    socket.publish(bob.note("hello", alice))
    [push] = lab.accepted(1)
    push.app, push.endpoint = app, urllib.parse.urlsplit(endpoint)
    return push


def test_http_ece_decrypts_the_message(push):
    """RFC 8291: one record, the sender's key in its header."""
    assert push.header("content-encoding") == "aes128gcm"
    assert push.header("encryption") is None and push.header("crypto-key") is None
    assert push.body[20] == 65
    message = json.loads(push.app.decrypt(push.body))
    assert "hello" in json.dumps(message)
    assert len(push.body) <= 4096


def test_py_vapid_accepts_the_token(push, lab):
    """RFC 8292."""
    authorization = push.header("authorization")
    assert py_vapid.Vapid02.verify(authorization)
    claims = claims_of(authorization)
    assert claims["aud"] == f"{push.endpoint.scheme}://{push.endpoint.netloc}"
    assert claims["sub"] == "mailto:operator@example.com"
    assert time.time() < claims["exp"] <= time.time() + 24 * 3600
    key = authorization.split("k=")[1].split(",")[0]
    assert key == lab.addresses["webpush"]["application_server_key"]


def test_the_headers_are_those_of_rfc_8030(push):
    assert 0 < int(push.header("ttl")) <= 30 * 86400
    assert push.header("urgency") in ["very-low", "low", "normal", "high"]
    topic = push.header("topic")
    assert topic is None or (len(topic) <= 32 and set(topic) <= set(base64url(bytes(range(256))) + "-_"))


def declaration(message: dict) -> dict | None:
    """What Safari shows by itself, as the Push API's draft reads it; None: it is for the service worker."""
    if message.get("web_push") != 8030:
        return None
    shown = message["notification"]
    assert isinstance(shown["title"], str) and shown["title"], "a declaration without a title is none"
    assert urllib.parse.urlsplit(shown["navigate"]).scheme, "a declaration without an absolute URL is none"
    for name, kind in {"body": str, "tag": str, "lang": str, "icon": str, "silent": bool}.items():
        assert isinstance(shown.get(name, kind()), kind), name
    for action in shown.get("actions", []):
        assert all(isinstance(action[name], str) for name in ["action", "title", "navigate"])
    assert isinstance(message.get("app_badge", 0), int) and isinstance(message.get("mutable", False), bool)
    return shown


@pytest.mark.parametrize("mode", ["alert", "sealed", "nudge", "wake"])
def test_safari_shows_it_without_a_service_worker(stopped_router, lab, alice, bob, mode):
    stopped_router.configuration["apps"]["default"]["web"]["navigate"] = "https://client.example.com/notifications"
    stopped_router.start()
    app = App()
    subscription = {"endpoint": lab.subscribe(app, "alice"), "keys": app.keys}
    content = {"platform": "web", "subscription": subscription, "filters": ALL_SIGNALS, "mode": mode}
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, content), bob.note("hello", alice))
    [push] = lab.accepted(1)
    shown = declaration(json.loads(app.decrypt(push.body)))
    if mode == "wake":
        assert shown is None and push.header("content-type") == "application/octet-stream"
        return
    assert push.header("content-type") == "application/notification+json"
    assert shown["navigate"] == "https://client.example.com/notifications"
    assert ("hello" in json.dumps(shown)) == (mode != "nudge")


def claims_of(authorization: str) -> dict:
    token = authorization.removeprefix("vapid ").split("t=")[1].split(",")[0]
    return json.loads(from_base64url(token.split(".")[1]))
