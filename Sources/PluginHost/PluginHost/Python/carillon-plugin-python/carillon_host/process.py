"""The process: three threads between two sockets and a plugin.

The main thread reads deliveries and calls the plugin for them. Another one reads questions, and never calls the plugin,
so that it can always report the others' calls. The third answers the questions.
"""

import faulthandler
import functools
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback

import carillon
from carillon import Answer, Busy, Drop, Invalid, Unsupported

from . import wire
from .confinement import Confinement
from .deliveries import Deliveries
from .plugin import RAISED, Plugin, Unloadable
from .requests import Errand, Requests
from .services import Services
from .state import StateCopy
from .streams import Streams
from .timers import Timers

_THREADS = 3
_STACK = 1 << 20
_LINES_PER_SECOND = 100
_OF_STREAMS = {wire.STREAM_OPENED, wire.STREAM_RECEIVED, wire.STREAM_DRAINED, wire.STREAM_CLOSED}


def fail(line):
    """Ends the process immediately, after a frame that the router never sends."""
    print(f"carillon-plugin-python: {line}", file=sys.stderr, flush=True)
    os._exit(1)


def end():
    """Ends the process, because the router closed a socket or is gone."""
    os._exit(0)


class Sending:
    """The sending half of a socket. Frames of the thread `collector` are buffered until `flush`."""

    def __init__(self, connection):
        self._connection = connection
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self.collector = None

    def send(self, kind, id, body=b""):
        with self._lock:
            self._waiting += wire.frame(kind, id, body)
            if threading.get_ident() != self.collector or len(self._waiting) > 64 << 10:
                self._send()

    def flush(self):
        with self._lock:
            if self._waiting:
                self._send()

    def _send(self):
        try:
            self._connection.sendall(self._waiting)
        except OSError:
            end()
        self._waiting = bytearray()


class Activity:
    """The current call of a thread. The thread writes, another reads."""

    def __init__(self, confinement):
        self._confinement = confinement
        self._call = (0, 0, 0.0)
        self.thread = 0

    def adopt(self):
        self.thread = threading.get_native_id()

    def begin(self, kind, id):
        self._confinement.note(id, kind)
        self._call = (kind, id, time.monotonic())

    def end(self):
        self._call = (0, 0, 0.0)
        self._confinement.note(0, 0)

    @property
    def report(self):
        kind, id, since = self._call
        return self.thread, kind, id, int((time.monotonic() - since) * 1000) if kind else 0


class Instance:
    """A transport or a filter with one app's configuration, from `create`."""

    def __init__(self, number, plugin, app, inbound_url, state):
        self.number = number
        self.plugin = plugin
        self.app = app
        self.inbound_url = inbound_url
        self.state = state
        self.is_open = True
        self.is_shut_down = False
        """The router has ended its streams."""
        self.calls = threading.RLock()
        """Held during a timer's call, so that the instance is not destroyed during it."""


