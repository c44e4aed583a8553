"""What systemd hears of a router, and lends it. The notify socket is played here (sd_notify(3), systemd.exec(5))."""

import os
import re
import shutil
import signal
import socket as sockets
import stat
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

from nostr import Socket, device_token, ios
from programs import PATIENCE, REPOSITORY

UNIT = REPOSITORY / "contrib/systemd/carillon.service"
STRFRY = REPOSITORY / "contrib/strfry"


class NotifySocket:
    """Keeps what was said, in order."""

    def __init__(self, path: Path):
        self.path = path
        self.socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_DGRAM)
        self.socket.bind(str(path))

    def next(self, timeout: float = PATIENCE) -> dict[str, str]:
        self.socket.settimeout(timeout)
        lines = self.socket.recv(65536).decode().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def until(self, key: str) -> dict[str, str]:
        """The next message with `key`; others, which are none of the test's, are passed over."""
        while True:
            message = self.next()
            if key in message:
                return message


@pytest.fixture
def notify(tmp_path, stopped_router):
    notify = NotifySocket(tmp_path / "notify")
    stopped_router.environment["NOTIFY_SOCKET"] = str(notify.path)
    yield notify
    notify.socket.close()


def test_systemd_is_notified_of_start_reload_and_stop(notify, stopped_router):
    router = stopped_router
    router.spawn()
    ready = notify.next()
    assert ready["READY"] == "1" and ready["STATUS"].startswith("Serving at 127.0.0.1:")
    router.wait_for_port()
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    router.process.send_signal(signal.SIGHUP)
    reloading = notify.next()
    assert reloading["RELOADING"] == "1"
    # systemd takes READY=1 for the end of this reload only if this is not before its signal.
    assert before <= int(reloading["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert notify.next()["READY"] == "1"
    router.configuration["relay"]["listen"] = "nowhere"
    router.configuration_file  # writes it
    router.process.send_signal(signal.SIGHUP)
    assert notify.next()["RELOADING"] == "1"
    refused = notify.next()
    assert refused["READY"] == "1" and "the old configuration" in refused["STATUS"]
    router.process.send_signal(signal.SIGTERM)
    assert notify.next()["STOPPING"] == "1"
    assert router.process.wait(timeout=30) == 0


def test_the_watchdog_is_notified_only_while_the_router_works(notify, stopped_router):
    router = stopped_router
    router.environment["WATCHDOG_USEC"] = "4000000"
    router.start()
    for _ in range(3):
        before = time.monotonic()
        assert notify.until("WATCHDOG") == {"WATCHDOG": "1"}
        # What is under way has two seconds; containers are killed after ten.
    assert time.monotonic() - before < 9
    router.process.send_signal(signal.SIGSTOP)
    # What was said before the signal took effect.
    with pytest.raises(TimeoutError):
        while True:
            notify.next(timeout=5)
    router.process.send_signal(signal.SIGCONT)
    assert notify.until("WATCHDOG") == {"WATCHDOG": "1"}
    router.stop()


def test_credentials_are_read_from_systemd_credentials(stopped_router, lab, tmp_path, alice, bob):
    router = stopped_router
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o500)
    folder.chmod(0o700)
    key = folder / "apns.p8"
    key.write_bytes((router.folder / lab.ios["key_file"]).read_bytes())
    key.chmod(0o400)
    router.environment["CREDENTIALS_DIRECTORY"] = str(folder)
    router.configuration["apps"]["default"]["ios"]["key_file"] = "${CREDENTIALS_DIRECTORY}/apns.p8"
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
    lab.accepted(1)
    assert router.stop() == 0


def test_a_stop_keeps_its_timeout_and_loses_no_push(stopped_router, lab, alice, bob):
    router = stopped_router
    router.configuration["shutdown_seconds"] = 2
    router.start()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        lab.misbehave("silence")
        socket.publish(*(bob.message(f"hello {number}", alice) for number in range(5)))
        lab.attempts(1)
    before = time.monotonic()
    router.process.send_signal(signal.SIGTERM)
    assert router.process.wait(timeout=30) == 0
    # What is under way has two seconds; containers are killed after ten.
    assert time.monotonic() - before < 9
    lab.behave()
    lab.forget()
    router.start()
    lab.accepted(5)
    assert router.stop() == 0


def systemd_version() -> int:
    text = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True).stdout
    found = re.match(r"systemd (\d+)", text)
    return int(found.group(1)) if found else 0


needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing")


def complaints_about_the_unit(folder: Path, **drop_ins: str) -> list[str]:
    # The program need not be installed for that.
    unit = folder / "carillon.service"
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/carillon", "/bin/true"))
    (folder / "carillon.service.d").mkdir()
    for name, text in drop_ins.items():
        changed = text.replace("/usr/local/bin/carillon", "/bin/true").replace("=strfry", "=root")
        (folder / f"carillon.service.d/{name}.conf").write_text(changed)
    result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    complaints = [line for line in result.stderr.splitlines() if "carillon.service" in line]
    assert result.returncode == 0 or complaints, result.stderr
    return complaints


@needs_systemd
def test_the_unit_is_valid(tmp_path):
    assert complaints_about_the_unit(tmp_path) == []


def test_the_unit_is_started_as_long_as_it_takes():
    """A disk stays full for hours, and nobody is to have to start it by hand then."""
    lines = UNIT.read_text().splitlines()
    assert "StartLimitIntervalSec=0" in lines and "Restart=on-failure" in lines
    # A plugin's process that is ended for want of memory does not take the router along.
    assert "OOMPolicy=continue" in lines
    pause = next(line.removeprefix("RestartSec=") for line in lines if line.startswith("RestartSec="))
    assert pause == "10s"


@needs_systemd
def test_warnings_about_the_unit_are_detected(tmp_path):
    assert complaints_about_the_unit(tmp_path, wrong="[Service]\nType=notify-relaod\n") != []


@needs_systemd
@pytest.mark.skipif(systemd_version() < 253, reason="notify-reload came with systemd 253")
def test_the_drop_in_for_reloads_fits(tmp_path):
    text = (UNIT.parent / "README.txt").read_text()
    block = re.search(r"reload\.conf:\n\n((?:  .*\n)+)", text).group(1)
    assert complaints_about_the_unit(tmp_path, reload=textwrap.dedent(block)) == []


@needs_systemd
def test_the_drop_in_for_strfry_fits(tmp_path):
    assert complaints_about_the_unit(tmp_path, feed=(STRFRY / "service.conf").read_text()) == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("systemd-tmpfiles") is None, reason="takes root and systemd")
def test_the_folder_for_strfry_is_made_where_the_service_reads_it(tmp_path):
    lines = (STRFRY / "tmpfiles.conf").read_text()
    assert lines.count(" root strfry\n") == 1
    configuration = tmp_path / "feed.conf"
    configuration.write_text(lines.replace("strfry", "root"))
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["systemd-tmpfiles", "--create", f"--root={root}", configuration], check=True)
    feed = re.search(r"--feed (\S+)", (STRFRY / "service.conf").read_text()).group(1)
    status = (root / feed.lstrip("/")).lstat()
    assert stat.S_ISDIR(status.st_mode) and status.st_mode & 0o7777 == 0o2770
    assert feed in (STRFRY / "README.md").read_text()


@needs_systemd
def test_the_unit_has_a_low_exposure_score():
    result = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", UNIT], capture_output=True, text=True
    )
    assert "Overall exposure level" in result.stdout, result.stderr
    assert result.returncode == 0, result.stdout.splitlines()[-1]
