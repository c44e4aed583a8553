#!/usr/bin/env python3
"""Writes the manual pages of a command: one for itself and one for each of its sub-commands.

    COMMAND --experimental-dump-help | manual.py COMMAND VERSION YYYY-MM-DD FOLDER
"""

import json
import re
import sys
from pathlib import Path


def escaped(text: str) -> str:
    """Text that troff prints as it stands."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def paragraphs(text: str) -> list[str]:
    """Prose flows; what is indented, such as an example, keeps its lines."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        rows = block.splitlines()
        if any(row.startswith(" ") for row in rows):
            lines += [".PP", ".nf", *(escaped(row) for row in rows), ".fi"]
        else:
            lines += [".PP", *(escaped(row) for row in rows)]
    return lines


def spelled(name: dict) -> str:
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def synopsis(argument: dict) -> str:
    if argument["kind"] == "positional":
        text = f"<{argument.get('valueName', 'value')}>"
    else:
        text = spelled(argument["preferredName"])
        if argument["kind"] == "option":
            text += f" <{argument.get('valueName', 'value')}>"
    if argument["isRepeating"]:
        text += " ..."
    return f"[{text}]" if argument["isOptional"] else text


def described(argument: dict) -> list[str]:
    if argument["kind"] == "positional":
        head = f"<{argument.get('valueName', 'value')}>"
    else:
        head = ", ".join(spelled(name) for name in argument["names"])
        if argument["kind"] == "option":
            head += f" <{argument.get('valueName', 'value')}>"
    text = " ".join(part for part in [argument.get("abstract", ""), argument.get("discussion", "")] if part)
    if "defaultValue" in argument:
        text += f" Default: {argument['defaultValue']}."
    return [".TP", f"\\fB{escaped(head)}\\fP", escaped(text.strip() or "See above.").replace("\n", " ")]


def page(command: dict, path: list[str], version: str, date: str) -> str:
    name = "-".join(path)
    arguments = [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    children = [child for child in command.get("subcommands", []) if child["shouldDisplay"] and child["commandName"] != "help"]
    lines = [
        f'.TH {escaped(name.upper())} 1 {date} "{path[0]} {version}" "Carillon"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(command.get('abstract', name).rstrip('.'))}".replace("\n", " "),
        ".SH SYNOPSIS",
        f"\\fB{escaped(' '.join(path))}\\fP "
        + escaped(" ".join((["<subcommand>"] if children else []) + [synopsis(argument) for argument in arguments])),
    ]
    if command.get("discussion"):
        lines += [".SH DESCRIPTION", *paragraphs(command["discussion"])]
    if children:
        lines.append(".SH SUBCOMMANDS")
        for child in children:
            lines += [".TP", f"\\fB{escaped(name + '-' + child['commandName'])}\\fP(1)"]
            lines.append(escaped(child.get("abstract", "")).replace("\n", " "))
    if arguments:
        lines.append(".SH OPTIONS")
        for argument in arguments:
            lines += described(argument)
    lines += [".SH SEE ALSO", f"The documents in /usr/share/doc/{path[0]}."]
    return "\n".join(lines) + "\n"


def write(command: dict, path: list[str], version: str, date: str, folder: Path) -> None:
    (folder / f"{'-'.join(path)}.1").write_text(page(command, path, version, date))
    for child in command.get("subcommands", []):
        if child["shouldDisplay"] and child["commandName"] != "help":
            write(child, path + [child["commandName"]], version, date, folder)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    name, version, date, folder = sys.argv[1:]
    write(json.load(sys.stdin)["command"], [name], version, date, Path(folder))
