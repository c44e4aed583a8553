"""The streams of all instances (service `carillon.stream/1`): written bytes, unread bytes, and the steps that wait for
them. The main thread reads; any thread may write."""

import collections
import threading

from carillon import Stream, StreamError

from . import wire

WAITING = object()
"""The result of a step that must wait."""

_PER_INSTANCE = 256
_WRITE_LIMIT = 1 << 20
_REPORT_INTERVAL = 64 << 10


class Connection:
    """This side of a stream."""

    def __init__(self, streams, number, instance):
        self._streams = streams
        self.number = number
        self.instance = instance
        self.is_open = False
        """Connected."""
        self.is_closing = False
        self.is_starting_tls = False
        self.failure = None
        """Why it has ended, empty if one of the two ends closed it; None: it is open."""
        self.buffer = bytearray()
        """Unread bytes."""
        self.read = self.reported = 0
        """The total of bytes read, and how many of them were reported to the router."""
        self.taken = self.sent = 0
        """The total of bytes written, and how many of them the router has sent."""
        self.waiting = None
        """The waiting step, and the function for its result."""

    # ---- For carillon.Stream -----------------------------------------------------------

    @property
    def is_usable(self):
        return self.failure is None and not self.is_closing

    def write(self, data):
        self._streams.write(self, data)

    def close(self):
        self._streams.close(self)

    def drop(self):
        """The plugin has dropped the stream. May be called on any thread, at any point."""
        self._streams.dropped.append(self)


class Streams:
    def __init__(self, send):
        """`send(kind, number, body)` sends a frame to the router."""
        self._send = send
        self._open = {}
        self._last = 0
        self._counts = collections.Counter()
        self._lock = threading.Lock()
        self.dropped = collections.deque()

    # ---- Steps -------------------------------------------------------------------------

    def begin(self, instance, step, resume):
        """Starts a step that a generator yielded. Returns its result: a value, a StreamError to raise, or WAITING. After
        WAITING, `resume` is called with the result later."""
        if isinstance(step, Stream):
            return self._connect(instance, step, resume)
        connection = step.stream._connection
        if connection is None:
            raise RuntimeError("a stream: yield it before you use it")
        if connection.waiting is not None:
            raise RuntimeError("a stream: something waits for it already")
        if step.kind == "tls":
            self._start_tls(connection)
        result = self._result(connection, step)
        if result is WAITING:
            connection.waiting = (step, resume)
        return result

    def abandon(self, step):
        """The generator that yielded this is gone."""
        connection = step._connection if isinstance(step, Stream) else step.stream._connection
        if connection is not None:
            connection.waiting = None

    def _connect(self, instance, stream, resume):
        if stream._connection is not None:
            raise RuntimeError("a stream: it was yielded before; make a new one")
        if instance.is_shut_down:
            # Stops a loop that keeps reconnecting.
            return WAITING
        if self._counts[instance] >= _PER_INSTANCE:
            return StreamError("busy")
        self._last += 1
        connection = stream._connection = Connection(self, self._last, instance)
        self._open[connection.number] = connection
        self._counts[instance] += 1
        # The connection must not retain the stream, or its end would go unnoticed. The step retains it while it waits.
        connection.waiting = (stream, resume)
        self._send(wire.STREAM_OPEN, connection.number, wire.write_stream_open(instance.number, stream))
        return WAITING

    def _start_tls(self, connection):
        if connection.failure is not None:
            return
        # Unread unencrypted bytes are not counted: the router treats them as injected, and ends the stream.
        connection.buffer.clear()
        connection.is_starting_tls = True
        connection.reported = connection.read
        self._send(wire.STREAM_START_TLS, connection.number, wire.long(connection.read))

    def _result(self, connection, step):
        if isinstance(step, Stream):
            return step if connection.is_open else self._end(connection)
        if step.kind == "tls":
            return step.stream if not connection.is_starting_tls and connection.failure is None else self._end(connection)
        if step.kind == "drain":
            return None if connection.sent == connection.taken else self._end(connection)
        buffer = connection.buffer
        if step.kind == "line":
            end = buffer.find(b"\n", 0, step.limit + 1)
            if end >= 0:
                return self._take(connection, end + 1).rstrip(b"\r\n")
            if len(buffer) > step.limit:
                connection.close()
                return StreamError("line-too-long")
            return self._end(connection)
        if buffer:
            return self._take(connection, min(len(buffer), step.limit))
        return b"" if connection.failure == "" else self._end(connection)

    @staticmethod
    def _end(connection):
        return WAITING if connection.failure is None else StreamError(connection.failure or "closed")

    def _take(self, connection, count):
        data = bytes(connection.buffer[:count])
        del connection.buffer[:count]
        connection.read += count
        if connection.failure is None and connection.read - connection.reported >= _REPORT_INTERVAL:
            connection.reported = connection.read
            self._send(wire.STREAM_TAKEN, connection.number, wire.long(connection.read))
        return data

    # ---- From the plugin ---------------------------------------------------------------

    def write(self, connection, data):
        with self._lock:
            if not connection.is_usable:
                raise StreamError(connection.failure or "closed")
            if connection.taken - connection.sent + len(data) > _WRITE_LIMIT:
                raise ValueError("write: more than 1 MiB would wait: yield drain() before")
            connection.taken += len(data)
            if data:
                # Under the lock, to keep the order of the calls.
                self._send(wire.STREAM_WRITE, connection.number, wire.text(data))

    def close(self, connection):
        with self._lock:
            if connection.is_usable:
                connection.is_closing = True
                self._send(wire.STREAM_CLOSE, connection.number, wire.number(0))

    def close_dropped(self):
        """Closes the streams that the plugin has dropped."""
        while self.dropped:
            self.dropped.popleft().close()

    # ---- From the router ---------------------------------------------------------------

    def receive(self, kind, number, body):
        connection = self._open.get(number)
        if connection is None:
            raise wire.ProtocolError("news of a stream that is not")
        if kind == wire.STREAM_OPENED:
            wire.Fields(body).end()
            connection.is_open = True
            connection.is_starting_tls = False
        elif kind == wire.STREAM_RECEIVED:
            data = wire.read_stream_bytes(body)
            if not connection.is_starting_tls:
                connection.buffer += data
        elif kind == wire.STREAM_DRAINED:
            total = wire.read_stream_count(body)
            if not connection.sent <= total <= connection.taken:
                raise wire.ProtocolError("a number of bytes that cannot be")
            connection.sent = total
        else:
            connection.failure = wire.read_stream_bytes(body).decode("utf-8", "replace")
            del self._open[number]
            self._counts[connection.instance] -= 1
            connection.instance.is_shut_down |= connection.failure == "shut-down"
        self._resume(connection)
        if connection.failure is not None:
            self._send(wire.STREAM_CLOSE, number, wire.number(1))

    def _resume(self, connection):
        if connection.waiting is None:
            return
        step, resume = connection.waiting
        result = self._result(connection, step)
        if result is not WAITING:
            connection.waiting = None
            resume(result)

    def forget(self, instance):
        """Ends the streams of a destroyed instance."""
        self._counts.pop(instance, None)
