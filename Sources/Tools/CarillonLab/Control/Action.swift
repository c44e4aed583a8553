extension ScriptedBehavior {
    /// The effect of a misbehaviour on a request.
    public enum Action: Sendable, Hashable {
        /// A response in the service's own format.
        case answer(OrderedAnswer)
        /// An HTML page instead of JSON, as from a proxy.
        case html(status: Int)
        /// HTTP/2: GOAWAY. If graceful, this request is the last one that is answered before the connection closes.
        /// Otherwise GOAWAY reports this request as not processed, and the connection closes immediately. `reason`
        /// becomes the debug data in APNs' form; `code` is an error code of RFC 9113, section 7. HTTP/1.1: `Connection:
        /// close` with the response, or no response.
        case goAway(gracefully: Bool, reason: String? = nil, code: UInt32 = 0)
        /// HTTP/2: RST_STREAM with this error code (RFC 9113, section 7). HTTP/1.1: the connection closes.
        case reset(code: UInt32)
        /// Closes the connection without a response.
        case close
        /// Closes the connection in the middle of the regular response.
        case cut
        /// Delays the regular response.
        case delay(milliseconds: Int)
        /// Sends no response. The connection stays open.
        case silence
        /// HTTP/2: changes SETTINGS_MAX_CONCURRENT_STREAMS of the connection; the request gets its regular response.
        /// HTTP/1.1: no effect.
        case limitStreams(Int)

        /// A response in the service's own format; see ``OrderedAnswer`` for the arguments.
        public static func answer(
            status: Int,
            reason: String? = nil,
            retryAfter: Int? = nil,
            message: String? = nil,
            field: String? = nil,
            timestamp: Int64? = nil,
            headers: [LabHeader] = [],
            body: String? = nil
        ) -> Action {
            .answer(
                OrderedAnswer(
                    status: status,
                    reason: reason,
                    retryAfter: retryAfter,
                    message: message,
                    field: field,
                    timestamp: timestamp,
                    headers: headers,
                    body: body
                )
            )
        }

        /// 429 with `Retry-After` in seconds.
        public static func tooManyRequests(retryAfter: Int? = nil) -> Action {
            .answer(status: 429, retryAfter: retryAfter)
        }

        /// 410; from APNs `Unregistered` with the current time.
        public static let gone = Action.answer(status: 410)

        /// APNs' 403 for a provider token older than an hour.
        public static let expiredProviderToken = Action.answer(status: 403, reason: "ExpiredProviderToken")

        /// RST_STREAM with REFUSED_STREAM: the request was not processed.
        public static let refuseStream = Action.reset(code: refusedStream)

        /// REFUSED_STREAM (RFC 9113, section 7).
        static let refusedStream: UInt32 = 0x7

        /// Its name in JSON and on the command line.
        public var kind: String {
            switch self {
            case .answer: "answer"
            case .html: "html"
            case .goAway: "goaway"
            case .reset: "reset"
            case .close: "close"
            case .cut: "cut"
            case .delay: "delay"
            case .silence: "silence"
            case .limitStreams: "streams"
            }
        }

        /// Whether the request never gets a complete response.
        var sendsNoAnswer: Bool {
            switch self {
            case .reset, .close, .cut, .silence, .goAway(gracefully: false, reason: _, code: _): true
            case .answer, .html, .delay, .limitStreams, .goAway(gracefully: true, reason: _, code: _): false
            }
        }

        /// The status that replaces the regular one; nil if there is none.
        var answers: Int? {
            switch self {
            case .answer(let ordered): ordered.status
            case .html(let status): status
            default: nil
            }
        }

        /// Whether the client learns that the request was not processed.
        var disownsRequest: Bool {
            switch self {
            case .reset(Self.refusedStream), .goAway(gracefully: false, reason: _, code: _): true
            default: false
            }
        }
    }
}

extension ScriptedBehavior.Action {
    typealias Keys = ScriptedBehavior.CodingKeys

    init(_ container: KeyedDecodingContainer<Keys>) throws {
        switch try container.decode(String.self, forKey: .kind) {
        case "answer": self = .answer(try Self.answer(container))
        case "html": self = .html(status: try Self.status(container))
        case "goaway":
            self = .goAway(
                gracefully: try container.decodeIfPresent(Bool.self, forKey: .gracefully) ?? true,
                reason: try container.decodeIfPresent(String.self, forKey: .reason),
                code: try container.decodeIfPresent(UInt32.self, forKey: .code) ?? 0
            )
        case "reset":
            self = .reset(code: try container.decodeIfPresent(UInt32.self, forKey: .code) ?? Self.refusedStream)
        case "close": self = .close
        case "cut": self = .cut
        case "delay": self = .delay(milliseconds: try Self.amount(container, .milliseconds))
        case "silence": self = .silence
        case "streams": self = .limitStreams(try Self.amount(container, .streams))
        default:
            throw container.invalid(
                .kind,
                "kind is one of answer, html, goaway, reset, close, cut, delay, silence, streams"
            )
        }
    }

