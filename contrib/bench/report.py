"""Does the benches and makes one table and one chart of their ratios. See `run`."""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from chart import Row, chart, put, table

REPOSITORY = Path(__file__).resolve().parents[2]
SCRATCH = os.environ["SCRATCH"]
CHART = REPOSITORY / "contrib/docs/pictures/speed.svg"


def output(command: Iterable[object]) -> str:
    words = [str(word) for word in command]
    print("$ " + " ".join(words), file=sys.stderr, flush=True)
    return subprocess.run(words, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True).stdout


def whole(is_long: bool) -> list[Row]:
    def figures(*arguments: object, events: int, prefix: tuple[str, ...] = ()) -> dict[str, dict]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "whole.json"
            command = [*prefix, "contrib/bench/whole/run", "--json", file, "--events", events]
            output([*command, *arguments])
            return {figure["scenario"]: figure for figure in json.loads(file.read_text())}

    rounds, events = (3, 200_000) if is_long else (3, 50_000)
    found = figures("--rounds", rounds, "--only", "reactions,crowd,nobody,wake", events=events)
    # More would not wait in the sockets of five relays.
    found |= figures("--rounds", rounds, "--only", "relays,backlog", events=20_000)
    reactions, crowd, nobody = found["reactions"], found["crowd"], found["nobody"]
    wake, relays, backlog = found["wake"], found["relays"], found["backlog"]
    alone = figures("--rounds", rounds, "--only", "reactions", events=events, prefix=("taskset", "-c", "0"))["reactions"]
    rows = [
        Row("a reaction that notifies one device: CPU of a push, in verifications", f"{reactions['cpu']:.1f} µs", reactions["ratio"], 1.5),
        Row("the same: pushes/s, of the verifications/s of two cores", f"{reactions['rate']:,.0f}/s", reactions["of"], 0.6, True),
        Row("the same: pushes/s with two cores, of those with one", f"{alone['rate']:,.0f}/s with one", reactions["rate"] / alone["rate"], 1.7, True),
        Row("a note that names 1,000 accounts: CPU of a push, in verifications", f"{crowd['cpu']:.1f} µs", crowd["ratio"], 0.4),
        Row("a wake-up by UnifiedPush to one of 1,000 hosts: CPU, in verifications", f"{wake['cpu']:.1f} µs", wake["ratio"], 3),
        Row("an irrelevant event from a feed: CPU, in scans", f"{nobody['cpu']:.2f} µs", nobody["cpu"] / nobody["scan"], 1.5),
        Row("the same from one of five relays", f"{relays['cpu']:.2f} µs", relays["cpu"] / relays["scan"], 1.5),
        Row("the same, catching up with five relays", f"{backlog['cpu']:.2f} µs", backlog["cpu"] / backlog["scan"], 1.5),
    ]
    return rows


