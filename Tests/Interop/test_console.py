"""What the console asks for beside the rest of the API: sessions, rules that are saved, listeners."""

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from console import Console
from programs import carillon, wait_until
from test_api_v1 import Description

SAME = {"sec-fetch-site": "same-origin"}


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router).start()


class Browser:
    """Keeps the cookie, and says where requests come from, as browsers do."""

    def __init__(self, console: Console):
        self.console = console
        self.cookie = ""
        self.attributes: set[str] = set()

    def ask(self, path: str, method: str = "GET", body: dict | None = None, **fields) -> tuple[int, dict]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.console.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json", "user-agent": "A browser <b>", **(fields.get("headers") or SAME)},
        )
        if self.cookie:
            request.add_header("cookie", f"other=1; {self.cookie}")
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            if set_cookie := answer.headers.get("set-cookie"):
                self.cookie, *attributes = set_cookie.split("; ")
                self.attributes = set(attributes)
            return answer.status, json.load(answer)

    def sign_in(self, token: str) -> "Browser":
        status, answer = self.ask("/v1/session", "POST", {"token": token})
        assert status == 200 and answer["is_signed_in"] and answer["is_session"], answer
        return self


def token(console: Console, name: str, *scopes: str) -> str:
    options = [part for scope in scopes for part in ("--scope", scope)]
    made = carillon(
        "tokens", "create", name, *options, "--json", "--config", console.router.folder / "carillon.yaml"
    )
    return json.loads(made.stdout)["token"]


def test_pages_are_public_and_use_no_client_limit(console):
    for _ in range(40):
        for path in ["/console/", "/console/console.js", "/me/"]:
            assert console.ask(path, token=None)[0] == 200, path
    assert "Carillon" in console.ask("/console", token=None)[1]
    assert console.ask("/console/", "POST", token=None)[0] == 405
    assert console.ask("/console/none", token=None)[0] == 404


