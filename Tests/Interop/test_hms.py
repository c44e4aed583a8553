"""Huawei's Push Kit, as the lab plays it."""

import json
import secrets

import pytest

from nostr import ALL_SIGNALS, Socket


@pytest.fixture
def hms_router(stopped_router, lab):
    stopped_router.add_plugin("libCarillonHMS.so")
    stopped_router.configuration["apps"]["default"]["hms"] = lab.hms
    stopped_router.secrets.add(lab.hms["client_secret"])
    return stopped_router


def device() -> str:
    return "IQAAAACy0" + secrets.token_urlsafe(90)


def registration(router, person, token: str, **more) -> dict:
    return person.registration(router, {"platform": "hms", "token": token, "filters": ALL_SIGNALS, **more})


def test_a_device_gets_what_its_mode_allows(hms_router, lab, alice, bob):
    router = hms_router.start()
    token = device()
    note = alice.note("root")
    with Socket(router) as socket:
        socket.publish(registration(router, alice, token, mode="alert"), note)
        socket.publish(bob.reply("Grüße", note))
        [alert] = lab.accepted(1, "hms")
        message = alert.payload["message"]
        assert message["token"] == [token] and "notification" not in message["android"]
        data = json.loads(message["data"])
        assert data["body"] == "Grüße" and data["t"] == "reply"
        socket.publish(registration(router, alice, token, mode="nudge"))
        socket.publish(bob.reply("secret", note))
        nudge = lab.accepted(2, "hms")[1].payload["message"]
        assert "data" not in nudge and nudge["android"]["notification"]["click_action"] == {"type": 3}
        socket.publish(registration(router, alice, token))
        socket.publish(bob.reply("secret", note))
        wake = lab.accepted(3, "hms")[2].payload["message"]
        assert json.loads(wake["data"]) == {"t": "reply"}
    assert all(b"secret" not in push.body for push in lab.received("hms"))
    # One access token for all.
    assert len(lab.received("hms_oauth")) == 1


def test_what_push_kit_refuses(hms_router, lab, alice, bob):
    router = hms_router.start()
    token = device()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, token))
        lab.misbehave("answer", status=503, retry_after=1, service="hms")
        lab.misbehave("answer", status=401, reason="80200003", service="hms")
        socket.publish(bob.message("hello", alice))
        router.wait_for_deliveries(1)
        assert [push.status for push in lab.received("hms")] == [503, 401, 200]
        assert len({push.body for push in lab.received("hms")}) == 1
        lab.declare(token, "invalid", service="hms")
        socket.publish(bob.message("hello again", alice))
        router.wait_for_log("outcome=gone")
        socket.publish(bob.message("and again", alice))
    assert router.stop() == 0
    assert len(lab.received("hms")) == 4


def test_a_wrong_secret_pauses_and_loses_nothing(hms_router, lab, alice, bob):
    block = hms_router.configuration["apps"]["default"]["hms"]
    right = block["client_secret"]
    block["client_secret"] = "of-another-app"
    hms_router.secrets.add("of-another-app")
    router = hms_router.start()
    with Socket(router) as socket:
        socket.publish(registration(router, alice, device()))
        socket.publish(bob.message("hello", alice))
        router.wait_for_log("Huawei gives the app no access token")
    assert router.stop() == 1
    block["client_secret"] = right
    router.start()
    lab.accepted(1, "hms")
