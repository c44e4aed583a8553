"""Each endpoint of the API, tried by those who may not. The list is the API's own description, so that a new endpoint is tried as well."""

import itertools
import json
import re
import urllib.error
import urllib.request

import pytest

from console import Console
from nostr import Person
from programs import carillon
from test_me import proof

SCOPES = ["read", "operate", "send"]
OPEN = {"/healthz", "/readyz", "/v1/openapi.json", "/v1/docs", "/v1/session"}
"""A session tells nothing without its cookie, and begins with a token alone: test_console tries that."""


class Door:
    """An API behind a proxy that signs people on. Each request comes from an address of its own, so that none is slowed down."""

    def __init__(self, router):
        self.console = Console(
            router,
            trusted_proxies=["127.0.0.1"],
            sign_on={"header": "X-Forwarded-User", "users": {"alice": SCOPES}},
        ).start()
        self.tokens = {
            scope: json.loads(
                carillon(
                    "tokens", "create", scope, "--scope", scope, "--json", "--config", router.folder / "carillon.yaml"
                ).stdout
            )["token"]
            for scope in SCOPES
        }
        document = self.console.json("/v1/openapi.json", token=None)[1]
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        self._addresses = itertools.count(1)

    def ask(self, method: str, path: str, **headers) -> tuple[int, dict, str]:
        number = next(self._addresses)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields["x-forwarded-for"] = f"203.0.{number // 250}.{number % 250 + 1}"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.console.port}{path}", method=method, headers=fields,
            data=b"{}" if method in ("POST", "PATCH") else None,
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, dict(answer.headers), ""
        except urllib.error.HTTPError as answer:
            return answer.code, {name.lower(): value for name, value in answer.headers.items()}, answer.read().decode()


@pytest.fixture
def door(stopped_router):
    return Door(stopped_router)


def target(path: str) -> str:
    return re.sub(r"\{\w+\}", "1", path)


def test_each_endpoint_refuses_unauthorized_clients(door):
    tried = 0
    for method, path, operation in door.operations:
        place = target(path)
        if not operation["security"]:
            assert path in OPEN, f"{method} {path} is open to everybody"
            continue
        tried += 1
        scheme = "bearer" if "x-scope" in operation else "nostr"
        for authorization in [None, "Bearer " + "x" * 43, "Bearer ", "Basic YTpi", "Nostr e30=", "nonsense"]:
            headers = {"authorization": authorization} if authorization else {}
            status, fields, body = door.ask(method, place, **headers)
            assert status == 401, (method, path, authorization, status)
            assert fields["www-authenticate"].lower() == scheme
            assert json.loads(body)["status"] == 401 if place.startswith("/v1") else True
        # A name in the proxy's field from elsewhere than the proxy counts for nothing; here all come through it.
        for scope, token in door.tokens.items():
            if scope != operation.get("x-scope"):
                status, _, body = door.ask(method, place, authorization=f"Bearer {token}")
                assert status == 403, (method, path, scope, status)
                assert token not in body
    assert tried > 30


def test_a_proof_is_valid_once_for_one_owner_and_request(door):
    url = f"http://127.0.0.1:{door.console.port}"
    owners = 0
    for method, path, operation in door.operations:
        if not operation["security"]:
            continue
        place = target(path)
        body = b"{}" if method in ("POST", "PATCH") else b""
        good = proof(Person(), url + place, method, body)
        first, _, _ = door.ask(method, place, authorization=good)
        if "x-scope" in operation:
            # Nobody's signature opens what is the operator's.
            assert first == 401, (method, path)
            continue
        owners += 1
        assert first != 401, (method, path)
        assert door.ask(method, place, authorization=good)[0] == 401, f"{method} {path} took a proof twice"
        for other in [
            proof(Person(), url + place + "x", method, body), proof(Person(), "https://evil.example" + place, method, body),
            proof(Person(), url + place, "PUT", body), proof(Person(), url + place, method, b"another body"),
        ]:
            assert door.ask(method, place, authorization=other)[0] == 401, (method, path)
    assert owners >= 5


def test_other_sites_can_neither_read_nor_write(door):
    for method, path, operation in door.operations:
        if not operation["security"]:
            continue
        place = target(path)
        asked, fields, _ = door.ask(
            "OPTIONS", place, origin="https://evil.example", access_control_request_method=method
        )
        names = {name.lower() for name in fields}
        if "x-scope" not in operation:
            # Clients on the web sign each request; no browser adds anything by itself.
            assert "access-control-allow-credentials" not in names
            continue
        assert not any(name.startswith("access-control-allow") for name in names), (method, path)
        if method == "GET":
            if path == "/v1/stream":
                continue
            _, fields, _ = door.ask(method, place, x_forwarded_user="alice", origin="https://evil.example")
            assert not any(name.lower().startswith("access-control-allow") for name in fields), path
            continue
        # A browser is signed on at the proxy for whatever it sends.
        for headers in [{"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"}, {"origin": "https://evil.example"}]:
            status, _, _ = door.ask(method, place, x_forwarded_user="alice", **headers)
            assert status == 403, (method, path, headers)
        status, _, _ = door.ask(method, place, x_forwarded_user="mallory", sec_fetch_site="same-origin")
        assert status == 401, (method, path)
