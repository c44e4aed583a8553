"""`POST /v1/notify`: notifications of senders that are not on Nostr."""

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from urllib.parse import quote

import pytest

from console import Console
from nostr import Person, Socket, device_token, ios
from programs import carillon, wait_until
from readable import ReadableServer
from subscriptions import App
from test_api_v1 import Description
from test_me import Me
from test_stream import token
from witness import FILTERS, Witness, is_genuine

RULES = """
version: 1
rules:
  - name: news
    match: { kinds: [20063] }
    signal: news
    title: "News: {{event.tag.headline}}"
    body: "{{event.tag.lead}} ({{recipient.npub}})"
"""


@pytest.fixture
def router(stopped_router):
    (stopped_router.folder / "rules.yaml").write_text(RULES)
    stopped_router.configuration["rules"] = ["rules.yaml"]
    return stopped_router


class Sender:
    """Somebody with a token for sending; answers are compared with the description."""

    def __init__(self, console: Console, name: str = "send"):
        self.console = console
        self.description = Description(console)
        made = carillon(
            "tokens", "create", name, "--scope", "send", "--json", "--config",
            console.router.folder / "carillon.yaml",
        )
        self.token = json.loads(made.stdout)["token"]

    def send(self, body: dict, status: int = 202, key: str | None = None) -> dict:
        headers = {"idempotency-key": key} if key else {}
        got, text = self.console.ask("/v1/notify", "POST", self.token, body, headers)
        answer = json.loads(text)
        assert got == status, answer
        self.description.judge("/v1/notify", "POST", got, answer)
        return answer

    def show(self, id: str, status: int = 200, after: int | None = None) -> dict:
        path = f"/v1/notify/{id}" + (f"?after={after}" if after is not None else "")
        return self.description.ask(path, token=self.token, status=status)

    def wait_for(self, id: str, state: str) -> dict:
        def found():
            answer = self.show(id)
            return answer if any(device["state"] == state for device in answer["devices"]) else None

        return wait_until(found, f"a device is {state}")


def pointers(problem: dict) -> list[str]:
    return [error["pointer"] for error in problem["errors"]]


def test_a_notification_is_sent_as_requested(router, lab, alice, bob):
    sender = Sender(Console(router).start())
    phone = device_token()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(phone, mode="alert")))
    sent = sender.send(
        {
            "to": {"account": alice.npub},
            "title": "{{event.content}} & ${HOME}",
            "body": "two\nlines",
            "data": {"order": "17", "note": "{{x}}"},
            "actions": [{"id": "app.open", "label": "Open"}],
            "url": "https://example.com/17",
            "urgency": "high",
            "expires": "2h",
            "apns": {"sound": "bell.caf"},
        }
    )
    [received] = lab.accepted(1)
    payload = received.payload
    # Nothing of it is a template.
    assert payload["aps"]["alert"] == {"title": "{{event.content}} & ${HOME}", "body": "two\nlines"}
    assert payload["aps"]["sound"] == "bell.caf" and payload["order"] == "17" and payload["note"] == "{{x}}"
    assert payload["body"]["url"] == "https://example.com/17"
    assert received.header("apns-priority") == "10"
    assert abs(int(received.header("apns-expiration")) - time.time() - 7200) < 60
    for of_no_event in ["id", "kind", "pubkey"]:
        assert of_no_event not in payload
    report = sender.wait_for(sent["id"], "delivered")
    [device] = report["devices"]
    assert device["status"] == 200 and device["platform"] == "ios" and report["is_complete"]
    assert report["created_at"] == sent["created_at"] and "next" not in report
    assert phone not in json.dumps(report) and alice.hex not in json.dumps(report)
    # Only who sent it sees what became of it.
    assert Sender(sender.console, "other").show(sent["id"], 404)
    sender.show("0" * 32, 404)
    # It is in the trace as everything is, and content is nowhere but where it waits.
    assert "two\\nlines" not in router.log_text and "bell.caf" not in router.log_text


