"""Backups, and stores that go elsewhere: nothing is lost, and nothing is pushed twice by both."""

import hashlib
import json
import os
import pty
import shutil
import signal
import subprocess
import tarfile
import threading

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

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


def test_a_backup_made_while_pushes_flow_goes_on_elsewhere(router, elsewhere, lab, tmp_path):
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
    assert again.returncode == 1 and "is there already" in again.stderr
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


def test_a_store_moves_with_all_that_waits(router, elsewhere, lab, alice, bob):
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


def decrypted(data: bytes, passphrase: bytes) -> bytes:
    """As contrib/docs/backup.md describes the format."""
    header, rest = data[:52], data[52:]
    assert header[:16] == b"CARILLON-BACKUP1" and header[17:20] == b"\x08\x01\x00"
    key = Scrypt(salt=header[20:], length=32, n=1 << header[16], r=8, p=1).derive(passphrase)
    plain, number = b"", 0
    while True:
        chunk, rest = rest[: 65536 + 16], rest[65536 + 16 :]
        nonce = number.to_bytes(11, "big") + (b"\x00" if rest else b"\x01")
        plain += AESGCM(key).decrypt(nonce, chunk, header)
        number += 1
        if not rest:
            return plain


def asked_for_a_passphrase(arguments, answers) -> tuple[int, str]:
    """Runs a command in a terminal of its own and answers its questions."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(built("carillon"), [str(argument) for argument in ["carillon", *arguments]])
    said, question = b"", b""
    try:
        while True:
            heard = os.read(terminal, 4096)
            said += heard
            # What is typed before the next question is thrown away.
            question += heard
            if answers and question.rstrip().endswith(b":"):
                question = b""
                os.write(terminal, answers.pop(0) + b"\n")
    except OSError:
        pass
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said.decode()


def test_an_encrypted_backup(router, lab, alice, tmp_path):
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("correct horse\n")
    sealed, plain = tmp_path / "sealed", tmp_path / "plain.tar"
    create = ["backup", "create", "--config", router.folder / "carillon.yaml", "--encrypt"]
    open_to_all = carillon(*create, sealed, "--passphrase-file", passphrase)
    assert open_to_all.returncode == 1 and "chmod 600" in open_to_all.stderr
    passphrase.chmod(0o600)
    backup(router, sealed, "--with-key", "--encrypt", "--passphrase-file", passphrase)
    plain.write_bytes(decrypted(sealed.read_bytes(), b"correct horse"))
    with pytest.raises(InvalidTag):
        decrypted(sealed.read_bytes(), b"wrong")
    with tarfile.open(plain) as archive:
        key = archive.extractfile("carillon-backup/carillon.key").read()
    assert key == (router.folder / "carillon.key").read_bytes()
    assert key.strip() not in sealed.read_bytes()

    # In a terminal it asks; what is typed is not shown.
    verify = ["backup", "verify", sealed, "--temporary", tmp_path]
    status, said = asked_for_a_passphrase(verify, [b"correct horse"])
    assert status == 0 and "Everything is sound." in said and "correct horse" not in said
    status, said = asked_for_a_passphrase(verify, [b"wrong"])
    assert status == 1 and "the passphrase does not open this backup" in said
    other = tmp_path / "other"
    status, said = asked_for_a_passphrase([*create, other], [b"one", b"another"])
    assert status == 1 and "the two differ" in said and not other.exists()
    # Without a terminal it does not wait for one.
    assert "needs a passphrase" in carillon(*verify, stdin="").stderr

    data = bytearray(sealed.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    damaged = carillon("backup", "verify", tmp_path / "damaged", "--passphrase-file", passphrase)
    assert damaged.returncode == 1 and "damaged" in damaged.stderr
    # Verifying another router's key against one without a key.
    backup(router, tmp_path / "keyless.tar")
    assert carillon("keys", "new", tmp_path / "other.key").returncode == 0
    for key, result in [(router.folder / "carillon.key", 0), (tmp_path / "other.key", 1)]:
        assert carillon("backup", "verify", tmp_path / "keyless.tar", "--key", key).returncode == result


def test_a_retired_store_goes_on_where_it_is_restored(router, elsewhere, lab, alice, bob, tmp_path):
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
