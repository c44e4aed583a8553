import Cipher
import Console
import Core
import Delivery
import Nostr
import Observability
import Push
import Registry

/// The operator's requests about events. The router uses it for its API, the commands use it on the files. All
/// functions are thread-safe, but they block while they read files.
package final class EventOperations: Sendable {
    private let reader: DeviceReader
    private let traceIDs: TraceIDs?

    /// `traceIDs` is nil if no spans are exported.
    package init(_ reader: DeviceReader, traceIDs: TraceIDs? = nil) {
        (self.reader, self.traceIDs) = (reader, traceIDs)
    }

    private var registry: Registry { reader.registry }
    private var files: OperatorFiles { reader.files }

    /// The error for an unknown notification.
    static let unknownRequest = OperationError.unknown(
        Sentence("unknown-notification", "there is no such notification, or it is more than a day old")
    )

    /// Returns the results of an event, or of a notification sent over the API, for `recipient` or for all accounts.
    /// Both may be links. Throws an ``OperationError`` if they are invalid; an unknown event is not an error.
    package func explain(_ event: String, recipient: String? = nil) throws(OperationError) -> EventExplanation {
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

    private func explain(one event: String, _ recipient: String?) throws(OperationError) -> EventExplanation {
        let question = EventQuestion(event: event, recipient: recipient)
        let events = [(member: "", answer: try facts(of: question))]
        return try explanation(of: question, events, [facts(of: DeliveryQuestion(about: events))], isWhole: true)
    }

    /// Returns this router's facts of an event. Throws an ``OperationError``, like the next functions.
    func facts(of question: EventQuestion) throws(OperationError) -> EventFacts {
        let (id, key) = try read(question)
        var facts = EventFacts()
        if let trace = files.trace {
            let since = reader.now() - trace.limits.age
            do throws(TraceError) {
                // Older entries may still be on disk.
                facts.began = try trace.reader.beginning().map { max($0, since) }?.milliseconds
                facts.history = try trace.reader.history(of: id, for: key, since: since).map(EventFacts.Entry.init)
            } catch {
                facts.fault = error.description
                if case .missing = error { facts.isTraceMissing = true }
            }
        }
        // The remaining facts explain why the history names no account.
        guard !facts.history.contains(where: { entry in entry.account.map { $0 == key?.hex ?? $0 } ?? false }) else {
            return facts
        }
        facts.isKnownOtherwise = key != nil && isKnown(id, beyond: facts.history.count)
        let registered = try key.map { key throws(OperationError) in
            try OperationError.attempt { try registry.devices(of: key, limit: DeviceOperations.page) }
        }
        facts.wasAccepted = files.wasAccepted(id)
        facts.waiting = waiting(id, for: key, registered ?? [])
        return facts
    }

    /// Returns this router's facts of unfinished deliveries.
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

    /// Merges the facts of all members, each with its name, or of a single router with an empty name. `isWhole`: all
    /// members responded.
    func explanation(
        of question: EventQuestion,
        _ events: [(member: String, answer: EventFacts)],
        _ deliveries: [DeliveryFacts],
        isWhole: Bool
    ) throws(OperationError) -> EventExplanation {
        let (id, key) = try read(question)
        let history = EventFacts.history(events)
        let facts = events.map(\.answer)
        let began = facts.compactMap(\.began).min().map(Timestamp.init(milliseconds:))
        var surroundings = Explainer.ExplainerContext(traceBegan: began, recipient: key)
        for device in Set(history.compactMap(\.device)) {
            surroundings.devices[device] = try OperationError.attempt { try registry.listing(of: device) }
        }
        surroundings.take(deliveries, isWhole: isWhole)
        let registered = try key.map { key throws(OperationError) in
            try OperationError.attempt { try registry.devices(of: key, limit: DeviceOperations.page) }
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

    private func read(_ question: EventQuestion) throws(OperationError) -> (EventID, recipient: PublicKey?) {
        let key = try question.recipient.map { text throws(OperationError) in
            try OperatorWords.key(text, "recipient")
        }
        return (try OperatorWords.event(question.event), key)
    }

    /// Whether the trace has more than `count` entries of an event.
    private func isKnown(_ event: EventID, beyond count: Int) -> Bool {
        guard let trace = files.trace,
            let whole = try? trace.reader.history(of: event, since: reader.now() - trace.limits.age)
        else { return false }
        return whole.count > count
    }

    /// Returns the waiting deliveries of an event that can be found without its history: held ones with the event as
    /// the first of their group, and those for the `recipient`'s `devices`.
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

    /// Returns sentences about an account's devices that are registered but get no notifications, or soon will not.
    private func identitySentences(of account: PublicKey) throws(OperationError) -> [Sentence] {
        let passing = try OperationError.attempt {
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

/// Explains why an event is unknown, and how to learn more.
struct NoDeliveryHint {
    /// Nil if the request was for all accounts.
    var recipient: PublicKey?
    /// The number of the recipient's devices; nil without a recipient.
    var devices: Int?
    /// The time of the first registration of any of them.
    var firstRegistered: Timestamp?
    /// Whether there are facts that all accounts of the event share.
    var isOfEverybody = false
    /// Whether there are facts of the event for accounts other than the recipient.
    var isKnownOtherwise = false
    /// Whether the event was accepted recently, so that it is not accepted again.
    var wasAccepted = false
    /// The devices for which it still waits, as phrases.
    var waiting: [String] = []
    /// Whether a trace is configured.
    var isTraced = true
    /// The start of the trace; nil if it is empty.
    var traceBegan: Timestamp?
    /// The reason why the trace is unreadable; nil if it is readable or disabled.
    var traceFault: String?
    /// Whether the reason is that the trace does not exist yet.
    var isTraceMissing = false
    /// The trace's capacity, as a phrase.
    var limits = ""

    var lines: [String] { sentences.map(\.words) }

    /// The lines, each with its code and values.
    var sentences: [Sentence] {
        if isOfEverybody || isKnownOtherwise { return knownOtherwise }
        let whose = recipient == nil ? "" : " for this recipient"
        var lines: [Sentence] = []
        func add(_ code: String, _ words: String, _ values: [String: String] = [:]) {
            lines.append(Sentence(code, values, words))
        }
        if waiting.isEmpty {
            add("advice-unknown", "There is no record of this event\(whose).")
        } else {
            add("advice-waits", "The only record of this event\(whose) is that it waits")
            for phrase in waiting { add("advice-item", "  - \(phrase)", ["detail": phrase]) }
        }
        if !isTraced {
            add("advice-trace-off", "The trace cannot tell: the configuration switches it off (trace: off).")
        } else if let traceFault {
            let code = isTraceMissing ? "advice-no-trace" : "advice-trace-fault"
            add(code, "The trace cannot tell: \(traceFault).", ["error": traceFault])
        }
        if waiting.isEmpty, wasAccepted {
            add(
                "advice-accepted",
                "It was accepted here recently: it sent notifications, waits to send them, or sends none."
            )
        }
        if waiting.isEmpty && !(wasAccepted && recipient == nil) {
            lines += [Sentence("advice-perhaps", "Possible reasons:")] + possibilities
        } else if let memory {
            let what = waiting.isEmpty ? "Its history" : "Its other history"
            add("advice-forgotten", "\(what) is no longer stored: \(memory.words).", memory.values)
        }
        return lines + [Sentence("advice-more", "For details:")] + more
    }

    /// Possible reasons. There are fewer for an accepted event, because it did arrive and had recipients.
    private var possibilities: [Sentence] {
        var possibilities: [Sentence] = []
        func add(_ code: String, _ words: String, _ values: [String: String] = [:]) {
            possibilities.append(Sentence(code, values, "  - \(words)"))
        }
        if !wasAccepted { add("perhaps-never-came", "it never came: no relay, feed or client brought it") }
        switch devices {
        case nil: add("perhaps-of-nobody", "no recipient is registered here: such events are only counted")
        case 0 where wasAccepted:
            add("perhaps-of-others", "it is for other users: the recipient has no device registered now")
        case 0:
            add(
                "perhaps-no-device",
                "no recipient is registered here: the recipient has no device registered now"
            )
        case let count?:
            add(
                "perhaps-not-named",
                "it names the recipient in no p tag; \(count) of their devices are registered here now",
                ["count": "\(count)"]
            )
        }
        if !wasAccepted { add("perhaps-no-rule", "no rule matches its kind: such events are only counted") }
        switch firstRegistered {
        case let first?:
            add("perhaps-before", "it came before \(Self.words(first))", ["at": first.rfc3339])
        case nil where devices == nil:
            add("perhaps-before-device", "it came before a device of its recipient was registered")
        case nil: break
        }
        if let memory {
            add("perhaps-forgotten", "it is forgotten: \(memory.words)", memory.values)
        } else {
            add("perhaps-unreadable", "it arrived, but its records are not readable")
        }
        return possibilities
    }

    private var knownOtherwise: [Sentence] {
        var lines: [Sentence] = []
        func add(_ code: String, _ words: String) { lines.append(Sentence(code, words)) }
        if isOfEverybody {
            add(
                "advice-of-everybody",
                "The steps above apply to all recipients; there is no other record for this recipient."
            )
        }
        if devices == 0 {
            add(
                "advice-no-device",
                "The recipient has no device registered here now, so there is no record for them."
            )
        } else if !isOfEverybody {
            add(
                "advice-not-named",
                "The event arrived, but there is no record for this recipient. Perhaps it names them in no p tag"
                    + (firstRegistered.map { ", or came before \(Self.words($0))." } ?? ".")
            )
        }
        if isKnownOtherwise { add("advice-without-recipient", "Without --recipient, all recipients are shown.") }
        return lines
    }

    private static func words(_ firstRegistered: Timestamp) -> String {
        "the recipient's first device was registered, at \(firstRegistered.words)"
    }

    /// The start of the trace; nil if there is no readable trace.
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
            "  removing trace: off from the configuration   makes the router record each event's history from its next "
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
                "how the rules would handle it"
            ),
            command(
                "more-log",
                "carillon serve --log-level debug",
                "logs each event that arrives, even without a registered recipient"
            ),
        ]
    }
}
