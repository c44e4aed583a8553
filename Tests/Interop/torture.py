"""Events and registrations stream in while the router is killed again and again: see contrib/bench/torture."""

import asyncio
import json
import os
import random
import re
import shutil
import sqlite3
import time
from collections import deque
from contextlib import closing
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from collector import Collector
from lab import Lab
from programs import PATIENCE, wait_until
from router import Router
from torture_cast import Cast, Note, Offer, Operation, milliseconds_now


EVENT_ID = re.compile(rb'"event_id":"([0-9a-f]{64})"')
"""In the data of a notification, as the outbox has it."""


class TorturedRouter(Router):
    """Logs as in production, and its key is known while it is down."""

    log_level = "info"

    @property
    def public_key(self) -> str:
        if not hasattr(self, "_public_key"):
            self._public_key = super().public_key
        return self._public_key

    @property
    def held(self) -> int:
        """How many events a stopped router holds back for later."""
        with closing(sqlite3.connect(f"file:{self.outbox}?mode=ro", uri=True)) as database:
            return database.execute("SELECT coalesce(sum(count), 0) FROM outbox_held").fetchone()[0]

    def left_in_outbox(self, folder: Path) -> tuple[set[str], set[str]]:
        """The deliveries and their events that are in the outbox of a dead router, read from a copy: opening it would mend what is to be mended."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for end in ["", "-wal"]:
            if Path(f"{self.outbox}{end}").exists():
                shutil.copy(f"{self.outbox}{end}", folder / f"outbox{end}")
        if not (folder / "outbox").exists():
            return set(), set()
        with closing(sqlite3.connect(folder / "outbox")) as database:
            if not database.execute("SELECT 1 FROM sqlite_schema WHERE name = 'outbox_delivery'").fetchone():
                return set(), set()
            content = "coalesce((SELECT content FROM outbox_notification AS n WHERE n.number = shared), notification)"
            rows = database.execute(f"SELECT id, {content} FROM outbox_delivery").fetchall()
        return {row[0] for row in rows}, {match.decode() for row in rows for match in EVENT_ID.findall(row[1])}


class Torture:
    """One run. `rate` is events a second over all connections, of which one in five comes by the feed."""

    connections = 6
    outstanding = 24
    """Offers that a connection makes before it waits for answers."""

    def __init__(
        self,
        router: TorturedRouter,
        lab: Lab,
        *,
        seed: int,
        kills: int,
        rate: float = 50,
        accounts: int = 40,
        orderly: bool = False,
        paced: bool = False,
    ):
        self.router = router
        self.collector = Collector(lab)
        self.kills = kills
        self.orderly = orderly
        """Whether it is told to stop (SIGTERM) instead of being killed, which is to repeat nothing."""
        self.paced = paced
        """Whether devices are woken at a pace of their own: then nobody leaves, and pushes are counted by what they stand for."""
        if paced:
            router.configuration["defaults"] = {"cooldown_seconds": 1, "window_seconds": 2, "daily_cap": 0}
        self.stops: list[float] = []
        """How long it took to stop, in seconds."""
        self.rate = rate
        self.lots = random.Random(seed)
        self.cast = Cast(accounts, seed, int(time.time()), leaving=not paced)
        self.left: list[set[str]] = []
        """What was in the outbox after each kill or stop."""
        self.waiting: list[tuple[float, set[str]]] = []
        """When each kill was, and the events whose deliveries waited then."""
        self.killed_early = 0
        self.refusals: list[str] = []
        self._again: deque[Offer] = deque()
        self._owed = 0.0
        self._owed_since = time.monotonic()
        self._isStreaming = True
        self._pending = 0
        self._fifo = router.folder / "feed"
        os.mkfifo(self._fifo, 0o600)
        # Held open, so that lines outlive the router in the pipe.
        self._feed = os.open(self._fifo, os.O_RDWR | os.O_NONBLOCK)

    async def run(self, progress=lambda text: None):
        senders = []
        for kill in range(self.kills):
            self._spawn()
            if kill > 0 and not self.orderly and self.lots.random() < 0.15:
                self.killed_early += 1
                await asyncio.sleep(self.lots.uniform(0, 0.5))
            else:
                await self._started()
                if not senders:
                    self._again.extend(slot.change(self.router, self.lots) for slot in self.cast.slots)
                    senders = [asyncio.create_task(self._connection()) for _ in range(self.connections)]
                await asyncio.sleep(self.lots.uniform(0.05, 1.8))
            if self.orderly:
                await asyncio.to_thread(self._stop)
            else:
                self.router.kill()
            at = milliseconds_now()
            left, events = self.router.left_in_outbox(self.router.folder / "left")
            self.left.append(left)
            self.waiting.append((at, events))
            progress(
                f"{'stop' if self.orderly else 'kill'} {kill + 1} of {self.kills}: {len(self.cast.notes)} events, "
                f"{len(self.collector.received)} requests"
                + f", {len(left)} deliveries left"
                + (f", stopped in {self.stops[-1]:.1f} s" if self.orderly else "")
            )
        self._isStreaming = False
        self._spawn()
        await self._started()
        await self._until(lambda: self._pending == 0 and not self._again, "everything is answered")
        # The feed answers nobody: what was lost on its way, as nobody had promised anything, its writer brings again.
        fed = [note for note in self.cast.notes if note.is_fed]
        self._again.extend(fed)
        await self._until(lambda: all(note.answered for note in fed), "what was fed is answered")
        await asyncio.to_thread(self._drain)
        self.probes = [self.cast.note(account) for account in self.cast.accounts]
        self._spawn()
        await self._started()
        self._again.extend(self.probes)
        await self._until(lambda: all(note.answered for note in self.probes), "the probes are answered")
        for sender in senders:
            sender.cancel()
        await asyncio.gather(*senders, return_exceptions=True)
        await asyncio.to_thread(self._drain)
        self.collector.stop()
        os.close(self._feed)

    def _stop(self):
        begin = time.monotonic()
        self.router.stop()
        self.stops.append(time.monotonic() - begin)

    def _drain(self):
        """Ends the router in an orderly way, as often as it takes for nothing to wait."""
        for _ in range(60):
            if self.router.stop() == 0 and self.router.held == 0:
                return
            self.router.start(self._fifo)
            time.sleep(2)
        raise AssertionError("deliveries wait for ever")

    def _spawn(self):
        self.router.spawn(self._fifo)

    async def _started(self):
        await asyncio.to_thread(self.router.wait_for_port)

    async def _until(self, condition, what: str):
        deadline = time.monotonic() + 2 * PATIENCE
        while not condition():
            assert self.router.is_running, f"the router ended before {what}"
            assert time.monotonic() < deadline, f"not in time: {what}"
            await asyncio.sleep(0.05)

    async def _connection(self):
        while True:
            try:
                async with connect(self.router.url, compression=None, proxy=None, open_timeout=5) as socket:
                    await self._converse(socket)
            except (OSError, TimeoutError, WebSocketException, EOFError):
                await asyncio.sleep(0.03)

    async def _converse(self, socket):
        open_offers: dict[str, Offer] = {}
        reader = asyncio.create_task(self._read(socket, open_offers))
        try:
            while not reader.done():
                offer = self._next() if len(open_offers) < self.outstanding else None
                if offer is None or offer.event["id"] in open_offers:
                    if offer is not None:
                        self._again.append(offer)
                    await asyncio.sleep(0.01)
                    continue
                open_offers[offer.event["id"]] = offer
                self._pending += 1
                offer.sent = offer.sent or milliseconds_now()
                await socket.send(offer.message)
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            self._pending -= len(open_offers)
            self._again.extend(open_offers.values())

    async def _read(self, socket, open_offers: dict[str, Offer]):
        async for text in socket:
            message = json.loads(text)
            if message[0] != "OK" or message[1] not in open_offers:
                continue
            offer = open_offers.pop(message[1])
            self._pending -= 1
            if message[2]:
                offer.answered = offer.answered or milliseconds_now()
            elif message[3].startswith(("error:", "rate-limited:")):
                self._again.append(offer)
            else:
                self.refusals.append(f"{message[3]}: {json.dumps(offer.event)[:300]}")

    def _next(self) -> Offer | None:
        """What is to be sent now; None when it is too early for anything."""
        if self._again:
            return self._again.popleft()
        if not self._isStreaming:
            return None
        now = time.monotonic()
        self._owed = min(self._owed + (now - self._owed_since) * self.rate, 50)
        self._owed_since = now
        if self._owed < 1:
            return None
        self._owed -= 1
        lot = self.lots.random()
        if lot < 0.08:
            operation = self.cast.operation(self.router)
            if operation is not None:
                return operation
        note = self.cast.note()
        if lot > 0.8 and self._fed(note):
            return None
        return note

    def _fed(self, note: Note) -> bool:
        try:
            os.write(self._feed, json.dumps(note.event).encode() + b"\n")
        except BlockingIOError:
            return False
        note.is_fed = True
        note.sent = milliseconds_now()
        return True
