"""Kind 10067: clients find the router on the relays that they know."""

import json
import urllib.request

import nostr_sdk
import pytest

from nostr import ADVERTISEMENT, Socket
from programs import wait_until
from relays import GuardedLocalRelay, LocalRelay, NostrRelay, stored


@pytest.fixture(params=[LocalRelay, GuardedLocalRelay, NostrRelay], ids=["nostr-sdk", "nostr-sdk, NIP-42", "nostr-relay"])
def relay(request, tmp_path):
    relay = request.param(tmp_path / "relay").start()
    yield relay
    relay.kill()


@pytest.fixture
def local_relay(tmp_path):
    relay = LocalRelay(tmp_path / "local relay").start()
    yield relay
    relay.kill()


def advertised(relay, router) -> dict:
    """What `relay` has of the router, once it has something."""
    filter = {"kinds": [ADVERTISEMENT], "authors": [router.public_key]}
    [event] = wait_until(lambda: stored(relay, filter), "the advertisement is at the relay", router.process)
    assert nostr_sdk.Event.from_json(json.dumps(event)).verify()
    return event


def served(router) -> dict:
    with Socket(router) as socket:
        [event] = socket.query({"kinds": [ADVERTISEMENT]})
    return event


def values(event, name) -> list[str]:
    return [tag[1] for tag in event["tags"] if tag[0] == name]


def test_it_is_published_to_the_operators_relays_with_the_real_port(stopped_router, relay):
    router = stopped_router
    router.watch([relay])
    router.start()
    event = advertised(relay, router)
    assert event == served(router)
    assert values(event, "relay") == [router.url]
    assert values(event, "nip46_relay") == [router.url, relay.url]
    assert values(event, "platform") == ["android", "gotify", "ios", "ntfy", "unifiedpush", "web"]


def test_the_advertisement_changes_only_with_its_content(stopped_router, local_relay):
    router = stopped_router
    router.configuration["relay"]["url"] = "wss://notify.example.com"
    router.configuration["relays"] = {"publish": [local_relay.url]}
    router.start()
    first = advertised(local_relay, router)
    assert values(first, "relay") == values(first, "nip46_relay") == ["wss://notify.example.com"]

    # A relay that forgot everything gets it again at the next start, and it is the same.
    router.stop()
    local_relay.kill()
    local_relay.start()
    router.start()
    assert advertised(local_relay, router) == first == served(router)

    router.stop()
    router.configuration["apps"]["default"] = {"ios": router.configuration["apps"]["default"]["ios"]}
    router.start()
    wait_until(
        lambda: values(advertised(local_relay, router), "platform") == ["ios"], "the new one replaces it", router.process
    )
    assert served(router)["created_at"] > first["created_at"]


def test_the_advertisement_describes_the_router_for_apps(stopped_router, lab):
    """The same in the event, in the NIP-11 document, and over HTTP for a browser, which needs the key to subscribe."""
    router = stopped_router
    router.configuration["relay"] |= {
        "name": "Bells", "contact": "mailto:ops@example.com", "terms_of_service": "https://example.com/terms"
    }
    router.configuration["apps"]["other"] = {"web": lab.web, "unifiedpush": {}}
    router.start()
    content = json.loads(served(router)["content"])
    assert {name: content[name] for name in ["name", "contact", "terms_of_service"]} == {
        "name": "Bells", "contact": "mailto:ops@example.com", "terms_of_service": "https://example.com/terms"
    }
    assert content["limits"]["devices_per_account"] == 32
    # What the lab's browsers subscribe with.
    keys = {"web": {"vapid_public_keys": [lab.addresses["webpush"]["application_server_key"]]}}
    assert content["apps"] == {"default": keys, "other": keys}

    information = router.information
    assert information["push"]["apps"] == content["apps"] and information["push"]["limits"] == content["limits"]
    assert information["terms_of_service"] == "https://example.com/terms"
    with urllib.request.urlopen(f"http://127.0.0.1:{router.port}/notification-relay.json", timeout=10) as answer:
        assert answer.headers["access-control-allow-origin"] == "*"
        document = json.load(answer)
    assert document.items() >= content.items()
    assert (document["pubkey"], document["relay"]) == (router.public_key, router.url)


def test_a_disabled_advertisement_is_not_published(stopped_router, local_relay):
    router = stopped_router
    router.watch([local_relay], publish=[])
    router.start()
    router.wait_for_log("Connected to a relay")
    assert values(served(router), "relay") == [router.url]
    router.stop()
    assert stored(local_relay, {"kinds": [ADVERTISEMENT]}) == []
