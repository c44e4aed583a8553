"""More than can be pushed, by every way in: the socket (the short form of contrib/bench/load), relays, feeds and the ingress."""

import http.client
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pywebpush import WebPusher

from collector import Collector
from flood import Flood, FloodedRouter
from nostr import device_token
from programs import free_port, wait_until
from relays import ScriptedRelay
from subscriptions import App


@pytest.fixture
def flooded(tmp_path, lab):
    router = FloodedRouter(tmp_path / "router", lab)
    yield router
    if router.is_running:
        router.kill()


def test_a_tenfold_flood_of_events_is_batched(flooded, lab):
    flooded.configuration["store"]["max_waiting"] = 500
    flooded.start()
    flood = Flood(flooded, lab, devices=40, delay=2_000)
    flood.register()
    flood.run(seconds=5)
    figures = flood.figures
    assert figures.lost == 0 and figures.repeated == 0, figures
    # One push service has a quarter of the outbox, and nobody waits for it.
    assert 20 < figures.most_waiting <= 500 / 4, figures
    assert figures.accepted > 2 * figures.pushed_meanwhile, figures
    assert figures.resident_most < figures.resident_before + 150, figures
    assert figures.until_prompt < 60 and figures.until_empty < 60, figures


def test_sources_wait_when_the_whole_outbox_is_full(flooded, lab):
    flooded.configuration["store"]["max_waiting"] = 40
    flooded.start()
    # Four push services have all of it.
    flood = Flood(flooded, lab, devices=60, delay=3_000, apps=4)
    flood.register()
    flood.run(seconds=8)
    figures = flood.figures
    assert figures.lost == 0 and figures.repeated == 0, figures
    assert 40 <= figures.most_waiting <= 45, figures
    assert figures.slowest > 1.5, "nothing slowed them down"
    assert figures.resident_most < figures.resident_before + 150, figures
    assert figures.until_prompt < 60 and figures.until_empty < 60, figures
    assert "The outbox is full; sources wait" in flooded.log_text


class Feed:
    """A FIFO, which takes no more than is read of it."""

    def __init__(self, folder):
        self.path = folder / "feed"
        self.told = 0
        os.mkfifo(self.path, 0o600)

    def begin(self, router: FloodedRouter):
        router.start(self.path)

    def tell(self, events: list[dict]):
        with self.path.open("w", buffering=1) as writer:
            for event in events:
                writer.write(json.dumps(event) + "\n")
                self.told += 1

    def stop(self):
        pass


class Relay(ScriptedRelay):
    """A relay that says everything as fast as it is heard."""

    told = 0

    def __init__(self, _):
        super().__init__()

    def begin(self, router: FloodedRouter):
        router.watch([self], per_user="none")
        router.start()

    def tell(self, events: list[dict]):
        for event in events:
            super().tell(event)
            self.told += 1


class Standstill:
    """Whether a source has been heard no further for a while."""

    def __init__(self, source):
        self.source = source
        self.told = -1
        self.since = 0.0

    def __call__(self) -> bool:
        if self.source.told != self.told:
            self.told, self.since = self.source.told, time.monotonic()
        return time.monotonic() - self.since > 2


@pytest.mark.parametrize("kind", [Feed, Relay])
def test_sources_without_responses_are_throttled_and_lose_nothing(tmp_path, lab, kind):
    router = FloodedRouter(tmp_path / "router", lab)
    router.configuration["store"]["max_waiting"] = 40
    source = kind(tmp_path)
    source.begin(router)
    try:
        # Four push services have all of the outbox.
        flood = Flood(router, lab, devices=40, delay=20_000, apps=4)
        flood.register()
        # More than fits into what lies between: the disk, the intake, the feed's own room, the system's buffers.
        text = "x" * 20_000
        notes = [
            flood.authors[number % 20].note(f"{number} {text}", flood.people[number % 40]) for number in range(2_300)
        ]
        before = router.resident
        lab.misbehave("delay", milliseconds=flood.delay, times=0)
        telling = threading.Thread(target=source.tell, args=[notes], daemon=True)
        telling.start()
        wait_until(Standstill(source), "the source is heard no further", router.process)
        assert 40 < source.told < len(notes), "nothing slowed it down"
        wait_until(lambda: 40 <= router.waiting <= 45, "the outbox is full, and no fuller", router.process)
        assert router.resident < before + 200
        lab.behave()
        wait_until(
            lambda: flood.told >= len(notes), "everything is pushed", router.process, timeout=120
        )
        telling.join(timeout=10)
        assert router.resident < before + 200
        assert router.stop() == 0
        flood.collector.stop()
        assert flood.told == len(notes)
    finally:
        source.stop()
        if router.is_running:
            router.kill()


class Senders:
    """Servers such as Mastodon, each of which keeps its connection, and comes again with what was refused."""

    def __init__(self, port: int, messages: list[str]):
        """`messages` are the paths to post to."""
        self._port = port
        self._left = iter(messages)
        self._choice = threading.Lock()
        subscription = {"endpoint": "https://unused.example", "keys": App().keys}
        self._body = WebPusher(subscription).encode(b"somebody favourited your post")["body"]
        self.accepted: list[str] = []
        self.refused = 0
        self.slowest = 0.0

    def run(self, count: int):
        with ThreadPoolExecutor(count) as senders:
            for sender in [senders.submit(self._send) for _ in range(count)]:
                sender.result()

    def _send(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while (path := self._next()) is not None:
            while not self._post(connection, path):
                time.sleep(0.2)
        connection.close()

    def _next(self) -> str | None:
        with self._choice:
            return next(self._left, None)

    def _post(self, connection: http.client.HTTPConnection, path: str) -> bool:
        begin = time.monotonic()
        connection.request("POST", path, self._body, {"content-encoding": "aes128gcm", "ttl": "3600"})
        answer = connection.getresponse()
        answer.read()
        self.slowest = max(self.slowest, time.monotonic() - begin)
        if answer.status == 202:
            self.accepted.append(path)
            return True
        assert answer.status == 503 and int(answer.headers["retry-after"]) > 0, answer.status
        self.refused += 1
        return False


def test_senders_of_push_messages_get_429_and_lose_nothing(tmp_path, lab):
    router = FloodedRouter(tmp_path / "router", lab)
    # One push service may have a quarter of it, and senders who can come again half of that.
    router.configuration["store"]["max_waiting"] = 1_600
    port = free_port()
    router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{port}"}
    collector = Collector(lab)
    router.start()
    try:
        tokens = [device_token() for _ in range(20)]
        messages = [f"/push/{tokens[number % 20]}/message-{number}" for number in range(1_500)]
        senders = Senders(port, messages)
        before = router.resident
        lab.misbehave("delay", milliseconds=3_000, times=0)
        sending = threading.Thread(target=senders.run, args=[8], daemon=True)
        sending.start()
        wait_until(lambda: senders.refused > 100, "senders are told to come again", router.process)
        assert 200 <= len(senders.accepted) < 600, "nothing slowed them down"
        assert router.waiting <= 200
        lab.behave()
        wait_until(lambda: not sending.is_alive(), "everything is brought", router.process, timeout=120)
        router.wait_until_nothing_waits()
        assert router.resident < before + 200
        assert router.stop() == 0
        collector.stop()
        pushed = sorted(push.payload["i"] for push in collector.accepted)
        assert pushed == sorted(path.rpartition("/")[2] for path in messages)
    finally:
        if router.is_running:
            router.kill()
