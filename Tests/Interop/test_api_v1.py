"""The API, version 1. Its own description is compared with its answers by jsonschema, and attacked by schemathesis."""

import json
import re
import subprocess
import sys

import jsonschema
import pytest

from console import Console
from nostr import Socket, device_token, ios
from programs import carillon, wait_until


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router)


def command(router, *arguments) -> subprocess.CompletedProcess:
    return carillon(*arguments, "--config", router.folder / "carillon.yaml")


def closed(schema):
    """The same schema, where an object has no members but those that are described."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: closed(each) for name, each in schema.items()}
    if "properties" in result:
        result.setdefault("additionalProperties", False)
    return result


class Description:
    """openapi.json, and answers compared with it."""

    def __init__(self, console: Console):
        self.console = console
        status, text = console.ask("/v1/openapi.json", token=None)
        assert status == 200
        self.document = json.loads(text)
        self.seen: set[tuple[str, str]] = set()

    def operation(self, path: str, method: str) -> dict:
        for template, methods in sorted(self.document["paths"].items(), key=lambda item: "{" in item[0]):
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, path.split("?")[0]) and method.lower() in methods:
                self.seen.add((method, template))
                return methods[method.lower()]
        raise AssertionError(f"{method} {path} is not described")

    def judge(self, path: str, method: str, status: int, answer: dict):
        operation = self.operation(path, method)
        if status < 300:
            schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
        else:
            assert str(status) not in operation["responses"]
            schema = self.document["components"]["schemas"]["Problem"] | {"additionalProperties": True}
        jsonschema.Draft202012Validator(closed(schema)).validate(answer)

    def ask(self, path: str, method: str = "GET", status: int = 200, **more) -> dict:
        got, answer = self.console.json(path, method, **more)
        assert got == status, answer
        self.judge(path, method, got, answer)
        return answer


def test_responses_match_the_api_description(console, stopped_router, lab, alice, bob):
    stopped_router.configuration["relays"] = {"always": ["ws://127.0.0.1:1"]}
    console.start()
    api = Description(console)
    jsonschema.Draft202012Validator.check_schema(api.document["components"]["schemas"]["Problem"])
    token = device_token()
    message = bob.message("hello", alice)
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(token)), message)
        stopped_router.wait_for_deliveries(1)
    [device] = api.ask("/v1/devices")["devices"]
    number = device["device"]
    assert api.ask("/v1/status")["pushes"]["total"] == 1
    assert [issue["code"] for issue in api.ask("/v1/issues")["issues"]] == ["no-relay"]
    explained = wait_until(
        lambda: "delivered" in json.dumps(answer := api.ask(f"/v1/events/{message['id']}/explain")) and answer,
        "the trace tells that it was delivered",
    )
    assert explained["accounts"][0]["npub"] == device["npub"]
    api.ask(f"/v1/events/{message['id']}/explain?recipient={alice.hex}")
    api.ask(f"/v1/devices?account={alice.hex}&limit=1")
    assert api.ask(f"/v1/devices/{number}")["last_success"]["outcome"] == "delivered"
    assert api.ask(f"/v1/devices/{number}/test?mode=nudge", "POST")["outcome"] == "delivered"
    assert api.ask(f"/v1/devices/{number}/resend", "POST")["retried"] == 0
    assert not api.ask(f"/v1/devices/{number}/enable", "POST")["was_off"]
    assert api.ask("/v1/groups/beta?app=default", "POST", body={"add": [alice.hex]})["added"] == 1
    assert api.ask("/v1/groups?app=default")["groups"] == [{"group": "beta", "members": 1}]
    assert api.ask("/v1/groups/beta?app=default")["accounts"] == [alice.hex]
    api.ask("/v1/rules/diff", "POST", status=409, body={})
    assert api.ask("/v1/queue")["deliveries"] == []
    api.ask("/v1/queue/retry?all=true&dry_run=true", "POST")
    api.ask("/v1/queue/drop?all=true&dry_run=true", "POST")
    api.ask("/v1/queue/retry", "POST", status=400)
    api.ask("/v1/queue/none", status=404)
    assert [relay["url"] for relay in api.ask("/v1/relays")["relays"]] == ["ws://127.0.0.1:1"]
    api.ask("/v1/relays?containing=127")
    api.ask("/v1/relays/block?subject=wss://relay.example.com&reason=test", "POST")
    api.ask("/v1/relays/unblock?subject=wss://relay.example.com", "POST")
    assert api.ask("/v1/users")["users"][0]["account"] == alice.hex
    assert api.ask(f"/v1/users/{alice.hex}")["devices"][0]["device"] == number
    api.ask(f"/v1/users/block?subject={bob.hex}&seconds=60", "POST")
    assert api.ask("/v1/users/rules")["rules"]
    api.ask(f"/v1/users/unblock?subject={bob.hex}", "POST")
    api.ask(f"/v1/users/allow?subject={bob.hex}", "POST")
    api.ask(f"/v1/users/disallow?subject={bob.hex}", "POST")
    api.ask("/v1/plugins")
    api.ask("/v1/cluster", status=404)
    api.ask("/v1/cluster/drain?member=other", "POST", status=404)
    api.ask("/v1/cluster/move?partition=1&member=other", "POST", status=404)
    api.ask("/v1/logs")
    api.ask("/v1/logs?component=all&level=debug&seconds=60", "POST")
    api.ask("/v1/stats?days=2&by=platform")
    assert api.ask("/v1/reload", "POST")["reloaded"]
    stopped_router.configuration["no such key"] = 1
    assert stopped_router.configuration_file.exists()
    assert api.ask("/v1/reload", "POST", status=422)["mistakes"]
    api.ask("/healthz")
    listeners = {listener["listener"]: listener for listener in api.ask("/v1/listeners")["listeners"]}
    assert listeners["socket"]["is_open"] and listeners["socket"]["events"] >= 2 and not listeners["ingress"]["is_open"]
    assert api.ask("/v1/signals")["signals"][0]["is_built_in"]
    assert [each["text"][:1] for each in api.ask("/v1/rules")["files"]] == ["#"]
    assert api.ask("/v1/rules/fixtures")["fixtures"]
    api.ask("/v1/cluster", status=404)
    assert api.ask("/v1/session")["is_signed_in"] and api.ask("/v1/sessions")["sessions"] == []
    assert api.ask("/v1/rules/check", "POST", body={"rules": "version: 1\nrules: []\n"})["is_valid"]
    mistakes = api.ask("/v1/rules/check", "POST", body={"rules": "version: 1\nruels: []\n"})["mistakes"]
    assert any(mistake["line"] == 2 and "did you mean 'rules'?" in mistake["message"] for mistake in mistakes)
    tried = api.ask("/v1/rules/try", "POST", body={"fixture": "reply", "platforms": ["ios"]})
    assert tried["signal"] == "reply" and "aps" in tried["platforms"]["ios"]["body"]
    quiet = "version: 1\nrules:\n  - { name: none, match: { kinds: [1] }, drop: true }\n"
    assert not api.ask("/v1/rules/try", "POST", body={"fixture": "reply", "rules": quiet})["wakes"]
    api.ask("/v1/rules/try", "POST", status=422, body={"fixture": "reply", "rules": "nonsense"})
    api.ask("/v1/rules/try", "POST", status=400, body={"fixture": "none"})
    api.ask(f"/v1/devices/{number}", "DELETE")
    api.ask(f"/v1/devices/{number}", status=404)
    described = {
        (method.upper(), path)
        for path, methods in api.document["paths"].items()
        for method in methods
        # Those have tests of their own.
        if not path.startswith(("/v1/me", "/v1/notify", "/v1/stream"))
    }
    others = {("GET", path) for path in ["/readyz", "/metrics", "/v1/openapi.json", "/v1/docs", "/v1/queue/{id}"]}
    # What is tried in test_console.py.
    others |= {("POST", "/v1/rules/save"), ("POST", "/v1/session"), ("DELETE", "/v1/session")}
    others |= {("DELETE", "/v1/sessions/{session}")}
    assert described - api.seen <= others
    texts = json.dumps(api.document) + console.ask("/v1/docs", token=None)[1]
    assert token not in texts and console.token not in texts


def test_examples_of_signals(console, lab):
    console.start()
    signals = {each["signal"]: each for each in Description(console).ask("/v1/signals?examples=true")["signals"]}
    assert signals["zap"]["example"]["platforms"]["ios"]["method"] == "POST"
    assert all("example" in signals[name] for name in ["dm", "mention", "reply", "reaction", "repost", "follow"])


def test_the_page_loads_only_from_the_router(console):
    console.start()
    status, page = console.ask("/v1/docs", token=None)
    assert status == 200 and "/v1/devices/{device}/test" in page
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page) and "<script" not in page


def test_schemathesis_finds_no_errors(console, stopped_router, alice):
    """With a token for everything, but without what would change the router's state for the requests that follow."""
    console.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())))
    run = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{console.port}/v1/openapi.json",
            "--header", f"Authorization: Bearer {console.token}", "--max-examples", "4", "--seed", "7",
            "--exclude-path-regex", "^/v1/(rules/(try|diff)|signals|me|stream)", "--exclude-path", "/v1/reload", "--no-color",
            # One worker: with two, ast.parse of CPython 3.11 mixes up their depths (SystemError).
            "--phases", "examples,coverage,fuzzing", "--workers", "1", "--generation-database", "none",
            "--continue-on-failure",
            # A request may be as described and mean nothing: a key that is none, or no selection at all.
            # Wrong tokens get 401, and 429 when many come; the test of strangers tries them one by one.
            "--exclude-checks", "positive_data_acceptance,ignored_auth",
        ],
        cwd=stopped_router.folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    # What it sends is long here and there.
    told = re.sub(r"(.)\1{99,}", r"\1…", run.stdout)
    assert run.returncode == 0, told[-20_000:] + run.stderr[-2_000:]
    assert re.search(r"[1-9]\d* generated", run.stdout), run.stdout[-2000:]


