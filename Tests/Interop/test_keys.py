"""`carillon keys rotate`, `undo` and `retire`: nostr-sdk registers to the old key and to the new one, and opens what each seals."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import datetime, timezone

import nostr_sdk as sdk
import pytest

from nostr import ADDRESSABLE_REGISTRATION, ADVERTISEMENT, Person, Socket, device_token, ios
from programs import built, carillon
from relays import LocalRelay, stored
from test_killed_at_each_file_operation import different, fill, folder, recorded, serve, shim  # noqa: F401
from test_remote_signing import Session


class KeyedPerson(Person):
    """Registers with whatever key of the router it knows."""

    def register(self, socket: Socket, key: str, content: dict | None, name: str = "phone") -> tuple[bool, str]:
        text = "" if content is None else self.encrypt(json.dumps(content), key)
        tags = [["d", f"{key}:{name}"], ["protocol_version", "1"]]
        self._registered_at = max(int(time.time()), self._registered_at + 1)
        return socket.offer(self.event(ADDRESSABLE_REGISTRATION, text, tags, self._registered_at))

    def open(self, envelope: dict) -> tuple[str, str]:
        """Who sealed it, and the title or text inside."""
        plain = self.keys.nip44_decrypt(sdk.PublicKey.parse(envelope["from"]), envelope["ct"])
        return envelope["from"], json.loads(plain)["body"]


def keys(router, verb: str, *options: str, status: int = 0) -> dict:
    run = carillon("keys", verb, "--config", router.configuration_file, "--json", *options)
    assert run.returncode == status, run.stdout + run.stderr
    return json.loads(run.stdout) if status == 0 else {"error": run.stderr}


def registered(router) -> dict[str, int]:
    """The metric, from the socket that commands use."""
    # From its folder: a socket's path has at most 107 bytes.
    run = subprocess.run(
        ["curl", "-sf", "--unix-socket", "socket", "http://localhost/metrics"],
        cwd=router.folder / "carillon.sqlite-admin",
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return {key: int(count) for key, count in re.findall(r'^carillon_registered_devices\{key="(\w+)"} (\d+)', run.stdout, re.M)}


def sealed(token: str) -> dict:
    return ios(token, mode="sealed")


def envelopes(lab, count: int) -> dict[str, dict]:
    """By the token."""
    return {push.target: push.payload["sealed"] for push in lab.accepted(count)}


def advertisements(socket: Socket) -> dict[str, dict[str, str]]:
    """The tags of each advertisement, by its key."""
    events = socket.query({"kinds": [ADVERTISEMENT]})
    assert all(sdk.Event.from_json(json.dumps(event)).verify() for event in events)
    return {event["pubkey"]: {tag[0]: tag[1] for tag in event["tags"]} for event in events}


def test_apps_move_from_one_key_to_the_other(stopped_router, lab, tmp_path):
    relay = LocalRelay(tmp_path / "relay").start()
    router = stopped_router
    router.watch([relay])
    router.start()
    old = router.public_key
    people = [KeyedPerson() for _ in range(3)]
    stays, moves, _ = people
    tokens = {person.hex: device_token() for person in people}
    router.secrets.update(tokens.values())
    bob = Person()
    with Socket(router) as socket:
        for person in [stays, moves]:
            assert person.register(socket, old, sealed(tokens[person.hex])) == (True, "")
    refused = keys(router, "rotate", status=1)
    assert "router" in refused["error"] and "carillon.sqlite" in refused["error"]
    router.stop()
    before = (router.folder / "carillon.key").read_text()
    report = keys(router, "rotate", "--for", "10d")
    new = report["keys"][0]["hex"]
    assert [(key["state"], key["devices"]) for key in report["keys"]] == [("current", 0), ("former", 2)]
    assert new != old and (router.folder / "carillon.key").read_text() != before
    assert keys(router, "rotate")["keys"] == report["keys"], "it is done already"

    router.start()
    assert router.public_key == new
    retires = datetime.fromisoformat(report["keys"][1]["retires_at"]).astimezone(timezone.utc)
    assert 9.9 < (retires - datetime.now(timezone.utc)).total_seconds() / 86_400 < 10.1
    with Socket(router) as socket:
        told = advertisements(socket)
        assert set(told) == {old, new}
        assert told[old]["successor"] == new and told[old]["retires_at"] == str(int(retires.timestamp()))
        assert "successor" not in told[new]
        at_relay = {event["pubkey"] for event in stored(relay, {"kinds": [ADVERTISEMENT]})}
        assert at_relay <= {old, new}
        late = people[2]
        # To either key: one that moves and one that never heard of the new key.
        assert moves.register(socket, new, sealed(tokens[moves.hex])) == (True, "")
        assert late.register(socket, old, sealed(tokens[late.hex])) == (True, "")
        # The end of the former registration leaves the device that moved alone.
        assert moves.register(socket, old, None)[0]
        for person in people:
            socket.publish(bob.note(f"for {person.hex}", person))
    found = envelopes(lab, 3)
    for person in people:
        sender, body = person.open(found[tokens[person.hex]])
        assert (sender, body) == (new if person is moves else old, f"for {person.hex}")
    # Whoever is asked answers.
    with Socket(router) as socket:
        for asked in [old, new]:
            session = Session(socket, router, Person())
            session.key = asked
            assert session.request("connect", asked)["result"] == "ack"
            assert session.request("get_public_key")["result"] == asked
            socket.send(["CLOSE", "nip46"])
    shown = keys(router, "show")
    assert [(key["hex"], key["devices"]) for key in shown["keys"]] == [(new, 1), (old, 2)]
    status = json.loads(carillon("status", "--config", router.configuration_file, "--json").stdout)
    [issue] = [issue for issue in status["issues"] if issue["code"] == "former-key"]
    assert issue["message"].startswith("2 of 3 devices are registered to a former key")
    assert registered(router) == {"current": 1, "former": 2}

    # The old key retires before its day: nobody loses a device, and nobody registers to it any more.
    router.stop()
    lab.forget()
    assert "--now" in keys(router, "retire", status=1)["error"]
    assert [key["state"] for key in keys(router, "retire", "--now")["keys"]] == ["current", "retired"]
    router.start()
    with Socket(router) as socket:
        assert advertisements(socket)[old]["successor"] == new, "for those that were away"
        accepted, reason = stays.register(socket, old, sealed(tokens[stays.hex]))
        assert not accepted and reason.endswith(f"register with {new}")
        for person in people:
            socket.publish(bob.note(f"again for {person.hex}", person))
        pushes = {push.target: push for push in lab.accepted(3)}
        assert {token for token, push in pushes.items() if "sealed" in push.payload} == {tokens[moves.hex]}
        assert stays.register(socket, new, sealed(tokens[stays.hex])) == (True, "")
    router.stop()
    relay.kill()
    assert keys(router, "undo")["keys"][0]["hex"] == new, "nothing is left to undo"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_a_key_from_systemd_credentials_is_not_replaced(stopped_router, tmp_path):
    """Its folder is read-only, as that of a service's credentials is (systemd.exec(5))."""
    router = stopped_router
    router.start()
    router.stop()
    own, lent = router.folder / "carillon.key", tmp_path / "credentials"
    lent.mkdir()
    key = own.read_text()
    own.rename(lent / "carillon.key")
    router.configuration["identity"]["key_file"] = str(lent / "carillon.key")
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    command = [built("carillon"), "keys", "rotate", "--config", router.configuration_file]
    run = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", lent, *command], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 1 and f"{lent}/carillon.key cannot be replaced" in run.stderr, run.stderr
    assert f"Copy the key to {router.folder}" in run.stderr
    assert [path.name for path in lent.iterdir()] == ["carillon.key"] and (lent / "carillon.key").read_text() == key
    # What it says helps.
    (lent / "carillon.key").rename(own)
    router.configuration["identity"]["key_file"] = str(own)
    assert [key["state"] for key in keys(router, "rotate")["keys"]] == ["current", "former"]


