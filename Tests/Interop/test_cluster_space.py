"""What a cluster keeps in JetStream is bounded, and what no longer fits is not acknowledged."""

import time

import pytest

from cluster import Cluster, offer
from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until

MEBIBYTE = 1 << 20


@pytest.fixture
def make_cluster(tmp_path, lab):
    clusters = []

    def make(**block) -> Cluster:
        clusters.append(Cluster(tmp_path / "cluster", lab, members=2, configuration={"cluster": block}))
        return clusters[-1]

    yield make
    for cluster in clusters:
        cluster.stop()


def test_a_new_member_begins_with_a_snapshot_of_the_registry(make_cluster, lab):
    cluster = make_cluster(snapshot_after=10)
    away = cluster.members[1]
    people = cluster.register(12)
    shortened = "A snapshot of the registry takes the place of older changes"
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
    author = Person()
    notes = [(author.note("hello", person), token) for person, token in people.values()]
    with Socket(new) as socket:
        socket.publish(*(note for note, _ in notes))
    wait_until(
        lambda: {(note["id"], token) for note, token in notes}
        <= {(push.payload["event_id"], push.target) for push in lab.received()},
        "everybody is reached",
    )
    for member in cluster.members:
        listed = carillon("devices", "list", "--config", member.configuration_file)
        assert listed.returncode == 0 and listed.stdout.count("ios") >= 36, listed.stdout + listed.stderr


def test_what_does_not_fit_is_not_acknowledged(make_cluster, lab):
    cluster = make_cluster(max_bytes={"log": MEBIBYTE, "snapshots": MEBIBYTE})
    people = cluster.register(24)
    lab.misbehave("answer", status=503, times=0)
    author = Person()
    accepted: set[str] = set()
    deadline = time.monotonic() + 40
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
