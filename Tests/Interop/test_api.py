"""What operators and monitoring ask a running router. Prometheus' own parser judges the metrics."""

import math
import re
import stat
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.exceptions import InvalidStatus

from authority import Authority
from console import Console
from nostr import Socket, device_token, ios
from programs import REPOSITORY, carillon, wait_until
from test_operation import serve


@pytest.fixture
def console(stopped_router):
    return Console(stopped_router)


def families(console) -> dict:
    status, text = console.ask("/metrics")
    assert status == 200
    found = list(text_string_to_metric_families(text))
    assert len({family.name for family in found}) == len(found), "a metric is there twice"
    return {family.name: family for family in found}


def value(family, suffix: str = "", **labels) -> float:
    """The sum of the samples with these labels."""
    return sum(
        sample.value
        for sample in family.samples
        if sample.name == family.name + suffix and labels.items() <= sample.labels.items()
    )


def test_the_token_is_created_once_and_private(console, stopped_router):
    console.start()
    token = console.token
    assert stat.S_IMODE(console.token_file.stat().st_mode) == 0o600 and len(token) == 43
    stopped_router.stop()
    console.start()
    assert console.token == token
    assert token not in stopped_router.log_text


def test_a_token_that_others_can_read_is_refused(console, stopped_router):
    console.token_file.write_text("0123456789abcdef0123456789\n")
    console.token_file.chmod(0o604)
    refused = serve(stopped_router)
    assert refused.returncode == 1 and f"run: chmod 600 {console.token_file}" in refused.stderr
    checked = carillon("check", "--config", stopped_router.configuration_file)
    assert checked.returncode == 1 and "the token is open to other users" in checked.stderr


def test_health_is_public_and_other_paths_require_the_token(console):
    console.start()
    assert console.json("/healthz", token=None) == (200, {"alive": True, "stuck": []})
    assert console.json("/readyz", token=None) == (200, {"ready": True, "not_ready": []})
    for method, path in [("GET", "/metrics"), ("GET", "/v1/devices"), ("POST", "/v1/reload"), ("GET", "/v1/x")]:
        for token in [None, "x" * 43, console.token + "x"]:
            status, answer = console.json(path, method, token)
            assert status == 401 and answer["detail"].startswith("expected the header Authorization")


def issues(console) -> dict:
    return {each["code"]: each for each in console.json("/v1/issues")[1]["issues"]}


def test_readiness_names_problems(console, stopped_router):
    stopped_router.configuration["relays"] = {"always": ["ws://127.0.0.1:1"]}
    console.start()
    status, answer = console.json("/readyz", token=None)
    assert status == 503 and answer["not_ready"] == [{"code": "no-relay"}]
    [detailed] = console.json("/readyz")[1]["not_ready"]
    assert detailed == {"code": "no-relay", "message": "none of the 1 relays under relays.always is connected"}


def test_an_unserved_platform_is_an_issue_with_a_matching_fix(console, stopped_router):
    """The others are served, so that the router is ready."""
    app = stopped_router.configuration["apps"]["default"]
    app["ios"]["team_id"] = "not ten characters"
    console.start()
    assert console.json("/readyz") == (200, {"ready": True, "not_ready": []})
    failed = issues(console)["transport-failed"]
    assert failed["severity"] == "error" and failed["message"].startswith("transport-failed: ios of default: ")
    assert "team_id: expected" in failed["message"] and "carillon check" in failed["fix"]
    stopped_router.stop()
    app["iOs"] = app.pop("ios")
    console.start()
    assert console.json("/readyz")[0] == 200
    failed = issues(console)["transport-failed"]
    assert "no loaded plugin serves iOs" in failed["message"] and "platform's name" in failed["fix"]
    assert failed["params"]["code"] == "transport-failed-no-plugin" and "credentials" not in failed["fix"]


