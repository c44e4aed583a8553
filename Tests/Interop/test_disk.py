"""A disk that is full, read-only or failing: nothing is promised that was not kept, and all goes on by itself."""

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import built, carillon, wait_until
from router import Router


@pytest.fixture(scope="session")
def shim(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("shim") / "disk_trouble.so"
    source = Path(__file__).with_name("disk_trouble.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return library


class Disk:
    """Where the router's stores lie, and what is wrong with it."""

    def __init__(self, router: Router, shim: Path):
        self.folder = router.folder / "disk"
        self.folder.mkdir()
        self._trouble = router.folder / "trouble"
        router.configuration["store"]["path"] = "disk/carillon.sqlite"
        router.environment = {
            "LD_PRELOAD": str(shim),
            "DISK_TROUBLE_FOLDER": str(self.folder.resolve()),
            "DISK_TROUBLE": str(self._trouble),
        }

    def fail(self, how: str):
        # At once: a file that is half there would be read so.
        text = self._trouble.with_suffix(".new")
        text.write_text(how)
        os.replace(text, self._trouble)

    def heal(self):
        self._trouble.unlink()


@pytest.fixture
def disk(stopped_router, shim):
    return Disk(stopped_router, shim)


TROUBLES = ["ENOSPC", "ENOSPC grow", "ENOSPC short", "EROFS", "EIO", "EIO fsync"]


def errors(router: Router) -> list[str]:
    """What the log has at level error or worse."""
    return re.findall(r"^\S+ (?:error|critical) .*$", router.log_text, re.MULTILINE)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_full_disk_refuses_events_and_recovery_is_automatic(
    stopped_router, disk, lab, alice, bob, trouble
):
    stopped_router.configuration["relay"]["limits"] = {"registration_burst": 3, "registrations_per_key_per_hour": 1}
    router = stopped_router.start()
    carol = Person()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        socket.publish(bob.note("before", alice))
        lab.accepted(1)
        router.wait_for_deliveries(1)
        disk.fail(trouble)
        notes = [bob.note(f"number {number}", alice) for number in range(40)]
        registration = carol.registration(router, ios(device_token(), mode="alert"))
        # Whoever tries again while the disk is full does not use up what may be registered.
        for event in [*notes, *[registration] * 8, *notes]:
            is_accepted, message = socket.offer(event)
            assert not is_accepted and message.startswith("error: "), message
        assert router.is_running
        assert "Passed: " not in router.log_text
        # One for each store, however often they were tried.
        assert 1 <= len(errors(router)) <= 4, errors(router)
        assert len(lab.received()) == 1
        disk.heal()
        socket.publish(*notes, registration, bob.note("to carol", carol))
        lab.accepted(42)
    assert router.stop() == 0
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.note("after", alice), bob.note("after", carol))
    lab.accepted(44)
    assert router.stop() == 0
    pushed = [push.payload["event_id"] for push in lab.received()]
    assert len(pushed) == len(set(pushed)) == 44


def test_a_full_disk_is_reported_before_events_are_refused(stopped_router, disk):
    """Nothing comes, so that no refusal tells of it."""
    console = Console(stopped_router).start()

    def status(code: int):
        run = carillon("status", "--config", stopped_router.configuration_file)
        assert run.returncode == code, run.stdout + run.stderr
        return run.stdout

    disk.fail("ENOSPC")
    assert "!! disk-full: 0 KiB are free" in status(2) and "disk-nearly-full" not in status(2)
    assert console.json("/readyz", token=None) == (503, {"ready": False, "not_ready": [{"code": "disk-full"}]})
    disk.heal()
    assert "disk-full" not in status(1)
    assert console.json("/readyz", token=None)[0] == 200


def test_pushes_in_flight_when_the_disk_failed_are_not_sent_twice(stopped_router, disk, lab, alice, bob):
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        lab.misbehave("delay", milliseconds=1000, times=0)
        socket.publish(*(bob.note(f"number {number}", alice) for number in range(30)))
        lab.attempts(1)
        disk.fail("ENOSPC")
        router.wait_for_log("The outbox could not be written or read")
        # The next one may have begun before that was known.
        assert len(lab.received()) <= 3, "attempts are made whose outcome cannot be kept"
        disk.heal()
        lab.accepted(30)
    assert router.stop() == 0
    assert all(times == 1 for times in Counter(push.apns_id for push in lab.received()).values()), router.log_text
    assert len(lab.received()) == 30


def test_a_kill_with_a_full_disk_loses_no_promised_push(stopped_router, disk, lab, alice, bob):
    router = stopped_router.start()
    lab.misbehave("silence", times=0)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        promised = [bob.note(f"number {number}", alice) for number in range(20)]
        socket.publish(*promised)
        disk.fail("ENOSPC short")
        for number in range(20):
            assert socket.offer(bob.note(f"refused {number}", alice))[0] is False
    router.kill()
    disk.heal()
    lab.behave()
    lab.forget()
    router.start()
    pushes = lab.accepted(20)
    assert router.stop() == 0
    assert {push.payload["event_id"] for push in pushes} >= {event["id"] for event in promised}


@pytest.mark.parametrize("trouble", ["ENOSPC", "EROFS", "EIO fsync"])
def test_a_start_on_a_full_disk_serves_or_explains_and_changes_nothing(
    stopped_router, disk, lab, alice, bob, trouble
):
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
    router.stop()
    disk.fail(trouble)
    router.spawn()
    port = router.folder / "port"
    wait_until(lambda: port.exists() or not router.is_running, "it serves or ends")
    if port.exists():
        router.wait_for_port()
        with Socket(router) as socket:
            assert socket.offer(bob.note("now", alice))[0] is False
        router.kill()
    else:
        assert router.process.wait() == 1
        last = router.log_text.strip().splitlines()[-1]
        assert f"{disk.folder}/carillon.sqlite" in last and "disk" in last, last
    disk.heal()
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.note("later", alice))
    lab.accepted(1)
    assert router.stop() == 0


