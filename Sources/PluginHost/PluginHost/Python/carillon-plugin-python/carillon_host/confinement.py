"""How the process gives up its rights. The rules are those of carillon-plugin-host, in C: libcarillon-confinement.so is
made of the same code."""

import os
import resource
import sys
import threading

try:
    import ctypes
except (ImportError, MemoryError):
    # A Python that is built without it, or a kernel that denies it the memory that it wants.
    ctypes = None

FILES, CALLS = 1, 2

_NAME = "libcarillon-confinement.so"
_LATE = (
    "_strptime", "base64", "calendar", "datetime", "decimal", "email.message", "encodings.ascii", "encodings.idna",
    "encodings.latin_1", "hashlib", "hmac", "html", "random", "re", "secrets", "string", "traceback", "urllib.parse",
    "uuid", "zoneinfo",
)
"""Modules that others import only when they are first used. By then no file can be opened."""


class Confinement:
    """Each thread of the process enters the first stage before the plugin is loaded, and all of them the second after
    it."""

    def __init__(self, threads):
        self._library = _load()
        self._begun = threading.Event()
        self._entered = threading.Barrier(threads)
        self._lock = threading.Lock()
        self._paths = None
        self._bits = FILES | CALLS if self._library else 0

    def report_crashes(self, descriptor):
        """A crash in machine code is reported to the router."""
        if self._library:
            self._library.carillon_report_crashes(descriptor)

    def note(self, id, kind):
        """What this thread works for from now on, for such a report; two zeros: nothing."""
        if self._library:
            self._library.carillon_note_call(id, kind)

    def begin(self, paths, memory, is_sandboxed):
        """The first `load` has come: sets the limits, and lets the threads go on."""
        if self._library:
            self._library.carillon_limit_memory(memory)
        elif memory:
            try:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            except (OSError, ValueError) as error:
                print(f"carillon-plugin-python: memory is not limited: {error}", file=sys.stderr, flush=True)
        self._paths = [*paths, *_own_paths()] if is_sandboxed else None
        if not is_sandboxed:
            self._bits = 0
        self._begun.set()

    @property
    def flaw(self):
        """Why the process cannot be confined though it should be; None: it can, as far as the kernel goes."""
        if self._paths is None or self._library:
            return None
        return f"{_NAME} is missing beside carillon-plugin-python; install it, or set plugins.sandbox to false"

    def enter(self):
        """Waits for the first `load`, takes this thread into the first stage, and waits for the others. Each thread
        calls it once."""
        self._begun.wait()
        if self._paths is not None and self._library:
            texts = (ctypes.c_char_p * len(self._paths))(*map(os.fsencode, self._paths))
            bits = self._library.carillon_confine_loading(texts, len(self._paths))
            with self._lock:
                self._bits &= bits
        self._entered.wait()

    @property
    def bits(self):
        """What confines the process, once all threads have entered."""
        return self._bits

    def close(self):
        """The second stage: no file is opened any more. Returns what confines the process then."""
        if self._bits or self._paths is not None:
            for name in _LATE:
                __import__(name)
        if self._library and self._paths is not None:
            # What the first stage takes away is little compared with the second: alone it does not count.
            self._bits = self._library.carillon_confine_running() | (self._bits & FILES)
        return self._bits


def _load():
    """The library, beside this program or in the folder above; None where there is none."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for place in (folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))):
        path = os.path.join(place, _NAME)
        if ctypes is None or not os.path.exists(path):
            continue
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        library.carillon_limit_memory.argtypes = [ctypes.c_uint64]
        library.carillon_note_call.argtypes = [ctypes.c_uint64, ctypes.c_uint32]
        library.carillon_note_call.restype = None
        library.carillon_confine_loading.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t]
        return library
    return None


def _own_paths():
    """What Python itself reads: its modules, and those that were installed for it."""
    paths = [path for path in sys.path if os.path.isabs(path)]
    paths += [os.path.join(prefix, "lib") for prefix in {sys.prefix, sys.base_prefix}]
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]
