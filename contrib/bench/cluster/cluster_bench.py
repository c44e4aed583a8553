"""What happens to clusters, under load. See `run`."""

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "Tests/Interop"))

from cluster import Cluster, Load, Member, Pushes, Server, Verdict, connection_owner  # noqa: E402
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


class Silence:
    """Times in which a member must not send, since others own everything that was its: by the number of its lab."""

    def __init__(self):
        self._times: list[tuple[int, float, float]] = []

    def add(self, number: int, since: float, until: float):
        """In seconds since 1970."""
        self._times.append((number, since * 1_000, until * 1_000))

    def until_open(self, member: Member, number: int, since: float):
        """Until the member owns something again."""
        heard = len(member.log_text)
        looked = time.time()
        while "Opened a partition" not in member.log_text[heard:]:
            looked = time.time()
            time.sleep(0.002)
        self.add(number, since, looked)

    def broken(self, pushes: Pushes) -> list[float]:
        """How long after the beginning of such a time pushes came, in milliseconds."""
        return [
            moment - since for number, since, until in self._times for moment in pushes.times[number] if since < moment < until
        ]


class Standstills:
    """Times in which this process did not run, as when a virtual machine is stopped: they say nothing about a cluster."""

    def __init__(self):
        self._times: list[tuple[float, float]] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Standstills":
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _watch(self):
        last = time.monotonic()
        while not self._ends.wait(0.05):
            now = time.monotonic()
            if now - last > 1.5:
                # Servers elect leaders anew after that.
                self._times.append((last, now + 15))
            last = now

    def touched(self, since: float, until: float) -> bool:
        return any(since < end and start < until for start, end in self._times)


def router_killed(cluster: Cluster, _: Silence) -> float:
    member = random.choice(cluster.members)
    member.kill()
    took = cluster.wait_until_shared()
    member.start()
    return took


def router_stopped(cluster: Cluster, _: Silence) -> float:
    member = random.choice(cluster.members)
    member.stop()
    took = cluster.wait_until_shared()
    member.start()
    return took


def router_paused(cluster: Cluster, silence: Silence) -> float:
    """For ten seconds, in which others take over."""
    owners = wait_until(
        lambda: [number for number, member in enumerate(cluster.members) if member.owned], "somebody owns a partition"
    )
    number = random.choice(owners)
    member = cluster.members[number]
    member.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    took = cluster.wait_until_shared([other for other in cluster.members if other is not member])
    time.sleep(max(0, 10 - (time.monotonic() - began)))
    woken = time.time()
    member.process.send_signal(signal.SIGCONT)
    silence.until_open(member, number, woken)
    return took


def leader_killed(cluster: Cluster, _: Silence) -> float:
    server = leader(cluster)
    server.kill()
    time.sleep(5)
    server.start()
    return 0


def server_killed(cluster: Cluster, _: Silence) -> float:
    server = random.choice(cluster.servers)
    server.kill()
    time.sleep(5)
    server.start()
    return 0


def all_killed(cluster: Cluster, _: Silence) -> float:
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


def minority_cut(cluster: Cluster, silence: Silence) -> float:
    """A server and the router beside it hear nothing of the others for ten seconds, and then go on as if nothing had happened."""
    number = random.randrange(3)
    cluster.cut(number)
    (began, cut) = (time.monotonic(), time.time())
    took = cluster.wait_until_shared([member for index, member in enumerate(cluster.members) if index != number])
    time.sleep(max(0, 10 - (time.monotonic() - began)))
    cluster.mend()
    # A lease ends three seconds after the last renewal at the latest.
    silence.until_open(cluster.members[number], number, cut + 3)
    return took


def rolling_restart(cluster: Cluster, _: Silence) -> float:
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


def two_holders(cluster: Cluster, silence: Silence) -> float:
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
    woken = time.time()
    holder.process.send_signal(signal.SIGCONT)
    silence.until_open(holder, cluster.members.index(holder), woken)
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


HEADS = ["trouble", "times", "pushes", "a second", "lost", "repeats", "renamed", "sent without a lease"]
HEADS += ["taken over p50 s", "p95 s", "longest s", "longest without OK s"]


def run(name: str, folder: Path, options: argparse.Namespace) -> tuple[bool, list]:
    """Whether all went as it should, and the row of the table."""
    folder.mkdir(parents=True)
    labs = [Lab(folder / f"lab{number}", "--quiet") for number in range(3)]
    relay = CountingProxy(LocalRelay(folder / "relay").start()) if name == "two-holders" else None
    cluster, silence, times, fault = None, Silence(), [], None
    try:
        cluster = Cluster(
            folder / "cluster", labs[0], relays=[relay] if relay else None, can_be_cut=name == "minority-cut", labs=labs
        )
        people = cluster.register(24)
        if relay:
            cluster.warm_up(relay.relay, people)
        began = time.monotonic()
        with Standstills() as standstills, Pushes(labs) as pushes:
            with Load(cluster, people, relay.relay if relay else None, pause=options.pause, rate=options.rate) as load:
                while len(times) < options.times and not fault:
                    since, before = time.monotonic(), len(load.accepted)
                    try:
                        wait_until(lambda: len(load.accepted) >= before + 20, "events are accepted")
                        time.sleep(random.random())
                        took = TROUBLES[name](cluster, silence)
                        wait_until(lambda: len(load.accepted) >= before + 40, "events are accepted again")
                        cluster.wait_until_shared()
                    except AssertionError as error:
                        if not standstills.touched(since, time.monotonic()):
                            fault = error
                            break
                        cluster.revive()
                    if standstills.touched(since, time.monotonic()):
                        print(f"{name}: this process stood still; once more", file=sys.stderr, flush=True)
                        time.sleep(15)
                        continue
                    times.append(took)
                    print(f"{name} {len(times)}: {took:.2f} s, {len(load.accepted)} events", file=sys.stderr, flush=True)
            took = time.monotonic() - began
            verdict = Verdict(load, pushes, timeout=60)
    finally:
        if cluster:
            cluster.stop()
        if relay:
            relay.stop()
            relay.relay.kill()
        for lab in labs:
            lab.stop()
    times.sort()
    slowest = max((until - since for since, until in load.pauses if not standstills.touched(since, until)), default=0)
    broken = silence.broken(pushes)
    unleased = len(broken)
    for what, is_so in [
        (fault, fault), ("nobody took an event for a minute", verdict.is_stuck), ("pushes that nobody asked for", verdict.unasked),
        (f"sent without a lease, after milliseconds: {[round(each) for each in broken]}", broken),
    ]:
        if is_so:
            print(f"FAULT {name}: {what}", flush=True)
    row = [name, len(times), verdict.pushes, f"{verdict.pushes / took:.0f}", len(verdict.lost), verdict.repeats]
    row += [len(verdict.renamed), unleased]
    if times:
        row += [f"{times[place]:.1f}" for place in (len(times) // 2, min(len(times) - 1, len(times) * 95 // 100), -1)]
    row.append(f"{slowest:.1f}")
    return not (fault or verdict.is_stuck or verdict.lost or verdict.unasked or verdict.renamed or unleased), row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how often each trouble comes")
    parser.add_argument("--troubles", default=",".join(TROUBLES), help="which, with commas between")
    parser.add_argument("--rate", type=float, default=0, help="events offered a second, as far as they are taken")
    parser.add_argument(
        "--pause", type=float, default=0.05, help="without a rate: seconds between four events of a sender; there are three senders"
    )
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
            is_well, row = run(name, scratch / name, options)
            is_good = is_good and is_well
            rows.append(row)
            print(*row, flush=True)
    print("\n| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
