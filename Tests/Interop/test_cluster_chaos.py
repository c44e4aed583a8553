"""A cluster that is divided, that has two holders of one relay, and whose members are of different versions. The long form is
contrib/bench/cluster."""

import json
import signal
import time

import pytest

from cluster import Cluster, Load, Verdict, connection_owner
from programs import carillon, wait_until
from relays import CountingProxy, LocalRelay


@pytest.fixture
def proxy(tmp_path):
    relay = LocalRelay(tmp_path / "relay").start()
    proxy = CountingProxy(relay)
    yield proxy
    proxy.stop()
    relay.kill()


@pytest.fixture
def make_cluster(tmp_path, lab):
    clusters = []

    def make(**options) -> Cluster:
        clusters.append(Cluster(tmp_path / "cluster", lab, **options))
        return clusters[-1]

    yield make
    for cluster in clusters:
        cluster.stop()


def goes_on(load: Load, count: int):
    before = len(load.accepted)
    wait_until(lambda: len(load.accepted) >= before + count, f"{count} more events are accepted")


def test_a_minority_that_is_cut_off_loses_no_push(make_cluster, lab):
    cluster = make_cluster(can_be_cut=True)
    people = cluster.register(12)
    with Load(cluster, people) as load:
        goes_on(load, 30)
        cluster.cut(1)
        took = cluster.wait_until_shared([cluster.members[0], cluster.members[2]])
        # It knows by its own clock that its leases are over.
        wait_until(lambda: cluster.members[1].owned == 0, "whoever is cut off gives its partitions up", timeout=5)
        goes_on(load, 20)
        cluster.mend()
        cluster.wait_until_shared()
        goes_on(load, 30)
    verdict = Verdict(load, lab)
    verdict.check()
    print(f"taken over in {took:.1f} s, {verdict.pushes} pushes, {verdict.repeats} repeats")


def test_two_holders_of_one_relay_push_once(make_cluster, lab, proxy):
    cluster = make_cluster(relays=[proxy])
    people = cluster.register(6)
    wait_until(lambda: len(proxy.open) == 1, "the relay is held")
    cluster.warm_up(proxy.relay, people)
    with Load(cluster, people, proxy.relay, pause=0.2) as load:
        goes_on(load, 10)
        holder = connection_owner(cluster.living, proxy)
        holder.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: len(proxy.open) == 2, "another holds the relay as well")
        goes_on(load, 20)
        time.sleep(2)
        holder.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(proxy.open) == 1, "the relay is held once again")
        cluster.wait_until_shared()
        goes_on(load, 10)
    verdict = Verdict(load, lab)
    verdict.check()
    print(f"{verdict.pushes} pushes, {verdict.repeats} repeats")
