"""A cluster holds one connection to each relay, and whoever takes a relay over goes on where the last one was."""

import secrets

import pytest

from cluster import Cluster, Member, connection_owner
from nostr import ADVERTISEMENT, Person
from programs import wait_until
from relays import Client, CountingProxy, LocalRelay
from test_cluster_operators import holders, steps
from test_remote_signing import Session


@pytest.fixture
def proxies(tmp_path):
    relays = [LocalRelay(tmp_path / f"relay{number}").start() for number in range(2)]
    proxies = [CountingProxy(relay) for relay in relays]
    yield proxies
    for proxy, relay in zip(proxies, relays):
        proxy.stop()
        relay.kill()


@pytest.fixture
def cluster(tmp_path, lab, proxies):
    urls = [proxy.url for proxy in proxies]
    configuration = {
        # What all members advertise is the same.
        "relay": {"url": "wss://push.example.com"},
        "relays": {"publish": urls, "nip46": urls[:1]},
    }
    cluster = Cluster(tmp_path / "cluster", lab, relays=proxies, configuration=configuration)
    yield cluster
    cluster.stop()


def wait_until_held(*proxies: CountingProxy):
    wait_until(lambda: all(len(proxy.open) == 1 for proxy in proxies), "each relay has one connection")


def holder(cluster: Cluster, proxy: CountingProxy) -> Member:
    """The member whose connection a relay has."""
    return connection_owner(cluster.living, proxy)


def test_relays_are_read_by_one_member_and_move_with_their_marks(cluster, lab, proxies):
    people = cluster.register(6)
    wait_until_held(*proxies)
    for proxy in proxies:
        cluster.warm_up(proxy.relay, people)
    author = Person()
    expected: dict[tuple[str, str], str] = {}

    def publish():
        for proxy in proxies:
            with Client(proxy.relay, author) as client:
                for number, (person, token) in enumerate(people.values()):
                    text = secrets.token_hex(8)
                    # The date of a private message says nothing: only how far the relay was read tells that it is new.
                    event = author.message(text, person) if number % 2 else author.note(text, person)
                    client.publish(event)
                    expected[(event["id"], token)] = proxy.url

    def arrived() -> dict[tuple[str, str], int]:
        counts: dict[tuple[str, str], int] = {}
        for push in lab.received():
            if push.status == 200:
                pair = (push.payload["event_id"], push.target)
                counts[pair] = counts.get(pair, 0) + 1
        return counts

    publish()
    wait_until(lambda: expected.keys() <= arrived().keys(), "the pushes of the first round")
    killed = holder(cluster, proxies[0])
    killed.kill()
    wait_until(lambda: not proxies[0].open, "the killed member's connection is gone")
    # Nobody listens now.
    publish()
    wait_until_held(*proxies)
    cluster.wait_until_shared()
    wait_until(lambda: expected.keys() <= arrived().keys(), "what was published meanwhile arrives")
    leaving = holder(cluster, proxies[1])
    assert leaving is not killed
    leaving.stop()
    publish()
    cluster.wait_until_shared()
    wait_until_held(*proxies)
    wait_until(lambda: expected.keys() <= arrived().keys(), "nothing is lost by an orderly stop")
    killed.start()
    cluster.wait_until_shared()
    wait_until_held(*proxies)
    publish()
    wait_until(lambda: expected.keys() <= arrived().keys(), "what comes after a member came back")
    counts = arrived()
    assert counts.keys() == expected.keys()
    twice = [pair for pair, count in counts.items() if count > 1]
    # A kill may repeat what was on its way to a push service; nothing was here.
    assert not twice, f"{len(twice)} of {len(expected)} pushes came twice"
    assert [proxy.most_open for proxy in proxies] == [1, 1]


def test_a_deletion_at_a_relay_reaches_the_owners_of_all_partitions(cluster, lab, proxies):
    """One member hears of it, others hold what it takes back."""
    people = cluster.register(12, batch={"cooldown_seconds": 3600})
    wait_until_held(*proxies)
    cluster.warm_up(proxies[0].relay, people)
    first, author = cluster.members[0], Person()
    held = [author.note("a slip of the pen", person) for person, _ in people.values()]
    with Client(proxies[0].relay, author) as client:
        client.publish(*held)
        for event in held:
            wait_until(lambda event=event: steps(first, event) in (["held"], ["batched"]), "it is held")
        names = [[("p", account), ("e", event["id"])] for account, event in zip(people, held)]
        client.publish(author.event(5, "", [("k", "1"), *(tag for pair in names for tag in pair)]))
    for event in held:
        wait_until(lambda event=event: steps(first, event)[1:] == ["deleted"], "it is taken back")
    assert len({member for event in held for member in holders(first, event)}) > 1, "several members held something"
    assert lab.received() == []


def test_one_member_advertises_and_answers_at_each_relay(cluster, proxies):
    wait_until_held(*proxies)
    for proxy in proxies:
        wait_until(
            lambda proxy=proxy: any(event["kind"] == ADVERTISEMENT for event in proxy.published),
            "the relay has the advertisement",
        )
    client = Person()
    with Client(proxies[0].relay, client) as connection:
        session = Session(connection, cluster.members[0], client)

        def answer(method: str, *params: str) -> dict | None:
            """Relays do not keep requests: a request before the holder subscribes is lost, so this is tried again."""
            try:
                return session.request(method, *params, timeout=2)
            except TimeoutError:
                return None

        key = cluster.members[0].public_key
        assert wait_until(lambda: answer("connect", key), "the holder answers")["result"] == "ack"
        # The next one to hold the relay knows the session.
        holder(cluster, proxies[0]).kill()
        cluster.wait_until_shared()
        wait_until_held(proxies[0])
        assert wait_until(lambda: answer("ping"), "the next holder answers")["result"] == "pong"
    for proxy in proxies:
        kinds = [event["kind"] for event in proxy.published]
        # On a busy machine a holder may change more often than by the kill above; each connects anew.
        assert kinds.count(ADVERTISEMENT) <= proxy.connections, "each holder advertises once"
        ids = {event["id"] for event in proxy.published if event["kind"] == ADVERTISEMENT}
        assert len(ids) == 1, "all say the same"
    answers = [event for event in proxies[0].published if event["kind"] == 24133]
    asked = len({event["id"] for event in answers})
    assert len(answers) == asked
    assert [proxy.most_open for proxy in proxies] == [1, 1]
