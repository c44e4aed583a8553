"""The API of a running router, asked over plain HTTP."""

import json
import urllib.error
import urllib.request

from programs import wait_until
from router import Router


class Console:
    """Gives a router an API before it starts."""

    def __init__(self, router: Router, port: int = 0, **more):
        self.router = router
        self.token_file = router.folder / "api.token"
        self._port_file = router.folder / "api-port"
        router.configuration["api"] = {"listen": f"127.0.0.1:{port}", "token_file": "api.token", **more}

    def start(self) -> "Console":
        self._port_file.unlink(missing_ok=True)
        self.router.start(None, "--api-port-file", self._port_file)
        wait_until(self._port_file.exists, "the router writes the API's port", self.router.process)
        return self

    @property
    def port(self) -> int:
        return int(self._port_file.read_text())

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()

    def ask(
        self,
        path: str,
        method: str = "GET",
        token: str | None = "",
        body: dict | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, str]:
        """Status and body; with the token unless it is another, or None."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, data=data)
        if data is not None:
            request.add_header("content-type", "application/json")
        if token is not None:
            request.add_header("authorization", f"Bearer {token or self.token}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def json(self, path: str, method: str = "GET", token: str | None = "", **more) -> tuple[int, dict]:
        status, body = self.ask(path, method, token, **more)
        return status, json.loads(body)
