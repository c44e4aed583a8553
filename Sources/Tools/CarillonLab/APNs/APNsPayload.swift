/// Checks payloads by Apple's rules for the push type ("Generating a remote notification", "Pushing background
/// updates", "Starting and updating Live Activities with ActivityKit push notifications").
///
/// Apple does not specify the responses to a payload that is not a JSON object with `aps`, and to one that does not fit
/// its push type ("may return an error, delay or drop"). Here they are `PayloadEmpty`, and `InvalidPushType` or
/// `BadPriority`.
struct APNsPayload {
    /// Checks a body against its headers, in APNs' order.
    static func check(_ request: LabRequest, _ headers: APNsHeaders) throws(APNsError) {
        guard !request.body.isEmpty else { throw APNsError(.payloadEmpty, "there is no payload") }
        let limit = (headers.pushType ?? .alert).payloadLimit
        guard request.body.count <= limit, !request.isCut else {
            throw APNsError(
                .payloadTooLarge,
                "the payload has \(request.body.count) bytes, at most \(limit) are allowed"
            )
        }
        guard let payload = JSONValue(parsing: request.body)?.object else {
            throw APNsError(.payloadEmpty, "the payload is not a JSON object")
        }
        if headers.pushType == .mdm {
            guard payload["mdm"] != nil else { throw APNsError(.payloadEmpty, "an mdm push carries \"mdm\"") }
            return
        }
        guard let members = payload["aps"]?.object else {
            throw APNsError(.payloadEmpty, "the payload has no object \"aps\"")
        }
        try APSKey.check(members)
        try APNsPayload(aps: members, priority: headers.priority).check(headers.pushType)
    }

    /// Checks the body of a broadcast, which updates or ends Live Activities.
    static func check(broadcast request: LabRequest, limit: Int, priority: Int) throws(APNsError) {
        guard !request.body.isEmpty else { throw APNsError(.payloadEmpty, "there is no payload") }
        guard request.body.count <= limit, !request.isCut else {
            throw APNsError(.payloadTooLarge, "the payload has more than the \(limit) bytes of a broadcast")
        }
        guard let aps = JSONValue(parsing: request.body)?["aps"]?.object else {
            throw APNsError(.badRequestPayload, "the payload is not a JSON object with an object \"aps\"")
        }
        try APSKey.check(aps)
        guard aps["event"]?.string != "start" else {
            throw APNsError(.badRequestPayload, "a broadcast starts no Live Activity")
        }
        try LiveActivityRules(aps: aps).check(priority: priority)
    }

    private let aps: [String: JSONValue]
    private let priority: Int

    private var shown: [String] { ["alert", "badge", "sound"].filter { aps[$0] != nil } }

    private func check(_ pushType: APNsPushType?) throws(APNsError) {
        switch pushType {
        case .alert: try checkAlert()
        case .background: try checkBackground()
        case .liveactivity: try LiveActivityRules(aps: aps).check(priority: priority)
        case .widgets:
            guard aps["content-changed"] != nil else {
                throw APNsError(.invalidPushType, "a widgets push has content-changed in \"aps\"")
            }
        default: break
        }
    }

    private func checkAlert() throws(APNsError) {
        guard !shown.isEmpty else {
            throw APNsError(.invalidPushType, "an alert push has alert, badge or sound in \"aps\"")
        }
        if aps["mutable-content"] != nil, aps["alert"] == nil {
            throw APNsError(.invalidPushType, "mutable-content needs an alert")
        }
        for key in ["event", "content-state", "attributes-type", "attributes"] where aps[key] != nil {
            throw APNsError(.invalidPushType, "only a Live Activity has \(key)")
        }
        if let score = aps["relevance-score"]?.double, !(0...1).contains(score) {
            throw APNsError(.invalidPushType, "the relevance-score of an alert is from 0 to 1")
        }
    }

    private func checkBackground() throws(APNsError) {
        guard aps["content-available"]?.integer == 1, shown.isEmpty, aps["mutable-content"] == nil else {
            throw APNsError(
                .invalidPushType,
                "a background push has content-available 1 in \"aps\", and no alert, badge, sound or mutable-content"
            )
        }
        guard priority == 5 else {
            throw APNsError(.badPriority, "a background push has priority 5, not \(priority)")
        }
    }
}

/// The rules for Live Activity pushes that differ from alerts.
struct LiveActivityRules {
    private static let onlyAtStart = ["attributes-type", "attributes", "input-push-token", "input-push-channel"]

    let aps: [String: JSONValue]

    func check(priority: Int) throws(APNsError) {
        guard priority != 1 else { throw APNsError(.badPriority, "a Live Activity push has priority 5 or 10, not 1") }
        let event = aps["event"]?.string
        guard let event, aps["timestamp"] != nil else { throw refusal("has event and timestamp in \"aps\"") }
        guard aps["content-state"] != nil || event == "end" else { throw refusal("except an end has content-state") }
        guard aps["sound"] == nil else { throw refusal("has its sound inside the alert") }
        if event == "start" {
            for key in ["alert", "attributes-type", "attributes"] where aps[key] == nil {
                throw refusal("that starts one has \(key)")
            }
        } else {
            for key in Self.onlyAtStart where aps[key] != nil { throw refusal("that starts none has no \(key)") }
        }
        if event != "end", aps["dismissal-date"] != nil {
            throw refusal("that ends none has no dismissal-date")
        }
        try checkAlert()
    }

    private func checkAlert() throws(APNsError) {
        guard let alert = aps["alert"] else { return }
        guard let members = alert.object else { throw refusal("has an object for an alert") }
        let texts = [members["title"], members["body"]].compactMap { $0 }
        guard !texts.isEmpty else { throw refusal("has a title or a body in its alert") }
        for case .object(let text) in texts where text["loc-key"]?.string == nil {
            throw refusal("has a text or a loc-key for title and body")
        }
        for key in ["title-loc-key", "loc-key", "subtitle-loc-key"] where members[key] != nil {
            throw refusal("has loc-key inside title and body, not \(key)")
        }
    }

    private func refusal(_ rule: String) -> APNsError {
        APNsError(.invalidPushType, "a Live Activity push " + rule)
    }
}

/// The values of `apns-push-type` ("Sending notification requests to APNs").
enum APNsPushType: String, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// The part of the topic after the bundle id.
    var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// Apple's suffix in a topic; empty if there is none.
    static func suffix(of topic: String) -> String {
        allCases.map(\.topicSuffix).first { !$0.isEmpty && topic.hasSuffix($0) } ?? ""
    }

    /// Whether certificates may send it, not only keys.
    var takesCertificates: Bool { self != .location }

    /// In bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }
}

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
    static func check(_ aps: [String: JSONValue]) throws(APNsError) {
        try check(aps, inDictionary, place: "\"aps\"")
        try check(aps["alert"]?.object ?? [:], inAlert, place: "the alert")
    }

    private static func check(
        _ members: [String: JSONValue],
        _ kinds: [String: Kind],
        place: String
    ) throws(APNsError) {
        for (name, value) in members {
            guard let kind = kinds[name], !kind.takes(value) else { continue }
            throw APNsError(.payloadEmpty, "in \(place), \(name) is \(kind.expected)")
        }
    }
}
