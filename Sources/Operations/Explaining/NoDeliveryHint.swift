import Console
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
    /// Whether that is because there is none yet.
    var isTraceMissing = false
    /// How much the trace holds, in words.
    var limits = ""

    var lines: [String] { sentences.map(\.words) }

    /// The lines, each with what it says.
    var sentences: [Sentence] {
        if isOfEverybody || isKnownOtherwise { return knownOtherwise }
        let whose = recipient == nil ? "" : " for this recipient"
        var lines: [Sentence] = []
        if waiting.isEmpty {
            lines.append(Sentence("advice-unknown", [:], "Nothing is known of this event\(whose)."))
        } else {
            lines.append(Sentence("advice-waits", [:], "Of this event no more is known\(whose) than that it waits"))
            lines += waiting.map { Sentence("advice-item", ["detail": $0], "  - \($0)") }
        }
        if !isTraced {
            let words = "The trace cannot tell: the configuration switches it off (trace: off)."
            lines.append(Sentence("advice-trace-off", [:], words))
        } else if let traceFault {
            let code = isTraceMissing ? "advice-no-trace" : "advice-trace-fault"
            lines.append(Sentence(code, ["error": traceFault], "The trace cannot tell: \(traceFault)."))
        }
        if waiting.isEmpty, wasAccepted {
            let words = "It was accepted here lately: it woke somebody, waits to, or was not to wake anybody."
            lines.append(Sentence("advice-accepted", [:], words))
        }
        if !waiting.isEmpty || (wasAccepted && recipient == nil) {
            let what = waiting.isEmpty ? "What" : "What else"
            if let memory {
                lines.append(
                    Sentence("advice-forgotten", memory.values, "\(what) became of it is forgotten: \(memory.words).")
                )
            }
        } else {
            lines += [Sentence("advice-perhaps", [:], "It can be that")] + possibilities
        }
        return lines + [Sentence("advice-more", [:], "What tells more:")] + more
    }

    /// What was accepted came, and concerned somebody.
    private var possibilities: [Sentence] {
        var possibilities: [Sentence] = []
        func add(_ code: String, _ values: [String: String] = [:], _ words: String) {
            possibilities.append(Sentence(code, values, "  - \(words)"))
        }
        if !wasAccepted { add("perhaps-never-came", [:], "it never came: no relay, feed or client brought it") }
        switch devices {
        case nil:
            let words = "it concerns nobody here: such events are counted, and nothing else is kept of them"
            add("perhaps-of-nobody", [:], words)
        case 0:
            let whom = wasAccepted ? "others" : "nobody here"
            let code = wasAccepted ? "perhaps-of-others" : "perhaps-no-device"
            add(code, [:], "it concerns \(whom): the recipient has no device registered now")
        case let count?:
            let words = "it names the recipient in no p tag; \(count) of their devices are registered here now"
            add("perhaps-not-named", ["count": "\(count)"], words)
        }
        if !wasAccepted {
            let words = "no rule is for its kind: such an event is passed over like one that concerns nobody"
            add("perhaps-no-rule", [:], words)
        }
        switch firstRegistered {
        case let first?:
            add("perhaps-before", ["at": UTCTime(first).stamp], "it came before \(Self.words(first))")
        case nil where devices == nil:
            add("perhaps-before-device", [:], "it came before a device of its recipient was registered")
        case nil: break
        }
        if let memory {
            add("perhaps-forgotten", memory.values, "it is forgotten: \(memory.words)")
        } else {
            add("perhaps-unreadable", [:], "it came, and nothing that tells of it can be read")
        }
        return possibilities
    }

    private var knownOtherwise: [Sentence] {
        var lines: [Sentence] = []
        if isOfEverybody {
            let words = "What is said above holds for everybody the event names; no more is known about this recipient."
            lines.append(Sentence("advice-of-everybody", [:], words))
        }
        if devices == 0 {
            let words = "The recipient has no device registered here now, so nothing is known for them."
            lines.append(Sentence("advice-no-device", [:], words))
        } else if !isOfEverybody {
            lines.append(
                Sentence(
                    "advice-not-named",
                    [:],
                    "The event came, and nothing is known for this recipient. Perhaps it names them in no p tag"
                        + (firstRegistered.map { ", or came before \(Self.words($0))." } ?? ".")
                )
            )
        }
        if isKnownOtherwise {
            let words = "Without --recipient, everybody it concerned is shown."
            lines.append(Sentence("advice-without-recipient", [:], words))
        }
        return lines
    }

    private static func words(_ firstRegistered: Timestamp) -> String {
        "the recipient's first device was registered, at \(UTCTime(firstRegistered).words)"
    }

    /// How far the trace goes back; nil where there is none to look at.
    private var memory: (words: String, values: [String: String])? {
        guard isTraced, traceFault == nil else { return nil }
        let limits = limits.isEmpty ? "" : " (\(limits))"
        guard let traceBegan else { return ("the trace holds nothing\(limits)", [:]) }
        let began = UTCTime(traceBegan)
        return ("the trace goes back to \(began.words)\(limits)", ["since": began.stamp])
    }

    private var more: [Sentence] {
        let account = recipient.map { NIP19.npub($0) } ?? "NPUB"
        func command(_ code: String, _ command: String, _ words: String) -> Sentence {
            Sentence(code, ["command": command], "  \(command)   \(words)")
        }
        let tracing = Sentence(
            "more-trace",
            [:],
            "  taking trace: off out of the configuration   has the router write down what becomes of events, from its next "
                + "start on"
        )
        return (isTraced ? [] : [tracing]) + [
            command(
                "more-devices",
                "carillon devices list --account \(account)",
                "whether the recipient has devices here, and since when"
            ),
            command(
                "more-rules",
                "carillon rules try --event FILE --recipient \(account)",
                "what the rules would make of it"
            ),
            command(
                "more-log",
                "carillon serve --log-level debug",
                "names each event that comes, also those that concern nobody"
            ),
        ]
    }
}
