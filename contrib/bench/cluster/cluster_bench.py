"""What happens to clusters, under load. See `run`."""

import argparse
import json
import random
import signal
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from cluster import Cluster, Load, Server, Verdict, connection_owner  # noqa: E402
from lab import Lab  # noqa: E402
from programs import wait_until  # noqa: E402
from relays import CountingProxy, LocalRelay  # noqa: E402


def leader(cluster: Cluster) -> Server:
    """The server that leads the stream of the logs."""

    def name() -> str | None:
        for server in cluster.servers:
            try:
                with urllib.request.urlopen(f"{server.monitoring}/jsz?streams=true", timeout=5) as answer:
                    details = json.load(answer).get("account_details", [])
            except OSError:
                continue
            for account in details:
                for stream in account.get("stream_detail", []):
                    if stream["name"] == "carillon_LOG" and stream["cluster"].get("leader"):
                        return stream["cluster"]["leader"]
        return None

    found = wait_until(name, "the stream of the logs has a leader")
    return next(server for server in cluster.servers if server.folder.name == found)


def router_killed(cluster: Cluster) -> float:
    member = random.choice(cluster.members)
    member.kill()
    took = cluster.wait_until_shared()
    member.start()
    return took


def router_stopped(cluster: Cluster) -> float:
    member = random.choice(cluster.members)
    member.stop()
    took = cluster.wait_until_shared()
    member.start()
    return took


def router_paused(cluster: Cluster) -> float:
    """For ten seconds, in which others take over."""
    member = random.choice([member for member in cluster.members if member.owned])
    member.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    took = cluster.wait_until_shared([other for other in cluster.members if other is not member])
    time.sleep(max(0, 10 - (time.monotonic() - began)))
    member.process.send_signal(signal.SIGCONT)
    return took


def leader_killed(cluster: Cluster) -> float:
    server = leader(cluster)
    server.kill()
    time.sleep(5)
    server.start()
    return 0


def server_killed(cluster: Cluster) -> float:
    server = random.choice(cluster.servers)
    server.kill()
    time.sleep(5)
    server.start()
    return 0


def all_killed(cluster: Cluster) -> float:
    """Routers and servers at once. The machine's cache of the disk survives, so this is no loss of power."""
    for member in cluster.members:
        member.kill()
    for server in cluster.servers:
        server.kill()
    began = time.monotonic()
    for server in cluster.servers:
        server.start()
    for member in cluster.members:
        member.spawn()
    for member in cluster.members:
        member.wait_for_port()
    cluster.wait_until_shared()
    return time.monotonic() - began


def minority_cut(cluster: Cluster) -> float:
    """A server and the router beside it hear nothing of the others for ten seconds, and then go on as if nothing had happened."""
    number = random.randrange(3)
    cluster.cut(number)
    began = time.monotonic()
    took = cluster.wait_until_shared([member for index, member in enumerate(cluster.members) if index != number])
    time.sleep(max(0, 10 - (time.monotonic() - began)))
    cluster.mend()
    return took


def rolling_restart(cluster: Cluster) -> float:
    """Each router and each server, one after the other. Returns the longest time until others had what one left."""
    longest = 0.0
    for member in cluster.members:
        member.stop()
        longest = max(longest, cluster.wait_until_shared())
        member.start()
        cluster.wait_until_shared()
    for server in cluster.servers:
        server.stop()
        server.start()
        time.sleep(3)
    return longest


def two_holders(cluster: Cluster) -> float:
    """Whoever holds the relay sleeps until another holds it as well, and wakes up connected."""
    proxy = cluster.relays[0]
    wait_until(lambda: len(proxy.open) == 1, "the relay is held once")
    holder = connection_owner(cluster.living, proxy)
    holder.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    wait_until(lambda: len(proxy.open) == 2, "another holds the relay as well")
    took = time.monotonic() - began
    # What is published now is read by both.
    time.sleep(4)
    holder.process.send_signal(signal.SIGCONT)
    wait_until(lambda: len(proxy.open) == 1, "the relay is held once again")
    return took


TROUBLES = {
    "router-killed": router_killed,
    "router-stopped": router_stopped,
    "router-paused": router_paused,
    "leader-killed": leader_killed,
    "server-killed": server_killed,
    "all-killed": all_killed,
    "minority-cut": minority_cut,
    "rolling-restart": rolling_restart,
    "two-holders": two_holders,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how often each trouble comes")
    parser.add_argument("--troubles", default=",".join(TROUBLES), help="which, with commas between")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between four events of a sender; there are three senders")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--scratch", help="where stores and logs lie, which then stay there")
    options = parser.parse_args()
    random.seed(options.seed)
    is_good = True
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(options.scratch or temporary)
        print(f"seed {options.seed}, in {scratch}", flush=True)
        for name in options.troubles.split(","):
            folder = scratch / name
            folder.mkdir(parents=True)
            lab = Lab(folder / "lab")
            relay = CountingProxy(LocalRelay(folder / "relay").start()) if name == "two-holders" else None
            cluster = Cluster(
                folder / "cluster", lab, relays=[relay] if relay else None, can_be_cut=name == "minority-cut"
            )
            try:
                people = cluster.register(24)
                if relay:
                    cluster.warm_up(relay.relay, people, lab)
                times = []
                with Load(cluster, people, relay.relay if relay else None, pause=options.pause) as load:
                    for _ in range(options.times):
                        before = len(load.accepted)
                        wait_until(lambda: len(load.accepted) >= before + 20, "events are accepted")
                        times.append(TROUBLES[name](cluster))
                        wait_until(lambda: len(load.accepted) >= before + 40, "events are accepted again")
                        cluster.wait_until_shared()
                verdict = Verdict(load, lab, timeout=60)
            finally:
                cluster.stop()
                if relay:
                    relay.stop()
                    relay.relay.kill()
                lab.stop()
            times.sort()
            is_good = is_good and not (verdict.is_stuck or verdict.lost or verdict.unasked or verdict.renamed)
            row = [name, len(times), verdict.pushes, len(verdict.lost), verdict.repeats, len(verdict.renamed)]
            row += [f"{times[len(times) // 2]:.1f}", f"{times[min(len(times) - 1, len(times) * 95 // 100)]:.1f}", f"{load.slowest:.1f}"]
            rows.append(row)
            print(*row, flush=True)
    heads = ["trouble", "times", "pushes", "lost", "repeats", "renamed", "taken over p50 s", "p95 s", "longest without OK s"]
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
