"""How many pushes a killed router repeats when it works flat out, beside what cannot be avoided. See `run`."""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

import programs  # noqa: E402
from lab import Lab  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402
from router import Router  # noqa: E402

DELAY = 20
"""Milliseconds that APNs' stand-in takes for an answer."""
OUTCOMES = 20
"""Milliseconds of outcomes that may not be on disk yet."""


class QuietRouter(Router):
    log_level = "info"
    plugin_names = ["libCarillonAPNs.so"]


class Kills:
    def __init__(self, options: argparse.Namespace, folder: Path):
        programs.BUILD = options.build
        self.options = options
        self.lab = Lab(folder / "lab")
        self.lab.misbehave("delay", milliseconds=DELAY, times=0)
        self.router = QuietRouter(folder / "router", self.lab)
        self.router.configuration["apps"] = {"default": {"ios": self.lab.ios}}
        self.feed = folder / "feed"
        people = [Person() for _ in range(200)]
        authors = [Person() for _ in range(20)]
        self.router.start()
        for first in range(0, len(people), 100):
            with Socket(self.router) as socket:
                for person in people[first : first + 100]:
                    socket.publish(person.registration(self.router, ios(device_token(), mode="alert")))
        self.router.stop()
        count = options.events * (options.kills + 1)
        notes = (authors[n % 20].note(f"note {n}", people[n % len(people)]) for n in range(count))
        self.events = {note["id"]: json.dumps(note) for note in notes}

    def run(self) -> tuple[int, int, int, list[str]]:
        """Repeats, pushes that a kill may repeat, events, and what went wrong."""
        killed_at: list[float] = []
        # The router does not take again what it has: each start reads the feed from its beginning.
        lines = [line + "\n" for line in self.events.values()]
        pushes = []
        for number in range(self.options.kills):
            self.feed.write_text("".join(lines[: self.options.events * (number + 1)]))
            self.router.start(self.feed)
            self.lab.accepted(self.options.events // 4, timeout=60)
            killed_at.append(time.time() * 1000)
            self.router.kill()
            # The lab keeps the last requests only.
            pushes += self.lab.received()
            self.lab.forget()
        self.feed.write_text("".join(lines))
        self.router.start(self.feed)
        deadline = time.monotonic() + 60
        seen = {push.payload["event_id"] for push in pushes}
        while len(seen | {push.payload["event_id"] for push in self.lab.received()}) < len(self.events):
            if time.monotonic() > deadline:
                break
            time.sleep(1)
        # A repeat may come a little later.
        time.sleep(2)
        pushes += self.lab.received()
        self.router.stop()
        names = Counter(push.payload["event_id"] for push in pushes)
        ids: dict[str, set] = {}
        for push in pushes:
            ids.setdefault(push.payload["event_id"], set()).add(push.apns_id)
        faults = [f"{name} never arrived" for name in self.events.keys() - names.keys()]
        faults += [f"{name} came under {len(own)} apns-ids" for name, own in ids.items() if len(own) > 1]
        open_then = sum(
            any(0 <= moment - push.line["received_at"] <= DELAY + OUTCOMES for moment in killed_at) for push in pushes
        )
        return sum(names.values()) - len(names), open_then, len(self.events), faults

    def stop(self):
        if self.router.is_running:
            self.router.kill()
        self.lab.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the folder of built programs")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--events", type=int, help="for each kill, which comes after a quarter of them; else as many as the lab can keep")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures there")
    options = parser.parse_args()
    # A quarter of each kill's events is collected before the last start, and the lab keeps the last 10,000 requests.
    options.events = options.events or 12_000 // (options.kills + 1)
    with tempfile.TemporaryDirectory() as temporary:
        run = Kills(options, Path(temporary))
        try:
            repeats, unavoidable, events, faults = run.run()
        finally:
            run.stop()
    print(f"{options.kills} kills, {events} events: {repeats} pushes repeated; {unavoidable} were on the wire or had just ended")
    for fault in faults[:20]:
        print(f"FAULT {fault}")
    if options.json:
        options.json.write_text(json.dumps({"repeats": repeats, "unavoidable": unavoidable}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
