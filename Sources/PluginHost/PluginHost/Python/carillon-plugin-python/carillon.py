"""The module for plugins in Python: `from carillon import Request`.

A plugin is one file. It sets PLATFORM = "pager" and defines `deliver`, or it sets FILTER = "no-casinos" and defines
`decide`. contrib/examples/plugins/README.md shows one, and contrib/docs/python.md lists everything that a file may
define. This file needs only Python's own library, so that tests of a plugin run without a router.
"""

import email.utils
import json as _json
import sys
import time
import urllib.parse

__all__ = [
    "Action", "Answer", "Busy", "Call", "Drop", "Incoming", "Invalid", "Notification", "Outcome", "Registration",
    "Request", "Response", "Stream", "StreamError", "StreamStep", "Timer", "Unsupported", "after", "delivered", "drop", "every", "gone", "inbound_url", "log",
    "misconfigured", "rejected", "retry", "state",
]


class Invalid(Exception):
    """Raise this with one sentence about the error and the expected value, never a secret. In `create` it refuses the
    configuration, in `validate` the registration, in `check` the rule's block. In `deliver` the router drops the
    notification."""


class Unsupported(Exception):
    """Raise this in `deliver` for a mode that the service cannot honour; the router tries the next stricter one."""


class Busy(Exception):
    """Raise this in `deliver` to make the router retry a little later."""


# ---- Arguments of transports -----------------------------------------------------------


class Action:
    """A button."""

    __slots__ = ("id", "label", "url", "icon")

    def __init__(self, id="", label="", url="", icon=""):
        self.id = id
        self.label = label
        self.url = url
        self.icon = icon


class Notification:
    """A notification. A text that is not set is empty. Texts come from strangers, and have any length and any characters:
    escape them.

    mode      "wake", "nudge", "sealed" or "alert": how much the service may see. Texts that it may not see are empty.
    urgency   "low", "normal" or "high"
    count     how many events it is about
    id        a UUID, the same on every attempt
    signal    "dm", "mention", ...
    title, subtitle, body, category, thread, collapse_key, url
    actions   a list of Action
    data      a dict of custom keys for the app
    native    a dict: this platform's block of the rule
    expires   in seconds since 1970, or None
    sealed    the envelope for the app, a dict; only in mode "sealed", else None
    """

    __slots__ = (
        "mode", "urgency", "count", "id", "signal", "title", "subtitle", "body", "category", "thread", "collapse_key",
        "url", "actions", "data", "native", "expires", "sealed",
    )

    def __init__(
        self, mode="alert", urgency="normal", count=1, id="", signal="", title="", subtitle="", body="", category="",
        thread="", collapse_key="", url="", actions=(), data=None, native=None, expires=None, sealed=None,
    ):
        self.mode = mode
        self.urgency = urgency
        self.count = count
        self.id = id
        self.signal = signal
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.category = category
        self.thread = thread
        self.collapse_key = collapse_key
        self.url = url
        self.actions = list(actions)
        self.data = {} if data is None else data
        self.native = {} if native is None else native
        self.expires = expires
        self.sealed = sealed


class Registration:
    """The registration of one device. All of it is secret.

    token       the device's token, or the URL of its endpoint
    fields      more texts by name
    registered  in seconds since 1970
    """

    __slots__ = ("token", "fields", "registered")

    def __init__(self, token="", fields=None, registered=0.0):
        self.token = token
        self.fields = {} if fields is None else fields
        self.registered = registered


# ---- HTTP requests, sent by the router -------------------------------------------------

_HOSTS_HEADERS = {
    "te", "host", "upgrade", "connection", "keep-alive", "content-length", "proxy-connection", "transfer-encoding",
}
_TOKEN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")


