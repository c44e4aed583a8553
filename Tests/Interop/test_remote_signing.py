"""NIP-46 with the router: over its own socket and over relays, with nostr-sdk on the other side."""

import asyncio
import json
import secrets
import subprocess
from datetime import timedelta

import nostr_sdk as sdk
import pytest

from nostr import Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until
from relays import Client, LocalRelay, NostrRelay


class Session:
    """A client key's conversation with the router over any relay: encryption and events by nostr-sdk."""

    def __init__(self, connection, router, client: Person):
        self.connection, self.router, self.client = connection, router, client
        self.key = router.public_key
        connection.send(["REQ", "nip46", {"kinds": [24133], "#p": [client.hex]}])
        while connection.receive() != ["EOSE", "nip46"]:
            pass

    def request(self, method: str, *parameters: str, **patience: float) -> dict:
        identifier = secrets.token_hex(4)
        text = json.dumps({"id": identifier, "method": method, "params": list(parameters)})
        event = self.client.event(24133, self.client.encrypt(text, self.key), [["p", self.key]])
        self.connection.send(["EVENT", event])
        while True:
            message = self.connection.receive(**patience)
            if message[0] == "OK":
                assert message[2], message
            if message[0] == "EVENT":
                answer = message[2]
                assert answer["pubkey"] == self.key and ["p", self.client.hex] in answer["tags"]
                plain = self.client.keys.nip44_decrypt(sdk.PublicKey.parse(self.key), answer["content"])
                response = json.loads(plain)
                if response["id"] == identifier:
                    return response


@pytest.fixture(params=["own socket", "nostr-sdk", "nostr-relay"])
def meeting_place(request, tmp_path, stopped_router):
    """Opens connections to where client and router meet."""
    if request.param == "own socket":
        router = stopped_router.start()
        yield router, lambda person: Socket(router)
        return
    relay = {"nostr-sdk": LocalRelay, "nostr-relay": NostrRelay}[request.param](tmp_path / "relay").start()
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    wait_until(lambda: is_answered(router, relay), "the router listens for requests at the relay", router.process)
    yield router, lambda person: Client(relay, person)
    relay.kill()


def is_answered(router, relay) -> bool:
    """Relays do not keep requests: one that comes before the router listens there is lost."""
    stranger = Person()
    with Client(relay, stranger) as connection:
        try:
            return "id" in Session(connection, router, stranger).request("ping", timeout=2)
        except TimeoutError:
            return False


def test_a_session_from_connect_to_logout(meeting_place, lab, alice, bob):
    router, connection = meeting_place
    client = Person()
    with connection(client) as connection:
        session = Session(connection, router, client)
        assert session.request("ping").get("error"), "no session yet"
        assert session.request("connect", router.public_key)["result"] == "ack"
        assert session.request("ping")["result"] == "pong"
        assert session.request("get_public_key")["result"] == router.public_key
        assert "register" in session.request("sign_event", "{}")["error"]
        refused = session.request("register", json.dumps(alice.registration(router, {"platform": "ios"})))
        assert "token" in refused["error"]
        registration = alice.registration(router, ios(device_token()))
        assert session.request("register", json.dumps(registration))["result"] == "ack"
        assert session.request("logout")["result"] == "ack"
        assert session.request("ping").get("error"), "the session has ended"
    with Socket(router) as socket:
        socket.publish(bob.note("hello", alice))
    [push] = lab.accepted(1)
    assert push.payload["t"] == "mention"


def test_nostr_sdk_connects_by_the_url_that_the_command_prints(stopped_router):
    stopped_router.configuration["registration"] = {"secret_file": "secrets"}
    router = stopped_router.start()
    router.stop()
    # A port that is known before: the URL names it.
    port = free_port()
    router.configuration["relay"] = {"listen": f"127.0.0.1:{port}", "url": f"ws://127.0.0.1:{port}"}
    printed = carillon("keys", "bunker", "--config", router.configuration_file)
    assert printed.returncode == 0, printed.stderr
    url = printed.stdout.strip()
    assert url.startswith("bunker://") and "secret=" in url
    router.secrets.add(url.split("secret=")[1])
    router.start()

    async def talk():
        uri = sdk.NostrConnectUri.parse(url)
        signer = sdk.NostrConnect(uri, sdk.Keys.generate(), timedelta(seconds=30), None)
        return (await signer.get_public_key_async()).to_hex()

    assert asyncio.run(talk()) == router.public_key

    # The secret was for one client.
    client = Person()
    with Socket(router) as socket:
        session = Session(socket, router, client)
        assert session.request("connect", router.public_key, url.split("secret=")[1])["error"]
        assert session.request("connect", router.public_key)["error"]
        assert session.request("connect", router.public_key, "guess")["error"]


def test_sessions_survive_a_restart(router):
    client = Person()
    with Socket(router) as socket:
        assert Session(socket, router, client).request("connect", router.public_key)["result"] == "ack"
    router.restart()
    with Socket(router) as socket:
        assert Session(socket, router, client).request("ping")["result"] == "pong"


def test_a_required_session_refuses_registrations_without_one(stopped_router, lab, alice, bob):
    stopped_router.configuration["registration"] = {"require_session": True}
    router = stopped_router.start()
    with Socket(router) as socket:
        accepted, words = socket.offer(alice.registration(router, ios(device_token())))
        assert not accepted and words.startswith("restricted: "), words
    client = Person()
    with Socket(router) as socket:
        session = Session(socket, router, client)
        assert session.request("connect", router.public_key)["result"] == "ack"
        registration = alice.registration(router, ios(device_token()))
        assert session.request("register", json.dumps(registration))["result"] == "ack"
    with Socket(router) as socket:
        socket.publish(bob.note("hello", alice))
        lab.accepted(1)
        # Whoever wants out needs no session.
        assert socket.offer(alice.registration(router, None)) == (True, "")


def test_responses_are_readable_only_by_their_recipient(router):
    client, listener = Person(), Person()
    with Socket(router) as other, Socket(router) as socket:
        other.send(["REQ", "mine", {"kinds": [24133], "#p": [listener.hex]}])
        assert other.receive() == ["EOSE", "mine"]
        assert Session(socket, router, client).request("connect", router.public_key)["result"] == "ack"
        assert Session(other, router, listener).request("connect", router.public_key)["result"] == "ack"


def test_requests_on_our_socket_are_answered_only_there(stopped_router, tmp_path):
    relay = LocalRelay(tmp_path / "relay").start()
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    wait_until(lambda: is_answered(router, relay), "the router listens for requests at the relay", router.process)
    stranger, client = Person(), Person()
    with Socket(router) as socket, Client(relay, client) as connection, Client(relay, Person()) as witness:
        witness.send(["REQ", "answers", {"kinds": [24133], "authors": [router.public_key]}])
        assert witness.receive() == ["EOSE", "answers"]
        assert Session(socket, router, stranger).request("connect", router.public_key)["result"] == "ack"
        # What the router sends to a relay comes there in its order.
        assert Session(connection, router, client).request("connect", router.public_key)["result"] == "ack"
        assert ["p", client.hex] in witness.receive()[2]["tags"]
    relay.kill()
