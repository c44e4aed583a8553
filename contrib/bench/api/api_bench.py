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
EVENT_RATE = 50


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


def pushes(router: Router, lab: Lab, events: list[dict]) -> list[float]:
    """From an event to its push, in milliseconds, for each."""
    lab.forget()
    sent, _ = asyncio.run(send(router, events, EVENT_RATE))
    ids = {event["id"] for event in events}

    def arrived():
        found = {
            push.payload["event_id"]: push.line["received_at"]
            for push in lab.received()
            if push.payload.get("event_id") in ids
        }
        return found if len(found) == len(ids) else None

    found = wait_until(arrived, "every event's push arrives", timeout=60)
    return [found[name] - sent[name] for name in found]


def token(router: Router, name: str, scope: str) -> str:
    made = carillon("tokens", "create", name, "--scope", scope, "--json", "--config", router.configuration_file)
    return json.loads(made.stdout)["token"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--rate", type=int, default=200, help="notifications a second")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--folder", help="where the store lies")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        lab = Lab(Path(folder) / "lab")
        router = APIRouter(Path(folder) / "router", lab)
        router.configuration["api"] = {
            "listen": "127.0.0.1:0", "token_file": "api.token", "stream_readers": options.readers,
        }
        router.start()
        try:
            people, others = [Person() for _ in range(100)], [Person() for _ in range(100)]
            register(router, lab, "apns", people)
            register(router, lab, "apns", others)
            authors = [Person() for _ in range(20)]

            def events(what: str) -> list[dict]:
                return [
                    authors[n % 20].note(f"{what} {n}", others[n % 100]) for n in range(EVENT_RATE * options.seconds)
                ]

            pushes(router, lab, events("warm"))
            alone = pushes(router, lab, events("alone"))
            before = router.memory("VmRSS")
            tokens = [token(router, f"sender {n}", "send") for n in range(-(-options.rate // PER_TOKEN))]
            load = Load(
                Readers(router.api, token(router, "reader", "read"), options.readers, people),
                Senders(router.api, tokens, people, options.rate),
                options.seconds + 2,
            )
            load.thread.start()
            assert load.ready.wait(60), "the readers could not begin"
            beside = pushes(router, lab, events("beside"))
            load.thread.join(options.seconds + 60)
            after = router.memory("VmRSS")
            senders, readers = load.senders, load.readers
            print(f"readers {readers.count}, of them ended early {readers.ended}; entries read {readers.entries}, "
                  f"{readers.bytes / 1e6:.1f} MB, told of losses {readers.lost} times")
            taken = len(senders.times)
            print(f"notifications {senders.sent}, taken {taken} ({taken / (options.seconds + 2):.0f}/s), refused {senders.refused}")
            if senders.times:
                print(f"ms to the answer    p50 {percentile(senders.times, 0.5):8.1f}   p99 {percentile(senders.times, 0.99):8.1f}")
            for name, values in [("alone", alone), ("beside", beside)]:
                print(f"ms to a push {name:6} p50 {percentile(values, 0.5):8.1f}   p99 {percentile(values, 0.99):8.1f}")
            print(f"memory MiB before {before:.0f}, after {after:.0f}, most {router.memory('VmHWM'):.0f}")
            assert taken > 0 and readers.ended == 0 and router.is_running
        finally:
            router.kill()
            lab.stop()


if __name__ == "__main__":
    main()