class Request:
    """An HTTP request that the router sends. Its `body` is bytes or text; or use `json` (any JSON value) or `form` (a
    dict) instead.

    trusted      True: the URL is the operator's, and may lead into a private network; not for URLs that users choose
    timeout      seconds for the whole response, up to 60; 0 means 30
    max_response longer response bodies are truncated; 0 means 64 KiB, the maximum is 1 MiB
    multiplex    True: keep HTTP/2 connections, because many requests go there
    connection   requests with different values here never share a connection
    """

    __slots__ = ("method", "url", "headers", "body", "trusted", "timeout", "max_response", "multiplex", "connection")

    def __init__(
        self, method, url, *, headers=None, body=b"", json=None, form=None, trusted=False, timeout=0, max_response=0,
        multiplex=False, connection="",
    ):
        self.method = method
        self.url = url
        self.headers = {name.lower(): str(value) for name, value in (headers or {}).items()}
        self.trusted = trusted
        self.timeout = timeout
        self.max_response = max_response
        self.multiplex = multiplex
        self.connection = connection
        if json is not None:
            body = _json.dumps(json, ensure_ascii=False, separators=(",", ":"))
            self.headers.setdefault("content-type", "application/json")
        elif form is not None:
            body = urllib.parse.urlencode(form)
            self.headers.setdefault("content-type", "application/x-www-form-urlencoded")
        # JSON may contain a lone surrogate, which UTF-8 cannot encode.
        self.body = body.encode("utf-8", "replace") if isinstance(body, str) else bytes(body)
        flaw = self._flaw()
        if flaw:
            raise Invalid("the request's " + flaw)

    def _flaw(self):
        """An error that the router would refuse: names the field, never its value."""
        if not 1 <= len(self.method) <= 16 or not _TOKEN.issuperset(self.method.lower()):
            return "method is not a token of 1 to 16 bytes"
        url = self.url
        if not url.lower().startswith(("https://", "http://")) or url.endswith("://"):
            return "URL is not an absolute http or https URL"
        if len(url) > 8192 or not all("!" <= character <= "~" for character in url):
            return "URL is longer than 8192 bytes, or not of visible ASCII characters"
        if len(self.body) > 1 << 20:
            return "body is longer than 1 MiB"
        if not 0 <= self.timeout <= 60 or not 0 <= self.max_response <= 1 << 20:
            return "timeout or max_response is beyond its limit"
        if len(self.connection) > 128 or not all(" " <= character <= "~" for character in self.connection):
            return "connection is not a word of at most 128 printable characters"
        if len(self.headers) > 64:
            return "headers are more than 64"
        length = 0
        for name, value in self.headers.items():
            if not name or not _TOKEN.issuperset(name) or name in _HOSTS_HEADERS:
                return "headers have an invalid name, or one that only the router may set"
            if any((character < " " and character != "\t") or character == "\x7f" for character in value):
                return "headers have a value with control characters"
            length += len(name) + len(value.encode("utf-8", "replace"))
        return "headers are longer than 32 KiB" if length > 32 << 10 else None


