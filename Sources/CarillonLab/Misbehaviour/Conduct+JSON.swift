extension Misbehaviour.Conduct {
    typealias Keys = Misbehaviour.CodingKeys

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
            throw container.mistake(
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
            throw container.mistake(.headers, "headers are names and values without line breaks")
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

    /// A text, or a number where the service has numbers for reasons.
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
            throw container.mistake(.status, "status is a number from 200 to 599")
        }
        return status
    }

    private static func amount(_ container: KeyedDecodingContainer<Keys>, _ key: Keys) throws -> Int {
        let amount = try container.decode(Int.self, forKey: key)
        guard (0...86_400_000).contains(amount) else {
            throw container.mistake(key, "\(key.rawValue) is a number from 0 to 86400000")
        }
        return amount
    }
}
