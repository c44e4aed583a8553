/// The type of each of Apple's keys in `aps`. Unknown keys are ignored, as Apple does.
enum APSKey {
    private enum Kind {
        case text
        case number
        case object
        case one
        case flag
        case texts
        case word([String])
        case textOrObject
        case sound

        func takes(_ value: JSONValue) -> Bool {
            switch self {
            case .text: value.string != nil
            case .number: value.double != nil
            case .object: value.object != nil
            case .one: value.integer == 1
            case .flag: value.integer == 0 || value.integer == 1
            case .texts: value.elements?.allSatisfy { $0.string != nil } ?? false
            case .word(let words): value.string.map(words.contains) ?? false
            case .textOrObject: value.string != nil || value.object != nil
            case .sound: value.string != nil || value.object.map(Self.isCriticalSound) ?? false
            }
        }

        var expected: String {
            switch self {
            case .text: "a text"
            case .number: "a number"
            case .object: "an object"
            case .one: "1"
            case .flag: "0 or 1"
            case .texts: "a list of texts"
            case .word(let words): "one of \(words.joined(separator: ", "))"
            case .textOrObject: "a text or an object"
            case .sound: "a text, or an object of critical (0 or 1), name (a text) and volume (0 to 1)"
            }
        }

        private static func isCriticalSound(_ sound: [String: JSONValue]) -> Bool {
            guard sound["name"]?.string != nil, sound["critical"].map(Kind.flag.takes) ?? true else { return false }
            return sound["volume"].map { ($0.double).map((0...1).contains) ?? false } ?? true
        }
    }

    private static let inDictionary: [String: Kind] = [
        "alert": .textOrObject, "badge": .number, "sound": .sound, "thread-id": .text, "category": .text,
        "content-available": .flag, "mutable-content": .flag, "target-content-id": .text,
        "interruption-level": .word(["passive", "active", "time-sensitive", "critical"]), "relevance-score": .number,
        "filter-criteria": .text, "stale-date": .number, "content-state": .object, "timestamp": .number,
        "event": .word(["start", "update", "end"]), "dismissal-date": .number, "attributes-type": .text,
        "attributes": .object, "input-push-token": .one, "input-push-channel": .text, "url-args": .texts,
    ]

    private static let inAlert: [String: Kind] = [
        "title": .textOrObject, "subtitle": .text, "body": .textOrObject, "launch-image": .text,
        "title-loc-key": .text, "title-loc-args": .texts, "subtitle-loc-key": .text, "subtitle-loc-args": .texts,
        "loc-key": .text, "loc-args": .texts, "action": .text, "summary-arg": .text, "summary-arg-count": .number,
        "sound": .sound,
    ]

    /// Checks the values of `aps` and of its alert.
    static func check(_ aps: [String: JSONValue]) throws(APNsRefusal) {
        try check(aps, inDictionary, place: "\"aps\"")
        try check(aps["alert"]?.object ?? [:], inAlert, place: "the alert")
    }

    private static func check(
        _ members: [String: JSONValue],
        _ kinds: [String: Kind],
        place: String
    ) throws(APNsRefusal) {
        for (name, value) in members {
            guard let kind = kinds[name], !kind.takes(value) else { continue }
            throw APNsRefusal(.payloadEmpty, "in \(place), \(name) is \(kind.expected)")
        }
    }
}
