"""What accounts ask about themselves, with requests that nostr-sdk signs (NIP-98)."""

import asyncio
import base64
import hashlib
import json
import time
import urllib.error
import urllib.request
from datetime import timedelta

import nostr_sdk as sdk
import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until
from test_api_v1 import Description
from test_remote_signing import Session


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router)


def signed(
    person: Person, url: str, method: str = "GET", body: bytes = b"", at: int | None = None, kind: int = 27235
) -> dict:
    tags = [["u", url], ["method", method]]
    if body:
        tags.append(["payload", hashlib.sha256(body).hexdigest()])
    return person.event(kind, "", tags, at if at is not None else fresh(person))


def proof(
    person: Person, url: str, method: str = "GET", body: bytes = b"", at: int | None = None, kind: int = 27235
) -> str:
    event = signed(person, url, method, body, at, kind)
    return "Nostr " + base64.b64encode(json.dumps(event).encode()).decode()


def fresh(person: Person) -> int:
    """Of this second, or of a later one where this person signed in this one already: each proof counts once."""
    person.signed_at = max(int(time.time()), getattr(person, "signed_at", 0) + 1)
    return person.signed_at


def send(console: Console, path: str, method: str, body: bytes, headers: dict) -> tuple[int, dict, dict]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{console.port}{path}", method=method, data=body or None, headers=headers
    )
    if body:
        request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer), dict(answer.headers)
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer), dict(answer.headers)


class Me:
    """A person who asks, and whose answers are compared with the description."""

    def __init__(self, console: Console, person: Person):
        self.console, self.person = console, person
        self.description = Description(console)

    def ask(self, path: str = "/v1/me", method: str = "GET", body: dict | None = None, status: int = 200) -> dict:
        data = b"" if body is None else json.dumps(body).encode()
        header = proof(self.person, f"http://127.0.0.1:{self.console.port}{path}", method, data)
        got, answer, _ = send(self.console, path, method, data, {"authorization": header})
        assert got == status, answer
        self.description.judge(path, method, got, answer)
        return answer


def test_a_user_sees_the_results_of_their_events(console, stopped_router, lab, alice, bob):
    console.start()
    token = device_token()
    alice_asks = Me(console, alice)
    before = alice_asks.ask()
    assert before["account"] == alice.hex and before["devices"] == [] and before["events"] == []
    content = ios(token, mode="nudge", filters={"dm": True, "mention": True}, quiet={
        "start": "00:00", "end": "00:01", "tz": "UTC+3",
    })
    message = bob.message("the text of a secret", alice)
    unwanted = bob.event(7, "+", [["e", "00" * 32], ["p", alice.hex]])
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, content, device="phone"), message, unwanted)
        stopped_router.wait_for_deliveries(1)

    def told() -> dict | None:
        answer = alice_asks.ask()
        ends = [device["outcome"] for event in answer["events"] for device in event["devices"]]
        return answer if any(end.startswith("delivered") for end in ends) else None

    me = wait_until(told, "the trace tells that it was delivered")
    [device] = me["devices"]
    assert device["name"] == "phone" and device["platform"] == "ios" and device["mode"] == "nudge"
    assert sorted(device["signals"]) == ["dm", "mention"] and device["last_success"]["outcome"] == "delivered"
    assert device["preferences"]["quiet"]["tz"] == "UTC+3" and device["held"] == []
    assert len(device["id"]) == 16 and "reason" not in device and "paused_until" not in device
    events = {event["event"]: event for event in me["events"]}
    assert events[message["id"]]["devices"][0]["id"] == device["id"]
    [verdict] = events[unwanted["id"]]["devices"]
    assert verdict["id"] == device["id"] and verdict["outcome"].endswith("switch reactions off")
    assert alice_asks.ask(f"/v1/me/events/{message['id']}") == events[message["id"]]
    assert Me(console, bob).ask(f"/v1/me/events/{message['id']}", status=404)
    assert Me(console, bob).ask("/v1/me/events/" + "0" * 64, status=404)
    alice_asks.ask("/v1/me/events/none", status=400)
    assert me["limits"]["devices"] > 0
    text = json.dumps(me)
    for secret in [token, "the text of a secret", bob.hex]:
        assert secret not in text


