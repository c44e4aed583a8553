"""The implementation of carillon.py's functions with a router: the services of the calling instance."""


class Services:
    def __init__(self, process):
        self._process = process

    def _instance(self, what):
        instance = self._process.current
        if instance is None:
            raise RuntimeError(f"{what}: only inside of a function of the plugin that the router calls")
        return instance

    def start(self, after, every, function, arguments):
        return self._process.timers.start(self._instance("a timer"), after, every, function, arguments)

    def cancel(self, timer):
        self._process.timers.cancel(timer)

    def get(self, key):
        return self._instance("state").state.get(key)

    def keys(self):
        return self._instance("state").state.keys()

    def set(self, key, value):
        self._instance("state").state.set(key, value)

    def inbound_url(self):
        return self._instance("inbound_url").inbound_url
