"""Shows what becomes of pushes when a router of a cluster is killed, and then the server that leads: contrib/demo --cluster."""

import sys
import tempfile
import threading
import time
from pathlib import Path

from cluster_bench import leader

from cluster import Cluster, Load, Verdict
from lab import Lab
from programs import wait_until
from relays import LocalRelay


def say(text: str):
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def watch(cluster: Cluster, load: Load, lab: Lab, ends: threading.Event):
    """A line a second: who owns how many partitions, what was accepted, what arrived."""
    while not ends.wait(1):
        owners = ", ".join(
            f"{member.folder.name} {member.owned if member.is_running else 'dead'}" for member in cluster.members
        )
        arrived = sum(push.status == 200 for push in lab.received())
        say(f"partitions: {owners}; accepted {len(load.accepted)}, arrived {arrived}")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="carillon-demo.") as temporary:
        folder = Path(temporary)
        lab, relay = Lab(folder / "lab"), LocalRelay(folder / "relay").start()
        say("starting three NATS servers and three routers")
        cluster = Cluster(folder / "cluster", lab, relay=relay)
        ends = threading.Event()
        try:
            say("registering 24 phones, each with some router")
            people = cluster.register(24)
            cluster.warm_up(relay, people)
            with Load(cluster, people, relay, pause=0.1) as load:
                watcher = threading.Thread(target=watch, args=[cluster, load, lab, ends])
                watcher.start()
                time.sleep(3)
                member = cluster.members[1]
                say(f"kill -9 of {member.folder.name}, which owns {member.owned} partitions")
                member.kill()
                say(f"the others have all partitions, {cluster.wait_until_shared():.1f} s later")
                time.sleep(2)
                member.start()
                say(f"{member.folder.name} is back, and has its share {cluster.wait_until_shared():.1f} s later")
                server = leader(cluster)
                say(f"kill -9 of {server.folder.name}, the server that leads the stream of the logs")
                server.kill()
                before = len(load.accepted)
                wait_until(lambda: len(load.accepted) > before + 40, "events are accepted again")
                server.start()
                time.sleep(2)
                ends.set()
            watcher.join()
            verdict = Verdict(load, lab)
        finally:
            ends.set()
            cluster.stop()
            relay.kill()
            lab.stop()
    say(f"{verdict.pushes} events accepted, {len(verdict.lost)} pushes lost, {verdict.repeats} repeated")
    verdict.check()
    return 0


sys.exit(main())
