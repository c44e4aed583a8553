"""HTTP proxies that write down what they are asked for."""

import base64
import socket
import threading

from programs import wait_until


class ConnectProxy:
    """Only does CONNECT (RFC 9110, section 9.3.6)."""

    def __init__(self, credentials: str | None = None, routes: dict[str, tuple[str, int]] | None = None):
        """`credentials` are `user:password`; who does not give them gets 407. `routes` leads targets elsewhere."""
        self.routes = routes or {}
        self.authorization = credentials and "Basic " + base64.b64encode(credentials.encode()).decode()
        self.tunnels: list[str] = []
        self.refused = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        lines = head.split(b"\r\n\r\n")[0].decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        method, target, _ = lines[0].split(" ")
        if self.authorization and fields.get("proxy-authorization") != self.authorization:
            self.refused += 1
            client.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
            )
            client.close()
            return
        assert method == "CONNECT", lines[0]
        self.tunnels.append(target)
        host, port = self.routes.get(target) or target.rsplit(":", 1)
        try:
            server = socket.create_connection((host, int(port)))
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            client.close()
            return
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=self._copy, args=[server, client], daemon=True).start()
        self._copy(client, server)

    @staticmethod
    def _copy(source: socket.socket, destination: socket.socket):
        try:
            while piece := source.recv(65536):
                destination.sendall(piece)
            destination.shutdown(socket.SHUT_WR)
        except OSError:
            destination.close()


class RecordingProxy:
    """Writes down what it is asked for, by method and target, and passes nothing on."""

    def __init__(self):
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        self._listener.close()

    def wait_for(self, requests: set[str]):
        wait_until(lambda: requests <= set(self.asked), f"the proxy is asked for {sorted(requests)}")

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket):
        with client, client.makefile("rb") as lines:
            method, target, _ = lines.readline().decode().split(" ")
            self.asked.append(f"{method} {target}")
            while lines.readline().strip():
                pass
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
