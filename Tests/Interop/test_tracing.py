"""Spans over OTLP/HTTP, taken by a collector that reads them with the messages of opentelemetry-proto."""

import base64
import json

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from console import Console
from nostr import ALL_SIGNALS, Socket, device_token, ios
from programs import carillon, wait_until
from readable import Message, ReadableServer


def decode(value):
    """OTLP has ids as hexadecimal digits, where Protocol Buffers have base 64."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    ids = {"traceId", "spanId", "parentSpanId"}
    return {
        name: base64.b64encode(bytes.fromhex(each)).decode() if name in ids else decode(each) for name, each in value.items()
    }


class Collector:
    def __init__(self):
        self.failures = 1
        """So many requests are answered by 503."""
        self.spans: list[Span] = []
        self.resources: list[dict[str, str]] = []
        self.server = ReadableServer(self._answer)

    def _answer(self, message: Message):
        assert message.path == "/v1/traces" and message.headers["content-type"] == "application/json"
        assert message.headers["authorization"] == "Bearer collectors-secret"
        if self.failures > 0:
            self.failures -= 1
            return 503, {}, b""
        request = trace_service_pb2.ExportTraceServiceRequest()
        # An unknown or misspelt member is an error.
        json_format.ParseDict(decode(json.loads(message.body)), request)
        for resource in request.resource_spans:
            self.resources.append({each.key: each.value.string_value for each in resource.resource.attributes})
            for scope in resource.scope_spans:
                self.spans += scope.spans
        return 200, {"content-type": "application/json"}, b"{}"

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


def attributes(span: Span) -> dict:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.server.stop()


def test_a_push_is_traced_from_start_to_end(stopped_router, collector, lab, alice, bob):
    router = stopped_router
    headers = router.folder / "otlp.headers"
    headers.write_text("Authorization: Bearer collectors-secret\n")
    headers.chmod(0o600)
    router.secrets.add("collectors-secret")
    router.configuration["tracing"] = {
        "otlp": collector.server.url, "sample": 1, "headers_file": "otlp.headers", "service": "my-router",
    }
    console = Console(router).start()
    token = device_token()
    note, secret = alice.note("root"), "a word that nobody else may read"
    with Socket(router) as socket:
        socket.publish(alice.registration(router, ios(token, mode="alert", filters=ALL_SIGNALS)), note)
        lab.misbehave("answer", status=503, service="apns", retry_after=1)
        reply = bob.reply(secret, note)
        socket.publish(reply)
        lab.accepted(1)
        wait_until(lambda: collector.named("delivery"), "the spans come")
    [delivery] = collector.named("delivery")
    attempts = sorted(collector.named("attempt"), key=lambda span: span.start_time_unix_nano)
    [event] = [span for span in collector.named("event") if span.trace_id == delivery.trace_id]
    assert collector.resources[0]["service.name"] == "my-router"
    assert delivery.parent_span_id == event.span_id and event.parent_span_id == b""
    assert [span.parent_span_id for span in attempts] == [delivery.span_id] * 2
    assert {span.trace_id for span in attempts} == {delivery.trace_id}
    assert [attributes(span)["http.response.status_code"] for span in attempts] == [503, 200]
    assert [span.status.code for span in attempts] == [Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET]
    assert (event.kind, delivery.kind, attempts[0].kind) == (Span.SPAN_KIND_CONSUMER, Span.SPAN_KIND_PRODUCER, Span.SPAN_KIND_CLIENT)
    said = attributes(delivery)
    assert (said["carillon.platform"], said["carillon.outcome"], said["carillon.attempts"]) == ("ios", "delivered", 2)
    assert "queued" in [each.name for each in delivery.events]
    assert delivery.start_time_unix_nano <= attempts[0].start_time_unix_nano <= attempts[1].end_time_unix_nano
    assert attempts[1].end_time_unix_nano <= delivery.end_time_unix_nano

    bodies = b"".join(message.body for message in collector.server.messages).decode()
    for word in [secret, token, reply["id"], note["id"], alice.hex, bob.hex, router.public_key]:
        assert word not in bodies
    config = ["--config", router.configuration_file]
    explained = carillon("explain", reply["id"], "--json", *config)
    assert json.loads(explained.stdout)["trace_id"] == delivery.trace_id.hex()
    assert f"trace {delivery.trace_id.hex()}" in carillon("explain", reply["id"], *config).stdout
    status, metrics = console.ask("/metrics")
    assert f'carillon_tracing_spans_total{{result="sent"}} {len(collector.spans)}' in metrics

    # What has ended when the router stops still comes.
    with Socket(router) as socket:
        socket.publish(bob.reply("one more", note))
        lab.accepted(2)
    assert router.stop() == 0
    assert len(collector.named("delivery")) == 2


def test_a_wrong_header_is_not_quoted(stopped_router):
    headers = stopped_router.folder / "otlp.headers"
    headers.write_text("Bearer collectors-secret\n")
    headers.chmod(0o600)
    stopped_router.configuration["tracing"] = {"otlp": "http://127.0.0.1:4318", "headers_file": "otlp.headers", "sample": 2}
    check = carillon("check", "--config", stopped_router.configuration_file)
    assert check.returncode == 1 and "collectors-secret" not in check.stdout + check.stderr
    assert "expected a header such as name: value" in check.stdout + check.stderr
    assert "expected the fraction of events to trace, from 0 to 1" in check.stdout + check.stderr
