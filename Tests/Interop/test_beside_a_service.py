"""Commands as an operator runs them beside a service: as root on files of its user, and without the credentials it is lent."""

import os
import subprocess

import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until

SERVICE = 61234
"""As systemd's DynamicUser= numbers them."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


def command(router, *words):
    return carillon(*words, "--config", router.configuration_file)


def hand_over(router):
    """Gives what the router wrote, and the keys that it reads, to the service's user."""
    for path in router.folder.iterdir():
        if path.is_file():
            os.chown(path, SERVICE, SERVICE)


def files_of(router, owner: int) -> set[str]:
    return {path.name for path in router.folder.glob("carillon.*") if path.stat().st_uid == owner}


@as_root
def test_files_keep_their_owner_when_root_runs_commands(stopped_router, alice, bob):
    router = stopped_router
    Console(router, port=free_port()).start()
    note = bob.note("hello", alice)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), note)
    router.wait_for_deliveries(1)
    hand_over(router)
    assert alice.hex in command(router, "devices", "show", "1").stdout
    wait_until(lambda: "delivered" in command(router, "explain", note["id"]).stdout, "explain tells root")
    assert command(router, "reload").returncode == 0
    checked = command(router, "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    router.stop()
    # Even when the lock was cleared away.
    (router.folder / "carillon.sqlite-lock").unlink()
    hand_over(router)
    assert command(router, "store", "check").returncode == 0
    removed = command(router, "devices", "remove", "1")
    assert removed.returncode == 0, removed.stderr
    command(router, "store", "rescue")
    assert files_of(router, SERVICE) >= {"carillon.key", "carillon.sqlite", "carillon.sqlite-lock"}
    assert files_of(router, 0) <= {"carillon.yaml"}


@as_root
def test_a_key_file_others_can_read_is_still_refused(stopped_router, alice):
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    hand_over(router)
    key = router.folder / "carillon.key"
    key.chmod(0o644)
    refused = command(router, "devices", "list")
    assert refused.returncode == 1 and f"run: chmod 600 {key}" in refused.stderr and "chown" not in refused.stderr


@pytest.fixture
def service(stopped_router):
    """A router whose state lies in a folder of its own user's, as systemd's StateDirectory= makes it, in one that only root enters."""
    router = stopped_router
    state = router.folder / "state"
    state.mkdir(mode=0o700)
    router.folder.chmod(0o700)
    router.configuration |= {
        "identity": {"key_file": "state/carillon.key"},
        "store": {"path": "state/carillon.sqlite"},
        "registration": {"secret_file": "state/secrets"},
    }
    router.configuration["relay"]["url"] = "wss://notify.example.com"
    alice = Person()
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    router.stop()
    (state / "carillon.sqlite-lock").unlink()
    for path in [state, *state.iterdir()]:
        os.chown(path, SERVICE, SERVICE)
    return router


def owners(router) -> set[tuple[int, int]]:
    return {(path.lstat().st_uid, path.lstat().st_gid) for path in (router.folder / "state").iterdir()}


@as_root
def test_files_root_writes_in_a_service_folder_belong_to_the_service(service):
    state = service.folder / "state"
    assert "ios/default" in command(service, "devices", "list").stdout
    assert command(service, "explain", "ab" * 32).returncode == 3
    assert "sound, 1 devices" in command(service, "store", "check").stdout
    invited = command(service, "keys", "bunker")
    assert invited.stdout.startswith("bunker://"), invited.stderr
    assert carillon("keys", "new", state / "another.key").returncode == 0
    page_size = 4096
    with (state / "carillon.sqlite-outbox").open("r+b") as file:
        file.seek(page_size)
        file.write(b"\xff" * page_size)
    rescued = command(service, "store", "rescue")
    assert f"saved into {state}/carillon.sqlite-outbox-rescued" in rescued.stdout, rescued
    (state / "carillon.sqlite-outbox-rescued").replace(state / "carillon.sqlite-outbox")
    removed = command(service, "devices", "remove", "1")
    assert removed.returncode == 0, removed.stderr
    names = {path.name for path in state.iterdir()}
    assert names >= {"carillon.sqlite-lock", "secrets", "another.key"}
    assert owners(service) == {(SERVICE, SERVICE)}
    checked = command(service, "check")
    assert (checked.returncode, checked.stderr) == (0, "")


@as_root
@pytest.mark.parametrize("name", ["carillon.sqlite-lock", "carillon.sqlite-rescued", "secrets", "new.key"])
def test_root_follows_no_links_in_a_service_folder(service, tmp_path, name):
    link = service.folder / "state" / name
    victim = tmp_path / "roots"
    for is_there in [True, False]:
        if is_there:
            victim.touch(mode=0o600)
            victim.write_text("a line of root's, and long enough\n")
        else:
            victim.unlink()
        link.symlink_to(victim)
        os.chown(link, SERVICE, SERVICE, follow_symlinks=False)
        for words in [["store", "rescue"], ["devices", "remove", "77"], ["keys", "bunker"]]:
            command(service, *words)
        carillon("keys", "new", service.folder / "state/new.key")
        assert victim.exists() == is_there
        if is_there:
            status = victim.stat()
            assert (status.st_uid, victim.read_text()) == (0, "a line of root's, and long enough\n")
        link.unlink()


@as_root
def test_root_serves_in_no_other_users_folder(service):
    before = sorted((service.folder / "state").iterdir())
    refused = command(service, "serve")
    assert refused.returncode == 1 and "root does not serve in another user's folder" in refused.stderr, refused
    assert f"setpriv --reuid={SERVICE} --regid={SERVICE} --clear-groups carillon serve" in refused.stderr
    assert sorted((service.folder / "state").iterdir()) == before


@as_root
def test_check_names_files_root_left_in_a_service_folder(service):
    state = service.folder / "state"
    for name in ["carillon.key", "carillon.sqlite", "carillon.sqlite-outbox"]:
        os.chown(state / name, 0, 0)
    checked = command(service, "check")
    assert checked.returncode == 1 and checked.stderr.count("who owns the folder, cannot use files in it") == 2
    mends = [line.split("; run: ")[1] for line in checked.stderr.splitlines() if "; run: " in line]
    subprocess.run(["sh", "-ec", "\n".join(mends)], check=True)
    assert command(service, "check").returncode == 0
    assert owners(service) == {(SERVICE, SERVICE)}


def test_commands_need_no_service_credentials(stopped_router, lab, tmp_path, alice):
    router = stopped_router
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o700)
    key = folder / "apns.p8"
    key.touch(mode=0o600)
    key.write_bytes((router.folder / lab.ios["key_file"]).read_bytes())
    router.environment["CREDENTIALS_DIRECTORY"] = str(folder)
    router.configuration["apps"]["default"]["ios"]["key_file"] = "${CREDENTIALS_DIRECTORY}/apns.p8"
    Console(router, port=free_port()).start()
    carol = Person()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        socket.publish(carol.registration(router, {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upCarol")}))
    listed = command(router, "devices", "list")
    assert listed.returncode == 0 and "ios/default" in listed.stdout, listed.stderr
    assert command(router, "reload").returncode == 0
    assert command(router, "store", "check").returncode == 0
    assert command(router, "explain", "ab" * 32).returncode == 3
    tried = command(router, "rules", "try", "--fixture", "reply")
    assert tried.returncode == 0 and "ios, with throw-away keys" in tried.stdout, tried.stderr
    # Where they are needed, what is missing is named, and no other app or platform suffers.
    lack = "apps.default.ios.key_file: the environment variable ${CREDENTIALS_DIRECTORY}/apns.p8 is not set"
    configured = ["--config", router.configuration_file]
    for words in [["check", *configured], ["devices", "test", "1", *configured], ["push", *configured, "ios", "help"]]:
        refused = carillon(*words)
        assert refused.returncode == 1 and lack in refused.stderr, refused
    assert command(router, "devices", "test", "2").returncode == 0
