import Notifications

/// What a push service said to a test push.
package struct TestPushAnswer: OperatorAnswer, Equatable {
    package var device: Int64
    package var platform: String
    package var app: String
    package var mode: String
    /// The id of this delivery, which push services show in their tools.
    package var delivery: String
    /// By its word: delivered, gone, rejected, retry or misconfigured.
    package var outcome: String
    /// The push service's HTTP status; 0: it gave none.
    package var status: Int
    /// One word of a small fixed set.
    package var reason: String

    package var isDelivered: Bool { outcome == "delivered" }

    package var text: String {
        let said = ReportWords.said(status, reason, to: outcome)
        return """
            device \(device), \(platform)/\(app), mode \(mode), delivery \(delivery)
            the push service's answer: \(said.isEmpty ? "none" : said)
            \(meaning)
            """
    }

    private var meaning: String {
        switch outcome {
        case "delivered": "delivered: it took the push; whether the device shows it is up to the device"
        case "gone": "gone: it says that this registration is dead; the registration was left as it is"
        case "rejected": "rejected: it will never take this push"
        case "retry": "failed: it may take the push later, or was not reached"
        case "misconfigured": "misconfigured: it refuses the router's credentials, or they lack something"
        default: outcome
        }
    }

    init(device: DeviceID, platform: String, app: String, mode: Mode, delivery: String, _ outcome: Outcome) {
        self.device = device.rawValue
        self.platform = platform
        self.app = app
        self.mode = mode.name
        self.delivery = delivery
        self.outcome = "\(outcome.kind)"
        status = Int(outcome.status)
        reason = outcome.reason
    }
}
