"""What the whole way costs: the router's CPU time for each push, from an event in a feed to the answer of APNs. See `run`."""

import argparse
import json
import os
import random
import secrets
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

import programs  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402
from router import Router  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process: int | str) -> float:
    """Of user and system time that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def idle_seconds() -> float:
    """For which the cores had nothing to do since the start of the machine, all together."""
    return sum(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[4:6])) / TICK


CROWD = 1_000
"""How many accounts an event of the scenario `crowd` names."""


class Server:
    """nghttpd as APNs: it answers 200 to each device that it has a file for."""

    android: dict = {}
    web: dict = {}

    def __init__(self, folder: Path, tokens: list[str]):
        devices = folder / "htdocs/3/device"
        devices.mkdir(parents=True)
        for token in tokens:
            (devices / token).touch()
        self.ca_file = folder / "cert.pem"
        new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem"
        names = "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
        for command in [
            f"openssl req -x509 {new_key} {names} -days 2 -out cert.pem",
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out AuthKey.p8",
        ]:
            subprocess.run(shlex.split(command), cwd=folder, check=True, capture_output=True)
        self.key_file = folder / "AuthKey.p8"
        self.key_file.chmod(0o600)
        self.port = programs.free_port()
        arguments = ["-n1", "-m", "1000", "-a", "127.0.0.1", "-d", "htdocs", str(self.port), "key.pem", "cert.pem"]
        self.process = subprocess.Popen(["nghttpd", *arguments], cwd=folder, stdout=subprocess.DEVNULL)

    @property
    def ios(self) -> dict:
        return {
            "topic": "com.example.app",
            "team_id": "TEAMID1234",
            "key_id": "ABCDEFGHIJ",
            "key_file": str(self.key_file),
            "environment": f"https://localhost:{self.port}",
        }

    @property
    def cpu(self) -> float:
        return cpu_seconds(self.process.pid)

    def stop(self):
        self.process.kill()
        self.process.wait()


class MeasuredRouter(Router):
    log_level = "info"
    plugin_names = ["libCarillonAPNs.so"]

    def __init__(self, folder: Path, server: Server, isolation: str | None, wrapper: list[str], shim: Path | None = None):
        super().__init__(folder, server)
        self.wrapper = wrapper
        self.shim = shim
        self.counter = folder / "mallocs"
        self.configuration["apps"] = {"default": {"ios": server.ios}}
        self.configuration["api"] = {"listen": "127.0.0.1:0", "token_file": "api.token"}
        if isolation:
            self.configuration["plugins"]["isolation"] = isolation

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
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return [str(self.process.pid)] + [pid for task in tasks for pid in (task / "children").read_text().split()]

    def end(self):
        """Lets it end in an orderly way beneath its wrapper, which then has time to write what it found."""
        os.kill(int(self._processes[1]), signal.SIGTERM)
        self.process.wait(timeout=120)

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

    def wait_for(self, name: str, label: str, count: int, seconds: float = 600):
        """Looks seldom: answering costs the router something as well."""
        deadline = time.monotonic() + seconds
        while (reached := self.metric(name, label)) < count:
            assert time.monotonic() < deadline, f"{name} {label}: {reached} of {count}"
            assert self.process.poll() is None, "the router ended"
            time.sleep(0.1)


DELIVERED = ("carillon_deliveries_total", 'kind="delivered"')
UNADDRESSED = ("carillon_events_total", 'step="unaddressed"')


class Load:
    """Events that were made beforehand, and what they come to."""

    def __init__(self, lines: list[str], pushes: int):
        self.bytes = "".join(line + "\n" for line in lines).encode()
        self.events = len(lines)
        self.pushes = pushes


def reactions(count: int, authors: list[Person], people: list[Person]) -> Load:
    """Each to another note that nobody knows, so that context is sought for each."""

    def event(number: int) -> dict:
        person = people[number % len(people)]
        tags = [["e", secrets.token_hex(32), "", person.hex], ["p", person.hex], ["k", "1"]]
        return authors[number % len(authors)].event(7, random.choice("+🤙🔥❤"), tags)

    return Load([json.dumps(event(number), ensure_ascii=False) for number in range(count)], count)


def crowd(count: int, authors: list[Person], people: list[Person]) -> Load:
    named = people[:CROWD]
    events = [authors[number % len(authors)].note(f"to all {number} {secrets.token_hex(4)}", *named) for number in range(count)]
    return Load([json.dumps(event) for event in events], count * len(named))


def nobody(count: int, authors: list[Person]) -> Load:
    """Nothing verifies them, so the ids are made up: a few kinds, as relays have them."""
    likeness = [authors[n % len(authors)].note("a note of a usual length, which speaks of this and that " * (n % 7 + 1)) for n in range(50)]

    def line(number: int) -> str:
        event = dict(likeness[number % len(likeness)])
        event["id"] = secrets.token_hex(32)
        event["tags"] = [["e", secrets.token_hex(32)], ["p", secrets.token_hex(32)], ["p", secrets.token_hex(32)]]
        return json.dumps(event, separators=(",", ":"))

    return Load([line(number) for number in range(count)], 0)


def bare_scan(program: Path, load: Load, folder: Path) -> float:
    """Microseconds for each of a load's events."""
    lines = folder / "lines"
    lines.write_bytes(load.bytes)
    line = subprocess.run([program, lines], check=True, capture_output=True, text=True).stdout
    return float(line.split()[1]) / 1000