def test_a_user_changes_tests_and_removes_a_device(console, stopped_router, lab, alice, bob):
    console.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
        me = Me(console, alice)
        [device] = me.ask()["devices"]
        path = f"/v1/me/devices/{device['id']}"
        tested = me.ask(f"{path}/test?mode=alert", "POST")
        assert tested["outcome"] == "delivered" and tested["status"] == 200
        lab.accepted(1)
        changed = me.ask(
            path,
            "PATCH",
            {"mode": "alert", "filters": {"dm": False, "zap": True}, "batch": {"cooldown_seconds": 7}, "locale": "de"},
        )["device"]
        assert changed["mode"] == "alert" and "zap" in changed["signals"] and "dm" not in changed["signals"]
        assert changed["preferences"]["cooldown_seconds"] == {"requested": 7, "in_force": 7}
        assert changed["preferences"]["locale"] == "de"
        # It counts for the very next event.
        socket.publish(bob.message("nobody is told of this", alice))
        refused = me.ask(path, "PATCH", {"token": "x"}, status=400)
        assert "token" in refused["detail"]
        me.ask(path, "PATCH", {"mode": "loud"}, status=400)
        wait_until(lambda: me.ask()["events"], "the event is in the trace")
        me.ask(path, "DELETE")
        assert me.ask()["devices"] == []
        me.ask(path, "DELETE", status=404)
    assert stopped_router.stop() == 0
    assert len(lab.received()) == 1


def test_held_pushes_are_shown_with_their_time(console, stopped_router, lab, alice, bob):
    stopped_router.configuration["defaults"]["cooldown_seconds"] = 3_000
    console.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("one", alice))
        stopped_router.wait_for_deliveries(1)
        socket.publish(bob.message("two", alice), bob.message("three", alice))
        me = Me(console, alice)
        held = wait_until(lambda: me.ask()["devices"][0]["held"], "something waits")
    assert sum(group["count"] for group in held) == 2 and held[0]["until"].endswith("Z") and held[0]["words"]


def test_a_user_cannot_see_other_users_data(console, stopped_router, alice, bob):
    console.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("hello", alice))
    [device] = Me(console, alice).ask()["devices"]
    eve = Me(console, Person())
    nothing = eve.ask()
    assert nothing["devices"] == nothing["events"] == nothing["relays"] == nothing["waiting"] == []
    assert nothing.keys() <= Me(console, alice).ask().keys()
    # Others' devices are as unknown as those that there are not.
    answers = []
    for name in [device["id"], "0" * 16]:
        for path, method, body in [
            (f"/v1/me/devices/{name}/test", "POST", None), (f"/v1/me/devices/{name}", "DELETE", None),
            (f"/v1/me/devices/{name}", "PATCH", {"mode": "alert"}),
        ]:
            answer = eve.ask(path, method, body, status=404)
            answers.append({key: value for key, value in answer.items() if key != "request_id"})
    assert all(answer == answers[0] for answer in answers)
    assert len(Me(console, alice).ask()["devices"]) == 1


