"""The device sides of the push services of Firefox and Chromium: what a browser talks to, where the lab is what the router talks to.

The browser subscribes here, the lab learns of the subscription, and what the lab accepts for it goes on to the browser as it is. So a push
passes the lab's checks (VAPID, headers, size) and is decrypted by the browser alone.
"""

import base64
import json
import ssl
import struct
import threading
import urllib.parse
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from lab import Lab


class DeviceSide:
    """What both have in common: the way from the lab to the browser."""

    flavour = ""

    def __init__(self):
        self._lab: Lab | None = None
        self._ended = threading.Event()
        self._forwarding: threading.Thread | None = None
        self._lock = threading.RLock()
        self._expired: set[str] = set()

    def use(self, lab: Lab):
        """From now on subscriptions are made at this lab, and what it accepts goes to the browser."""
        self.leave()
        self._lab = lab
        self._ended = threading.Event()
        self._forwarding = threading.Thread(target=self._forward, args=[lab, self._ended], daemon=True)
        self._forwarding.start()

    def leave(self):
        self._ended.set()
        if self._forwarding:
            self._forwarding.join(timeout=5)
        self._forwarding = None

    def _subscribe(self, token: str, key: str):
        assert self._lab, "a browser subscribes before a lab is there"
        body = {"id": token, "flavour": self.flavour, "application_server_key": key.rstrip("=")}
        answer = self._lab._control("POST", "/subscriptions", body)
        return json.loads(answer)["endpoint"]

    def expire(self, endpoint: str):
        """As if the browser had dropped it: the lab answers 410 from now on."""
        token = endpoint.rsplit("/", 1)[1]
        if token not in self._expired:
            self._expired.add(token)
            self._lab._control("DELETE", f"/subscriptions?id={token}")

    def _forward(self, lab: Lab, ended: threading.Event):
        after = 0
        while not ended.is_set():
            query = f"/received?service=webpush&wait=1&timeout_ms=500&after={after}"
            try:
                with urllib.request.urlopen(lab.addresses["control_url"] + query, timeout=10) as answer:
                    lines = answer.read().decode().splitlines()
            except urllib.error.HTTPError:
                continue
            except OSError:
                return
            for line in map(json.loads, filter(None, lines)):
                after = max(after, line["sequence"])
                if line.get("status") == 201:
                    body = base64.b64decode(line["body_base64"]) if "body_base64" in line else line["body"].encode()
                    self._push(line["target"], body, {name: value for name, value in line["headers"]})

    def _push(self, token: str, body: bytes, headers: dict):
        raise NotImplementedError


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class MozillaSide(DeviceSide):
    """Mozilla's autopush, as Firefox speaks it over a WebSocket."""

    flavour = "mozilla"

    def __init__(self):
        super().__init__()
        self._sockets: dict[str, object] = {}
        self._channels: dict[str, tuple[str, str]] = {}
        """By the last part of the endpoint: the browser and its channel."""
        self._waiting: dict[str, dict[str, dict]] = {}
        """By browser and version: frames without an ack."""
        self._forgetting = False
        self.acknowledged: list[int] = []
        """Firefox's codes: 100 delivered, 101 not decrypted."""
        self._server = serve(self._serve, "127.0.0.1", 0, subprotocols=["push-notification"])
        self.port = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self.leave()
        self._server.shutdown()

    def forget(self):
        """Forgets the browser: its next hello gets another name, so it drops its subscriptions and tells their workers."""
        with self._lock:
            self._forgetting = True
            sockets = list(self._sockets.values())
        for socket in sockets:
            socket.close()

    def _serve(self, socket):
        browser = ""
        try:
            for text in socket:
                browser = self._receive(socket, json.loads(text), browser)
        except ConnectionClosed:
            pass
        with self._lock:
            if self._sockets.get(browser) is socket:
                del self._sockets[browser]

    def _receive(self, socket, message: dict, browser: str) -> str:
        match message.get("messageType"):
            case "hello":
                known = None if self._forgetting else message.get("uaid")
                browser = known or uuid.uuid4().hex
                with self._lock:
                    self._forgetting = False
                    self._sockets[browser] = socket
                    waiting = list(self._waiting.get(browser, {}).values())
                hello = {"messageType": "hello", "uaid": browser, "status": 200, "use_webpush": True, "broadcasts": {}}
                for frame in [hello, *waiting]:
                    socket.send(json.dumps(frame))
            case "register":
                token = base64url(uuid.uuid4().bytes + uuid.uuid4().bytes)
                channel = message["channelID"]
                endpoint = self._subscribe(token, message["key"])
                self._channels[token] = (browser, channel)
                answer = {"messageType": "register", "channelID": channel, "status": 200, "pushEndpoint": endpoint}
                socket.send(json.dumps(answer))
            case "unregister":
                for token, (_, channel) in list(self._channels.items()):
                    if channel == message["channelID"]:
                        del self._channels[token]
                        self.expire(f"/{token}")
                answer = {"messageType": "unregister", "channelID": message["channelID"], "status": 200}
                socket.send(json.dumps(answer))
            case "ack":
                for update in message["updates"]:
                    self.acknowledged.append(update.get("code"))
                    self._waiting.get(browser, {}).pop(update["version"], None)
            case None | "ping":
                socket.send("{}")
        return browser

    def _push(self, token: str, body: bytes, headers: dict):
        if token not in self._channels:
            return
        browser, channel = self._channels[token]
        version = uuid.uuid4().hex
        frame = {"messageType": "notification", "channelID": channel, "version": version, "ttl": int(headers["ttl"])}
        if body:
            frame |= {"data": base64url(body), "headers": {"encoding": headers["content-encoding"]}}
        with self._lock:
            self._waiting.setdefault(browser, {})[version] = frame
            socket = self._sockets.get(browser)
        if socket:
            socket.send(json.dumps(frame))


