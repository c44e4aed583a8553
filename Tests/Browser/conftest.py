"""Fixtures of tests in real browsers; the router, the lab and people are those of Tests/Interop."""

import importlib.util
import sys
from pathlib import Path

INTEROP = Path(__file__).resolve().parents[1] / "Interop"
sys.path.insert(0, str(INTEROP))

import pytest  # noqa: E402

from browsers import BROWSERS, Browser  # noqa: E402
from console import Console  # noqa: E402
from lab import Lab  # noqa: E402
from pages import axe_script  # noqa: E402
from router import Router  # noqa: E402
from stage import Operator, Subscriber, configure, way_to_google  # noqa: E402

_specification = importlib.util.spec_from_file_location("interop_conftest", INTEROP / "conftest.py")
_interop = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(_interop)
pytest_configure = _interop.pytest_configure
pytest_runtest_makereport = _interop.pytest_runtest_makereport
alice, bob, router, socket = _interop.alice, _interop.bob, _interop.router, _interop.socket

@pytest.fixture(scope="session")
def browsers_lab(tmp_path_factory):
    """One for all tests: a browser knows its push service from its start on."""
    lab = Lab(tmp_path_factory.mktemp("browsers") / "lab", "--browsers")
    yield lab
    lab.stop()


@pytest.fixture(scope="session")
def axe() -> str:
    return axe_script()


@pytest.fixture(scope="session", params=sorted(BROWSERS))
def running_browser(request, browsers_lab, tmp_path_factory):
    browser = BROWSERS[request.param](tmp_path_factory.mktemp("browser") / request.param, browsers_lab)
    yield browser
    browser.stop()


@pytest.fixture
def browser(running_browser, lab) -> Browser:
    """A page, whose browser gets what the lab accepts for it."""
    running_browser.signer = None
    running_browser.screen(1280, 900, False)
    yield running_browser
    running_browser.clear_screen()


@pytest.fixture
def lab(browsers_lab):
    browsers_lab.reset()
    return browsers_lab


@pytest.fixture
def proxy(lab):
    """Leads what is for Google to the lab."""
    proxy = way_to_google(lab)
    yield proxy
    proxy.stop()


@pytest.fixture
def stopped_router(tmp_path, lab, proxy):
    router = Router(tmp_path / "router", lab)
    configure(router, proxy)
    yield router
    if router.is_running:
        router.kill()


@pytest.fixture
def subscriber(browser, router, alice) -> Subscriber:
    return Subscriber(browser, router, alice)


@pytest.fixture
def console(stopped_router) -> Console:
    """A running router with the API, and so with its pages, which keeps what its rules decided about."""
    stopped_router.configuration["trace"] = {"keep_events_hours": 24}
    return Console(stopped_router).start()


@pytest.fixture
def operator(browser, console) -> Operator:
    return Operator(browser, console)