def test_a_repeated_request_gets_the_same_response_and_one_push(router, lab, alice):
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
    body = {"to": {"account": alice.hex}, "title": "once"}
    with ThreadPoolExecutor(8) as pool:
        headers = {"idempotency-key": "order-17"}
        answers = list(pool.map(lambda _: sender.console.ask("/v1/notify", "POST", sender.token, body, headers), range(16)))
    good = {text for status, text in answers if status == 202}
    assert len(good) == 1 and {status for status, _ in answers} <= {202, 409}
    first = json.loads(good.pop())
    assert sender.send(body, key="order-17") == first
    refused = sender.send({**body, "title": "another"}, 422, key="order-17")
    assert "Idempotency-Key" in refused["detail"]
    # Another sender's name for a request is another one.
    assert Sender(sender.console, "other").send(body, key="order-17")["id"] != first["id"]
    lab.accepted(2)
    # The key outlives the process, also where that is killed.
    router.kill()
    sender.console.start()
    assert sender.send(body, key="order-17") == first
    assert sender.send(body)["id"] != first["id"]
    lab.accepted(3)
    router.wait_until_nothing_waits()
    # A push whose outcome the kill took away comes again, under its id.
    assert len({push.apns_id for push in lab.received()}) == 3


def test_a_kill_at_any_moment_loses_and_repeats_no_push(router, lab, alice):
    """Whoever got no answer sends again under the same key."""
    console = Console(router).start()
    sender = Sender(console)
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
    titles = [f"number {number}" for number in range(120)]

    def send(title: str) -> bool:
        try:
            body = {"to": {"account": alice.hex}, "title": title}
            return console.ask("/v1/notify", "POST", sender.token, body, {"idempotency-key": title})[0] == 202
        except OSError:
            return False

    left = titles
    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            results = pool.map(send, left)
            time.sleep(0.15)
            router.kill()
            left = [title for title, is_sent in zip(left, results) if not is_sent]
        console.start()
    assert all(send(title) for title in left) and all(send(title) for title in titles)
    wait_until(
        lambda: {request.payload["aps"]["alert"]["title"] for request in lab.received()} == set(titles),
        "everything arrives",
    )
    router.wait_until_nothing_waits()
    ids: dict[str, set] = {}
    for request in lab.received():
        ids.setdefault(request.payload["aps"]["alert"]["title"], set()).add(request.apns_id)
    # A push that was under way when the process died may come again, but as the same push.
    assert all(len(found) == 1 for found in ids.values())


def test_every_kind_of_recipient_is_reached(router, lab, alice, bob):
    router.configuration["apps"]["other"] = {"ios": lab.ios}
    console = Console(router).start()
    sender = Sender(console)
    carol = Person()
    with Socket(router) as socket:
        socket.publish(
            alice.registration(router, ios("a1" * 32, mode="alert", filters={"news": True}), device="one"),
            alice.registration(router, ios("a2" * 32, mode="alert", filters={"news": False}), device="two"),
            bob.registration(router, ios("b1" * 32, mode="alert", filters={"news": True}, app="other")),
            carol.registration(router, ios("c1" * 32, mode="alert", filters={"news": True})),
        )
    devices = {
        (device["npub"], device["name"]): device["device"] for device in console.json("/v1/devices")[1]["devices"]
    }

    def reached(to: dict, **more) -> set[str]:
        before = len(lab.received())
        sent = sender.send({"to": to, "title": "hello", **more})
        router.wait_until_nothing_waits()
        wait_until(
            lambda: all(device["state"] != "queued" for device in sender.show(sent["id"])["devices"]), "all is through"
        )
        return {request.target[:2] for request in lab.received()[before:]}

    one = devices[(alice.npub, "one")]
    assert reached({"device": one}) == {"a1"}
    assert reached({"devices": [one, devices[(carol.npub, "")]]}) == {"a1", "c1"}
    assert reached({"accounts": [alice.npub, bob.hex]}) == {"a1", "a2", "b1"}
    assert reached({"accounts": [alice.npub, bob.hex], "app": "other"}) == {"b1"}
    assert reached({"everybody": True, "app": "default"}) == {"a1", "a2", "c1"}
    assert reached({"tag": "news", "app": "default"}) == {"a1", "c1"}
    assert reached({"account": alice.hex}, signal="news") == {"a1"}
    assert reached({"account": alice.hex, "platform": "android"}) == set()
    assert reached({"account": Person().hex}) == set()


