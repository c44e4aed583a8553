"""How much each push service sees: wake, nudge, sealed and alert on every transport, through the whole router."""

import base64
import json
import re
import secrets
import subprocess
import sys

import nostr_sdk as sdk
import pytest

from nostr import ALL_SIGNALS, Socket, device_token, ios
from programs import REPOSITORY, carillon, wait_until
from readable import ReadableServer
from subscriptions import App, base64url

CONTENT = "MEETMEATNOON"
NAME = "BOBTHEBUILDER"
NEUTRAL = "New notification"


@pytest.fixture
def readable():
    server = ReadableServer()
    yield server
    server.stop()


class Letter:
    """A reply of Bob's to a note of Alice's, who has one device."""

    def __init__(self, socket, router, alice, bob, content: dict):
        self.note = alice.note("the note that it answers")
        profile = bob.event(0, json.dumps({"name": NAME}))
        socket.publish(alice.registration(router, {"filters": ALL_SIGNALS, **content}), self.note, profile)
        self.reply = bob.reply(CONTENT, self.note)
        socket.publish(self.reply)
        self.bob = bob

    @property
    def secrets(self) -> list[str]:
        ids = [self.reply["id"], self.note["id"], self.bob.hex]
        binary = [bytes.fromhex(value) for value in ids]
        return [
            CONTENT,
            NAME,
            "the note that it answers",
            *ids,
            *(base64url(value) for value in binary),
            *(base64.b64encode(value).decode() for value in binary),
            self.bob.keys.public_key().to_bech32(),
        ]

    def leaks(self, text: str) -> list[str]:
        return [secret for secret in self.secrets if secret in text]


def everything(push) -> str:
    return push.everything_but_path + "\n" + push.line["path"]


def phone(lab) -> tuple[str, dict]:
    return "apns", ios(device_token())


def android(lab) -> tuple[str, dict]:
    return "fcm", {"platform": "android", "token": lab.android_token()}


def browser(lab) -> tuple[str, dict]:
    app = App()
    endpoint = lab.subscribe(app, secrets.token_hex(8))
    return "webpush", {"platform": "web", "subscription": {"endpoint": endpoint, "keys": app.keys}}


def distributor(lab) -> tuple[str, dict]:
    app = App()
    subscription = {"endpoint": lab.endpoint("upAlice"), "keys": app.keys}
    return "unifiedpush", {"platform": "unifiedpush", "subscription": subscription}


