"""`POST /v1/notify` at the members of a cluster: whichever is asked, each recipient gets one push."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster import Cluster
from console import Console
from programs import wait_until
from test_notify import Sender


@pytest.fixture
def cluster(tmp_path, lab):
    cluster = Cluster(
        tmp_path / "cluster", lab, configuration={"api": {"listen": "127.0.0.1:0", "token_file": "api.token"}}
    )
    yield cluster
    cluster.stop()


def sent_at_last(sender: Sender, body: dict, key: str) -> str:
    """The id under which it went out; whoever is told to come again does."""
    headers = {"idempotency-key": key}

    def sent():
        status, text = sender.console.ask("/v1/notify", "POST", sender.token, body, headers)
        assert status in (202, 409, 503), text
        return json.loads(text)["id"] if status == 202 else None

    return wait_until(sent, "it is taken")


def test_a_notification_goes_out_once_whichever_members_are_asked(cluster, lab):
    people = cluster.register(9)
    accounts = list(people)
    tokens = {account: token for account, (_, token) in people.items()}
    senders = [Sender(Console(member)) for member in cluster.members]
    body = {"to": {"account": accounts[0]}, "title": "one"}
    first = senders[0].send(body, key="order 17")
    # Another member answers as the first one did.
    assert senders[1].send(body, key="order 17") == first
    senders[2].send(body | {"title": "two"}, status=422, key="order 17")
    [push] = lab.accepted(1)
    assert push.target == tokens[accounts[0]] and push.payload["aps"]["alert"]["title"] == "one"
    assert senders[2].wait_for(first["id"], "delivered")["is_complete"]
    senders[1].show("0" * 32, status=404)

    # What the API says of all members is as it is described.
    asked, described = Console(cluster.members[1]), senders[1].description
    for path in ["/v1/status", "/v1/queue", "/v1/devices", "/v1/relays"]:
        assert described.ask(path)["members"]["answered"] == ["member0", "member1", "member2"]
    status = described.ask("/v1/cluster")
    assert all(partition["waiting"] == 0 for partition in status["partitions"]) and status["asked"]["silent"] == []
    metrics = asked.ask("/metrics")[1].splitlines()
    assert 'carillon_cluster_members{member="member1"} 3' in metrics
    assert all('member="member1"' in line for line in metrics if not line.startswith("#"))

    # All at once, to people in all partitions.
    lab.forget()
    body = {"to": {"accounts": accounts}, "title": "three", "data": {"order": "18"}}
    with ThreadPoolExecutor(6) as pool:
        ids = set(pool.map(lambda sender: sent_at_last(sender, body, "order 18"), senders * 2))
    assert len(ids) == 1
    assert sorted(push.target for push in lab.accepted(9)) == sorted(tokens.values())

    # The owner of some of them dies; it is asked for again elsewhere, under its key.
    lab.forget()
    body = {"to": {"accounts": accounts}, "title": "four"}
    cluster.members[2].kill()
    id = sent_at_last(senders[0], body, "order 19")
    assert sent_at_last(senders[1], body, "order 19") == id

    def pushes(title: str) -> list:
        return [push for push in lab.received() if push.payload["aps"]["alert"]["title"] == title]

    wait_until(lambda: {push.target for push in pushes("four")} == set(tokens.values()), "everybody has it")
    time.sleep(1)
    # A push whose end the killed member had not written down may come again, as the same push.
    assert len({(push.target, push.apns_id) for push in pushes("four")}) == 9

    # Without a key each request is one of its own.
    for sender in senders[:2]:
        sender.send({"to": {"account": accounts[1]}, "title": "five"})
    wait_until(lambda: len({push.apns_id for push in pushes("five")}) == 2, "both arrive")
