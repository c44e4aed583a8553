"""More events than can be pushed: see contrib/bench/load."""

import asyncio
import json
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.client import connect

from collector import Collector
from lab import Lab
from nostr import Person, Socket, device_token, ios
from programs import wait_until
from router import Router


class FloodedRouter(Router):
    """Logs as in production, and takes so many deliveries to disk at most."""

    log_level = "info"
    apps = ["default", "second", "third", "fourth"]
    """Each has a queue of its own, and so its own share of the outbox."""

    def start(self, *arguments, **more) -> "Router":
        platforms = self.configuration["apps"]["default"]
        self.configuration["apps"] = {app: platforms for app in self.apps}
        # What slows sources down is to be the outbox, not how much one connection may say.
        self.configuration["relay"]["limits"] = {"per_connection_per_second": 10_000}
        return super().start(*arguments, **more)

    @property
    def resident(self) -> float:
        """What it has in memory, in MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("there is no VmRSS")


@dataclass
class Figures:
    wanted: int = 0
    """Events that sources had by the end of the flood."""
    accepted: int = 0
    """What of these they could bring."""
    too_busy: int = 0
    """Answers that asked to try again later."""
    slowest: float = 0
    """The longest that an answer took, in seconds."""
    pushed_meanwhile: int = 0
    resident_before: float = 0
    resident_most: float = 0
    resident_after: float = 0
    most_waiting: int = 0
    """Deliveries in the outbox; what is gathered for a device is none yet."""
    until_prompt: float = 0
    """Seconds from the end of the flood until an event was answered within half a second again."""
    until_empty: float = 0
    """Seconds from the end of the flood until everything was pushed."""
    lost: int = 0
    repeated: int = 0
    samples: list[tuple[float, float]] = field(default_factory=list)


class Flood:
    """`devices` take one push each at a time, and each push takes `delay` milliseconds: so many a second can be pushed."""

    connections = 8
    outstanding = 50
    """Events that a connection brings before it waits for answers."""

    def __init__(self, router: FloodedRouter, lab: Lab, devices: int, delay: int, apps: int = 1):
        self.router = router
        self.lab = lab
        self.collector = Collector(lab)
        self.people = [Person() for _ in range(devices)]
        self.authors = [Person() for _ in range(20)]
        self.delay = delay
        self.apps = FloodedRouter.apps[:apps]
        """The devices' apps, in turn."""
        self.figures = Figures()
        self._accepted: set[str] = set()
        self._told = 0
        self._heard = 0

    @property
    def capacity(self) -> float:
        """Pushes a second."""
        return len(self.people) * 1000 / self.delay

    def register(self):
        for first in range(0, len(self.people), 100):
            with Socket(self.router) as socket:
                socket.publish(*(self._registration(number) for number in range(first, len(self.people))[:100]))

    def _registration(self, number: int) -> dict:
        app = self.apps[number % len(self.apps)]
        return self.people[number].registration(self.router, ios(device_token(), mode="wake", app=app))

    @property
    def told(self) -> int:
        """Of how many events pushes told: what waits for a crowded push service is gathered."""
        received = self.collector.received
        end = len(received)
        self._told += sum(push.payload.get("n", 1) for push in received[self._heard : end] if push.status == 200)
        self._heard = end
        return self._told

    def run(self, seconds: float, times: float = 10):
        """Has `times` as many events as can be pushed, for so long, and brings them as fast as they are taken."""
        figures = self.figures
        figures.resident_before = self.router.resident
        self.lab.misbehave("delay", milliseconds=self.delay, times=0)
        asyncio.run(self._flood(seconds, self.capacity * times))
        figures.pushed_meanwhile = len(self.collector.accepted)
        end = time.monotonic()
        self.lab.behave()
        prompt = self._until_prompt(end)
        expected = self._accepted | prompt
        wait_until(
            lambda: self._sample() and self.told >= len(expected),
            "everything is pushed",
            self.router.process,
            timeout=600,
        )
        figures.until_empty = time.monotonic() - end
        left = self.router.stop()
        self.collector.stop()
        figures.lost = max(0, len(expected) - self.told) + left
        figures.repeated = max(0, self.told - len(expected))

    def _until_prompt(self, end: float) -> set[str]:
        """Publishes until one is answered within half a second; the ids of all that were accepted."""
        ids = set()
        with Socket(self.router) as socket:
            while True:
                event = self.authors[0].note("is it prompt", self.people[0])
                begin = time.monotonic()
                is_accepted, _ = socket.offer(event)
                if is_accepted:
                    ids.add(event["id"])
                if is_accepted and time.monotonic() - begin < 0.5:
                    self.figures.until_prompt = time.monotonic() - end
                    return ids
                self._sample()

    def _sample(self) -> bool:
        figures = self.figures
        resident = self.router.resident
        figures.resident_most = max(figures.resident_most, resident)
        figures.resident_after = resident
        figures.samples.append((time.monotonic(), resident))
        figures.most_waiting = max(figures.most_waiting, self.router.waiting)
        return True

    async def _flood(self, seconds: float, rate: float):
        figures = self.figures
        again: deque[dict] = deque()
        begin = time.monotonic()
        made = 0

        def next_event() -> dict | None:
            nonlocal made
            now = time.monotonic() - begin
            if now > seconds:
                return None
            figures.wanted = int(now * rate)
            if again:
                return again.popleft()
            # Every event has its time: a source cannot bring what has not happened yet.
            if made > now * rate:
                return None
            made += 1
            return self.authors[made % len(self.authors)].note(f"note {made}", self.people[made % len(self.people)])

        async def connection():
            async with connect(self.router.url, compression=None, proxy=None, ping_interval=None) as socket:
                open_events: dict[str, tuple[dict, float]] = {}

                async def read():
                    async for text in socket:
                        message = json.loads(text)
                        if message[0] != "OK":
                            continue
                        event, sent = open_events.pop(message[1])
                        figures.slowest = max(figures.slowest, time.monotonic() - sent)
                        if message[2]:
                            self._accepted.add(message[1])
                        else:
                            assert message[3].startswith(("error:", "rate-limited:")), message
                            figures.too_busy += 1
                            again.append(event)

                reader = asyncio.create_task(read())
                while time.monotonic() - begin < seconds or open_events:
                    assert not reader.done(), f"the router hung up: {reader.exception()}"
                    event = next_event() if len(open_events) < self.outstanding else None
                    if event is None:
                        await asyncio.sleep(0.01)
                        continue
                    open_events[event["id"]] = (event, time.monotonic())
                    await socket.send(json.dumps(["EVENT", event]))
                reader.cancel()

        async def sampler():
            while True:
                self._sample()
                await asyncio.sleep(0.25)

        sampling = asyncio.create_task(sampler())
        await asyncio.gather(*(connection() for _ in range(self.connections)))
        sampling.cancel()
        figures.accepted = len(self._accepted)
