"""The timers of all instances (service `carillon.timer/1`). The main thread runs them."""

import heapq
import select
import socket
import threading
import time

_LIMIT = 1024
_LONGEST = 366 * 86_400
_SHORTEST_PAUSE = 0.01


class Timer:
    """A started timer."""

    __slots__ = ("number", "instance", "function", "arguments", "every", "due", "is_cancelled")

    def __init__(self, number, instance, function, arguments, every, due):
        self.number = number
        self.instance = instance
        self.function = function
        self.arguments = arguments
        self.every = every
        """In seconds; None: it fires once."""
        self.due = due
        self.is_cancelled = False


class Timers:
    def __init__(self, now=time.monotonic):
        self._now = now
        self._lock = threading.Lock()
        self._queue = []
        self._counts = {}
        self._last = 0
        # Another thread writes here to make the main thread look for the next timer again.
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)

    def start(self, instance, after, every, function, arguments):
        """Starts a timer. Raises ValueError for times outside their limits, and if there are too many timers."""
        if not 0 <= after <= _LONGEST:
            raise ValueError("a timer's time: expected 0 seconds to 366 days")
        if every is not None and not _SHORTEST_PAUSE <= every <= _LONGEST:
            raise ValueError("a timer's pause: expected 0.01 seconds to 366 days")
        with self._lock:
            if self._counts.get(instance, 0) >= _LIMIT:
                raise ValueError(f"timers: there are {_LIMIT} already")
            self._counts[instance] = self._counts.get(instance, 0) + 1
            self._last += 1
            timer = Timer(self._last, instance, function, arguments, every, self._now() + after)
            heapq.heappush(self._queue, (timer.due, timer.number, timer))
            is_first = self._queue[0][2] is timer
        if is_first:
            self._wake()
        return timer

    def cancel(self, timer):
        """Prevents all later calls."""
        with self._lock:
            self._forget(timer)

    def remove_all(self, instance):
        """Stops all timers of the instance."""
        with self._lock:
            for _, _, timer in self._queue:
                if timer.instance is instance:
                    timer.is_cancelled = True
            self._counts.pop(instance, None)
            self._tidy_up()

    def take_due(self, now):
        """The first timer due at `now`, or None. `again` schedules the next call of a repeating timer."""
        with self._lock:
            self._tidy_up()
            if not self._queue or self._queue[0][0] > now:
                return None
            timer = heapq.heappop(self._queue)[2]
            if timer.every is None:
                self._forget(timer)
            return timer

    def again(self, timer):
        """Schedules a repeating timer after its call has returned. Missed calls are skipped."""
        with self._lock:
            if timer.every is None or timer.is_cancelled:
                return
            missed = max(0, int((self._now() - timer.due) / timer.every))
            timer.due += (missed + 1) * timer.every
            heapq.heappush(self._queue, (timer.due, timer.number, timer))

    def wait(self, connection):
        """Waits for input on `connection`, or until a timer is due. True: there may be input."""
        with self._lock:
            self._tidy_up()
            due = self._queue[0][0] if self._queue else None
        polled = select.poll()
        polled.register(connection, select.POLLIN)
        polled.register(self._woken, select.POLLIN)
        # Whole milliseconds, so one more is always late enough.
        wait = None if due is None else min(max(0, int((due - self._now()) * 1000) + 1), 1 << 30)
        ready = {descriptor for descriptor, _ in polled.poll(wait)}
        if self._woken.fileno() in ready:
            try:
                self._woken.recv(4096)
            except BlockingIOError:
                pass
        return connection.fileno() in ready

    def _wake(self):
        try:
            self._waker.send(b"1")
        except BlockingIOError:
            pass

    def _forget(self, timer):
        if timer.is_cancelled:
            return
        timer.is_cancelled = True
        count = self._counts.get(timer.instance, 0) - 1
        if count > 0:
            self._counts[timer.instance] = count
        else:
            self._counts.pop(timer.instance, None)

    def _tidy_up(self):
        while self._queue and self._queue[0][2].is_cancelled:
            heapq.heappop(self._queue)
        if len(self._queue) > 64 and sum(entry[2].is_cancelled for entry in self._queue) * 2 > len(self._queue):
            self._queue = [entry for entry in self._queue if not entry[2].is_cancelled]
            heapq.heapify(self._queue)
