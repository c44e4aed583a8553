"""What a million devices cost that nothing happens to: memory, and the time from the router's start to its first push. See `run`."""

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import DELIVERED, MeasuredRouter, Server, programs  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402


def multiply(store: Path, count: int):
    """Adds devices until there are `count`: copies of the first, each of an account of its own. Nothing is ever sent to them, so that
    their secrets, which belong to the first, are not opened."""
    with closing(sqlite3.connect(store)) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(devices)") if row[1] not in ("id", "author", "device_id")]
        names = ", ".join(columns)
        have = database.execute("SELECT count(*) FROM devices").fetchone()[0]
        database.execute(
            f"""WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
                INSERT INTO devices (author, device_id, {names})
                SELECT randomblob(32), device_id, {names} FROM numbers, (SELECT * FROM devices ORDER BY id LIMIT 1)""",
            (count - have,),
        )
        database.execute(
            """INSERT INTO secrets (device, handle, address, content)
               SELECT devices.id, randomblob(length(first.handle)), first.address, first.content
               FROM devices, (SELECT * FROM secrets ORDER BY device LIMIT 1) AS first
               WHERE devices.id NOT IN (SELECT device FROM secrets)"""
        )
        database.commit()


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path):
        programs.BUILD = options.build
        self.people = [Person() for _ in range(100)]
        tokens = [device_token() for _ in self.people]
        (folder / "server").mkdir()
        self.server = Server(folder / "server", tokens)
        self.router = MeasuredRouter(folder / "router", self.server, [])
        self.router.begin(None)
        with Socket(self.router) as socket:
            for person, token in zip(self.people, tokens):
                socket.publish(person.registration(self.router, ios(token, mode="alert")))
        self.router.stop()
        multiply(folder / "router/carillon.sqlite", options.devices)
        self.author = Person()

    def start(self, folder: Path, number: int) -> dict[str, float]:
        """Seconds from the start to the first push, of a feed in which an event waits; MiB then, and after ten seconds of rest."""
        feed = folder / f"feed-{number}"
        feed.write_text(json.dumps(self.author.note(f"the first {number}", self.people[number])) + "\n")
        begin = time.monotonic()
        self.router.begin(feed)
        while self.router.metric(*DELIVERED) < 1:
            time.sleep(0.01)
        took = time.monotonic() - begin
        memory = self.router.memory
        time.sleep(10)
        figures = {"first push": took, "memory": memory, "idle memory": self.router.memory}
        self.router.stop()
        return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the folder of built programs")
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the medians there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bench = Bench(options, folder)
        rounds = []
        try:
            for number in range(options.rounds):
                rounds.append(bench.start(folder, number))
                print(f"round {number + 1}: " + ", ".join(f"{name} {value:.2f}" for name, value in rounds[-1].items()), flush=True)
        finally:
            if bench.router.is_running:
                bench.router.kill()
            bench.server.stop()
    middle = {name: statistics.median(round[name] for round in rounds) for name in rounds[0]}
    print(f"{options.devices:,} devices: first push after {middle['first push']:.2f} s; {middle['memory']:.0f} MiB then, {middle['idle memory']:.0f} MiB idle")
    if options.json:
        options.json.write_text(json.dumps(middle))
    return 0


if __name__ == "__main__":
    sys.exit(main())
