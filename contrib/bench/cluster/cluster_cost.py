"""What a push costs alone, with one member and with three. See `cost`."""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from cluster import Cluster, Server, offer  # noqa: E402
from lab import Lab  # noqa: E402
from nostr import Person, Socket, device_token, ios  # noqa: E402
from programs import wait_until  # noqa: E402
from router import Router  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def cpu(processes) -> float:
    """Seconds that processes have computed so far."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def traffic(servers: list[Server]) -> int:
    """Bytes that servers and routers have said to each other so far."""
    total = 0
    for server in servers:
        with urllib.request.urlopen(f"{server.monitoring}/connz", timeout=5) as answer:
            for connection in json.load(answer)["connections"]:
                total += connection["in_bytes"] + connection["out_bytes"]
    return total


def measure(folder: Path, members: int, options: argparse.Namespace) -> dict:
    """The figures are the medians of all rounds but the first."""
    crowd, devices, rounds = options.crowd, options.devices, options.rounds
    count, pushes = max(24, crowd), options.pushes
    folder.mkdir(parents=True)
    lab = Lab(folder / "lab")
    cluster = Cluster(folder / "cluster", lab, members=members) if members else None
    if cluster:
        routers, servers = cluster.members, cluster.servers
        people = cluster.register(count, devices)
    else:
        alone = Router(folder / "alone", lab)
        alone.log_level = "info"
        routers, servers = [alone.start()], []
        people = {person.hex: (person, device_token()) for person in (Person() for _ in range(count))}
        with Socket(alone) as socket:
            for person, token in people.values():
                socket.publish(person.registration(alone, ios(token, mode="alert")))
                for number in range(1, devices):
                    content = ios(device_token(), mode="alert")
                    socket.publish(person.registration(alone, content, device=f"device{number}"))
    found = []
    try:
        for _ in range(rounds + 1):
            author, to = Person(), [person for person, _ in people.values()]
            events = []
            for number in range(pushes // crowd // devices):
                named = [to[(number + other) % len(to)] for other in range(crowd)]
                events.append(author.event(1, f"number {number}", [["p", person.hex] for person in named]))
            lab.forget()
            before = (cpu(router.process for router in routers), cpu(server.process for server in servers), traffic(servers))
            began = time.monotonic()
            share = len(events) // len(routers)
            for number, router in enumerate(routers):
                part = events[number * share : (number + 1) * share if number + 1 < len(routers) else None]
                for start in range(0, len(part), 50):
                    taken = offer(router, part[start : start + 50])
                    assert len(taken) == len(part[start : start + 50]), "an event was not taken"
            made = len(events) * crowd * devices
            wait_until(lambda: sum(push.status == 200 for push in lab.received()) >= made, "all pushes arrive")
            took = time.monotonic() - began
            after = (cpu(router.process for router in routers), cpu(server.process for server in servers), traffic(servers))
            found.append((*(late - early for early, late in zip(before, after)), took))
    finally:
        if cluster:
            cluster.stop()
        else:
            alone.kill()
        lab.stop()
    routers_cpu, servers_cpu, total, took = (statistics.median(values) for values in zip(*found[1:]))
    return {
        "routers": routers_cpu / pushes * 1_000,
        "servers": servers_cpu / pushes * 1_000,
        "bytes": total / pushes,
        "seconds": took,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pushes", type=int, default=2_000, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--members", default="0,1,3", help="how many; 0 is a router without a cluster")
    parser.add_argument("--crowd", type=int, default=1, help="people that each event names")
    parser.add_argument("--devices", type=int, default=1, help="devices of each, which an event wakes all; at most 32")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for members in map(int, options.members.split(",")):
            costs = measure(Path(temporary) / f"members{members}", members, options)
            name = {0: "alone", 1: "1 member"}.get(members, f"{members} members")
            rows.append(
                [name, f"{costs['routers']:.2f}", f"{costs['servers']:.2f}", f"{costs['bytes']:.0f}", f"{costs['seconds']:.1f}"]
            )
            print(*rows[-1], flush=True)
    heads = ["routers", "CPU s of routers per 1,000 pushes", "CPU s of three servers", "bytes to and from NATS a push", "seconds a round"]
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