def plain_distributor(lab) -> tuple[str, dict]:
    return "unifiedpush", {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice")}


EVERYWHERE = [phone, android, browser, distributor, plain_distributor]


@pytest.mark.parametrize("mode", ["wake", "nudge", "sealed"])
@pytest.mark.parametrize("device", EVERYWHERE)
def test_only_an_alert_shows_author_and_content(router, lab, socket, alice, bob, device, mode):
    service, content = device(lab)
    letter = Letter(socket, router, alice, bob, {**content, "mode": mode})
    [push] = lab.accepted(1, service)
    assert letter.leaks(everything(push)) == []


@pytest.mark.parametrize("device", [phone, android, plain_distributor])
def test_an_alert_shows_author_and_content(router, lab, socket, alice, bob, device):
    service, content = device(lab)
    letter = Letter(socket, router, alice, bob, {**content, "mode": "alert"})
    [push] = lab.accepted(1, service)
    assert {CONTENT, NAME, letter.reply["id"]} <= set(letter.leaks(everything(push)))


def test_a_nudge_shows_the_neutral_text(router, lab, socket, alice, bob):
    Letter(socket, router, alice, bob, ios(device_token(), mode="nudge"))
    [push] = lab.accepted(1)
    assert push.payload["aps"]["alert"]["title"] == NEUTRAL
    assert push.payload["aps"]["mutable-content"] == 1
    assert push.header("apns-push-type") == "alert"


def unseal(envelope: dict, *options: str) -> dict:
    """By the reference that app developers are given."""
    result = subprocess.run(
        [sys.executable, REPOSITORY / "contrib/examples/unseal.py", *options],
        input=json.dumps(envelope),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_registering_key_decrypts_sealed_pushes(router, lab, socket, alice, bob):
    letter = Letter(socket, router, alice, bob, ios(device_token(), mode="sealed"))
    [push] = lab.accepted(1)
    assert push.payload["aps"]["alert"]["title"] == NEUTRAL
    envelope = push.payload["sealed"]
    opened = unseal(envelope, "--key", alice.keys.secret_key().to_hex())
    assert opened["body"] == CONTENT
    assert opened["event_id"] == letter.reply["id"]
    assert NAME in opened["title"]
    # nostr-sdk's NIP-44 is nobody's here.
    plaintext = alice.keys.nip44_decrypt(sdk.PublicKey.parse(envelope["from"]), envelope["ct"])
    assert len(plaintext.encode()) == 2048
    assert json.loads(plaintext) == opened


def test_a_sealing_key_decrypts_sealed_pushes(router, lab, socket, alice, bob):
    key = sdk.Keys.generate()
    content = ios(device_token(), mode="sealed", sealing_key=key.public_key().to_hex())
    Letter(socket, router, alice, bob, content)
    [push] = lab.accepted(1)
    assert unseal(push.payload["sealed"], "--key", key.secret_key().to_hex())["body"] == CONTENT


def test_subscription_keys_decrypt_sealed_pushes_on_a_phone(router, lab, socket, alice, bob):
    app = App()
    Letter(socket, router, alice, bob, ios(device_token(), mode="sealed", **app.keys))
    [push] = lab.accepted(1)
    envelope = push.payload["sealed"]
    assert envelope["alg"] == "aes128gcm"
    assert unseal(envelope, "--p256", app.secret.hex(), "--auth", app.auth.hex())["body"] == CONTENT


def test_a_browser_decrypts_sealed_pushes_of_constant_length(router, lab, socket, alice, bob):
    app = App()
    endpoint = lab.subscribe(app, "browser")
    subscription = {"endpoint": endpoint, "keys": app.keys}
    Letter(socket, router, alice, bob, {"platform": "web", "subscription": subscription, "mode": "sealed"})
    socket.publish(bob.note("x" * 5000, alice), bob.note("", alice))
    pushes = lab.accepted(3, "webpush")
    assert len({len(push.body) for push in pushes}) == 1
    assert CONTENT in app.decrypt(pushes[0].body).decode()


def test_a_topic_guessed_by_others_stays_with_its_owner(router, lab, socket, alice, bob, readable):
    """Moving it takes a code that is pushed there, and no answer tells whose a topic is."""
    content = {"platform": "ntfy", "push_endpoint": f"{readable.url}/alerts", "filters": ALL_SIGNALS}
    socket.publish(alice.registration(router, content))
    guessed = socket.offer(bob.registration(router, content))
    free = socket.offer(bob.registration(router, {**content, "push_endpoint": f"{readable.url}/free"}, device="free"))
    assert guessed == free == (True, "")
    [(path, _, message)] = readable.wait(1)
    assert (path, message["topic"]) == ("/", "alerts")
    [code] = re.findall(r"\b[0-9A-Z]{5}-[0-9A-Z]{5}\b", message["message"])
    assert alice.hex not in json.dumps(message) and bob.hex not in json.dumps(message)

    socket.publish(bob.note("for alice", alice))
    assert readable.wait(2)[1][2]["topic"] == "alerts"
    # And nothing of what is Bob's comes there, also after a restart.
    router.restart()
    with Socket(router) as again:
        note = alice.note("for bob", bob)
        again.publish(note)
        assert [post[2]["topic"] for post in readable.wait(3)[2:]] == ["free"]
        why = carillon("explain", note["id"], "--recipient", bob.hex, "--config", router.configuration_file).stdout
        assert "is not woken: its target is another account's" in why

        assert again.offer(bob.registration(router, {**content, "code": code.lower()})) == (True, "")
        again.publish(alice.note("for bob again", bob), bob.note("for alice again", alice))
        topics = sorted(post[2]["topic"] for post in readable.wait(5)[3:])
    assert topics == ["alerts", "free"]


def test_people_without_an_app_read_messages(router, lab, socket, alice, bob, readable):
    content = {"platform": "ntfy", "push_endpoint": f"{readable.url}/alerts", "access_token": "tk_secret"}
    letter = Letter(socket, router, alice, bob, {**content, "mode": "alert"})
    [(path, headers, message)] = readable.wait(1)
    assert path == "/"
    assert headers["authorization"] == "Bearer tk_secret"
    assert message["topic"] == "alerts"
    assert message["message"] == CONTENT and NAME in message["title"]

    gotify = {"platform": "gotify", "push_endpoint": f"{readable.url}/message?token=Asecret"}
    socket.publish(alice.registration(router, {"filters": ALL_SIGNALS, **gotify, "mode": "sealed"}))
    socket.publish(bob.reply("another", letter.note))
    path, headers, message = readable.wait(2)[1]
    assert (path, headers["x-gotify-key"]) == ("/message", "Asecret")
    # Nobody would decrypt it there.
    assert message["message"] == NEUTRAL


@pytest.mark.parametrize("mode", ["wake", "nudge", "sealed", "alert"])
def test_a_silent_rule_is_silent_on_every_platform(stopped_router, lab, alice, bob, readable, mode):
    rules = stopped_router.folder / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - { match: { kinds: [1] }, apns: { content-available: 1 } }\n")
    stopped_router.configuration["rules"] = "rules.yaml"
    router = stopped_router.start()
    with Socket(router) as socket:
        people = {"platform": "ntfy", "push_endpoint": f"{readable.url}/alerts", "mode": mode}
        socket.publish(
            alice.registration(router, {"filters": ALL_SIGNALS, **people}, device="desk"),
            alice.registration(router, ios(device_token(), mode=mode), device="phone"),
        )
        note = bob.note(CONTENT, alice)
        socket.publish(note)
        [push] = lab.accepted(1)
    assert push.header("apns-push-type") == "background"
    assert push.payload["aps"] == {"content-available": 1}
    assert ("sealed" in push.payload) == (mode == "sealed")

    def reason():
        told = carillon("explain", note["id"], "--config", router.configuration_file).stdout
        return "not sent: it is silent, and ntfy can only show what it gets" in told

    wait_until(reason, "the trace says why ntfy got nothing", router.process)
    assert readable.wait(0) == []


def test_a_too_large_payload_is_sent_as_nudge(stopped_router, lab, alice, bob):
    rules = stopped_router.folder / "rules.yaml"
    rules.write_text(
        'version: 1\nrules:\n  - { match: { kinds: [1] }, title: t, data: { whole: "{{event.content}}" } }\n'
    )
    stopped_router.configuration["rules"] = "rules.yaml"
    stopped_router.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token(), mode="alert")))
        socket.publish(bob.note("x" * 5000, alice))
        [push] = lab.accepted(1)
    assert push.payload["aps"]["alert"]["title"] == NEUTRAL
    assert "whole" not in push.payload
