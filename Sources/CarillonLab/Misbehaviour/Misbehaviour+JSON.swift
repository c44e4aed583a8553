extension Misbehaviour: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kind
        case service
        case target
        case after
        case times
        case status
        case reason
        case retryAfter = "retry_after"
        case gracefully
        case code
        case milliseconds
        case streams
    }

    static var knownKeys: [String] { CodingKeys.allCases.map(\.rawValue) }

    /// From `{"kind": "answer", "status": 429, "retry_after": 2, "times": 3, "after": 0, "service": "apns", "target": "…"}`.
    ///
    /// `times` is 1 where it is left out; 0 means until it is withdrawn.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let kind = try container.decode(String.self, forKey: .kind)
        conduct =
            switch kind {
            case "answer":
                .answer(
                    status: try Self.status(container),
                    reason: try container.decodeIfPresent(String.self, forKey: .reason),
                    retryAfter: try container.decodeIfPresent(Int.self, forKey: .retryAfter)
                )
            case "html": .html(status: try Self.status(container))
            case "goaway":
                .goAway(
                    gracefully: try container.decodeIfPresent(Bool.self, forKey: .gracefully) ?? true,
                    reason: try container.decodeIfPresent(String.self, forKey: .reason)
                )
            case "reset": .reset(code: try container.decodeIfPresent(UInt32.self, forKey: .code) ?? 0x7)
            case "close": .close
            case "cut": .cut
            case "delay": .delay(milliseconds: try Self.amount(container, .milliseconds))
            case "silence": .silence
            case "streams": .limitStreams(try Self.amount(container, .streams))
            default:
                throw DecodingError.dataCorruptedError(
                    forKey: .kind,
                    in: container,
                    debugDescription: "kind is one of answer, html, goaway, reset, close, cut, delay, silence, streams"
                )
            }
        service = try container.decodeIfPresent(LabService.self, forKey: .service)
        target = try container.decodeIfPresent(String.self, forKey: .target)
        after = max(0, try container.decodeIfPresent(Int.self, forKey: .after) ?? 0)
        let times = try container.decodeIfPresent(Int.self, forKey: .times) ?? 1
        self.times = times > 0 ? times : nil
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(conduct.kind, forKey: .kind)
        try container.encodeIfPresent(service, forKey: .service)
        try container.encodeIfPresent(target, forKey: .target)
        try container.encode(after, forKey: .after)
        try container.encode(times ?? 0, forKey: .times)
        switch conduct {
        case .answer(let status, let reason, let retryAfter):
            try container.encode(status, forKey: .status)
            try container.encodeIfPresent(reason, forKey: .reason)
            try container.encodeIfPresent(retryAfter, forKey: .retryAfter)
        case .html(let status):
            try container.encode(status, forKey: .status)
        case .goAway(let gracefully, let reason):
            try container.encode(gracefully, forKey: .gracefully)
            try container.encodeIfPresent(reason, forKey: .reason)
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

    private static func status(_ container: KeyedDecodingContainer<CodingKeys>) throws -> Int {
        let status = try container.decode(Int.self, forKey: .status)
        guard (200...599).contains(status) else {
            throw DecodingError.dataCorruptedError(
                forKey: .status,
                in: container,
                debugDescription: "status is a number from 200 to 599"
            )
        }
        return status
    }

    private static func amount(_ container: KeyedDecodingContainer<CodingKeys>, _ key: CodingKeys) throws -> Int {
        let amount = try container.decode(Int.self, forKey: key)
        guard (0...86_400_000).contains(amount) else {
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: container,
                debugDescription: "\(key.rawValue) is a number from 0 to 86400000"
            )
        }
        return amount
    }
}
