"""Frames between the router and this process; contrib/docs/plugin-protocol.md specifies them."""

import json
import struct

from carillon import Action, Call, Incoming, Notification, Registration, Response

VERSION = 1
ABI_MINOR = 0

# From the router.
LOAD, CREATE, DESTROY, VALIDATE, CHECK, DECIDE, COMMAND, PING, REPLY = range(1, 10)
DELIVER, CANCEL, RESPONSE, STORED, RECEIVE = 32, 33, 34, 39, 41
STREAM_OPENED, STREAM_RECEIVED, STREAM_DRAINED, STREAM_CLOSED = range(35, 39)
# To the router.
HELLO, LOADED, UNLOADABLE, ANSWERED, DECIDED, PONG, PRESENT = range(64, 71)
REFUSED, COMPLETED, REQUEST, LOG, MISTAKE = range(96, 101)
STREAM_OPEN, STREAM_WRITE, STREAM_START_TLS, STREAM_CLOSE, STREAM_TAKEN = range(101, 106)
STORE, RECEIVED = 106, 107
TIMER = 256
"""The call's kind in `pong` during a timer's call."""

OK, INVALID, BUSY, UNSUPPORTED, FAILED = range(5)
"""carillon_status"""

MODES = ("wake", "nudge", "sealed", "alert")
URGENCIES = ("low", "normal", "high")
LEVELS = ("debug", "info", "warning", "error")
DISTANCES = ("unknown", "followed", "second", "stranger", "not-followed")

MEBIBYTE = 1 << 20
LIMITS = {
    LOAD: 256 << 10, CREATE: 4 * MEBIBYTE, DESTROY: 16, VALIDATE: 256 << 10, CHECK: 256 << 10, DECIDE: 4 * MEBIBYTE,
    COMMAND: MEBIBYTE + 64, PING: 16, REPLY: 4 << 10, DELIVER: 4 * MEBIBYTE, CANCEL: 16,
    RESPONSE: MEBIBYTE + (256 << 10), STORED: 320 << 10, RECEIVE: 320 << 10, STORE: 17 << 10, RECEIVED: 320 << 10,
    HELLO: 512, LOADED: 4 * MEBIBYTE, UNLOADABLE: 16 << 10, ANSWERED: MEBIBYTE + 64, DECIDED: 4 * MEBIBYTE, PONG: 512,
    STREAM_OPENED: 16, STREAM_RECEIVED: (64 << 10) + 4, STREAM_DRAINED: 16, STREAM_CLOSED: 64,
    STREAM_OPEN: (256 << 10) + 512, STREAM_WRITE: MEBIBYTE + 4, STREAM_START_TLS: 16, STREAM_CLOSE: 16, STREAM_TAKEN: 16,
    REFUSED: 16, COMPLETED: 512, REQUEST: MEBIBYTE + (44 << 10), LOG: 4 << 10, MISTAKE: 512,
}
"""The longest body of each kind."""

_HEADER = struct.Struct("<IIQ")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class ProtocolError(Exception):
    """The router sent an invalid frame: the process ends."""


# ---- Frames ----------------------------------------------------------------------------


def frame(kind, id, body=b""):
    """One frame."""
    return _HEADER.pack(len(body), kind, id) + body


class FrameBuffer:
    """Collects received bytes and returns the frames in them."""

    def __init__(self, kinds):
        self._kinds = kinds
        self._bytes = bytearray()

    def add(self, data):
        """Adds received bytes. Yields the kind, the ID and the body of each complete frame."""
        self._bytes += data
        at = 0
        try:
            while len(self._bytes) - at >= _HEADER.size:
                length, kind, id = _HEADER.unpack_from(self._bytes, at)
                if kind not in self._kinds:
                    raise ProtocolError(f"a frame of the kind {kind}")
                if length > LIMITS[kind]:
                    raise ProtocolError(f"a frame of the kind {kind} with {length} bytes")
                end = at + _HEADER.size + length
                if len(self._bytes) < end:
                    break
                body = bytes(self._bytes[at + _HEADER.size : end])
                at = end
                yield kind, id, body
        finally:
            del self._bytes[:at]


