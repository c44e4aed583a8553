"""What the benches of the whole router share: a server that plays APNs, a router whose CPU time, memory and metrics can be read."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

import programs  # noqa: E402
from router import Router  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process: int | str) -> float:
    """Of user and system time that a process has used so far. By its clock (clock_getcpuclockid), since /proc counts
    10 ms at a time."""
    return time.clock_gettime(~int(process) << 3 | 2)


def idle_seconds() -> float:
    """For which the cores had nothing to do since the start of the machine, all together."""
    return sum(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[4:6])) / TICK


HOSTS_OF_ONE = 50
"""A certificate with more names than that would be none that exists, and costs more."""


class Server:
    """nghttpd as APNs: it answers 200 to each device that it has a file for. Further ones are a push server of UnifiedPush at each of
    `hosts`, which are addresses of this machine: `endpoints` has one for each token."""

    android: dict = {}
    web: dict = {}

    def __init__(self, folder: Path, tokens: list[str], hosts: list[str] = []):
        for devices in [folder / "htdocs/3/device", folder / "htdocs/up"]:
            devices.mkdir(parents=True)
            for token in tokens:
                (devices / token).touch()
        self.processes = []
        self.endpoints = []
        self.port = self._serve(folder, "cert.pem", "127.0.0.1", "DNS:localhost")
        certificates = [folder / "cert.pem"]
        for first in range(0, len(hosts), HOSTS_OF_ONE):
            some = hosts[first : first + HOSTS_OF_ONE]
            name = f"cert-{first}.pem"
            port = self._serve(folder, name, "0.0.0.0", ",".join(f"IP:{host}" for host in some))
            certificates.append(folder / name)
            self.endpoints += [f"https://{host}:{port}/up/{token}" for host, token in zip(some, tokens[first:])]
        self.ca_file = folder / "roots.pem"
        self.ca_file.write_text("".join(file.read_text() for file in certificates))
        self.key_file = folder / "AuthKey.p8"
        self._openssl(folder, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out AuthKey.p8")
        self.key_file.chmod(0o600)

    def _serve(self, folder: Path, certificate: str, address: str, names: str) -> int:
        key = f"-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {certificate}.key"
        self._openssl(folder, f"req -x509 {key} -subj /CN={names[:40]} -addext subjectAltName={names} -days 2 -out {certificate}")
        port = programs.free_port()
        arguments = ["-n1", "-m", "1000", "-a", address, "-d", "htdocs", str(port), f"{certificate}.key", certificate]
        self.processes.append(subprocess.Popen(["nghttpd", *arguments], cwd=folder, stdout=subprocess.DEVNULL))
        return port

    @staticmethod
    def _openssl(folder: Path, command: str):
        subprocess.run(["openssl", *shlex.split(command)], cwd=folder, check=True, capture_output=True)

    @property
    def ios(self) -> dict:
        return {
            "topic": "com.example.app",
            "team_id": "TEAMID1234",
            "key_id": "ABCDEFGHIJ",
            "key_file": str(self.key_file),
            "base_url": f"https://localhost:{self.port}",
        }

    @property
    def cpu(self) -> float:
        return sum(cpu_seconds(process.pid) for process in self.processes)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


class MeasuredRouter(Router):
    log_level = "info"
    plugin_names = ["libCarillonAPNs.so", "libCarillonUnifiedPush.so"]

    def __init__(self, folder: Path, server: Server, wrapper: list[str], shim: Path | None = None):
        super().__init__(folder, server)
        self.wrapper = wrapper
        self.shim = shim
        self.counter = folder / "mallocs"
        self.configuration["apps"] = {"default": {"ios": server.ios, "unifiedpush": {}}}
        self.configuration["api"] = {"listen": "127.0.0.1:0", "token_file": "api.token"}

    def begin(self, feed: Path | None):
        """Starts it; under the wrapper only where there is a feed."""
        port = self.folder / "api-port"
        port.unlink(missing_ok=True)
        self.process = None
        command = [*(self.wrapper if feed else []), programs.built("carillon"), "serve", "--log-level", self.log_level]
        command += ["--config", self.configuration_file, "--port-file", self._port_file, "--api-port-file", port]
        self._port_file.unlink(missing_ok=True)
        environment = dict(os.environ)
        if self.shim and feed:
            self.counter.write_bytes(bytes(8))
            environment |= {"LD_PRELOAD": str(self.shim.resolve()), "MALLOCS": str(self.counter)}
        with self.log.open("ab") as log:
            command += ["--feed", feed] if feed else []
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.wait_for_port()
        programs.wait_until(port.exists, "the router writes the API's port", self.process)
        self.api = int(port.read_text())

    @property
    def _processes(self) -> list[str]:
        """The router and the processes that its plugins run in."""
        found = [str(self.process.pid)]
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(FileNotFoundError):  # The thread has ended meanwhile.
                found += (task / "children").read_text().split()
        return found

    def end(self):
        """Lets it end in an orderly way beneath its wrapper, which then has time to write what it found."""
        os.kill(int(self._processes[1]), signal.SIGTERM)
        self.process.wait(timeout=120)

    @contextmanager
    def standing_still(self):
        """Stops it meanwhile, so that what comes waits for it."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @property
    def cpu(self) -> float:
        """Seconds of user and system time so far."""
        return sum(cpu_seconds(process) for process in self._processes)

    @property
    def memory(self) -> float:
        """Resident MiB."""
        pages = sum(int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in self._processes)
        return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)

    @property
    def mallocs(self) -> int:
        """Allocations so far; only where the shim counts them."""
        return int.from_bytes(self.counter.read_bytes(), sys.byteorder)

    def metric(self, name: str, label: str = "") -> int:
        """The sum of a metric's values whose labels hold `label`."""
        token = (self.folder / "api.token").read_text().strip()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.api}/metrics", headers={"authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return int(sum(float(line.split()[-1]) for line in lines if line.startswith(name + "{") and label in line))

    def wait_until_connected(self, relays: int):
        """Until it listens to so many relays, and has read what they keep."""
        deadline = time.monotonic() + 120
        while self.metric("carillon_relay_connections", 'state="connected"') < relays or not self._is_calm():
            assert time.monotonic() < deadline, "the router does not reach its relays, or never rests"

    def wait_until_resting(self) -> float:
        """Until it has used hardly any CPU time for 50 ms. That costs it nothing, unlike a look at its metrics. Returns when it began to rest."""
        used, since = self.cpu, time.monotonic()
        while time.monotonic() - since < 0.05:
            time.sleep(0.005)
            if (now := self.cpu) - used > 0.0005:
                used, since = now, time.monotonic()
        return since

    def _is_calm(self) -> bool:
        before = self.cpu
        time.sleep(2)
        return self.cpu - before < 0.1

    def wait_for(self, name: str, label: str, count: int, seconds: float = 600):
        """Looks seldom, since answering costs the router something as well, and more often shortly before the end."""
        begin, before = time.monotonic(), (0.0, 0.0)
        while (reached := self.metric(name, label)) < count:
            took = time.monotonic() - begin
            assert took < seconds, f"{name} {label}: {reached} of {count}"
            assert self.process.poll() is None, "the router ended"
            rate = (reached - before[1]) / (took - before[0])
            pause = min(0.1, max(0.01, (count - reached) / rate)) if rate > 0 and before[0] > 0 else 0.1
            before = (took, reached)
            time.sleep(pause)


class SilentHosts:
    """Ten hosts that take connections and never say anything."""

    def __init__(self):
        self.listener = socket.create_server(("0.0.0.0", 0), backlog=1_000)
        port = self.listener.getsockname()[1]
        self.endpoints = [f"https://127.2.0.{number + 1}:{port}/up/silent" for number in range(10)]

    def close(self):
        self.listener.close()


DELIVERED = ("carillon_deliveries_total", 'kind="delivered"')
UNADDRESSED = ("carillon_events_total", 'step="unaddressed"')
