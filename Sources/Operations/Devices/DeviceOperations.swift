import Cipher
import Console
import Delivery
import EventTrace
import Nostr
import Notifications
import Pipeline
import Registry
import RouterConfiguration
import Sealing
import Telemetry
import Units

/// What operators ask about events and devices, and do to devices. The same in the router, for its API, and on its
/// files, for the commands. Callable from any thread; reads files, so not for those that must not wait.
package final class DeviceOperations: Sendable {
    /// Devices in one answer.
    package static let page = 1_000

    let registry: Registry
    private let sealer: Sealer
    private let files: OperatorFiles
    private let sender: any TestPushSender
    /// A reload may change it.
    private let configuration: @Sendable () -> Configuration
    private let deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    private let traceIDs: TraceIDs?
    private let now: @Sendable () -> Timestamp

    package init(
        registry: Registry,
        sealer: Sealer,
        files: OperatorFiles,
        sender: any TestPushSender,
        configuration: @escaping @Sendable () -> Configuration,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        traceIDs: TraceIDs? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.sealer = sealer
        self.files = files
        self.sender = sender
        self.configuration = configuration
        self.deliveryID = deliveryID
        self.traceIDs = traceIDs
        self.now = now
    }

    /// Devices in the order of their numbers, beginning behind `previous`; `account`, as 64 hex digits or npub1…,
    /// narrows them down to one account's. Throws an ``OperationFailure``.
    package func list(
        account: String? = nil,
        after previous: Int64? = nil,
        limit: Int = page
    ) throws(OperationFailure) -> DeviceList {
        let key = try account.map { text throws(OperationFailure) in try OperatorWords.key(text, "account") }
        let listings = try attempt {
            try registry.devices(of: key, after: previous.map(DeviceID.init(rawValue:)), limit: limit + 1)
        }
        let shown = Array(listings.prefix(limit))
        var list = DeviceList(
            devices: overviews(of: shown),
            next: listings.count > shown.count ? shown.last?.device.rawValue : nil
        )
        if previous == nil { list.waiting = try waiting(for: key) }
        return list
    }

    /// Throws an ``OperationFailure`` when there is no such device.
    package func show(_ device: Int64) throws(OperationFailure) -> DeviceOverview {
        let listing = try listing(of: device)
        return overviews(of: [listing])[0]
    }

    /// Forgets a device as if its push service had called it gone: the event that registered it does not bring it back,
    /// a later one does. Throws an ``OperationFailure`` when there is no such device or the registry cannot be written.
    package func remove(_ device: Int64) throws(OperationFailure) -> RemovedDevice {
        let overview = try show(device)
        _ = try attempt { try registry.remove(DeviceID(rawValue: device)) }
        return RemovedDevice(removed: overview)
    }

    /// Switches a device on that was switched off since pushes to it failed for long. Throws an ``OperationFailure``
    /// when there is no such device or the registry cannot be written.
    package func enable(_ device: Int64) throws(OperationFailure) -> EnabledDevice {
        _ = try listing(of: device)
        let isNews = try attempt { try registry.enable(DeviceID(rawValue: device)) }
        return EnabledDevice(device: try show(device), wasOff: isNews)
    }

    /// Sends a push to one device; `mode` is a mode's name, nil: the device's own. What does not pass in that mode says
    /// less, as every push does. Whatever the answer says, the registration stays. Throws an ``OperationFailure`` when
    /// it cannot even be attempted.
    package func test(_ device: Int64, mode: String? = nil) async throws(OperationFailure) -> TestPushAnswer {
        let asked = try mode.map { text throws(OperationFailure) in try OperatorWords.mode(text) }
        let listing = try listing(of: device)
        guard let address = try attempt({ try registry.address(of: listing.device) }) else {
            if registry.isBlocked(listing) {
                throw .unavailable(
                    Sentence(
                        "device-blocked",
                        ["device": "\(device)"],
                        "device \(device) is out of use, as its account is blocked: carillon users rules says more"
                    )
                )
            }
            throw .unknown(Sentence("unknown-device", ["device": "\(device)"], "there is no device \(device)"))
        }
        let mode = asked ?? listing.mode ?? sender.defaultMode
        let id = DeliveryIDs.fresh()
        var notification = TestPush(mode: mode, now: now()).notification
        let sealing = try attempt { try registry.sealing(of: listing.device) }
        let hasOwnKey = try attempt { try registry.content(of: listing.device)?.sealingKey != nil }
        if mode == .sealed, hasOwnKey || !sender.seals(address.platform) {
            guard let sealing else {
                throw .unavailable(
                    Sentence(
                        "device-key-lost",
                        ["device": "\(device)"],
                        "the device is registered to a key that the router no longer has: carillon keys show"
                    )
                )
            }
            notification = try attempt {
                try sealer.seal(notification, id: id, for: sealing.key, from: sealing.sender)
            }
        }
        var outcome = try await sender.send(notification, id: id, to: address)
        var reductions: [TestPushAnswer.Reduction] = []
        while let downgraded = notification.downgraded(after: outcome) {
            reductions.append(TestPushAnswer.Reduction(notification.mode, outcome))
            notification = downgraded
            outcome = try await sender.send(notification, id: id, to: address)
        }
        return TestPushAnswer(listing.device, address, notification.mode, reductions, delivery: id.description, outcome)
    }

    /// What became of an event, named as 64 hex digits, note1… or nevent1…, for `recipient` or for everybody it
    /// concerned. Throws an ``OperationFailure`` when either cannot be read; that nothing is known is an answer.
    package func explain(_ event: String, recipient: String? = nil) throws(OperationFailure) -> EventExplanation {
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
            try attempt { try registry.devices(of: key, limit: Self.page) }
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
        let held = held(for: question.devices.map(DeviceID.init(rawValue:)))
        (facts.held, facts.holds) = (held.mapValues(\.words), held.mapValues(\.ending))
        facts.pauses = pauses.values.map(DeliveryFacts.Pause.init)
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
            surroundings.devices[device] = try attempt { try registry.listing(of: device) }
        }
        surroundings.take(deliveries, isWhole: isWhole)
        let registered = try key.map { key throws(OperationFailure) in
            try attempt { try registry.devices(of: key, limit: Self.page) }
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

    /// What this router alone knows of devices: of the accounts that it `owns` also how they are woken. Those that are
    /// not registered are left out.
    func facts(of devices: [Int64], owns: (PublicKey) -> Bool) throws(OperationFailure) -> [DeviceFacts] {
        let listings = try attempt {
            try devices.compactMap { try registry.listing(of: DeviceID(rawValue: $0)) }
        }
        return zip(listings, overviews(of: listings)).map { DeviceFacts($1, isOwner: owns($0.account)) }
    }

    private func waiting(for root: PublicKey?) throws(OperationFailure) -> [WaitingDevice] {
        try attempt { try registry.waitingRegistrations(for: root, limit: Self.page).map { WaitingDevice($0) } }
    }

    /// What is to be said of an account's devices that are not woken although they are registered, or will not be for
    /// long.
    private func identitySentences(of account: PublicKey) throws(OperationFailure) -> [Sentence] {
        let passing = try attempt {
            try registry.devices(of: account, limit: Self.page).filter {
                $0.countsUntil != nil || $0.waitsForCode || $0.suspension != nil
            }
        }
        return IdentityWords.sentences(of: account, waiting: try waiting(for: account), overviews(of: passing))
    }

    private func listing(of device: Int64) throws(OperationFailure) -> DeviceListing {
        guard let listing = try attempt({ try registry.listing(of: DeviceID(rawValue: device)) }) else {
            throw .unknown(unknown(device))
        }
        return listing
    }

    /// That there is no such device, and why it may have been removed.
    private func unknown(_ device: Int64) -> Sentence {
        let id = DeviceID(rawValue: device)
        guard let status = (try? files.trace?.reader.statuses(of: [id]))?[id], let failure = status.lastFailure else {
            return Sentence("unknown-device", ["device": "\(device)"], "there is no device \(device)")
        }
        let words = ReportWords.short(kind: failure.kind, status: failure.status, reason: failure.reason)
        let time = UTCTime(failure.at)
        return Sentence(
            "former-device",
            [
                "device": "\(device)", "outcome": failure.kind,
                "reason": ReportWords.said(failure.status, failure.reason, to: failure.kind), "at": time.stamp,
            ],
            "there is no device \(device) now; the last error of a push to it was \(words) at \(time.words)"
        )
    }

    /// What is not known of a push is left out: a missing trace is no reason to show no devices.
    private func overviews(of listings: [DeviceListing]) -> [DeviceOverview] {
        let statuses = (try? files.trace?.reader.statuses(of: listings.map(\.device))) ?? [:]
        let forecasts = forecasts(of: listings.map(\.device))
        let pauses = pauses
        let waiting = try? files.outbox.waiting(for: listings.map(\.device))
        return listings.map { listing in
            let queue = QueueName(platform: listing.route.platform, app: listing.route.app)
            let pace = forecasts[listing.device].map(DevicePaceOverview.init)
            var overview = DeviceOverview(
                listing,
                preferences(of: listing),
                isTraced: files.trace != nil,
                statuses[listing.device],
                pace,
                waiting: waiting.map { $0[listing.device] ?? 0 },
                pauses[queue]
            )
            overview.isBlocked = registry.isBlocked(listing) ? true : nil
            return overview
        }
    }

    /// Nil when that cannot be read.
    private func preferences(of listing: DeviceListing) -> DevicePreferencesOverview? {
        guard let preferences = try? registry.preferences(of: listing.device) else { return nil }
        let locale = (try? registry.content(of: listing.device))?.locale
        return DevicePreferencesOverview(preferences, on: listing.route.platform, locale: locale, configuration())
    }

    /// Queues that were paused when the router wrote that down last.
    private var pauses: [QueueName: TracedPause] { (try? files.trace?.reader.pauses()) ?? [:] }

    /// How each of these devices is woken now; empty when that cannot be read.
    private func forecasts(of devices: [DeviceID]) -> [DeviceID: PaceForecast] {
        guard let stored = try? files.outbox.paces(of: devices) else { return [:] }
        let (policy, defaultMode) = (configuration().pacing, configuration().defaultMode)
        var forecasts: [DeviceID: PaceForecast] = [:]
        // Where one device waits for room many do: each queue is counted once.
        var crowded: [QueueName: Bool] = [:]
        for device in devices {
            guard let preferences = (try? registry.preferences(of: device))?.pace else { continue }
            let listing = try? registry.listing(of: device)
            let route = listing?.route
            forecasts[device] = PaceForecast(
                stored[device]?.row,
                stored[device]?.held ?? [],
                preferences: preferences,
                on: route?.platform ?? "",
                mode: listing?.mode ?? defaultMode,
                policy: policy,
                at: now()
            ) {
                guard let route else { return false }
                let queue = QueueName(platform: route.platform, app: route.app)
                let isCrowded = crowded[queue] ?? isCrowded(queue)
                crowded[queue] = isCrowded
                return isCrowded
            }
        }
        return forecasts
    }

    /// Whether what waits for a queue's devices may lack room in the outbox; false where that cannot be told.
    private func isCrowded(_ queue: QueueName) -> Bool {
        (try? files.outbox.isCrowded(queue, limit: files.mostWaiting)) ?? false
    }

    /// Why and until when events are held for these devices, by the delivery that they would be.
    private func held(for devices: [DeviceID]) -> [DeliveryID: (words: String, ending: EventExplanation.Ending)] {
        var held: [DeliveryID: (words: String, ending: EventExplanation.Ending)] = [:]
        for (device, forecast) in forecasts(of: devices) {
            for group in forecast.groups {
                held[deliveryID(group.event, device)] = (
                    HoldWords.words(group, forecast.pace.quiet), HoldWords.ending(group)
                )
            }
        }
        return held
    }

    /// What waits for a device's time, and why and until when, in words.
    func heldGroups(of device: DeviceID) -> [(group: PaceForecast.Group, words: String)] {
        guard let forecast = forecasts(of: [device])[device] else { return [] }
        return forecast.groups.map { ($0, HoldWords.words($0, forecast.pace.quiet)) }
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
        let held = held(for: holders)
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

    private func attempt<Value>(_ body: () throws -> Value) throws(OperationFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .unavailable("\(error)")
        }
    }
}
