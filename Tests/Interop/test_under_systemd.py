"""The service under a real systemd: whether what the unit forbids leaves what the router and the processes of plugins need."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from nostr import Socket, device_token, ios
from programs import REPOSITORY, built, free_port, wait_until
from systemd_root import SystemdRoot, reason_against

REASON = reason_against()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

CONFIGURATION = "/etc/carillon/carillon.yaml"
DROP_IN = "/etc/systemd/system/carillon.service.d"
KEY = "[Service]\nLoadCredential=apns.p8:/etc/carillon/secrets/apns.p8\n"


class Service:
    """As contrib/systemd/README.txt installs it. Clients reach it as `router`, which is not started."""

    def __init__(self, folder: Path, router, lab, drop_ins: dict[str, str]):
        router.port = free_port()
        configuration = router.configuration | {
            "identity": {"key_file": "/var/lib/carillon/carillon.key"},
            "store": {"path": "/var/lib/carillon/carillon.sqlite"},
            "relay": {"listen": f"127.0.0.1:{router.port}"},
            "plugins": {"folders": ["/usr/local/lib/carillon/plugins"]},
            "http": router.configuration["http"] | {"ca_file": "/etc/carillon/lab.pem"},
            "apps": {"default": {"ios": lab.ios | {"key_file": "${CREDENTIALS_DIRECTORY}/apns.p8"}}},
        }
        files = folder / "files"
        self.put(files, CONFIGURATION, json.dumps(configuration))
        self.put(files, "/etc/carillon/lab.pem", lab.ca_file.read_text())
        self.put(files, "/etc/carillon/secrets/apns.p8", (router.folder / lab.ios["key_file"]).read_text(), 0o600)
        unit = REPOSITORY / "contrib/systemd/carillon.service"
        self.put(files, "/etc/systemd/system/carillon.service", unit.read_text())
        for name, text in {"key": KEY, **drop_ins}.items():
            self.put(files, f"{DROP_IN}/{name}.conf", text)
        shown = {
            "/usr/local/bin/carillon": built("carillon"),
            "/usr/local/libexec/carillon/carillon-plugin-host": built("carillon-plugin-host"),
        }
        for name in ["APNs", "Mutes"]:
            shown[f"/usr/local/lib/carillon/plugins/libCarillon{name}.so"] = built(f"libCarillon{name}.so")
        self.systemd = SystemdRoot(folder, files, shown)

    @staticmethod
    def put(files, path: str, text: str, mode: int = 0o644):
        file = files / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def systemctl(self, *arguments: str) -> str:
        run = self.systemd.run("systemctl", *arguments)
        assert run.returncode == 0, f"{run.stderr}\n{self.journal}"
        return run.stdout

    def carillon(self, *arguments: str):
        run = self.systemd.run("/usr/local/bin/carillon", *arguments, "--config", CONFIGURATION)
        assert run.returncode == 0, run.stderr
        return run

    def show(self, name: str) -> str:
        return self.systemctl("show", "--value", f"--property={name}", "carillon").strip()

    @property
    def journal(self) -> str:
        return self.systemd.run("journalctl", "--no-pager", "--output=cat", "--unit=carillon").stdout

    def plugins(self) -> tuple[int, str]:
        """The process that they share, as it counts, and what confines it."""
        said = self.carillon("plugin", "list").stdout
        [(number, confined)] = re.findall(r"(\d+) running; (.*)", said)
        return int(number), confined


@pytest.fixture
def start(tmp_path, stopped_router, lab):
    services = []

    def start(**drop_ins: str) -> Service:
        service = Service(tmp_path, stopped_router, lab, drop_ins)
        services.append(service)
        service.systemctl("start", "carillon")
        return service

    yield start
    for service in services:
        service.systemd.close()


def status(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def test_the_unit_lets_the_router_confine_plugins_and_start_them_again(start, stopped_router, lab, alice, bob):
    service = start()
    # Type=notify: it serves by now.
    assert service.show("ActiveState") == "active" and service.show("StatusText").startswith("Serving at")
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("one", alice))
    lab.accepted(1)
    inner, confined = service.plugins()
    assert confined == "confined: files, system calls", service.journal
    process = service.systemd.number(inner)
    router = service.systemd.number(int(service.show("MainPID")))
    own, routers = status(process), status(router)
    # Filters of the unit, and of the process.
    assert routers["Seccomp"] == own["Seccomp"] == "2" and own["NoNewPrivs"] == "1"
    assert int(own["Seccomp_filters"]) > int(routers["Seccomp_filters"]) > 0
    assert own["Uid"] == routers["Uid"] and own["Uid"].split()[0] != "0" and int(own["CapEff"], 16) == 0

    os.kill(process, signal.SIGKILL)
    with Socket(stopped_router) as socket:
        socket.publish(bob.message("two", alice))
    lab.accepted(2)
    again = wait_until(lambda: service.plugins() if "running" in service.carillon("plugin", "list").stdout else None, "runs")
    assert again[0] != inner and again[1] == confined

    service.systemctl("reload", "carillon")
    with Socket(stopped_router) as socket:
        socket.publish(bob.message("three", alice))
    lab.accepted(3)
    service.systemctl("stop", "carillon")
    assert service.show("Result") == "success" and service.show("ExecMainStatus") == "0", service.journal


def test_plugins_are_not_confined_without_the_required_system_calls(start):
    """So that the test above can fail."""
    filter = ["", "@system-service", "~@privileged @resources"]
    service = start(filter="\n".join(["[Service]", *(f"SystemCallFilter={each}" for each in filter)]))
    _, confined = service.plugins()
    assert confined == "not confined"
    assert "unconfined=files, system calls" in service.journal and "not fully sandboxed" in service.journal
