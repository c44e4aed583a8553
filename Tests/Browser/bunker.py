"""A remote signer (NIP-46) and its relay in one; nostr-sdk checks, signs and encrypts."""

import json
import secrets
import ssl
import threading
from pathlib import Path

import nostr_sdk
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from nostr import Person

KIND = 24133


class Bunker:
    """Answers one page for one person."""

    def __init__(self, person: Person, certificate: Path):
        """`certificate` is of localhost, with its key."""
        self.person = person
        self.signer = Person()
        """Its own key, which is not the person's."""
        self.secret = secrets.token_hex(8)
        self.asked: list[str] = []
        self.approval = ""
        """An address at which the next connection is to be approved."""
        self._clients: set[str] = set()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server = serve(self._serve, "127.0.0.1", 0, ssl=context)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()

    @property
    def url(self) -> str:
        port = self._server.socket.getsockname()[1]
        return f"bunker://{self.signer.hex}?relay=wss%3A%2F%2Flocalhost%3A{port}&secret={self.secret}"

    def _serve(self, socket):
        subscriptions: dict[str, dict] = {}
        try:
            # A relay that wants to know who asks (NIP-42).
            challenge = secrets.token_hex(8)
            socket.send(json.dumps(["AUTH", challenge]))
            for text in socket:
                message = json.loads(text)
                match message[0]:
                    case "REQ":
                        subscriptions[message[1]] = message[2]
                        socket.send(json.dumps(["EOSE", message[1]]))
                    case "AUTH":
                        proof = nostr_sdk.Event.from_json(json.dumps(message[1]))
                        assert proof.verify() and ["challenge", challenge] in message[1]["tags"]
                        socket.send(json.dumps(["OK", message[1]["id"], True, ""]))
                    case "EVENT":
                        event = message[1]
                        assert nostr_sdk.Event.from_json(json.dumps(event)).verify(), "the page signs wrongly"
                        socket.send(json.dumps(["OK", event["id"], True, ""]))
                        for answer in self._answers(event):
                            for name, wanted in subscriptions.items():
                                if event["pubkey"] in wanted["#p"] and KIND in wanted["kinds"]:
                                    socket.send(json.dumps(["EVENT", name, answer]))
        except ConnectionClosed:
            pass

    def _answers(self, event: dict):
        client = nostr_sdk.PublicKey.parse(event["pubkey"])
        request = json.loads(self.signer.keys.nip44_decrypt(client, event["content"]))
        self.asked.append(request["method"])
        if request["method"] == "connect" and self.approval:
            yield self._event(client, {"id": request["id"], "result": "auth_url", "error": self.approval})
        try:
            result = {"result": self._result(event["pubkey"], request["method"], request["params"])}
        except PermissionError as error:
            result = {"error": str(error)}
        yield self._event(client, {"id": request["id"], **result})

    def _event(self, client, content: dict) -> dict:
        text = self.signer.keys.nip44_encrypt(client, json.dumps(content))
        return self.signer.event(KIND, text, [["p", client.to_hex()]])

    def _result(self, client: str, method: str, parameters: list) -> str:
        if method == "connect":
            if parameters[:2] != [self.signer.hex, self.secret]:
                raise PermissionError("wrong secret")
            self._clients.add(client)
            return "ack"
        if client not in self._clients:
            raise PermissionError("not connected")
        match method:
            case "get_public_key":
                return self.person.hex
            case "nip44_encrypt":
                return self.person.encrypt(parameters[1], parameters[0])
            case "sign_event":
                event = {**json.loads(parameters[0]), "pubkey": self.person.hex}
                return nostr_sdk.UnsignedEvent.from_json(json.dumps(event)).sign(self.person.keys).as_json()
        raise PermissionError(f"no such method: {method}")
