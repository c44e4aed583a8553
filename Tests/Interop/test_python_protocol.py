"""The program that plugins in Python run in says and understands the frames of contrib/docs/plugin-protocol.md."""

import struct
import sys
from pathlib import Path

import pytest

from programs import REPOSITORY

PROGRAM = REPOSITORY / "Sources/PluginHost/PluginHost/Python/carillon-plugin-python"
sys.path.append(str(PROGRAM))

import carillon as api  # noqa: E402
from carillon_host import wire  # noqa: E402
from carillon_host.state import StateCopy  # noqa: E402
from carillon_host.timers import Timers  # noqa: E402

DOCUMENT = (REPOSITORY / "contrib/docs/plugin-protocol.md").read_text()


def vectors() -> dict[str, bytes]:
    """The frames of the document by their names."""
    frames: dict[str, bytes] = {}
    name = ""
    for line in DOCUMENT.split("```vectors\n")[1].split("```")[0].splitlines():
        if line.startswith(" "):
            frames[name] += bytes.fromhex(line)
        else:
            name = line
            frames[name] = b""
    return frames


VECTORS = vectors()


def body(name: str) -> bytes:
    """The body of a vector from the router, as the program takes it out of what it reads."""
    kind = struct.unpack_from("<H", VECTORS[name], 4)[0]
    [(_, _, body)] = wire.FrameBuffer({kind}).add(VECTORS[name])
    return body


def fields(value) -> dict:
    return {name: getattr(value, name) for name in value.__slots__}


def test_the_library_has_the_version_of_this_release():
    assert f"**Version {wire.VERSION}.**" in DOCUMENT
    header = (REPOSITORY / "include/carillon/plugin.h").read_text()
    assert f"#define CARILLON_ABI_MINOR {wire.ABI_MINOR} " in header


def test_the_library_reads_the_routers_messages():
    assert wire.read_load(body("load")) == ("/lib/a.so", ["/lib/a.so", "/lib/b.so"], 1 << 28, True, False)
    create = wire.read_create(body("create"))
    assert create == (7, 1, True, 3, "{}", "https://example.com/plugins/ios/a", [("key", b"value")])
    assert wire.read_stored(body("stored")) == (7, True, [("a", b"1"), ("b", b"")])
    instance, incoming = wire.read_receive(body("receive"))
    assert instance == 7 and fields(incoming) == {
        "method": "POST", "path": "/hook", "query": "a=1", "headers": {"x-id": "1"}, "body": b"body",
    }
    assert wire.read_instance(body("destroy")) == 7
    assert wire.read_instance(body("cancel")) == 7
    assert wire.read_check(body("check")) == (1, 2, '{"sound":1}')
    assert wire.read_command(body("command")) == (7, ["channels", "list"])
    assert body("ping") == b""
    response = wire.read_response(body("response"))
    assert (response.status, response.failure, response.headers, response.body) == (200, "tls", {"apns-id": "1"}, b"{}")


def test_it_understands_notifications_and_registrations():
    instance, registration, notification = wire.read_deliver(body("deliver"))
    assert instance == 7
    assert fields(registration) == {"token": "token", "fields": {"p256dh": "B...", "auth": ""}, "registered": 1_700_000_000.0}
    [action] = notification.actions
    assert fields(action) == {"id": "reply", "label": "Reply", "url": "app:reply", "icon": ""}
    assert {name: value for name, value in fields(notification).items() if name != "actions"} == {
        "mode": "alert", "urgency": "high", "count": 3, "id": "id", "signal": "dm", "title": "Title", "subtitle": "Subtitle", "body": "Bödy",
        "category": "category", "thread": "thread", "collapse_key": "key", "url": "https://example.com/", "data": {}, "native": {"a": 1},
        "expires": 1_800_000_000.0, "sealed": {"c": 2},
    }
    assert wire.read_validate(body("validate"))[0] == 7
    instance, call = wire.read_decide(body("decide"))
    assert instance == 8 and call.notification.title == "Title"
    assert (call.event, call.recipient, call.author, call.recipient_events) == ({"kind": 1}, "aa", "bb", [{"kind": 3}])
    assert (call.signal, call.relation, call.zap_millisats, call.now, call.distance) == (
        "mention", "reply", 21_000, 1_700_000_000.001, "second",
    )


