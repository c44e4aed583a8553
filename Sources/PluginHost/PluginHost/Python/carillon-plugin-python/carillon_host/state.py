"""The copy of what is kept for an instance, as the service `carillon.state/1` has it. The router has the truth."""

import threading

_KEY_LIMIT, _VALUE_LIMIT = 64, 16 << 10
_COUNT_LIMIT, _TOTAL_LIMIT = 256, 256 << 10


class StateCopy:
    """Bytes by keys. What the plugin sets counts at once; a change from elsewhere only where the router made it after all
    that was set here."""

    def __init__(self, entries, store):
        """`store(number, key, value)` tells the router of a change."""
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
        """Sets a value, or removes an empty one. Raises ValueError beyond a limit."""
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
            # Inside the lock: the router counts them in their order.
            self._store(self._last, key, value)

    def receive(self, entries, handled, is_whole):
        """Takes what the router says once it has come to the own change `handled`; `is_whole`: there is nothing else."""
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
