import Cipher
import Console
import Delivery
import EventTrace
import Nostr
import Notifications
import Registry
import Telemetry
import Units

/// What operators ask about events. The same in the router, for its API, and on its files, for the commands. Callable
/// from any thread; reads files, so not for those that must not wait.
package final class EventOperations: Sendable {
    private let registry: Registry
    private let reader: DeviceReader
    private let files: OperatorFiles
    private let deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    private let traceIDs: TraceIDs?
    private let now: @Sendable () -> Timestamp

    package init(
        registry: Registry,
        reader: DeviceReader,
        files: OperatorFiles,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        traceIDs: TraceIDs? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.reader = reader
        self.files = files
        self.deliveryID = deliveryID
        self.traceIDs = traceIDs
        self.now = now
    }

    /// There is no such notification.
    static let unknownRequest = OperationFailure.unknown(
        Sentence(
            "unknown-notification",
            [:],
            "there is no such notification, or it is more than a day old"
        )
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
            let since = now() - trace.limits.age
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
        let held = reader.paces.held(for: question.devices.map(DeviceID.init(rawValue:)))
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
            let whole = try? trace.reader.history(of: event, since: now() - trace.limits.age)
        else { return false }
        return whole.count > count
    }

    /// What of an event waits, as far as that can be told without its history: where it is the first one held, or where
    /// the `recipient` has these devices.
    private func waiting(_ event: EventID, for recipient: PublicKey?, _ devices: [DeviceListing]) -> [String] {
        let holders = (try? files.outbox.devices(holding: event.array)) ?? []
        let held = reader.paces.held(for: holders)
        var waiting = holders.compactMap { device -> String? in
            guard let words = held[deliveryID(event, device)]?.words,
                let owner = (try? registry.listing(of: device))?.account,
                owner == recipient ?? owner
            else { return nil }
            return "for device \(device.rawValue), held: \(words)"
        }
        let numbers = devices.map { (device: $0.device, delivery: deliveryID(event, $0.device)) }
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