class Response:
    """The response to a request. `status` is 0 if none arrived; then `failure` is the reason, such as "timeout"."""

    __slots__ = ("status", "headers", "body", "failure")

    def __init__(self, status=0, body=b"", headers=None, failure=""):
        self.status = status
        self.body = body.encode() if isinstance(body, str) else body
        self.headers = {} if headers is None else headers
        self.failure = failure

    @property
    def is_success(self):
        return 200 <= self.status < 300

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        """The body parsed as JSON; None if it is not valid JSON."""
        try:
            return _json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def retry_after(self):
        """The seconds in the Retry-After header; None if there is none."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit() and len(value) <= 9:
            return int(value)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError, IndexError, OverflowError):
            return None


# ---- Streams, for other protocols than HTTP --------------------------------------------


_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:")


class StreamError(Exception):
    """A stream has ended. `failure` is the reason: "closed", "refused", "timeout", "tls", "idle", ... A delivery that does
    not catch it is retried."""

    def __init__(self, failure):
        super().__init__(failure)
        self.failure = failure


class StreamStep:
    """The result of those functions of a stream that must be yielded."""

    __slots__ = ("stream", "kind", "limit")

    def __init__(self, stream, kind, limit=0):
        self.stream = stream
        self.kind = kind
        self.limit = limit


class Stream:
    """A TCP connection that the router opens. A generator yields it, and continues once it is connected:

        with (yield Stream(app["host"], 25, trusted=True)) as stream:
            greeting = yield stream.read_line()
            stream.write("EHLO example.com\r\n")

    host, port
    tls             True: TLS from the first byte
    trusted         True: the host is the operator's, and may be in a private network; not for hosts that users choose
    authorities     PEM: the certificates to trust instead of the system's
    connect_timeout seconds until it is connected, up to 60; 0 means 30
    idle_timeout    seconds without a byte in either direction, up to 3600; 0 means 300

    In tests without a router, `written` holds the bytes that the plugin wrote.
    """

    def __init__(self, host, port, *, tls=False, trusted=False, authorities="", connect_timeout=0, idle_timeout=0):
        self.host = host
        self.port = port
        self.tls = tls
        self.trusted = trusted
        self.authorities = authorities
        self.connect_timeout = connect_timeout
        self.idle_timeout = idle_timeout
        self.written = bytearray()
        self._connection = None
        self._is_closed = False
        if not isinstance(host, str) or not 1 <= len(host) <= 253 or not _HOST_CHARACTERS.issuperset(host):
            raise Invalid("the stream's host is not a name or an address of at most 253 characters")
        if not isinstance(port, int) or not 1 <= port <= 65_535:
            raise Invalid("the stream's port is not between 1 and 65535")
        if not 0 <= connect_timeout <= 60 or not 0 <= idle_timeout <= 3600 or len(authorities.encode()) > 256 << 10:
            raise Invalid("the stream's timeouts or authorities are beyond their limits")

    @property
    def is_open(self):
        """Whether it accepts writes. False until it was yielded."""
        if self._connection is not None:
            return self._connection.is_usable
        return _services is None and not self._is_closed

    def write(self, data):
        """Sends bytes or text, in the order of the calls. Up to 1 MiB is buffered: yield `drain()` before more."""
        data = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
        if self._connection is not None:
            self._connection.write(data)
        elif _services is None:
            self.written += data
        else:
            raise RuntimeError("a stream: yield it before you use it")

    def read(self, limit=65_536):
        """Yield this: returns some bytes as soon as there are any, or none at the end."""
        return StreamStep(self, "read", max(1, limit))

    def read_line(self, limit=8192):
        """Yield this: returns a line's bytes without the line break. Raises StreamError at the end of the stream, or if the
        line has more bytes than `limit`."""
        return StreamStep(self, "line", limit)

    def start_tls(self):
        """Yield this: starts TLS (STARTTLS), and returns the stream. Unread unencrypted bytes end the stream with "tls",
        because an attacker may have injected them."""
        return StreamStep(self, "tls")

    def drain(self):
        """Yield this: returns None once all written bytes are sent."""
        return StreamStep(self, "drain")

    def close(self):
        """Sends buffered bytes for up to 5 s, and closes. The end of `with` and dropping the stream do the same."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.drop()


# ---- Inbound requests ------------------------------------------------------------------


class Incoming:
    """An inbound request for a path below `inbound_url()`. Anyone can send one: check a signature, or a secret in the
    path, before you trust it.

    method, query unchanged from the client
    path          the part after the URL: empty, or starting with "/"
    headers       a dict, with names in lower case; without "cookie"
    body          bytes, up to 256 KiB
    """

    __slots__ = ("method", "path", "query", "headers", "body")

    def __init__(self, method="POST", path="", query="", headers=None, body=b""):
        self.method = method
        self.path = path
        self.query = query
        self.headers = {} if headers is None else headers
        self.body = body.encode() if isinstance(body, str) else body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        """The body parsed as JSON; None if it is not valid JSON."""
        try:
            return _json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class Answer:
    """The response that `receive` returns: a status from 200 to 599, up to 16 headers, and a body of up to 256 KiB, which
    is bytes or text; or use `json` instead."""

    __slots__ = ("status", "headers", "body")

    def __init__(self, status=200, body=b"", *, headers=None, json=None):
        self.status = status
        self.headers = {name.lower(): str(value) for name, value in (headers or {}).items()}
        if json is not None:
            body = _json.dumps(json, ensure_ascii=False, separators=(",", ":"))
            self.headers.setdefault("content-type", "application/json")
        elif isinstance(body, str):
            self.headers.setdefault("content-type", "text/plain; charset=utf-8")
        self.body = body.encode("utf-8", "replace") if isinstance(body, str) else bytes(body)
        if not 200 <= status <= 599 or len(self.headers) > 16 or len(self.body) > 256 << 10:
            raise ValueError("an answer: expected a status from 200 to 599, 16 headers and 256 KiB at most")
        for name, value in self.headers.items():
            if not name or not _TOKEN.issuperset(name) or name in _HOSTS_HEADERS:
                raise ValueError("an answer: a header has an invalid name, or one that only the router may set")
            if any((character < " " and character != "\t") or character == "\x7f" for character in value):
                raise ValueError("an answer: a header has a value with control characters")


