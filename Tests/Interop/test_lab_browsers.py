"""The lab as the browsers' push service, spoken to as Firefox and Chromium do; Tests/Browser does it with the browsers themselves."""

import json
import socket
import ssl
import urllib.parse
import urllib.request

import pytest
import requests
from py_vapid import Vapid
from pywebpush import webpush
from websockets.sync.client import connect

from lab import Lab
from subscriptions import App, from_base64url


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path / "lab", "--browsers")
    yield lab
    lab.stop()


class Firefox:
    def __init__(self, lab: Lab, name: str | None = None):
        url = lab.addresses["browsers"]["firefox_url"]
        self._context = connect(url, subprotocols=["push-notification"], proxy=None)
        self.socket = self._context.__enter__()
        hello = {"messageType": "hello", "broadcasts": {}, "use_webpush": True} | ({"uaid": name} if name else {})
        self.name = self.ask(hello)["uaid"]

    def ask(self, frame: dict) -> dict:
        self.socket.send(json.dumps(frame))
        return self.read()

    def read(self) -> dict:
        return json.loads(self.socket.recv(timeout=10))

    def subscribe(self, key: str) -> str:
        # Firefox pads the key.
        padded = key + "=" * (-len(key) % 4)
        return self.ask({"channelID": "5e2a", "messageType": "register", "key": padded})["pushEndpoint"]


def push(lab: Lab, endpoint: str, app: App, text: str):
    """As a server of somebody else's does."""
    origin = endpoint.split("/")[2]
    session = requests.Session()
    # What the environment says of authorities would come first.
    session.trust_env = False
    session.verify = str(lab.ca_file)
    answer = webpush(
        {"endpoint": endpoint, "keys": app.keys},
        text,
        vapid_private_key=Vapid.from_file(lab.addresses["webpush"]["key_file"]),
        vapid_claims={"sub": "mailto:somebody@example.com", "aud": f"https://{origin}"},
        ttl=60,
        requests_session=session,
    )
    assert answer.status_code == 201


def test_firefox_gets_accepted_messages_until_it_acknowledges(lab):
    app = App()
    firefox = Firefox(lab)
    endpoint = firefox.subscribe(lab.addresses["webpush"]["application_server_key"])
    push(lab, endpoint, app, "hello")
    first = firefox.read()
    assert first["headers"] == {"encoding": "aes128gcm"} and first["channelID"] == "5e2a"
    assert app.decrypt(from_base64url(first["data"])) == b"hello"
    firefox.socket.close()

    push(lab, endpoint, app, "while it is away")
    firefox = Firefox(lab, firefox.name)
    frames = [firefox.read(), firefox.read()]
    assert [app.decrypt(from_base64url(frame["data"])) for frame in frames] == [b"hello", b"while it is away"]
    updates = [{"channelID": "5e2a", "version": frame["version"], "code": 100} for frame in frames]
    firefox.socket.send(json.dumps({"messageType": "ack", "updates": updates}))
    assert firefox.ask({}) == {}
    assert lab.browsers()["firefox"] == {"connected": 1, "subscriptions": 1, "codes": {"100": 2}}
    assert Firefox(lab, firefox.name).ask({}) == {}


def test_a_forgotten_firefox_has_lost_its_subscriptions(lab):
    firefox = Firefox(lab)
    endpoint = firefox.subscribe(lab.addresses["webpush"]["application_server_key"])
    lab.forget_browsers()
    assert Firefox(lab, firefox.name).name != firefox.name
    with pytest.raises(Exception, match="410"):
        push(lab, endpoint, App(), "to nobody")


def read_frame(source) -> tuple[int, bytes]:
    tag = source.read(1)[0]
    length = shift = 0
    while True:
        byte = source.read(1)[0]
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return tag, source.read(length)


def test_chromium_gets_messages_sent_before_it_connected(lab):
    """Written from Chromium's protocol, not with the lab's code: check-in, registration, login, a message, a ping."""
    switches = dict(switch.split("=", 1) for switch in lab.addresses["browsers"]["chromium_switches"])
    with urllib.request.urlopen(switches["--gcm-checkin-url"], data=b"") as answer:
        check_in = answer.read()
    # stats_ok, time, then the device's number and its secret as fixed64.
    number = int.from_bytes(check_in[check_in.index(b"\x39") + 1 :][:8], "little")
    form = {
        "app": "org.chromium.linux",
        "X-subtype": "wp:http://localhost:1/#A-V2",
        "device": str(number),
        "sender": lab.addresses["webpush"]["application_server_key"],
    }
    data = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(switches["--gcm-registration-url"], data=data) as answer:
        token = answer.read().decode().removeprefix("token=")
    app = App()
    push(lab, f"{lab.addresses['webpush']['url']}/fcm/send/{token}", app, "hello")

    address = urllib.parse.urlsplit(switches["--gcm-mcs-endpoint"])
    context = ssl.create_default_context(cafile=str(lab.ca_file))
    with (
        socket.create_connection((address.hostname, address.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=address.hostname) as secure,
    ):
        source = secure.makefile("rb")
        user = str(number).encode()
        login = b"\x0a\x06chrome\x12\x0fmcs.android.com\x1a" + bytes([len(user)]) + user
        secure.sendall(bytes([41, 2, len(login)]) + login)
        assert source.read(1) == bytes([41])
        tag, answer = read_frame(source)
        assert tag == 3 and answer.startswith(b"\x0a\x06chrome")
        tag, message = read_frame(source)
        assert tag == 8 and form["X-subtype"].encode() in message and b"content-encoding" in message
        body = message[message.index(b"\xaa\x01") :]
        # Field 21 is the last one: its key, a byte of length, the body.
        assert app.decrypt(body[3:]) == b"hello"
        secure.sendall(bytes([0, 0]))
        assert read_frame(source) == (1, b"")
        assert lab.browsers()["chromium"] == {"connected": 1, "subscriptions": 1}


def test_a_lab_without_browsers_shows_how_to_get_them(tmp_path):
    lab = Lab(tmp_path / "lab")
    try:
        with pytest.raises(AssertionError, match="--browsers"):
            lab.browsers()
    finally:
        lab.stop()
