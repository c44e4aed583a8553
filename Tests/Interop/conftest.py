import signal

import pytest

from cluster import Cluster
from lab import Lab
from nostr import Person, Socket
from relays import ScriptedRelay
from router import Router


def pytest_configure():
    """Programs that tests start get no signal ignored or blocked, whatever the shell is that started the tests: one in the background
    ignores SIGINT, nohup SIGHUP, and programs inherit that. What has a handler here is as ever in a program that is started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]:
        if signal.getsignal(name) == signal.SIG_IGN:
            signal.signal(name, lambda *_: None)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path / "lab")
    yield lab
    lab.stop()


@pytest.fixture
def stopped_router(tmp_path, lab):
    """A router that is configured and not started."""
    router = Router(tmp_path / "router", lab)
    yield router
    if router.is_running:
        router.kill()
    leaked = [secret for secret in router.secrets if secret in router.log_text]
    assert not leaked, f"{len(leaked)} secrets of devices are in the router's log"


@pytest.fixture
def router(stopped_router):
    """A running router, that must still run when the test ends, unless the test stopped it."""
    stopped_router.start()
    yield stopped_router
    # SIGTERM ends it with 0 and kill() with -9; anything else is its own doing.
    assert stopped_router.process.poll() in [None, 0, -9], "the router ended by itself"


@pytest.fixture
def socket(router):
    with Socket(router) as socket:
        yield socket


@pytest.fixture
def hostile_relay():
    relay = ScriptedRelay()
    yield relay
    relay.stop()


@pytest.fixture
def alice():
    """Has devices registered."""
    return Person()


@pytest.fixture
def bob():
    """Writes to Alice."""
    return Person()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows what the programs said when a test fails."""
    report = yield
    if report.failed:
        for value in item.funcargs.values():
            if isinstance(value, (Lab, Router)) and value.log.exists():
                tail = value.log.read_text(errors="replace")[-6000:]
                report.sections.append((f"{type(value).__name__.lower()} log", tail))
            if isinstance(value, Cluster):
                report.sections.append(("cluster", f"{value.states}\n{value.logs}"))
    return report
