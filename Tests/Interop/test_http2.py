"""Apple's and Google's servers played on Python's h2, with tokens read by `cryptography`: nobody here wrote either."""

import json
import time
import urllib.parse
import uuid

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils
from h2.settings import SettingCodes

from authority import Authority
from http2_server import Answer, HTTP2Server, Request
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios
from proxy import ConnectProxy
from subscriptions import from_base64url


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def serve(authority):
    """Starts servers that stop with the test; none of them may have seen a breach of the protocol."""
    servers: list[HTTP2Server] = []

    def serve(answer, **options) -> HTTP2Server:
        server = HTTP2Server(authority.server(), answer, **options)
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.stop()
        assert server.breaches == []


@pytest.fixture
def router_towards(stopped_router, authority):
    """A running router whose apps' blocks are changed, and which trusts the tests' authority."""

    def start(**blocks):
        bundle = authority.folder / "bundle.pem"
        bundle.write_bytes(stopped_router.lab_ca_file.read_bytes() + authority.file.read_bytes())
        stopped_router.configuration["http"]["ca_file"] = str(bundle)
        for platform, changes in blocks.items():
            stopped_router.configuration["apps"]["default"][platform] |= changes
        return stopped_router.start()

    return start


def apple(request: Request) -> Answer:
    """Says yes, as Apple does."""
    return Answer(200, [("apns-id", request.header("apns-id"))])


def parts_of(token: str) -> tuple[dict, dict, bytes, bytes]:
    """Header, claims, what is signed, and the signature of a JSON Web Token (RFC 7519)."""
    header, claims, signature = token.split(".")
    signed = f"{header}.{claims}".encode()
    return json.loads(from_base64url(header)), json.loads(from_base64url(claims)), signed, from_base64url(signature)


def pushes(router, alice, bob, count: int, content: str = "hello") -> str:
    """Alice registers an iPhone, and Bob writes to her so often. Returns the phone's token."""
    token = device_token()
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(token, mode="alert")))
        socket.publish(*[bob.note(f"{content} {number}", alice) for number in range(count)])
    return token


def test_other_libraries_read_tokens_and_requests_for_apple(router_towards, lab, serve, alice, bob):
    server = serve(apple)
    router = router_towards(ios={"base_url": server.url})
    token = pushes(router, alice, bob, 3)
    requests = server.wait(3)
    assert server.connections == 1
    key = serialization.load_pem_private_key(open(lab.ios["key_file"], "rb").read(), None).public_key()
    for request in requests:
        assert request.header(":method") == "POST"
        assert request.header(":scheme") == "https"
        assert request.header(":authority") == server.url.removeprefix("https://")
        assert request.header(":path") == f"/3/device/{token}"
        assert request.header("apns-topic") == lab.ios["topic"]
        assert request.header("apns-push-type") == "alert"
        assert int(request.header("apns-expiration")) > time.time()
        assert str(uuid.UUID(request.header("apns-id"))) == request.header("apns-id")
        assert request.header("content-length") in [None, str(len(request.body))]
        assert json.loads(request.body)["aps"]["alert"]["body"].startswith("hello")
        scheme, jwt = request.header("authorization").split(" ")
        header, claims, signed, signature = parts_of(jwt)
        assert scheme.lower() == "bearer"
        assert header["alg"] == "ES256" and header["kid"] == lab.ios["key_id"]
        assert claims.keys() == {"iss", "iat"} and claims["iss"] == lab.ios["team_id"]
        assert abs(claims["iat"] - time.time()) < 60
        r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
        assert len(signature) == 64
        key.verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
    assert len({request.header("apns-id") for request in requests}) == 3
    assert len({request.header("authorization") for request in requests}) == 1


def test_device_tokens_are_not_in_header_compression_tables(router_towards, serve, alice, bob):
    """RFC 7541, section 7: what is indexed can be guessed by whoever shares the connection."""
    server = serve(apple)
    token = pushes(router_towards(ios={"base_url": server.url}), alice, bob, 5)
    identifiers = {request.header("apns-id") for request in server.wait(5)}
    assert ("apns-push-type", "alert") in server.indexed
    values = {value for _, value in server.indexed}
    assert not [value for value in values if token in value]
    # Apple asks for the first one to be indexed, so that the field's name is at hand for all others.
    assert len(values & identifiers) <= 1


AWKWARD_SETTINGS = {
    "windows of seven bytes": {SettingCodes.INITIAL_WINDOW_SIZE: 7},
    "no header table": {SettingCodes.HEADER_TABLE_SIZE: 0},
    "a small header table": {SettingCodes.HEADER_TABLE_SIZE: 96},
    "one stream": {SettingCodes.MAX_CONCURRENT_STREAMS: 1},
    "large frames and streams without end": {
        SettingCodes.MAX_FRAME_SIZE: 1_000_000,
        SettingCodes.MAX_CONCURRENT_STREAMS: 2**31 - 1,
    },
}


@pytest.mark.parametrize("settings", AWKWARD_SETTINGS.values(), ids=AWKWARD_SETTINGS.keys())
def test_settings_announced_by_a_server_are_obeyed(router_towards, serve, alice, bob, settings):
    server = serve(apple, settings=settings)
    router = router_towards(ios={"base_url": server.url})
    pushes(router, alice, bob, 20, content="x" * 2_000)
    requests = server.wait(20)
    assert len({request.header("apns-id") for request in requests}) == 20
    for request in requests:
        assert json.loads(request.body)["aps"]["alert"]["body"].startswith("xxx")
    router.wait_for_deliveries(20)