def test_a_browser_signs_in_and_out(console):
    browser = Browser(console)
    assert browser.ask("/v1/session")[1] == {"is_signed_in": False, "scopes": [], "is_session": False}
    assert browser.ask("/v1/session", "POST", {"token": "x" * 43})[0] == 403
    assert browser.cookie == ""
    browser.sign_in(token(console, "deploy", "read", "operate"))
    assert browser.cookie.startswith("__Host-carillon=")
    assert browser.attributes == {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"}
    who = browser.ask("/v1/session")[1]
    assert who == {"is_signed_in": True, "name": "deploy", "means": "token", "scopes": ["read", "operate"], "is_session": True}
    assert browser.ask("/v1/status")[0] == 200 and browser.ask("/v1/reload", "POST")[0] == 200
    former = browser.cookie
    assert browser.ask("/v1/session", "DELETE")[0] == 200
    assert browser.cookie == "__Host-carillon=" and "Max-Age=0" in browser.attributes
    browser.cookie = former
    assert browser.ask("/v1/status")[0] == 401
    assert former.split("=", 1)[1] not in console.router.log_text


def test_other_sites_cannot_sign_in_or_change_anything(console):
    browser = Browser(console).sign_in(console.token)
    for headers in [
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"},
        {"origin": "null"}, {"accept": "*/*"},
    ]:
        for path, method in [("/v1/reload", "POST"), ("/v1/devices/1", "DELETE"), ("/v1/session", "DELETE")]:
            assert browser.ask(path, method, headers=headers)[0] == 403, (headers, path)
    stranger = Browser(console)
    body = {"token": console.token}
    assert stranger.ask("/v1/session", "POST", body, headers={"sec-fetch-site": "cross-site"})[0] == 403
    assert stranger.cookie == ""
    assert browser.ask("/v1/reload", "POST")[0] == 200


def test_sessions_have_their_tokens_scopes_and_end_with_them(console):
    reader = Browser(console).sign_in(token(console, "reader", "read"))
    boss = Browser(console).sign_in(console.token)
    assert reader.ask("/v1/reload", "POST")[0] == 403 and reader.ask("/v1/rules/save", "POST", {})[0] == 403
    [own] = reader.ask("/v1/sessions")[1]["sessions"]
    assert own["name"] == "reader" and own["is_own"] and own["browser"] == "A browser <b>"
    everybody = {each["name"]: each for each in boss.ask("/v1/sessions")[1]["sessions"]}
    assert set(everybody) == {"reader", "the token file"}
    # Whoever may only look ends nobody else's.
    assert reader.ask(f"/v1/sessions/{everybody['the token file']['id']}", "DELETE")[0] == 404
    assert boss.ask(f"/v1/sessions/{own['id']}", "DELETE")[0] == 200
    assert reader.ask("/v1/status")[0] == 401
    again = Browser(console).sign_in(token(console, "other", "read"))
    carillon("tokens", "revoke", "other", "--config", console.router.folder / "carillon.yaml")
    assert again.ask("/v1/status")[0] == 401
    # Sessions are as they are described.
    description = Description(console)
    description.judge("/v1/sessions", "GET", *boss.ask("/v1/sessions"))
    description.judge("/v1/session", "GET", *boss.ask("/v1/session"))


def test_rules_are_shown_and_saved(stopped_router):
    file = stopped_router.folder / "rules.yaml"
    rules = 'version: 1\nrules:\n  - { name: note, match: { kinds: [1] }, title: "A note", body: "one" }\n'
    file.write_text(rules)
    file.chmod(0o640)
    stopped_router.configuration["rules"] = ["rules.yaml"]
    console = Console(stopped_router).start()
    api = Description(console)
    [shown] = api.ask("/v1/rules")["files"]
    assert shown["text"] == rules and shown["is_writable"] and shown["name"].endswith("rules.yaml")
    other = rules.replace('"one"', '"two"')
    save = {"file": shown["name"], "rules": other, "digest": shown["digest"]}
    assert api.ask("/v1/rules/save", "POST", 422, body=save | {"rules": "version: 1\nruels: []\n"})["mistakes"]
    api.ask("/v1/rules/save", "POST", 400, body=save | {"file": "/etc/passwd"})
    api.ask("/v1/rules/save", "POST", 409, body=save | {"digest": "of something else"})
    assert file.read_text() == rules
    [saved] = api.ask("/v1/rules/save", "POST", body=save)["files"]
    assert saved["text"] == other == file.read_text() and file.stat().st_mode & 0o777 == 0o640
    tried = api.ask("/v1/rules/try", "POST", body={"fixture": "reply", "platforms": ["ios"]})
    assert '"body":"two"' in tried["platforms"]["ios"]["body"]
    # A configuration that is broken meanwhile takes the rules back.
    stopped_router.configuration["no such key"] = 1
    assert stopped_router.configuration_file.exists()
    api.ask("/v1/rules/save", "POST", 422, body=save | {"digest": saved["digest"], "rules": rules})
    assert file.read_text() == other and [path.name for path in file.parent.glob("rules.yaml*")] == ["rules.yaml"]


def test_the_built_in_rules_are_shown(console):
    api = Description(console)
    [shown] = api.ask("/v1/rules")["files"]
    assert shown["name"] == "" and not shown["is_writable"]
    assert api.ask("/v1/rules/check", "POST", body={"rules": shown["text"]})["is_valid"]
    fixtures = api.ask("/v1/rules/fixtures")["fixtures"]
    assert {"reply", "zap"} <= {fixture["name"] for fixture in fixtures}


def test_listeners_are_counted(console):
    api = Description(console)

    def looked_at():
        return {listener["listener"]: listener for listener in api.ask("/v1/listeners")["listeners"]}

    listeners = looked_at()
    assert listeners["api"]["is_open"] and listeners["api"]["connections"] >= 1
    assert listeners["socket"]["refused"]["messages"] == 0

    def refuses_strangers() -> bool:
        # A busy machine answers so slowly that the first sixty may stay within the limit of requests per second.
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: console.ask("/v1/status", token="x" * 43), range(60)))
        return looked_at()["api"]["refused"]["requests"] > 0

    wait_until(refuses_strangers, "strangers are counted")
