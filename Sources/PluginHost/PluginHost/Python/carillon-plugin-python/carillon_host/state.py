"""A copy of an instance's stored values (service `carillon.state/1`). The router has the original."""

import threading

_KEY_LIMIT, _VALUE_LIMIT = 64, 16 << 10
_COUNT_LIMIT, _TOTAL_LIMIT = 256, 256 << 10


class StateCopy:
    """Bytes by key. The plugin's own changes apply immediately; changes by others apply only if the router made them after
    all changes made here."""

    def __init__(self, entries, store):
        """`store(number, key, value)` sends a change to the router."""
        self._values = {key: value for key, value in entries if value}
        self._store = store
        self._own = {}
        self._last = 0
        self._lock = threading.Lock()

    def get(self, key):
        with self._lock:
            return self._values.get(key)

    def keys(self):
        with self._lock:
            return sorted(self._values)

    def set(self, key, value):
        """Sets a value; an empty one removes the key. Raises ValueError above a limit."""
        if not 1 <= len(key) <= _KEY_LIMIT or not all(" " <= character <= "~" for character in key):
            raise ValueError(f"state: expected a key of 1 to {_KEY_LIMIT} printable ASCII characters")
        if len(value) > _VALUE_LIMIT:
            raise ValueError(f"state: expected a value of at most {_VALUE_LIMIT} bytes")
        with self._lock:
            former = self._values.get(key, b"")
            total = sum(map(len, self._values.values())) - len(former) + len(value)
            if value and not former and len(self._values) >= _COUNT_LIMIT:
                raise ValueError(f"state: there are {_COUNT_LIMIT} keys already")
            if total > _TOTAL_LIMIT and len(value) > len(former):
                raise ValueError(f"state: expected at most {_TOTAL_LIMIT} bytes altogether")
            self._replace(key, value)
            self._last += 1
            self._own[key] = self._last
            # Under the lock, because the router counts changes in order.
            self._store(self._last, key, value)

    def receive(self, entries, handled, is_whole):
        """Takes values from the router, which has processed changes up to `handled`; `is_whole`: these are all values."""
        with self._lock:
            self._own = {key: number for key, number in self._own.items() if number > handled}
            if is_whole:
                self._values = {key: value for key, value in self._values.items() if key in self._own}
            for key, value in entries:
                if key not in self._own:
                    self._replace(key, value)

    def _replace(self, key, value):
        if value:
            self._values[key] = value
        else:
            self._values.pop(key, None)
