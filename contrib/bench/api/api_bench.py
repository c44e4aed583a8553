"""The API under load: readers of /v1/stream and senders at /v1/notify. See `run`."""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(REPOSITORY / place) for place in ["Tests/Interop", "contrib/bench", "contrib/bench/latency"]]

from lab import Lab  # noqa: E402
from generator import PER_TOKEN  # noqa: E402
from kit import Server  # noqa: E402
from latency import percentile, register, send  # noqa: E402
from nostr import Person  # noqa: E402
from programs import built, carillon, wait_until  # noqa: E402
from router import Router  # noqa: E402


class APIRouter(Router):
    """One with an API that logs as in production."""

    core: int | None = None

    def start(self) -> "APIRouter":
        port, api = self.folder / "port", self.folder / "api-port"
        with self.log.open("ab") as log:
            place = [] if self.core is None else ["taskset", "-c", str(self.core)]
            self.process = subprocess.Popen(
                [
                    *place, built("carillon"), "serve", "--config", self.configuration_file, "--port-file", port,
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


class Load:
    """Readers and senders in a process of their own (generator.py), so that they do not share the interpreter of what measures."""

    def __init__(self, target: "Target", options, people: list[Person], seconds: float):
        order = {
            "port": target.port, "reading": target.reading, "tokens": target.tokens, "people": [person.hex for person in people],
            "readers": options.readers, "rate": options.rate, "seconds": seconds,
        }
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("generator.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ready\n", "the readers could not begin"

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def counted(self) -> dict:
        """What it counted, when it is through."""
        text, _ = self.process.communicate(timeout=120)
        return json.loads(text)


class Target:
    """Where a load goes: what has that port, and the tokens that it takes."""

    def __init__(self, port: int, reading: str, tokens: list[str], process: int):
        self.port, self.reading, self.tokens, self.process = port, reading, tokens, process

    @classmethod
    def of(cls, router: APIRouter, options) -> "Target":
        tokens = [token(router, f"sender {n}", "send") for n in range(-(-options.rate // PER_TOKEN))]
        return cls(router.api, token(router, "reader", "read"), tokens, router.process.pid)


class BareServer:
    """What does as little for a load as can be (bare_server.py)."""

    def __init__(self, like: Target, bytes_per_reader: int):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("bare_server.py")), "--bytes", str(bytes_per_reader)],
            stdout=subprocess.PIPE, text=True,
        )
        self.target = Target(int(self.process.stdout.readline()), like.reading, like.tokens, self.process.pid)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class HTTP2Services:
    """nghttpd as the push server of UnifiedPush: HTTP/2 over TLS, as proxies in front of such servers speak it."""

    def __init__(self, folder: Path, devices: int):
        folder.mkdir()
        tokens = [f"up{number}" for number in range(devices)]
        self.server = Server(folder, tokens, ["127.0.0.1"])
        self.place = self.server.endpoints[0].rpartition("/")[0]
        self.ca_file, self.process = self.server.ca_file, self.server.processes[-1]

    def endpoint(self, topic: str) -> str:
        return f"{self.place}/{topic}"

    def stop(self) -> None:
        self.server.stop()


class Usage:
    """What the processes of a measurement take of the cores."""

    TICKS = os.sysconf("SC_CLK_TCK")

    def __init__(self, processes: dict[str, int]):
        self.processes, self.begin, self.before = processes, time.monotonic(), self._read(processes)

    @classmethod
    def _read(cls, processes: dict[str, int]) -> dict[str, float]:
        return {name: cls._of(process) for name, process in processes.items()}

    @classmethod
    def _of(cls, process: int) -> float:
        """With all children: the router's are its plugins. Ours are measured by their own names."""
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            lists = [file.read_text() for file in Path(f"/proc/{process}/task").glob("*/children")]
        except OSError:
            return 0
        children = [] if process == os.getpid() else [int(child) for text in lists for child in text.split()]
        return (int(fields[11]) + int(fields[12])) / cls.TICKS + sum(cls._of(child) for child in children)

    def __str__(self) -> str:
        seconds = time.monotonic() - self.begin
        after = self._read(self.processes)
        shares = {name: 100 * (after[name] - self.before[name]) / seconds for name in self.processes}
        return ", ".join(f"{name} {share:.0f} %" for name, share in shares.items())


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
    """The same measured in several situations, in turn, round after round."""

    def __init__(self, name: str, unit: str, more_is_better: bool):
        self.name, self.unit, self.more_is_better = name, unit, more_is_better
        self.found: dict[str, list[float]] = {}

    def note(self, situation: str, value: float) -> None:
        self.found.setdefault(situation, []).append(value)

    def slowdown(self, situation: str, than: str) -> float:
        """The median over rounds: 1.1 is slower by 10 %."""
        pairs = zip(self.found[than], self.found[situation])
        return median((a / b if self.more_is_better else b / a) for a, b in pairs if a > 0 and b > 0)

    def rows(self, situations: list[str]) -> list[str]:
        """Each situation also by the one before it: what comes on top."""
        rows, before = [], None
        for situation in situations:
            if (values := self.found.get(situation)) is None:
                continue
            row = f"{self.name:26} {situation:24} {median(values):9.1f} {self.unit:8}"
            if situation != ALONE:
                row += f" than alone {100 * (self.slowdown(situation, ALONE) - 1):+6.1f} %"
                if before != ALONE:
                    row += f"   than the line above {100 * (self.slowdown(situation, before) - 1):+6.1f} %"
            rows.append(row)
            before = situation
        return rows


PEOPLE = 100

# In the order of what they add: the generator's share of the cores, all that such a load takes of them, and the load in the router itself.
ALONE, BARE, ELSEWHERE, BESIDE = "alone", "load at a bare server", "load at another router", "load at the router"


def token(router: Router, name: str, scope: str) -> str:
    made = carillon("tokens", "create", name, "--scope", scope, "--json", "--config", router.configuration_file)
    return json.loads(made.stdout)["token"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=100)
    parser.add_argument("--rate", type=int, default=200, help="notifications a second")
    parser.add_argument("--events", type=int, default=50, help="events a second, whose pushes are measured")
    parser.add_argument("--burst", type=int, default=1000, help="events at once, for pushes a second; 0: none")
    parser.add_argument("--seconds", type=int, default=5, help="of each measurement beside the load")
    parser.add_argument("--alone", type=int, default=15, help="seconds of each without it, at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--controls", action="store_true",
        help="measures beside the same load at a bare server and at another router as well",
    )
    parser.add_argument(
        "--http2", action="store_true",
        help="notifications go to nghttpd by HTTP/2 in place of the lab's UnifiedPush, which speaks HTTP/1.1 without TLS",
    )
    parser.add_argument("--at-most", type=float, help="exit with 1 where the p50 is slower by more per cent")
    parser.add_argument(
        "--pin", action="store_true",
        help="the router and its plugins on one core, everything else on another, in all measurements",
    )
    parser.add_argument("--folder", help="where the store lies")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    cores = sorted(os.sched_getaffinity(0))
    if options.pin:
        assert len(cores) > 1, "there is one core only"
        os.sched_setaffinity(0, {cores[1]})
        APIRouter.core = cores[0]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        lab = Lab(Path(folder) / "lab")
        # A lab's record keeps the last 10,000 requests: those of the load would drive out what is measured.
        place = Path(folder) / "other-lab"
        other = HTTP2Services(place, PEOPLE) if options.http2 else Lab(place, "--quiet")
        roots = Path(folder) / "roots.pem"
        roots.write_text(lab.ca_file.read_text() + other.ca_file.read_text())
        routers = []
        try:
            for name in ["router", "another-router"] if options.controls else ["router"]:
                router = APIRouter(Path(folder) / name, lab)
                router.configuration["http"]["ca_file"] = str(roots)
                router.configuration["api"] = {
                    "listen": "127.0.0.1:0", "token_file": "api.token", "stream_readers": options.readers,
                }
                routers.append(router.start())
            compare(options, routers, lab, other)
        finally:
            for router in routers:
                router.kill()
            lab.stop()
            other.stop()


def compare(options, routers: list[APIRouter], lab: Lab, other: Lab | HTTP2Services):
    router = routers[0]
    people, others = [Person() for _ in range(PEOPLE)], [Person() for _ in range(PEOPLE)]
    for each in routers:
        register(each, other, "unifiedpush", people)
    register(router, lab, "apns", others)
    authors = [Person() for _ in range(20)]
    targets = [Target.of(each, options) for each in routers]
    # The senders go on during both measurements.
    seconds = options.seconds + 14

    def events(what: str, count: int) -> list[dict]:
        return [authors[n % 20].note(f"{what} {n}", others[n % PEOPLE]) for n in range(count)]

    p50 = Comparison("ms to a push, p50", "ms", more_is_better=False)
    p99 = Comparison("ms to a push, p99", "ms", more_is_better=False)
    burst = Comparison(f"pushes/s of {options.burst} at once", "pushes/s", more_is_better=True)
    sent, taken, refused, times, memory = 0, 0, {}, [], []

    def measure(situation: str, number: int, seconds: int, processes: dict[str, int] = {}, isNoted: bool = True) -> None:
        """Events are made before, so that making them costs nothing that is measured."""
        steady = events(f"{situation} {number} steady", options.events * seconds)
        many = events(f"{situation} {number} burst", options.burst)
        usage = Usage(
            {
                "router and plugins": router.process.pid, "lab of events": lab.process.pid,
                "lab of notifications": other.process.pid, "what measures": os.getpid(),
            }
            | processes
        )
        found = Pushes(router, lab, steady, options.events)
        print(f"cores, {situation}, round {number}, steady: {usage}", flush=True)
        speed = Pushes(router, lab, many, 1_000_000).per_second if many else 0
        if isNoted:
            p50.note(situation, percentile(found.times, 0.5))
            p99.note(situation, percentile(found.times, 0.99))
            if many:
                burst.note(situation, speed)

    def under(situation: str, target: Target, number: int) -> dict:
        """Measures beside a load, and returns what its generator counted."""
        load = Load(target, options, people, seconds)
        try:
            measure(situation, number, options.seconds, {"generator": load.process.pid, "where the load goes": target.process})
            assert load.is_running, "the load ended before what it was to be measured beside"
            counted = load.counted()
        finally:
            load.stop()
        assert counted["times"] and counted["ended"] == 0 and router.is_running
        return counted

    measure("warm", 0, 3, isNoted=False)
    memory.append(router.memory("VmRSS"))
    print(f"memory at the start {memory[0]:.0f} MiB", flush=True)
    for number in range(1, options.rounds + 1):
        measure(ALONE, number, min(options.alone, options.seconds))
        if options.controls:
            # As much as the other router gives its readers in this round.
            elsewhere = under(ELSEWHERE, targets[1], number)
            bare = BareServer(targets[0], elsewhere["bytes"] // max(1, options.readers) // seconds)
            try:
                under(BARE, bare.target, number)
            finally:
                bare.stop()
        counted = under(BESIDE, targets[0], number)
        memory.append(router.memory("VmRSS"))
        sent, taken, times = sent + counted["sent"], taken + len(counted["times"]), times + counted["times"]
        for status, count in counted["refused"].items():
            refused[status] = refused.get(status, 0) + count
        print(f"round {number}: readers {counted['readers']}, of them ended early {counted['ended']}; entries read "
              f"{counted['entries']}, {counted['bytes'] / 1e6:.1f} MB, told of losses {counted['lost']} times; notifications taken "
              f"{len(counted['times'])}; memory {memory[-1]:.0f} MiB", flush=True)
    print(f"notifications {sent}, taken {taken} ({taken / (seconds * options.rounds):.0f}/s), refused {refused}")
    print(f"ms to the answer    p50 {percentile(times, 0.5):8.1f}   p99 {percentile(times, 0.99):8.1f}")
    for each in [p50, p99] + ([burst] if options.burst else []):
        print("\n".join(each.rows([ALONE, BARE, ELSEWHERE, BESIDE])))
    print(f"memory MiB at the start {memory[0]:.0f}, at the end {memory[-1]:.0f}, most {router.memory('VmHWM'):.0f}")
    if options.at_most is not None and p50.slowdown(BESIDE, ALONE) > 1 + options.at_most / 100:
        sys.exit(f"pushes of events are slower by more than {options.at_most:g} %")


if __name__ == "__main__":
    main()