def test_long_headers_padding_and_many_small_answers_are_understood(router_towards, serve, alice, bob):
    """CONTINUATION (RFC 9113, section 6.10) and padding (section 6.1)."""

    def wordy(request: Request) -> Answer:
        headers = [("apns-id", request.header("apns-id")), ("x-wordy", "w" * 20_000)]
        return Answer(200, headers, body=b" " * 500, padding=200)

    server = serve(wordy)
    router = router_towards(ios={"base_url": server.url})
    pushes(router, alice, bob, 5)
    router.wait_for_deliveries(5)
    assert len(server.requests) == 5


def test_connections_that_end_in_order_lose_and_repeat_no_push(router_towards, serve, alice, bob):
    server = serve(apple, requests_per_connection=4, settings={SettingCodes.MAX_CONCURRENT_STREAMS: 2})
    router = router_towards(ios={"base_url": server.url})
    pushes(router, alice, bob, 20)
    router.wait_for_deliveries(20)
    identifiers = [request.header("apns-id") for request in server.requests]
    assert len(identifiers) == len(set(identifiers)) == 20
    assert server.connections >= 5


def test_other_libraries_read_assertions_and_messages_for_google(router_towards, lab, serve, tmp_path, alice, bob):
    account = json.loads(open(lab.android["service_account"]).read())
    key = serialization.load_pem_private_key(account["private_key"].encode(), None).public_key()
    grants: list[dict] = []

    def google(request: Request) -> Answer:
        if request.header(":path") != "/token":
            assert request.header("authorization") == f"Bearer ya29.{len(grants)}"
            return Answer(200, [("content-type", "application/json")], b'{"name":"projects/p/messages/1"}')
        assert request.header("content-type") == "application/x-www-form-urlencoded"
        form = urllib.parse.parse_qs(request.body.decode(), strict_parsing=True)
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        header, claims, signed, signature = parts_of(form["assertion"][0])
        assert header == {"alg": "RS256", "typ": "JWT", "kid": account["private_key_id"]}
        key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        grants.append(claims)
        answer = {"access_token": f"ya29.{len(grants)}", "expires_in": 3599, "token_type": "Bearer"}
        return Answer(200, [("content-type", "application/json")], json.dumps(answer).encode())

    server = serve(google)
    account["token_uri"] = f"{server.url}/token"
    file = tmp_path / "account.json"
    file.write_text(json.dumps(account))
    file.chmod(0o600)
    router = router_towards(android={"service_account": str(file), "base_url": server.url})
    device = lab.android_token()
    with Socket(router) as socket:
        content = {"platform": "android", "token": device, "filters": ALL_SIGNALS, "mode": "alert"}
        socket.publish(alice.registration(router, content))
        socket.publish(*[bob.note(f"hello {number}", alice) for number in range(5)])
    messages = [request for request in server.wait(6) if request.header(":path") != "/token"]
    router.wait_for_deliveries(5)
    [claims] = grants
    assert claims["iss"] == account["client_email"]
    assert claims["aud"] == f"{server.url}/token"
    assert claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
    assert 0 < claims["exp"] - claims["iat"] <= 3600
    for message in messages:
        assert message.header(":path") == f"/v1/projects/{account['project_id']}/messages:send"
        assert message.header("content-type").startswith("application/json")
        assert json.loads(message.body)["message"]["token"] == device


@pytest.fixture
def proxy():
    proxy = ConnectProxy(credentials="carillon:secret-of-the-proxy")
    yield proxy
    proxy.stop()


def test_all_requests_use_the_proxy(router_towards, stopped_router, serve, proxy, lab, alice, bob):
    server = serve(apple)
    stopped_router.secrets.add("secret-of-the-proxy")
    stopped_router.configuration["http"]["proxy"] = f"http://carillon:secret-of-the-proxy@127.0.0.1:{proxy.port}"
    router = router_towards(ios={"base_url": server.url})
    carol = Person()
    with Socket(router) as socket:
        content = {"platform": "android", "token": lab.android_token(), "filters": ALL_SIGNALS}
        socket.publish(carol.registration(router, content))
        socket.publish(bob.message("hello", carol))
    pushes(router, alice, bob, 5)
    server.wait(5)
    router.wait_for_deliveries(6)
    assert proxy.tunnels.count(server.url.removeprefix("https://")) == 1
    assert lab.addresses["fcm"]["url"].removeprefix("https://") in proxy.tunnels
    assert proxy.refused == 0


def test_a_refusing_proxy_loses_no_push(router_towards, stopped_router, serve, proxy, alice, bob):
    server = serve(apple)
    stopped_router.configuration["http"]["proxy"] = f"http://127.0.0.1:{proxy.port}"
    router = router_towards(ios={"base_url": server.url})
    pushes(router, alice, bob, 1)
    router.wait_for_log("outcome=retry")
    assert router.stop() == 1
    assert server.requests == []


def test_apple_is_shown_the_apps_certificate(router_towards, stopped_router, serve, authority, lab, alice, bob):
    server = serve(apple, client_authority=authority.file)
    certificate, key = authority.push_certificate(lab.ios["topic"])
    stopped_router.configuration["apps"]["default"]["ios"] = {"topic": lab.ios["topic"], "base_url": server.url}
    router = router_towards(ios={"certificate_file": str(certificate), "certificate_key_file": str(key)})
    pushes(router, alice, bob, 3)
    for request in server.wait(3):
        assert request.header("authorization") is None
        assert (("userId", lab.ios["topic"]),) in request.peer["subject"]
    router.wait_for_deliveries(3)