class Fields:
    """Reads the fields of a body, one after the other."""

    __slots__ = ("_body", "_at")

    def __init__(self, body):
        self._body = body
        self._at = 0

    def number(self):
        """A u32."""
        if self._at + 4 > len(self._body):
            raise ProtocolError("a field beyond the end")
        value = _U32.unpack_from(self._body, self._at)[0]
        self._at += 4
        return value

    def long(self):
        """A u64."""
        if self._at + 8 > len(self._body):
            raise ProtocolError("a field beyond the end")
        value = _U64.unpack_from(self._body, self._at)[0]
        self._at += 8
        return value

    def bytes(self):
        end = self.number() + self._at
        if end > len(self._body):
            raise ProtocolError("a field beyond the end")
        value = self._body[self._at : end]
        self._at = end
        return value

    def text(self):
        return self.bytes().decode("utf-8", "replace")

    def count(self, limit):
        count = self.number()
        if count > limit:
            raise ProtocolError("a list with too many elements")
        return count

    def end(self):
        if self._at != len(self._body):
            raise ProtocolError("a body that goes on")


def number(value):
    return _U32.pack(value)


def long(value):
    return _U64.pack(value)


def text(value):
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return _U32.pack(len(data)) + data


def pairs(items):
    return number(len(items)) + b"".join(text(name) + text(value) for name, value in items)


# ---- From the router -------------------------------------------------------------------


def _choice(names, value):
    """The name of an enumeration's value; values newer than this program have none."""
    return names[value] if value < len(names) else "unknown"


def _json_object(value):
    return json.loads(value) if value else {}


def read_load(body):
    fields = Fields(body)
    path = fields.text()
    paths = [fields.text() for _ in range(fields.count(64))]
    memory, is_sandboxed, is_last = fields.long(), fields.number() != 0, fields.number() != 0
    fields.end()
    return path, paths, memory, is_sandboxed, is_last


def read_create(body):
    """The instance's number, the library, whether it is a filter, its index in the descriptor, the configuration's
    text, its URL for inbound requests, its stored values."""
    fields = Fields(body)
    instance, library, table, index, configuration, url = (
        fields.number(), fields.number(), fields.number(), fields.number(), fields.text(), fields.text(),
    )
    kept = _kept(fields)
    fields.end()
    if table > 1:
        raise ProtocolError("neither a transport nor a filter")
    return instance, library, table == 1, index, configuration, url, kept


def _kept(fields):
    return [(fields.text(), fields.bytes()) for _ in range(fields.count(256))]


def read_stored(body):
    fields = Fields(body)
    instance, is_whole, entries = fields.number(), fields.number() != 0, _kept(fields)
    fields.end()
    return instance, is_whole, entries


def read_receive(body):
    fields = Fields(body)
    instance, method, path, query = fields.number(), fields.text(), fields.text(), fields.text()
    headers = _headers(fields, 128)
    data = fields.bytes()
    fields.end()
    return instance, Incoming(method, path, query, headers, data)


def read_instance(body):
    fields = Fields(body)
    instance = fields.number()
    fields.end()
    return instance


def _registration(fields):
    token, registered = fields.text(), fields.long() / 1000
    values = {}
    for _ in range(fields.count(256)):
        name = fields.text()
        values[name] = fields.text()
    return Registration(token, values, registered)


def _notification(fields):
    mode, urgency, count, expires = fields.number(), fields.number(), fields.number(), fields.long()
    texts = [fields.text() for _ in range(12)]
    id, signal, title, subtitle, body, category, thread, collapse_key, url, data, native, sealed = texts
    actions = [
        Action(fields.text(), fields.text(), fields.text(), fields.text()) for _ in range(fields.count(64))
    ]
    return Notification(
        _choice(MODES, mode), _choice(URGENCIES, urgency), count, id, signal, title, subtitle, body, category, thread,
        collapse_key, url, actions, _json_object(data), _json_object(native), expires / 1000 if expires else None,
        json.loads(sealed) if sealed else None,
    )


def instance_of(body):
    """The instance of a body that starts with one."""
    return Fields(body).number()


def read_deliver(body):
    fields = Fields(body)
    instance = fields.number()
    registration = _registration(fields)
    notification = _notification(fields)
    fields.end()
    return instance, registration, notification


def read_validate(body):
    fields = Fields(body)
    instance, registration = fields.number(), _registration(fields)
    fields.end()
    return instance, registration


def read_check(body):
    fields = Fields(body)
    library, index, block = fields.number(), fields.number(), fields.text()
    fields.end()
    return library, index, block


