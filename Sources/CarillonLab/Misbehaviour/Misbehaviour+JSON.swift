extension Misbehaviour: Codable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case kind
        case service
        case target
        case after
        case times
        case share
        case seed
        case burst
        case status
        case reason
        case retryAfter = "retry_after"
        case message
        case field
        case timestamp
        case headers
        case body
        case gracefully
        case code
        case milliseconds
        case streams
    }

    static var knownKeys: [String] { CodingKeys.allCases.map(\.rawValue) }

    /// From `{"kind": "answer", "status": 429, "retry_after": 2, "times": 3, "after": 0, "service": "apns", "target": "…"}`.
    ///
    /// `times` is 1 where it is left out, but for ever beside `share`; 0 means until it is withdrawn.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try Conduct(container),
            service: try container.decodeIfPresent(LabService.self, forKey: .service),
            target: try container.decodeIfPresent(String.self, forKey: .target),
            after: max(0, try container.decodeIfPresent(Int.self, forKey: .after) ?? 0)
        )
        share = try container.decodeIfPresent(Double.self, forKey: .share)
        guard share.map((0...1).contains) ?? true else {
            throw container.mistake(.share, "share is a number from 0 to 1")
        }
        let times = try container.decodeIfPresent(Int.self, forKey: .times) ?? (share == nil ? 1 : 0)
        self.times = times > 0 ? times : nil
        seed = try container.decodeIfPresent(UInt64.self, forKey: .seed) ?? 0
        burst = max(1, try container.decodeIfPresent(Int.self, forKey: .burst) ?? 1)
    }

    /// Writes what ``init(from:)`` reads: `times` is 0 for nil, and `seed` and `burst` stand beside `share` only.
    ///
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try conduct.encode(to: &container)
        try container.encodeIfPresent(service, forKey: .service)
        try container.encodeIfPresent(target, forKey: .target)
        try container.encode(after, forKey: .after)
        try container.encode(times ?? 0, forKey: .times)
        guard let share else { return }
        try container.encode(share, forKey: .share)
        try container.encode(seed, forKey: .seed)
        try container.encode(burst, forKey: .burst)
    }
}

extension KeyedDecodingContainer {
    /// An error that says what was expected of a value.
    func mistake(_ key: Key, _ expected: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: expected)
    }
}
