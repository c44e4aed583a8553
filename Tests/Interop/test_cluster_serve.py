"""Three routers over three NATS servers share the work, and neither a kill -9 of one nor one of a server loses a push."""

import json

import pytest

from cluster import Cluster, Load, Verdict
from nostr import Socket, device_token, ios
from programs import carillon, wait_until
from relays import LocalRelay


@pytest.fixture
def relay(tmp_path):
    relay = LocalRelay(tmp_path / "relay").start()
    yield relay
    relay.kill()


@pytest.fixture
def cluster(tmp_path, lab, relay):
    cluster = Cluster(tmp_path / "cluster", lab, relay=relay)
    yield cluster
    cluster.stop()


def goes_on(load: Load, count: int):
    before = len(load.accepted)
    wait_until(lambda: len(load.accepted) >= before + count, f"{count} more events are accepted")


def test_killed_members_and_servers_lose_no_push(cluster, lab, relay):
    people = cluster.register(12)
    cluster.warm_up(relay, people)
    with Load(cluster, people, relay) as load:
        goes_on(load, 60)
        first, second, third = cluster.members
        owned = first.owned
        first.kill()
        took = cluster.wait_until_shared()
        goes_on(load, 40)
        # It comes back with what it missed, and gets its share again.
        first.start()
        cluster.wait_until_shared()
        # Two at once: the last one has everything.
        second.kill()
        first.kill()
        cluster.wait_until_shared()
        assert third.owned == cluster.partitions
        goes_on(load, 20)
        first.start()
        # What the servers have survives one of them.
        cluster.servers[0].kill()
        goes_on(load, 20)
        cluster.servers[0].start()
        cluster.wait_until_shared()
        goes_on(load, 20)
    verdict = Verdict(load, lab)
    verdict.check()
    print(f"{owned} partitions taken over in {took:.1f} s, {verdict.pushes} pushes, {verdict.repeats} repeats")


def test_an_orderly_stop_hands_over_without_a_pause(cluster, lab):
    people = cluster.register(12)
    with Load(cluster, people) as load:
        goes_on(load, 30)
        leaving, asked = cluster.members[2], cluster.members[0]
        assert leaving.stop() == 0
        took = cluster.wait_until_shared()
        goes_on(load, 30)
    verdict = Verdict(load, lab)
    verdict.check()
    print(f"taken over {took:.1f} s after the end, {verdict.pushes} pushes, {verdict.repeats} repeats")
    assert verdict.repeats == 0

    done = carillon("cluster", "status", "--config", asked.configuration_file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "member member0 of the cluster carillon" in done.stdout and "nobody" not in done.stdout
    status = json.loads(carillon("cluster", "status", "--config", asked.configuration_file, "--json").stdout)
    assert [member["name"] for member in status["members"] if not member["is_leaving"]] == ["member0", "member1"]
    assert {partition["owner"] for partition in status["partitions"]} == {"member0", "member1"}
    assert status["registry"] >= 12


def test_a_registry_of_its_own_cannot_join(tmp_path, lab, cluster, stopped_router, alice):
    """What served alone has other numbers for its devices."""
    alone = stopped_router.start()
    with Socket(alone) as socket:
        socket.publish(alice.registration(alone, ios(device_token())))
    assert alone.stop() == 0
    alone.configuration["cluster"] = cluster.members[0].configuration["cluster"] | {"name": "alone"}
    alone.spawn()
    assert alone.process.wait(timeout=30) == 1
    assert "starts with an empty registry" in alone.log_text
