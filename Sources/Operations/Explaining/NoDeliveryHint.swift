import Nostr
import Units

/// What it can mean that nothing is known of an event, and what would tell more.
struct NoDeliveryHint {
    /// Nil: everybody's part was asked for.
    var recipient: PublicKey?
    /// How many devices the recipient has here; nil where nobody was asked for.
    var devices: Int?
    /// When the first of those was registered for the first time.
    var firstRegistered: Timestamp?
    /// Whether something is known that is the same for everybody the event names.
    var isOfEverybody = false
    /// Whether something is known of the event for others than the recipient.
    var isKnownOtherwise = false
    /// Whether it is among the events that were accepted lately and shall not be accepted again.
    var wasAccepted = false
    /// For which devices it waits still, in words.
    var waiting: [String] = []
    /// Whether what becomes of events is written down at all.
    var isTraced = true
    /// Since when the trace is kept; nil: it holds nothing.
    var traceBegan: Timestamp?
    /// Why the trace cannot be looked at; nil: it can, or there shall be none.
    var traceFault: String?
    /// How much the trace holds, in words.
    var limits = ""

    var lines: [String] {
        if isOfEverybody || isKnownOtherwise { return knownOtherwise }
        let whose = recipient == nil ? "" : " for this recipient"
        var lines: [String] = []
        if waiting.isEmpty {
            lines.append("Nothing is known of this event\(whose).")
        } else {
            lines.append("Of this event no more is known\(whose) than that it waits")
            lines += waiting.map { "  - \($0)" }
        }
        if !isTraced {
            lines.append("The trace cannot tell: the configuration switches it off (trace: off).")
        } else if let traceFault {
            lines.append("The trace cannot tell: \(traceFault).")
        }
        if waiting.isEmpty, wasAccepted {
            lines.append("It was accepted here lately: it woke somebody, waits to, or was not to wake anybody.")
        }
        if !waiting.isEmpty || (wasAccepted && recipient == nil) {
            let what = waiting.isEmpty ? "What" : "What else"
            if let memory { lines.append("\(what) became of it is forgotten: \(memory).") }
        } else {
            lines += ["It can be that"] + possibilities.map { "  - \($0)" }
        }
        return lines + ["What tells more:"] + more
    }

    /// What was accepted came, and concerned somebody.
    private var possibilities: [String] {
        var possibilities: [String] = []
        if !wasAccepted { possibilities.append("it never came: no relay, feed or client brought it") }
        switch devices {
        case nil:
            possibilities.append("it concerns nobody here: such events are counted, and nothing else is kept of them")
        case 0:
            let whom = wasAccepted ? "others" : "nobody here"
            possibilities.append("it concerns \(whom): the recipient has no device registered now")
        case let count?:
            possibilities.append(
                "it names the recipient in no p tag; \(count) of their devices are registered here now"
            )
        }
        if !wasAccepted {
            possibilities.append(
                "no rule is for its kind: such an event is passed over like one that concerns nobody"
            )
        }
        switch firstRegistered {
        case let first?: possibilities.append("it came before \(Self.words(first))")
        case nil where devices == nil: possibilities.append("it came before a device of its recipient was registered")
        case nil: break
        }
        if let memory {
            possibilities.append("it is forgotten: \(memory)")
        } else {
            possibilities.append("it came, and nothing that tells of it can be read")
        }
        return possibilities
    }

    private var knownOtherwise: [String] {
        var lines: [String] = []
        if isOfEverybody {
            lines.append(
                "What is said above holds for everybody the event names; no more is known about this recipient."
            )
        }
        if devices == 0 {
            lines.append("The recipient has no device registered here now, so nothing is known for them.")
        } else if !isOfEverybody {
            lines.append(
                "The event came, and nothing is known for this recipient. Perhaps it names them in no p tag"
                    + (firstRegistered.map { ", or came before \(Self.words($0))." } ?? ".")
            )
        }
        if isKnownOtherwise { lines.append("Without --recipient, everybody it concerned is shown.") }
        return lines
    }

    private static func words(_ firstRegistered: Timestamp) -> String {
        "the recipient's first device was registered, at \(UTCTime(firstRegistered).words)"
    }

    /// How far the trace goes back; nil where there is none to look at.
    private var memory: String? {
        guard isTraced, traceFault == nil else { return nil }
        let limits = limits.isEmpty ? "" : " (\(limits))"
        guard let traceBegan else { return "the trace holds nothing\(limits)" }
        return "the trace goes back to \(UTCTime(traceBegan).words)\(limits)"
    }

    private var more: [String] {
        let account = recipient.map { NIP19.npub($0) } ?? "NPUB"
        let tracing =
            "  taking trace: off out of the configuration   has the router write down what becomes of events, from its next "
            + "start on"
        return (isTraced ? [] : [tracing]) + [
            "  carillon devices list --account \(account)   whether the recipient has devices here, and since when",
            "  carillon rules try --event FILE --recipient \(account)   what the rules would make of it",
            "  carillon serve --log-level debug   names each event that comes, also those that concern nobody",
        ]
    }
}