class Process:
    def __init__(self, deliveries, questions, crashes, shows_errors=False):
        self._delivery_socket = socket.socket(fileno=deliveries)
        self._question_socket = socket.socket(fileno=questions)
        self.results = Sending(self._delivery_socket)
        self._answers = Sending(self._question_socket)
        self._confinement = Confinement(_THREADS)
        self._delivery_activity = Activity(self._confinement)
        self._question_activity = Activity(self._confinement)
        self._instances = {}
        self._deliveries = Deliveries(self)
        self.requests = Requests(self)
        self.timers = Timers()
        self.streams = Streams(self.results.send)
        self._plugins = []
        self._is_asked_to_load = False
        self._questions = queue.SimpleQueue()
        self._current = threading.local()
        self._lines = (0.0, 0)
        self._lines_lock = threading.Lock()
        self._crashes = crashes
        self._shows_errors = shows_errors

    def run(self):
        """Serves until the router closes a socket. The calling thread takes the deliveries."""
        # The router decides when a process ends. Signals from an init system must not end deliveries.
        for each in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(each, signal.SIG_IGN)
        self._confinement.report_crashes(self._crashes)
        # Last, so that a crash first reports the plugin's place.
        faulthandler.enable(sys.stderr)
        carillon._writer = self._log
        carillon._services = Services(self)
        threading.stack_size(_STACK)
        ready = threading.Event()
        self._delivery_activity.adopt()
        self.results.collector = threading.get_ident()
        threading.Thread(target=self._work, args=(ready,), daemon=True).start()
        ready.wait()
        threads = (self._delivery_activity.thread, self._question_activity.thread)
        self._answers.send(wire.HELLO, 0, wire.write_hello(*threads))
        threading.Thread(target=self._read_questions, daemon=True).start()
        self._confinement.enter()
        kinds = {wire.DELIVER, wire.CANCEL, wire.RESPONSE, wire.STORED, wire.RECEIVE, *_OF_STREAMS}
        self._read(self._delivery_socket, kinds, self._handle_delivery, self.results.flush, self._fire_timers)

    def _read(self, connection, kinds, handle, flush, wait=lambda connection: True):
        """Reads frames until the router closes the socket. `wait` waits until there may be some."""
        buffer = wire.FrameBuffer(kinds)
        try:
            while True:
                if not wait(connection):
                    continue
                try:
                    data = connection.recv(1 << 16)
                except OSError:
                    end()
                if not data:
                    end()
                for kind, id, body in buffer.add(data):
                    handle(kind, id, body)
                flush()
        except wire.ProtocolError as error:
            fail(f"the router sent {error}")

    # ---- Deliveries --------------------------------------------------------------------

    def instance(self, number):
        return self._instances.get(number)

    def _handle_delivery(self, kind, id, body):
        self._delivery_activity.begin(kind, id)
        if kind == wire.DELIVER:
            try:
                number, registration, notification = wire.read_deliver(body)
            except (ValueError, RecursionError):
                self.results.send(wire.REFUSED, id, wire.write_refused(wire.instance_of(body), wire.FAILED))
            else:
                self._deliveries.deliver(id, number, registration, notification)
        elif kind == wire.RESPONSE:
            self.requests.answered(id, wire.read_response(body))
        elif kind == wire.STORED:
            number, is_whole, entries = wire.read_stored(body)
            instance = self.instance(number)
            if instance is not None:
                instance.state.receive(entries, id, is_whole)
        elif kind == wire.RECEIVE:
            self._receive(id, *wire.read_receive(body))
        elif kind in _OF_STREAMS:
            self.streams.receive(kind, id, body)
        else:
            self._deliveries.cancel(id, wire.read_instance(body))
        self._delivery_activity.end()

    # ---- Timers and inbound requests ---------------------------------------------------

    def _fire_timers(self, connection):
        """Runs due timers, and waits for input. True: there may be some."""
        now = time.monotonic()
        while True:
            timer = self.timers.take_due(now)
            if timer is None:
                break
            instance = timer.instance
            with instance.calls:
                if not instance.is_open:
                    self.timers.cancel(timer)
                    continue
                self._delivery_activity.begin(wire.TIMER, timer.number)
                report = functools.partial(self.report, instance, "a timer")
                Errand(self, instance, "a timer", lambda _: None, report).begin(timer.function, *timer.arguments)
                self._delivery_activity.end()
            self.timers.again(timer)
        self.streams.close_dropped()
        self.results.flush()
        return self.timers.wait(connection)

    def _receive(self, id, number, request):
        instance = self.instance(number)
        if instance is None or not instance.plugin.has("receive"):
            return self.results.send(wire.RECEIVED, id, wire.write_received(number, wire.UNSUPPORTED))

        def finish(answer):
            if answer is not None and not isinstance(answer, Answer):
                return fail(TypeError("receive made no answer"))
            status = wire.UNSUPPORTED if answer is None else wire.OK
            self.results.send(wire.RECEIVED, id, wire.write_received(number, status, answer))

        def fail(error):
            refusals = {Invalid: wire.INVALID, Busy: wire.BUSY, Unsupported: wire.UNSUPPORTED}
            status = refusals.get(type(error), wire.FAILED)
            if status == wire.FAILED:
                self.report(instance, "receive", error)
            self.results.send(wire.RECEIVED, id, wire.write_received(number, status))

        receive = functools.partial(instance.plugin.call, "receive")
        Errand(self, instance, "receive", finish, fail).begin(receive, request, instance.app)

    @property
    def current(self):
        """The instance of the calling thread's current call; None: no call."""
        return getattr(self._current, "whole", None)

    # ---- Output of plugins -------------------------------------------------------------

    def inside(self, instance):
        """Sets the instance for which the calling thread calls the plugin."""
        self._current.instance = instance.number
        self._current.whole = instance

    def _log(self, line, level):
        with self._lines_lock:
            since, count = self._lines
            now = time.monotonic()
            if now - since >= 1:
                since, count = now, 0
            self._lines = (since, count + 1)
            if count >= _LINES_PER_SECOND:
                return
        line = " ".join(line.split("\n"))
        number = getattr(self._current, "instance", None)
        # There is no instance while the file is loaded, or in a thread that the plugin started.
        if number is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.results.send(wire.LOG, 0, wire.write_log(number, level, line))

    def report(self, instance, function, error):
        """Logs a failed function of the plugin: the error's type and place, never its message."""
        self.inside(instance)
        self._log(self._failure(instance.plugin, function, error), "error")

    def _failure(self, plugin, function, error):
        """Returns the error's type and place for the router. If errors are shown, writes the traceback to standard error."""
        if self._shows_errors:
            # Skips our own frame, unless the error was raised there.
            traceback.print_exception(type(error), error, error.__traceback__.tb_next or error.__traceback__)
            sys.stderr.flush()
        return f"{function} failed: {plugin.where(error)}"

    # ---- Questions ---------------------------------------------------------------------

    def _read_questions(self):
        kinds = {wire.LOAD, wire.CREATE, wire.DESTROY, wire.VALIDATE, wire.CHECK, wire.DECIDE, wire.COMMAND, wire.PING}
        self._read(self._question_socket, kinds, self._take_question, lambda: None)

    def _take_question(self, kind, id, body):
        if kind == wire.PING:
            calls = [self._delivery_activity.report, self._question_activity.report]
            return self._answers.send(wire.PONG, id, wire.write_pong(calls))
        if kind == wire.LOAD and not self._is_asked_to_load:
            self._is_asked_to_load = True
            _, paths, memory, is_sandboxed, _ = wire.read_load(body)
            self._confinement.begin(paths, memory, is_sandboxed)
            self._confinement.enter()
        self._questions.put((kind, id, body))

    def _work(self, ready):
        self._question_activity.adopt()
        ready.set()
        self._confinement.enter()
        answers = {
            wire.LOAD: self._load, wire.CREATE: self._create, wire.DESTROY: self._destroy, wire.CHECK: self._check,
            wire.VALIDATE: self._validate, wire.DECIDE: self._decide, wire.COMMAND: self._command,
        }
        while True:
            kind, id, body = self._questions.get()
            self._question_activity.begin(kind, id)
            self._current.instance = self._current.whole = None
            try:
                answers[kind](id, body)
            except wire.ProtocolError as error:
                fail(f"the router sent {error}")
            self._question_activity.end()

    def _answer(self, id, status, number=0, said=""):
        said = said.encode("utf-8", "replace")[: wire.MEBIBYTE].decode("utf-8", "ignore")
        self._answers.send(wire.ANSWERED, id, wire.write_answered(status, number, said))

    @staticmethod
    def _object(text):
        try:
            value = wire.json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Invalid("expected a JSON object")
        return value

    def _load(self, id, body):
        path, _, _, _, is_last = wire.read_load(body)
        try:
            # Better no plugin than an unconfined one.
            if self._confinement.flaw:
                raise Unloadable(RAISED, self._confinement.flaw)
            plugin = Plugin(path)
        except Unloadable as error:
            bits = self._confinement.close() if is_last else self._confinement.bits
            return self._answers.send(wire.UNLOADABLE, id, wire.write_unloadable(error.reason, str(error), bits))
        bits = self._confinement.close() if is_last else self._confinement.bits
        self._plugins.append(plugin)
        self._answers.send(
            wire.LOADED, id, wire.write_loaded(plugin.id, plugin.version, plugin.transports, plugin.filters, bits)
        )

    def _create(self, id, body):
        number, library, is_filter, index, text, url, kept = wire.read_create(body)
        if library >= len(self._plugins) or number in self._instances:
            raise wire.ProtocolError("an instance that cannot be")
        plugin = self._plugins[library]
        if index >= len(plugin.filters if is_filter else plugin.transports):
            raise wire.ProtocolError("an instance that cannot be")
        def store(id, key, value):
            self.results.send(wire.STORE, id, wire.write_store(number, key, value))

        instance = Instance(number, plugin, None, url or None, StateCopy(kept, store))
        self.inside(instance)
        try:
            config = self._object(text or "{}")
            instance.app = plugin.call("create", config) if plugin.has("create") else config
        except Invalid as error:
            self._close(instance)
            return self._answer(id, wire.INVALID, said=str(error) or "the plugin refuses it")
        except BaseException as error:
            self._close(instance)
            return self._answer(id, wire.INVALID, said=self._failure(plugin, "create", error))
        self._instances[number] = instance
        self._answer(id, wire.OK, plugin.filters[index][0] & ~1 if is_filter else 0)

    def _destroy(self, id, body):
        instance = self._instances.pop(wire.read_instance(body), None)
        if instance is None:
            raise wire.ProtocolError("the end of an instance that is not")
        self._close(instance)
        self.streams.forget(instance)
        if instance.plugin.has("destroy"):
            self.inside(instance)
            try:
                instance.plugin.call("destroy", instance.app)
            except BaseException as error:
                self.report(instance, "destroy", error)
        self._answer(id, wire.OK)

    def _close(self, instance):
        """Stops all timers of that instance."""
        with instance.calls:
            instance.is_open = False
        self.timers.remove_all(instance)

    def _validate(self, id, body):
        number, registration = wire.read_validate(body)
        instance = self._instances.get(number)
        if instance is None or not instance.plugin.has("validate"):
            return self._answer(id, wire.FAILED)
        self.inside(instance)
        try:
            instance.plugin.call("validate", registration, instance.app)
        except Invalid as error:
            return self._answer(id, wire.INVALID, said=str(error) or "the registration is not well-formed")
        except BaseException as error:
            return self._answer(id, wire.FAILED, said=self._failure(instance.plugin, "validate", error))
        self._answer(id, wire.OK)

    def _check(self, id, body):
        library, index, block = wire.read_check(body)
        plugin = self._plugins[library] if library < len(self._plugins) else None
        if plugin is None or index >= len(plugin.transports) or not plugin.has("check"):
            return self._answer(id, wire.FAILED)
        try:
            plugin.call("check", self._object(block))
        except Invalid as error:
            return self._answer(id, wire.INVALID, said=str(error) or "the block is not well-formed")
        except BaseException as error:
            return self._answer(id, wire.FAILED, said=self._failure(plugin, "check", error))
        self._answer(id, wire.OK)

    def _decide(self, id, body):
        instance = self._instances.get(wire.instance_of(body))
        status, is_dropped, edits = wire.FAILED, False, []
        if instance is not None and instance.plugin.has("decide"):
            self.inside(instance)
            try:
                _, call = wire.read_decide(body)
            except (ValueError, RecursionError):
                # Not a valid event: the plugin is not asked.
                return self._answers.send(wire.DECIDED, id, wire.write_decided(status, False, []))
            try:
                decision = instance.plugin.call("decide", call, instance.app)
                if decision is not None and not isinstance(decision, Drop):
                    raise TypeError("decide returned neither None nor drop()")
                is_dropped = decision is not None
                edits = call.edits + ([("reason", decision.reason)] if is_dropped and decision.reason else [])
                body = wire.write_decided(wire.OK, is_dropped, edits)
                return self._answers.send(wire.DECIDED, id, body)
            except wire.ProtocolError:
                raise
            except BaseException as error:
                self.report(instance, "decide", error)
        self._answers.send(wire.DECIDED, id, wire.write_decided(status, False, []))

    def _command(self, id, body):
        number, words = wire.read_command(body)
        instance = self._instances.get(number)
        if instance is None or not instance.plugin.has("command"):
            return self._answer(id, wire.UNSUPPORTED)
        self.inside(instance)
        try:
            answer = instance.plugin.call("command", words, instance.app)
            if answer is None:
                return self._answer(id, wire.UNSUPPORTED)
            text = answer if isinstance(answer, str) else wire.json.dumps(answer, ensure_ascii=False)
        except Unsupported:
            return self._answer(id, wire.UNSUPPORTED)
        except Invalid as error:
            return self._answer(id, wire.INVALID, 1, str(error) or "the command is not well-formed")
        except BaseException as error:
            return self._answer(id, wire.FAILED, 1, self._failure(instance.plugin, "command", error))
        self._answer(id, wire.OK, 1, text)
