"""The router's own relay socket, spoken to by the `websockets` package (NIP-01, NIP-11, NIP-42)."""

import json
import random
import socket as sockets
import urllib.request

import nostr_sdk
import pytest
from websockets.exceptions import ConnectionClosed

from nostr import ADVERTISEMENT, REGISTRATION, Socket, device_token, ios
from programs import PATIENCE


def close_code(socket: Socket) -> int | None:
    """How the relay closed, after whatever it said first; None when the connection was reset."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            socket.connection.recv(timeout=PATIENCE)
    return closed.value.rcvd.code if closed.value.rcvd else None


def assert_serves(router):
    """Somebody else is served as ever."""
    with Socket(router) as socket:
        assert [event["kind"] for event in socket.query({"kinds": [ADVERTISEMENT]})] == [ADVERTISEMENT]


def assert_answers(socket):
    """The same connection goes on."""
    assert len(socket.query({"kinds": [ADVERTISEMENT]})) == 1


def test_the_information_document_identifies_the_router(router):
    document = router.information
    assert len(bytes.fromhex(document["pubkey"])) == 32
    assert {1, 11, 42, 44} <= set(document["supported_nips"])
    limits = document["limitation"]
    assert limits["max_message_length"] >= 65_536
    assert limits["max_subscriptions"] >= 1
    assert limits["auth_required"] is False


def test_the_information_document_may_be_read_by_browsers(router):
    request = urllib.request.Request(
        f"http://127.0.0.1:{router.port}", headers={"accept": "application/nostr+json", "origin": "https://example.com"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["content-type"] == "application/nostr+json"


def test_the_key_stays_the_same_over_a_restart(router):
    before = router.public_key
    router.restart()
    assert router.public_key == before


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        "{",
        "[]",
        "{}",
        "null",
        '["EVENT"',
        '["EVENT",42]',
        '["REQ"]',
        '["REQ","sub",42]',
        ["HELLO", "there"],
        ["COUNT", "sub", {"kinds": [1]}],
        ["REQ", "", {}],
        ["REQ", "x" * 65, {}],
        "[" * 60_000,
        "\ufeff[]",
    ],
    ids=lambda message: (message if isinstance(message, str) else json.dumps(message))[:20],
)
def test_an_invalid_nip_01_message_gets_a_notice_or_a_refusal(socket, message):
    answer = socket.ask(message)
    assert answer[0] in ["NOTICE", "CLOSED"]
    assert isinstance(answer[-1], str) and answer[-1]
    assert_answers(socket)


def test_bad_json_gets_a_notice(socket):
    answer = socket.ask('["EVENT",{"id":')
    assert answer[0] == "NOTICE"
    assert_answers(socket)


def test_a_wrong_signature_is_refused(socket, alice):
    event = alice.note("hello")
    event["sig"] = alice.note("something else")["sig"]
    accepted, words = socket.offer(event)
    assert not accepted
    assert words.startswith("invalid: ")


def test_a_wrong_id_is_refused(socket, alice):
    event = alice.note("hello")
    event["content"] = "goodbye"
    accepted, words = socket.offer(event)
    assert not accepted
    assert words.startswith("invalid: ")


def test_an_event_signed_by_another_key_is_refused(socket, alice, bob):
    event = alice.note("hello")
    event["pubkey"] = bob.hex
    accepted, words = socket.offer(event)
    assert not accepted
    assert words.startswith("invalid: ")


def test_a_forged_copy_does_not_suppress_the_real_event(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    event = bob.message("hello", alice)
    forged = event | {"sig": bob.message("other", alice)["sig"]}
    assert socket.offer(forged)[0] is False
    assert socket.offer(event) == (True, "")
    lab.accepted(1)
    accepted, words = socket.offer(event)
    assert accepted
    assert words.startswith("duplicate: ")


@pytest.mark.parametrize(
    "change",
    [
        {"id": "short"},
        {"pubkey": "Z" * 64},
        {"kind": 65_536},
        {"kind": -1},
        {"kind": "1"},
        {"created_at": "now"},
        {"created_at": 1e300},
        {"tags": [["p", 1]]},
        {"tags": {}},
        {"content": None},
        {"sig": ""},
    ],
    ids=str,
)
def test_a_malformed_event_is_refused(socket, alice, change):
    event = alice.note("hello") | change
    answer = socket.ask(["EVENT", event])
    # NIP-01: OK, as long as there is an id to say it about.
    assert answer[:-1] == (["NOTICE"] if "id" in change else ["OK", event["id"], False])
    assert answer[-1].startswith("invalid: ")
    assert_answers(socket)


@pytest.mark.parametrize("filters", ["42", '{"kinds":["1"]}', '{"ids":["xyz"]}', "{},", "{"])
def test_a_malformed_request_is_closed_by_its_name(socket, filters):
    answer = socket.ask(f'["REQ","sub",{filters}]')
    assert answer[:2] == ["CLOSED", "sub"]
    assert answer[2].startswith("invalid: ")
    assert_answers(socket)


def test_a_message_that_is_too_long_closes_with_1009(router):
    limit = router.information["limitation"]["max_message_length"]
    with Socket(router) as socket:
        socket.send(json.dumps(["EVENT", "x" * (limit + 1)]))
        assert close_code(socket) == 1009
    assert_serves(router)


def test_a_message_that_is_too_long_in_fragments_closes_with_1009(router):
    limit = router.information["limitation"]["max_message_length"]
    with Socket(router) as socket:
        try:
            socket.connection.send("x" * 8_192 for _ in range(limit // 8_192 + 2))
        except ConnectionClosed:
            pass
        assert close_code(socket) == 1009
    assert_serves(router)


def test_a_message_of_the_longest_length_is_taken(router, socket, alice):
    limit = router.information["limitation"]["max_message_length"]
    room = limit - len(json.dumps(["EVENT", alice.note("")]))
    event = alice.note("x" * room)
    assert len(json.dumps(["EVENT", event])) == limit
    assert socket.offer(event)[0]


def test_a_binary_frame_closes_that_connection_alone(router):
    with Socket(router) as socket:
        socket.send(b"\x00\x01")
        assert close_code(socket) == 1003
    assert_serves(router)


def test_invalid_utf_8_is_refused(router, alice):
    with Socket(router) as socket:
        event = json.dumps(["EVENT", alice.note("caf*")]).encode().replace(b"*", b"\xe9")
        socket.connection.send(event, text=True)
        # RFC 6455 section 8.1.
        assert close_code(socket) == 1007
    assert_serves(router)


def test_our_advertisement_is_served_to_everyone(router, socket):
    [event] = socket.query({"kinds": [ADVERTISEMENT]})
    assert event["pubkey"] == router.public_key
    assert nostr_sdk.Event.from_json(json.dumps(event)).verify()
    assert ["d", "notification-relay"] in event["tags"]
    assert ["platform", "ios"] in event["tags"]
    assert ["platform", "unifiedpush"] in event["tags"]
    assert ["protocol_version", "1"] in event["tags"]
    assert len([tag for tag in event["tags"] if tag[0] == "relay"]) == 1


def test_registrations_are_served_only_to_their_authenticated_author(router, alice, bob):
    own = alice.registration(router, ios(device_token()))
    other = bob.registration(router, ios(device_token()))
    with Socket(router) as socket:
        socket.publish(own, other)
        answer = socket.ask(["REQ", "mine", {"kinds": [REGISTRATION], "authors": [alice.hex]}])
        assert answer[:2] == ["CLOSED", "mine"]
        assert answer[2].startswith("auth-required: ")
        # Asked for in another way, they are not there.
        assert socket.query({"ids": [own["id"]]}, {"authors": [alice.hex]}) == []

        assert socket.authenticate(alice, router.url) == (True, "")
        assert socket.query({"kinds": [REGISTRATION]}) == [own]
        assert socket.query({"kinds": [REGISTRATION], "authors": [bob.hex]}) == []
        assert socket.query({"ids": [other["id"], own["id"]]}) == [own]
    with Socket(router) as socket:
        assert socket.query({"ids": [own["id"]]}) == []


@pytest.mark.parametrize("mistake", ["challenge", "kind", "age", "signature", "relay"])
def test_an_invalid_proof_is_refused(stopped_router, alice, mistake):
    router = stopped_router
    router.configuration["relay"]["url"] = "wss://notify.example.com"
    router.start()
    relay = "wss://notify.example.com"
    with Socket(router) as socket:
        tags = [["relay", relay], ["challenge", socket.challenge]]
        match mistake:
            case "challenge":
                event = alice.authentication("0" * 32, relay)
            case "kind":
                event = alice.event(22243, "", tags)
            case "age":
                event = alice.event(22242, "", tags, created_at=1_700_000_000)
            case "signature":
                event = alice.authentication(socket.challenge, relay)
                event["sig"] = alice.note("")["sig"]
            case "relay":
                event = alice.authentication(socket.challenge, "wss://elsewhere.example.com")
        answer = socket.ask(["AUTH", event])
        assert answer[:3] == ["OK", event["id"], False]
        assert answer[3].startswith("invalid: ")
        assert socket.ask(["REQ", "r", {"kinds": [REGISTRATION]}])[0] == "CLOSED"
        assert socket.authenticate(alice, relay) == (True, "")


def test_other_events_are_accepted_and_never_served(router, lab, socket, alice, bob):
    socket.publish(alice.registration(router, ios(device_token())))
    note = bob.note("for alice", alice)
    socket.publish(note, bob.event(0, "{}"), bob.note("for nobody"))
    lab.accepted(1)
    assert socket.query({"authors": [bob.hex]}, {"ids": [note["id"]]}, {"#p": [alice.hex]}) == []
    assert socket.authenticate(bob, router.url)[0]
    assert socket.query({"authors": [bob.hex]}, {"ids": [note["id"]]}) == []


def test_a_filter_that_matches_no_event_ends_immediately(socket):
    for filter in [{}, {"kinds": [1]}, {"since": 2_000_000_000}, {"#e": ["0" * 64]}, {"limit": 0}]:
        assert [event["kind"] for event in socket.query(filter)] in [[], [ADVERTISEMENT]]


def test_subscriptions_are_limited_and_closing_frees_one(router, socket):
    limit = router.information["limitation"]["max_subscriptions"]
    for number in range(limit):
        assert socket.ask(["REQ", f"sub{number}", {"kinds": [1]}]) == ["EOSE", f"sub{number}"]
    answer = socket.ask(["REQ", "one too many", {"kinds": [1]}])
    assert answer[:2] == ["CLOSED", "one too many"]
    assert answer[2].startswith("rate-limited: ")
    # One that is open may be replaced.
    assert socket.ask(["REQ", "sub0", {"kinds": [2]}]) == ["EOSE", "sub0"]
    socket.send(["CLOSE", "sub1"])
    assert socket.ask(["REQ", "another", {"kinds": [1]}]) == ["EOSE", "another"]


def test_too_many_filters_are_refused(router, socket):
    limit = router.information["limitation"]["max_filters"]
    answer = socket.ask(["REQ", "wide", *[{"kinds": [number]} for number in range(limit + 1)]])
    assert answer[:2] == ["CLOSED", "wide"]
    assert answer[2].startswith("invalid: ")


def test_a_client_that_sends_too_fast_is_notified_and_others_are_served(router, socket, alice):
    event = alice.note("again and again")
    for _ in range(1_500):
        socket.send(["EVENT", event])
    answers = [socket.receive() for _ in range(1_500)]
    assert all(answer[:2] == ["OK", event["id"]] for answer in answers)
    refused = [answer for answer in answers if not answer[2]]
    assert refused and all(answer[3].startswith("rate-limited: ") for answer in refused)
    # The burst passes.
    assert len(answers) - len(refused) >= 100
    assert_serves(router)


def test_a_client_that_ignores_the_notice_is_disconnected(router, alice):
    message = ["EVENT", alice.note("again and again")]
    with Socket(router) as socket:
        try:
            for _ in range(20_000):
                socket.send(message)
        except ConnectionClosed:
            pass
        # Who goes on sending may see a reset in the place of the words: data that nobody reads makes TCP send one.
        assert close_code(socket) in [1008, None]
    assert_serves(router)


def garbage(chance: random.Random) -> str:
    """Something like a message, damaged."""
    seeds = [
        '["EVENT",{"id":"","pubkey":"","created_at":0,"kind":1,"tags":[["p","a"]],"content":"","sig":""}]',
        '["REQ","s",{"kinds":[1],"#p":["a"],"since":1,"limit":5}]',
        '["AUTH",{"kind":22242}]',
        '["CLOSE","s"]',
        '[["[["[[{{{"\\ud800',
        "\u0000\uffff\U0001f600",
    ]
    text = list(chance.choice(seeds))
    for _ in range(chance.randrange(8)):
        place = chance.randrange(len(text) + 1)
        text[place : place + chance.randrange(4)] = chance.choices('[]{}",:0123456789eE+-.\\u\u00e9\U0001f9ff', k=3)
    return "".join(text)


def test_thousands_of_garbage_messages_do_not_end_the_process(router):
    chance = random.Random(4)
    for _ in range(10):
        with Socket(router) as socket:
            for _ in range(400):
                socket.send(garbage(chance))
            # The relay answers to the end, be it that this came too fast.
            socket.send(["REQ", "the last", {"kinds": [1]}])
            while (answer := socket.receive())[1:2] != ["the last"]:
                assert answer[0] in ["NOTICE", "OK", "CLOSED", "EOSE", "EVENT"]
    assert router.is_running
    assert_serves(router)


@pytest.mark.parametrize("fields, status", [(b"", b"400"), (b"host: a\r\nhost: a\r\n", b"400"), (b"host: a\r\n", b"200")])
def test_a_request_names_one_host(router, fields, status):
    with sockets.create_connection(("127.0.0.1", router.port), timeout=PATIENCE) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\n" + fields + b"\r\n")
        assert raw.recv(65_536).split()[1] == status


def test_a_length_that_is_not_minimal_closes_with_1002(router):
    upgrade = (
        b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: " + b"x" * 22 + b"==\r\n\r\n"
    )
    with sockets.create_connection(("127.0.0.1", router.port), timeout=PATIENCE) as raw:
        # Together: what follows the request at once is looked at like the rest.
        raw.sendall(upgrade + b"\x81\xfe\x00\x02\x00\x00\x00\x00{}")
        answer = b""
        while part := raw.recv(65_536):
            answer += part
    assert answer.endswith(b"\x88\x02\x03\xea")


def test_non_websocket_bytes_do_not_end_the_process(router):
    chance = random.Random(5)
    upgrade = (
        b"GET / HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: " + b"x" * 22 + b"==\r\n\r\n"
    )
    for number in range(300):
        with sockets.create_connection(("127.0.0.1", router.port), timeout=PATIENCE) as raw:
            try:
                raw.sendall((upgrade if number % 2 else b"") + chance.randbytes(chance.randrange(1, 600)))
                raw.shutdown(sockets.SHUT_WR)
                while raw.recv(65_536):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
    assert router.is_running
    assert_serves(router)
