"""A router or a rescue that is killed at any moment goes on at the next start: nothing that it leaves behind is in the way.

The sweep takes a copy of the folder before each call that changes a file, which is what a kill at that moment leaves, and starts anew
from each copy that differs from all others. As a part of all tests it starts from a sample; CARILLON_SWEEP=whole takes every copy.
"""

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from programs import built, carillon, wait_until

REGISTRY, OUTBOX = "carillon.sqlite", "carillon.sqlite-outbox"
SAMPLE = 16


@pytest.fixture(scope="session")
def shim(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "folder_snapshots.so"
    source = Path(__file__).with_name("folder_snapshots.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return library


@pytest.fixture
def folder(tmp_path) -> Path:
    """A router's folder with nothing but its configuration."""
    folder = tmp_path / "router"
    folder.mkdir()
    configuration = {
        "identity": {"key_file": "carillon.key"},
        "store": {"path": REGISTRY},
        "relay": {"listen": "127.0.0.1:0"},
        "api": {"listen": "127.0.0.1:0", "token_file": "api.token"},
    }
    (folder / "carillon.yaml").write_text(json.dumps(configuration))
    return folder


def recorded(folder: Path, shim: Path) -> tuple[dict[str, str], Path]:
    """The environment in which a program leaves copies of `folder`, and where those are."""
    snapshots = folder.with_name("snapshots")
    snapshots.mkdir()
    return {"LD_PRELOAD": str(shim), "SNAPSHOTS_OF": str(folder), "SNAPSHOTS_TO": str(snapshots)}, snapshots


def serve(folder: Path, environment: dict[str, str] = {}, end: int = signal.SIGKILL) -> str:
    """Starts a router and ends it when it listens. Returns what it says if it does not come that far."""
    port = folder / "port"
    port.unlink(missing_ok=True)
    command = [built("carillon"), "serve", "--log-level", "warning"]
    command += ["--config", folder / "carillon.yaml", "--port-file", port]
    with (folder.with_name(f"{folder.name}.log")).open("w+") as log:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
        wait_until(lambda: port.exists() or process.poll() is not None, f"{folder} is served")
        is_up = process.poll() is None
        if is_up:
            process.send_signal(end)
        process.wait(timeout=30)
        log.seek(0)
        said = log.read()
    return "" if is_up else f"{folder.name}: {said}"


def fingerprint(folder: Path) -> str:
    """Of everything that the next start depends on. The index of a log is made anew from the log."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.name != "port" and not path.name.endswith(("-shm", "-lock")):
            digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.stat().st_size > 0}


def different(snapshots: Path) -> list[Path]:
    """One of each sort. A sample has those that differ in which files there are from the one before, and those with a transaction
    half done beside a store."""
    known: dict[str, Path] = {}
    for folder in sorted(snapshots.iterdir()):
        known.setdefault(fingerprint(folder), folder)
    found = list(known.values())
    if os.environ.get("CARILLON_SWEEP") == "whole" or len(found) <= SAMPLE:
        return found
    step = len(found) // (SAMPLE // 2)
    return [
        folder
        for number, folder in enumerate(found)
        if number % step == 0
        or names(folder) != names(found[number - 1])
        or any(name.endswith("-journal") and "-new" not in name for name in names(folder))
    ]


def at_once(check, folders: list[Path]) -> list[str]:
    """What `check` finds wrong in any of them."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [finding for finding in pool.map(check, folders) if finding]


def fill(folder: Path):
    """Gives the folder the key 11…11 and a registry with three devices."""
    (folder / "carillon.key").write_text("11" * 32)
    (folder / "carillon.key").chmod(0o600)
    assert serve(folder, end=signal.SIGTERM) == ""
    with closing(sqlite3.connect(folder / REGISTRY, isolation_level=None)) as database:
        database.executescript(Path(__file__).with_name("three_devices.sql").read_text())


def rows(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables}


def test_a_first_start_killed_anywhere_starts_again(folder, shim):
    environment, snapshots = recorded(folder, shim)
    assert serve(folder, environment, signal.SIGTERM) == ""
    folders = different(snapshots)
    assert len(folders) > SAMPLE // 2

    def trouble(folder: Path) -> str:
        said = serve(folder)
        remains = [path.name for path in folder.iterdir() if "-new" in path.name or path.name.endswith("-journal")]
        return said or (f"{folder.name} leaves {remains}" if remains else "")

    assert at_once(trouble, folders) == []


def test_a_rescue_killed_anywhere_is_atomic(folder, shim):
    fill(folder)
    path = folder / REGISTRY
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("CREATE TABLE broken (name TEXT); INSERT INTO broken VALUES ('x')")
        page = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'broken'").fetchone()[0]
    with path.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xfe" * 4096)
    environment, snapshots = recorded(folder, shim)
    command = [built("carillon"), "store", "rescue", "--config", folder / "carillon.yaml"]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    rescued = f"{REGISTRY}-rescued"
    saved = rows(folder / rescued)
    assert saved["devices"] > 0

    def trouble(folder: Path) -> str:
        if not (folder / rescued).exists():
            run = carillon("store", "rescue", "--config", folder / "carillon.yaml")
            if run.returncode != 0:
                return f"{folder.name}: {run.stderr}"
        return "" if rows(folder / rescued) == saved else f"{folder.name} has saved a part"

    assert at_once(trouble, different(snapshots)) == []
