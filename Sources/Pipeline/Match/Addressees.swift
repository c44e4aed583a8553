import Delivery
import Nostr
import Notifications
import Registry
import Rules

/// Finds the devices of an account that an event wakes, and makes their deliveries.
struct Addressees {
    let rules: RuleBook
    let filters: EventFilters
    /// Whether it matters to the rules whom accounts follow.
    private let asksForFollows: Bool
    private let defaultMode: Mode
    private let encryptingPlatforms: Set<String>
    private let showingPlatforms: Set<String>
    /// What notifications in each mode may need besides their event.
    private let needs: [Mode: RuleNeeds]
    let sealer: (any NotificationSealer)?
    let deliveryID: @Sendable (EventID, DeviceID) -> String

    init(
        settings: PipelineSettings,
        sealer: (any NotificationSealer)?,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> String
    ) {
        self.rules = settings.rules
        self.filters = EventFilters(settings.filters)
        self.asksForFollows = settings.rules.asksForFollows
        self.defaultMode = settings.defaultMode
        self.encryptingPlatforms = settings.encryptingPlatforms
        self.showingPlatforms = settings.showingPlatforms
        self.needs = Mode.allCases.reduce(into: [:]) { $0[$1] = settings.rules.needs(in: $1) }
        self.sealer = sealer
        self.deliveryID = deliveryID
    }

    /// What notifications to any registered device may need besides their event.
    func needs(of index: borrowing MatchIndex) -> RuleNeeds {
        var union = index.hasDevices(in: nil) ? needs[defaultMode] ?? [] : []
        for (mode, needs) in needs where index.hasDevices(in: mode) { union.formUnion(needs) }
        return union
    }

    /// What `event`, read as `reading` and for rules as `facts`, comes to for an account that it names. What is dated
    /// `newsSince` or later, in seconds since 1970, is news also to a device that was registered after that.
    /// `isFollowed` says whether an account follows an author, nil where nobody knows; it is asked only where that
    /// matters.
    func plan(
        _ event: Event,
        _ reading: EventReading,
        _ facts: EventFacts,
        to account: AccountNumber,
        _ key: PublicKey,
        newsSince: Int64,
        index: borrowing MatchIndex,
        pacing: PacingPolicy?,
        context: inout EventContext,
        isFollowed: (_ author: PublicKey, _ account: PublicKey) throws -> Bool?
    ) rethrows -> AddressingPlan {
        let concern: EventConcern
        do {
            concern = try reading.concern(for: key) { context.authors(of: $0) }
        } catch {
            return .nobody(error.step, of: key, reason: error.description)
        }
        var plan = AddressingPlan(account: key, concern: concern, isOfInterest: false)
        plan.expiresAt = event.expiresAt
        var question = RuleQuestion(
            event: event,
            facts: facts,
            author: concern.author,
            recipient: key,
            relation: concern.relation,
            signal: concern.signal,
            zapMillisats: concern.zap?.millisats
        )
        if asksForFollows {
            let known = try isFollowed(concern.author, key)
            question.isAuthorFollowed = known
            if known == nil { plan.unknownFollower = key }
        }
        var rulings = Rulings(rules, question, recipient: key, concern)
        let message = index.signals[.dm]
        index.forEachDevice(of: account) { device in
            guard let route = index.route(device.route) else { return }
            let language = index.languages[device.language]
            let renderer: Renderer
            switch rulings.ruling(for: language, route) {
            case .tell(let by): renderer = by
            case .nobody(let step, let reason, let isNew):
                // Another language, or what is not known yet, may change that.
                plan.isOfInterest = true
                if isNew { plan.exceptions.append(AddressingPlan.Exception(step: step, reason: reason)) }
                return
            }
            guard event.isNews(to: device, orSince: newsSince) else {
                return plan.exceptions.append(
                    AddressingPlan.Exception(step: .beforeRegistration, device: device.device)
                )
            }
            if !device.signals.subtracting(message).isEmpty { plan.isOfInterest = true }
            guard !device.signals.isDisjoint(with: index.signals[renderer.signal]) else {
                return plan.exceptions.append(
                    AddressingPlan.Exception(
                        step: .unwanted,
                        reason: renderer.signal.rawValue,
                        device: device.device
                    )
                )
            }
            if showingPlatforms.contains(route.platform), renderer.rule.isSilent(on: route.platform) {
                return plan.exceptions.append(
                    AddressingPlan.Exception(step: .silent, reason: route.platform, device: device.device)
                )
            }
            plan.targets.append(
                AddressingPlan.Target(
                    device: device.device,
                    route: route,
                    mode: device.mode ?? defaultMode,
                    language: language,
                    isSealedByTransport: isSealedByTransport(device, route),
                    renderer: renderer,
                    filters: filters.selection(
                        filters.isEmpty ? FilterSwitches() : index.wishes(of: device.device).filters
                    ),
                    pace: Pacing.pace(of: device.device, on: route.platform, in: index, by: pacing)
                )
            )
        }
        return plan
    }