def varint(number: int) -> bytes:
    out = b""
    while True:
        out += bytes([number & 127 | (128 if number > 127 else 0)])
        number >>= 7
        if not number:
            return out


def field(number: int, value: int | bytes | str) -> bytes:
    """A field of a Protocol Buffers message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed64(number: int, value: int) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def text_field(message: bytes, wanted: int) -> bytes:
    """The first field of this number, which holds bytes."""
    at = 0

    def read() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(message):
        key = read()
        match key & 7:
            case 0:
                read()
            case 1:
                at += 8
            case 2:
                length = read()
                if key >> 3 == wanted:
                    return message[at : at + length]
                at += length
            case 5:
                at += 4
    raise AssertionError(f"no field {wanted}")


class GoogleSide(DeviceSide):
    """The services of Google that Chromium needs for push: check-in, registration, and the socket that brings messages (MCS)."""

    flavour = "fcm"
    host = "jmt17.google.com"
    """Where the endpoints of Chromium point; the router is led to the lab by a proxy."""

    def __init__(self, certificate: Path):
        """`certificate` is of localhost, with its key."""
        super().__init__()
        self._registrations: dict[str, dict] = {}
        self._sockets: list = []
        self._queue: list[bytes] = []
        side = self

        class Front(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                answer = side._check_in() if self.path.startswith("/checkin") else side._register(body)
                self.send_response(200)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._front = ThreadingHTTPServer(("127.0.0.1", 0), Front)
        self.port = self._front.server_port
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

        class Messages(StreamRequestHandler):
            def handle(self):
                try:
                    side._serve(self.rfile, self.wfile)
                except (OSError, IndexError, ValueError):
                    pass

        class Server(ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def get_request(self):
                socket, address = super().get_request()
                return context.wrap_socket(socket, server_side=True, do_handshake_on_connect=False), address

        self._messages = Server(("127.0.0.1", 0), Messages)
        self.messages_port = self._messages.server_address[1]
        for server in [self._front, self._messages]:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def stop(self):
        self.leave()
        for server in [self._front, self._messages]:
            server.shutdown()
            server.server_close()

    @staticmethod
    def _check_in() -> bytes:
        return field(1, 1) + field(3, 1_700_000_000_000) + fixed64(7, 4_242_424_242) + fixed64(8, 777_777_777)

    def _register(self, body: bytes) -> bytes:
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if form.get("delete"):
            for token, known in list(self._registrations.items()):
                if known.get("X-subtype") == form.get("X-subtype"):
                    del self._registrations[token]
                    self.expire(f"/{token}")
            return b"token=" + form.get("X-subtype", "").encode()
        token = uuid.uuid4().hex + "APA91b" + uuid.uuid4().hex
        # Chromium registers itself as well; only what has a subtype is a page's subscription.
        if "X-subtype" in form:
            self._subscribe(token, form["sender"])
            self._registrations[token] = form
        return b"token=" + token.encode()

    def _serve(self, source, sink):
        assert source.read(1) == bytes([41])
        sink.write(bytes([41]))
        try:
            while tag := source.read(1):
                length = shift = 0
                while True:
                    byte = source.read(1)[0]
                    length |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
                message = source.read(length)
                if tag[0] == 2:
                    answer = field(1, text_field(message, 1)) + field(8, 1_700_000_000_000)
                    sink.write(bytes([3]) + varint(len(answer)) + answer)
                    with self._lock:
                        self._sockets.append(sink)
                    self._flush()
                elif tag[0] == 0:
                    sink.write(bytes([1, 0]))
        finally:
            with self._lock:
                if sink in self._sockets:
                    self._sockets.remove(sink)

    def _flush(self):
        """Chromium opens its socket anew after registering: what finds none waits."""
        with self._lock:
            while self._sockets and self._queue:
                try:
                    self._sockets[-1].write(self._queue[0])
                    self._queue.pop(0)
                except OSError:
                    self._sockets.pop()

    def _push(self, token: str, body: bytes, headers: dict):
        form = self._registrations.get(token)
        if form is None:
            return
        data = {"subtype": form["X-subtype"]} | ({"content-encoding": headers["content-encoding"]} if body else {})
        message = field(2, uuid.uuid4().hex) + field(3, form["sender"]) + field(5, form["app"])
        for name, value in data.items():
            message += field(7, field(1, name) + field(2, value))
        message += field(9, "0:" + uuid.uuid4().hex) + field(17, int(headers["ttl"])) + field(18, 1_700_000_000_000)
        message += field(21, body) if body else b""
        with self._lock:
            self._queue.append(bytes([8]) + varint(len(message)) + message)
        self._flush()
