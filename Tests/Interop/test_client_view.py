"""What contrib/docs/registration.md tells people who write clients, as it stands there."""

import json
import time

import nostr_sdk
import pytest

from documents import blocks
from nostr import Person, Socket, device_token
from programs import REPOSITORY


PAGE = REPOSITORY / "contrib/docs/registration.md"


@pytest.fixture
def client(router, alice):
    """The page's Python for Alice at this router, run to its end: registers a device of hers for UnifiedPush."""
    [code] = [block.text for block in blocks(PAGE) if "import nostr_sdk" in block.text]

    def run(endpoint: str) -> dict:
        places = {
            "nsec1…": alice.keys.secret_key().to_bech32(),
            "wss://notify.example.com": router.url,
            "https://ntfy.example.com/upAbC123?up=1": endpoint,
        }
        text = code
        for written, meant in places.items():
            assert text.count(written) == 1, written
            text = text.replace(written, meant)
        names: dict = {}
        exec(compile(text, PAGE.name, "exec"), names)
        return names

    return run


def test_the_python_registers_devices(client, router, lab, alice, bob):
    names = client(lab.endpoint("upAlice"))
    with Socket(router) as socket:
        socket.publish(bob.note("hello", alice))
        [push] = lab.accepted(1, "unifiedpush")
        assert json.loads(push.body) == {"t": "mention"}

        with pytest.raises(ValueError, match="token"):
            names["register"](router.url, alice.keys, "phone", {"platform": "ios", "token": "nonsense"})

        # Another device, under another name; the first one stays.
        token = device_token()
        router.secrets.add(token)
        names["register"](router.url, alice.keys, "phone", {"platform": "ios", "token": token})
        socket.publish(bob.note("hello again", alice))
        assert len(lab.accepted(1, "apns")) == 1


def test_its_device_can_be_removed(client, router, lab, alice, bob):
    person = Person()
    token = device_token()
    router.secrets.add(token)
    names = client(lab.endpoint("upAlice"))
    names["register"](router.url, person.keys, "phone", {"platform": "ios", "token": token})
    # Of two events of the same second the one with the lower id counts.
    event = person.registration(router, None, device="phone", kind=30062, created_at=int(time.time()) + 1)
    with Socket(router) as socket:
        socket.publish(event, bob.note("hello", person), bob.note("and you", alice))
        lab.accepted(1, "unifiedpush")
    assert lab.accepted(0, "apns", timeout=0) == []


def test_the_documented_session_works(router, lab, alice, bob):
    """Requests and answers of NIP-46, word for word."""
    [told] = [block.text for block in blocks(PAGE) if '"method": "register"' in block.text]
    lines = told.splitlines()
    requests = [json.loads(line[2:].replace("…", "")) for line in lines if line.startswith("→") and "connect" in line]
    answers = [json.loads(line[2:]) for line in lines if line.startswith("←") and "error" not in line]
    client = Person()
    registration = alice.registration(router, {"platform": "ios", "token": device_token()}, kind=30062)
    exchanges = [
        {**requests[0], "params": [router.public_key]},
        {"id": "2", "method": "register", "params": [json.dumps(registration)]},
    ]
    with Socket(router) as socket:
        socket.send(["REQ", "session", {"kinds": [24133], "#p": [client.hex]}])
        while socket.receive() != ["EOSE", "session"]:
            pass
        for request, answer in zip(exchanges, answers, strict=True):
            content = client.encrypt(json.dumps(request), router.public_key)
            socket.send(["EVENT", client.event(24133, content, [["p", router.public_key]])])
            while (message := socket.receive())[0] != "EVENT":
                assert message[2], message
            sender = nostr_sdk.PublicKey.parse(message[2]["pubkey"])
            assert json.loads(client.keys.nip44_decrypt(sender, message[2]["content"])) == answer
    with Socket(router) as socket:
        socket.publish(bob.note("hello", alice))
    lab.accepted(1)