# ---- Timers and stored state -----------------------------------------------------------

_services = None


class Timer:
    """A timer that `after` or `every` started."""

    def __init__(self, function, arguments, timer=None):
        self._function = function
        self._arguments = arguments
        self._timer = timer
        self.is_cancelled = False

    def cancel(self):
        """Prevents all later calls."""
        self.is_cancelled = True
        if self._timer is not None:
            _services.cancel(self._timer)

    def fire(self):
        """Calls the function now, for tests without a router."""
        return None if self.is_cancelled else self._function(*self._arguments)


def after(seconds, function, *arguments):
    """Calls a function once, after `seconds` seconds. The function may be a generator that yields a Request and gets its
    Response. The timer ends with the app. In tests without a router it never fires automatically."""
    return _start(seconds, None, function, arguments)


def every(seconds, function, *arguments):
    """Calls a function every `seconds` seconds. Calls that a slow one delays are skipped."""
    return _start(seconds, seconds, function, arguments)


def _start(wait, pause, function, arguments):
    if not callable(function):
        raise TypeError("a timer: expected a function")
    timer = None if _services is None else _services.start(wait, pause, function, arguments)
    return Timer(function, arguments, timer)


class _State:
    """The app's stored values, which the router keeps encrypted across restarts: JSON values by keys of 1 to 64 printable
    ASCII characters. Up to 16 KiB per value, 256 keys and 256 KiB in total.

        state["cursor"] = 7
        state.get("cursor", 0)
        del state["cursor"]

    Use it only inside functions that the router calls. In tests without a router it is a dict.
    """

    def __init__(self):
        self._values = {}

    def get(self, key, default=None):
        value = self._values.get(key) if _services is None else _services.get(key)
        if value is None:
            return default
        try:
            return _json.loads(value)
        except (ValueError, RecursionError):
            # A plugin in another language has stored it.
            return default

    def __getitem__(self, key):
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        text = _json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if _services is None:
            self._values[key] = text
        else:
            _services.set(key, text)

    def __delitem__(self, key):
        if self.get(key) is None:
            raise KeyError(key)
        if _services is None:
            del self._values[key]
        else:
            _services.set(key, b"")

    def __contains__(self, key):
        return self.get(key) is not None

    def keys(self):
        """The keys, sorted."""
        return sorted(self._values) if _services is None else _services.keys()

    def clear(self):
        """Removes all values."""
        for key in self.keys():
            if _services is None:
                del self._values[key]
            else:
                _services.set(key, b"")


state = _State()


def inbound_url():
    """The absolute URL of `receive`, without a trailing "/"; None if the operator has set no public address, and in tests
    without a router."""
    return None if _services is None else _services.inbound_url()


# ---- Outcomes of deliveries ------------------------------------------------------------


