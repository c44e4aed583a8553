"""A server that keeps what is posted to it: stands where ntfy and Gotify would."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from programs import wait_until


class ReadableServer:
    def __init__(self):
        self.posts: list[tuple[str, dict, dict]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.posts.append((self.path, headers, json.loads(body)))
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait(self, count: int) -> list[tuple[str, dict, dict]]:
        wait_until(lambda: len(self.posts) >= count, f"{count} messages come")
        return self.posts

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