def bare_verify(program: Path) -> float:
    """Microseconds of CPU."""
    return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout) / 1000


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options = options
        self.folder = folder
        self.people = [Person() for _ in range(options.devices)]
        self.tokens = [device_token() for _ in self.people]
        authors = [Person() for _ in range(20)]
        self.warm = reactions(len(self.people), authors, self.people)
        self.loads: dict[str, Load] = {}
        for name in options.only.split(","):
            match name:
                case "reactions": self.loads[name] = reactions(options.events, authors, self.people)
                case "crowd": self.loads[name] = crowd(max(1, options.events // CROWD), authors, self.people)
                case "nobody": self.loads[name] = nobody(options.events * 10, authors)
                case _: sys.exit(f"run: --only: expected some of reactions,crowd,nobody; not {name}")

    def measure(self, build: Path, name: str, shim: Path | None = None) -> dict[str, float]:
        """Microseconds of CPU for each push (or event), pushes (or events) a second, and the growth of memory in MiB. The
        first events warm everything up. Under the `shim` also the allocations, and then no other figure means much."""
        programs.BUILD = build
        load = self.loads[name]
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "server").mkdir(parents=True)
        server = Server(folder / "server", self.tokens)
        wrapper = shlex.split(self.options.wrapper.replace("SCENARIO", name))
        router = MeasuredRouter(folder / "router", server, self.options.isolation, wrapper, shim)
        try:
            router.begin(None)
            for first in range(0, len(self.people), 100):
                with Socket(router) as socket:
                    for person, token in list(zip(self.people, self.tokens))[first : first + 100]:
                        socket.publish(person.registration(router, ios(token, mode="alert")))
            router.stop()
            pipe = folder / "feed"
            os.mkfifo(pipe)
            router.begin(pipe)
            with pipe.open("wb") as writer:
                writer.write(self.warm.bytes)
                writer.flush()
                router.wait_for(*DELIVERED, self.warm.pushes)
                mallocs = router.mallocs if shim else 0
                idle, server_cpu = idle_seconds(), server.cpu
                cpu, memory, begin = router.cpu, router.memory, time.monotonic()
                writer.write(load.bytes)
            if load.pushes:
                router.wait_for(*DELIVERED, self.warm.pushes + load.pushes)
            else:
                router.wait_for(*UNADDRESSED, load.events)
            took = time.monotonic() - begin
            count = load.pushes or load.events
            figures = {
                "cpu": (router.cpu - cpu) * 1e6 / count, "rate": count / took,
                "memory": router.memory, "growth": router.memory - memory,
                "server": (server.cpu - server_cpu) * 1e6 / count,
                "idle": (idle_seconds() - idle) / took / (os.cpu_count() or 1),
            }
            if shim:
                figures["mallocs"] = (router.mallocs - mallocs) / count
            if wrapper:
                router.end()
            return figures
        finally:
            router.kill()
            server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+", type=Path, metavar="BUILD", help="folders with built programs, compared in turn")
    parser.add_argument("--verify", type=Path, required=True, help="the program that verify.c makes")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--devices", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isolation", choices=["none", "shared", "process"], help="plugins.isolation; its default when left out")
    parser.add_argument("--only", default="reactions,crowd,nobody")
    parser.add_argument("--scan", type=Path, help="ScanBench: compares events that concern nobody with scanning the same lines")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the medians there")
    parser.add_argument("--mallocs", type=Path, metavar="SHIM", help="the library that mallocs.c makes: one run more, which counts allocations")
    parser.add_argument("--wrapper", default="", help="a command to run the router under, such as a profiler")
    options = parser.parse_args()
    figures: dict[tuple[str, Path], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, Path(temporary))
        for round in range(options.rounds):
            for name in bench.loads:
                for build in options.builds:
                    before = bare_verify(options.verify)
                    figure = bench.measure(build, name)
                    figure["verify"] = (before + bare_verify(options.verify)) / 2
                    if options.scan and not bench.loads[name].pushes:
                        figure["scan"] = bare_scan(options.scan, bench.loads[name], bench.folder)
                    figures.setdefault((name, build), []).append(figure)
                    print(f"round {round + 1}  {name}  {build}: " + words(figure), flush=True)
        mallocs = {
            (name, build): bench.measure(build, name, options.mallocs)["mallocs"]
            for name in bench.loads
            for build in options.builds
            if options.mallocs
        }
    print("medians")
    medians = []
    for (name, build), values in figures.items():
        middle = {key: statistics.median(value[key] for value in values) for key in values[0]}
        middle["ratio"] = statistics.median(value["cpu"] / value["verify"] for value in values)
        middle["of"] = statistics.median(value["rate"] * value["verify"] / 2e6 for value in values)
        print(f"{name:10} {build}: " + words(middle) + f"; {middle['ratio']:.2f} of a verify; {middle['of']:.3f} of what two cores could verify")
        if (name, build) in mallocs:
            middle["mallocs"] = mallocs[name, build]
            print(f"{'':10} {middle['mallocs']:.1f} allocations each")
        if "scan" in middle:
            print(f"{'':10} {middle['cpu'] / middle['scan']:.2f} of scanning the same lines, {middle['scan']:.2f} µs")
        medians.append({"scenario": name, "build": str(build), "events": options.events} | middle)
    if options.json:
        options.json.write_text(json.dumps(medians, indent=1))
    return 0


def words(figure: dict[str, float]) -> str:
    return (
        f"{figure['cpu']:.1f} µs CPU each, {figure['rate']:.0f}/s, verify {figure['verify']:.1f} µs,"
        f" memory {figure['memory']:.0f} MiB after {figure['growth']:+.0f}, server {figure['server']:.1f} µs, idle {figure['idle']:.0%}"
    )


if __name__ == "__main__":
    sys.exit(main())
