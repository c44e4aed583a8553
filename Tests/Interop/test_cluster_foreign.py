"""Whoever may write to a cluster's servers without the router's key: nobody stops for it, and it is told. And the way to another key."""

import shutil
import socket

import pytest

from cluster import Cluster, Server, offer
from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until

PARTITIONS = 8


@pytest.fixture
def cluster(tmp_path, lab):
    cluster = Cluster(tmp_path / "cluster", lab, partitions=PARTITIONS)
    yield cluster
    cluster.stop()


def intrude(server: Server, subjects: list[str]):
    """Publishes rubbish, as a client that knows nothing of the cluster; acknowledged by the server as read."""
    with socket.create_connection(("127.0.0.1", server.port)) as stream:
        stream.sendall(b'CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\n')
        for subject in subjects:
            stream.sendall(b"PUB %s 7\r\nrubbish\r\n" % subject.encode())
        stream.sendall(b"PING\r\n")
        said = b""
        while b"PONG" not in said:
            said += stream.recv(65536)


def places() -> list[str]:
    numbers = range(PARTITIONS)
    kept = [f"carillon.log.{number}" for number in numbers] + ["carillon.reg"]
    kept += [f"$KV.carillon_HEAD.{key}" for key in [*(f"p.{number}" for number in numbers), "registry"]]
    kept += [f"$KV.carillon_LEASE.p.{number}" for number in numbers]
    kept += [f"$KV.carillon_LEASE.{key}" for key in ["member.member0", "member.member1", "member.member2", "cluster", "transfer"]]
    said = [f"carillon.in.{number}" for number in numbers] + ["carillon.news", "carillon.found", "carillon.opened"]
    return kept + said + [f"carillon.{what}.member{number}" for what in ["ask", "live"] for number in range(3)]


def run(member, *words: str):
    return carillon(*words, "--config", member.configuration_file)


def push_everybody(cluster, lab, people) -> None:
    """A note to everybody, each through another member, comes once."""
    lab.forget()
    author = Person()
    for number, (person, _) in enumerate(people.values()):
        event = author.note(f"number {number}", person)
        assert offer(cluster.members[number % len(cluster.members)], [event]) == {event["id"]}
    assert {push.target for push in lab.accepted(len(people))} == {token for _, token in people.values()}


def test_foreign_data_everywhere_stops_no_member_and_is_reported(cluster, lab):
    people = cluster.register(12)
    push_everybody(cluster, lab, people)
    intrude(cluster.servers[0], places())
    people |= cluster.register(6)
    push_everybody(cluster, lab, people)
    for member in cluster.members:
        told = run(member, "cluster", "status")
        assert "messages were passed over that no member wrote" in told.stdout, told.stdout + told.stderr
    status = run(cluster.members[0], "status")
    assert status.returncode == 1 and "foreign-messages: " in status.stdout, status.stdout
    assert "their own account" in status.stdout
    # Those who begin find it in their way as well.
    intrude(cluster.servers[1], places())
    for member in cluster.members:
        member.restart()
        intrude(cluster.servers[2], places())
    cluster.wait_until_shared()
    people |= cluster.register(6)
    push_everybody(cluster, lab, people)


def test_the_key_changes_by_export_rotate_and_adopt(cluster, lab):
    people = cluster.register(6)
    first, *others = cluster.members
    for member in cluster.members:
        member.stop()
    refused = run(first, "keys", "rotate")
    assert refused.returncode == 1 and "carillon cluster export" in refused.stderr, refused.stderr
    before = run(first, "keys", "show").stdout
    assert run(first, "cluster", "export").returncode == 0
    rotated = run(first, "keys", "rotate")
    assert rotated.returncode == 0, rotated.stderr
    assert run(first, "keys", "show").stdout != before
    adopted = run(first, "cluster", "adopt")
    assert adopted.returncode == 0, adopted.stderr
    first.start()
    for member in others:
        for store in member.folder.glob("carillon.sqlite*"):
            shutil.rmtree(store) if store.is_dir() else store.unlink()
        shutil.copy(first.folder / "carillon.key", member.folder / "carillon.key")
        member.start()
    cluster.wait_until_shared()
    # Registered to the former key, and to the new one.
    push_everybody(cluster, lab, people)
    newcomer, token = Person(), device_token()
    with Socket(others[0]) as stream:
        stream.publish(newcomer.registration(first, ios(token, mode="alert")))
    wait_until(lambda: "no member wrote" not in run(first, "cluster", "status").stdout, "nobody's word is passed over")
    push_everybody(cluster, lab, {newcomer.hex: (newcomer, token)})
