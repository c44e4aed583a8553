"""Loads and checks a plugin's file."""

import importlib.util
import inspect
import json
import linecache
import os
import re
import sys
import traceback

RAISED, MALFORMED = 6, 5
"""Reasons of `unloadable`."""

CREATE, DESTROY, VALIDATE, DELIVER, CANCEL, COMMAND, CHECK, DECIDE, RECEIVE = 1, 2, 4, 8, 16, 32, 64, 128, 1024
"""Functions of `loaded`, as bits."""

_ENCRYPTS, _SHOWS = 1, 2
_RENDERED, _ASKS_DISTANCE, _ASKS_FOLLOWED = 1, 2, 4
_NAME = re.compile(r"[a-z0-9_-]{1,64}")
_PRINTABLE = re.compile(r"[ -~]+")
_PARAMETERS = {
    "create": ("config",),
    "destroy": ("app",),
    "validate": ("registration", "app"),
    "deliver": ("notification", "registration", "app"),
    "outcome": ("response", "registration", "app"),
    "command": ("words", "app"),
    "check": ("block",),
    "receive": ("request", "app"),
    "describe": (),
    "decide": ("call", "app"),
}
"""The arguments of each function. A function may omit trailing parameters."""


class Unloadable(Exception):
    """Why a file is not a valid plugin."""

    def __init__(self, reason, text):
        super().__init__(text)
        self.reason = reason


class Plugin:
    """The definitions of a file."""

    def __init__(self, path):
        self._name = os.path.splitext(os.path.basename(path))[0]
        self.path = path
        self._module = self._import(path)
        self._functions = {name: self._function(name) for name in _PARAMETERS}
        self.platform = self._constant("PLATFORM", str)
        self.filter = self._constant("FILTER", str)
        if self.platform is None and self.filter is None:
            self._flaw('it names neither a platform (PLATFORM = "pager") nor a filter (FILTER = "no-casinos")')
        for constant, function in (("PLATFORM", "deliver"), ("FILTER", "decide")):
            name = self._constant(constant, str)
            if name is not None and not _NAME.fullmatch(name):
                self._flaw(f"{constant}: expected 1 to 64 of a-z, 0-9, - and _")
            if (name is None) != (self._functions[function] is None):
                self._flaw(f"{constant} and the function {function} belong together, and one of them is missing")
        self.id = self._printable("ID", f"python.{self._name}", 128)
        self.version = self._printable("VERSION", "0", 64)
        self.modes = self._constant("MODES", (tuple, list, set, frozenset)) or ("alert", "nudge", "wake")
        if not set(self.modes) <= {"alert", "sealed", "nudge", "wake"}:
            self._flaw('MODES: expected some of "alert", "sealed", "nudge" and "wake"')
        self.transports = [] if self.platform is None else [self._transport()]
        self.filters = [] if self.filter is None else [self._filter()]

    def has(self, name):
        return self._functions[name] is not None

    def call(self, name, *arguments):
        """Calls a function that the file defines."""
        return self._functions[name](*arguments)

    def where(self, error):
        """An error's type and place, without its message, which may hold a secret."""
        place = ""
        for step in traceback.extract_tb(error.__traceback__):
            if step.filename == self.path:
                place = f" in {step.name}, line {step.lineno}"
        return type(error).__name__ + place

    # ---- Reading the file --------------------------------------------------------------

    def _import(self, path):
        # A separate name: a file called json.py must not replace Python's module.
        name = "carillon_plugin_" + re.sub(r"\W", "_", self._name)
        try:
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            # For tracebacks, which are written after files can no longer be opened.
            source = importlib.util.decode_source(spec.loader.get_data(path))
            linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
            return module
        except SyntaxError as error:
            raise Unloadable(RAISED, f"{type(error).__name__}: {error.msg} (line {error.lineno})") from None
        except BaseException as error:
            lines = [step.lineno for step in traceback.extract_tb(error.__traceback__) if step.filename == path]
            place = f" (line {lines[-1]})" if lines else ""
            raise Unloadable(RAISED, f"{type(error).__name__}: {error}{place}") from None

    @staticmethod
    def _flaw(text):
        raise Unloadable(MALFORMED, text)

    def _constant(self, name, kinds):
        value = getattr(self._module, name, None)
        if value is not None and not isinstance(value, kinds):
            self._flaw(f"{name}: expected no {type(value).__name__}")
        return value

    def _printable(self, name, usual, limit):
        value = self._constant(name, str)
        value = usual if value is None else value
        if len(value) > limit or not _PRINTABLE.fullmatch(value):
            self._flaw(f"{name}: expected 1 to {limit} printable characters")
        return value

    def _function(self, name):
        function = getattr(self._module, name, None)
        if function is None:
            return None
        given = _PARAMETERS[name]
        wanted = f"expected a function of {', '.join(given)}" if given else "expected a function without parameters"
        if not callable(function):
            self._flaw(f"{name}: {wanted}")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            self._flaw(f"{name}: expected no async function; a function that needs several requests yields them")
        parameters = inspect.signature(function).parameters.values()
        if any(each.kind == each.VAR_POSITIONAL for each in parameters):
            return function
        places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        required = [each for each in parameters if each.default is each.empty and each.kind != each.VAR_KEYWORD]
        if len(required) > len(given) or any(each not in places for each in required):
            self._flaw(f"{name}: {wanted}, which may leave out the last ones")
        count = min(len(places), len(given))
        return function if count == len(given) else lambda *arguments: function(*arguments[:count])

    # ---- The descriptor ----------------------------------------------------------------

    def _transport(self):
        flags = _ENCRYPTS if self._constant("ENCRYPTS", bool) else 0
        flags |= _SHOWS if self._constant("SHOWS", bool) else 0
        functions = CREATE | DESTROY | DELIVER | CANCEL
        for name, bit in (("validate", VALIDATE), ("command", COMMAND), ("check", CHECK), ("receive", RECEIVE)):
            functions |= bit if self.has(name) else 0
        # Python plugins take one delivery at a time.
        return flags, self.platform, self._description(), functions, 0

    def _description(self):
        if not self.has("describe"):
            return ""
        try:
            description = self.call("describe")
            return description if isinstance(description, str) else json.dumps(description)
        except BaseException as error:
            raise Unloadable(RAISED, f"describe: {type(error).__name__}: {error}") from None

    def _filter(self):
        asks = self._constant("ASKS", str)
        if asks not in (None, "distance", "followed"):
            self._flaw('ASKS: expected "distance" or "followed"')
        flags = _RENDERED if self._constant("RENDERED", bool) else 0
        flags |= {None: 0, "distance": _ASKS_DISTANCE, "followed": _ASKS_FOLLOWED}[asks]
        kinds = list(self._constant("WANTED_KINDS", (list, tuple)) or [])
        if len(kinds) > 16 or not all(isinstance(kind, int) and 0 <= kind < 1 << 32 for kind in kinds):
            self._flaw("WANTED_KINDS: expected at most 16 numbers")
        return flags, self.filter, kinds, CREATE | DESTROY | DECIDE
