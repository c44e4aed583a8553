import Cipher
import Core
import JSON
import Nostr
import Push

/// An OTLP span: a timed part of an event's processing.
struct Span: Sendable, Hashable {
    /// OTLP's numbers.
    enum Kind: Int, Sendable {
        case client = 3
        case producer = 4
        case consumer = 5
    }

    enum Value: Sendable, Hashable {
        case text(String)
        case number(Int64)
    }

    /// An event during the span.
    struct Event: Sendable, Hashable {
        var name: String
        var time: Timestamp
        var reason: String
    }

    private static let eventLimit = 64
    private static let linkLimit = 16

    let trace: String
    let id: String
    let parent: String?
    let name: String
    let kind: Kind
    let start: Timestamp
    var end: Timestamp
    var attributes: [(key: String, value: Value)] = []
    private(set) var events: [Event] = []
    private(set) var links: [TraceContext] = []
    /// The error message; nil: no error.
    var failure: String?

    init(_ context: TraceContext, id: String, parent: String?, name: String, kind: Kind, start: Timestamp) {
        trace = context.trace
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.start = start
        end = start
    }

    mutating func add(_ name: String, at time: Timestamp, reason: String) {
        guard events.count < Self.eventLimit else { return }
        events.append(Event(name: name, time: time, reason: reason))
    }

    /// Links another event that the span belongs to.
    mutating func link(_ context: TraceContext) {
        guard context.trace != trace, links.count < Self.linkLimit, !links.contains(context) else { return }
        links.append(context)
    }

    mutating func set(_ key: String, _ value: String) { attributes.append((key, .text(value))) }

    mutating func set(_ key: String, _ value: Int64) { attributes.append((key, .number(value))) }

    static func == (one: Span, other: Span) -> Bool { one.id == other.id && one.trace == other.trace }

    func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// Encodes a request's body in OTLP's JSON.
enum OTLP {
    static func body(_ spans: some Sequence<Span>, service: String, version: String) -> [UInt8] {
        var text = JSONText()
        text.append("{\"resourceSpans\":[{\"resource\":{\"attributes\":")
        text.appendAttributes([("service.name", .text(service)), ("service.version", .text(version))])
        text.append("},\"scopeSpans\":[{\"scope\":{\"name\":\"carillon\"},\"spans\":")
        text.appendArray(Array(spans)) { $0.append($1) }
        text.append("}]}]}")
        return text.bytes
    }
}

extension JSONText {
    fileprivate mutating func append(_ span: Span) {
        append("{\"traceId\":")
        appendQuoted(span.trace)
        append(",\"spanId\":")
        appendQuoted(span.id)
        if let parent = span.parent {
            append(",\"parentSpanId\":")
            appendQuoted(parent)
        }
        append(",\"name\":")
        appendQuoted(span.name)
        append(",\"kind\":")
        append(span.kind.rawValue)
        append(",\"startTimeUnixNano\":")
        append(span.start)
        append(",\"endTimeUnixNano\":")
        append(max(span.start, span.end))
        append(",\"attributes\":")
        appendAttributes(span.attributes)
        append(",\"events\":")
        appendArray(span.events) { text, event in
            text.append("{\"timeUnixNano\":")
            text.append(event.time)
            text.append(",\"name\":")
            text.appendQuoted(event.name)
            text.append(",\"attributes\":")
            text.appendAttributes(event.reason.isEmpty ? [] : [("carillon.reason", .text(event.reason))])
            text.append("}")
        }
        append(",\"links\":")
        appendArray(span.links) { text, link in
            text.append("{\"traceId\":")
            text.appendQuoted(link.trace)
            text.append(",\"spanId\":")
            text.appendQuoted(link.root)
            text.append("}")
        }
        if let failure = span.failure {
            append(",\"status\":{\"code\":2,\"message\":")
            appendQuoted(failure)
            append("}")
        }
        append("}")
    }

    fileprivate mutating func appendAttributes(_ attributes: [(key: String, value: Span.Value)]) {
        appendArray(attributes) { text, attribute in
            text.append("{\"key\":")
            text.appendQuoted(attribute.key)
            switch attribute.value {
            case .text(let value):
                text.append(",\"value\":{\"stringValue\":")
                text.appendQuoted(value)
            case .number(let value):
                // Protocol Buffers' JSON writes 64-bit numbers as text.
                text.append(",\"value\":{\"intValue\":")
                text.appendQuoted(String(value))
            }
            text.append("}}")
        }
    }

    /// Nanoseconds since 1970, as text.
    private mutating func append(_ time: Timestamp) { appendQuoted("\(max(0, time.milliseconds))000000") }
}

/// Derives trace and span IDs from events and deliveries, so that no state is needed.
///
/// Keyed, so that the collector's operator cannot tell which event it was.
package struct TraceIDs: Sendable {
    private let key: [UInt8]
    /// Traces with a smaller number are exported.
    private let threshold: UInt64

    /// `seed` is the router's secret for this purpose.
    package init(seed: [UInt8], sample: Double) throws {
        key = try HKDFSHA256.expand(pseudoRandomKey: seed, info: [], length: 32)
        threshold = sample >= 1 ? .max : UInt64(max(0, sample) * Double(UInt64.max))
    }

    /// The trace of an event; nil: not exported.
    package func context(of event: EventID) -> TraceContext? {
        let code = HMACSHA256.authenticationCode(for: event.array, key: key)
        let number = code[24..<32].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number < threshold || threshold == .max else { return nil }
        return TraceContext(trace: Hex.encode(Array(code[..<16])), root: Hex.encode(Array(code[16..<24])))
    }

    /// The trace ID of an event, 32 hex digits; nil: not exported.
    @Sendable package func traceID(of event: EventID) -> String? { context(of: event)?.trace }

    /// The span of a delivery, or of its attempt of that number.
    func span(of delivery: DeliveryID, attempt: Int? = nil) -> String {
        let text = attempt.map { "\(delivery)/\($0)" } ?? delivery.description
        return Hex.encode(Array(HMACSHA256.authenticationCode(for: Array(text.utf8), key: key).prefix(8)))
    }
}

/// The trace to which the spans of one event belong.
package struct TraceContext: Sendable, Hashable {
    /// 32 hex digits.
    package let trace: String
    /// The span of the event itself, 16 hex digits.
    package let root: String
}