def test_an_undone_key_is_answered_to_as_long_as_devices_are_registered_to_it(stopped_router, lab, alice, bob):
    router = stopped_router.start()
    old = router.public_key
    app = KeyedPerson()
    token = device_token()
    router.secrets.add(token)
    router.stop()
    new = keys(router, "rotate")["keys"][0]["hex"]
    assert keys(router, "undo")["keys"][-1]["hex"] == old
    router.start()
    assert router.public_key == old
    router.stop()
    assert [key["state"] for key in keys(router, "show")["keys"]] == ["retired", "current"]
    new = keys(router, "rotate")["keys"][0]["hex"]
    router.start()
    with Socket(router) as socket:
        assert app.register(socket, new, sealed(token))[0]
    router.stop()
    assert [(key["state"], key["devices"]) for key in keys(router, "undo")["keys"]][0] == ("former", 1)
    router.start()
    with Socket(router) as socket:
        assert advertisements(socket)[new]["successor"] == old
        socket.publish(bob.note("hello", app))
        [envelope] = envelopes(lab, 1).values()
        assert app.open(envelope) == (new, "hello")
    router.stop()


def test_a_backup_in_between_brings_both_keys_back(stopped_router, lab, alice, bob, tmp_path):
    router = stopped_router.start()
    old = router.public_key
    app = KeyedPerson()
    token = device_token()
    router.secrets.add(token)
    with Socket(router) as socket:
        assert app.register(socket, old, sealed(token))[0]
    router.stop()
    new = keys(router, "rotate")["keys"][0]["hex"]
    router.start()
    backup = tmp_path / "backup.tar"
    run = carillon("backup", "create", "--config", router.configuration_file, "--with-key", backup)
    assert run.returncode == 0, run.stderr
    router.stop()
    for path in router.folder.glob("carillon.*"):
        if path.suffix != ".yaml":
            path.unlink()
    run = carillon("backup", "restore", backup, "--store", router.folder / "carillon.sqlite")
    assert run.returncode == 0, run.stdout + run.stderr
    router.start()
    assert router.public_key == new
    with Socket(router) as socket:
        assert set(advertisements(socket)) == {old, new}
        socket.publish(bob.note("hello", app))
        [envelope] = envelopes(lab, 1).values()
        assert app.open(envelope) == (old, "hello")
    router.stop()