    func encode(to container: inout KeyedEncodingContainer<Keys>) throws {
        try container.encode(kind, forKey: .kind)
        switch self {
        case .answer(let ordered):
            try container.encode(ordered.status, forKey: .status)
            try container.encodeIfPresent(ordered.reason, forKey: .reason)
            try container.encodeIfPresent(ordered.retryAfter, forKey: .retryAfter)
            try container.encodeIfPresent(ordered.message, forKey: .message)
            try container.encodeIfPresent(ordered.field, forKey: .field)
            try container.encodeIfPresent(ordered.timestamp, forKey: .timestamp)
            try container.encodeIfPresent(ordered.body, forKey: .body)
            if !ordered.headers.isEmpty {
                let pairs = ordered.headers.map { ($0.name, $0.value) }
                try container.encode(Dictionary(pairs) { _, last in last }, forKey: .headers)
            }
        case .html(let status):
            try container.encode(status, forKey: .status)
        case .goAway(let gracefully, let reason, let code):
            try container.encode(gracefully, forKey: .gracefully)
            try container.encodeIfPresent(reason, forKey: .reason)
            try container.encode(code, forKey: .code)
        case .reset(let code):
            try container.encode(code, forKey: .code)
        case .delay(let milliseconds):
            try container.encode(milliseconds, forKey: .milliseconds)
        case .limitStreams(let streams):
            try container.encode(streams, forKey: .streams)
        case .close, .cut, .silence:
            break
        }
    }

    private static func answer(_ container: KeyedDecodingContainer<Keys>) throws -> OrderedAnswer {
        let headers = try container.decodeIfPresent([String: String].self, forKey: .headers) ?? [:]
        for (name, value) in headers where !isHeader(name, value) {
            throw container.invalid(.headers, "headers are names and values without line breaks")
        }
        return OrderedAnswer(
            status: try status(container),
            reason: try reason(container),
            retryAfter: try container.decodeIfPresent(Int.self, forKey: .retryAfter),
            message: try container.decodeIfPresent(String.self, forKey: .message),
            field: try container.decodeIfPresent(String.self, forKey: .field),
            timestamp: try container.decodeIfPresent(Int64.self, forKey: .timestamp),
            headers: headers.sorted { $0.key < $1.key }.map { LabHeader($0.key.lowercased(), $0.value) },
            body: try container.decodeIfPresent(String.self, forKey: .body)
        )
    }

    /// A text, or a number for services with numeric reasons.
    private static func reason(_ container: KeyedDecodingContainer<Keys>) throws -> String? {
        if let number = try? container.decodeIfPresent(Int.self, forKey: .reason) { return String(number) }
        return try container.decodeIfPresent(String.self, forKey: .reason)
    }

    private static func isHeader(_ name: String, _ value: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: ":") }
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    private static func status(_ container: KeyedDecodingContainer<Keys>) throws -> Int {
        let status = try container.decode(Int.self, forKey: .status)
        guard (200...599).contains(status) else {
            throw container.invalid(.status, "status is a number from 200 to 599")
        }
        return status
    }

    private static func amount(_ container: KeyedDecodingContainer<Keys>, _ key: Keys) throws -> Int {
        let amount = try container.decode(Int.self, forKey: key)
        guard (0...86_400_000).contains(amount) else {
            throw container.invalid(key, "\(key.rawValue) is a number from 0 to 86400000")
        }
        return amount
    }
}

/// A response that replaces the regular one, in the service's own format.
public struct OrderedAnswer: Sendable, Hashable {
    /// From 200 to 599. Only JSON and the command line check this.
    public var status: Int
    /// The reason in the service's own format: the reason of APNs and of Apple's Web Push; FCM's errorCode or Google's
    /// canonical code; the error of the token endpoint; ntfy's code or text; Mozilla's errno; Gotify's and WNS'
    /// description. Nil: the usual one of the status.
    public var reason: String?
    /// Seconds in `Retry-After`.
    public var retryAfter: Int?
    /// The message of FCM and Mozilla.
    public var message: String?
    /// The field that FCM names with INVALID_ARGUMENT.
    public var field: String?
    /// With 410 from APNs: when the token died, in milliseconds since 1970; nil: now.
    public var timestamp: Int64?
    /// More headers. They replace headers with the same name.
    public var headers: [LabHeader] = []
    /// The whole body, instead of the service's own format.
    public var body: String?
}