def test_a_proof_counts_once_and_for_one_request(console, stopped_router, alice, bob):
    console.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
    url = f"http://127.0.0.1:{console.port}/v1/me"
    now = int(time.time())
    good = proof(alice, url)
    assert send(console, "/v1/me", "GET", b"", {"authorization": good})[0] == 200
    wrong = {
        "replayed": good,
        "for another site": proof(alice, "https://evil.example/v1/me"),
        "for another path": proof(alice, url + "/devices/1"),
        "for another method": proof(alice, url, "DELETE"),
        "too old": proof(alice, url, at=now - 70),
        "too new": proof(alice, url, at=now + 70),
        "of another kind": proof(alice, url, kind=22242),
        "a token": f"Bearer {console.token}",
        "nothing": "",
    }
    for what, header in wrong.items():
        status, answer, _ = send(console, "/v1/me", "GET", b"", {"authorization": header} if header else {})
        assert status == (403 if what == "a token" else 401), what
        assert "devices" not in answer
    # The host that a request names counts for nothing: another site could pass on what was signed for it.
    passed_on = proof(alice, "http://evil.example/v1/me")
    assert send(console, "/v1/me", "GET", b"", {"authorization": passed_on, "host": "evil.example"})[0] == 401
    # Operators' endpoints take no such proof.
    assert send(console, "/v1/devices", "GET", b"", {"authorization": proof(alice, url.replace("/me", "/devices"))})[0] == 401
    # A proof from before a restart is not remembered, and does not count.
    early = proof(alice, url, at=int(time.time()) - 1)
    stopped_router.stop()
    port = console.port
    stopped_router.configuration["api"]["listen"] = f"127.0.0.1:{port}"
    time.sleep(max(0, 1.1 - time.time() % 1))
    console.start()
    assert send(console, "/v1/me", "GET", b"", {"authorization": early})[0] == 401
    assert not any(header and header in stopped_router.log_text for header in wrong.values())


def test_proofs_name_the_public_url(stopped_router, alice):
    console = Console(stopped_router, public_url="https://push.example.com/carillon").start()
    right = proof(alice, "https://push.example.com/carillon/v1/me")
    assert send(console, "/v1/me", "GET", b"", {"authorization": right})[0] == 200
    local = proof(alice, f"http://127.0.0.1:{console.port}/v1/me")
    assert send(console, "/v1/me", "GET", b"", {"authorization": local})[0] == 401


def test_web_clients_may_send_requests_from_other_origins(console, alice):
    console.start()
    header = proof(alice, f"http://127.0.0.1:{console.port}/v1/me")
    status, _, headers = send(
        console, "/v1/me", "GET", b"", {"authorization": header, "origin": "https://client.example"}
    )
    assert status == 200 and headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in headers


def test_clients_that_exceed_the_limit_get_429(console, alice):
    console.start()
    statuses = [
        send(
            console,
            "/v1/me/devices/" + "0" * 16,
            "DELETE",
            b"",
            {"authorization": proof(alice, f"http://127.0.0.1:{console.port}/v1/me/devices/" + "0" * 16, "DELETE")},
        )[0]
        for _ in range(7)
    ]
    assert statuses[:5] == [404] * 5 and set(statuses[5:]) == {429}


class SessionOf:
    """A person who asks inside of a client's NIP-46 session."""

    def __init__(self, session: Session, person: Person):
        self.session, self.person = session, person
        self.root = f"nostr:{sdk.PublicKey.parse(session.router.public_key).to_bech32()}"

    def event(self, path: str, method: str, body: bytes) -> str:
        return json.dumps(signed(self.person, self.root + path, method, body))

    def ask(self, path: str = "/v1/me", method: str = "GET", body: dict | None = None) -> dict:
        data = b"" if body is None else json.dumps(body).encode()
        more = [data.decode()] if data else []
        answer = self.session.request("me", self.event(path, method, data), *more)
        assert "error" not in answer or answer["error"] is None, answer
        return json.loads(answer["result"])

    def refused(self, *parameters: str) -> str:
        return self.session.request("me", *parameters)["error"]


