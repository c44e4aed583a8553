"""Requests from outside for plugins, through the router's API, by an HTTP client that is not ours."""

import http.client

import pytest

from console import Console
from programs import REPOSITORY, wait_until
from test_plugins import cc

FIXTURE = REPOSITORY / "Tests/PluginHostTests/Fixtures/many.c"


@pytest.fixture
def reached(stopped_router):
    """A router with a plugin in C that takes requests."""
    cc(FIXTURE, stopped_router.plugins / "many.so")
    stopped_router.configuration["apps"]["default"]["fixture"] = {}
    console = Console(stopped_router, public_url="https://push.example.com/")
    return console.start()


def ask(console: Console, method: str, path: str, body: bytes | None = None, **headers: str):
    """Status, headers and body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    found = answer.status, headers, answer.read().decode()
    connection.close()
    return found


def test_a_request_reaches_its_plugin(reached):
    status, headers, body = ask(
        reached, "POST", "/plugins/fixture/default/hook?a=1", b"hello", x_signature="v1", cookie="secret=1"
    )
    assert (status, headers["x-one"], headers["content-length"]) == (200, "1", str(len(body)))
    assert body.startswith("1 POST /hook?a=1|host=127.0.0.1:") and body.endswith("|5 bytes")
    assert "|x-signature=v1|" in body and "cookie" not in body
    assert ask(reached, "GET", "/plugins/fixture/default/url")[2] == "https://push.example.com/plugins/fixture/default"
    status, metrics = reached.ask("/metrics")
    assert 'carillon_transport_inbound_requests_total{platform="fixture",app="default",status="2xx"} 2' in metrics


def test_unknown_paths_get_the_same_response(reached):
    answers = [
        ask(reached, "GET", path)
        for path in ["/plugins/fixture/other", "/plugins/ios/default/x", "/plugins/nothing/default", "/plugins/", "/plugins"]
    ]
    assert {(status, body) for status, _, body in answers} == {(404, "")}
    assert len({tuple(headers) for _, headers, _ in answers}) == 1


def test_plugin_refusals_and_invalid_responses_get_their_status(reached):
    refusals = {"01": 400, "02": 503, "03": 404, "04": 500}
    for number, expected in refusals.items():
        assert ask(reached, "GET", f"/plugins/fixture/default/refuse/{number}")[0] == expected
    for number in range(16):
        assert ask(reached, "GET", f"/plugins/fixture/default/bad/{number:02}")[0] == 502, number
    assert ask(reached, "POST", "/plugins/fixture/default", b"x" * (256 * 1024 + 1))[0] == 413


def test_a_request_that_kills_the_plugin_is_answered(reached):
    assert ask(reached, "GET", "/plugins/fixture/default/crash")[0] == 502
    wait_until(lambda: ask(reached, "GET", "/plugins/fixture/default")[0] == 200, "the plugin runs again")


def test_requests_per_client_are_limited(reached):
    statuses = []
    while 429 not in statuses and len(statuses) < 2000:
        statuses.append(ask(reached, "GET", "/plugins/fixture/default", x_forwarded_for="192.0.2.1")[0])
    assert statuses[:100] == [200] * 100 and statuses[-1] == 429
    assert ask(reached, "GET", "/plugins/fixture/default", x_forwarded_for="192.0.2.2")[0] == 200


def test_plugin_paths_are_404_without_a_public_url(stopped_router):
    cc(FIXTURE, stopped_router.plugins / "many.so")
    stopped_router.configuration["apps"]["default"]["fixture"] = {}
    console = Console(stopped_router).start()
    assert ask(console, "GET", "/plugins/fixture/default")[0] == 404
