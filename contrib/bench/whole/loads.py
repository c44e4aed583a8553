"""What the bench of the whole way sends, made beforehand, and what it comes to."""

import asyncio
import json
import random
import secrets
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import cpu_seconds  # noqa: E402  (and the path of the interop tests' modules)
from nostr import Person  # noqa: E402
from relays import LocalRelay  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402

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


class Relays:
    """Five relays of nostr-sdk's, which take the lines of a load in turn, and hand them to the router that listens."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.all = [BenchRelay(folder / str(number)).start() for number in range(5)]

    def publish(self, lines: list[str]):
        async def tell(relay: LocalRelay, part: list[str]):
            # It closes a connection that has brought 6,000.
            for first in range(0, len(part), 5_000):
                async with connect(relay.url, proxy=None, compression=None, max_size=None) as connection:
                    await tell_some(connection, part[first : first + 5_000])

        async def tell_some(connection, part: list[str]):
            for first in range(0, len(part), 100):
                some = part[first : first + 100]
                for line in some:
                    await connection.send(f'["EVENT",{line}]')
                for _ in some:
                    answer = json.loads(await connection.recv())
                    assert answer[0] == "OK" and answer[2], answer

        async def tell_all():
            await asyncio.gather(*(tell(relay, lines[n :: len(self.all)]) for n, relay in enumerate(self.all)))

        asyncio.run(tell_all())

    @property
    def cpu(self) -> float:
        return sum(cpu_seconds(relay.process.pid) for relay in self.all)

    def stop(self):
        for relay in self.all:
            relay.kill()
