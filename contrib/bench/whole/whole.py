"""What the whole way costs: the router's CPU time for each push, from an event in a feed to the answer of APNs. See `run`."""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kit import DELIVERED, UNADDRESSED, MeasuredRouter, Server, SilentHosts, idle_seconds, programs  # noqa: E402
from loads import CROWD, Load, Relays, crowd, mixed, nobody, reactions, relayed  # noqa: E402
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios  # noqa: E402

def bare_scan(program: Path, load: Load, folder: Path) -> float:
    """Microseconds for each of a load's events."""
    lines = folder / "lines"
    lines.write_bytes(load.bytes)
    line = subprocess.run([program, lines], check=True, capture_output=True, text=True).stdout
    return float(line.split()[1]) / 1000


def bare_verify(program: Path) -> float:
    """Microseconds of CPU."""
    return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout) / 1000


BROAD = 5_000
"""With so many devices the router asks relays for everybody's events, and picks those that it needs."""
BY_RELAYS = {"relays", "backlog"}
WAITING = 20_000
"""So many events wait in the sockets of five relays at most: some 3 MB in each, which systems let grow to 4 MB and more."""
CHECKED = 2_000
"""So many further events of relays are sent to see that those which concern somebody are pushed."""
SILENT = 10
"""So many hosts of the scenario `wake` take connections and never answer."""


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options = options
        self.folder = folder
        names = options.only.split(",")
        self.people = [Person() for _ in range(options.devices)]
        self.further = [Person() for _ in range(max(0, BROAD - options.devices) if BY_RELAYS & set(names) else 0)]
        self.tokens = [device_token() for _ in self.people]
        self.authors = authors = [Person() for _ in range(20)]
        self.warm = [reactions(len(self.people), authors, self.people) for _ in range(5 if "wake" in names else 1)]
        self.silent = [Person() for _ in range(SILENT)]
        self.loads: dict[str, Load] = {}
        for name in names:
            match name:
                case "reactions": self.loads[name] = reactions(options.events, authors, self.people)
                case "crowd": self.loads[name] = crowd(max(1, options.events // CROWD), authors, self.people)
                case "nobody": self.loads[name] = nobody(options.events * 10, authors)
                case "wake": self.loads[name] = reactions(options.events, authors, self.people)
                case "relays" | "backlog": self.loads[name] = relayed(options.events, authors)
                case _: sys.exit(f"run: --only: expected some of reactions,crowd,nobody,wake,relays,backlog; not {name}")
        self.to_silent = reactions(SILENT * 5, authors, self.silent)

    def register(self, router: MeasuredRouter, contents: list[tuple[Person, dict]]):
        for first in range(0, len(contents), 100):
            with Socket(router) as socket:
                for person, content in contents[first : first + 100]:
                    socket.publish(person.registration(router, content))

    def devices(self, name: str, server: Server, silent: SilentHosts | None) -> list[tuple[Person, dict]]:
        """Who registers, and with what."""
        if silent:
            wake = {"platform": "unifiedpush", "filters": ALL_SIGNALS, "mode": "wake"}
            people = [*self.people, *self.silent]
            return [(person, wake | {"push_endpoint": address}) for person, address in zip(people, server.endpoints + silent.endpoints)]
        people = self.people + (self.further if name in BY_RELAYS else [])
        return [(person, ios(token, mode="alert")) for person, token in zip(people, self.tokens + [device_token() for _ in self.further])]

    def measure(self, build: Path, name: str, shim: Path | None = None) -> dict[str, float]:
        """Microseconds of CPU for each push (or event), pushes (or events) a second, and the growth of memory in MiB. The
        first events warm everything up. Under the `shim` also the allocations, and then no other figure means much."""
        programs.BUILD = build
        load = self.loads[name]
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "server").mkdir(parents=True)
        hosts = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(len(self.people) if name == "wake" else 0)]
        server = Server(folder / "server", self.tokens, hosts)
        silent = SilentHosts() if hosts else None
        relays = Relays(folder / "relays") if name in BY_RELAYS else None
        wrapper = shlex.split(self.options.wrapper.replace("SCENARIO", name))
        router = MeasuredRouter(folder / "router", server, wrapper, shim)
        try:
            router.begin(None)
            self.register(router, self.devices(name, server, silent))
            router.stop()
            if relays:
                router.watch(relays.all)
            pipe = folder / "feed"
            os.mkfifo(pipe)
            router.begin(pipe)
            with pipe.open("wb") as writer:
                # Hosts get connections that stay once something came a few times.
                warm_loads = self.warm if silent else self.warm[:1]
                writer.write(b"".join(load.bytes for load in warm_loads))
                writer.flush()
                warm = sum(load.pushes for load in warm_loads)
                router.wait_for(*DELIVERED, warm)
                if relays:
                    router.wait_until_connected(len(relays.all))
                if silent:
                    writer.write(self.to_silent.bytes)
                mallocs = router.mallocs if shim else 0
                served = relays or server
                idle, server_cpu = idle_seconds(), served.cpu
                used, memory, begin = router.cpu, router.memory, time.monotonic()
                if relays:
                    took, cpu = self.send(load, relays, router, name == "backlog")
                else:
                    writer.write(load.bytes)
            if load.pushes:
                router.wait_for(*DELIVERED, warm + load.pushes)
            elif not relays:
                router.wait_for(*UNADDRESSED, load.events)
            passed = time.monotonic() - begin
            if not relays:
                took, cpu = passed, router.cpu - used
            count = load.pushes or load.events
            figures = {
                "cpu": cpu * 1e6 / count, "rate": count / took,
                "memory": router.memory, "growth": router.memory - memory,
                "server": (served.cpu - server_cpu) * 1e6 / count,
                "idle": (idle_seconds() - idle) / passed / (os.cpu_count() or 1),
            }
            if relays:
                self.send(mixed(CHECKED, self.authors, self.people), relays, router, name == "backlog")
            if shim:
                figures["mallocs"] = (router.mallocs - mallocs) / count
            if wrapper:
                router.end()
            return figures
        finally:
            router.kill()
            server.stop()
            if relays:
                relays.stop()
            if silent:
                silent.close()

    @staticmethod
    def send(load: Load, relays: Relays, router: MeasuredRouter, is_backlog: bool) -> tuple[float, float]:
        """Has relays hand a load to the router, and waits until all of it is through. Where it `is_backlog`, the router stands still while
        relays get it. Returns for how many seconds the router worked, and how many of CPU time it used."""
        passed, pushed = router.metric(*UNADDRESSED), router.metric(*DELIVERED)
        took = cpu = 0.0
        for first in range(0, load.events, WAITING):
            some = load.lines[first : first + WAITING]
            begin, used = time.monotonic(), router.cpu
            if is_backlog:
                with router.standing_still():
                    relays.publish(some)
                    begin = time.monotonic()
            else:
                relays.publish(some)
            # Where some wake somebody, there are no further ones.
            expected = passed + first + len(some) - load.pushes
            for _ in range(100):
                rested, spent = router.wait_until_resting(), router.cpu
                if router.metric(*UNADDRESSED) >= expected:
                    break
            else:
                sys.exit(f"run: {expected - router.metric(*UNADDRESSED)} events of relays are missing")
            took += rested - begin
            cpu += spent - used
        router.wait_for(*DELIVERED, pushed + load.pushes)
        return took, cpu


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+", type=Path, metavar="BUILD", help="folders with built programs, compared in turn")
    parser.add_argument("--verify", type=Path, required=True, help="the program that verify.c makes")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--devices", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
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
        f"{figure['cpu']:.2f} µs CPU each, {figure['rate']:.0f}/s, verify {figure['verify']:.1f} µs,"
        f" memory {figure['memory']:.0f} MiB after {figure['growth']:+.0f}, server {figure['server']:.1f} µs, idle {figure['idle']:.0%}"
    )


if __name__ == "__main__":
    sys.exit(main())
