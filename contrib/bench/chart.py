"""Rows of figures with a target, as a table and as a chart, and a function that puts them into a page."""

import html
import math
from dataclasses import dataclass
from pathlib import Path

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
        """1 and more: the target is reached."""
        if self.more_is_better:
            return self.ratio / self.aim
        # A cost of zero or less is far beyond its target.
        return self.aim / self.ratio if self.ratio > 0 else 10

    @property
    def aim_words(self) -> str:
        return f"{'≥' if self.more_is_better else '≤'} {self.aim:g}"


def table(rows: list[Row]) -> str:
    lines = ["| figure | measured | ratio | target | |", "|---|---|---|---|---|"]
    for row in rows:
        words = "reached" if row.reached >= 1 else f"missed, {max(row.reached, 1 / row.reached):.1f} times off"
        lines.append(f"| {row.what} | {row.figure} | {row.ratio:.2f} | {row.aim_words} | {words} |")
    return "\n".join(lines)


def chart(rows: list[Row]) -> str:
    """A bar for each row: how close it is to its target. The scale is logarithmic, from a tenth to ten times."""
    left, width, step, top = 470, 400, 26, 34
    height = top + step * len(rows) + 14

    def place(reached: float) -> float:
        return left + width * (math.log10(min(10, max(0.1, reached))) + 1) / 2

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {height}" font-family="sans-serif" font-size="12">',
        "<title>How far each figure is from its target</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for value, words in [(0.1, "a tenth"), (0.5, "half"), (1, "the target"), (2, "twice"), (10, "ten times")]:
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
    """Replaces the text between the markers of a page."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}")
