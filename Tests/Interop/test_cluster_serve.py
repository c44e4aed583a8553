"""Three routers over three NATS servers share the work, and a kill -9 of one loses no push."""

import threading
import time

import pytest

from cluster import Cluster, offer, pushes
from nostr import Person, Socket, device_token, ios
from programs import wait_until


@pytest.fixture
def cluster(tmp_path, lab):
    cluster = Cluster(tmp_path / "cluster", lab)
    yield cluster
    cluster.stop()


def register(cluster, count: int) -> dict[str, tuple[Person, str]]:
    """People with a device each, each registered with another member; by their keys."""
    people = [Person() for _ in range(count)]
    tokens = {person.hex: (person, device_token()) for person in people}
    for number, person in enumerate(people):
        member = cluster.members[number % len(cluster.members)]
        with Socket(member) as socket:
            socket.publish(person.registration(member, ios(tokens[person.hex][1], mode="alert")))
    # What one has accepted reaches the others within a moment.
    time.sleep(1.5)
    return tokens


class Load:
    """Notes to everybody by turns, through all members, until it is told to end. What is not answered with OK is offered to another."""

    def __init__(self, cluster, people: dict[str, tuple[Person, str]]):
        self.cluster, self.people = cluster, people
        self.author = Person()
        self.accepted: dict[str, str] = {}
        """The device that each accepted event is for."""
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=[number]) for number in range(3)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int):
        author, keys, turn = Person(), list(self.people), number
        while not self._ends.is_set():
            devices = {}
            for _ in range(4):
                key = keys[turn % len(keys)]
                turn += 1
                person, token = self.people[key]
                event = author.note(f"{number} {turn}", person)
                devices[event["id"]] = (event, token)
            while devices:
                member = self.cluster.members[turn % len(self.cluster.members)]
                turn += 1
                for id in offer(member, [event for event, _ in devices.values()]):
                    if id in devices:
                        self.accepted[id] = devices.pop(id)[1]
                if devices:
                    time.sleep(0.05)


def expect_everything(load: Load, lab):
    """Each accepted event arrived at its device, and repeats carry the same name."""

    def missing():
        found = pushes(lab)
        return [pair for pair in load.accepted.items() if pair not in found]

    try:
        wait_until(lambda: not missing(), "all pushes arrive", timeout=30)
    except AssertionError:
        assert not (lost := missing()), f"{len(lost)} of {len(load.accepted)} pushes are lost"
    found = pushes(lab)
    assert set(found) == set(load.accepted.items()), "a push that nobody accepted"
    for copies in found.values():
        assert len({push.apns_id for push in copies}) == 1, "a repeat under another apns-id"
    return sum(len(copies) - 1 for copies in found.values())


def test_members_share_the_work_and_a_kill_loses_no_push(cluster, lab):
    people = register(cluster, 12)
    with Load(cluster, people) as load:
        wait_until(lambda: len(load.accepted) >= 60, "the cluster takes events")
        killed = cluster.members[1]
        owned = killed.owned
        killed.kill()
        began = time.monotonic()
        cluster.wait_until_shared()
        took = time.monotonic() - began
        count = len(load.accepted)
        wait_until(lambda: len(load.accepted) >= count + 40, "the others go on")
        # It comes back with what it missed, and gets its share again.
        killed.start()
        cluster.wait_until_shared()
    repeats = expect_everything(load, lab)
    print(f"{owned} partitions taken over in {took:.1f} s, {len(load.accepted)} pushes, {repeats} repeats")
    assert all(member.owned for member in cluster.members)


def test_an_orderly_stop_hands_over_without_a_pause(cluster, lab):
    people = register(cluster, 12)
    with Load(cluster, people) as load:
        wait_until(lambda: len(load.accepted) >= 30, "the cluster takes events")
        leaving = cluster.members[2]
        assert leaving.stop() == 0
        began = time.monotonic()
        cluster.wait_until_shared()
        took = time.monotonic() - began
        count = len(load.accepted)
        wait_until(lambda: len(load.accepted) >= count + 30, "the others go on")
    repeats = expect_everything(load, lab)
    print(f"taken over {took:.1f} s after the end, {len(load.accepted)} pushes, {repeats} repeats")
    assert repeats == 0