def test_the_same_inside_a_session(console, stopped_router, lab, alice, bob):
    console.start()
    note = bob.note("hello", alice)
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token()), device="phone"), note)
    lab.accepted(1)
    with Socket(stopped_router) as socket:
        session = Session(socket, stopped_router, Person())
        me = SessionOf(session, alice)
        assert "no session" in me.refused(me.event("/v1/me", "GET", b""))
        assert session.request("connect", stopped_router.public_key)["result"] == "ack"
        over_http = wait_until(
            lambda: "delivered" in json.dumps(answer := Me(console, alice).ask()) and answer, "it is delivered"
        )
        assert me.ask() == over_http
        assert me.ask(f"/v1/me/events/{note['id']}")["event"] == note["id"]
        device = f"/v1/me/devices/{over_http['devices'][0]['id']}"
        assert me.ask(device, "PATCH", {"mode": "nudge"})["device"]["mode"] == "nudge"
        assert me.ask(f"{device}/test?mode=wake", "POST")["outcome"] == "delivered"
        # A client's session is nobody's account: the event says whose it is.
        stranger = SessionOf(session, bob)
        assert stranger.ask()["devices"] == []
        assert stranger.refused(stranger.event(device, "DELETE", b"")).startswith("404 ")
        # A proof counts once, here and over HTTP together, and for what it says.
        once = signed(alice, me.root + "/v1/me")
        assert json.loads(session.request("me", json.dumps(once))["result"])["devices"]
        assert me.refused(json.dumps(once)).startswith("401 ") and "used before" in me.refused(json.dumps(once))
        header = "Nostr " + base64.b64encode(json.dumps(once).encode()).decode()
        assert send(console, "/v1/me", "GET", b"", {"authorization": header})[0] == 401
        elsewhere = sdk.PublicKey.parse(bob.hex).to_bech32()
        assert me.refused(json.dumps(signed(alice, f"nostr:{elsewhere}/v1/me"))).startswith("401 ")
        assert me.refused(me.event(device, "PATCH", b'{"mode":"wake"}'), '{"mode":"alert"}').startswith("401 ")
        assert me.refused(me.event("/v1/status", "GET", b"")).startswith("401 ")
        assert me.refused(me.event("/v1/me/nothing", "GET", b"")) == "404 expected a path of /v1/openapi.json"
        assert me.refused().startswith("400 expected the JSON of a signed event")
        forged = signed(alice, me.root + "/v1/me") | {"pubkey": bob.hex}
        assert me.refused(json.dumps(forged)).startswith("401 ")
        for wrong in [[], ["hello"], ["{}"], [json.dumps(note)]]:
            assert me.refused(*wrong)
        assert me.ask(device, "DELETE") == {}
        assert me.ask()["devices"] == []


def test_nostr_sdk_opens_the_session_and_the_app_asks_in_it(stopped_router, alice):
    """As why-not.md has it: with a secret for one client, and errors that say what to do."""
    port = free_port()
    stopped_router.configuration["registration"] = {"secret_file": "secrets", "require_session": True}
    stopped_router.configuration["relay"] = {"listen": f"127.0.0.1:{port}", "url": f"ws://127.0.0.1:{port}"}
    stopped_router.start().stop()
    url = carillon("keys", "bunker", "--config", stopped_router.configuration_file).stdout.strip()
    stopped_router.secrets.add(url.split("secret=")[1])
    stopped_router.start()
    app, other = Person(), Person()

    async def open_session():
        signer = sdk.NostrConnect(sdk.NostrConnectUri.parse(url), app.keys, timedelta(seconds=30), None)
        return (await signer.get_public_key_async()).to_hex()

    assert asyncio.run(open_session()) == stopped_router.public_key
    with Socket(stopped_router) as socket, Socket(stopped_router) as elsewhere:
        session = Session(socket, stopped_router, app)
        registration = alice.registration(stopped_router, ios(device_token()), device="phone")
        assert session.request("register", json.dumps(registration))["result"] == "ack"
        me = SessionOf(session, alice)
        [device] = wait_until(lambda: me.ask()["devices"], "the device is registered")
        assert device["name"] == "phone"
        assert session.request("whoami")["error"].startswith("unknown method: this router supports connect, ping, ")
        stranger = SessionOf(Session(elsewhere, stopped_router, other), alice)
        assert stranger.refused(stranger.event("/v1/me", "GET", b"")) == "no session: connect first"
        assert session.request("logout")["result"] == "ack"
        assert me.refused(me.event("/v1/me", "GET", b"")) == "no session: connect first"


def test_sessions_answer_where_there_is_no_api(stopped_router, alice):
    stopped_router.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token()), device="phone"))
        session = Session(socket, stopped_router, Person())
        session.request("connect", stopped_router.public_key)
        assert [device["name"] for device in SessionOf(session, alice).ask()["devices"]] == ["phone"]
