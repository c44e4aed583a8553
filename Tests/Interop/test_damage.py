"""Databases that are damaged, cut, mixed up or too new: refused with a way out, and never emptied."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from nostr import Person, Socket, device_token, ios
from programs import carillon
from router import Router

REGISTRY, OUTBOX = "carillon.sqlite", "carillon.sqlite-outbox"
BOTH = pytest.mark.parametrize("name, called", [(REGISTRY, "the registry"), (OUTBOX, "the outbox")])


@pytest.fixture
def filled(stopped_router, lab, alice, bob) -> Router:
    """A stopped router with a registry of several pages and an outbox in which pushes wait."""
    router = stopped_router.start()
    lab.misbehave("answer", status=503, times=0)
    people = [alice, *(Person() for _ in range(25))]
    with Socket(router) as socket:
        socket.publish(*(person.registration(router, ios(device_token(), mode="alert")) for person in people))
        socket.publish(*(bob.note("x" * 600, person) for person in people))
    lab.attempts(5)
    assert router.stop() == 26
    lab.behave()
    lab.forget()
    return router


def refusal(router: Router) -> str:
    """What `carillon serve` says at the end, which must not begin."""
    run = carillon("serve", "--config", router.configuration_file, cwd=router.folder)
    assert run.returncode == 1, run.stderr
    return run.stderr.strip().splitlines()[-1]


def truncated(path: Path):
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def cut_within_a_page(path: Path):
    os.truncate(path, path.stat().st_size - 1000)


def garbage_in_the_middle(path: Path):
    with path.open("r+b") as file:
        file.seek(4096)
        for _ in range(path.stat().st_size // 4096 - 1):
            file.write(b"\xfe" * 100)
            file.seek(3996, 1)


def header_overwritten(path: Path):
    with path.open("r+b") as file:
        file.write(b"\0" * 100)


def emptied(path: Path):
    os.truncate(path, 0)


def another_programs(path: Path):
    path.unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE bookmarks (url TEXT)")


def the_other_store(path: Path):
    other = path.with_name(OUTBOX if path.name == REGISTRY else REGISTRY)
    shutil.copy(other, path)


def of_a_newer_version(path: Path):
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO grdb_migrations VALUES ('99 the future')")


FAULTS = [
    (truncated, "is damaged"),
    (cut_within_a_page, "is damaged"),
    (garbage_in_the_middle, "is damaged"),
    (header_overwritten, "is damaged or not an SQLite database"),
    (emptied, "is an empty file"),
    (another_programs, "another database of Carillon or of another program"),
    (the_other_store, "another database of Carillon or of another program"),
    (of_a_newer_version, "has the format “99 the future”, and this version of Carillon expects"),
]


@BOTH
@pytest.mark.parametrize("damage, words", FAULTS, ids=[damage.__name__ for damage, _ in FAULTS])
def test_a_damaged_database_is_refused_with_a_fix_and_unchanged(filled, lab, name, called, damage, words):
    path = filled.folder / name
    backup = path.read_bytes()
    damage(path)
    bad = path.read_bytes()
    said = refusal(filled)
    assert str(path) in said and called in said and words in said, said
    if "damaged" in words or "empty" in words:
        assert "backup" in said and "carillon store rescue" in said and "start with an empty one" in said, said
    assert path.read_bytes() == bad
    # Both checks say so before anything is started.
    check = carillon("check", "--config", filled.configuration_file, cwd=filled.folder)
    assert check.returncode == 1 and words in check.stderr, check.stderr
    thorough = carillon("store", "check", "--config", filled.configuration_file, cwd=filled.folder)
    assert thorough.returncode == 1 and words in thorough.stdout + thorough.stderr, thorough
    assert path.read_bytes() == bad
    path.write_bytes(backup)
    Path(f"{path}-wal").unlink(missing_ok=True)
    filled.start()
    assert {push.status for push in lab.accepted(26)} == {200}
    assert filled.stop() == 0


def test_sound_databases_are_reported_as_sound(filled):
    run = carillon("store", "check", "--config", filled.configuration_file, cwd=filled.folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(": sound, ") == 2 and "26 devices" in run.stdout and "26 waiting deliveries" in run.stdout, run.stdout


@BOTH
def test_an_orphaned_log_is_not_deleted(filled, lab, alice, bob, name, called):
    router = filled.start()
    with Socket(router) as socket:
        socket.publish(Person().registration(router, ios(device_token())), bob.note("one more", alice))
    router.kill()
    path, log = router.folder / name, router.folder / f"{name}-wal"
    away = path.rename(router.folder / "away")
    assert log.stat().st_size > 0
    said = refusal(router)
    assert str(log) in said and called in said and "Restore both" in said, said
    assert not path.exists() and log.stat().st_size > 0
    away.rename(path)
    router.start()
    router.wait_until_nothing_waits()
    assert len({push.payload["event_id"] for push in lab.accepted(27)}) == 27
    assert router.stop() == 0


def test_a_truncated_log_loses_only_its_end(filled, lab, bob):
    """The kernel keeps what a killed process wrote; a disk that lies, or a bad copy, may cut it."""
    router = filled.start()
    lab.misbehave("silence", times=0)
    people = [Person() for _ in range(30)]
    with Socket(router) as socket:
        for person in people:
            socket.publish(person.registration(router, ios(device_token(), mode="alert")))
    router.kill()
    log = router.folder / f"{REGISTRY}-wal"
    os.truncate(log, log.stat().st_size // 2)
    lab.behave()
    router.start()
    with Socket(router) as socket:
        socket.publish(*(bob.note("who is there", person) for person in people))
    router.wait_until_nothing_waits()
    assert router.stop() == 0
    run = carillon("store", "check", "--config", router.configuration_file, cwd=router.folder)
    assert run.returncode == 0, run.stdout
    woken = {push.payload["event_id"] for push in lab.received() if push.status == 200}
    assert 26 < len(woken) < 56, "some of the later registrations are kept, and not all"


@BOTH
def test_damage_while_running_is_reported_once_and_stops_writing(filled, lab, alice, bob, name, called):
    router = filled.start()
    path = router.folder / name
    lab.accepted(26)
    with Socket(router) as socket:
        garbage_in_the_middle(path)
        # Somebody else writes, so that nobody believes a cache.
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA user_version = 7")
        answers = []
        for number in range(30):
            answers.append(socket.offer(Person().registration(router, ios(device_token()))))
            answers.append(socket.offer(bob.note(f"number {number}", alice)))
        refused = [message for is_accepted, message in answers if not is_accepted]
        assert len(refused) >= 30 and all(message.startswith("error: ") for message in refused)
        assert router.is_running
    assert router.log_text.count("A database is damaged; writes to it stopped") == 1
    assert str(path) in router.log_text and "carillon store rescue" in router.log_text
    router.stop()
    assert str(path) in refusal(router)


def test_a_missing_registry_is_not_recreated_next_to_a_filled_outbox(filled, lab):
    path = filled.folder / REGISTRY
    away = path.rename(filled.folder / "away")
    said = refusal(filled)
    assert f"the registry {path} is missing" in said and OUTBOX in said and "backup" in said, said
    for words in [["check"], ["store", "check"], ["store", "rescue"]]:
        run = carillon(*words, "--config", filled.configuration_file, cwd=filled.folder)
        assert run.returncode == 1 and f"the registry {path} is missing" in run.stderr, run
    assert not path.exists()
    away.rename(path)
    filled.start()
    lab.accepted(26)
    assert filled.stop() == 0


def test_a_missing_store_is_not_reported_as_sound(stopped_router):
    run = carillon("store", "check", "--config", stopped_router.configuration_file)
    assert run.returncode == 0 and run.stdout.count(": not there yet") == 2, run
    run = carillon("store", "rescue", "--config", stopped_router.configuration_file)
    assert run.returncode == 0 and run.stdout.count(": does not exist\n") == 2, run


def page_of_rows(database: bytes) -> int:
    """A page with rows of a table, as near to the middle as there is one: without the schema nothing could be saved."""
    middle = len(database) // 4096 // 2
    for page in sorted(range(1, len(database) // 4096), key=lambda page: abs(page - middle)):
        content = database[4096 * page : 4096 * (page + 1)]
        if content[0] == 0x0D and b"CREATE " not in content:
            return page
    raise AssertionError("no page of the database holds rows")


def page_of_rows_overwritten(path: Path):
    with path.open("r+b") as file:
        file.seek(4096 * page_of_rows(path.read_bytes()))
        file.write(b"\xfe" * 4096)


@BOTH
def test_readable_rows_are_rescued_into_a_new_database(filled, lab, bob, name, called):
    path = filled.folder / name
    page_of_rows_overwritten(path)
    assert "is damaged" in refusal(filled)
    bad = path.read_bytes()
    run = carillon("store", "rescue", "--config", filled.configuration_file, cwd=filled.folder)
    assert run.returncode == 0, run.stderr
    rescued = path.with_name(f"{name}-rescued")
    assert rescued.exists() and str(rescued) in run.stdout and path.read_bytes() == bad
    # Not twice over the same.
    again = carillon("store", "rescue", "--config", filled.configuration_file, cwd=filled.folder)
    assert again.returncode == 1 and str(rescued) in again.stderr
    rescued.rename(path)
    Path(f"{path}-wal").unlink(missing_ok=True)
    check = carillon("store", "check", "--config", filled.configuration_file, cwd=filled.folder)
    assert check.returncode == 0, check.stdout + check.stderr
    filled.start()
    carol = Person()
    with Socket(filled) as socket:
        socket.publish(carol.registration(filled, ios(device_token(), mode="alert")), bob.note("hello", carol))
    # A page holds a few rows; most are saved.
    lab.accepted(10)
    filled.wait_for_deliveries(10)
    filled.stop()


@BOTH
def test_an_unreadable_store_does_not_block_the_rescue_of_the_other(filled, name, called):
    lost, readable = filled.folder / name, filled.folder / (OUTBOX if name == REGISTRY else REGISTRY)
    header_overwritten(lost)
    page_of_rows_overwritten(readable)
    bad = lost.read_bytes()
    for saved in [f"saved into {readable}-rescued", ""]:
        run = carillon("store", "rescue", "--config", filled.configuration_file, cwd=filled.folder)
        assert run.returncode == 1 and saved in run.stdout, run
        # What is left to do, and not what was tried.
        assert f"{called} {lost} is damaged" in run.stderr and "backup" in run.stderr, run.stderr
        assert "store rescue" not in run.stderr, run.stderr
        assert lost.read_bytes() == bad and not Path(f"{lost}-rescued").exists()
    # The second time there is something to be used already.
    assert f"to {readable}-rescued: the file exists" in run.stderr, run.stderr


@BOTH
@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_a_store_rescued_by_root_still_belongs_to_the_router(filled, name, called):
    path = filled.folder / name
    page_of_rows_overwritten(path)
    bad = path.read_bytes()
    for file in filled.folder.glob("carillon.*"):
        os.chown(file, 61234, 61235)
    run = carillon("store", "rescue", "--config", filled.configuration_file, cwd=filled.folder)
    assert run.returncode == 0, run.stderr
    commands = [line for line in run.stdout.split("To use it:\n")[1].splitlines() if line.startswith("  ")]
    subprocess.run(["sh", "-ec", "\n".join(commands)], check=True)
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (61234, 61235, 0o600)
    assert Path(f"{path}-damaged").read_bytes() == bad
    check = carillon("store", "check", "--config", filled.configuration_file, cwd=filled.folder)
    assert check.returncode == 0, check.stderr
