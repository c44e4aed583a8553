"""What the bench of the whole way sends, made beforehand, and what it comes to."""

import base64
import json
import random
import secrets
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import cpu_seconds  # noqa: E402  (and the path of the interop tests' modules)
from nostr import Person  # noqa: E402
from relays import LocalRelay  # noqa: E402

CROWD = 1_000
"""How many accounts an event of the scenario `crowd` names."""


class Load:
    """Events that were made beforehand, and what they come to."""

    def __init__(self, lines: list[str], pushes: int):
        self.lines = lines
        self.bytes = "".join(line + "\n" for line in lines).encode()
        self.events = len(lines)
        self.pushes = pushes


def reactions(count: int, authors: list[Person], people: list[Person]) -> Load:
    """Each to another note that nobody knows, so that context is sought for each."""

    def event(number: int) -> dict:
        person = people[number % len(people)]
        tags = [["e", secrets.token_hex(32), "", person.hex], ["p", person.hex], ["k", "1"]]
        return authors[number % len(authors)].event(7, random.choice("+🤙🔥❤"), tags)

    return Load([json.dumps(event(number), ensure_ascii=False) for number in range(count)], count)


def crowd(count: int, authors: list[Person], people: list[Person]) -> Load:
    named = people[:CROWD]
    events = [authors[number % len(authors)].note(f"to all {number} {secrets.token_hex(4)}", *named) for number in range(count)]
    return Load([json.dumps(event) for event in events], count * len(named))


def nobody(count: int, authors: list[Person]) -> Load:
    """Nothing verifies them, so the ids are made up: a few kinds, as relays have them."""
    likeness = [authors[n % len(authors)].note("a note of a usual length, which speaks of this and that " * (n % 7 + 1)) for n in range(50)]

    def line(number: int) -> str:
        event = dict(likeness[number % len(likeness)])
        event["id"] = secrets.token_hex(32)
        event["tags"] = [["e", secrets.token_hex(32)], ["p", secrets.token_hex(32)], ["p", secrets.token_hex(32)]]
        return json.dumps(event, separators=(",", ":"))

    return Load([line(number) for number in range(count)], 0)


def relayed(count: int, authors: list[Person]) -> Load:
    """As `nobody`, but signed: relays take nothing else."""
    tags = [["e", secrets.token_hex(32)], ["p", secrets.token_hex(32)], ["p", secrets.token_hex(32)]]
    words = "a note of a usual length, which speaks of this and that "
    events = [authors[n % len(authors)].event(1, f"{n} {words * (n % 7 + 1)}", tags) for n in range(count)]
    return Load([json.dumps(event, separators=(",", ":")) for event in events], 0)


def mixed(count: int, authors: list[Person], people: list[Person]) -> Load:
    """As `relayed`, but one of a hundred wakes somebody."""
    few = reactions(count // 100, authors, people)
    lines = relayed(count - few.events, authors).lines + few.lines
    random.shuffle(lines)
    return Load(lines, few.pushes)


class BenchRelay(LocalRelay):
    options = ["--unlimited"]


class Sender:
    """A connection to a relay on which events cost this program little, since it shares the cores: a library for WebSockets would take more
    of them than the relay does."""

    def __init__(self, relay: LocalRelay):
        self._socket = socket.create_connection(("127.0.0.1", relay.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def __enter__(self) -> "Sender":
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        lines = ["GET / HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        while b"\r\n\r\n" not in self._rest:
            self._receive()
        assert self._rest.startswith(b"HTTP/1.1 101"), self._rest
        self._rest = b""
        return self

    def __exit__(self, *_):
        self._socket.close()

    def publish(self, lines: list[str]):
        for first in range(0, len(lines), 200):
            some = lines[first : first + 200]
            self._socket.sendall(b"".join(map(self._frame, some)))
            accepted = 0
            while accepted < len(some):
                self._receive()
                assert b",false," not in self._rest, self._rest
                accepted += self._rest.count(b",true,")
                # The end of what may go on in the next piece.
                self._rest = self._rest[-5:]

    @staticmethod
    def _frame(line: str) -> bytes:
        """A text of a client's (RFC 6455) under a mask that changes nothing."""
        text = f'["EVENT",{line}]'.encode()
        assert 126 <= len(text) < 1 << 16
        return struct.pack(">BBHI", 0x81, 0x80 | 126, len(text), 0) + text

    def _receive(self):
        piece = self._socket.recv(1 << 16)
        assert piece, "a relay closed a connection"
        self._rest += piece


class Relays:
    """Five relays of nostr-sdk's, which take the lines of a load in turn, and hand them to the router that listens."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.all = [BenchRelay(folder / str(number)).start() for number in range(5)]

    def publish(self, lines: list[str]):
        """Until each relay has said OK to each of its events."""
        with ThreadPoolExecutor(len(self.all)) as threads:
            parts = [lines[number :: len(self.all)] for number in range(len(self.all))]
            # What went wrong with one is raised here.
            list(threads.map(self._hand, self.all, parts))

    @staticmethod
    def _hand(relay: LocalRelay, lines: list[str]):
        # It closes a connection that has brought 6,000.
        for first in range(0, len(lines), 5_000):
            with Sender(relay) as sender:
                sender.publish(lines[first : first + 5_000])

    @property
    def cpu(self) -> float:
        return sum(cpu_seconds(relay.process.pid) for relay in self.all)

    def stop(self):
        for relay in self.all:
            relay.kill()