class Outcome:
    """The outcome of a delivery; use the functions below to make one.

    `reason` is one word of a small fixed set, because it labels a metric: up to 40 of a-z, 0-9 and "-". Never a text
    from the service.
    """

    DELIVERED, GONE, REJECTED, RETRY, MISCONFIGURED = range(5)
    _SCOPES = {None: 0, "device": 1, "host": 2, "transport": 3}
    __slots__ = ("kind", "reason", "after", "scope")

    def __init__(self, kind, reason="", after=None, scope=None):
        self.kind = kind
        self.reason = reason
        self.after = after
        if after is not None and not after >= 0:
            raise ValueError("after: expected seconds")
        if scope not in self._SCOPES:
            raise ValueError('scope: expected "device", "host" or "transport"')
        self.scope = scope

    def __eq__(self, other):
        if not isinstance(other, Outcome):
            return NotImplemented
        return (self.kind, self.reason, self.after, self.scope) == (other.kind, other.reason, other.after, other.scope)

    def __repr__(self):
        name = ("delivered", "gone", "rejected", "retry", "misconfigured")[self.kind]
        return f"{name}({self.reason!r})"

    @staticmethod
    def of(response):
        """The usual outcome for a response; used if a plugin has no `outcome`, or if that returns None."""
        status = response.status
        if 200 <= status < 300:
            return delivered()
        if status == 0:
            return retry(response.failure)
        if status == 404:
            return Outcome(Outcome.GONE, "not-found")  # perhaps a proxy's: removed only after an hour
        if status == 410:
            return gone()
        if status in (401, 403, 407):
            return misconfigured("unauthorized")
        if status == 413:
            return rejected("payload-too-large")
        if status in (408, 425, 429) or status >= 500:
            return retry("too-many-requests" if status == 429 else "server-error", after=response.retry_after)
        return rejected()


def delivered():
    """The service accepted the message."""
    return Outcome(Outcome.DELIVERED)


def gone(reason=""):
    """The service reports this registration as dead: the router removes it."""
    return Outcome(Outcome.GONE, reason)


def rejected(reason=""):
    """This message can never be accepted: the router drops it. "payload-too-large" makes it try a stricter mode."""
    return Outcome(Outcome.REJECTED, reason)


def retry(reason="", after=None, scope=None):
    """A temporary error: the router retries after at least `after` seconds. `scope` selects the pushes that wait until
    then, those of the "device", the "host" or the whole "transport"."""
    return Outcome(Outcome.RETRY, reason, after, scope)


def misconfigured(reason=""):
    """The operator's credentials are invalid: the router pauses the transport and notifies the operator."""
    return Outcome(Outcome.MISCONFIGURED, reason)


# ---- Filters ---------------------------------------------------------------------------


class Drop:
    """A filter's decision that an event is not for this recipient."""

    __slots__ = ("reason",)

    def __init__(self, reason=""):
        self.reason = reason


def drop(reason=""):
    """Return this from `decide` to drop an event. `reason` is for the log: printable ASCII, never content. Return None to
    let the event pass."""
    return Drop(reason)


class Call:
    """One event for one recipient, for a filter's decision.

    event             the source event, a dict; verified, but written by a stranger
    recipient         64 hex digits; `author` too, empty if unknown
    recipient_events  a list of dicts: the newest events of WANTED_KINDS
    signal, relation  how the event relates to the recipient, as in rules
    zap_millisats     the amount of the zap, or 0
    now               in seconds since 1970
    distance          "unknown", "followed", "second", "stranger" or "not-followed"
    notification      if RENDERED is True, else None; `set` changes its texts
    """

    _FIELDS = {"title", "subtitle", "body", "category", "thread", "collapse_key", "url", "data", "urgency"}
    __slots__ = (
        "event", "recipient", "author", "recipient_events", "signal", "relation", "zap_millisats", "now", "distance",
        "notification", "edits",
    )

    def __init__(
        self, event=None, recipient="", author="", recipient_events=(), signal="", relation="", zap_millisats=0,
        now=0.0, distance="unknown", notification=None,
    ):
        self.event = {} if event is None else event
        self.recipient = recipient
        self.author = author
        self.recipient_events = list(recipient_events)
        self.signal = signal
        self.relation = relation
        self.zap_millisats = zap_millisats
        self.now = now
        self.distance = distance
        self.notification = notification
        self.edits = []

    def set(self, field, value):
        """Changes a text of the notification, `data` (a dict) or `urgency` ("low", "normal", "high")."""
        if self.notification is None or field not in self._FIELDS:
            raise ValueError("set: there is no such field, or RENDERED = True is missing")
        text = _json.dumps(value, ensure_ascii=False) if field == "data" else value
        self.edits.append((field, text))


# ---- The log ---------------------------------------------------------------------------

_writer = None


def log(text, level="info"):
    """Writes one line to the router's log, at "debug", "info", "warning" or "error". Never log tokens or contents."""
    if _writer is None:
        print(text, file=sys.stderr)
    else:
        _writer(str(text), level)