def test_a_paused_transport_is_an_issue_and_others_are_ready(console, stopped_router, lab, alice, bob):
    stopped_router.configuration["apps"]["default"]["ios"]["key_id"] = "WRONGKEYID"
    console.start()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(device_token())), bob.message("hello", alice))
    paused = wait_until(lambda: issues(console).get("transport-paused"), "the transport pauses")
    assert paused["message"].startswith("transport-paused: ios of default: ") and "credentials" in paused["fix"]
    assert console.json("/readyz") == (200, {"ready": True, "not_ready": []})
    found = families(console)
    assert value(found["carillon_queue_paused"], platform="ios", cause="misconfigured") == 1
    assert value(found["carillon_outbox_deliveries"]) == 1


def test_every_metric_is_in_the_documents():
    folders = [REPOSITORY / "Sources/Operations", REPOSITORY / "Sources/Cluster"]
    code = "".join(path.read_text() for folder in folders for path in folder.rglob("*.swift"))
    made = set(re.findall(r'"(carillon_[a-z_]+)"', code)) | {
        f"process_{name}" for name in re.findall(r'family\("([a-z_]+)"', code)
    }
    documented = set(re.findall(r"`((?:carillon|process)_[a-z_]+)`", (REPOSITORY / "contrib/docs/metrics.md").read_text()))
    assert len(made) > 30 and documented == made


def test_prometheus_reads_the_metrics(console, stopped_router, lab, alice, bob, tmp_path):
    certificate, key = Authority(tmp_path / "authority").push_certificate("com.example.other", days=100)
    stopped_router.configuration["apps"]["other"] = {
        "ios": {
            "topic": "com.example.other",
            "certificate_file": str(certificate),
            "certificate_key_file": str(key),
            "base_url": lab.ios["base_url"],
        }
    }
    console.start()
    token = device_token()
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(token)), bob.message("hello", alice))
        forged = bob.note("hello", alice) | {"content": "something else"}
        assert not socket.offer(forged)[0]

    def settled() -> dict | None:
        found = families(console)
        is_over = "carillon_deliveries" in found and value(found["carillon_outbox_deliveries"]) == 0
        return found if is_over else None

    found = wait_until(settled, "the delivery's end is counted", stopped_router.process)
    for family in found.values():
        assert family.documentation.endswith((".", "seconds.", "bytes.")), family.name
        if family.type == "histogram":
            check_histogram(family)
    events, delivered = found["carillon_events"], found["carillon_deliveries"]
    assert value(events, "_total", step="queued") == 1 and value(events, "_total", step="registered") == 1
    assert value(events, "_total", step="forged") == 1
    assert value(delivered, "_total", platform="ios", app="default", kind="delivered") == 1
    assert value(found["carillon_attempts"], "_total", platform="ios") == 1
    assert value(found["carillon_first_attempt_seconds"], "_count", platform="ios") == 1
    assert value(found["carillon_delivery_seconds"], "_count", platform="ios") == 1
    assert value(found["carillon_event_answer_seconds"], "_count", source="socket") == 3
    assert value(found["carillon_outbox_deliveries"]) == 0
    assert value(found["carillon_outbox_deliveries_limit"]) > 1_000
    assert value(found["carillon_transport_requests"], "_total", platform="ios", app="default") >= 1
    assert value(found["carillon_transport_answers"], "_total", platform="ios", app="default") >= 1
    assert value(found["carillon_http2_connections"], state="open") >= 1
    assert value(found["process_resident_memory_bytes"]) > 1 << 20
    assert value(found["process_cpu_seconds"], "_total") > 0
    assert abs(value(found["process_start_time_seconds"]) - time.time()) < 3600
    assert [sample.labels["version"] for sample in found["carillon_build_info"].samples] == [
        carillon("--version").stdout.strip()
    ]
    expiry = wait_until(
        lambda: families(console).get("carillon_credential_expiry_timestamp_seconds"), "the plugin says when it ends"
    )
    assert [sample.labels for sample in expiry.samples] == [
        {"platform": "ios", "app": "other", "what": "client-certificate"}
    ]
    assert 99 < (expiry.samples[0].value - time.time()) / 86_400 < 101
    text = console.ask("/metrics")[1]
    for secret in [token, alice.hex, bob.hex, console.token, str(stopped_router.folder)]:
        assert secret not in text


