"""Commands as an operator runs them beside a service: as root on files of its user, and without the credentials it is lent."""

import os

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
def test_root_runs_commands_on_a_services_files_and_they_stay_the_services(stopped_router, alice, bob):
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
def test_what_others_can_read_is_still_refused(stopped_router, alice):
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
    hand_over(router)
    key = router.folder / "carillon.key"
    key.chmod(0o644)
    refused = command(router, "devices", "list")
    assert refused.returncode == 1 and f"run: chmod 600 {key}" in refused.stderr and "chown" not in refused.stderr


def test_commands_need_no_credentials_that_only_the_service_is_lent(stopped_router, lab, tmp_path, alice):
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
