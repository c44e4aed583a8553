"""The open deliveries: from the plugin's `deliver` over its requests to an outcome. Only for the main thread."""

import functools
import inspect

from carillon import Busy, Invalid, Outcome, Request, Response, Stream, StreamError, StreamStep, Unsupported, rejected, retry

from . import wire
from .requests import go_on
from .streams import WAITING

_STEPS = (Request, Outcome, Stream, StreamStep)


class Delivery:
    """A delivery that the plugin has accepted."""

    __slots__ = ("ticket", "instance", "registration", "steps", "step", "status")

    def __init__(self, ticket, instance, registration, steps):
        self.ticket = ticket
        self.instance = instance
        self.registration = registration
        self.steps = steps
        """The generator that `deliver` returned, or None."""
        self.step = None
        """The step of a stream that it waits for."""
        self.status = 0
        """The status of the last response."""


class Deliveries:
    def __init__(self, process):
        self._process = process
        self._open = {}

    def deliver(self, ticket, number, registration, notification):
        """Starts a delivery."""
        instance = self._process.instance(number)
        if instance is None or not instance.plugin.has("deliver"):
            return self._refuse(ticket, number, wire.FAILED)
        if notification.mode not in instance.plugin.modes:
            return self._refuse(ticket, number, wire.UNSUPPORTED)
        self._process.inside(instance)
        delivery = Delivery(ticket, instance, registration, None)
        try:
            step = instance.plugin.call("deliver", notification, registration, instance.app)
            if inspect.isgenerator(step):
                delivery.steps = step
                step = self._next(delivery, None)
            if not isinstance(step, _STEPS if delivery.steps else _STEPS[:2]):
                raise TypeError(f"deliver returned {type(step).__name__}: expected a Request or an outcome")
        except Invalid as error:
            self._refuse(ticket, number, wire.INVALID)
        except Unsupported:
            self._refuse(ticket, number, wire.UNSUPPORTED)
        except Busy:
            self._refuse(ticket, number, wire.BUSY)
        except BaseException as error:
            self._process.report(instance, "deliver", error)
            self._refuse(ticket, number, wire.FAILED)
        else:
            self._open[ticket] = delivery
            self._take(delivery, step)

    def _answered(self, delivery, response):
        """Handles a request's response, or the result of a step of a stream."""
        # A cancelled delivery has already ended.
        if delivery.ticket in self._open:
            self._process.inside(delivery.instance)
            self._take(delivery, self._go_on(delivery, response))

    def _go_on(self, delivery, response):
        """Passes a response to the plugin and returns the outcome or the next step."""
        instance = delivery.instance
        delivery.step = None
        is_answer = isinstance(response, Response)
        if is_answer:
            delivery.status = response.status
        try:
            if delivery.steps is not None:
                step = self._next(delivery, response)
                if step is None and is_answer:
                    step = Outcome.of(response)
            else:
                step = None
                if instance.plugin.has("outcome"):
                    step = instance.plugin.call("outcome", response, delivery.registration, instance.app)
                if step is None:
                    step = Outcome.of(response)
            if not isinstance(step, _STEPS if delivery.steps is not None else _STEPS[:2]):
                raise TypeError(f"expected an outcome, a Request or None, and not {type(step).__name__}")
        except Invalid:
            step = rejected("invalid")
        except StreamError as error:
            step = retry(error.failure)
        except BaseException as error:
            function = "deliver" if delivery.steps is not None else "outcome"
            self._process.report(instance, function, error)
            step = retry("plugin-error")
        return step

    def cancel(self, ticket, number):
        """Ends the delivery early, as the router requests."""
        delivery = self._open.get(ticket)
        if delivery is None or delivery.instance.number != number:
            return
        if delivery.steps is not None:
            try:
                delivery.steps.close()
            except BaseException as error:
                self._process.report(delivery.instance, "deliver", error)
        if delivery.step is not None:
            self._process.streams.abandon(delivery.step)
        self._take(delivery, retry("cancelled"))

    @staticmethod
    def _next(delivery, result):
        """The next value that the generator yields, or its return value at its end."""
        try:
            return go_on(delivery.steps, result)
        except StopIteration as end:
            return end.value

    def _take(self, delivery, step):
        """Sends the request, waits for the stream, or ends the delivery."""
        number = delivery.instance.number
        while isinstance(step, (Stream, StreamStep)):
            delivery.step = step
            try:
                result = self._process.streams.begin(delivery.instance, step, functools.partial(self._answered, delivery))
            except RuntimeError as error:
                self._process.report(delivery.instance, "deliver", error)
                step = retry("plugin-error")
                break
            if result is WAITING:
                return None
            step = self._go_on(delivery, result)
        if isinstance(step, Request):
            answered = functools.partial(self._answered, delivery)
            return self._process.requests.send(delivery.instance, delivery.ticket, step, answered)
        del self._open[delivery.ticket]
        self._process.results.send(wire.COMPLETED, delivery.ticket, wire.write_completed(number, step, delivery.status))

    def _refuse(self, ticket, number, status):
        self._process.results.send(wire.REFUSED, ticket, wire.write_refused(number, status))
