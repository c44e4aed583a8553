import Notifications

/// What came of a test push.
package struct TestPushAnswer: OperatorAnswer, Equatable {
    /// A mode in which it does not pass.
    package struct Reduction: Codable, Sendable, Hashable {
        package var mode: String
        /// The push service's HTTP status; 0: it was not asked.
        package var status: Int
        /// One word of a small fixed set.
        package var reason: String

        init(_ mode: Mode, _ outcome: Outcome) {
            self.mode = mode.name
            status = Int(outcome.status)
            reason = outcome.reason
        }
    }

    package var device: Int64
    package var platform: String
    package var app: String
    /// That of the push which the answer is about.
    package var mode: String
    /// In which modes it went out before, saying more.
    package var reductions: [Reduction]
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
        let head = "device \(device), \(platform)/\(app), mode \(mode), delivery \(delivery)"
        let less = reductions.map { reduction in
            let why = ReportWords.said(reduction.status, reduction.reason, to: "")
            return "mode \(reduction.mode) does not pass (\(why)): it goes out again, saying less, as every push does"
        }
        return ([head] + less + [answer, meaning]).joined(separator: "\n")
    }

    private var answer: String {
        let said = ReportWords.said(status, reason, to: outcome)
        if status > 0 || isDelivered { return "the push service's answer: \(said.isEmpty ? "none" : said)" }
        let why = said.isEmpty ? "" : " (\(said))"
        return outcome == "retry" ? "no answer from the push service\(why)" : "the push service was not asked\(why)"
    }

    private var meaning: String {
        let isAnswered = status > 0
        return switch outcome {
        case "delivered": "delivered: it took the push; whether the device shows it is up to the device"
        case "gone": "gone: it says that this registration is dead; the registration was left as it is"
        case "rejected" where isAnswered: "rejected: it will never take this push"
        case "rejected": "rejected: no such push can go to what the device registered"
        case "retry" where isAnswered: "failed: it may take the push later"
        case "retry": "failed: the push may get through later"
        case "misconfigured" where isAnswered:
            "misconfigured: it refuses the router's credentials, or they lack something"
        case "misconfigured": "misconfigured: the router's credentials lack something or cannot be used"
        default: outcome
        }
    }

    init(
        _ device: DeviceID,
        _ address: DeviceAddress,
        _ mode: Mode,
        _ reductions: [Reduction],
        delivery: String,
        _ outcome: Outcome
    ) {
        self.device = device.rawValue
        platform = address.platform
        app = address.app
        self.mode = mode.name
        self.reductions = reductions
        self.delivery = delivery
        self.outcome = "\(outcome.kind)"
        status = Int(outcome.status)
        reason = outcome.reason
    }
}
