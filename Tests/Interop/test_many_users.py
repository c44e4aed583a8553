"""Ten thousand people on the same five relays."""

import json
import random
import sqlite3
import time
from contextlib import closing

import nostr_sdk as sdk
import pytest

from nostr import REGISTRATION
from programs import wait_until
from relays import CountingProxy, LocalRelay, publish

PEOPLE = 10_000


def signed(keys: sdk.Keys, kind: int, content: str, tags: list[list[str]]) -> str:
    return (
        sdk.EventBuilder(sdk.Kind(kind), content).tags([sdk.Tag.parse(tag) for tag in tags]).finalize(keys).as_json()
    )


def established(router) -> int:
    """Pairs of a person and a relay for which all was read that the relay had stored."""
    time.sleep(0.1)
    with closing(sqlite3.connect(f"file:{router.folder}/carillon.sqlite?mode=ro", uri=True)) as store:
        return store.execute("SELECT count(*) FROM watch WHERE established").fetchone()[0]


@pytest.fixture
def proxies(tmp_path):
    relays = [LocalRelay(tmp_path / f"relay-{number}").start() for number in range(5)]
    proxies = [CountingProxy(relay) for relay in relays]
    yield proxies
    for proxy in proxies:
        proxy.stop()
        proxy.relay.kill()


def test_ten_thousand_users_on_five_relays_are_five_connections(stopped_router, lab, proxies, bob, capsys):
    router = stopped_router.start()
    us = sdk.PublicKey.parse(router.public_key)
    router.stop()
    lists = [["r", proxy.url, "read"] for proxy in proxies]
    everybody = [sdk.Keys.generate() for _ in range(PEOPLE)]
    feed = router.folder / "feed.jsonl"
    with feed.open("w") as file:
        for number, keys in enumerate(everybody):
            content = {"platform": "unifiedpush", "push_endpoint": lab.endpoint(f"up{number}")}
            text = keys.nip44_encrypt(us, json.dumps(content))
            file.write(signed(keys, REGISTRATION, text, [["d", us.to_hex()]]) + "\n")
        for keys in everybody:
            file.write(signed(keys, 10002, "", lists) + "\n")

    began = time.monotonic()
    router.start(feed=feed)
    wait_until(lambda: all(proxy.connections for proxy in proxies), "every relay has a connection", router.process)
    router.wait_for_log("The feed has ended")
    read_in = time.monotonic() - began

    # Some of the ten thousand, at whichever relay.
    friends = random.sample(range(PEOPLE), 20)
    for proxy in proxies:
        names = [["p", everybody[number].public_key().to_hex()] for number in friends]
        publish(proxy.relay, bob, *(bob.event(1, f"hello {name[1]}", [name]) for name in names[:4]))
        friends = friends[4:]
    lab.accepted(20)
    wait_until(lambda: established(router) == PEOPLE * len(proxies), "all was read for everybody", router.process)
    read_for = time.monotonic() - began
    assert router.stop() == 0

    requests = [proxy.requests for proxy in proxies]
    megabytes = [round(proxy.bytes / 1_000_000, 1) for proxy in proxies]
    with capsys.disabled():
        print(
            f"\n{PEOPLE} users, 5 relays: {read_in:.0f} s to read them in, {read_for:.0f} s until all was read for them; "
            f"a relay got REQs: {requests}, MB of them: {megabytes}"
        )
    assert [proxy.connections for proxy in proxies] == [1] * 5
    assert [proxy.refused for proxy in proxies] == [0] * 5
    assert max(requests) <= 150
    assert max(megabytes) <= 6
