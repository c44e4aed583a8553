"""The API under load: readers of /v1/stream and senders at /v1/notify. See `run`."""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(REPOSITORY / "Tests/Interop"), str(REPOSITORY / "contrib/bench/latency")]

from lab import Lab  # noqa: E402
from latency import percentile, register, send  # noqa: E402
from nostr import Person  # noqa: E402
from programs import built, carillon, wait_until  # noqa: E402
from router import Router  # noqa: E402

# A token may ask 200 times a second; a few to spare.
PER_TOKEN = 150
CONNECTIONS_PER_TOKEN = 6


class APIRouter(Router):
    """One with an API that logs as in production."""

    def start(self) -> "APIRouter":
        port, api = self.folder / "port", self.folder / "api-port"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    built("carillon"), "serve", "--config", self.configuration_file, "--port-file", port,
                    "--api-port-file", api,
                ],
                stdout=log, stderr=subprocess.STDOUT,
            )
        wait_until(lambda: port.exists() and api.exists(), "the router writes its ports", self.process)
        self.port, self.api = int(port.read_text()), int(api.read_text())
        return self

    def memory(self, what: str) -> float:
        """In MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) / 1024
        raise AssertionError(what)


class Readers:
    """Many who read the stream: most follow one account, some everything. They count."""

    def __init__(self, port: int, token: str, count: int, people: list[Person]):
        self.port, self.token, self.count, self.people = port, token, count, people
        self.entries = self.lost = self.bytes = self.ended = 0

    async def read(self, number: int):
        query = "" if number % 20 == 0 else f"?account={self.people[number % len(self.people)].hex}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"GET /v1/stream{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode()
        )
        status = await reader.readline()
        assert b" 200 " in status, status
        while data := await reader.read(65536):
            self.bytes += len(data)
            self.entries += data.count(b"\nid: ") + data.startswith(b"id: ")
            self.lost += data.count(b"event: lost")
        self.ended += 1


class Senders:
    def __init__(self, port: int, tokens: list[str], people: list[Person], rate: int):
        self.port, self.tokens, self.people, self.rate = port, tokens, people, rate
        self.times: list[float] = []
        self.refused: dict[str, int] = {}
        self.sent = 0

    async def send(self, token: str, begin: float, end: float, gap: float, offset: int):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        due, number = begin + offset * gap / CONNECTIONS_PER_TOKEN, offset
        while due < end:
            wait = due - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            body = json.dumps({"to": {"account": self.people[number % len(self.people)].hex}, "title": f"note {number}"})
            started = time.monotonic()
            writer.write(
                f"POST /v1/notify HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            status = (await reader.readline()).split()[1].decode()
            length = 0
            while (line := await reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            await reader.readexactly(length)
            self.sent += 1
            if status == "202":
                self.times.append((time.monotonic() - started) * 1000)
            else:
                self.refused[status] = self.refused.get(status, 0) + 1
            due, number = due + gap, number + CONNECTIONS_PER_TOKEN

    async def run(self, seconds: float):
        begin = time.monotonic() + 0.5
        gap = CONNECTIONS_PER_TOKEN * len(self.tokens) / self.rate
        await asyncio.gather(
            *(
                self.send(token, begin, begin + seconds, gap, connection)
                for token in self.tokens
                for connection in range(CONNECTIONS_PER_TOKEN)
            )
        )


class Load:
    """Readers and senders in a thread of their own."""

    def __init__(self, readers: Readers, senders: Senders, seconds: float):
        self.readers, self.senders, self.seconds = readers, senders, seconds
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    async def _run(self):
        reading = [asyncio.create_task(self.readers.read(number)) for number in range(self.readers.count)]
        await asyncio.sleep(max(1, self.readers.count / 500))
        failed = [task for task in reading if task.done()]
        assert not failed, failed[0].exception()
        self.ready.set()
        await self.senders.run(self.seconds)
        for task in reading:
            task.cancel()


class Pushes:
    """Events at a rate, and their pushes."""

    def __init__(self, router: Router, lab: Lab, events: list[dict], rate: int):
        lab.forget()
        sent, _ = asyncio.run(send(router, events, rate))
        ids = {event["id"] for event in events}
        deadline = time.monotonic() + 120
        while len(found := self._found(lab, ids)) < len(ids):
            assert time.monotonic() < deadline, f"{len(ids) - len(found)} events have no push"
            # The record has the load's pushes as well, and is read as a whole.
            time.sleep(1)
        self.times = [found[name] - sent[name] for name in found]
        """From an event to its push, in milliseconds."""
        self.per_second = len(found) / max(0.001, (max(found.values()) - min(sent.values())) / 1000)

    @staticmethod
    def _found(lab: Lab, ids: set[str]) -> dict[str, float]:
        return {
            push.payload["event_id"]: push.line["received_at"]
            for push in lab.received("apns")
            if push.payload.get("event_id") in ids
        }


class Comparison:
    """The same measured alone and beside the load, in turn, round after round."""

    def __init__(self, name: str, unit: str, more_is_better: bool):
        self.name, self.unit, self.more_is_better = name, unit, more_is_better
        self.alone: list[float] = []
        self.beside: list[float] = []

    @property
    def slowdown(self) -> float:
        """The median over rounds: 1.1 is slower by 10 %."""
        pairs = zip(self.alone, self.beside)
        return median((a / b if self.more_is_better else b / a) for a, b in pairs if a > 0 and b > 0)

    def __str__(self) -> str:
        return (f"{self.name:28} alone {median(self.alone):9.1f}   beside {median(self.beside):9.1f} {self.unit:8} "
                f"slower by {100 * (self.slowdown - 1):+6.1f} %")


def token(router: Router, name: str, scope: str) -> str:
    made = carillon("tokens", "create", name, "--scope", scope, "--json", "--config", router.configuration_file)
    return json.loads(made.stdout)["token"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--rate", type=int, default=200, help="notifications a second")
    parser.add_argument("--events", type=int, default=50, help="events a second, whose pushes are measured")
    parser.add_argument("--burst", type=int, default=1000, help="events at once, for pushes a second; 0: none")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-most", type=float, help="exit with 1 where the p50 is slower by more per cent")
    parser.add_argument("--folder", help="where the store lies")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        lab = Lab(Path(folder) / "lab")
        # A lab's record keeps the last 10,000 requests: those of the load would drive out what is measured.
        other = Lab(Path(folder) / "other-lab", "--quiet")
        router = APIRouter(Path(folder) / "router", lab)
        roots = Path(folder) / "roots.pem"
        roots.write_text(lab.ca_file.read_text() + other.ca_file.read_text())
        router.configuration["http"]["ca_file"] = str(roots)
        router.configuration["api"] = {
            "listen": "127.0.0.1:0", "token_file": "api.token", "stream_readers": options.readers,
        }
        router.start()
        try:
            compare(options, router, lab, other)
        finally:
            router.kill()
            lab.stop()
            other.stop()


def compare(options, router: APIRouter, lab: Lab, other: Lab):
    people, others = [Person() for _ in range(100)], [Person() for _ in range(100)]
    register(router, other, "unifiedpush", people)
    register(router, lab, "apns", others)
    authors = [Person() for _ in range(20)]
    tokens = [token(router, f"sender {n}", "send") for n in range(-(-options.rate // PER_TOKEN))]
    reading = token(router, "reader", "read")
    # The senders go on during both measurements.
    seconds = 2 * options.seconds + 4

    def events(what: str, count: int) -> list[dict]:
        return [authors[n % 20].note(f"{what} {n}", others[n % 100]) for n in range(count)]

    p50 = Comparison("ms to a push, p50", "ms", more_is_better=False)
    p99 = Comparison("ms to a push, p99", "ms", more_is_better=False)
    burst = Comparison(f"pushes/s of {options.burst} at once", "pushes/s", more_is_better=True)
    sent, taken, refused, times, memory = 0, 0, {}, [], []

    def measure(what: str, note) -> None:
        """Events are made before, so that making them costs nothing that is measured."""
        steady = events(f"{what} steady", options.events * options.seconds)
        many = events(f"{what} burst", options.burst)
        found = Pushes(router, lab, steady, options.events)
        note(p50).append(percentile(found.times, 0.5))
        note(p99).append(percentile(found.times, 0.99))
        if many:
            note(burst).append(Pushes(router, lab, many, 1_000_000).per_second)

    measure("warm", lambda _: [])
    memory.append(router.memory("VmRSS"))
    print(f"memory at the start {memory[0]:.0f} MiB", flush=True)
    for number in range(options.rounds):
        measure(f"alone {number}", lambda each: each.alone)
        load = Load(
            Readers(router.api, reading, options.readers, people),
            Senders(router.api, tokens, people, options.rate),
            seconds,
        )
        load.thread.start()
        assert load.ready.wait(60), "the readers could not begin"
        measure(f"beside {number}", lambda each: each.beside)
        load.thread.join(seconds + 120)
        senders, readers = load.senders, load.readers
        memory.append(router.memory("VmRSS"))
        sent, taken, times = sent + senders.sent, taken + len(senders.times), times + senders.times
        for status, count in senders.refused.items():
            refused[status] = refused.get(status, 0) + count
        print(f"round {number + 1}: readers {readers.count}, of them ended early {readers.ended}; entries read {readers.entries}, "
              f"{readers.bytes / 1e6:.1f} MB, told of losses {readers.lost} times; notifications taken {len(senders.times)}; "
              f"memory {memory[-1]:.0f} MiB", flush=True)
        assert senders.times and readers.ended == 0 and router.is_running
    print(f"notifications {sent}, taken {taken} ({taken / (seconds * options.rounds):.0f}/s), refused {refused}")
    print(f"ms to the answer    p50 {percentile(times, 0.5):8.1f}   p99 {percentile(times, 0.99):8.1f}")
    for each in [p50, p99] + ([burst] if options.burst else []):
        print(each)
    print(f"memory MiB at the start {memory[0]:.0f}, at the end {memory[-1]:.0f}, most {router.memory('VmHWM'):.0f}")
    if options.at_most is not None and p50.slowdown > 1 + options.at_most / 100:
        sys.exit(f"pushes of events are slower by more than {options.at_most:g} %")


if __name__ == "__main__":
    main()
