"""`GET /v1/stream`: what happens, while it happens."""

import json
import time

import jsonschema

from console import Console
from nostr import Socket, device_token, ios
from programs import carillon, wait_until
from stream import Stream


def token(router, *scopes) -> str:
    arguments = [part for scope in scopes for part in ("--scope", scope)]
    made = carillon(
        "tokens", "create", "-".join(scopes), *arguments, "--json", "--config", router.folder / "carillon.yaml"
    )
    return json.loads(made.stdout)["token"]


def test_readers_see_events_and_outcomes_but_no_content(stopped_router, lab, alice, bob):
    console = Console(stopped_router).start()
    status, document = console.json("/v1/openapi.json", token=None)
    forms = document["paths"]["/v1/stream"]["get"]["responses"]["200"]["content"]["text/event-stream"]["x-events"]
    phone = device_token()
    message = bob.message("the text of a secret", alice)
    unwanted = bob.event(7, "+", [["e", "00" * 32], ["p", alice.hex]])
    with Stream(console.port, token=console.token) as stream, Socket(stopped_router) as socket:
        assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
        assert stream.first_line.startswith(b":")
        content = ios(phone, filters={"dm": True})
        socket.publish(alice.registration(stopped_router, content), unwanted, message)
        entries = stream.until(lambda entry: entry.data.get("outcome") == "delivered")
        for entry in entries:
            jsonschema.Draft202012Validator(forms[entry.kind]).validate(entry.data)
        words = [entry.data.get("step") or entry.data.get("outcome") for entry in entries]
        assert words[0] == "registered" and words[-2:] == ["queued", "delivered"]
        delivered = entries[-1].data
        assert delivered["event"] == message["id"] and delivered["account"] == alice.hex
        assert (delivered["platform"], delivered["app"], delivered["status"]) == ("ios", "default", 200)
        assert any(entry.data.get("event") == unwanted["id"] and "reactions off" in entry.data["words"] for entry in entries)
        assert len({entry.id for entry in entries}) == len(entries)
        for secret in [phone, "the text of a secret", console.token]:
            assert secret not in stream.text


def test_filters_omit_unrequested_events(stopped_router, lab, alice, bob):
    console = Console(stopped_router).start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
        socket.publish(bob.registration(stopped_router, ios(device_token())))
        first, second = bob.message("one", alice), alice.message("two", bob)
        queries = [
            f"?account={alice.npub}", f"?event={second['id']}", "?kind=outcome", "?platform=ios&app=default",
            "?platform=android",
        ]
        streams = [Stream(console.port, query, console.token) for query in queries]
        socket.publish(first, second)
        stopped_router.wait_for_deliveries(2)
        is_delivered = lambda entry: entry.data.get("outcome") == "delivered"
        of_alice, of_second = (stream.until(is_delivered) for stream in streams[:2])
        assert {entry.data["account"] for entry in of_alice} == {alice.hex}
        assert {entry.data["event"] for entry in of_second} == {second["id"]}
        outcomes = streams[2].until(is_delivered) + streams[2].until(is_delivered)
        assert {entry.kind for entry in outcomes} == {"outcome"}
        of_ios = streams[3].until(is_delivered)
        assert {"queued", "delivered"} <= {entry.data.get("step") or entry.data.get("outcome") for entry in of_ios}
        assert streams[4].entries.empty()
        for stream in streams:
            stream.close()
    for query in ["?kind=steps", "?event=none", "?account=nobody", "?platfrom=ios"]:
        with Stream(console.port, query, console.token) as stream:
            assert stream.status == 400, query


def test_a_reconnecting_reader_gets_missed_events(stopped_router, lab, alice, bob):
    console = Console(stopped_router).start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
        with Stream(console.port, "?kind=outcome", console.token) as stream:
            socket.publish(bob.message("one", alice))
            last = stream.until(lambda entry: True)[-1].id
        missed = bob.message("two", alice)
        socket.publish(missed)
        stopped_router.wait_for_deliveries(2)
        with Stream(console.port, "?kind=outcome", console.token, last) as stream:
            [entry] = stream.until(lambda entry: True)
            assert entry.data["event"] == missed["id"]
        with Stream(console.port, "", console.token, "00000000.1") as stream:
            [entry] = stream.until(lambda entry: True)
            assert (entry.kind, entry.data) == ("lost", {"why": "restart"})


def test_readers_need_the_scope_and_are_limited(stopped_router):
    console = Console(stopped_router, stream_readers=2).start()
    reader, sender = token(stopped_router, "read"), token(stopped_router, "send")
    for key, status in [(None, 401), ("x" * 43, 401), (sender, 403)]:
        assert Stream(console.port, token=key).status == status
    first, second = Stream(console.port, token=reader), Stream(console.port, token=reader)
    assert (first.status, second.status) == (200, 200)
    third = Stream(console.port, token=reader)
    assert third.status == 503 and third.headers["retry-after"]
    assert console.ask("/v1/status")[0] == 200
    # A place is free at once when a reader goes.
    second.close()
    second = wait_until(lambda: (again := Stream(console.port, token=reader)).status == 200 and again, "a place is free")
    # Nobody waits for readers when the router stops.
    began = time.monotonic()
    assert stopped_router.stop() == 0
    assert time.monotonic() - began < 8
    assert first.ended() == [] and second.ended() == []


def test_a_reader_with_a_revoked_token_is_disconnected(stopped_router, lab, alice, bob):
    console = Console(stopped_router).start()
    reader = token(stopped_router, "read")
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
        with Stream(console.port, token=reader) as stream:
            socket.publish(bob.message("one", alice))
            stream.until(lambda entry: entry.data.get("outcome") == "delivered")
            config = stopped_router.folder / "carillon.yaml"
            assert carillon("tokens", "revoke", "read", "--config", config).returncode == 0
            # At the latest with the next sign of life.
            assert stream.ended(40) == []


def test_a_head_request_uses_no_reader_slot(stopped_router):
    console = Console(stopped_router, stream_readers=1).start()
    for _ in range(3):
        assert console.ask("/v1/stream", "HEAD")[0] == 200
    with Stream(console.port, token=console.token) as stream:
        assert stream.status == 200
