import Foundation

/// A failure that a push service simulates instead of the regular response.
///
/// It applies only to requests that pass every check: an invalid request is always refused for its own error.
public struct ScriptedBehavior: Sendable, Hashable {
    /// The service that misbehaves; nil for all.
    public var service: LabService?
    /// The device token or topic that it applies to; nil for all.
    public var target: String?
    /// How many matching requests pass first.
    public var after: Int
    /// How many requests it applies to; nil for all until it is withdrawn.
    public var times: Int?
    /// The random share of requests that it applies to, from 0 to 1; nil for all. The next misbehaviour of the script
    /// gets the others.
    public var share: Double?
    /// With `share`: the same seed and order of requests make the same choice.
    public var seed: UInt64
    /// With `share`: how many consecutive requests it applies to each time.
    public var burst: Int
    /// The effect on the request.
    public var kind: Action

    /// Default: applies to the next matching request. A negative `after` means 0, and `times` is at least 1.
    public init(_ kind: Action, service: LabService? = nil, target: String? = nil, after: Int = 0, times: Int? = 1) {
        self.kind = kind
        self.service = service
        self.target = target
        self.after = after
        self.times = times
        seed = 0
        burst = 1
    }

    /// Applies at random until it is withdrawn.
    public init(
        _ kind: Action,
        service: LabService? = nil,
        target: String? = nil,
        share: Double,
        seed: UInt64,
        burst: Int = 1
    ) {
        self.init(kind, service: service, target: target, times: nil)
        self.share = share
        self.seed = seed
        self.burst = burst
    }

    func concerns(_ service: LabService, _ target: String) -> Bool {
        if let wanted = self.service, wanted != service { return false }
        if let wanted = self.target, wanted.lowercased() != target.lowercased() { return false }
        return true
    }

    /// Parses the form of the command line, a kind and `key=value` pairs separated by commas
    /// (`answer,status=429,retry_after=2,times=3`), or a JSON object.
    ///
    /// The keys are those of the JSON form, and `header.NAME` for a header. Throws `LabError` with the expected form.
    public init(parsing text: String) throws {
        let json = text.hasPrefix("{") ? Data(text.utf8) : try JSONEncoder().encode(Self.members(text))
        do {
            self = try JSONDecoder().decode(ScriptedBehavior.self, from: json)
        } catch let error as DecodingError {
            throw LabError.invalid("Misbehaviour \"\(text)\": \(LabError.explain(error))")
        }
    }

    private static func members(_ text: String) throws(LabError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        var headers: [String: JSONValue] = [:]
        for (index, part) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if index == 0, pair.count == 1 {
                members["kind"] = .string(pair[0])
            } else if pair.count == 2, pair[0].hasPrefix("header.") {
                headers[String(pair[0].dropFirst("header.".count))] = .string(pair[1])
            } else if pair.count == 2, knownKeys.contains(pair[0]) {
                members[pair[0]] = value(pair[1], of: pair[0])
            } else {
                throw LabError.invalid(
                    "\"\(part)\" in a misbehaviour: expected key=value with one of "
                        + knownKeys.filter { $0 != CodingKeys.headers.rawValue }.joined(separator: ", ")
                        + ", header.NAME"
                )
            }
        }
        if !headers.isEmpty {
            members[CodingKeys.headers.rawValue] = .object(headers)
        }
        return .object(members)
    }

    private static func value(_ text: String, of key: String) -> JSONValue {
        switch CodingKeys(rawValue: key) {
        case .target, .reason, .service, .message, .field, .body: .string(text)
        case .share: Double(text).map(JSONValue.number) ?? .string(text)
        default: Int64(text).map(JSONValue.integer) ?? Bool(text).map(JSONValue.bool) ?? .string(text)
        }
    }
}

extension ScriptedBehavior: Codable {
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

    /// Reads `{"kind": "answer", "status": 429, "retry_after": 2, "times": 3, "after": 0, "service": "apns", "target":
    /// "…"}`.
    ///
    /// Default for `times`: 1, or unlimited with `share`; 0 means until it is withdrawn.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try Action(container),
            service: try container.decodeIfPresent(LabService.self, forKey: .service),
            target: try container.decodeIfPresent(String.self, forKey: .target),
            after: max(0, try container.decodeIfPresent(Int.self, forKey: .after) ?? 0)
        )
        share = try container.decodeIfPresent(Double.self, forKey: .share)
        guard share.map((0...1).contains) ?? true else {
            throw container.invalid(.share, "share is a number from 0 to 1")
        }
        let times = try container.decodeIfPresent(Int.self, forKey: .times) ?? (share == nil ? 1 : 0)
        self.times = times > 0 ? times : nil
        seed = try container.decodeIfPresent(UInt64.self, forKey: .seed) ?? 0
        burst = max(1, try container.decodeIfPresent(Int.self, forKey: .burst) ?? 1)
    }

    /// Writes the form that ``init(from:)`` reads: `times` is 0 for nil, and `seed` and `burst` are written only with
    /// `share`.
    ///
    /// - Throws: The encoder's error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try kind.encode(to: &container)
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

/// The ordered misbehaviours. The first one that matches a request and has turns left applies.
struct Script {
    private struct Scene {
        var misbehaviour: ScriptedBehavior
        var lots: SeededDraws
        var burstLeft = 0

        init(_ misbehaviour: ScriptedBehavior) {
            self.misbehaviour = misbehaviour
            lots = SeededDraws(seed: misbehaviour.seed)
        }

        mutating func isDrawn() -> Bool {
            guard let share = misbehaviour.share else { return true }
            if burstLeft > 0 {
                burstLeft -= 1
                return true
            }
            guard lots.fall(share) else { return false }
            burstLeft = max(1, misbehaviour.burst) - 1
            return true
        }
    }

    private var scenes: [Scene] = []

    init(_ misbehaviours: [ScriptedBehavior] = []) {
        add(contentsOf: misbehaviours)
    }

    /// The remaining misbehaviours, with their remaining `after` and `times`.
    var pending: [ScriptedBehavior] { scenes.map(\.misbehaviour) }

    mutating func add(contentsOf misbehaviours: [ScriptedBehavior]) {
        scenes += misbehaviours.map(Scene.init)
    }

    mutating func removeAll() {
        scenes.removeAll()
    }

    /// The misbehaviour for the next request that has passed every check; nil for the regular response.
    mutating func next(_ service: LabService, _ target: String) -> ScriptedBehavior.Action? {
        for index in scenes.indices where scenes[index].misbehaviour.concerns(service, target) {
            if scenes[index].misbehaviour.after > 0 {
                scenes[index].misbehaviour.after -= 1
                continue
            }
            guard scenes[index].isDrawn() else { continue }
            let kind = scenes[index].misbehaviour.kind
            if let left = scenes[index].misbehaviour.times {
                if left > 1 {
                    scenes[index].misbehaviour.times = left - 1
                } else {
                    scenes.remove(at: index)
                }
            }
            return kind
        }
        return nil
    }
}

/// Random draws that are the same for the same seed (SplitMix64).
struct SeededDraws: Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// True for the given share of calls, from 0 to 1.
    mutating func fall(_ share: Double) -> Bool {
        // 53 bits: the precision of a Double between 0 and 1.
        Double(next() >> 11) * 0x1p-53 < share
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
