"""`POST /v1/notify` at the members of a cluster: whichever is asked, each recipient gets one push."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster import Cluster, Server
from console import Console
from nostr import Person
from programs import carillon, wait_until
from test_notify import Sender
from witness import FILTERS, Witness, is_genuine


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


def test_any_member_counts_the_devices_of_all(cluster, lab):
    people = cluster.register(12, batch={"cooldown_seconds": 3600})
    senders = [Sender(Console(member)) for member in cluster.members]
    owners = {partition["owner"] for partition in senders[0].description.ask("/v1/cluster")["partitions"]}
    assert owners == {"member0", "member1", "member2"}
    body = {"to": {"accounts": list(people)}, "title": "one"}
    sent = senders[0].send(body, key="one")
    assert (sent["devices"], sent["queued"], sent["held"], sent.get("held_until"), sent.get("partial")) == (12, 12, 0, None, None)
    lab.accepted(12)
    assert senders[2].send(body, key="one") == sent
    later = senders[1].send(body | {"title": "two"})
    assert (later["devices"], later["queued"], later["held"]) == (12, 0, 12) and later["held_until"] > later["created_at"]
    nobody = senders[1].send({"to": {"account": Person().hex}, "title": "three"})
    assert (nobody["devices"], nobody["queued"], nobody["held"]) == (0, 0, 0)


class Listener:
    """Hears what members say to each other, as anybody does who may read at a server."""

    def __init__(self, server: Server, subject: str):
        self._connection = socket.create_connection(("127.0.0.1", server.port))
        self._heard, self._lock = b"", threading.Lock()
        self._connection.sendall(f'CONNECT {{"verbose":false,"pedantic":false}}\r\nSUB {subject} 1\r\nPING\r\n'.encode())
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        wait_until(lambda: b"PONG\r\n" in self.heard, "the server has taken the subscription")

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_):
        self._connection.close()

    def _read(self):
        try:
            while data := self._connection.recv(1 << 16):
                with self._lock:
                    self._heard += data
                if b"PING\r\n" in data:
                    self._connection.sendall(b"PONG\r\n")
        except OSError:
            pass

    @property
    def heard(self) -> bytes:
        with self._lock:
            return self._heard

    @property
    def events(self) -> list[str]:
        """The events in what was heard, whatever is around them."""
        text, found, at = self.heard.decode("latin-1"), [], 0
        while (at := text.find('{"', at)) >= 0:
            try:
                value, end = json.JSONDecoder().raw_decode(text, at)
            except ValueError:
                at += 1
                continue
            if "kind" in value:
                found.append(text[at:end].encode("latin-1").decode())
            at = end
        return found


def test_members_and_their_filters_see_whole_signed_events(cluster, lab, tmp_path):
    people = cluster.register(9)
    accounts, sender = list(people), Sender(Console(cluster.members[0]))
    witnesses = []
    with Listener(cluster.servers[0], "carillon.in.*") as listener:
        # On their way to the owners they are signed even where nobody filters.
        first = sender.send({"to": {"accounts": accounts}, "title": "one ü"})["id"]
        lab.accepted(9)
        on_their_way = listener.events
        assert on_their_way and all(map(is_genuine, on_their_way))
        assert {tag[1] for text in on_their_way for tag in json.loads(text)["tags"] if tag[0] == "request"} == {first}

    lab.forget()
    for member in cluster.members:
        witnesses.append(Witness(member, tmp_path / f"witness-{member.folder.name}"))
        member.configuration["filter_plugins"] = FILTERS
        run = carillon("reload", "--config", member.configuration_file)
        assert run.returncode == 0, run.stderr
    second = sender.send({"to": {"accounts": accounts}, "title": "two"})["id"]
    lab.accepted(9)
    for stage in ["early", "late"]:
        seen = [event for witness in witnesses for event in witness.events(stage)]
        assert sorted(recipient for recipient, _ in seen) == sorted(accounts)
        for _, text in seen:
            assert is_genuine(text), text
            event = json.loads(text)
            assert event["pubkey"] == cluster.members[0].public_key
            assert ["request", second, "0"] in event["tags"]
            assert sorted(tag[1] for tag in event["tags"] if tag[0] == "p") == sorted(accounts)
    # Not only at the member that was asked.
    assert sum(bool(witness.lines) for witness in witnesses) > 1
