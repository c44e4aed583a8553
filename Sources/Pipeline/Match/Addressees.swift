import Delivery
import Nostr
import Notifications
import Registry
import Rules

/// Finds the devices of an account that an event wakes, and makes their deliveries.
struct Addressees {
    private let rules: RuleBook
    private let defaultMode: Mode
    private let deliveryID: @Sendable (EventID, DeviceID) -> String

    init(settings: PipelineSettings, deliveryID: @escaping @Sendable (EventID, DeviceID) -> String) {
        self.rules = settings.rules
        self.defaultMode = settings.defaultMode
        self.deliveryID = deliveryID
    }

    /// What `event`, read as `reading`, comes to for an account that it names. What is dated `newsSince` or later, in seconds
    /// since 1970, is news also to a device that was registered after that.
    func plan(
        _ event: Event,
        _ reading: EventReading,
        to account: AccountNumber,
        _ key: PublicKey,
        newsSince: Int64,
        index: borrowing MatchIndex,
        context: inout EventContext
    ) -> AddressingPlan {
        let concern: EventConcern
        do {
            concern = try reading.concern(for: key) { context.authors(of: $0) }
        } catch {
            return .nobody(error.step, reason: error.description)
        }
        switch rules.decide(
            kind: event.kind,
            content: event.content,
            relation: concern.relation,
            signal: concern.signal
        ) {
        case .unmatched:
            return .nobody(.unmatched, concern: concern)
        case .drop(let rule):
            return .nobody(.dropped, reason: rule.name, concern: concern)
        case .notify(let rule, let signal):
            var plan = AddressingPlan(concern: concern, isOfInterest: false)
            plan.renderer = Renderer(rule: rule, signal: signal, event: event, recipient: key, concern: concern)
            let (wanted, message) = (index.signals[signal], index.signals[.dm])
            index.forEachDevice(of: account) { device in
                guard let route = index.route(device.route) else { return }
                guard event.isNews(to: device, orSince: newsSince) else {
                    return plan.exceptions.append((.beforeRegistration, ""))
                }
                if !device.signals.subtracting(message).isEmpty { plan.isOfInterest = true }
                guard !device.signals.isDisjoint(with: wanted) else {
                    return plan.exceptions.append((.unwanted, signal.rawValue))
                }
                plan.targets.append(
                    AddressingPlan.Target(device: device.device, route: route, mode: device.mode ?? defaultMode)
                )
            }
            return plan
        }
    }

    /// Makes the deliveries of a plan.
    func carryOut(_ plan: AddressingPlan, of event: EventID, context: inout EventContext, into batch: inout Batch) {
        for (step, reason) in plan.exceptions { batch.log.note(step, event: event, reason: reason) }
        guard let renderer = plan.renderer else { return }
        for target in plan.targets {
            let notification = renderer.notification(in: target.mode, context: &context)
            deliver(notification, for: event, to: target.device, target.route, reason: renderer.rule.name, into: &batch)
        }
    }

    /// Adds the delivery of a notification to one device.
    func deliver(
        _ notification: Notification,
        for event: EventID,
        to device: DeviceID,
        _ route: Route,
        reason: @autoclosure () -> String,
        into batch: inout Batch
    ) {
        batch.log.note(.queued, event: event, reason: reason())
        batch.deliveries.append(
            Delivery(
                id: deliveryID(event, device),
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