    /// A device as it is registered now; nil when it is no more.
    func addressee(_ device: DeviceID, of account: PublicKey, in index: borrowing MatchIndex) -> Addressee? {
        guard let entry = index.device(device, of: account), let route = index.route(entry.route) else { return nil }
        return Addressee(
            account: account,
            device: device,
            route: route,
            mode: entry.mode ?? defaultMode,
            language: index.languages[entry.language],
            isSealedByTransport: isSealedByTransport(entry, route)
        )
    }

    private func isSealedByTransport(_ device: DeviceEntry, _ route: Route) -> Bool {
        !device.hasSealingKey && encryptingPlatforms.contains(route.platform)
    }

    /// Wakes the devices of a plan, or lets it wait for them. `session` says what filters make of what is rendered.
    func carryOut(
        _ plan: AddressingPlan,
        of event: EventID,
        context: inout EventContext,
        pacing: inout Pacing,
        session: FilterSession?,
        into batch: inout Batch
    ) {
        for exception in plan.exceptions {
            batch.log.note(
                exception.step,
                event: event,
                account: plan.account,
                device: exception.device,
                reason: exception.reason
            )
        }
        for target in plan.targets {
            let (renderer, now) = (target.renderer, batch.time)
            // The router's own envelopes hold no platform's block.
            let hasBlock = min(target.mode, renderer.rule.mode) != .sealed || target.isSealedByTransport
            let platform = hasBlock ? target.route.platform : nil
            let render = { (context: inout EventContext) in
                renderer.rendering(
                    in: target.mode,
                    target.language,
                    on: target.route.platform,
                    context: &context,
                    at: now
                )
            }
            var rendering: Rendering?
            if let platform, renderer.rule.mayWithhold(platform) {
                let rendered = render(&context)
                let keys = rendered.keysWithholding(platform)
                guard keys.isEmpty else {
                    batch.log.note(.withheld, keys, of: renderer.rule, event, plan.account, target.device)
                    continue
                }
            }
            var filtered: Notification?
            if let session, session.isAskedAfterRendering(target.filters) {
                let rendered = render(&context)
                var notification = rendered.notification
                if case .drop(let filter, let reason) = session.filter(&notification, target.filters) {
                    batch.log.note(
                        filter: filter,
                        event: event,
                        account: plan.account,
                        device: target.device,
                        reason: reason
                    )
                    continue
                }
                filtered = notification
                rendering = rendered
            }
            let match = renderer.paceMatch(
                on: target.route.platform,
                in: target.mode,
                eventExpiresAt: plan.expiresAt,
                context: &context,
                at: now
            )
            wake(
                Addressee(target, of: plan.account),
                for: match,
                at: target.pace,
                &pacing,
                reason: renderer.rule.name,
                into: &batch
            ) { id in
                let rendered = rendering ?? render(&context)
                rendering = rendered
                let notification = filtered ?? rendered.notification
                guard notification.mode == .sealed, !target.isSealedByTransport else { return notification }
                return sealed(notification, id: id, for: target.device)
            }
            if let keys = rendering?.keysLeftOut(for: platform), !keys.isEmpty {
                batch.log.note(.valueLeftOut, keys, of: renderer.rule, event, plan.account, target.device)
            }
        }
    }

    /// What cannot be sealed says less instead.
    func sealed(_ notification: Notification, id: String, for device: DeviceID) -> Notification {
        sealer?.seal(notification, id: id, for: device) ?? notification.stricter
            ?? .wake(notification.signal, urgency: notification.urgency, count: notification.count)
    }

    /// Adds the delivery of a notification to one device of an account, under its own number.
    func deliver(
        _ notification: Notification,
        id: String? = nil,
        for event: EventID,
        to addressee: (account: PublicKey, device: DeviceID),
        _ route: Route,
        reason: @autoclosure () -> String,
        into batch: inout Batch
    ) {
        let id = id ?? deliveryID(event, addressee.device)
        batch.log.note(
            .queued,
            event: event,
            account: addressee.account,
            device: addressee.device,
            delivery: id,
            reason: reason()
        )
        batch.deliveries.append(
            Delivery(
                id: id,
                device: addressee.device,
                platform: route.platform,
                app: route.app,
                notification: notification,
                acceptedAt: batch.time
            )
        )
    }
}

extension Event {
    /// Whether the event happened since the device was registered, or since `moment`. Gift wraps do not say: they are dated
    /// back (NIP-59).
    fileprivate func isNews(to device: DeviceEntry, orSince moment: Int64) -> Bool {
        kind.isGiftWrap || createdAt >= min(device.firstRegisteredAt / 1000, moment)
    }
}
