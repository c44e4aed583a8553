"""What a cluster keeps in JetStream is bounded, and what no longer fits is not acknowledged."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster import Cluster, offer
from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until
from test_notify import Sender

MEBIBYTE = 1 << 20


@pytest.fixture
def make_cluster(tmp_path, lab):
    clusters = []

    def make(more: dict | None = None, **block) -> Cluster:
        blocks = {"cluster": block} | (more or {})
        clusters.append(Cluster(tmp_path / "cluster", lab, members=2, configuration=blocks))
        return clusters[-1]

    yield make
    for cluster in clusters:
        cluster.stop()


def test_a_new_member_begins_with_a_snapshot_of_the_registry(make_cluster, lab):
    cluster = make_cluster(snapshot_after=10)
    away = cluster.members[1]
    people = cluster.register(12)
    shortened = "Replaced older registry changes by a snapshot"
    everybody = list(cluster.members)

    def snapshots() -> int:
        return sum(member.log_text.count(shortened) for member in everybody)

    wait_until(lambda: snapshots() == 1, "the first snapshot")
    assert cluster.stream("carillon_REG")["first_seq"] == 1, "whoever is a little behind finds its changes"
    away.stop()
    cluster.wait_until_shared()
    cluster.members.remove(away)
    for count in [2, 3]:
        people |= cluster.register(12)
        wait_until(lambda count=count: snapshots() >= count, "further snapshots")
    assert cluster.stream("carillon_REG")["first_seq"] > 12
    # One that was away for too long begins anew as well.
    cluster.members.append(away.start())
    new = cluster.add(cluster.members[0].folder / "carillon.key").start()
    cluster.wait_until_shared()
    assert new.owned and away.owned
    reach(new, people, lab)
    for member in cluster.members:
        listed = carillon("devices", "list", "--config", member.configuration_file)
        assert listed.returncode == 0 and listed.stdout.count("ios") >= 36, listed.stdout + listed.stderr


def reach(member, people, lab):
    author = Person()
    notes = [(author.note("hello", person), token) for person, token in people.values()]
    with Socket(member) as socket:
        socket.publish(*(note for note, _ in notes))
    wait_until(
        lambda: {(note["id"], token) for note, token in notes}
        <= {(push.payload["event_id"], push.target) for push in lab.received()},
        "everybody is reached",
    )


def test_a_member_that_missed_two_snapshots_exits_and_starts_again(make_cluster, lab):
    cluster = make_cluster(snapshot_after=10)
    first, sleeper = cluster.members
    people = cluster.register(4)
    shortened = "Replaced older registry changes by a snapshot"
    sleeper.process.send_signal(signal.SIGSTOP)
    cluster.wait_until_shared([first], fair=False)
    cluster.members.remove(sleeper)
    for count in [1, 2, 3]:
        people |= cluster.register(12)
        wait_until(lambda count=count: first.log_text.count(shortened) >= count, "snapshots")
    assert cluster.stream("carillon_REG")["first_seq"] > 4
    sleeper.process.send_signal(signal.SIGCONT)
    # It ends, so that whoever looks after it starts it again.
    assert sleeper.process.wait(timeout=30) == 1
    assert "the cluster no longer has the changes of the registry behind" in sleeper.log_text
    reach(first, people, lab)
    cluster.members.append(sleeper.start())
    cluster.wait_until_shared()
    reach(sleeper, people, lab)


def test_the_oldest_requests_are_dropped_first(make_cluster, lab):
    api = {"api": {"listen": "127.0.0.1:0", "token_file": "api.token"}}
    cluster = make_cluster(api, max_bytes={"requests": MEBIBYTE})
    account = next(iter(cluster.register(2)))
    senders = [Sender(Console(member)) for member in cluster.members]

    def send(number: int) -> str:
        return senders[number % 2].send({"to": {"account": account}, "title": f"number {number}"}, key=f"order {number}")["id"]

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(send, range(1_500)))
    assert cluster.stream("KV_carillon_REQUEST")["bytes"] <= MEBIBYTE
    # Another member knows the last ones, and nobody the first.
    assert send(1_499) == ids[-1]
    assert senders[0].send({"to": {"account": account}, "title": "number 1499"}, key="order 1499")["id"] == ids[-1]
    senders[1].show(ids[0], status=404)


def test_an_event_beyond_the_capacity_is_not_acknowledged(make_cluster, lab):
    cluster = make_cluster(max_bytes={"log": MEBIBYTE, "snapshots": MEBIBYTE})
    people = cluster.register(24)
    lab.misbehave("answer", status=503, times=0)
    author = Person()
    accepted: set[str] = set()
    deadline = time.monotonic() + 120
    is_full = False
    while not is_full:
        assert time.monotonic() < deadline, f"{len(accepted)} events fit"
        # Each wakes everybody.
        notes = [author.note("x" * 200, *(person for person, _ in people.values())) for _ in range(20)]
        taken = offer(cluster.members[0], notes)
        accepted |= taken
        is_full = len(taken) < len(notes)
    assert any("maximum bytes exceeded" in member.log_text for member in cluster.members), "nobody says why"
    # More space takes a restart of one member.
    for member in cluster.members:
        member.configuration["cluster"]["max_bytes"] = {"log": 16 * MEBIBYTE, "snapshots": 16 * MEBIBYTE}
    cluster.members[0].kill()
    cluster.members[0].start()
    cluster.wait_until_shared()
    note = author.note("fits again", next(iter(people.values()))[0])
    wait_until(lambda: note["id"] in offer(cluster.members[1], [note]), "events are taken again")
    lab.behave()

    def arrived() -> set[tuple[str, str]]:
        return {(push.payload["event_id"], push.target) for push in lab.received() if push.status == 200}

    expected = {(id, token) for id in accepted for _, token in people.values()}
    wait_until(lambda: expected <= arrived(), "everything that was acknowledged arrives")
    print(f"{len(accepted)} events with {len(expected)} pushes fit")