def check_histogram(family):
    """Buckets only grow, and the last one is everything."""
    rows = {}
    for sample in family.samples:
        labels = tuple(sorted(item for item in sample.labels.items() if item[0] != "le"))
        row = rows.setdefault(labels, {"buckets": [], "count": None})
        if sample.name.endswith("_bucket"):
            row["buckets"].append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_count"):
            row["count"] = sample.value
    assert rows
    for row in rows.values():
        assert row["buckets"] == sorted(row["buckets"]) and len(row["buckets"]) > 5
        assert [count for _, count in row["buckets"]] == sorted(count for _, count in row["buckets"])
        assert row["buckets"][-1] == (math.inf, row["count"])


def test_metrics_can_be_public(stopped_router):
    console = Console(stopped_router, open_metrics=True).start()
    assert console.ask("/metrics", token=None)[0] == 200
    assert console.ask("/v1/devices", token=None)[0] == 401


def test_devices_are_listed_tested_and_removed(console, stopped_router, lab, alice, bob):
    console.start()
    token = device_token()
    message = bob.message("hello", alice)
    with Socket(stopped_router) as socket:
        socket.publish(alice.registration(stopped_router, ios(token)), message)
        stopped_router.wait_for_deliveries(1)
        listing = console.json("/v1/devices")[1]
        assert [device["account"] for device in listing["devices"]] == [alice.hex]
        numbers = [device["device"] for device in listing["devices"]]
        found = console.json(f"/v1/devices?account={alice.hex}")[1]["devices"]
        assert [device["device"] for device in found] == numbers
        assert console.json(f"/v1/devices?account={bob.hex}")[1]["devices"] == []
        [number] = numbers
        assert console.json(f"/v1/devices/{number}")[1]["platform"] == "ios"
        status, answer = console.json(f"/v1/devices/{number}/test?mode=nudge", "POST")
        assert status == 200 and (answer["outcome"], answer["status"]) == ("delivered", 200)
        lab.accepted(2)
        explained = wait_until(
            lambda: "delivered" in (text := console.ask(f"/v1/events/{message['id']}/explain?recipient={alice.hex}")[1]) and text,
            "the trace tells that it was delivered",
        )
        assert token not in explained and "hello" not in explained
        assert console.json(f"/v1/devices/{number}", "DELETE")[0] == 200
        assert console.json(f"/v1/devices/{number}")[0] == 404
        assert console.json(f"/v1/devices/{number}", "DELETE")[0] == 404
        socket.publish(bob.message("again", alice))
    assert console.json("/v1/devices?account=nobody")[0] == 400
    assert stopped_router.stop() == 0
    assert len(lab.received()) == 2


def test_refusals_are_counted_per_listener(console, stopped_router):
    """By the client that a proxy on this machine names, which is believed unless the configuration says otherwise."""
    limits = {"connections_per_client": 1, "per_connection_per_second": 1, "connection_burst": 2}
    stopped_router.configuration["relay"]["limits"] = limits
    stopped_router.configuration["sealed_ingress"] = {"listen": "127.0.0.1:0"}
    console.start()
    client = {"additional_headers": {"X-Forwarded-For": "198.51.100.7, 203.0.113.7"}}
    with Socket(stopped_router, **client) as socket, Socket(stopped_router):
        with pytest.raises(InvalidStatus, match="429"):
            Socket(stopped_router, **client)
        for _ in range(6):
            socket.send("nonsense")
        for _ in range(6):
            socket.receive()
        wait_until(lambda: console.ask("/v1/reload", "POST", token="wrong")[0] == 429, "the API refuses a stranger")
        found = families(console)
        connections, refused = found["carillon_connections"], found["carillon_clients_refused"]
        assert value(connections, listener="socket") >= 2 and value(connections, listener="api") >= 1
        assert value(connections, listener="ingress") == 0
        assert value(refused, "_total", listener="socket", why="connections") == 1
        assert value(refused, "_total", listener="socket", why="messages") >= 1
        assert value(refused, "_total", listener="api", why="requests") == 1
        assert value(refused, "_total", listener="ingress") == 0
        assert len(refused.samples) == 18
    assert value(found["carillon_trace_lost"], "_total") == 0
