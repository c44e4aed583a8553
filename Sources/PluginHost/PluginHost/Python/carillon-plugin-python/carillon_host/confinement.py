"""Drops the rights of the process, by the same rules as carillon-plugin-host: libcarillon-confinement.so is built from
the same C code."""

import os
import resource
import sys
import threading

try:
    import ctypes
except (ImportError, MemoryError):
    # Python was built without it, or the kernel denies the memory that it needs.
    ctypes = None

FILES, CALLS = 1, 2

_NAME = "libcarillon-confinement.so"
_LATE = (
    "_strptime", "base64", "calendar", "datetime", "decimal", "email.message", "encodings.ascii", "encodings.idna",
    "encodings.latin_1", "hashlib", "hmac", "html", "random", "re", "secrets", "string", "traceback", "urllib.parse",
    "uuid", "zoneinfo",
)
"""Modules that others import only when they are first used. After the second stage no file can be opened."""


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
        """Reports crashes in machine code to the router."""
        if self._library:
            self._library.carillon_report_crashes(descriptor)

    def note(self, id, kind):
        """Sets the current work of this thread for such a report; two zeros: none."""
        if self._library:
            self._library.carillon_note_call(id, kind)

    def begin(self, paths, memory, is_sandboxed):
        """Handles the first `load`: sets the limits, and releases the threads."""
        if self._library:
            self._library.carillon_limit_memory(memory)
        elif memory:
            try:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            except (OSError, ValueError) as error:
                print(f"carillon-plugin-python: cannot limit memory: {error}", file=sys.stderr, flush=True)
        self._paths = [*paths, *_own_paths()] if is_sandboxed else None
        if not is_sandboxed:
            self._bits = 0
        self._begun.set()

    @property
    def flaw(self):
        """Why the process cannot be confined although it must be; None: it can, if the kernel supports it."""
        if self._paths is None or self._library:
            return None
        return f"{_NAME} is missing beside carillon-plugin-python; install it, or set plugins.sandbox to false"

    def enter(self):
        """Waits for the first `load`, moves this thread into the first stage, and waits for the others. Each thread
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
        """The confinement of the process, once all threads have entered."""
        return self._bits

    def close(self):
        """Enters the second stage: no more files can be opened. Returns the confinement of the process."""
        if self._bits or self._paths is not None:
            for name in _LATE:
                __import__(name)
        if self._library and self._paths is not None:
            # The first stage restricts little, so it counts only together with the second.
            self._bits = self._library.carillon_confine_running() | (self._bits & FILES)
        return self._bits


def _load():
    """The library next to this program or in the parent directory; None if there is none."""
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
    """The paths that Python reads: its own modules and installed ones."""
    paths = [path for path in sys.path if os.path.isabs(path)]
    paths += [os.path.join(prefix, "lib") for prefix in {sys.prefix, sys.base_prefix}]
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]
