"""The sealed ingress: pywebpush plays Mastodon, and the test plays the app that decrypts what APNs got."""

import base64
import http.client
import os
import socket as sockets
import subprocess

import pytest
from pywebpush import WebPusher, webpush

from nostr import device_token
from programs import built, free_port, wait_until
from subscriptions import App, base64url

MESSAGE = b'{"access_token":"t","title":"bob favourited your toot","body":"\xf0\x9f\x94\x94 hello"}'


@pytest.fixture
def ingress(stopped_router):
    """The port of a router's ingress."""
    port = free_port()
    stopped_router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{port}"}
    stopped_router.start()
    yield port
    assert stopped_router.is_running or stopped_router.process.returncode in [0, -9]


def url(port: int, token: str, account: str = "account-1", query: str = "") -> str:
    return f"http://127.0.0.1:{port}/push/{token}/{account}{query}"


def subscription(endpoint: str, app: App) -> dict:
    return {"endpoint": endpoint, "keys": app.keys}


def repadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def post(port: int, path: str, body: bytes, headers: list[tuple[str, str]]) -> int:
    """Headers in just that order and spelling."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", path)
    for name, value in headers:
        connection.putheader(name, value)
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_legacy_message_becomes_the_push_of_the_specification(ingress, lab):
    app, token = App(), device_token()
    answer = WebPusher(subscription(url(ingress, token), app)).send(
        MESSAGE, headers={"crypto-key": "p256ecdsa=BOgh"}, ttl=172800, content_encoding="aesgcm"
    )
    assert answer.status_code == 202
    [push] = lab.accepted(1)
    assert push.target == token
    assert push.header("apns-push-type") == "alert"
    payload = push.payload
    assert payload.pop("aps") == {"alert": {"loc-key": "apns-default-message"}, "mutable-content": 1}
    assert set(payload) == {"i", "m", "s", "k"}
    assert payload["i"] == "account-1"
    # As Ruby's urlsafe_encode64 writes it, with padding: the Metatext app reads no other form.
    body = base64.urlsafe_b64decode(payload["m"])
    assert app.decrypt_legacy(body, repadded(payload["s"]), repadded(payload["k"])) == MESSAGE


def test_a_standard_message_can_be_decrypted_as_well(ingress, lab):
    app, token = App(), device_token()
    assert WebPusher(subscription(url(ingress, token), app)).send(MESSAGE, ttl=60).status_code == 202
    [push] = lab.accepted(1)
    payload = push.payload
    assert payload["aps"]["mutable-content"] == 1
    assert app.decrypt(base64.urlsafe_b64decode(payload["m"])) == MESSAGE


def test_a_signed_message_is_taken_like_any_other(ingress, lab):
    """As Mastodon signs (VAPID); whoever posts needs no permission of ours."""
    app = App()
    key = base64url(os.urandom(32))
    answer = webpush(
        subscription(url(ingress, device_token()), app),
        MESSAGE,
        vapid_private_key=key,
        vapid_claims={"sub": "mailto:admin@mastodon.example"},
    )
    assert answer.status_code == 202
    lab.accepted(1)


@pytest.mark.parametrize(
    "write",
    [
        lambda salt, key: [("Crypto-Key", f"dh={key};p256ecdsa=BOgh"), ("Encryption", f"salt={salt}")],
        lambda salt, key: [("Encryption", f'salt="{salt}"; rs=4096'), ("Crypto-Key", f'p256ecdsa=BOgh; dh="{key}"')],
        lambda salt, key: [("encryption", f"rs=4096;salt={salt}=="), ("crypto-key", f"p256ecdsa=BOgh,dh={key}=")],
        lambda salt, key: [("Crypto-Key", "p256ecdsa=BOgh"), ("Crypto-Key", f"dh={key}"), ("Encryption", f"salt={salt}")],
        lambda salt, key: [("Encryption", f"keyid=p256dh;salt={salt}"), ("Crypto-Key", f"keyid=p256dh;dh={key}")],
    ],
)
def test_headers_come_in_many_spellings(ingress, lab, write):
    app, token = App(), device_token()
    made = WebPusher(subscription("https://unused.example", app)).encode(MESSAGE, "aesgcm")
    salt, key = made["salt"].decode(), made["crypto_key"].decode()
    headers = [("Content-Encoding", "aesgcm"), ("TTL", "60"), *write(salt, key)]
    assert post(ingress, f"/push/{token}/a", made["body"], headers) == 202
    [push] = lab.accepted(1)
    payload = push.payload
    body = base64.urlsafe_b64decode(payload["m"])
    assert app.decrypt_legacy(body, repadded(payload["s"]), repadded(payload["k"])) == MESSAGE


def test_a_message_too_large_for_apns_is_sent_as_alert(ingress, lab):
    app, token = App(), device_token()
    assert WebPusher(subscription(url(ingress, token), app)).send(b"x" * 3900, ttl=60).status_code == 202
    [push] = lab.accepted(1)
    assert push.target == token
    assert push.payload["aps"]["alert"] == {"loc-key": "apns-default-message"}
    assert "m" not in push.payload


def test_only_a_dead_device_ends_the_subscription(ingress, lab):
    app, token = App(), device_token()
    pusher = WebPusher(subscription(url(ingress, token), app))
    lab.declare(token, "unregistered")
    assert pusher.send(MESSAGE, ttl=60).status_code == 202
    wait_until(lambda: pusher.send(MESSAGE, ttl=60).status_code == 410, "the device is known to be dead")
    alive = WebPusher(subscription(url(ingress, device_token()), app))
    assert alive.send(MESSAGE, ttl=60).status_code == 202


def test_development_builds_are_reached_at_the_other_server(stopped_router, lab):
    """`?sandbox=true`: the lab plays Apple's sandbox, and nobody production."""
    ios = stopped_router.configuration["apps"]["default"]["ios"]
    ios.update(base_url=f"https://localhost:{free_port()}", sandbox=ios["base_url"])
    port = free_port()
    stopped_router.configuration["sealed_ingress"] = {"listen": f"127.0.0.1:{port}"}
    stopped_router.start()
    app, token = App(), device_token()
    released = WebPusher(subscription(url(port, device_token()), app))
    assert released.send(MESSAGE, ttl=60).status_code == 202
    developed = WebPusher(subscription(url(port, token, query="?sandbox=true"), app))
    assert developed.send(MESSAGE, ttl=60).status_code == 202
    [push] = lab.accepted(1)
    assert push.target == token