def peers(is_long: bool) -> list[Row]:
    """Only where SYGNAL names a Python that has Sygnal."""
    if not os.environ.get("SYGNAL"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.json", Path(folder) / "theirs.json"
        output(["contrib/bench/whole/run", "--events", 50_000, "--only", "reactions", "--json", ours])
        output(["contrib/bench/peers/run", "--json", theirs, "--pushes", 10_000 if is_long else 3_000])
        cpu, peer = json.loads(ours.read_text())[0]["cpu"], json.loads(theirs.read_text())["cpu"]
    return [Row("a push by Sygnal: CPU, in pushes by Carillon", f"{peer:.0f} of {cpu:.0f} µs", peer / cpu, 8, True)]


def devices(is_long: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "devices.json"
        output(["contrib/bench/devices/run", "--json", file, "--rounds", 3 if is_long else 1])
        figures = json.loads(file.read_text())
    return [
        Row("a million idle devices: memory, of 250 MiB", f"{figures['idle memory']:.0f} MiB", figures["idle memory"] / 250, 1),
        Row("start with a million devices: time to the first push, of 2 s", f"{figures['first push']:.1f} s", figures["first push"] / 2, 1),
    ]


def growth(is_long: bool) -> list[Row]:
    """Half an hour: only in the long form."""
    if not is_long:
        return []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "growth.json"
        output(["contrib/bench/growth/run", "--json", file])
        figures = json.loads(file.read_text())
    what = f"memory growth of a push with full caches, over {figures['pushes']:,} pushes: bytes, of 10"
    each = max(0.0, figures["bytes"])
    return [Row(what, f"{figures['bytes']:+.1f} B", max(each, 0.01) / 10, 1)]


def kill(is_long: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kill.json"
        output(["contrib/bench/kill/run", "--json", file, "--kills", 10 if is_long else 3])
        figures = json.loads(file.read_text())
    what = "pushes repeated after a kill under full load, of those in flight or just ended"
    return [Row(what, f"{figures['repeats']}", figures["repeats"] / max(1, figures["unavoidable"]), 1)]


def lanes(is_long: bool) -> list[Row]:
    command = ["contrib/bench/lanes/run", "--scratch", SCRATCH, "--json"]
    figures = json.loads(output(command + (["--rounds", 5] if is_long else ["--rounds", 1, "--requests", 100_000])))

    def row(what: str, name: str, aim: float) -> Row:
        return Row(what, f"{figures[name]['requests_per_second']:,}/s", figures[name]["of_h2load"], aim, True)

    return [
        row("our HTTP/2, one connection: requests/s, of h2load's", "lane", 1.8),
        row("the whole APNs plugin: requests/s, of h2load's", "plugin", 1.0),
    ]


def delivery(is_long: bool) -> list[Row]:
    output(["swift", "build", "-c", "release", "--scratch-path", SCRATCH, "--product", "DeliveryBench", "--quiet"])
    text = output([f"{SCRATCH}/release/DeliveryBench"])
    found = re.findall(r"courier (\S+)/s \(([\d.]+)\)", text)
    rate, ratio = sorted(found, key=lambda pair: float(pair[1]))[len(found) // 2]
    return [Row("deliveries/s from acceptance to end, of bare SQLite's rate", f"{rate}/s", float(ratio), 0.85, True)]


def latency(is_long: bool) -> list[Row]:
    text = output(["contrib/bench/latency/run", "--seconds", 10 if is_long else 3])
    rows = []
    for name, words, aim in [("apns", "APNs", 4.0), ("unifiedpush", "UnifiedPush", 8.0)]:
        columns = next(line.split() for line in text.splitlines() if line.startswith(name))
        p99 = float(columns[5])
        rows.append(Row(f"event in to request out at 1,000/s, {words}: p99, of {aim:g} ms", f"{p99:.1f} ms", p99 / aim, 1))
    return rows


BENCHES: dict[str, Callable[[bool], list[Row]]] = {
    "whole": whole, "peers": peers, "devices": devices, "growth": growth, "kill": kill, "lanes": lanes, "delivery": delivery, "latency": latency,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(BENCHES), help="some of " + ",".join(BENCHES))
    parser.add_argument("--long", action="store_true", help="more rounds and pushes, as for the documents")
    parser.add_argument("--write", action="store_true", help="puts table and chart into the documents")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [name for name in names if name not in BENCHES]:
        parser.error(f"--only: expected some of {','.join(BENCHES)}; not {unknown[0]}")
    rows: list[Row] = []
    failed = False
    for name in names:
        try:
            rows += BENCHES[name](options.long)
        except subprocess.CalledProcessError as error:
            print(f"run: {name} failed: {error}", file=sys.stderr)
            failed = True
    cores = len(os.sched_getaffinity(0))
    words = (
        f"`contrib/bench/run` measured these figures on {datetime.date.today()} with {cores} cores. CPU times include the plugin "
        "processes. Each ratio compares two figures of one run."
    )
    text = f"{words}\n\n{table(rows)}"
    print(text)
    if options.write and failed:
        print("run: a bench failed, so the documents stay as they are", file=sys.stderr)
    elif options.write and rows:
        CHART.write_text(chart(rows))
        for page, picture in [("README.md", "contrib/docs/pictures/speed.svg"), ("contrib/docs/speed.md", "pictures/speed.svg")]:
            put(REPOSITORY / page, f"{text}\n\n![How far each figure is from its target]({picture})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
