"""What is left when NATS servers lose their disks, and what a backup of these brings back."""

import shutil

import pytest

from cluster import Cluster
from nostr import Person, Socket, ios
from programs import carillon, wait_until


@pytest.fixture
def cluster(tmp_path, lab):
    cluster = Cluster(tmp_path / "cluster", lab)
    yield cluster
    cluster.stop()


def reach(member, people, lab):
    author = Person()
    notes = [(author.note("hello", person), token) for person, token in people.values()]
    with Socket(member) as socket:
        socket.publish(*(note for note, _ in notes))
    wait_until(
        lambda: {(note["id"], token) for note, token in notes}
        <= {(push.payload["event_id"], push.target) for push in lab.received() if push.status == 200},
        "everybody is reached",
    )


def begin_anew(member):
    for file in member.folder.glob("carillon.sqlite*"):
        file.unlink()


def stop_everything(cluster: Cluster):
    for member in cluster.living:
        member.stop()
    for server in cluster.servers:
        server.stop()


def start_everything(cluster: Cluster):
    for server in cluster.servers:
        server.start()
    for member in cluster.members:
        member.spawn()
    for member in cluster.members:
        member.wait_for_port()
    cluster.wait_until_shared()


def why_not(member) -> str:
    before = len(member.log_text)
    member.spawn()
    assert member.process.wait(timeout=60) == 1
    return member.log_text[before:]


def test_a_server_that_lost_its_disk_catches_up(cluster, lab):
    people = cluster.register(6)
    lost, *others = cluster.servers
    lost.kill()
    shutil.rmtree(lost.folder / "store")
    lost.start()
    wait_until(lambda: lost.has_all, "the server that lost its disk has everything")
    # Now another one may go.
    others[0].kill()
    cluster.wait_until_shared()
    wait_until(lambda: cluster.stream("carillon_LOG"), "the rest has a leader")
    reach(cluster.members[0], people, lab)


def test_a_backup_of_all_servers_brings_the_cluster_back(cluster, lab):
    people = cluster.register(6)
    lab.misbehave("answer", status=503, times=0)
    author = Person()
    notes = [(author.note("waits", person), token) for person, token in people.values()]
    with Socket(cluster.members[1]) as socket:
        socket.publish(*(note for note, _ in notes))
    stop_everything(cluster)
    for server in cluster.servers:
        shutil.copytree(server.folder / "store", server.folder / "backup")
    start_everything(cluster)
    late = cluster.register(3)
    stop_everything(cluster)
    for server in cluster.servers:
        shutil.rmtree(server.folder / "store")
        (server.folder / "backup").rename(server.folder / "store")
        server.start()
    # Their stores have what the backup does not have.
    assert "have lost changes of the registry" in why_not(cluster.members[0])
    for member in cluster.members:
        begin_anew(member)
        member.spawn()
    for member in cluster.members:
        member.wait_for_port()
    cluster.wait_until_shared()
    lab.behave()
    wait_until(
        lambda: {(note["id"], token) for note, token in notes}
        <= {(push.payload["event_id"], push.target) for push in lab.received() if push.status == 200},
        "what waited when the backup was made arrives",
    )
    reach(cluster.members[2], people, lab)
    # What came after the backup registers again.
    for person, token in late.values():
        with Socket(cluster.members[0]) as socket:
            socket.publish(person.registration(cluster.members[0], ios(token, mode="alert")))
    wait_until(lambda: listed(cluster.members[2]) == 9, "others hear of them")
    reach(cluster.members[2], late, lab)


def listed(member) -> int:
    done = carillon("devices", "list", "--config", member.configuration_file)
    return done.stdout.count("ios") if done.returncode == 0 else 0


def test_registrations_outlive_the_servers(cluster, lab):
    people = cluster.register(6)
    first, *others = cluster.members
    # While the cluster is there, nothing is rescued.
    for member in cluster.members:
        member.stop()
    done = carillon("cluster", "export", "--without-servers", "--config", first.configuration_file)
    assert done.returncode == 1 and "the servers have the cluster" in done.stderr, done.stdout + done.stderr
    for server in cluster.servers:
        server.stop()
        shutil.rmtree(server.folder / "store")
        server.start()
    assert "have lost changes of the registry" in why_not(first)
    done = carillon("cluster", "export", "--without-servers", "--config", first.configuration_file)
    assert done.returncode == 0, done.stdout + done.stderr
    done = carillon("cluster", "adopt", "--config", first.configuration_file)
    assert done.returncode == 0, done.stdout + done.stderr
    first.start()
    for member in others:
        begin_anew(member)
        member.start()
    cluster.wait_until_shared()
    wait_until(lambda: all(listed(member) == 6 for member in cluster.members), "all have all registrations")
    for member in cluster.members:
        reach(member, people, lab)