def test_the_ingress_answers_its_root_path(ingress):
    connection = http.client.HTTPConnection("127.0.0.1", ingress, timeout=30)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200


def test_push_contents_are_not_logged(ingress, stopped_router, lab):
    app, token = App(), device_token()
    WebPusher(subscription(url(ingress, token, "somebody@mastodon.example"), app)).send(MESSAGE, ttl=60)
    [push] = lab.accepted(1)
    stopped_router.stop()
    for secret in [token, "somebody@mastodon.example", push.payload["m"]]:
        assert secret not in stopped_router.log_text


def test_an_accepted_push_survives_a_crash(ingress, stopped_router, lab):
    app, token = App(), device_token()
    lab.misbehave("answer", status=503, times=1000)
    assert WebPusher(subscription(url(ingress, token), app)).send(MESSAGE, ttl=60).status_code == 202
    lab.attempts(1)
    stopped_router.kill()
    lab.behave()
    stopped_router.start()
    pushes = lab.accepted(1)
    assert pushes[0].target == token


def test_the_seeds_environment_variables_are_enough(tmp_path, lab):
    """A drop-in replacement: no configuration file, no other setting than the seed's, and where the lab is."""
    port = free_port()
    apns = lab.addresses["apns"]
    log = tmp_path / "ingress.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [built("carillon"), "serve"],
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={
                "PATH": os.environ["PATH"],
                "APNS_KEY_ID": apns["key_id"],
                "APNS_AUTH_KEY": open(apns["key_file"]).read(),
                "APPLE_TEAM_ID": apns["team_id"],
                "TOPIC": apns["topic"],
                "CONNECTION_POOL_SIZE": "2",
                "PORT": str(port),
                "CARILLON_APNS_BASE_URL": apns["url"],
                "CARILLON_CA_FILE": str(lab.ca_file),
            },
        )
    try:

        def is_up() -> bool:
            try:
                with sockets.create_connection(("127.0.0.1", port), timeout=1):
                    return True
            except OSError:
                return False

        wait_until(is_up, "the ingress listens", process)
        app, token = App(), device_token()
        answer = WebPusher(subscription(url(port, token), app)).send(MESSAGE, ttl=60, content_encoding="aesgcm")
        assert answer.status_code == 202
        [push] = lab.accepted(1)
        assert push.header("apns-topic") == apns["topic"]
        process.terminate()
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
    text = log.read_text()
    assert token not in text and "PRIVATE KEY" not in text


@pytest.mark.parametrize(
    "name, value",
    [
        ("APNS_AUTH_KEY", "nonsense"),
        ("TOPIC", "no bundle id"),
        ("APPLE_TEAM_ID", "T"),
        ("APNS_KEY_ID", "ABC"),
        ("CARILLON_APNS_BASE_URL", "ftp://x"),
        ("CARILLON_CA_FILE", "/nowhere.pem"),
        ("CONNECTION_POOL_SIZE", "many"),
        ("PORT", "http"),
        ("PORT", None),
    ],
)
def test_an_error_names_its_environment_variable(tmp_path, lab, name, value):
    apns = lab.addresses["apns"]
    with sockets.create_server(("0.0.0.0", 0)) as taken:
        environment = {
            "PATH": os.environ["PATH"],
            "APNS_KEY_ID": apns["key_id"],
            "APNS_AUTH_KEY": open(apns["key_file"]).read(),
            "APPLE_TEAM_ID": apns["team_id"],
            "TOPIC": apns["topic"],
            "PORT": "0",
            # One that is taken.
            name: value or str(taken.getsockname()[1]),
        }
        result = subprocess.run(
            [built("carillon"), "serve", "--log-level", "error"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
        )
    assert result.returncode != 0
    [line] = result.stderr.strip().splitlines()
    assert line.removeprefix("Error: ").startswith(f"{name}: "), line


def test_a_longer_body_is_read_without_waiting_for_the_timeout(ingress, lab, tmp_path):
    """curl waits a second for the answer to Expect: 100-continue, which it sends by itself with bodies of a megabyte."""
    body = tmp_path / "body"
    body.write_bytes(os.urandom(3_000))
    run = subprocess.run(
        ["curl", "-sv", "-H", "Expect: 100-continue", "--expect100-timeout", "60", "--data-binary", f"@{body}"]
        + [url(ingress, device_token())],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "< HTTP/1.1 100 Continue" in run.stderr and "< HTTP/1.1 202 Accepted" in run.stderr, run.stderr
    lab.accepted(1)


def test_missing_environment_variables_are_reported_together(tmp_path):
    result = subprocess.run(
        [built("carillon"), "serve"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "APNS_KEY_ID": "ABCDEFGHIJ"},
    )
    assert result.returncode != 0
    for name in ["APNS_AUTH_KEY", "APPLE_TEAM_ID", "TOPIC"]:
        assert name in result.stderr
