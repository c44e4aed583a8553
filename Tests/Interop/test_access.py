"""Who may use a router: blocks of keys, networks, invitations and relays, in a running router and across restarts."""

import http.client
import json
import threading

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.server import serve

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, free_port, wait_until
from relays import Client, LocalRelay
from test_remote_signing import Session


def run(router, *words: str, status: int = 0) -> str:
    done = carillon(*words[:2], *words[2:], "--config", router.configuration_file)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def ask(router, *words: str) -> dict:
    return json.loads(run(router, *words, "--json"))


def test_a_blocked_user_is_removed_immediately_and_stays_out(stopped_router, lab, tmp_path, alice, bob):
    carol = Person()
    relay = LocalRelay(tmp_path / "relay").start()
    stopped_router.watch(always=[relay])
    router = stopped_router.start()
    wait_until(lambda: router.wait_for_connection(relay) or True, "the router is at the relay")
    mine, hers = device_token(), device_token()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(mine)), carol.registration(router, ios(hers)))
        socket.publish(bob.message("one", alice), bob.message("two", carol))
        lab.accepted(2)

        # Who is here.
        # The trace, which knows of the last push, is written a moment after the outcome.
        wait_until(
            lambda: all("last_push" in user for user in ask(router, "users", "list")["users"]), "both pushes are traced"
        )
        users = ask(router, "users", "list")["users"]
        assert {user["account"] for user in users} == {alice.hex, carol.hex}
        assert all(user["devices"] == 1 and user["platforms"] == ["ios/default"] for user in users)
        assert ask(router, "users", "list", "--platform", "web")["users"] == []
        first = ask(router, "users", "list", "--limit", "1")
        rest = ask(router, "users", "list", "--after", first["next"])
        assert first["users"] + rest["users"] == users and rest.get("next") is None
        shown = ask(router, "users", "show", alice.hex)
        assert relay.url.rstrip("/") in shown["relays"] and not shown["user"]["is_blocked"]
        assert mine not in json.dumps(shown)
        wait_until(lambda: "last_push" in ask(router, "users", "show", alice.hex)["user"], "the push is traced")

        # While pushes flow.
        for number in range(10):
            socket.publish(bob.message(f"a{number}", alice), bob.message(f"c{number}", carol))
        lab.accepted(22)
        answer = run(router, "users", "block", alice.hex, "--reason", "spam", "--for", "30d")
        assert "blocked" in answer and "1 devices are out of use" in answer and '"spam"' in answer
        for number in range(10):
            socket.publish(bob.message(f"b{number}", alice), bob.message(f"d{number}", carol))
        pushes = lab.accepted(32)
        assert sum(mine in json.dumps(push.__dict__, default=str) for push in pushes) == 11

        wait_until(lambda: ask(router, "users", "show", alice.hex)["relays"] == [], "no relay is read for it")
        device = ask(router, "users", "show", alice.hex)["devices"][0]["device"]
        assert "is out of use" in run(router, "devices", "test", str(device), status=1)
        assert "blocked" in run(router, "devices", "list", "--account", alice.hex)

        # It registers again on every way, in vain.
        accepted, words = socket.offer(alice.registration(router, ios(device_token())))
        assert not accepted and words == "blocked: this router does not serve this key"
        session = Session(Socket(router), router, alice)
        assert session.request("connect", router.public_key)["error"].startswith("blocked:")
        stranger = Session(Socket(router), router, Person())
        assert stranger.request("connect", router.public_key)["result"] == "ack"
        inner = alice.registration(router, ios(device_token()))
        assert stranger.request("register", json.dumps(inner))["error"].startswith("blocked:")
        # The same by a relay: nobody answers, the trace knows.
        again = alice.registration(router, ios(device_token()))
        with Client(relay, alice) as client:
            client.publish(again)
        wait_until(
            lambda: "does not serve this key" in carillon("explain", again["id"], "--config", router.configuration_file).stdout,
            "the registration came by the relay",
            router.process,
        )

    router.restart()
    with Socket(router) as socket:
        socket.publish(bob.message("after", alice), bob.message("after", carol))
    lab.accepted(33)
    blocked = ask(router, "users", "list", "--blocked")["users"]
    assert [user["account"] for user in blocked] == [alice.hex] and blocked[0]["devices"] == 1
    assert "blocked: it is sent nothing" in run(router, "users", "show", alice.hex)
    assert "it is not blocked" in run(router, "users", "unblock", bob.hex, status=1)

    # On a stopped router's store as well; the device is as it was.
    router.stop()
    assert "in use again" in run(router, "users", "unblock", alice.hex)
    router.start()
    with Socket(router) as socket:
        socket.publish(bob.message("back", alice))
    lab.accepted(34)
    relay.kill()