def test_the_library_sends_the_documented_messages():
    request = api.Request(
        "POST", "https://example.com/", headers={"TTL": 60}, body=b"body", trusted=True, multiplex=True, timeout=30, max_response=1024,
        connection="word",
    )
    said = {
        "hello": (wire.HELLO, 0, wire.write_hello(1000, 1001)),
        "unloadable": (wire.UNLOADABLE, 1, struct.pack("<III", 3, 2, 1) + wire.text("text")),
        "answered": (wire.ANSWERED, 2, wire.write_answered(wire.OK, 4)),
        "decided": (wire.DECIDED, 6, wire.write_decided(wire.OK, True, [("reason", "muted")])),
        "pong": (wire.PONG, 8, wire.write_pong([(1000, wire.DELIVER, 32, 12), (1001, 0, 0, 0)])),
        "refused": (wire.REFUSED, 32, wire.write_refused(7, wire.UNSUPPORTED)),
        "completed": (wire.COMPLETED, 32, wire.write_completed(7, api.retry("too-many-requests", 1.5, "host"), 429)),
        "request": (wire.REQUEST, 34, wire.write_request(7, 32, request)),
        "log": (wire.LOG, 0, wire.write_log(7, "warning", "line")),
        "store": (wire.STORE, 4, wire.write_store(7, "key", b"value")),
        "received": (wire.RECEIVED, 41, wire.write_received(7, wire.OK, api.Answer(200, b"ok", headers={"x-id": "1"}))),
    }
    assert {name: wire.frame(*frame) for name, frame in said.items()} == {name: VECTORS[name] for name in said}
    transports, filters = [(1, "ios", "{}", 9, 50)], [(2, "mutes", [3, 10_000], 128)]
    written = wire.frame(wire.LOADED, 1, wire.write_loaded("org.example.a", "1.0", transports, filters, 3))
    # All but the abi_minor, and the modules, of which Python has none.
    expected = VECTORS["loaded"]
    assert written[16:40] == expected[16:40] and written[44:-4] == expected[44 : len(written) - 4]


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("<IIQ", 0, 999, 0),
        struct.pack("<IIQ", 17, wire.CANCEL, 0),
        struct.pack("<IIQ", 1 << 31, wire.DELIVER, 0),
        struct.pack("<IIQ", 0, wire.CANCEL | 1 << 16, 0),
    ],
)
def test_an_invalid_frame_is_refused(frame):
    with pytest.raises(wire.ProtocolError):
        list(wire.FrameBuffer({wire.DELIVER, wire.CANCEL}).add(frame))


def test_frames_may_come_in_pieces():
    buffer = wire.FrameBuffer({wire.DELIVER, wire.CANCEL})
    data = VECTORS["deliver"] + VECTORS["cancel"]
    frames = [frame for at in range(len(data)) for frame in buffer.add(data[at : at + 1])]
    assert [(kind, id) for kind, id, _ in frames] == [(wire.DELIVER, 32), (wire.CANCEL, 33)]


@pytest.mark.parametrize(
    "name, read",
    [
        ("load", wire.read_load), ("create", wire.read_create), ("destroy", wire.read_instance), ("validate", wire.read_validate),
        ("check", wire.read_check), ("decide", wire.read_decide), ("command", wire.read_command), ("deliver", wire.read_deliver),
        ("response", wire.read_response), ("stored", wire.read_stored), ("receive", wire.read_receive),
    ],
)
def test_bodies_that_are_cut_short_or_go_on_are_refused(name, read):
    whole = body(name)
    for cut in range(len(whole)):
        with pytest.raises((wire.ProtocolError, ValueError)):
            read(whole[:cut])
    with pytest.raises(wire.ProtocolError):
        read(whole + b"\0")


# ---- What plugins are written with -----------------------------------------------------


@pytest.mark.parametrize(
    "response, outcome",
    [
        (api.Response(204), api.delivered()),
        (api.Response(410), api.gone()),
        (api.Response(401), api.misconfigured("unauthorized")),
        (api.Response(413), api.rejected("payload-too-large")),
        (api.Response(400), api.rejected()),
        (api.Response(429, headers={"retry-after": "7"}), api.retry("too-many-requests", 7)),
        (api.Response(503), api.retry("server-error")),
        (api.Response(failure="tls"), api.retry("tls")),
    ],
)
def test_responses_have_their_default_outcome(response, outcome):
    assert api.Outcome.of(response) == outcome