def test_a_router_on_a_full_disk_still_stops_in_time(stopped_router, disk, lab, alice, bob):
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
        lab.misbehave("delay", milliseconds=3_000)
        socket.publish(bob.note("under way", alice))
        lab.attempts(1)
        disk.fail("ENOSPC")
        router.process.terminate()
        assert router.process.wait(timeout=12) == 0
    disk.heal()
    router.start()
    # Its outcome could not be kept, so it is repeated, under the same name.
    assert len({push.apns_id for push in lab.accepted(2)}) == 1
    assert router.stop() == 0


def test_an_event_the_disk_refused_to_hold_is_not_explained_as_delivered(stopped_router, disk, lab, alice, bob):
    router = stopped_router
    router.configuration["defaults"] = {"cooldown_seconds": 10, "window_seconds": 0, "daily_cap": 100}
    router.start()

    def told(event: dict) -> dict:
        run = carillon("explain", event["id"], "--config", router.configuration_file, "--json")
        assert run.returncode in [0, 3], run.stderr
        return json.loads(run.stdout)

    def outcomes(event: dict) -> list[str]:
        return [device["outcome"] for account in told(event)["accounts"] for device in account["devices"]]

    one, two, three = (bob.note(text, alice) for text in ["one", "two", "three"])
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), one)
        lab.accepted(1)
        router.wait_for_deliveries(1)
        socket.publish(two)
        # The trace lies on the same disk.
        wait_until(lambda: outcomes(two), "it is told that it is held")
        disk.fail("EIO fsync")
        assert socket.offer(three)[0] is False
        # Its time has come, and what the disk refuses is tried again every second.
        router.wait_for_log("Deliveries could not be stored")
        wait_until(lambda: [step["step"] for step in told(three)["steps"]] == ["not-kept"], "it is told")
        wait_until(lambda: outcomes(two) == ["held: the device's turn is now"], "its time comes")
        disk.heal()
        lab.accepted(2)
    wait_until(lambda: outcomes(two) == ["delivered: ios/default took it (200)"], "it is said that it was delivered")
    assert [step["step"] for step in told(two)["accounts"][0]["devices"][0]["steps"]] == [
        "held", "released", "queued", "delivered",
    ]
    assert outcomes(three) == []


def test_a_backup_on_a_full_disk_reports_it(stopped_router, disk, lab, alice, bob):
    """Copies are made beside the store. SQLite calls its own failure there `not an error`."""
    router = stopped_router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("one", alice))
    lab.accepted(1)
    disk.fail("ENOSPC")
    target = router.folder / "copy.carillon"
    command = [built("carillon"), "backup", "create", "--config", router.configuration_file, target]
    done = subprocess.run(command, env=os.environ | router.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "not an error" not in done.stderr, done.stderr
    assert re.search(r"full|No space left", done.stderr), done.stderr
    assert not target.exists()
    disk.heal()
    assert carillon("backup", "create", "--config", router.configuration_file, target).returncode == 0