def test_networks_invitations_and_lists(stopped_router, lab, alice, bob):
    ingress = free_port()
    stopped_router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{ingress}"}
    stopped_router.configuration["registration"] = {"secret_file": "secrets"}
    stopped_router.configuration["relay"]["url"] = "wss://push.example.com"
    stopped_router.configuration["access"] = {"mode": "allowlist", "allow": alice.hex, "block": ["192.0.2.0/24"]}
    router = stopped_router.start()

    def connect(address: str) -> Socket:
        return Socket(router, additional_headers={"X-Forwarded-For": address})

    def push(address: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", ingress, timeout=30)
        connection.request("POST", f"/push/{device_token()}/a", b"x", {"X-Forwarded-For": address, "Content-Encoding": "aes128gcm"})
        return connection.getresponse().status

    with pytest.raises(InvalidStatus):
        connect("192.0.2.9")
    open_one = connect("2001:db8:7::5")
    run(router, "users", "block", "2001:db8:7::/48")
    with pytest.raises(ConnectionClosed):
        open_one.receive()
    with pytest.raises(InvalidStatus):
        connect("2001:db8:7:ffff::1")
    assert push("2001:db8:7::5") == 429 and push("2001:db8:8::5") == 202
    # The smallest network decides.
    run(router, "users", "allow", "2001:db8:7:1::/64")
    connect("2001:db8:7:1::1").__exit__()
    with connect("2001:db8:8::1") as socket:
        socket.publish(alice.registration(router, ios(device_token())))
        accepted, words = socket.offer(bob.registration(router, ios(device_token())))
        assert not accepted and "listed" in words
        run(router, "users", "allow", bob.hex)
        socket.publish(bob.registration(router, ios(device_token())))
        run(router, "users", "disallow", bob.hex)
        assert not socket.offer(bob.registration(router, ios(device_token())))[0]
    # So is a network: who connects from there may register, also by NIP-46. A block of the key counts all the same.
    run(router, "users", "allow", "198.51.100.0/24")
    with connect("198.51.100.7") as socket:
        guest = Person()
        socket.publish(guest.registration(router, ios(device_token())))
        session = Session(connect("198.51.100.8"), router, Person())
        invitation = carillon("keys", "bunker", "--config", router.configuration_file).stdout.split("secret=")[1].strip()
        assert session.request("connect", router.public_key, invitation)["result"] == "ack"
        inner = Person().registration(router, ios(device_token()))
        assert "error" not in session.request("register", json.dumps(inner))
        run(router, "users", "block", guest.hex)
        assert not socket.offer(guest.registration(router, ios(device_token())))[0]
    with connect("198.51.101.7") as socket:
        accepted, words = socket.offer(Person().registration(router, ios(device_token())))
        assert not accepted and "listed" in words
    run(router, "users", "disallow", "198.51.100.0/24")
    with connect("198.51.100.7") as socket:
        assert not socket.offer(Person().registration(router, ios(device_token())))[0]
    assert "the rule is in the configuration" in run(router, "users", "unblock", "192.0.2.0/24", status=1)
    wrong = run(router, "users", "block", "10.0.0.1/8", status=64)
    assert "expected a key" in wrong

    # An invitation that was used, and one that was not.
    used, unused = (carillon("keys", "bunker", "--config", router.configuration_file).stdout.strip() for _ in range(2))
    client = Person()
    secret = used.split("secret=")[1].strip()
    first = Session(Socket(router), router, client)
    assert first.request("connect", router.public_key, secret)["result"] == "ack"
    for invitation in [used, unused]:
        answer = run(router, "users", "block", "--invitation", invitation)
        assert invitation.split("secret=")[1] not in answer
    assert first.request("ping")["error"].startswith("blocked:")
    second = Session(Socket(router), router, Person())
    assert "secret is unknown" in second.request("connect", router.public_key, unused.split("secret=")[1])["error"]
    rules = ask(router, "users", "rules")
    assert rules["mode"] == "allowlist" and sum(rule["kind"] == "invitation" for rule in rules["rules"]) == 2

    # A reload puts another mode in force.
    router.configuration["access"] = {"mode": "open"}
    assert carillon("reload", "--config", router.configuration_file).returncode == 0
    with connect("192.0.2.9") as socket:
        socket.publish(bob.registration(router, ios(device_token())))


class HostileRelay:
    """Answers every REQ with what no relay should say."""

    def __init__(self, victim: Person):
        self.victim = victim
        self.connections = 0
        self.is_open = 0
        self._server = serve(self._serve, "127.0.0.1", free_port(), compression=None, max_size=None)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _serve(self, connection):
        self.connections += 1
        self.is_open += 1
        forged = Person().note("forged")
        forged["content"] = "other"
        try:
            for text in connection:
                message = json.loads(text)
                if message[0] == "REQ":
                    connection.send(json.dumps(["NOTICE", "pay\x1b[31m me\n" + "x" * 500]))
                    for _ in range(12):
                        connection.send("nonsense")
                    for _ in range(25):
                        connection.send(json.dumps(["EVENT", "stranger", forged]))
                    connection.send(json.dumps(["EOSE", message[1]]))
                    # What names nobody here is not even verified.
                    for number in range(6):
                        event = Person().note(f"{number}", self.victim) | {"content": "forged"}
                        connection.send(json.dumps(["EVENT", message[1], event]))
                    connection.send(json.dumps(["CLOSED", message[1], "error: never"]))
        finally:
            self.is_open -= 1

    def stop(self):
        self._server.shutdown()


def test_a_hostile_relay_is_detected_and_blocked(stopped_router, alice):
    hostile = HostileRelay(alice)
    console = Console(stopped_router).start()
    router = stopped_router
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), relays=[hostile.url])))
    router.wait_for_log("A relay misbehaved")
    lines = [line for line in router.log_text.splitlines() if "A relay misbehaved" in line]
    assert len(lines) == 1 and " warning " in lines[0] and "carillon relays list --misbehaving" in lines[0]
    assert hostile.url not in lines[0]

    def shown() -> dict:
        return ask(router, "relays", "show", hostile.url)["relays"][0]

    wait_until(
        lambda: shown()["violations"].get("unasked", 0) >= 25 and shown()["violations"].get("invalid-events", 0) >= 5,
        "what it sends is counted",
        router.process,
    )
    relay = shown()
    assert relay["whose"] == "users" and relay["users"] == 1 and relay["events"] >= 25 and relay["refusals"] >= 1
    assert {"malformed", "unasked", "invalid-events"} <= set(relay["misbehaves"])
    said = {words["command"]: words["text"] for words in relay["last_messages"]}
    assert said["CLOSED"] == "error: never"
    assert said["NOTICE"].startswith("pay [31m me xxx") and len(said["NOTICE"]) == 201
    text = run(router, "relays", "show", hostile.url)
    assert "events without a subscription" in text and f"carillon relays block {hostile.url}" in text and "\x1b" not in text
    assert hostile.url in run(router, "relays", "list", "--misbehaving")
    assert hostile.url in run(router, "relays", "list", "--state", relay["state"])
    other = "idle" if relay["state"] != "idle" else "connected"
    assert hostile.url not in run(router, "relays", "list", "--state", other)
    assert "no relay's URL contains" in run(router, "relays", "show", "nowhere.example", status=1)
    status = run(router, "status", status=1)
    assert "a relay misbehaves: malformed messages, events with a wrong id or signature, events without" in status
    metrics = console.ask("/metrics")[1]
    assert 'carillon_relay_violations_total{relay="users",what="unasked"}' in metrics.replace("what=\"unasked\",relay=\"users\"", "relay=\"users\",what=\"unasked\"")
    assert "carillon_relays_misbehaving 1" in metrics and hostile.url not in metrics

    run(router, "relays", "block", hostile.url, "--reason", "floods")
    wait_until(lambda: hostile.is_open == 0, "the router leaves", router.process)
    connections = hostile.connections
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), relays=[hostile.url])))
    router.restart()
    shown = ask(router, "relays", "list")
    assert [rule["subject"] for rule in shown["blocked"]] == [hostile.url]
    assert not any(relay["url"] == hostile.url for relay in shown["relays"]) and hostile.connections == connections
    assert ask(router, "users", "show", alice.hex)["relays"] == []
    run(router, "relays", "unblock", hostile.url)
    wait_until(lambda: hostile.connections > connections, "the router comes back", router.process)
    # A wildcard for a host does the same; the configuration's relays are excepted by their own words.
    assert "expected a relay's URL" in run(router, "relays", "block", "https://example.com", status=64)
    assert "*.example.com" in run(router, "relays", "block", "*.Example.com", "--for", "7d")
    hostile.stop()
