"""Where requests go when the operator has set a proxy: to the proxy, whatever the environment says."""

import pytest

from inner_service import InnerService
from nostr import ALL_SIGNALS, Person, Socket, device_token, ios
from proxy import RecordingProxy


@pytest.fixture
def proxy():
    proxy = RecordingProxy()
    yield proxy
    proxy.stop()


@pytest.fixture
def inner_service():
    service = InnerService()
    yield service
    service.stop()


@pytest.mark.parametrize(
    "environment",
    [
        {"NO_PROXY": "localhost,.corp.example,127.0.0.1"},
        {"no_proxy": "*"},
        {"http_proxy": "http://localhost:9", "https_proxy": "http://localhost:9", "ALL_PROXY": "http://localhost:9"},
    ],
    ids=["some hosts", "all hosts", "another proxy"],
)
def test_the_environment_cannot_bypass_the_proxy(stopped_router, proxy, inner_service, lab, alice, bob, environment):
    """The proxy judges where users' endpoints lead, so what went past it would be judged by nobody."""
    router = stopped_router
    router.environment = environment
    router.configuration["http"] |= {"proxy": f"http://127.0.0.1:{proxy.port}", "allow_private": []}
    router.start()
    port = inner_service.port
    endpoints = [f"http://localhost:{port}/plain", f"https://localhost:{port}/secure", "http://inner.corp.example/up"]
    with Socket(router) as socket:
        for endpoint in endpoints:
            stranger = Person()
            content = {"platform": "unifiedpush", "push_endpoint": endpoint, "filters": ALL_SIGNALS}
            socket.publish(stranger.registration(router, content), Person().message("hello", stranger))
        socket.publish(alice.registration(router, ios(device_token())), bob.message("hello", alice))
    lanes = lab.addresses["apns"]["url"].removeprefix("https://")
    expected = {f"POST {endpoints[0]}", f"CONNECT localhost:{port}", f"POST {endpoints[2]}", f"CONNECT {lanes}"}
    proxy.wait_for(expected)
    router.stop()
    assert inner_service.connections == 0
    assert lab.received() == []
