"""A server that keeps what is sent to it: stands where ntfy and Gotify would, and other services that take messages."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from programs import wait_until


@dataclass
class Message:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class ReadableServer:
    def __init__(self, answer=None):
        """`answer` makes status, headers and body of the answer to a message; without it all is well."""
        self.messages: list[Message] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                message = Message(self.command, self.path, headers, body)
                server.messages.append(message)
                status, headers, body = answer(message) if answer else (200, {}, b"{}")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 204:
                    self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_POST

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def posts(self) -> list[tuple[str, dict, dict]]:
        """Path, headers and JSON of each message."""
        return [(message.path, message.headers, json.loads(message.body)) for message in self.messages]

    def wait(self, count: int) -> list[tuple[str, dict, dict]]:
        wait_until(lambda: len(self.messages) >= count, f"{count} messages come")
        return self.posts

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
