"""Backups, and stores that go elsewhere: nothing is lost, and nothing is pushed twice by both."""

import hashlib
import io
import json
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading

import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import built, carillon
from router import Router


def backup(router, target, *options):
    made = carillon("backup", "create", "--config", router.folder / "carillon.yaml", target, "--json", *options)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


@pytest.fixture
def elsewhere(tmp_path, lab):
    """A router that is configured and has no store yet."""
    router = Router(tmp_path / "elsewhere", lab)
    yield router
    if router.is_running:
        router.kill()


def names_by_event(pushes) -> dict[str, set]:
    names: dict[str, set] = {}
    for push in pushes:
        names.setdefault(push.payload["event_id"], set()).add(push.apns_id)
    return names


def test_a_backup_of_a_running_router_continues_elsewhere(router, elsewhere, lab, tmp_path):
    people = [Person() for _ in range(4)]
    bob = Person()
    tokens = {person.hex: device_token() for person in people}
    with Socket(router) as socket:
        for person in people:
            socket.publish(person.registration(router, ios(tokens[person.hex], mode="alert")))
        # These wait until after the crash.
        lab.misbehave(kind="answer", status=503, times=0)
        waiting = [bob.note(f"waits {number}", people[number % 4]) for number in range(8)]
        socket.publish(*waiting)
        lab.attempts(1)
        flowing = [bob.note(f"flows {number}", people[number % 4]) for number in range(60)]
        flow = threading.Thread(target=lambda: socket.publish(*flowing))
        flow.start()
        made = backup(router, tmp_path / "flow.tar", "--with-key", "--with-config")
        flow.join()
        # The last one has all of it.
        backup(router, tmp_path / "last.tar", "--with-key")
    router.kill()
    assert made["devices"] == 4 and made["key_fits"] and made["waiting"] >= len(waiting)

    # tar and hashlib judge the file.
    file = tmp_path / "flow.tar"
    assert file.stat().st_mode & 0o777 == 0o600
    listed = subprocess.run(["tar", "tf", file], capture_output=True, text=True, check=True).stdout.split()
    assert listed[:2] == ["carillon-backup/manifest.json", "carillon-backup/SHA256SUMS"]
    with tarfile.open(file) as archive:
        content = {member.name.split("/")[1]: archive.extractfile(member).read() for member in archive}
    sums = dict(reversed(line.split("  ")) for line in content["SHA256SUMS"].decode().splitlines())
    assert set(sums) == set(content) - {"manifest.json", "SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256(content[name]).hexdigest() == digest
    manifest = json.loads(content["manifest.json"])
    assert {entry["name"]: entry["size"] for entry in manifest["files"]} == {name: len(content[name]) for name in sums}
    assert json.loads(content["carillon.yaml"]) == router.configuration
    assert not any(token.encode() in data for token in tokens.values() for data in content.values())
    for name in ["flow.tar", "last.tar"]:
        verified = carillon("backup", "verify", tmp_path / name, "--temporary", tmp_path)
        assert verified.returncode == 0, verified.stderr

    # It goes on elsewhere.
    store = elsewhere.folder / "carillon.sqlite"
    restored = carillon("backup", "restore", tmp_path / "last.tar", "--store", store)
    assert restored.returncode == 0, restored.stderr
    again = carillon("backup", "restore", tmp_path / "last.tar", "--store", store)
    assert again.returncode == 1 and "already exists" in again.stderr
    lab.behave()
    elsewhere.start()
    elsewhere.wait_until_nothing_waits()
    accepted = [push for push in lab.received() if push.status == 200]
    pushes, names = len(accepted), names_by_event(accepted)
    assert set(names) == {event["id"] for event in waiting + flowing}
    # A sender that repeats an event wakes nobody anew.
    with Socket(elsewhere) as socket:
        socket.publish(*waiting, *flowing)
        socket.publish(bob.note("new", people[0]))
        lab.accepted(pushes + 1)
    assert elsewhere.stop() == 0
    names = names_by_event(push for push in lab.received() if push.status == 200)
    assert len(names) == len(waiting + flowing) + 1
    assert all(len(ids) == 1 for ids in names.values()), "a delivery came under another name"


def test_a_store_moves_with_its_queue(router, elsewhere, lab, alice, bob):
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        socket.publish(first := bob.note("arrives before", alice))
        lab.accepted(1)
        router.wait_until_nothing_waits()
        lab.misbehave(kind="answer", status=503, times=0)
        events = [bob.note(f"number {number}", alice) for number in range(5)]
        socket.publish(*events)
        lab.attempts(2)
    migrate = ["store", "migrate", "--config", router.folder / "carillon.yaml", "--to", elsewhere.folder]
    running = carillon(*migrate)
    assert running.returncode == 1 and "another router" in running.stderr
    key = router.public_key
    assert router.stop() == len(events)
    moved = carillon(*migrate, "--json")
    assert moved.returncode == 0, moved.stderr
    report = json.loads(moved.stdout)
    assert (report["devices"], report["waiting"], report["was_done"]) == (1, len(events), False)
    assert json.loads(carillon(*migrate, "--json").stdout)["was_done"]

    # The old place is served no more, and a check says why.
    serve = carillon("serve", "--config", router.configuration_file)
    assert serve.returncode == 1 and f"was moved to {elsewhere.folder}" in serve.stderr
    check = carillon("check", "--config", router.configuration_file)
    assert check.returncode == 1 and "was moved to" in check.stderr

    lab.behave()
    elsewhere.start()
    assert elsewhere.public_key == key
    with Socket(elsewhere) as socket:
        socket.publish(first, *events)
    elsewhere.wait_until_nothing_waits()
    assert elsewhere.stop() == 0
    accepted = [push.payload["event_id"] for push in lab.received() if push.status == 200]
    assert sorted(accepted) == sorted(event["id"] for event in [first, *events])


def test_a_backup_encrypted_with_age(router, lab, alice, tmp_path):
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    identity, sealed = tmp_path / "identity", tmp_path / "sealed"
    subprocess.run(["age-keygen", "-o", identity], check=True, capture_output=True)
    recipient = subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True).stdout.strip()
    assert backup(router, sealed, "--with-key", "--encrypt-to", recipient)["is_encrypted"]
    assert sealed.stat().st_mode & 0o777 == 0o600
    key = (router.folder / "carillon.key").read_bytes()
    assert key.strip() not in sealed.read_bytes()

    # age itself reads it, and what age writes is read from a pipe.
    plain = subprocess.run(["age", "--decrypt", "--identity", identity, sealed], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        assert archive.extractfile("carillon-backup/carillon.key").read() == key
    verify = ["backup", "verify", sealed, "--temporary", tmp_path]
    piped = subprocess.run(
        [built("carillon"), "backup", "verify", "-", "--temporary", tmp_path], input=plain, capture_output=True, timeout=60
    )
    assert piped.returncode == 0 and b"No errors found." in piped.stdout, piped.stderr
    sound = carillon(*verify, "--identity", identity)
    assert sound.returncode == 0 and "No errors found." in sound.stdout, sound.stderr
    without = carillon(*verify)
    assert without.returncode == 1 and "is encrypted with age: add --identity" in without.stderr
    other = tmp_path / "other"
    subprocess.run(["age-keygen", "-o", other], check=True, capture_output=True)
    wrong = carillon(*verify, "--identity", other)
    assert wrong.returncode == 1 and "age" in wrong.stderr and "No part of it was used" in wrong.stderr

    data = bytearray(sealed.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    damaged = carillon("backup", "verify", tmp_path / "damaged", "--identity", identity, "--temporary", tmp_path)
    assert damaged.returncode == 1 and "No part of it was used" in damaged.stderr
    assert not list(tmp_path.glob("carillon-verify-*")), "what was unpacked is left behind"
    # Verifying another router's key against one without a key.
    backup(router, tmp_path / "keyless.tar")
    assert carillon("keys", "new", tmp_path / "other.key").returncode == 0
    for key, result in [(router.folder / "carillon.key", 0), (tmp_path / "other.key", 1)]:
        assert carillon("backup", "verify", tmp_path / "keyless.tar", "--key", key).returncode == result


def test_a_backup_encrypted_with_gpg(stopped_router, elsewhere, tmp_path, monkeypatch):
    # A short path: the agent's socket is in there.
    with tempfile.TemporaryDirectory() as keyring:
        monkeypatch.setenv("GNUPGHOME", keyring)
        create = ["--batch", "--passphrase", "", "--quick-generate-key", "ops@example.com", "default", "default"]
        subprocess.run(["gpg", *create], check=True, capture_output=True)
        stopped_router.start()
        stopped_router.stop()
        sealed = tmp_path / "sealed"
        backup(stopped_router, sealed, "--with-key", "--encrypt-to", "ops@example.com")
        store = elsewhere.folder / "carillon.sqlite"
        restored = carillon("backup", "restore", sealed, "--store", store)
        assert restored.returncode == 0, restored.stderr
        assert (elsewhere.folder / "carillon.key").read_bytes() == (stopped_router.folder / "carillon.key").read_bytes()
        assert not (elsewhere.folder / "carillon.sqlite-restoring").exists()
        unknown = carillon(
            "backup", "create", "--config", stopped_router.folder / "carillon.yaml", tmp_path / "none",
            "--encrypt-to", "stranger@example.com",
        )  # fmt: skip
        assert unknown.returncode == 1 and "gpg" in unknown.stderr and not (tmp_path / "none").exists()
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True)


def test_a_missing_program_is_named(stopped_router, tmp_path, monkeypatch):
    stopped_router.start()
    stopped_router.stop()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tar").symlink_to(shutil.which("tar"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    create = ["backup", "create", "--config", stopped_router.folder / "carillon.yaml", tmp_path / "sealed"]
    for recipient, package in [("age1abc", "age"), ("ops@example.com", "gnupg")]:
        missing = carillon(*create, "--encrypt-to", recipient)
        assert missing.returncode == 1 and f"install the package {package}" in missing.stderr, missing.stderr
    assert not list(tmp_path.glob("sealed*"))
    assert not list(stopped_router.folder.glob("*-backup-*"))


def test_a_retired_store_continues_where_it_is_restored(router, elsewhere, lab, alice, bob, tmp_path):
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        lab.misbehave(kind="answer", status=503, times=0)
        socket.publish(event := bob.note("waits", alice))
        lab.attempts(1)
    create = ["backup", "create", "--config", router.folder / "carillon.yaml", "--with-key", tmp_path / "final.tar"]
    assert carillon(*create, "--retire").returncode == 1
    router.stop()
    # A kill at any moment leaves no half of a backup under its name.
    for _ in range(3):
        process = subprocess.Popen([built("carillon"), *map(str, create)], stdout=subprocess.DEVNULL)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "final.tar").exists():
            assert carillon("backup", "verify", tmp_path / "final.tar").returncode == 0
            (tmp_path / "final.tar").unlink()
    final = carillon(*create, "--retire")
    assert final.returncode == 0, final.stderr
    assert not list(router.folder.glob("*-backup-*")), "copies are left behind"
    assert "was moved to" in carillon("serve", "--config", router.configuration_file).stderr

    restored = carillon("backup", "restore", tmp_path / "final.tar", "--store", elsewhere.folder / "carillon.sqlite")
    assert restored.returncode == 0 and "never runs again" not in restored.stdout
    lab.behave()
    elsewhere.start()
    elsewhere.wait_until_nothing_waits()
    assert elsewhere.stop() == 0
    assert [push.payload["event_id"] for push in lab.received() if push.status == 200] == [event["id"]]

    # With --drop-waiting nothing of it is pushed.
    shutil.rmtree(elsewhere.folder)
    dropped = Router(elsewhere.folder, lab)
    options = ["--store", dropped.folder / "carillon.sqlite", "--drop-waiting", "--json"]
    report = json.loads(carillon("backup", "restore", tmp_path / "final.tar", *options).stdout)
    assert (report["dropped"], report["waiting"]) == (1, 0)
    dropped.start()
    with Socket(dropped) as socket:
        socket.publish(event)
    assert dropped.stop() == 0
    assert len([push for push in lab.received() if push.status == 200]) == 1