@pytest.mark.parametrize(
    "arguments, more",
    [
        (("POST", "ftp://example.com/"), {}),
        (("POST", "https://"), {}),
        (("POST", "https://example.com/ä"), {}),
        (("POST", "https://example.com/\r\nx: y"), {}),
        (("PO ST", "https://example.com/"), {}),
        (("POST", "https://example.com/"), {"headers": {"x": "a\r\nb: c"}}),
        (("POST", "https://example.com/"), {"headers": {"Host": "a"}}),
        (("POST", "https://example.com/"), {"body": b"." * ((1 << 20) + 1)}),
        (("POST", "https://example.com/"), {"timeout": 61}),
    ],
)
def test_a_request_the_router_would_refuse_is_invalid(arguments, more):
    with pytest.raises(api.Invalid) as flaw:
        api.Request(*arguments, **more)
    assert "example" not in str(flaw.value)


def test_retry_after_may_be_a_date():
    assert api.Response(503, headers={"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"}).retry_after > 1e9
    assert api.Response(503, headers={"retry-after": "Fri, 01 Jan 2000 00:00:00 GMT"}).retry_after == 0
    assert api.Response(503, headers={"retry-after": "soon"}).retry_after is None


# ---- Timers and what is kept -----------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def fire(timers: Timers, clock: Clock, until: float) -> list[tuple[float, str]]:
    """When which timers fire."""
    fired = []
    while clock.now < until:
        clock.now = round(clock.now + 0.5, 3)
        while timer := timers.take_due(clock.now):
            fired.append((clock.now, timer.function))
            timers.again(timer)
    return fired


def test_timers_fire_in_their_order_and_end():
    clock = Clock()
    timers = Timers(clock)
    timers.start("one", 2, None, "late", ())
    timers.start("one", 1, 2, "often", ())
    cancelled = timers.start("one", 1, None, "never", ())
    timers.start("other", 1, None, "of another", ())
    timers.cancel(cancelled)
    timers.remove_all("other")
    assert fire(timers, clock, 104) == [(101, "often"), (102, "late"), (103, "often")]
    clock.now = 110
    assert fire(timers, clock, 112) == [(110.5, "often"), (111, "often")]
    timers.remove_all("one")
    assert fire(timers, clock, 120) == []


def test_timers_have_limits():
    timers = Timers(Clock())
    for after, every in [(-1, None), (367 * 86_400, None), (0, 0.001), (float("nan"), None)]:
        with pytest.raises(ValueError):
            timers.start("one", after, every, "f", ())
    started = [timers.start("one", 1, None, "f", ()) for _ in range(1024)]
    with pytest.raises(ValueError):
        timers.start("one", 1, None, "f", ())
    timers.start("other", 1, None, "f", ())
    timers.cancel(started[0])
    timers.start("one", 1, None, "f", ())


def test_the_state_copy_agrees_with_the_router():
    told = []
    copy = StateCopy([("a", b"1"), ("b", b"2")], lambda *change: told.append(change))
    copy.set("a", b"3")
    copy.set("b", b"")
    assert told == [(1, "a", b"3"), (2, "b", b"")] and copy.keys() == ["a"]
    # Another instance set both, and the router has come to the first of our changes only.
    copy.receive([("a", b"4"), ("b", b"4"), ("c", b"4")], 1, False)
    assert [copy.get(key) for key in "abc"] == [b"4", None, b"4"]
    copy.receive([("b", b"5")], 2, True)
    assert copy.keys() == ["b"]


def test_the_state_has_limits():
    copy = StateCopy([], lambda *_: None)
    for key, value in [("", b"1"), ("k" * 65, b"1"), ("\n", b"1"), ("ä", b"1"), ("k", b"." * 16_385)]:
        with pytest.raises(ValueError):
            copy.set(key, value)
    for number in range(16):
        copy.set(str(number), b"." * 16_384)
    with pytest.raises(ValueError):
        copy.set("more", b".")
    copy.set("0", b".")
    for number in range(16, 256):
        copy.set(str(number), b".")
    with pytest.raises(ValueError):
        copy.set("more", b".")


def test_state_is_a_dict_without_a_router():
    api.state["cursor"] = {"at": 7}
    assert api.state.get("cursor") == {"at": 7} and "cursor" in api.state and api.state.keys() == ["cursor"]
    del api.state["cursor"]
    assert api.state.get("cursor", 3) == 3
    with pytest.raises(KeyError):
        api.state["cursor"]
    calls = []
    timer = api.every(60, calls.append, 1)
    timer.fire()
    timer.cancel()
    timer.fire()
    assert calls == [1] and api.inbound_url() is None


@pytest.mark.parametrize(
    "arguments, more", [((199,), {}), ((200, b"." * 262_145), {}), ((200,), {"headers": {"a b": "1"}}), ((200,), {"headers": {"a": "\n"}})]
)
def test_a_response_that_cannot_be_passed_on_is_invalid(arguments, more):
    with pytest.raises(ValueError):
        api.Answer(*arguments, **more)
