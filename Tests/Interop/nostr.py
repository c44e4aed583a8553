"""People on Nostr: keys, events and encryption by nostr-sdk, and a bare socket to speak over."""

import json
import secrets
import time

import nostr_sdk as sdk
from websockets.sync.client import connect

from programs import PATIENCE
from router import Router

REGISTRATION = 10062
ADDRESSABLE_REGISTRATION = 30062
ADVERTISEMENT = 10067
ALL_SIGNALS = {name: True for name in ["dm", "mention", "reply", "reaction", "repost", "follow", "zap"]}


def device_token() -> str:
    """An APNs device token."""
    return secrets.token_hex(32)


class Person:
    """Never writes the same event twice, even within one second: `created_at` steps ahead where it must."""

    def __init__(self):
        self.keys = sdk.Keys.generate()
        self.hex: str = self.keys.public_key().to_hex()
        self.npub: str = self.keys.public_key().to_bech32()
        self._registered_at = 0
        self._written: set[str] = set()
        self._last_second: dict[str, int] = {}

    def event(self, kind: int, content: str = "", tags=(), created_at: int | None = None) -> dict:
        text = repr((kind, content, tags))
        # Starting over at now would try all the seconds that equal events have taken: a second's work for a hundred of them.
        chosen = created_at
        if chosen is None and text in self._last_second:
            chosen = max(int(time.time()), self._last_second[text] + 1)
        while True:
            builder = sdk.EventBuilder(sdk.Kind(kind), content).tags([sdk.Tag.parse(list(tag)) for tag in tags])
            if chosen is not None:
                builder = builder.custom_created_at(sdk.Timestamp.from_secs(chosen))
            event = json.loads(builder.finalize(self.keys).as_json())
            if created_at is not None or event["id"] not in self._written:
                self._written.add(event["id"])
                if created_at is None:
                    self._last_second[text] = event["created_at"]
                return event
            chosen = event["created_at"] + 1

    def note(self, content: str, *people: "Person", tags=()) -> dict:
        return self.event(1, content, [*tags, *(["p", person.hex] for person in people)])

    def reply(self, content: str, to: dict) -> dict:
        return self.event(1, content, [["e", to["id"], "", "root", to["pubkey"]], ["p", to["pubkey"]]])

    def reaction(self, content: str, to: dict) -> dict:
        return self.event(7, content, [["e", to["id"]], ["p", to["pubkey"]], ["k", str(to["kind"])]])

    def message(self, text: str, to: "Person") -> dict:
        """A private message in a gift wrap (NIP-17, NIP-59)."""
        return json.loads(sdk.nip17_make_private_msg(self.keys, to.keys.public_key(), text).as_json())

    def encrypt(self, text: str, to: str) -> str:
        return self.keys.nip44_encrypt(sdk.PublicKey.parse(to), text)

    def registration(
        self,
        router: Router,
        content: dict | None,
        device: str | None = None,
        kind: int = REGISTRATION,
        d: str | None = None,
        created_at: int | None = None,
        root: "Person | None" = None,
        tags=(),
    ) -> dict:
        """An event that registers a device with `router`, or deregisters it where there is no content; `root` is who this
        key is a device of."""
        us = router.public_key
        if created_at is None:
            # Of two events of the same second the lower id counts; people do not register twice in a second.
            created_at = max(int(time.time()), self._registered_at + 1)
            self._registered_at = created_at
        if d is None:
            d = us if device is None else f"{us}:{device}"
        for secret in secrets_in(content or {}):
            router.secrets.add(secret)
        text = "" if content is None else self.encrypt(json.dumps(content), us)
        tags = [["d", d], ["protocol_version", "1"], *tags]
        if root is not None:
            tags.append(["root_identity", root.hex])
        return self.event(kind, text, tags, created_at)

    def authentication(self, challenge: str, relay: str) -> dict:
        """NIP-42."""
        return self.event(22242, "", [["relay", relay], ["challenge", challenge]])


def secrets_in(content: dict) -> list[str]:
    """What of a registration must never be seen: the token, the endpoint, the keys."""
    subscription = content.get("subscription") or {}
    values = [content.get(name) for name in ["token", "push_endpoint", "p256dh", "auth"]]
    values += [subscription.get("endpoint")]
    values += [*(subscription.get("keys") or {}).values(), *(content.get("keys") or {}).values()]
    return [value for value in values if isinstance(value, str) and value]


def ios(token: str, **more) -> dict:
    """The content of a registration for APNs."""
    return {"platform": "ios", "token": token, "filters": ALL_SIGNALS, **more}


class Socket:
    """A connection to a relay that says exactly what it is told to."""

    def __init__(self, router: Router, **options):
        """`options` are those of the `websockets` package. Its keep-alive is off: it would end a connection on which
        the router still works through thousands of registrations."""
        options = {"proxy": None, "compression": None, "max_size": None, "ping_interval": None} | options
        self._context = connect(router.url, **options)
        self.connection = self._context.__enter__()
        greeting = self.receive()
        assert greeting[0] == "AUTH", greeting
        self.challenge: str = greeting[1]

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *_):
        self._context.__exit__(None, None, None)

    def send(self, message):
        """A list goes out as JSON, text and bytes as they are."""
        self.connection.send(json.dumps(message) if isinstance(message, list) else message)

    def receive(self) -> list:
        return json.loads(self.connection.recv(timeout=PATIENCE))

    def ask(self, message) -> list:
        """Sends one message and returns the next that comes."""
        self.send(message)
        return self.receive()

    def offer(self, event: dict) -> tuple[bool, str]:
        """Publishes an event; whether it was accepted, and the words beside it."""
        answer = self.ask(["EVENT", event])
        assert answer[:2] == ["OK", event["id"]], answer
        return answer[2], answer[3]

    def publish(self, *events: dict):
        """Publishes events one after the other without waiting between; all must be accepted, in whatever order."""
        for event in events:
            self.send(["EVENT", event])
        unanswered = {event["id"] for event in events}
        while unanswered:
            answer = self.receive()
            assert answer[0] == "OK" and answer[1] in unanswered and answer[2] is True, answer
            unanswered.remove(answer[1])

    def query(self, *filters: dict) -> list[dict]:
        """The stored events that match, or fails when the relay refuses."""
        self.send(["REQ", "query", *filters])
        events = []
        while (answer := self.receive())[0] == "EVENT":
            events.append(answer[2])
        assert answer == ["EOSE", "query"], answer
        self.send(["CLOSE", "query"])
        return events

    def authenticate(self, person: Person, relay: str) -> tuple[bool, str]:
        event = person.authentication(self.challenge, relay)
        answer = self.ask(["AUTH", event])
        assert answer[:2] == ["OK", event["id"]], answer
        return answer[2], answer[3]
