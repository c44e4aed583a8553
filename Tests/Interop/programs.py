"""The programs under test, as `swift build` left them, and how to wait for them."""

import os
import random
import socket
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CARILLON_BUILD", REPOSITORY / ".build/debug"))
PATIENCE = float(os.environ.get("CARILLON_PATIENCE", 60))
"""Seconds after which something that should have happened counts as not happening."""


def built(name: str) -> Path:
    path = BUILD / name
    assert path.exists(), f"{path} is missing: run swift build"
    return path


def carillon(*arguments, cwd=None, stdin: str | None = None) -> subprocess.CompletedProcess:
    """Runs a `carillon` command to its end."""
    return subprocess.run(
        [built("carillon"), *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


def wait_until(condition, what: str, process: subprocess.Popen | None = None, timeout: float = PATIENCE):
    """The first true result of `condition`; fails when `process` ends first."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        assert process is None or process.poll() is None, f"the process ended with {process.poll()} before {what}"
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.01)


def free_port() -> int:
    """A port for a program that must be told one, or that must find its own again: none of those that systems give away by themselves."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """So many different ones."""
    found: set[int] = set()
    while len(found) < count:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.add(port)
    # A set has an order of its own.
    return random.sample(sorted(found), count)
