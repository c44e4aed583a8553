"""How long from an event's last byte into the relay socket to its push request at the push service.

Sender and `carillon-lab` share this machine's clock; the lab notes whole milliseconds. See `run`.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from lab import Lab  # noqa: E402
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios  # noqa: E402
from programs import built, wait_until  # noqa: E402
from router import Router  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402

# The socket takes 100 messages a second of one connection.
CONNECTIONS = 20


class QuietRouter(Router):
    """One that logs as in production."""

    def start(self) -> "QuietRouter":
        port_file = self.folder / "port"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [built("carillon"), "serve", "--config", self.configuration_file, "--port-file", port_file],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_until(port_file.exists, "the router writes its port", self.process)
        self.port = int(port_file.read_text())
        return self


def register(router: Router, lab: Lab, service: str, people: list[Person]):
    # A connection may say so much at once.
    for first in range(0, len(people), 100):
        with Socket(router) as socket:
            for number, person in enumerate(people[first : first + 100], first):
                if service == "apns":
                    content = ios(device_token(), mode="alert")
                else:
                    endpoint = lab.endpoint(f"up{number}")
                    content = {"platform": "unifiedpush", "filters": ALL_SIGNALS, "mode": "alert"}
                    content["push_endpoint"] = endpoint
                socket.publish(person.registration(router, content))


async def send(router: Router, events: list[dict], rate: int) -> tuple[dict, dict]:
    """When each event was sent and when it was answered, in milliseconds since 1970."""
    sent: dict[str, float] = {}
    answered: dict[str, float] = {}
    texts = [(event["id"], json.dumps(["EVENT", event])) for event in events]
    sockets = [await connect(router.url, compression=None, proxy=None) for _ in range(CONNECTIONS)]

    async def listen(socket):
        async for text in socket:
            message = json.loads(text)
            if message[0] == "OK":
                assert message[2], message
                answered[message[1]] = time.time() * 1000

    listeners = [asyncio.create_task(listen(socket)) for socket in sockets]
    begin = time.monotonic() + 0.2
    for number, (name, text) in enumerate(texts):
        wait = begin + number / rate - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        sent[name] = time.time() * 1000
        await sockets[number % CONNECTIONS].send(text)
    deadline = time.monotonic() + 30
    while len(answered) < len(events):
        assert time.monotonic() < deadline, f"{len(events) - len(answered)} events were never answered"
        await asyncio.sleep(0.05)
    for listener in listeners:
        listener.cancel()
    for socket in sockets:
        await socket.close()
    return sent, answered


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def flushes(folder: Path) -> list[float]:
    """What this disk takes to make 4 KiB safe, in milliseconds: no answer can be faster."""
    times = []
    with (folder / "flushed").open("wb", buffering=0) as file:
        for _ in range(500):
            file.write(bytes(4096))
            begin = time.monotonic()
            os.fsync(file.fileno())
            times.append((time.monotonic() - begin) * 1000)
    return times


def standstills(seconds: float = 3) -> list[float]:
    """For how long this machine did not run a thread that never waits, each time for more than a millisecond. What happens meanwhile is
    late, whoever it belongs to: where that is a hundredth of the time, the 99th percentile says little of the router."""
    gaps = []
    end = (last := time.monotonic()) + seconds
    while last < end:
        now = time.monotonic()
        if now - last > 0.001:
            gaps.append((now - last) * 1000)
        last = now
    return gaps


def measure(service: str, rate: int, seconds: int, folder: Path) -> str:
    lab = Lab(folder / f"lab-{service}")
    router = QuietRouter(folder / f"router-{service}", lab).start()
    try:
        people = [Person() for _ in range(500)]
        authors = [Person() for _ in range(50)]
        register(router, lab, service, people)
        warmup = [authors[n % 50].note("warm", people[n % 500]) for n in range(500)]
        events = [authors[n % 50].note(f"note {n}", people[n % 500]) for n in range(rate * seconds)]
        asyncio.run(send(router, warmup, rate))
        lab.accepted(len(warmup), timeout=60)
        lab.forget()
        sent, answered = asyncio.run(send(router, events, rate))
        pushes = lab.accepted(len(events), timeout=60)
        ids = [push.payload["event_id"] for push in pushes]
        assert len(ids) == len(set(ids)) == len(events), f"{len(ids)} pushes for {len(events)} events"
        arrived = [push.line["received_at"] - sent[name] for push, name in zip(pushes, ids)]
        ok = [answered[name] - sent[name] for name in sent]
        took = (max(sent.values()) - min(sent.values())) / 1000
        columns = [percentile(values, share) for values in (ok, arrived) for share in (0.5, 0.99)] + [max(arrived)]
        return f"{service:12} {len(events) / took:9.0f} " + " ".join(f"{value:9.1f}" for value in columns)
    finally:
        router.kill()
        lab.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1000, help="events a second, at most 2000")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--folder", help="where the stores lie; a RAM disk such as /dev/shm shows what is not the disk")
    options = parser.parse_args()
    print("milliseconds from sending an event to")
    print("                           ---- its OK ----    ---- its push at the service ----")
    print("service       events/s       p50       p99       p50       p99       max")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for service in ["apns", "unifiedpush"]:
            print(measure(service, options.rate, options.seconds, Path(folder)), flush=True)
        times = flushes(Path(folder))
        gaps = standstills()
        print(f"this machine stood still {len(gaps)} times in 3 s, {sum(gaps):.0f} ms in all, at most {max(gaps, default=0):.1f} ms")
        print(f"one fsync of this disk, ms: p50 {percentile(times, 0.5):.2f}, p99 {percentile(times, 0.99):.2f}")


if __name__ == "__main__":
    main()
