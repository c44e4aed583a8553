"""The blocks and links of README and the pages in contrib/docs.

A comment before a block, which readers do not see, says what the test is to do with it:

    <!-- docs: not run: REASON -->     commands that cannot run here (root, a network, Apple); their syntax and options are checked
    <!-- docs: config with ios -->     a part of a configuration that needs the platform's block besides
    <!-- docs: needs PROGRAM -->       run where the program is installed
    <!-- docs: ANYTHING ELSE -->       not checked; it says why

Blocks between fences are run (sh) or checked (yaml, json) unless a comment says otherwise. Blocks that are indented by four blanks
are excerpts: commands in them are checked and not run.
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from programs import REPOSITORY

COMMANDS = {
    "carillon", "contrib/demo", "contrib/test", "contrib/setup", "install", "curl", "cd", "make", "cc", "swift", "systemctl",
    "systemd-tmpfiles", "systemd-run", "mkfifo", "nak", "apt", "sudo", "cargo", "python3",
}  # fmt: skip


@dataclass
class Block:
    page: Path
    line: int
    """Of its first line in the page."""
    language: str
    text: str
    mark: str | None
    is_fenced: bool

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def pages() -> list[Path]:
    top = [REPOSITORY / name for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]]
    others = [REPOSITORY / "contrib/strfry/README.md", REPOSITORY / "contrib/examples/plugins/README.md"]
    return top + others + sorted((REPOSITORY / "contrib/docs").rglob("*.md"))


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in their order."""
    lines = page.read_text().splitlines()
    found: list[Block] = []
    mark: str | None = None
    number = 0
    while number < len(lines):
        line = lines[number]
        if comment := re.fullmatch(r"<!-- docs: (.*) -->", line):
            mark = comment.group(1)
        elif line.startswith("```"):
            end = next(later for later in range(number + 1, len(lines)) if lines[later].startswith("```"))
            text = "\n".join(lines[number + 1 : end])
            found.append(Block(page, number + 2, line[3:].strip(), text, mark, True))
            number, mark = end, None
        elif line.startswith("    ") and not (number and lines[number - 1].strip()):
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = textwrap.dedent("\n".join(lines[number:end])).strip("\n")
            word = text.split()[0].removeprefix("./")
            language = "sh" if word in COMMANDS or word.startswith(".build/") else ""
            found.append(Block(page, number + 1, language, text, mark, False))
            number, mark = end - 1, None
        elif line.strip():
            mark = None
        number += 1
    return found


def links(page: Path) -> list[tuple[str, str]]:
    """The relative links of a page: the path and the heading, each perhaps empty."""
    text = re.sub(r"^(```.*?^```|    .*?$)", "", page.read_text(), flags=re.M | re.S)
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text))
    return [tuple((link + "#").split("#")[:2]) for link in found if "://" not in link and not link.startswith("mailto:")]


def headings(page: Path) -> set[str]:
    """The names by which headings are linked, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\(http[^)]*\)", "", text).lower()).replace(" ", "-") for text in found}


def commands(text: str) -> list[list[str]]:
    """The `carillon` commands in a block of shell, each as its words, without comments, redirections and what follows."""
    found = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line)
        for part in re.split(r"\s(?:&&|\|\||\||;)\s|\$\(|\"\$\(", line):
            words = part.replace("'", " ").replace('"', " ").rstrip(")").split()
            while words and ("=" in words[0] or words[0] in ["sudo", "exec", "env"]):
                words.pop(0)
            if words and words[0].removeprefix("./").rsplit("/", 1)[-1] == "carillon":
                found.append(words[1:])
    return found
