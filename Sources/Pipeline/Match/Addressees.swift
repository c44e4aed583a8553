import Delivery
import Nostr
import Notifications
import Registry
import Rules

/// Finds the devices of an account that an event wakes, and makes their deliveries.
struct Addressees {
    private let rules: RuleBook
    /// Whether it matters whom accounts follow.
    let asksForFollows: Bool
    private let asksForLanguage: Bool
    private let defaultMode: Mode
    private let encryptingPlatforms: Set<String>
    private let sealer: (any NotificationSealer)?
    private let deliveryID: @Sendable (EventID, DeviceID) -> String

    init(
        settings: PipelineSettings,
        sealer: (any NotificationSealer)?,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> String
    ) {
        self.rules = settings.rules
        self.asksForFollows = settings.rules.asksForFollows
        self.asksForLanguage = settings.rules.asksForLanguage
        self.defaultMode = settings.defaultMode
        self.encryptingPlatforms = settings.encryptingPlatforms
        self.sealer = sealer
        self.deliveryID = deliveryID
    }

    /// What `event`, read as `reading`, comes to for an account that it names. What is dated `newsSince` or later, in seconds
    /// since 1970, is news also to a device that was registered after that. `isFollowed` says whether an account follows an author, nil
    /// where nobody knows; it is asked only where that matters.
    func plan(
        _ event: Event,
        _ reading: EventReading,
        to account: AccountNumber,
        _ key: PublicKey,
        newsSince: Int64,
        index: borrowing MatchIndex,
        context: inout EventContext,
        isFollowed: (_ author: PublicKey, _ account: PublicKey) throws -> Bool?
    ) rethrows -> AddressingPlan {
        let concern: EventConcern
        do {
            concern = try reading.concern(for: key) { context.authors(of: $0) }
        } catch {
            return .nobody(error.step, reason: error.description)
        }
        var plan = AddressingPlan(concern: concern, isOfInterest: false)
        var question = RuleQuestion(
            event: event,
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
            switch rulings.ruling(for: asksForLanguage ? language : nil) {
            case .tell(let by): renderer = by
            case .nobody(let step, let reason, let isNew):
                // Another language, or what is not known yet, may change that.
                plan.isOfInterest = true
                if isNew { plan.exceptions.append((step, reason)) }
                return
            }
            guard event.isNews(to: device, orSince: newsSince) else {
                return plan.exceptions.append((.beforeRegistration, ""))
            }
            if !device.signals.subtracting(message).isEmpty { plan.isOfInterest = true }
            guard !device.signals.isDisjoint(with: index.signals[renderer.signal]) else {
                return plan.exceptions.append((.unwanted, renderer.signal.rawValue))
            }
            plan.targets.append(
                AddressingPlan.Target(
                    device: device.device,
                    route: route,
                    mode: device.mode ?? defaultMode,
                    language: language,
                    isSealedByTransport: !device.hasSealingKey && encryptingPlatforms.contains(route.platform),
                    renderer: renderer
                )
            )
        }
        return plan
    }

    /// Makes the deliveries of a plan.
    func carryOut(_ plan: AddressingPlan, of event: EventID, context: inout EventContext, into batch: inout Batch) {
        for (step, reason) in plan.exceptions { batch.log.note(step, event: event, reason: reason) }
        for target in plan.targets {
            var notification = target.renderer.notification(
                in: target.mode,
                target.language,
                context: &context,
                at: batch.time
            )
            let id = deliveryID(event, target.device)
            if notification.mode == .sealed, !target.isSealedByTransport {
                notification = sealed(notification, id: id, for: target.device)
            }
            let reason = target.renderer.rule.name
            deliver(notification, id: id, for: event, to: target.device, target.route, reason: reason, into: &batch)
        }
    }

    /// What cannot be sealed says less instead.
    private func sealed(_ notification: Notification, id: String, for device: DeviceID) -> Notification {
        sealer?.seal(notification, id: id, for: device) ?? notification.stricter
            ?? .wake(notification.signal, urgency: notification.urgency, count: notification.count)
    }

    /// Adds the delivery of a notification to one device, under its own number.
    func deliver(
        _ notification: Notification,
        id: String? = nil,
        for event: EventID,
        to device: DeviceID,
        _ route: Route,
        reason: @autoclosure () -> String,
        into batch: inout Batch
    ) {
        batch.log.note(.queued, event: event, reason: reason())
        batch.deliveries.append(
            Delivery(
                id: id ?? deliveryID(event, device),
                device: device,
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