def read_decide(body):
    fields = Fields(body)
    instance, zap, now, distance = fields.number(), fields.long(), fields.long(), fields.number()
    event, recipient, signal, author, relation = [fields.text() for _ in range(5)]
    events = [fields.text() for _ in range(fields.count(64))]
    notification = _notification(fields) if fields.number() else None
    fields.end()
    call = Call(
        json.loads(event), recipient, author, [json.loads(each) for each in events], signal, relation, zap, now / 1000,
        _choice(DISTANCES, distance), notification,
    )
    return instance, call


def read_command(body):
    fields = Fields(body)
    instance = fields.number()
    words = [fields.text() for _ in range(fields.count(1024))]
    fields.end()
    return instance, words


def read_response(body):
    fields = Fields(body)
    status, failure = fields.number(), fields.text()
    headers = _headers(fields, 1024)
    data = fields.bytes()
    fields.end()
    return Response(status, data, headers, failure)


def read_stream_bytes(body):
    fields = Fields(body)
    data = fields.bytes()
    fields.end()
    return data


def read_stream_count(body):
    fields = Fields(body)
    total = fields.long()
    fields.end()
    return total


def _headers(fields, limit):
    headers = {}
    for _ in range(fields.count(limit)):
        name, value = fields.text(), fields.text()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


# ---- To the router ---------------------------------------------------------------------


def write_hello(deliveries, questions):
    return number(VERSION) + number(deliveries) + number(questions)


def write_loaded(id, version, transports, filters, confinement):
    """`transports` are tuples of flags, platform, description, functions and the maximum batch of deliveries;
    `filters` of flags, name, kinds and functions."""
    body = text(id) + text(version) + number(ABI_MINOR) + number(confinement) + number(len(transports))
    for flags, platform, description, functions, limit in transports:
        body += number(flags) + text(platform) + text(description) + number(functions) + number(limit)
    body += number(len(filters))
    for flags, name, kinds, functions in filters:
        body += number(flags) + text(name) + number(len(kinds)) + b"".join(map(number, kinds)) + number(functions)
    return body + number(0)


def write_unloadable(reason, what, confinement):
    return number(reason) + number(0) + number(confinement) + text(what.encode("utf-8", "replace")[: 4 << 10])


def write_answered(status, value=0, said=""):
    return number(status) + number(value) + text(said)


def write_decided(status, is_dropped, edits):
    return number(status) + number(1 if is_dropped else 0) + pairs(edits)


def write_pong(calls):
    return b"".join(number(thread) + number(kind) + long(id) + long(elapsed) for thread, kind, id, elapsed in calls)


def write_refused(instance, status):
    return number(instance) + number(status)


def write_completed(instance, outcome, status):
    after = int(min((outcome.after or 0) * 1000, (1 << 32) - 1))
    scope = outcome._SCOPES[outcome.scope]
    # The router takes 40 characters; more would only fill the frame.
    numbers = (instance, outcome.kind, status, after, scope)
    return b"".join(map(number, numbers)) + text(str(outcome.reason)[:64])


def write_request(instance, ticket, request):
    flags = (1 if request.multiplex else 0) | (0 if request.trusted else 2)
    return (
        number(instance) + long(ticket) + number(flags) + number(int(request.timeout * 1000))
        + number(request.max_response) + text(request.method) + text(request.url) + text(request.connection)
        + pairs(list(request.headers.items())) + text(request.body)
    )


def write_stream_open(instance, stream):
    flags = (1 if stream.tls else 0) | (0 if stream.trusted else 2)
    return (
        number(instance) + number(flags) + number(stream.port) + number(int(stream.connect_timeout * 1000))
        + number(int(stream.idle_timeout * 1000)) + text(stream.host) + text(stream.authorities)
    )


def write_store(instance, key, value):
    return number(instance) + text(key) + text(value)


def write_received(instance, status, answer=None):
    """`answer` if the plugin accepted the request."""
    if answer is None:
        return number(instance) + number(status) + number(0) + pairs([]) + text(b"")
    headers = pairs(list(answer.headers.items()))
    return number(instance) + number(status) + number(answer.status) + headers + text(answer.body)


def write_log(instance, level, line):
    level = LEVELS.index(level) if level in LEVELS else 1
    return number(instance) + number(level) + text(line.encode("utf-8", "replace")[:4000].decode("utf-8", "ignore"))