# MARK: Killed anywhere


def rows(path) -> list[tuple]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT number, state FROM router_keys ORDER BY number").fetchall()


def command(folder, verb: str, *options: str) -> subprocess.CompletedProcess:
    return carillon("keys", verb, "--config", folder / "carillon.yaml", *options)


@pytest.fixture
def served_folder(folder):  # noqa: F811
    """One with devices, which a router has served."""
    fill(folder)
    assert serve(folder, end=signal.SIGTERM) == ""
    return folder


@pytest.mark.parametrize("verb", ["rotate", "undo", "retire"])
def test_a_command_that_was_killed_anywhere_is_finished_or_undone(served_folder, shim, verb):  # noqa: F811
    folder = served_folder  # noqa: F811
    if verb != "rotate":
        assert command(folder, "rotate").returncode == 0
    environment, snapshots = recorded(folder, shim)
    options = ["--now"] if verb == "retire" else []
    run = subprocess.run(
        [built("carillon"), "keys", verb, "--config", folder / "carillon.yaml", *options],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    folders = different(snapshots)
    assert len(folders) > 5
    expected = {"rotate": [(1, "former"), (2, "current")], "undo": [(1, "current"), (2, "retired")]}
    expected["retire"] = [(1, "retired"), (2, "current")]
    for number, left in enumerate(folders):
        # A router starts on whatever is there, before the command goes on and after it.
        assert serve(left, end=signal.SIGTERM) == "", left.name
        if verb == "rotate" and number % 2:
            run = command(left, "undo")
            states = rows(left / "carillon.sqlite")
            assert run.returncode == 0, (left.name, run.stderr)
            assert states in ([], [(1, "current")], [(1, "current"), (2, "retired")]), left.name
        else:
            run = command(left, verb, *options)
            assert run.returncode == 0, (left.name, run.stderr)
            assert rows(left / "carillon.sqlite") == expected[verb], left.name
        assert not (left / "carillon.key.next").exists()
        check = carillon("store", "check", "--config", left / "carillon.yaml")
        assert check.returncode == 0 and "3 devices" in check.stdout, (left.name, check.stdout, check.stderr)
        assert serve(left, end=signal.SIGTERM) == "", left.name
