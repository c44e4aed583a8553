import Console
import Delivery
import Pipeline

/// The results of an event, with the steps for each account and device.
package struct EventExplanation: OperatorAnswer, Equatable {
    /// A step in the processing of an event.
    package struct Line: Codable, Sendable, Hashable {
        /// RFC 3339, in UTC.
        package var at: String
        /// One word: a step of the pipeline, or the kind of a delivery's report.
        package var step: String
        /// The same as a sentence for people.
        package var words: String
        package var reason: String?
        package var delivery: String?
        package var platform: String?
        package var app: String?
        /// The push service's HTTP status.
        package var status: Int?
        package var attempt: Int?
        /// The time of the next attempt.
        package var nextAt: String?
        /// The member that recorded the step; nil if the router is not in a cluster.
        package var member: String?
    }

    /// The final or current state of a push to a device, for programs.
    package struct Ending: Codable, Sendable, Hashable {
        /// As in ``Line/step``; `in-turn` before the end of the first attempt, `unknown` if the result is unknown.
        package var step: String
        package var reason: String?
        package var platform: String?
        package var app: String?
        package var status: Int?
        package var attempt: Int?
        /// The earliest time of the push, or of the next attempt.
        package var nextAt: String?
        /// The number of events that are held together.
        package var count: Int?
        /// The reason why its queue is paused; nil if it is not.
        package var pause: Statement?
    }

    package struct Device: Codable, Sendable, Hashable {
        package var device: Int64
        /// Nil if the device is no longer registered.
        package var name: String?
        package var platform: String?
        package var app: String?
        package var isRegistered: Bool
        package var steps: [Line]
        /// The final or current state, as a sentence.
        package var outcome: String
        /// The same with codes and values; nil if the state is unknown.
        package var result: Ending?
    }

    package struct Account: Codable, Sendable, Hashable {
        package var account: String
        package var npub: String
        /// Steps that all its devices share.
        package var steps: [Line]
        package var devices: [Device]
        /// The result for the devices that are not listed; nil if all are listed.
        package var outcome: String?
    }

    package var event: String
    package var note: String
    package var isKnown: Bool
    /// The ID of the event's trace, if spans are exported.
    package var traceID: String?
    /// The start of the trace, RFC 3339 in UTC; nil if there is none.
    package var tracedSince: String?
    /// Steps that all accounts share.
    package var steps: [Line]
    package var accounts: [Account]
    /// Explanations of an unknown event and ways to learn more. Also the reasons why devices of the event's recipients
    /// get no notifications.
    package var advice: [String]
    /// The same as codes and values, one for each.
    package var adviceSays: [Statement]?
    /// The members that were asked; nil if the router is not in a cluster.
    package var members: MembersAsked?
}

extension EventExplanation {
    /// Merges the results of another event of the same notification. A notification to many accounts is several events.
    func joined(with other: EventExplanation) -> EventExplanation {
        guard isKnown else { return other }
        guard other.isKnown else { return self }
        var whole = self
        whole.steps += other.steps
        whole.accounts += other.accounts
        return whole
    }

    package var text: String {
        var lines = ["event \(event)", "      \(note)"]
        if let traceID { lines.append("trace \(traceID)") }
        lines += steps.map { "  \($0.text)" }
        for account in accounts {
            lines += ["", account.npub]
            lines += account.steps.map { "  \($0.text)" }
            if let outcome = account.outcome { lines.append("  → \(outcome)") }
            for device in account.devices { lines += device.lines }
        }
        if !advice.isEmpty { lines += [""] + advice }
        if let missing = members?.lines, !missing.isEmpty { lines += [""] + missing }
        return lines.joined(separator: "\n")
    }
}

extension EventExplanation.Ending {
    /// Whether more steps will follow.
    var isOpen: Bool {
        if let kind = DeliveryReport.Kind(rawValue: step) {
            return !kind.isFinal || kind == .moved
        }
        return [PipelineStep.held.rawValue, "in-turn", "unknown"].contains(step)
    }
}

extension EventExplanation.Line {
    /// Shows the time in seconds.
    fileprivate var text: String {
        "\(at.prefix(10)) \(at.dropFirst(11).prefix(8)) UTC  \(words)\(member.map { " [\($0)]" } ?? "")"
    }
}

extension EventExplanation.Device {
    fileprivate var lines: [String] {
        var title = "  device \(device)"
        if let platform, let app { title += ", \(platform)/\(app)" }
        if let name, !name.isEmpty { title += ", \(name)" }
        if !isRegistered { title += " (no longer registered)" }
        return [title] + steps.map { "    \($0.text)" } + ["    → \(outcome)"]
    }
}