def test_unknown_devices_do_not_block_the_others(router, lab, alice, bob):
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        for person in (alice, bob):
            socket.publish(person.registration(router, ios(device_token(), mode="alert")))
    devices = [device["device"] for device in sender.console.json("/v1/devices")[1]["devices"]]
    body = {"to": {"devices": [99, *devices, 4711, 99, devices[0]]}, "title": "hello"}
    sent = sender.send(body, key="a")
    assert (sent["devices"], sent["queued"], sent["unknown"]) == (2, 2, [99, 4711])
    assert sender.send(body, key="a") == sent
    lab.accepted(2)
    report = wait_until(lambda: (found := sender.show(sent["id"]))["is_complete"] and found, "all is through")
    assert report["states"] == {"delivered": 2} and report["unknown"] == [99, 4711]
    assert "unknown" not in sender.send({"to": {"devices": devices}, "title": "hello"})
    assert pointers(sender.send({"to": {"devices": [99, 4711]}, "title": "hello"}, 422)) == ["#/to"]


LONG = {
    "256 keys": {"title": "hello", "data": {f"key{number}": number for number in range(256)}},
    "long keys": {"title": "hello", "data": {"k" * 2_000: "x", "": "y", "a/b~c.d": "z", "schlüssel": 1, "from": "x"}},
    "control characters": {"title": "hello", "data": {"text": "\0\1\x1b\x7f\n\u2028\U0001f514", "k\0": "\0"}},
    "numbers": {"title": "hello", "data": {"number": 12345678901234567890, "small": -0.1e-30, "whole": -0}},
    "depth": {"title": "hello", "data": {"deep": json.loads("[" * 61 + "]" * 61)}},
    "more data than any service takes": {"title": "hello", "data": {"text": "x" * 300_000}},
    "texts": {"title": "ü" * 20_000, "subtitle": "🔔" * 5_000, "body": "line\n" * 20_000},
    "names": {"title": "hello", "collapse": "ü" * 5_000, "thread": "t" * 5_000, "category": "c" * 5_000},
    "address": {"title": "hello", "url": "https://example.com/" + "x" * 20_000},
    "buttons": {
        "title": "hello",
        "actions": [{"id": f"a{n}", "label": "label " * 500, "url": "app://" + "x" * 3_000, "icon": "i" * 500} for n in range(4)],
    },
    "data alone": {"data": {"order": "17"}},
    "a subtitle alone": {"subtitle": "hello"},
    "an empty title": {"title": "", "data": {"order": "17"}},
    "a body alone": {"body": "hello\n"},
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("mode", ["alert", "sealed"])
def test_every_platform_delivers_accepted_notifications(router, lab, alice, name, mode):
    """Nothing is answered 202 and then refused for good, however long or odd it is: at worst a push says less."""
    readable = ReadableServer()
    app = App()
    devices = [
        ios(device_token()),
        {"platform": "android", "token": lab.android_token()},
        {"platform": "web", "subscription": {"endpoint": lab.subscribe(app, "browser"), "keys": app.keys}},
        {"platform": "unifiedpush", "push_endpoint": lab.endpoint("upAlice")} | app.keys,
        {"platform": "ntfy", "push_endpoint": f"{readable.url}/alerts"},
        {"platform": "gotify", "push_endpoint": f"{readable.url}/message?token=Asecret"},
    ]
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        for device in devices:
            socket.publish(alice.registration(router, device | {"mode": mode}, device=device["platform"]))
    sent = sender.send({"to": {"account": alice.hex}} | LONG[name])
    report = wait_until(lambda: (found := sender.show(sent["id"]))["is_complete"] and found, "all is through")
    assert len(report["devices"]) == len(devices)
    ends = {device["platform"]: (device["state"], device.get("reason")) for device in report["devices"]}
    # What shows nothing reaches nobody who reads with his own eyes.
    assert {platform for platform, (state, _) in ends.items() if state not in ("delivered", "silent")} == set(), ends
    if "title" in LONG[name] and LONG[name]["title"]:
        assert {state for state, _ in ends.values()} == {"delivered"}, ends


def test_a_dry_run_counts_without_sending(router, lab, alice, bob):
    router.configuration["apps"]["other"] = {"ios": lab.ios}
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        for name in ("phone", "tablet"):
            socket.publish(alice.registration(router, ios(device_token(), mode="alert"), device=name))
        socket.publish(bob.registration(router, ios(device_token(), app="other")))

    def counted(to: dict, **more) -> tuple[int, int]:
        answer = sender.send({"to": to, "title": "hello", "dry_run": True} | more, 200, key="dry")
        assert "id" not in answer
        return answer["accounts"], answer["devices"]

    assert counted({"everybody": True, "app": "default"}) == (1, 2)
    assert counted({"everybody": True, "app": "default", "platform": "android"}) == (1, 0)
    assert counted({"accounts": [alice.hex, bob.hex]}) == (2, 3)
    assert counted({"accounts": [alice.hex, bob.hex], "app": "other"}) == (2, 1)
    assert counted({"group": "nobody", "app": "default"}) == (0, 0)
    answer = sender.send({"to": {"devices": [1, 99]}, "title": "hello", "dry_run": True}, 200)
    assert answer == {"accounts": 1, "devices": 1, "unknown": [99]}
    wrong = {"to": {"account": alice.hex}, "titel": "hello", "dry_run": "yes"}
    assert set(pointers(sender.send(wrong, 422))) >= {"#/titel", "#/dry_run"}
    assert lab.received() == []
    # The name for a request is free still.
    sender.send({"to": {"account": bob.hex}, "title": "hello"}, key="dry")
    lab.accepted(1)


def test_explain_accepts_the_id_of_a_sent_notification(router, lab, alice, bob):
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        for person in (alice, bob):
            socket.publish(person.registration(router, ios(device_token(), mode="alert")))
    strangers = [f"{number:064x}" for number in range(1, 150)]
    sent = sender.send({"to": {"accounts": [alice.hex, *strangers, bob.hex]}, "title": "hello"})
    lab.accepted(2)
    router.wait_until_nothing_waits()
    console = sender.console

    def explained(name: str, status: int = 200, **more) -> dict:
        query = "&".join(f"{key}={value}" for key, value in more.items())
        return sender.description.ask(f"/v1/events/{quote(name, safe='')}/explain?{query}", status=status)

    for name in [sent["id"], f"/v1/notify/{sent['id']}", f"http://127.0.0.1:7448/v1/notify/{sent['id']}"]:
        answer = wait_until(
            lambda: len((found := explained(name))["accounts"]) == 2 and found, "both are explained"
        )
        assert {account["account"] for account in answer["accounts"]} == {alice.hex, bob.hex}
    assert [account["account"] for account in explained(sent["id"], recipient=bob.hex)["accounts"]] == [bob.hex]
    assert "no such notification" in explained("0" * 32, 404)["detail"]
    run = carillon("explain", sent["id"], "--config", console.router.configuration_file)
    assert run.returncode == 0 and alice.npub in run.stdout and bob.npub in run.stdout, run.stdout + run.stderr
    run = carillon("explain", "0" * 32, "--config", console.router.configuration_file)
    assert run.returncode == 1 and "no such notification" in run.stderr


def test_a_template_is_a_rule_by_name_that_events_never_reach(router, lab, alice, bob):
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert", filters={"news": True, "dm": True})))
        # Nobody wakes anybody by an event of that kind.
        accepted, _ = socket.offer(bob.event(20063, "", [["p", alice.hex], ["headline", "false"]]))
        assert accepted
        sent = sender.send(
            {
                "to": {"account": alice.npub},
                "template": "news",
                "values": {"headline": "{{event.tag.lead}}", "lead": "more"},
            }
        )
        [received] = lab.accepted(1)
        alert = received.payload["aps"]["alert"]
        assert alert == {"title": "News: {{event.tag.lead}}", "body": f"more ({alice.npub})"}
        sender.wait_for(sent["id"], "delivered")
    assert len(lab.received()) == 1


def test_pacing_and_quiet_hours_apply_to_notifications(router, lab, alice):
    router.configuration["defaults"]["cooldown_seconds"] = 3_000
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(device_token(), mode="alert")))
    body = {"to": {"account": alice.hex}, "title": "number"}
    first = sender.send(body)
    assert (first["devices"], first["queued"], first["held"]) == (1, 1, 0) and "held_until" not in first
    assert sender.wait_for(first["id"], "delivered")["is_complete"]
    for state in ["held", "batched"]:
        sent = sender.send(body, key=state)
        # The sender learns at once that nothing comes yet, and until when.
        assert (sent["devices"], sent["queued"], sent["held"]) == (1, 0, 1), sent
        left = datetime.fromisoformat(sent["held_until"]).timestamp() - time.time()
        assert 2_900 < left < 3_001
        assert sender.send(body, key=state) == sent
        report = sender.wait_for(sent["id"], state)
        assert not report["is_complete"] and report["states"] == {state: 1}
        assert report["devices"][0]["next_at"] == sent["held_until"] and "cooldown" in report["devices"][0]["reason"]
    assert len(lab.received()) == 1


