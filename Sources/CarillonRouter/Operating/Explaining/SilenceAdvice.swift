import Nostr

/// What it can mean that nothing is known of an event, and what would tell more.
struct SilenceAdvice {
    /// Nil: everybody's part was asked for.
    var recipient: PublicKey?
    /// How many devices the recipient has here; nil where nobody was asked for.
    var devices: Int?
    /// When the first of those was registered for the first time, in milliseconds since 1970.
    var firstRegistered: Int64?
    /// Whether something is known that is the same for everybody whom the event names.
    var isOfEverybody = false
    /// Whether something is known of the event for others than the recipient.
    var isKnownOtherwise = false
    /// Whether it is among the events that were accepted lately and shall not be accepted again.
    var wasAccepted = false
    /// Since when the trace is kept, in milliseconds since 1970; nil: it holds nothing.
    var traceBegan: Int64?
    /// Why there is no trace to look at; nil: there is one.
    var traceFault: String?
    /// How much the trace holds, in words.
    var limits = ""

    var lines: [String] {
        if isOfEverybody || isKnownOtherwise { return knownOtherwise }
        var lines = ["Nothing is known of this event\(recipient == nil ? "" : " for this recipient")."]
        if let traceFault {
            lines.append("The trace cannot tell: \(traceFault).")
        }
        if wasAccepted {
            lines.append(
                "It was accepted here and woke somebody, or was not to wake anybody; what exactly is forgotten."
            )
        }
        lines += ["It can be that", "  - it never came: no relay, feed or client brought it"]
        switch devices {
        case nil: lines.append("  - it concerns nobody here: such events are counted, and nothing else is kept of them")
        case 0: lines.append("  - it concerns nobody here: the recipient has no device registered now")
        case let count?:
            lines.append("  - it names the recipient in no p tag; \(count) of their devices are registered here now")
        }
        lines.append("  - no rule is for its kind: such an event is passed over like one that concerns nobody")
        switch firstRegistered {
        case let first?: lines.append("  - it came before \(Self.words(first))")
        case nil where devices == nil: lines.append("  - it came before a device of its recipient was registered")
        case nil: break
        }
        lines.append("  - it is forgotten: \(memory)")
        return lines + ["What tells more:"] + more
    }

    private var knownOtherwise: [String] {
        var lines: [String] = []
        if isOfEverybody {
            lines.append(
                "What is said above holds for everybody whom the event names; of this recipient no more is known."
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
        if isKnownOtherwise { lines.append("Without --recipient everybody whom it concerned is shown.") }
        return lines
    }

    private static func words(_ firstRegistered: Int64) -> String {
        "the recipient's first device was registered, at \(UTCTime(milliseconds: firstRegistered).words)"
    }

    private var memory: String {
        guard let traceBegan else { return "the trace holds nothing yet\(limits.isEmpty ? "" : " (\(limits))")" }
        return
            "the trace goes back to \(UTCTime(milliseconds: traceBegan).words)\(limits.isEmpty ? "" : " (\(limits))")"
    }

    private var more: [String] {
        let account = recipient.map { NIP19.npub($0) } ?? "NPUB"
        return [
            "  carillon devices list --account \(account)   whether the recipient has devices here, and since when",
            "  carillon rules try --event FILE --recipient \(account)   what the rules would make of it",
            "  carillon serve --log-level debug   names each event that comes, also those that concern nobody",
        ]
    }
}