def test_tokens_have_scopes(console, stopped_router, alice):
    console.start()
    made = command(stopped_router, "tokens", "create", "reader", "--scope", "read")
    assert made.returncode == 0, made.stderr
    reader = made.stdout.splitlines()[0]
    assert json.loads(command(stopped_router, "tokens", "list", "--json").stdout)["tokens"][0]["name"] == "reader"
    assert reader[4:] not in (stopped_router.folder / "carillon.sqlite-tokens").read_text()
    for path, method, status in [
        ("/v1/status", "GET", 200), ("/metrics", "GET", 200),
        ("/v1/reload", "POST", 403), ("/v1/devices/1", "DELETE", 403),
        ("/v1/queue/drop?all=1", "POST", 403), ("/v1/logs?component=all&level=trace", "POST", 403),
    ]:
        assert console.ask(path, method, reader)[0] == status, path
    operator = json.loads(
        command(
            stopped_router, "tokens", "create", "deploy", "--scope", "operate", "--for", "1h", "--json"
        ).stdout
    )["token"]
    assert console.ask("/v1/reload", "POST", operator)[0] == 200
    assert console.ask("/v1/status", token=operator)[0] == 403
    used = wait_until(
        lambda: json.loads(command(stopped_router, "tokens", "list", "--json").stdout)["tokens"][0].get("last_used_at"),
        "the last use is written down",
    )
    assert used.endswith("Z")
    assert command(stopped_router, "tokens", "revoke", "reader").returncode == 0
    assert console.ask("/v1/status", token=reader)[0] == 401
    assert command(stopped_router, "tokens", "revoke", "reader").returncode == 1
    assert reader not in stopped_router.log_text and operator not in stopped_router.log_text


def test_a_proxy_signs_users_on(stopped_router):
    stopped_router.configuration_file
    console = Console(
        stopped_router,
        trusted_proxies=["127.0.0.1"],
        sign_on={"header": "X-Forwarded-User", "users": {"alice": ["read", "operate"], "*": "read"}},
    ).start()

    def ask(path, method="GET", **headers):
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return console.ask(path, method, token=None, headers=named)[0]

    assert ask("/v1/status") == 401
    assert ask("/v1/status", x_forwarded_user="bob") == 200
    assert ask("/v1/reload", "POST", x_forwarded_user="bob") == 403
    assert ask("/v1/reload", "POST", x_forwarded_user="alice") == 200
    assert ask("/v1/reload", "POST", x_forwarded_user="alice", sec_fetch_site="cross-site") == 403
    assert ask("/v1/reload", "POST", x_forwarded_user="alice", origin="https://evil.example") == 403


def test_sign_on_requires_trusted_proxies(stopped_router):
    Console(stopped_router, sign_on={"header": "X-User", "users": {"*": "all"}})
    checked = carillon("check", "--config", stopped_router.configuration_file)
    assert checked.returncode == 1
    assert "expected trusted_proxies too" in checked.stderr and "expected read, operate, send" in checked.stderr