def test_named_tokens_are_good_for_the_same_in_a_restored_store(stopped_router, elsewhere, tmp_path):
    console = Console(stopped_router)
    made = {}
    for name, scopes in {"grafana": ["read"], "deploy": ["read", "operate"], "shop": ["send"], "old": ["read"]}.items():
        options = [part for scope in scopes for part in ("--scope", scope)]
        created = carillon("tokens", "create", name, *options, "--json", "--config", stopped_router.configuration_file)
        made[name] = json.loads(created.stdout)["token"]
    assert carillon("tokens", "revoke", "old", "--config", stopped_router.configuration_file).returncode == 0
    console.start()
    assert console.ask("/v1/status", token=made["grafana"])[0] == 200
    backup(stopped_router, tmp_path / "backup.tar", "--with-key")
    # What happens after the backup is not in it.
    assert carillon("tokens", "revoke", "deploy", "--config", stopped_router.folder / "carillon.yaml").returncode == 0
    assert console.ask("/v1/status", token=made["deploy"])[0] == 401
    stopped_router.kill()
    content = (tmp_path / "backup.tar").read_bytes()
    assert not any(token.encode() in content for token in made.values()), "hashes alone are kept"

    store = elsewhere.folder / "carillon.sqlite"
    restored = carillon("backup", "restore", tmp_path / "backup.tar", "--store", store)
    assert restored.returncode == 0, restored.stderr
    file = elsewhere.folder / "carillon.sqlite-tokens"
    assert file.stat().st_mode & 0o777 == 0o600
    there = Console(elsewhere).start()
    allowed = {
        name: [there.ask("/v1/status", token=token)[0], there.ask("/v1/devices/1/test", "POST", token)[0]]
        for name, token in made.items()
    }
    assert allowed == {"grafana": [200, 403], "deploy": [200, 404], "shop": [403, 403], "old": [401, 401]}
    assert there.json("/v1/notify", "POST", made["shop"], body={"to": {}})[0] == 422
    listed = carillon("tokens", "list", "--json", "--config", elsewhere.folder / "carillon.yaml")
    assert {token["name"] for token in json.loads(listed.stdout)["tokens"]} == {"grafana", "deploy", "shop"}
    elsewhere.stop()
