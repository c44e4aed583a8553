"""Whether a router's memory grows under a load that lasts. See `run`."""

import argparse
import json
import os
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import DELIVERED, MeasuredRouter, Server, programs  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402

PORTION = 20
"""Events that are written at a time."""


def anonymous(process: int) -> float:
    """Resident MiB that no file is behind: what a program asked for, and not what the system keeps of the databases."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("RssAnon"))) / 1024


def slope(points: list[tuple[float, float]]) -> float:
    """Of the straight line that lies nearest to the points."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


class Growth:
    def __init__(self, options: argparse.Namespace, folder: Path):
        programs.BUILD = options.build
        self.options = options
        self.people = [Person() for _ in range(1_000)]
        self.authors = [Person() for _ in range(20)]
        self.tokens = [device_token() for _ in self.people]
        (folder / "server").mkdir()
        self.server = Server(folder / "server", self.tokens)
        self.router = MeasuredRouter(folder / "router", self.server, [])
        self.pipe = folder / "feed"

    def run(self) -> list[tuple[float, int, float]]:
        """Seconds, events written and MiB, every ten seconds."""
        self.router.begin(None)
        for first in range(0, len(self.people), 100):
            with Socket(self.router) as socket:
                for person, token in list(zip(self.people, self.tokens))[first : first + 100]:
                    socket.publish(person.registration(self.router, ios(token, mode="alert")))
        self.router.stop()
        os.mkfifo(self.pipe)
        self.router.begin(self.pipe)
        samples: list[tuple[float, int, float]] = []
        begin = due = time.monotonic()
        written = 0
        numbers = count()
        with self.pipe.open("wb") as writer:
            while (now := time.monotonic()) - begin < self.options.minutes * 60:
                if now < due:
                    time.sleep(due - now)
                # Whoever was kept from the cores for long does not make up for it in one burst.
                due = max(due, now - 1) + PORTION / self.options.rate
                writer.write("".join(self.line(next(numbers)) + "\n" for _ in range(PORTION)).encode())
                writer.flush()
                written += PORTION
                if now - begin >= 10 * len(samples):
                    samples.append((now - begin, written, anonymous(self.router.process.pid)))
                    print(f"{samples[-1][0]:6.0f} s {written:9} events {samples[-1][2]:7.1f} MiB", flush=True)
            self.router.wait_for(*DELIVERED, written)
        return samples

    def line(self, number: int) -> str:
        """A reaction to a note that nobody knows, which wakes one device."""
        person = self.people[number % len(self.people)]
        author = self.authors[number % len(self.authors)]
        tags = [["e", os.urandom(32).hex(), "", person.hex], ["p", person.hex], ["k", "1"]]
        event = author.event(7, "+", tags, created_at=int(time.time()))
        return json.dumps(event)

    def stop(self):
        self.router.kill()
        self.server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the folder of built programs")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=1_500, help="events a second")
    parser.add_argument("--full", type=int, default=1_050_000, help="so many events fill all caches: the slope is of what comes after")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures and all samples there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        growth = Growth(options, Path(temporary))
        try:
            samples = growth.run()
        finally:
            growth.stop()
    late = [(events, memory) for _, events, memory in samples if events >= options.full]
    if len(late) < 6:
        sys.exit(f"run: the caches are full after {options.full} events, and only {samples[-1][1]} came: give it more --minutes")
    bytes_each = slope([(events, memory * (1 << 20)) for events, memory in late])
    first, last = late[0], late[-1]
    print(f"{last[0] - first[0]} pushes after the caches were full: {bytes_each:+.1f} bytes each, {first[1]:.0f} to {last[1]:.0f} MiB")
    if options.json:
        figures = {"bytes": bytes_each, "pushes": last[0] - first[0], "full": first[1], "end": last[1], "samples": samples}
        options.json.write_text(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
