import Cipher
import Console
import Core
import Delivery
import Nostr
import Observability
import Push
import Registry

/// What operators ask about events. The same in the router, for its API, and on its files, for the commands. Callable
/// from any thread; reads files, so not for those that must not wait.
package final class EventOperations: Sendable {
    private let reader: DeviceReader
    private let traceIDs: TraceIDs?

    /// `traceIDs` are nil where no spans are exported.
    package init(_ reader: DeviceReader, traceIDs: TraceIDs? = nil) {
        (self.reader, self.traceIDs) = (reader, traceIDs)
    }

    private var registry: Registry { reader.registry }
    private var files: OperatorFiles { reader.files }

    /// There is no such notification.
    static let unknownRequest = OperationFailure.unknown(
        Sentence("unknown-notification", "there is no such notification, or it is more than a day old")
    )

    /// The results of an event, or of a notification sent over the API, for `recipient` or for all accounts that it
    /// concerned. Both may be given as links. Throws an ``OperationFailure`` when it cannot be read; that nothing is
    /// known is an answer.
    package func explain(_ event: String, recipient: String? = nil) throws(OperationFailure) -> EventExplanation {
        guard let request = OperatorWords.request(event) else { return try explain(one: event, recipient) }
        let record = Hex.decode(request).flatMap { try? files.outbox.own.request($0) }
        var whole: EventExplanation?
        for event in record?.events ?? [] {
            let part = try explain(one: Hex.encode(event), recipient)
            whole = whole?.joined(with: part) ?? part
        }
        guard let whole else { throw Self.unknownRequest }
        return whole
    }

    private func explain(one event: String, _ recipient: String?) throws(OperationFailure) -> EventExplanation {
        let question = EventQuestion(event: event, recipient: recipient)
        let events = [(member: "", answer: try facts(of: question))]
        return try explanation(of: question, events, [facts(of: DeliveryQuestion(about: events))], isWhole: true)
    }

    /// What is known here of an event. Throws an ``OperationFailure``, as the next ones.
    func facts(of question: EventQuestion) throws(OperationFailure) -> EventFacts {
        let (id, key) = try read(question)
        var facts = EventFacts()
        if let trace = files.trace {
            let since = reader.now() - trace.limits.age
            do throws(TraceError) {
                // What is older may be on disk still.
                facts.began = try trace.reader.beginning().map { max($0, since) }?.milliseconds
                facts.history = try trace.reader.history(of: id, for: key, since: since).map(EventFacts.Entry.init)
            } catch {
                facts.fault = error.description
                if case .missing = error { facts.isTraceMissing = true }
            }
        }
        // The rest explains why nobody is named.
        guard !facts.history.contains(where: { entry in entry.account.map { $0 == key?.hex ?? $0 } ?? false }) else {
            return facts
        }
        facts.isKnownOtherwise = key != nil && isKnown(id, beyond: facts.history.count)
        let registered = try key.map { key throws(OperationFailure) in
            try OperationFailure.attempt { try registry.devices(of: key, limit: DeviceOperations.page) }
        }
        facts.wasAccepted = files.wasAccepted(id)
        facts.waiting = waiting(id, for: key, registered ?? [])
        return facts
    }

    /// What is known here of deliveries without an end.
    func facts(of question: DeliveryQuestion) -> DeliveryFacts {
        let deliveries = Set(question.deliveries)
        var facts = DeliveryFacts()
        facts.contained = (try? files.outbox.contained(of: deliveries)).map(Array.init)
        if facts.contained?.isEmpty == false {
            let due = (try? files.outbox.predecessors(of: deliveries)) ?? [:]
            facts.predecessors = due.mapValues(\.milliseconds)
        }
        let held = reader.held(for: question.devices.map(DeviceID.init(rawValue:)))
        (facts.held, facts.holds) = (held.mapValues(\.words), held.mapValues(\.ending))
        facts.pauses = reader.pauses.values.map(DeliveryFacts.Pause.init)
        return facts
    }

    /// Puts together what members know, each with its name, or the only router with an empty one. `isWhole`: nobody is
    /// missing.
    func explanation(
        of question: EventQuestion,
        _ events: [(member: String, answer: EventFacts)],
        _ deliveries: [DeliveryFacts],
        isWhole: Bool
    ) throws(OperationFailure) -> EventExplanation {
        let (id, key) = try read(question)
        let history = EventFacts.history(events)
        let facts = events.map(\.answer)
        let began = facts.compactMap(\.began).min().map(Timestamp.init(milliseconds:))
        var surroundings = Explainer.Surroundings(traceBegan: began, recipient: key)
        for device in Set(history.compactMap(\.device)) {
            surroundings.devices[device] = try OperationFailure.attempt { try registry.listing(of: device) }
        }
        surroundings.take(deliveries, isWhole: isWhole)
        let registered = try key.map { key throws(OperationFailure) in
            try OperationFailure.attempt { try registry.devices(of: key, limit: DeviceOperations.page) }
        }
        let explainer = Explainer(event: id, history: history, surroundings: surroundings)
        var explanation = explainer.explanation {
            NoDeliveryHint(
                recipient: key,
                devices: registered?.count,
                firstRegistered: registered?.map(\.firstRegisteredAt).min(),
                isOfEverybody: !history.isEmpty,
                isKnownOtherwise: facts.contains(where: \.isKnownOtherwise),
                wasAccepted: facts.contains(where: \.wasAccepted),
                waiting: facts.flatMap(\.waiting),
                isTraced: files.trace != nil,
                traceBegan: began,
                traceFault: facts.compactMap(\.fault).first,
                isTraceMissing: facts.contains { $0.isTraceMissing == true },
                limits: files.trace.map { "\($0.limits.rows) entries and \($0.limits.days) days at most" } ?? ""
            )
            .sentences
        }
        explanation.traceID = explanation.isKnown ? traceIDs?.traceID(of: id) : nil
        for account in key.map({ [$0] }) ?? explainer.accountsNamed {
            var sentences = try identitySentences(of: account)
            if registry.access.isBlocked(account) {
                let npub = NIP19.npub(account)
                let words = "\(npub) is blocked and is sent nothing: carillon users rules says more"
                sentences.append(Sentence("advice-blocked", ["account": npub], words))
            }
            explanation.advice += sentences.map(\.words)
            explanation.adviceSays = (explanation.adviceSays ?? []) + sentences.map(\.says)
        }
        return explanation
    }

    private func read(_ question: EventQuestion) throws(OperationFailure) -> (EventID, recipient: PublicKey?) {
        let key = try question.recipient.map { text throws(OperationFailure) in
            try OperatorWords.key(text, "recipient")
        }
        return (try OperatorWords.event(question.event), key)
    }

    /// Whether more is known of an event than so many entries for one recipient.
    private func isKnown(_ event: EventID, beyond count: Int) -> Bool {
        guard let trace = files.trace,
            let whole = try? trace.reader.history(of: event, since: reader.now() - trace.limits.age)
        else { return false }
        return whole.count > count
    }

    /// What of an event waits, as far as that can be told without its history: where it is the first one held, or where
    /// the `recipient` has these devices.
    private func waiting(_ event: EventID, for recipient: PublicKey?, _ devices: [DeviceListing]) -> [String] {
        let holders = (try? files.outbox.devices(holding: event.array)) ?? []
        let held = reader.held(for: holders)
        var waiting = holders.compactMap { device -> String? in
            guard let words = held[reader.deliveryID(event, device)]?.words,
                let owner = (try? registry.listing(of: device))?.account,
                owner == recipient ?? owner
            else { return nil }
            return "for device \(device.rawValue), held: \(words)"
        }
        let numbers = devices.map { (device: $0.device, delivery: reader.deliveryID(event, $0.device)) }
        let queued = (try? files.outbox.contained(of: Set(numbers.map(\.delivery)))) ?? []
        for number in numbers where queued.contains(number.delivery) {
            waiting.append("for device \(number.device.rawValue), which has not been reached yet")
        }
        return waiting
    }

    /// What is to be said of an account's devices that are not woken although they are registered, or will not be for
    /// long.
    private func identitySentences(of account: PublicKey) throws(OperationFailure) -> [Sentence] {
        let passing = try OperationFailure.attempt {
            try registry.devices(of: account, limit: DeviceOperations.page).filter {
                $0.countsUntil != nil || $0.waitsForCode || $0.suspension != nil
            }
        }
        return IdentityWords.sentences(
            of: account,
            waiting: try reader.waiting(for: account),
            reader.overviews(of: passing)
        )
    }
}

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
            lines.append(Sentence("advice-unknown", "Nothing is known of this event\(whose)."))
        } else {
            lines.append(Sentence("advice-waits", "Of this event no more is known\(whose) than that it waits"))
            lines += waiting.map { Sentence("advice-item", ["detail": $0], "  - \($0)") }
        }
        if !isTraced {
            let words = "The trace cannot tell: the configuration switches it off (trace: off)."
            lines.append(Sentence("advice-trace-off", words))
        } else if let traceFault {
            let code = isTraceMissing ? "advice-no-trace" : "advice-trace-fault"
            lines.append(Sentence(code, ["error": traceFault], "The trace cannot tell: \(traceFault)."))
        }
        if waiting.isEmpty, wasAccepted {
            let words = "It was accepted here lately: it woke somebody, waits to, or was not to wake anybody."
            lines.append(Sentence("advice-accepted", words))
        }
        if !waiting.isEmpty || (wasAccepted && recipient == nil) {
            let what = waiting.isEmpty ? "What" : "What else"
            if let memory {
                lines.append(
                    Sentence("advice-forgotten", memory.values, "\(what) became of it is forgotten: \(memory.words).")
                )
            }
        } else {
            lines += [Sentence("advice-perhaps", "It can be that")] + possibilities
        }
        return lines + [Sentence("advice-more", "What tells more:")] + more
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
            add("perhaps-before", ["at": first.rfc3339], "it came before \(Self.words(first))")
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
            lines.append(Sentence("advice-of-everybody", words))
        }
        if devices == 0 {
            let words = "The recipient has no device registered here now, so nothing is known for them."
            lines.append(Sentence("advice-no-device", words))
        } else if !isOfEverybody {
            lines.append(
                Sentence(
                    "advice-not-named",
                    "The event came, and nothing is known for this recipient. Perhaps it names them in no p tag"
                        + (firstRegistered.map { ", or came before \(Self.words($0))." } ?? ".")
                )
            )
        }
        if isKnownOtherwise {
            let words = "Without --recipient, everybody it concerned is shown."
            lines.append(Sentence("advice-without-recipient", words))
        }
        return lines
    }

    private static func words(_ firstRegistered: Timestamp) -> String {
        "the recipient's first device was registered, at \(firstRegistered.words)"
    }

    /// How far the trace goes back; nil where there is none to look at.
    private var memory: (words: String, values: [String: String])? {
        guard isTraced, traceFault == nil else { return nil }
        let limits = limits.isEmpty ? "" : " (\(limits))"
        guard let traceBegan else { return ("the trace holds nothing\(limits)", [:]) }
        return ("the trace goes back to \(traceBegan.words)\(limits)", ["since": traceBegan.rfc3339])
    }

    private var more: [Sentence] {
        let account = recipient.map { NIP19.npub($0) } ?? "NPUB"
        func command(_ code: String, _ command: String, _ words: String) -> Sentence {
            Sentence(code, ["command": command], "  \(command)   \(words)")
        }
        let tracing = Sentence(
            "more-trace",
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
