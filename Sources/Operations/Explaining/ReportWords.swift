import Console
import Delivery
import EventTrace
import HTTPLanes
import Units

/// What became of a delivery, in words that a person understands.
enum ReportWords {
    static func words(_ report: TraceEntry.Report, reason: String) -> String {
        guard let kind = DeliveryReport.Kind.allCases.first(where: { $0.name == report.kind }) else {
            return report.kind
        }
        let answer = answer(report.status, reason, to: report.kind)
        let place = "\(report.queue.platform)/\(report.queue.app)"
        let attempt = report.attempt > 1 ? ", at the \(ordinal(report.attempt)) attempt" : ""
        return switch kind {
        case .delivered: "delivered: \(place) took it\(answer)\(attempt)"
        case .gone: "not delivered: \(place) says the device is gone\(answer), so it was forgotten"
        case .rejected where reason == "plugin-crashed":
            "not delivered: the plugin for \(place) crashed on it twice, or never ended"
        case .rejected: "not delivered: \(place) refuses it for good\(answer)"
        case .retry:
            "not delivered yet: \(place) failed\(answer)\(attempt); \(next(report.nextDue))"
        case .postponed where reason == "endpoint-refuses":
            "waits: this device's endpoint refused several pushes in a row; \(next(report.nextDue, isTried: attempted(report)))"
        case .postponed:
            "waits: the device's server asked for a pause, or could not be reached; "
                + next(report.nextDue, isTried: attempted(report))
        case .reduced where reason == "unsupported":
            "\(place) cannot send it to this device in its mode\(answer): it goes out again, saying less"
        case .reduced: "too much for \(place)\(answer): it goes out again, saying less"
        case .misconfigured:
            "not delivered yet: \(place) refuses the router's credentials\(answer); it waits until somebody mends them"
        case .expired: "not delivered: its lifetime was over before \(place) took it"
        case .unregistered: "not delivered: the device is registered no more"
        case .moved: "the device has moved to another platform or app, where the delivery goes on"
        case .requeued: "an operator had it tried again: it waits for its turn"
        case .discarded: "not delivered: an operator dropped it"
        case .deleted: "not delivered: its author deleted the event"
        case .unreadable: "not delivered: what the outbox holds of it cannot be read"
        }
    }

    /// The result of a push, short enough for a column of a table.
    static func short(kind: String, status: Int, reason: String) -> String {
        kind + inParentheses(said(status, reason, to: kind))
    }

    /// The result of a push, with an explanation of the router's own reasons.
    static func long(kind: String, status: Int, reason: String) -> String { kind + answer(status, reason, to: kind) }

    /// What ``said`` returns. If the router gave the reason because no response came, its explanation follows.
    static func explained(_ status: Int, _ reason: String, to outcome: String) -> String {
        let said = said(status, reason, to: outcome)
        guard status == 0, !said.isEmpty, let cause = HTTPFailure.Reason(rawValue: reason) else { return said }
        return said + ": " + cause.explanation
    }

    /// What a push service said: its status and its reason, as far as it gave them and as they say more than `outcome`.
    static func said(_ status: Int, _ reason: String, to outcome: String) -> String {
        [status == 0 ? "" : String(status), reason == outcome ? "" : reason].filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    private static func answer(_ status: Int, _ reason: String, to outcome: String) -> String {
        inParentheses(explained(status, reason, to: outcome))
    }

    private static func inParentheses(_ text: String) -> String { text.isEmpty ? "" : " (\(text))" }

    private static func attempted(_ report: TraceEntry.Report) -> Bool { report.attempt > 0 }

    /// `isTried`: it was before.
    private static func next(_ due: Timestamp?, isTried: Bool = true) -> String {
        let what = isTried ? "it is tried again" : "it is tried"
        return due.map { "\(what) from \(UTCTime($0).words) on" } ?? what
    }

    private static func ordinal(_ number: Int) -> String {
        let end =
            switch (number % 100, number % 10) {
            case (11...13, _): "th"
            case (_, 1): "st"
            case (_, 2): "nd"
            case (_, 3): "rd"
            default: "th"
            }
        return "\(number)\(end)"
    }
}

/// Why the deliveries of a queue wait, in words that a person understands.
enum PauseWords {
    static func statement(_ paused: TracedPause) -> Statement {
        let pause = paused.pause
        let code =
            switch pause.cause {
            case .misconfigured where pause.reason == "no-transport": "paused-no-plugin"
            case .misconfigured: "paused-credentials"
            case .asked: "paused-asked"
            }
        return Statement(
            code,
            [
                "queue": "\(pause.queue.platform)/\(pause.queue.app)", "reason": pause.reason,
                "since": UTCTime(paused.since).stamp, "until": UTCTime(pause.until).stamp,
            ]
        )
    }

    static func words(_ paused: TracedPause) -> String {
        let pause = paused.pause
        let place = "\(pause.queue.platform)/\(pause.queue.app)"
        let since = UTCTime(paused.since).words
        let until = UTCTime(pause.until).words
        return switch pause.cause {
        case .misconfigured where pause.reason == "no-transport":
            "no plugin serves \(place) since \(since); it is looked for again from \(until) on"
        case .misconfigured:
            "\(place) is paused since \(since), as it refuses the router's credentials (\(pause.reason)); it is tried again "
                + "from \(until) on"
        case .asked: "\(place) asked for a pause until \(until) (\(pause.reason))"
        }
    }
}
