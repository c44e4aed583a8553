"""A router's store becomes a cluster and a store again, with pushes that wait, and whatever kills the commands."""

import shutil
import subprocess
from collections import Counter

import pytest

from cluster import Cluster, Member
from nostr import Person, Socket, device_token, ios
from programs import built, carillon, wait_until
from relays import LocalRelay, publish
from router import Router


@pytest.fixture
def relay(tmp_path):
    relay = LocalRelay(tmp_path / "relay").start()
    yield relay
    relay.kill()


@pytest.fixture
def cluster(tmp_path, lab, relay):
    cluster = Cluster(tmp_path / "cluster", lab, members=0, relay=relay)
    yield cluster
    cluster.stop()


@pytest.fixture
def alone(tmp_path, lab, relay):
    """A router that serves without a cluster."""
    router = Router(tmp_path / "alone", lab)
    router.watch([relay])
    yield router
    if router.is_running:
        router.kill()


def arrived(lab) -> Counter:
    return Counter((push.payload.get("event_id"), push.target) for push in lab.received() if push.status == 200)


def tried(lab) -> set[str]:
    return {push.payload.get("event_id") for push in lab.received()}


def killed_in_the_middle(command: str, router: Router):
    """Begins a command and kills it as soon as it is among the partitions."""
    process = subprocess.Popen(
        [built("carillon"), "cluster", command, "--config", router.configuration_file],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("partition 2 "):
            break
    process.kill()
    process.wait()
    assert process.returncode == -9, "it was done already"


def refused(router: Router) -> str:
    """Why a router does not start."""
    before = len(router.log_text)
    router.spawn()
    assert router.process.wait(timeout=60) == 1
    return router.log_text[before:]


def test_export_and_import_keep_queued_pushes(lab, relay, cluster, alone):
    alone.start()
    people = {person: device_token() for person in (Person() for _ in range(6))}
    with Socket(alone) as socket:
        for person, token in people.items():
            socket.publish(person.registration(alone, ios(token, mode="alert")))
    alone.wait_until_read()
    expected: set[tuple[str, str]] = set()
    author = Person()

    def notes(text: str) -> list[dict]:
        made = [(author.note(text, person), token) for person, token in people.items()]
        expected.update((note["id"], token) for note, token in made)
        return [note for note, _ in made]

    with Socket(alone) as socket:
        socket.publish(*notes("heard"))
        wait_until(lambda: expected <= arrived(lab).keys(), "the first pushes")
        # One fails for good, and the others wait.
        lab.misbehave("answer", status=400, reason="PayloadEmpty", times=0)
        lost = author.note("refused", next(iter(people)))
        socket.publish(lost)
        wait_until(lambda: lost["id"] in tried(lab) and alone.waiting == 0, "it is refused")
        lab.behave()
        lab.misbehave("answer", status=503, times=0)
        waiting = notes("waits") + notes("waits too")
        socket.publish(*waiting)
    wait_until(lambda: tried(lab) & {note["id"] for note in waiting}, "some are tried")
    assert alone.stop() == 12
    publish(relay, author, *notes("while nobody runs"))

    first = cluster.add(None)
    shutil.rmtree(first.folder)
    shutil.copytree(alone.folder, first.folder)
    assert "starts with an empty registry" in refused(first)
    killed_in_the_middle("adopt", first)
    assert "is being adopted" in refused(first)
    block = first.configuration.pop("cluster")
    assert "is a cluster member's" in refused(first)
    first.configuration["cluster"] = block
    done = carillon("cluster", "adopt", "--config", first.configuration_file)
    assert done.returncode == 0, done.stderr
    assert "moved: 12 waiting deliveries, 0 held groups, 1 failed deliveries, marks of 1 relays" in done.stdout
    assert first.waiting == 0
    done = carillon("cluster", "adopt", "--config", first.configuration_file)
    assert done.returncode == 1 and "a cluster member's already" in done.stderr

    first.start()
    for _ in range(2):
        cluster.add(first.folder / "carillon.key").start()
    cluster.wait_until_shared()
    lab.behave()
    wait_until(lambda: expected <= arrived(lab).keys(), "what waited and what was published meanwhile arrives")
    # Devices have the numbers that they had, at every member.
    for member in cluster.members:
        with Socket(member) as socket:
            socket.publish(*notes(f"through {member.folder.name}"))
    wait_until(lambda: expected <= arrived(lab).keys(), "the cluster works")

    lab.misbehave("answer", status=503, times=0)
    with Socket(cluster.members[1]) as socket:
        back = notes("waits in the cluster")
        socket.publish(*back)
    wait_until(lambda: tried(lab) & {note["id"] for note in back}, "some are tried")
    last = cluster.members[2]
    done = carillon("cluster", "export", "--config", last.configuration_file)
    assert done.returncode == 1 and "another router" in done.stderr, done.stderr
    last.stop()
    done = carillon("cluster", "export", "--config", last.configuration_file)
    assert done.returncode == 1 and "members live: member0, member1" in done.stderr, done.stderr
    for member in cluster.members[:2]:
        member.stop()
    publish(relay, author, *notes("while nobody runs again"))
    killed_in_the_middle("export", last)
    assert "is being exported" in refused(last)
    done = carillon("cluster", "export", "--config", last.configuration_file)
    assert done.returncode == 0 and "moved: 6 waiting deliveries" in done.stdout, done.stdout + done.stderr
    assert "was exported into one store" in refused(cluster.members[0])
    del last.configuration["cluster"]
    last.start()
    listed = carillon("queue", "list", "--failed", "--config", last.configuration_file, "--json")
    assert listed.stdout.count("payload-empty") == 1, listed.stdout + listed.stderr
    lab.behave()
    wait_until(lambda: expected <= arrived(lab).keys(), "what waited in the cluster arrives")
    with Socket(last) as socket:
        socket.publish(*notes("alone again"))
    wait_until(lambda: expected <= arrived(lab).keys(), "it works alone")
    counts = arrived(lab)
    assert counts.keys() == expected
    assert max(counts.values()) == 1, "a push came twice"


def test_an_existing_cluster_is_not_overwritten(tmp_path, lab, cluster):
    key = None
    for _ in range(2):
        member = cluster.add(key).start()
        key = member.folder / "carillon.key"
        cluster.wait_until_shared()
    other = Member(tmp_path / "other", lab, cluster.servers, cluster.partitions, None, [])
    block = other.configuration.pop("cluster")
    other.start()
    person = Person()
    with Socket(other) as socket:
        socket.publish(person.registration(other, ios(device_token())))
    other.stop()
    other.configuration["cluster"] = block
    cluster.register(1)
    done = carillon("cluster", "adopt", "--config", other.configuration_file)
    assert done.returncode == 1 and "there is a cluster under this prefix already" in done.stderr
    # Nothing has happened: it serves alone as before.
    del other.configuration["cluster"]
    other.start()
    other.stop()
