"""What a browser's push service gets, judged by http_ece and by py_vapid, which pywebpush signs with."""

import json
import time
import urllib.parse

import py_vapid
import pytest

from nostr import ALL_SIGNALS
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


def test_http_ece_reads_the_message(push):
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


def claims_of(authorization: str) -> dict:
    token = authorization.removeprefix("vapid ").split("t=")[1].split(",")[0]
    return json.loads(from_base64url(token.split(".")[1]))
