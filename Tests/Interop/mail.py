"""A mail server by aiosmtpd, which keeps what is sent to it."""

import email
import email.policy
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

from programs import free_port, wait_until

USERNAME, PASSWORD = "push@example.org", "correct horse battery staple"


@dataclass
class Letter:
    """A message as it came."""

    sender: str
    recipients: list[str]
    options: list[str]
    content: bytes
    session: int
    """Which connection carried it, from 1."""
    was_encrypted: bool
    was_authenticated: bool

    @property
    def message(self) -> EmailMessage:
        return email.message_from_bytes(self.content, policy=email.policy.SMTPUTF8)

    @property
    def text(self) -> str:
        return self.message.get_content().replace("\r\n", "\n")


class MailServer:
    """`certificate`: a file with certificate and key. `security`: as in the plugin's block."""

    def __init__(self, security: str = "none", certificate: Path | None = None, login: bool = False, port: int = 0):
        self.letters: list[Letter] = []
        self.refusals: list[tuple[str, str]] = []
        """What is answered instead, each once: the command, and the reply; an empty one ends the connection."""
        self.sessions: list = []
        self.port = port or free_port()
        context = None
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
        self._options = {
            "authenticator": self._authenticate if login else None,
            "auth_required": login,
            # Over TLS from the first byte it does not know that there is TLS.
            "auth_require_tls": security == "starttls",
            "require_starttls": security == "starttls",
            "tls_context": context if security == "starttls" else None,
            "enable_SMTPUTF8": True,
        }
        self._context = context if security == "tls" else None
        self._controller = None
        self.start()

    def start(self):
        """Also again, on the same port."""
        server = self

        class TheController(Controller):
            def factory(self):
                return SMTP(self.handler, **server._options)

        self._controller = TheController(
            self, hostname="127.0.0.1", port=self.port, ssl_context=self._context, ready_timeout=20
        )
        self._controller.start()

    def stop(self):
        if self._controller:
            self._controller.stop(no_assert=True)
            self._controller = None

    def wait(self, count: int) -> list[Letter]:
        wait_until(lambda: len(self.letters) >= count, f"{count} letters come")
        return self.letters

    def _authenticate(self, server, session, envelope, mechanism, data) -> AuthResult:
        login, password = bytes(data.login).decode(), bytes(data.password).decode()
        return AuthResult(success=(login, password) == (USERNAME, PASSWORD), handled=False)

    def _refusal(self, command: str) -> str | None:
        if self.refusals and self.refusals[0][0] == command:
            return self.refusals.pop(0)[1]
        return None

    # aiosmtpd's hooks

    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        if session not in self.sessions:
            self.sessions.append(session)
        return responses

    async def handle_MAIL(self, server, session, envelope, address, options):
        if (refusal := self._refusal("MAIL")) is not None:
            return self._end(server, refusal)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if (refusal := self._refusal("RCPT")) is not None:
            return self._end(server, refusal)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if (refusal := self._refusal("DATA")) is not None:
            return self._end(server, refusal)
        self.letters.append(
            Letter(
                envelope.mail_from,
                list(envelope.rcpt_tos),
                list(envelope.mail_options),
                envelope.original_content,
                self.sessions.index(session) + 1,
                session.ssl is not None or self._context is not None,
                bool(session.authenticated),
            )
        )
        return "250 2.0.0 queued"

    @staticmethod
    def _end(server, refusal: str) -> str:
        if not refusal or refusal.startswith("421"):
            server.transport.close()
        return refusal or "421 bye"
