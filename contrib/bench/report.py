"""Does the benches and makes one table and one chart of their ratios. See `run`."""

import argparse
import datetime
import html
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCRATCH = os.environ["SCRATCH"]
CHART = REPOSITORY / "contrib/docs/pictures/speed.svg"
MARKS = ("<!-- bench: begin -->", "<!-- bench: end -->")


@dataclass
class Row:
    what: str
    figure: str
    """In units, for people."""
    ratio: float
    aim: float
    more_is_better: bool = False

    @property
    def reached(self) -> float:
        """1 and more: the aim is reached."""
        return self.ratio / self.aim if self.more_is_better else self.aim / self.ratio

    @property
    def aim_words(self) -> str:
        return f"{'≥' if self.more_is_better else '≤'} {self.aim:g}"


def output(command: Iterable[object]) -> str:
    words = [str(word) for word in command]
    print("$ " + " ".join(words), file=sys.stderr, flush=True)
    return subprocess.run(words, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True).stdout


def whole(is_long: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "whole.json"
        output(
            ["contrib/bench/whole/run", "--isolation", "none", "--json", file]
            + ["--rounds", 3 if is_long else 1, "--events", 40_000 if is_long else 10_000]
        )
        figures = {figure["scenario"]: figure for figure in json.loads(file.read_text())}
        growth = figures["reactions"]
        if is_long:
            command = ["contrib/bench/whole/run", "--isolation", "none", "--json", file, "--only", "reactions"]
            output([*command, "--rounds", 1, "--events", 200_000])
            longer = json.loads(file.read_text())[0]
            pushes = longer["events"] - growth["events"]
            slope = max(0.0, (longer["growth"] - growth["growth"]) * (1 << 20) / pushes)
    reactions, crowd, nobody = figures["reactions"], figures["crowd"], figures["nobody"]
    rows = [
        Row("a reaction that wakes one device: CPU of a push, of a verification", f"{reactions['cpu']:.1f} µs", reactions["ratio"], 1.5),
        Row("the same: pushes a second, of what two cores could verify", f"{reactions['rate']:,.0f}/s", reactions["of"], 0.6, True),
        Row("a note that names 1,000 accounts: CPU of a push, of a verification", f"{crowd['cpu']:.1f} µs", crowd["ratio"], 0.4),
        Row("an event that concerns nobody: CPU, of scanning the same lines", f"{nobody['cpu']:.2f} µs", nobody["cpu"] / nobody["scan"], 1.5),
    ]
    if is_long:
        rows.append(Row("memory that a push leaves behind, after the first 40,000: bytes, of 10", f"{slope:.0f} B", max(slope, 0.01) / 10, 1))
    return rows


def lanes(is_long: bool) -> list[Row]:
    command = ["contrib/bench/lanes/run", "--scratch", SCRATCH, "--json"]
    figures = json.loads(output(command + (["--rounds", 5] if is_long else ["--rounds", 1, "--requests", 100_000])))

    def row(what: str, name: str, aim: float) -> Row:
        return Row(what, f"{figures[name]['requests_per_second']:,}/s", figures[name]["of_h2load"], aim, True)

    return [
        row("our HTTP/2, one connection: requests a second, of h2load", "lane", 1.8),
        row("the whole APNs plugin: requests a second, of h2load", "plugin", 1.0),
    ]


def delivery(is_long: bool) -> list[Row]:
    output(["swift", "build", "-c", "release", "--scratch-path", SCRATCH, "--product", "DeliveryBench", "--quiet"])
    text = output([f"{SCRATCH}/release/DeliveryBench"])
    found = re.findall(r"courier (\S+)/s \(([\d.]+)\)", text)
    rate, ratio = sorted(found, key=lambda pair: float(pair[1]))[len(found) // 2]
    return [Row("a delivery from acceptance to its end: a second, of bare SQLite", f"{rate}/s", float(ratio), 0.85, True)]


def isolation(is_long: bool) -> list[Row]:
    command = ["contrib/bench/isolation/run", "--scratch", SCRATCH, "--json", "--rates", "10000"]
    figures = json.loads(output(command + (["--rounds", 5] if is_long else ["--rounds", 2])))[0]
    added = figures["added_cpu_us"]
    return [Row("a plugin in a process of its own, 10,000/s: CPU added to a delivery, of 2 µs", f"{added:.1f} µs", added / 2, 1)]


def latency(is_long: bool) -> list[Row]:
    text = output(["contrib/bench/latency/run", "--seconds", 10 if is_long else 3])
    rows = []
    for name, words, aim in [("apns", "APNs", 4.0), ("unifiedpush", "UnifiedPush", 8.0)]:
        columns = next(line.split() for line in text.splitlines() if line.startswith(name))
        p99 = float(columns[5])
        rows.append(Row(f"event in to request out at 1,000/s, {words}: 99 of 100 within, of {aim:g} ms", f"{p99:.1f} ms", p99 / aim, 1))
    return rows


BENCHES: dict[str, Callable[[bool], list[Row]]] = {
    "whole": whole, "lanes": lanes, "delivery": delivery, "isolation": isolation, "latency": latency,
}


def table(rows: list[Row]) -> str:
    lines = ["| what | measured | ratio | aim | |", "|---|---|---|---|---|"]
    for row in rows:
        words = "reached" if row.reached >= 1 else f"missed, {max(row.reached, 1 / row.reached):.1f} times off"
        lines.append(f"| {row.what} | {row.figure} | {row.ratio:.2f} | {row.aim_words} | {words} |")
    return "\n".join(lines)


def chart(rows: list[Row]) -> str:
    """A bar for each row: how far it got on the way to its aim. The scale is logarithmic, from a tenth to ten times."""
    left, width, step, top = 470, 400, 26, 34
    height = top + step * len(rows) + 14

    def place(reached: float) -> float:
        return left + width * (math.log10(min(10, max(0.1, reached))) + 1) / 2

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {height}" font-family="sans-serif" font-size="12">',
        "<title>How far each figure is from its aim</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for value, words in [(0.1, "a tenth"), (0.5, "half"), (1, "the aim"), (2, "twice"), (10, "ten times")]:
        x = place(value)
        lines.append(f'<line x1="{x:.0f}" y1="{top - 8}" x2="{x:.0f}" y2="{height - 8}" stroke="{"#333333" if value == 1 else "#dddddd"}"/>')
        lines.append(f'<text x="{x:.0f}" y="{top - 14}" text-anchor="middle" fill="#555555">{words}</text>')
    for number, row in enumerate(rows):
        y = top + step * number
        end = place(row.reached)
        colour = "#2e7d32" if row.reached >= 1 else "#c77700"
        lines.append(f'<text x="{left - 10}" y="{y + 14}" text-anchor="end">{html.escape(row.what)}</text>')
        lines.append(f'<rect x="{left}" y="{y + 3}" width="{max(1, end - left):.0f}" height="15" fill="{colour}"/>')
        lines.append(f'<text x="{end + 6:.0f}" y="{y + 15}">{row.ratio:.2f}</text>')
    return "\n".join([*lines, "</svg>", ""])


def put(page: Path, text: str):
    """Replaces what stands between the markers of a page."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}")


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
    words = f"Measured on {datetime.date.today()} with {cores} cores by `contrib/bench/run`; each ratio is of two things in one run."
    text = f"{words}\n\n{table(rows)}"
    print(text)
    if options.write and rows:
        CHART.write_text(chart(rows))
        for page, picture in [("README.md", "contrib/docs/pictures/speed.svg"), ("contrib/docs/speed.md", "pictures/speed.svg")]:
            put(REPOSITORY / page, f"{text}\n\n![How far each figure is from its aim]({picture})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