def test_errors_in_a_request_are_named_by_pointer(router, lab, alice):
    sender = Sender(Console(router).start())
    good = {"to": {"account": alice.hex}, "title": "hello"}
    for change, expected in [
        ({"to": None}, ["#/to"]),
        ({"to": {}}, ["#/to"]),
        ({"to": {"account": alice.hex, "device": 1}}, ["#/to"]),
        ({"to": {"account": "alice"}}, ["#/to/account"]),
        ({"to": {"accounts": [alice.hex, "bob", 1]}}, ["#/to/accounts/1", "#/to/accounts/2"]),
        ({"to": {"device": "1"}}, ["#/to/device"]),
        ({"to": {"device": 99}}, ["#/to"]),
        ({"to": {"everybody": True}}, ["#/to/app"]),
        ({"to": {"account": alice.hex, "apps": "x"}}, ["#/to/apps"]),
        ({"title": 7.5, "body": ["x"]}, ["#/body"]),
        ({"title": "two\nlines"}, ["#/title"]),
        ({"titel": "hello"}, ["#/titel"]),
        ({"urgency": "highest"}, ["#/urgency"]),
        ({"expires": "1s"}, ["#/expires"]),
        ({"actions": [{"id": "a", "label": "b"}, {"id": "c"}]}, ["#/actions/1"]),
        ({"apns": {"sound": "x", "bagde": 1}}, ["#/apns/bagde"]),
        ({"data": {"aps": {}}}, ["#/data/aps"]),
        ({"data": {f"key{number}": number for number in range(257)}}, ["#/data"]),
        ({"dry_run": 1}, ["#/dry_run"]),
        ({"signal": "unheard"}, ["#/signal"]),
        ({"template": "none"}, ["#/title"]),
        ({"title": None}, ["#"]),
        ({"title": ""}, ["#"]),
        ({"title": None, "data": {}}, ["#"]),
        ({"to": {"account": alice.hex, "platform": "unifedpush"}}, ["#/to/platform"]),
        ({"values": {"a": "b"}}, ["#/values"]),
    ]:
        body = {name: value for name, value in {**good, **change}.items() if value is not None}
        problem = sender.send(body, 422)
        assert set(expected) <= set(pointers(problem)), (change, problem)
        assert alice.hex not in problem["detail"]
    [unknown] = sender.send(good | {"zzzzzzzz": 1}, 422)["errors"]
    document = json.loads(sender.console.ask("/v1/openapi.json", token=sender.token)[1])
    schema = document["paths"]["/v1/notify"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(unknown["detail"].partition("; known here: ")[2].split(", ")) == set(schema["properties"])
    assert sender.console.ask("/v1/notify", "POST", sender.token)[0] == 400
    assert lab.received() == []


def test_lists_may_name_thousands_and_longer_ones_are_refused(router, lab, alice, bob):
    """Only whoever may send may send so much: everybody else is stopped at what fits into memory many times."""
    console = Console(router).start()
    sender = Sender(console)
    phones = {person: device_token() for person in (alice, bob)}
    with Socket(router) as socket:
        for person, phone in phones.items():
            socket.publish(person.registration(router, ios(phone, mode="alert")))
    strangers = [f"{number:064x}" for number in range(1, 4_999)]
    id = sender.send({"to": {"accounts": [alice.hex, *strangers, bob.npub]}, "title": "to all"})["id"]
    lab.accepted(2)
    assert {push.target for push in lab.received("apns")} == set(phones.values())
    wait_until(lambda: sender.show(id)["is_complete"], "the first hundred are through")
    assert pointers(sender.send({"to": {"accounts": [alice.hex] * 5_001}, "title": "x"}, status=422)) == ["#/to/accounts"]

    def refused(size: int, token: str | None) -> tuple[int, str]:
        status, answer = console.json("/v1/notify", "POST", token, body={"to": {"account": alice.hex}, "title": "x" * size})
        return status, answer["detail"]

    assert refused(600_000, sender.token) == (413, "the body: expected at most 524288 bytes")
    reader = token(router, "read")
    assert refused(70_000, reader)[0] == 403 and refused(70_000, None)[0] == 401 and refused(70_000, "guessed")[0] == 401
    status, answer = console.json("/v1/rules/try", "POST", body={"rules": "x" * 70_000})
    assert (status, answer["detail"]) == (413, "the body: expected at most 65536 bytes")


def test_senders_need_the_scope_for_it(router, alice):
    console = Console(router).start()
    body = {"to": {"account": alice.hex}, "title": "hello"}
    for key, status in [(None, 401), ("x" * 43, 401), (token(router, "read"), 403), (token(router, "operate"), 403)]:
        assert console.ask("/v1/notify", "POST", key, body)[0] == status


def test_groups_are_kept_by_senders_and_left_by_users(router, lab, alice, bob):
    console, carol, dave = Console(router).start(), Person(), Person()
    sender = Sender(console)
    phones = {person: device_token() for person in [alice, bob, carol]}
    with Socket(router) as socket:
        for person, phone in phones.items():
            socket.publish(person.registration(router, ios(phone)))

    def change(status: int = 200, group: str = "beta", app: str = "default", **body) -> dict:
        path = f"/v1/groups/{group}?app={app}"
        return sender.description.ask(path, "POST", status, token=sender.token, body=body)

    def members(query: str = "") -> list[str]:
        return sender.description.ask(f"/v1/groups/beta?app=default{query}", token=sender.token)["accounts"]

    def reached(to: dict) -> set:
        lab.forget()
        id = sender.send({"to": to, "title": "hello"})["id"]
        count = len(members())
        wait_until(lambda: len(sender.show(id)["devices"]) >= count, "all are decided about")
        lab.accepted(count)
        return {push.target for push in lab.received("apns")}

    added = change(add=[alice.hex, bob.npub, dave.hex])
    assert added == {"added": 2, "removed": 0, "left": [], "unknown": [dave.hex], "full": []}
    assert change(add=[alice.hex])["added"] == 0
    assert members() == sorted([alice.hex, bob.hex]) and members(f"&after={min(alice.hex, bob.hex)}") == [max(alice.hex, bob.hex)]
    listed = sender.description.ask("/v1/groups?app=default", token=sender.token)["groups"]
    assert listed == [{"group": "beta", "members": 2}]
    assert reached({"group": "beta", "app": "default"}) == {phones[alice], phones[bob]}

    me = Me(console, alice)
    assert [(group["app"], group["group"]) for group in me.ask()["groups"]] == [("default", "beta")]
    assert me.ask("/v1/me/groups/default/beta", "DELETE") == {"groups": []}
    me.ask("/v1/me/groups/default/beta", "DELETE", status=404)
    assert change(add=[alice.hex, carol.hex]) == {"added": 1, "removed": 0, "left": [alice.hex], "unknown": [], "full": []}
    assert reached({"group": "beta", "app": "default"}) == {phones[bob], phones[carol]}
    # Both a restart and a sender's word leave that as it is; the user's own ends it.
    router.stop()
    console.start()
    assert change(remove=[bob.hex, alice.hex])["removed"] == 1 and change(add=[alice.hex])["left"] == [alice.hex]
    assert me.ask("/v1/me/groups/default/beta", "POST")["groups"][0]["group"] == "beta"
    assert members() == sorted([alice.hex, carol.hex])
    me.ask("/v1/me/groups/default/none", "POST", status=404)
    me.ask("/v1/me/groups/other/beta", "POST", status=404)
    Me(console, dave).ask("/v1/me/groups/default/beta", "POST", status=404)
    # Whoever has no device any more is in no group.
    with Socket(router) as socket:
        socket.publish(carol.registration(router, None))
    wait_until(lambda: members() == [alice.hex], "carol is out")

    assert "group" in change(400, group="a%20b", add=[])["detail"]
    assert "add/0" in change(400, add=["alice"])["detail"]
    assert "add" in change(400, add=[alice.hex] * 2501)["detail"]
    mistakes = sender.send({"to": {"group": "beta"}, "title": "x"}, status=422)["errors"]
    assert [mistake["pointer"] for mistake in mistakes] == ["#/to/app"]
    nobody = sender.send({"to": {"group": "nobody-is-in-it", "app": "default"}, "title": "x"})["id"]
    assert sender.show(nobody)["devices"] == []


def test_forged_events_are_distinguished_from_genuine_ones(alice):
    """The next tests rely on that."""
    event = alice.event(1, 'a "note"\nwith ü', [["t", "x"]])
    assert is_genuine(json.dumps(event))
    for change in [{"sig": "0" * 128}, {"id": "0" * 64}, {"content": "another"}, {"pubkey": "1" * 64}, {"relay": "x"}]:
        assert not is_genuine(json.dumps(event | change))


def test_filters_see_whole_events_that_the_router_signed(router, lab, alice, bob, tmp_path):
    """Also those that a reload switched on; and a request to many accounts is several events."""
    witness = Witness(router, tmp_path / "witness")
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        for person in (alice, bob):
            content = ios(device_token(), mode="alert", filters={"news": True})
            socket.publish(person.registration(router, content))
    sender.send({"to": {"account": alice.hex}, "title": "nobody sees it"})
    lab.accepted(1)
    assert witness.lines == []
    us = router.public_key

    router.configuration["filter_plugins"] = FILTERS
    run = carillon("reload", "--config", router.configuration_file)
    assert run.returncode == 0, run.stderr
    strangers = [f"{number:064x}" for number in range(1, 200)]
    requests = [
        {"to": {"account": alice.hex}, "title": 'the "first" ü🔔', "body": "two\nlines"},
        {"to": {"accounts": [alice.hex, bob.hex, *strangers]}, "title": "to many"},
        {"to": {"account": bob.hex}, "template": "news", "values": {"headline": 'a "late" ü🔔', "lead": "\u2028\\"}},
    ]
    ids = [sender.send(request)["id"] for request in requests]
    lab.accepted(5)
    assert router.stop() == 0
    for stage in ["early", "late"]:
        seen = witness.events(stage)
        assert len(seen) == 4
        for recipient, text in seen:
            event = json.loads(text)
            assert is_genuine(text), text
            assert (event["kind"], event["pubkey"], event["content"]) == (20063, us, "")
            assert abs(event["created_at"] - time.time()) < 600
            people = [tag[1] for tag in event["tags"] if tag[0] == "p"]
            assert recipient in people and len(people) <= 100
        tags = [(recipient, tag) for recipient, text in seen for tag in json.loads(text)["tags"]]
        of_requests = [(tag[1], recipient) for recipient, tag in tags if tag[0] == "request"]
        expected = [(ids[0], alice.hex), (ids[1], alice.hex), (ids[1], bob.hex), (ids[2], bob.hex)]
        assert sorted(of_requests) == sorted(expected)
        for tag in (["headline", 'a "late" ü🔔'], ["lead", "\u2028\\"]):
            assert (bob.hex, tag) in tags
    # What a notification says is in no event, but for the values of a template.
    assert not any("first" in text or "lines" in text for _, _, text in witness.lines)


def test_requested_notifications_are_not_among_the_kept_events(router, lab, alice, bob):
    """No rule of an event decided about it, so that there is nothing to try other rules on."""
    router.configuration["trace"] = {"keep_events_hours": 24}
    notes = '  - { name: note, match: { kinds: [1] }, signal: mention, title: "A note" }\n'
    (router.folder / "rules.yaml").write_text(RULES + notes)
    sender = Sender(Console(router).start())
    with Socket(router) as socket:
        content = ios(device_token(), mode="alert", filters={"news": True, "mention": True})
        socket.publish(alice.registration(router, content))
        sender.send({"to": {"account": alice.hex}, "title": "asked for"})
        sender.send({"to": {"account": alice.hex}, "template": "news", "values": {"headline": "asked for", "lead": "x"}})
        # What came before it is written with it.
        note = bob.note("an event", alice)
        socket.publish(note)
    lab.accepted(3)
    assert sender.description.ask("/v1/rules/diff", "POST", body={})["events"] == 1
    assert router.stop() == 0
    with sqlite3.connect(router.folder / "carillon.sqlite-events") as database:
        assert [json.loads(event)["id"] for (event,) in database.execute("SELECT event FROM events")] == [note["id"]]
