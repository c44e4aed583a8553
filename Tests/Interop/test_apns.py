"""What only some apps use of APNs: certificates, development builds, broadcast channels."""

import json
import re
import secrets

import pytest

from nostr import ALL_SIGNALS, Socket, device_token, ios
from programs import carillon


def app_by_certificate(lab) -> dict:
    """The block of an app that has Apple's certificate and no key."""
    apns = lab.addresses["apns"]
    return {
        "topic": apns["topic"],
        "base_url": apns["url"],
        "certificate_file": apns["certificate_p12_file"],
        "certificate_password_file": apns["certificate_password_file"],
    }


def test_a_certificate_replaces_the_token(stopped_router, lab, alice, bob):
    stopped_router.configuration["apps"]["default"]["ios"] = app_by_certificate(lab)
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        socket.publish(bob.message("hello", alice))
    [push] = lab.accepted(1, "apns")
    assert push.header("authorization") is None
    assert push.header("apns-topic") == lab.addresses["apns"]["topic"]


def test_check_names_errors_in_a_certificate(stopped_router, lab):
    block = app_by_certificate(lab) | {"topic": "org.example.other"}
    stopped_router.configuration["apps"]["default"]["ios"] = block
    result = carillon("check", "--config", stopped_router.configuration_file)
    assert result.returncode == 1
    assert "topic" in result.stderr and "com.example.app" in result.stderr


def test_a_development_build_is_reached_in_the_sandbox(stopped_router, lab, alice, bob):
    """The registration does not say that it is one: Apple calls the token bad, and the other environment takes it."""
    stopped_router.configuration["apps"]["default"]["ios"] |= {
        "sandbox": lab.addresses["apns_sandbox"]["url"],
        "try_other_environment": True,
    }
    router = stopped_router.start()
    token = device_token()
    lab.declare(token, "registered", environment="sandbox")
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(token)))
        socket.publish(bob.message("hello", alice))
        refused, taken = lab.attempts(2)
        assert (refused.status, taken.status) == (400, 200)
        assert refused.apns_id == taken.apns_id
        lab.forget()
        # What worked is remembered.
        socket.publish(bob.message("hello again", alice))
        lab.accepted(1)
    assert router.stop() == 0
    assert [push.status for push in lab.received()] == [200]


@pytest.fixture
def broadcaster(stopped_router, lab):
    """A router that may broadcast, and what says so."""
    key = stopped_router.folder / "broadcast.key"
    key.write_text(secrets.token_hex(16))
    key.chmod(0o600)
    apns = lab.addresses["apns"]
    stopped_router.configuration["apps"]["default"]["ios"] |= {
        "broadcast_key_file": str(key),
        "broadcast_management": apns["broadcast_management"],
    }
    rules = stopped_router.folder / "rules.yaml"
    score = {"event": "update", "content-state": {"score": "{{event.content}}"}}
    rule = {"name": "score", "match": {"kinds": [1]}, "title": "Score", "apns": score}
    rules.write_text(json.dumps({"version": 1, "rules": [rule]}))
    stopped_router.configuration["rules"] = str(rules)
    stopped_router.broadcast_key = key.read_text()
    return stopped_router


def ask(router, *words, expected: int = 0) -> str:
    """`carillon push ios …`"""
    result = carillon("push", "--config", router.configuration_file, "ios", *words)
    assert result.returncode == expected, result.stderr
    return result.stdout if expected == 0 else result.stderr


def new_channel(router) -> str:
    """The id of a channel that was made for it."""
    made = re.search(r"[A-Za-z0-9+/]{16,}={0,2}", ask(router, "channels", "create", "--storage", "latest"))
    assert made
    return made.group()


def test_channels_are_made_listed_and_deleted_from_the_command_line(broadcaster):
    assert "channels create" in ask(broadcaster)
    channel = new_channel(broadcaster)
    assert channel in ask(broadcaster, "channels", "list")
    ask(broadcaster, "channels", "delete", channel)
    assert channel not in ask(broadcaster, "channels", "list")
    assert ask(broadcaster, "channels", "paint", expected=1)


def test_a_platform_that_is_not_configured_is_named_with_those_that_are(broadcaster):
    result = carillon("push", "--config", broadcaster.configuration_file, "pager", "help")
    assert result.returncode == 1
    assert "pager" in result.stderr and "android, gotify" in result.stderr


def test_a_nostr_event_is_broadcast_to_a_channel(broadcaster, lab, alice, bob):
    channel = new_channel(broadcaster)
    router = broadcaster.start()
    content = {
        "platform": "ios",
        "token": f"channel:{channel}",
        "broadcast_key": broadcaster.broadcast_key,
        "mode": "alert",
        "filters": ALL_SIGNALS,
    }
    lab.forget()
    with Socket(router) as socket:
        refused, words = socket.offer(alice.registration(router, content | {"broadcast_key": "guessed"}))
        assert not refused and "broadcast_key" in words
        socket.publish(alice.registration(router, content))
        socket.publish(bob.note("2:1", alice))
    [push] = lab.accepted(1, "apns")
    assert push.line["path"] == f"/4/broadcasts/apps/{lab.addresses['apns']['topic']}"
    assert push.header("apns-channel-id") == channel
    assert push.header("apns-push-type") == "liveactivity"
    assert push.header("apns-topic") is None
    assert push.payload["aps"]["content-state"] == {"score": "2:1"}
