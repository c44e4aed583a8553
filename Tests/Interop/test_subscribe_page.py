"""The page /subscribe as a browser uses it: by the same HTTP and the same relay calls, with a browser's keys by http_ece."""

import http.client
import json
import re
import urllib.parse

import pytest

from lab import Received
from nostr import ADDRESSABLE_REGISTRATION, ALL_SIGNALS, Socket
from subscriptions import App

PAGE = "/subscribe/"


@pytest.fixture
def router(stopped_router):
    stopped_router.configuration["subscribe"] = {"client": "https://app.example.com/{nevent}"}
    return stopped_router.start()


def ask(router, path: str, method: str = "GET", **headers) -> tuple[int, dict, bytes]:
    """One request as it stands: no redirect is followed."""
    connection = http.client.HTTPConnection("127.0.0.1", router.port, timeout=30)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def browse(router, path: str) -> dict[str, bytes]:
    """Loads a page and everything that it names, as a browser does; all must be there and of the type that `nosniff` asks for."""
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        status, headers, body = ask(router, path)
        assert status == 200, (path, status)
        found[path] = body
        kind = headers["content-type"].split(";")[0]
        wanted = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "png": "image/png"}
        assert kind == wanted.get(path.rsplit(".", 1)[-1], kind)
        text = body.decode(errors="replace")
        links = []
        if kind == "text/html":
            links = re.findall(r'(?:src|href)="([^"#]+)"', text)
        elif kind == "text/javascript":
            links = re.findall(r'^import .*?"([^"\n]+)"', text, flags=re.M)
            links += re.findall(r'createScriptURL\("([^"]+)"\)', text)
        waiting += [urllib.parse.urljoin(path, link) for link in links]
    return found


def test_a_browser_signs_up(router, lab, alice, bob):
    """What the page does, step by step, up to the message that its service worker gets."""
    files = browse(router, PAGE)
    assert {"/subscribe/page.js", "/subscribe/worker.js", "/subscribe/notes.js", "/subscribe/style.css"} <= files.keys()
    settings = json.loads(ask(router, "/subscribe/settings.json")[2])
    assert settings["app"] == "default" and settings["client"] == "https://app.example.com/{nevent}"
    # The page asks one folder up, where the socket is.
    information = json.loads(ask(router, urllib.parse.urljoin(PAGE, "../notification-relay.json"))[2])
    assert information["pubkey"] == router.public_key and "web" in information["platforms"]
    [key, *_] = information["apps"][settings["app"]]["web"]["vapid_public_keys"]
    assert key == lab.addresses["webpush"]["application_server_key"]
    app = App()
    subscription = {"endpoint": lab.subscribe(app, "browser"), "expirationTime": None, "keys": app.keys}
    wishes = {
        "platform": "web", "mode": "sealed", "locale": "en", "filters": ALL_SIGNALS, "subscription": subscription,
        "quiet": {"start": "04:00", "end": "04:01", "tz": "Europe/Berlin"},
    }  # fmt: skip
    event = alice.registration(router, wishes, device="web-aBcDeFgHiJ", kind=ADDRESSABLE_REGISTRATION)
    with Socket(router, origin=f"http://127.0.0.1:{router.port}") as socket:
        assert socket.offer(event) == (True, "")
        note = bob.note("hello", alice)
        socket.publish(note)
        message = opened(app, lab.accepted(1)[-1])
        assert message["t"] == "mention" and "hello" in message["notification"]["body"]
        assert message["notification"]["data"]["event_id"] == note["id"]
        # To sign out the page sends the same without content.
        assert socket.offer(alice.registration(router, None, device="web-aBcDeFgHiJ", kind=ADDRESSABLE_REGISTRATION))[0]
        socket.publish(bob.note("to nobody", alice))
    router.stop()
    assert len(lab.received()) == 1


@pytest.mark.parametrize("mode", ["wake", "nudge", "alert"])
def test_the_worker_gets_the_message_of_each_mode(router, lab, alice, bob, mode):
    app = App()
    wishes = {"platform": "web", "mode": mode, "filters": ALL_SIGNALS}
    wishes["subscription"] = {"endpoint": lab.subscribe(app, "browser"), "keys": app.keys}
    with Socket(router) as socket:
        socket.publish(alice.registration(router, wishes, device="web-1", kind=ADDRESSABLE_REGISTRATION))
        socket.publish(bob.note("hello", alice))
    message = opened(app, lab.accepted(1)[-1])
    match mode:
        case "wake":
            assert message == {"t": "mention"}
        case "nudge":
            assert message["notification"]["title"] and "hello" not in json.dumps(message)
        case "alert":
            assert "hello" in message["notification"]["body"]


def opened(app: App, push: Received) -> dict:
    return json.loads(app.decrypt(push.body))


def test_the_policy_keeps_everything_else_out(router):
    _, headers, body = ask(router, PAGE)
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    # Besides the router only relays of remote signers, with TLS.
    assert policy["connect-src"] == "'self' wss:"
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers
    assert b"<script>" not in body and b" style=" not in body


def test_a_second_visit_uses_the_cache(router):
    for path in browse(router, PAGE):
        status, headers, body = ask(router, path)
        again = ask(router, path, if_none_match=headers["etag"])
        assert (again[0], again[2]) == (304, b"") and again[1]["etag"] == headers["etag"]
        assert ask(router, path, "HEAD")[1]["content-length"] == str(len(body))


def test_other_requests_are_refused(router):
    assert ask(router, "/subscribe")[:1] == (308,) and ask(router, "/subscribe")[1]["location"] == "subscribe/"
    assert ask(router, "/subscribe/none.js")[0] == 404
    assert ask(router, PAGE, "POST")[0] == 405
    assert ask(router, "/subscribe/../../etc/passwd")[2] != b"root"
    assert ask(router, PAGE, accept="application/nostr+json")[1]["content-type"] == "application/nostr+json"
    with Socket(router):
        pass


def test_without_the_block_there_is_no_page(stopped_router):
    stopped_router.start()
    status, headers, body = ask(stopped_router, PAGE)
    assert status == 200 and body.startswith(b"This is a Nostr notification relay.")
    assert headers["content-type"].startswith("text/plain")
