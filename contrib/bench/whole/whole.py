"""What the whole way costs: the router's CPU time for each push, from an event in a feed to the request at APNs. See `run`."""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

import programs  # noqa: E402
from lab import Lab  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402
from router import Router  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


class QuietRouter(Router):
    log_level = "info"

    def cpu(self) -> float:
        """Seconds of user and system time so far, of the router and of the processes that its plugins run in."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        children = [child for task in tasks for child in (task / "children").read_text().split()]
        total = 0.0
        for process in [str(self.process.pid), *children]:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICK
        return total


def measure(build: Path, people: list[Person], warm: Path, feed: Path, count: int, folder: Path) -> tuple[float, float]:
    """Microseconds of CPU for each push, and pushes a second. The first `len(people)` events warm everything up."""
    programs.BUILD = build
    folder.mkdir()
    lab = Lab(folder / "lab")
    router = QuietRouter(folder / "router", lab)
    try:
        router.start()
        for first in range(0, len(people), 100):
            with Socket(router) as socket:
                for person in people[first : first + 100]:
                    socket.publish(person.registration(router, ios(device_token(), mode="alert")))
        router.stop()
        pipe = folder / "feed"
        os.mkfifo(pipe)
        router.start(pipe)
        with pipe.open("wb") as writer:
            writer.write(warm.read_bytes())
            writer.flush()
            lab.accepted(len(people), timeout=60)
            lab.forget()
            before, begin = router.cpu(), time.monotonic()
            writer.write(feed.read_bytes())
        lab.accepted(count, timeout=300)
        took = time.monotonic() - begin
        return (router.cpu() - before) * 1e6 / count, count / took
    finally:
        router.kill()
        lab.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+", type=Path, metavar="BUILD", help="folders with built programs, compared in turn")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    people = [Person() for _ in range(options.devices)]
    authors = [Person() for _ in range(20)]

    def lines(count: int, text: str) -> bytes:
        notes = (authors[n % 20].note(f"{text} {n}", people[n % len(people)]) for n in range(count))
        return "".join(json.dumps(note) + "\n" for note in notes).encode()

    figures: dict[Path, list[tuple[float, float]]] = {build: [] for build in options.builds}
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        warm, feed = scratch / "warm.jsonl", scratch / "feed.jsonl"
        warm.write_bytes(lines(options.devices, "warm"))
        feed.write_bytes(lines(options.events, "note"))
        for round in range(options.rounds):
            for number, build in enumerate(options.builds):
                figure = measure(build, people, warm, feed, options.events, scratch / f"{round}-{number}")
                figures[build].append(figure)
                print(f"round {round + 1}  {build}: {figure[0]:.0f} µs CPU per push, {figure[1]:.0f} pushes/s", flush=True)
    first = None
    for build, values in figures.items():
        cpu = statistics.median(value[0] for value in values)
        rate = statistics.median(value[1] for value in values)
        first = first or cpu
        print(f"median   {build}: {cpu:.0f} µs CPU per push ({cpu / first:.3f} of the first), {rate:.0f} pushes/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
