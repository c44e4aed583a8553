"""An HTTP/2 server on Python's h2, which tells every breach of RFC 9113 and 7541 by the one at the other end."""

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions


@dataclass
class Request:
    connection: int
    """Counts the connections to this server."""
    stream: int
    headers: list[tuple[str, str]]
    peer: dict | None
    """The certificate that the client showed."""
    body: bytes = b""

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, f"{name} is there {len(values)} times"
        return values[0] if values else None


@dataclass
class Answer:
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    padding: int | None = None
    """Bytes of padding in each DATA frame."""


class HTTP2Server:
    def __init__(
        self,
        certificate,
        answer: Callable[[Request], Answer],
        settings: dict | None = None,
        client_authority=None,
        requests_per_connection: int | None = None,
    ):
        """`settings` are announced at the start; after `requests_per_connection` a connection says GOAWAY."""
        self.answer = answer
        self.settings = settings or {}
        self.requests_per_connection = requests_per_connection
        self.requests: list[Request] = []
        self.breaches: list[str] = []
        self.indexed: list[tuple[str, str]] = []
        """What clients put into the tables of header compression."""
        self.connections = 0
        self.arrived = threading.Condition()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._context.set_alpn_protocols(["h2"])
        if client_authority is not None:
            self._context.verify_mode = ssl.CERT_REQUIRED
            self._context.load_verify_locations(client_authority)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._listener.close()

    def wait(self, count: int, timeout: float = 60) -> list[Request]:
        """Until so many requests were whole."""
        with self.arrived:
            assert self.arrived.wait_for(
                lambda: len(self.requests) >= count or self.breaches, timeout
            ), f"expected {count} requests, got {len(self.requests)}"
            assert not self.breaches, self.breaches
            return list(self.requests)

    def _accept(self):
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[plain], daemon=True).start()

    def _serve(self, plain: socket.socket):
        try:
            with self._context.wrap_socket(plain, server_side=True) as connection:
                assert connection.selected_alpn_protocol() == "h2"
                with self.arrived:
                    self.connections += 1
                    number = self.connections
                self._converse(connection, number)
        except (OSError, ssl.SSLError):
            return

    def _converse(self, wire: ssl.SSLSocket, number: int):
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        connection = h2.connection.H2Connection(config)
        connection.initiate_connection()
        # They hold from the client's acknowledgement on: it may have begun before it heard of them.
        connection.update_settings(self.settings)
        open_requests: dict[int, Request] = {}
        served = 0
        wire.sendall(connection.data_to_send())
        while data := wire.recv(65536):
            try:
                events = connection.receive_data(data)
            except h2.exceptions.ProtocolError as error:
                with self.arrived:
                    self.breaches.append(repr(error))
                    self.arrived.notify_all()
                wire.sendall(connection.data_to_send())
                return
            with self.arrived:
                table = connection.decoder.header_table.dynamic_entries
                self.indexed += [(bytes(name).decode(), bytes(value).decode()) for name, value in table]
            for event in events:
                if isinstance(event, h2.events.RequestReceived):
                    peer = wire.getpeercert()
                    open_requests[event.stream_id] = Request(number, event.stream_id, list(event.headers), peer)
                elif isinstance(event, h2.events.DataReceived):
                    if event.stream_id in open_requests:
                        open_requests[event.stream_id].body += event.data
                    if event.flow_controlled_length:
                        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamReset):
                    open_requests.pop(event.stream_id, None)
                if isinstance(event, h2.events.StreamEnded) and event.stream_id in open_requests:
                    served += 1
                    self._finish(connection, open_requests.pop(event.stream_id))
                    if served == self.requests_per_connection:
                        connection.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=event.stream_id)
                        wire.sendall(connection.data_to_send())
                        return
            wire.sendall(connection.data_to_send())

    def _finish(self, connection: h2.connection.H2Connection, request: Request):
        answer = self.answer(request)
        headers = [(":status", str(answer.status)), *answer.headers]
        connection.send_headers(request.stream, headers, end_stream=not answer.body)
        if answer.body:
            connection.send_data(request.stream, answer.body, end_stream=True, pad_length=answer.padding)
        with self.arrived:
            self.requests.append(request)
            self.arrived.notify_all()
