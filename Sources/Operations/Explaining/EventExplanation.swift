import Console
import Delivery
import Pipeline

/// What became of an event: for each account and device the steps and how it ended.
package struct EventExplanation: OperatorAnswer, Equatable {
    /// Something that happened.
    package struct Line: Codable, Sendable, Hashable {
        /// RFC 3339, in UTC.
        package var at: String
        /// One word: a step of the pipeline, or the kind of a delivery's report.
        package var step: String
        /// The same in words that a person understands.
        package var words: String
        package var reason: String?
        package var delivery: String?
        package var platform: String?
        package var app: String?
        /// The push service's HTTP status.
        package var status: Int?
        package var attempt: Int?
        /// When the push service is asked again.
        package var nextAt: String?
        /// The member that saw it; nil: the router serves alone.
        package var member: String?
    }

    /// How it ended for a device, or how it stands, for programs.
    package struct Ending: Codable, Sendable, Hashable {
        /// As in ``Line/step``; `in-turn` where no attempt has ended yet, `unknown` where its end is not known.
        package var step: String
        package var reason: String?
        package var platform: String?
        package var app: String?
        package var status: Int?
        package var attempt: Int?
        /// When it goes, or is tried, at the earliest.
        package var nextAt: String?
        /// How many events are held together.
        package var count: Int?
        /// Why its queue is paused; nil: it is not.
        package var pause: Statement?
    }

    package struct Device: Codable, Sendable, Hashable {
        package var device: Int64
        /// Nil when it is registered no more.
        package var name: String?
        package var platform: String?
        package var app: String?
        package var isRegistered: Bool
        package var steps: [Line]
        /// How it ended, or how it stands.
        package var outcome: String
        /// The same for programs; nil: nothing is known.
        package var ending: Ending?
    }

    package struct Account: Codable, Sendable, Hashable {
        package var account: String
        package var npub: String
        /// What is the same for all its devices.
        package var steps: [Line]
        package var devices: [Device]
        /// How it ended for the devices that are not listed; nil: none are left.
        package var outcome: String?
    }

    package var event: String
    package var note: String
    package var isKnown: Bool
    /// The trace of its spans, where they are exported.
    package var traceID: String?
    /// Since when the trace is kept, RFC 3339 in UTC; nil: there is none.
    package var tracedSince: String?
    /// What is the same for everybody.
    package var steps: [Line]
    package var accounts: [Account]
    /// Where nothing is known: what that can mean and what would tell more. In any case what keeps devices of those
    /// the event's recipient from being woken.
    package var advice: [String]
    /// The same for programs, one for each.
    package var adviceSays: [Statement]?
    /// Who was asked; nil: the router serves alone.
    package var members: MembersAsked?
}

extension EventExplanation {
    /// The same notification's further recipients: one to many is several events, each for other accounts.
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
    /// Whether something more is to come.
    var isOpen: Bool {
        if let kind = DeliveryReport.Kind.allCases.first(where: { $0.name == step }) {
            return !kind.isFinal || kind == .moved
        }
        return [PipelineStep.held.rawValue, "in-turn", "unknown"].contains(step)
    }
}

extension EventExplanation.Line {
    /// Seconds are enough for people.
    fileprivate var text: String {
        "\(at.prefix(10)) \(at.dropFirst(11).prefix(8)) UTC  \(words)\(member.map { " [\($0)]" } ?? "")"
    }
}

extension EventExplanation.Device {
    fileprivate var lines: [String] {
        var title = "  device \(device)"
        if let platform, let app { title += ", \(platform)/\(app)" }
        if let name, !name.isEmpty { title += ", \(name)" }
        if !isRegistered { title += " (registered no more)" }
        return [title] + steps.map { "    \($0.text)" } + ["    → \(outcome)"]
    }
}
