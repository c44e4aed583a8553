"""Requests that the router sends for plugins, and the receivers of the responses. Only for the main thread."""

import inspect

from carillon import Request, Response, Stream, StreamError, StreamStep

from . import wire
from .streams import WAITING

_ERRANDS_LIMIT = 32


class Requests:
    def __init__(self, process):
        self._process = process
        self._open = {}
        """The function for the response of each open request."""
        self._last = 0
        self.errands = 0
        """Open requests without a delivery."""

    def send(self, instance, ticket, request, answered):
        """Makes the router send a request. `answered` is called with the response; the ticket is 0 without a delivery."""
        self._last += 1
        self._open[self._last] = answered
        self._process.results.send(wire.REQUEST, self._last, wire.write_request(instance.number, ticket, request))

    def answered(self, id, response):
        """Handles a request's response."""
        answered = self._open.pop(id, None)
        if answered is None:
            raise wire.ProtocolError("the answer to no request")
        answered(response)


def go_on(steps, result):
    """Resumes a generator with a result. Returns the next value that it yields; raises StopIteration at its end."""
    return steps.throw(result) if isinstance(result, StreamError) else steps.send(result)


class Errand:
    """A call of the plugin without a delivery: for a timer or an inbound request. It may be a generator that yields
    requests and streams, and gets their results."""

    def __init__(self, process, instance, name, finish, fail):
        """`finish` gets the function's return value, `fail` its exception."""
        self._process = process
        self._instance = instance
        self._name = name
        self._finish = finish
        self._fail = fail
        self._steps = None

    def begin(self, function, *arguments):
        def step():
            result = function(*arguments)
            if not inspect.isgenerator(result):
                return False, result
            self._steps = result
            return self._next(None)

        self._take(step)

    def _next(self, result):
        """Whether the generator continues, and the value that it yields or returns."""
        try:
            return True, go_on(self._steps, result)
        except StopIteration as end:
            return False, end.value

    def _answered(self, response):
        self._process.requests.errands -= 1
        self._resume(response)

    def _resume(self, result):
        self._take(lambda: self._next(result))

    def _take(self, step):
        self._process.inside(self._instance)
        try:
            goes_on, value = step()
            while goes_on:
                if isinstance(value, (Stream, StreamStep)):
                    result = self._process.streams.begin(self._instance, value, self._resume)
                    if result is WAITING:
                        return
                    goes_on, value = self._next(result)
                    continue
                if not isinstance(value, Request):
                    raise TypeError(f"{self._name} yielded neither a request nor a stream")
                requests = self._process.requests
                if requests.errands < _ERRANDS_LIMIT:
                    requests.errands += 1
                    return requests.send(self._instance, 0, value, self._answered)
                goes_on, value = self._next(Response(failure="busy"))
        except BaseException as error:
            return self._fail(error)
        self._finish(value)
