/// A payload, checked against Apple's rules for the push type that comes with it ("Generating a remote notification",
/// "Pushing background updates", "Starting and updating Live Activities with ActivityKit push notifications").
///
/// APNs does not say how it answers a payload that is no JSON object with `aps`, nor one that does not suit its push type
/// ("may return an error, delay or drop"): here these are `PayloadEmpty`, and `InvalidPushType` or `BadPriority`.
struct APNsPayload {
    /// Checks a body against its headers, in the order of APNs.
    static func check(_ request: HTTP2Request, _ headers: APNsHeaders) throws(APNsRefusal) {
        guard !request.body.isEmpty else { throw APNsRefusal(.payloadEmpty, "there is no payload") }
        let limit = (headers.pushType ?? .alert).payloadLimit
        guard request.body.count <= limit, !request.isCut else {
            throw APNsRefusal(
                .payloadTooLarge,
                "the payload has \(request.body.count) bytes, at most \(limit) are allowed"
            )
        }
        guard let payload = JSONValue(parsing: request.body)?.object else {
            throw APNsRefusal(.payloadEmpty, "the payload is not a JSON object")
        }
        if headers.pushType == .mdm {
            guard payload["mdm"] != nil else { throw APNsRefusal(.payloadEmpty, "an mdm push carries \"mdm\"") }
            return
        }
        guard let members = payload["aps"]?.object else {
            throw APNsRefusal(.payloadEmpty, "the payload has no object \"aps\"")
        }
        try APSKey.check(members)
        try APNsPayload(aps: members, priority: headers.priority).check(headers.pushType)
    }

    /// Checks the body of a push to a channel, which updates or ends Live Activities.
    static func check(broadcast request: HTTP2Request, limit: Int, priority: Int) throws(APNsRefusal) {
        guard !request.body.isEmpty else { throw APNsRefusal(.payloadEmpty, "there is no payload") }
        guard request.body.count <= limit, !request.isCut else {
            throw APNsRefusal(.payloadTooLarge, "the payload has more than the \(limit) bytes of a broadcast")
        }
        guard let aps = JSONValue(parsing: request.body)?["aps"]?.object else {
            throw APNsRefusal(.badRequestPayload, "the payload is not a JSON object with an object \"aps\"")
        }
        try APSKey.check(aps)
        guard aps["event"]?.string != "start" else {
            throw APNsRefusal(.badRequestPayload, "a broadcast starts no Live Activity")
        }
        try LiveActivityRules(aps: aps).check(priority: priority)
    }

    private let aps: [String: JSONValue]
    private let priority: Int

    private var shown: [String] { ["alert", "badge", "sound"].filter { aps[$0] != nil } }

    private func check(_ pushType: APNsPushType?) throws(APNsRefusal) {
        switch pushType {
        case .alert: try checkAlert()
        case .background: try checkBackground()
        case .liveactivity: try LiveActivityRules(aps: aps).check(priority: priority)
        case .widgets:
            guard aps["content-changed"] != nil else {
                throw APNsRefusal(.invalidPushType, "a widgets push has content-changed in \"aps\"")
            }
        default: break
        }
    }

    private func checkAlert() throws(APNsRefusal) {
        guard !shown.isEmpty else {
            throw APNsRefusal(.invalidPushType, "an alert push has alert, badge or sound in \"aps\"")
        }
        if aps["mutable-content"] != nil, aps["alert"] == nil {
            throw APNsRefusal(.invalidPushType, "mutable-content needs an alert")
        }
        for key in ["event", "content-state", "attributes-type", "attributes"] where aps[key] != nil {
            throw APNsRefusal(.invalidPushType, "only a Live Activity has \(key)")
        }
        if let score = aps["relevance-score"]?.double, !(0...1).contains(score) {
            throw APNsRefusal(.invalidPushType, "the relevance-score of an alert is from 0 to 1")
        }
    }

    private func checkBackground() throws(APNsRefusal) {
        guard aps["content-available"]?.integer == 1, shown.isEmpty, aps["mutable-content"] == nil else {
            throw APNsRefusal(
                .invalidPushType,
                "a background push has content-available 1 in \"aps\", and no alert, badge, sound or mutable-content"
            )
        }
        guard priority == 5 else {
            throw APNsRefusal(.badPriority, "a background push has priority 5, not \(priority)")
        }
    }
}
