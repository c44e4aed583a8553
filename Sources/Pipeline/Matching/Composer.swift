import Core
import Delivery
import Nostr
import Push
import Registry
import Rules

/// A push to one device that is to be paced: everything about it that does not depend on when it goes.
struct Draft {
    fileprivate enum Content {
        case rendered(by: Renderer)
        /// It says the same whatever the event.
        case fixed(Notification)
    }

    let target: TargetDevice
    let match: PaceMatch
    /// Why the device is woken, for the trace.
    let reason: String
    fileprivate let content: Content
    /// What filters left of the notification, where they saw it.
    fileprivate let filtered: Notification?
    fileprivate var rendering: Rendering?

    fileprivate init(
        _ target: TargetDevice,
        _ match: PaceMatch,
        reason: String,
        _ content: Content,
        filtered: Notification? = nil,
        _ rendering: Rendering? = nil
    ) {
        self.target = target
        self.match = match
        self.reason = reason
        self.content = content
        self.filtered = filtered
        self.rendering = rendering
    }

    /// A push whose notification is known beforehand.
    init(_ notification: Notification, for match: PaceMatch, to target: TargetDevice, reason: String) {
        self.init(target, match, reason: reason, .fixed(notification))
    }

    /// The rule, and its keys that came out unfit, if the notification was rendered and is sent without any.
    var leftOut: (rule: Rule, keys: [String])? {
        guard case .rendered(let renderer) = content else { return nil }
        guard let keys = rendering?.keysLeftOut(for: target.platformOfBlock(renderer)), !keys.isEmpty else {
            return nil
        }
        return (renderer.rule, keys)
    }
}

/// The composing stage: makes notifications of what passed the filters, and seals those that only the device may read.
struct Composer {
    /// What a target comes to before it is paced.
    enum Drafted {
        case draft(Draft)
        /// A value of the rule is unfit, and the platform refuses a push without it.
        case withheld(Rule, keys: [String])
        /// A filter that saw the notification drops it.
        case dropped(filter: String, reason: String)
    }

    var rules: RuleBook
    private let sealer: (any NotificationSealer)?

    init(rules: RuleBook, sealer: (any NotificationSealer)?) {
        self.rules = rules
        self.sealer = sealer
    }

    /// Renders a target as far as a decision needs that. `session` says what filters make of the notification.
    func draft(
        _ target: Plan.Target,
        expiresAt: Timestamp,
        _ session: FilterSession?,
        _ context: inout EventContext,
        at now: Timestamp
    ) -> Drafted {
        let (device, renderer) = (target.device, target.renderer)
        if let platform = device.platformOfBlock(renderer), renderer.rule.mayWithhold(platform) {
            let keys = renderer.rendering(for: device, &context, at: now).keysWithholding(platform)
            guard keys.isEmpty else { return .withheld(renderer.rule, keys: keys) }
        }
        var rendering: Rendering?
        var filtered: Notification?
        if let session, session.isAskedAfterRendering(target) {
            let rendered = renderer.rendering(for: device, &context, at: now)
            var notification = rendered.notification
            if case .drop(let filter, let reason) = session.filter(&notification, target) {
                return .dropped(filter: filter, reason: reason)
            }
            (rendering, filtered) = (rendered, notification)
        }
        let match = renderer.paceMatch(
            on: device.route.platform,
            in: device.mode,
            eventExpiresAt: expiresAt,
            context: &context,
            at: now
        )
        return .draft(
            Draft(
                device,
                match,
                reason: renderer.rule.name,
                .rendered(by: renderer),
                filtered: filtered,
                rendering
            )
        )
    }

    /// The notification of a draft, as the delivery `id`.
    func compose(_ draft: inout Draft, id: DeliveryID, _ context: inout EventContext, at now: Timestamp) -> Notification
    {
        switch draft.content {
        case .fixed(let notification): return notification
        case .rendered(let renderer):
            let rendering = draft.rendering ?? renderer.rendering(for: draft.target, &context, at: now)
            draft.rendering = rendering
            return sealedIfNecessary(draft.filtered ?? rendering.notification, id: id, for: draft.target)
        }
    }

    /// One notification for several events. It is the rule book's summary in the least strict mode among the members,
    /// as far as the device may show that. Where nothing may be shown it is a wake-up.
    func summary(_ sum: HeldGroup, id: DeliveryID, for target: TargetDevice, at now: Timestamp) -> Notification {
        let notification = rules[target.route.app].renderSummary(
            count: sum.count,
            signal: sum.signal,
            urgency: sum.urgency,
            mode: sum.nature == .silent ? .wake : min(sum.mode, target.mode),
            language: target.language,
            now: now
        )
        return sealedIfNecessary(notification, id: id, for: target)
    }

    /// A notification as it is held for a device.
    func hold(_ notification: Notification, for device: DeviceID) -> HeldNotification {
        HeldNotification(notification, sealedTo: notification.sealed.isEmpty ? nil : sealer?.keyMark(of: device))
    }

    /// A notification that was held, as it may go now. The device may have been registered anew, show less or have
    /// another key.
    func renew(_ held: HeldNotification, id: DeliveryID, for target: TargetDevice) -> Notification {
        var notification = held.notification
        while notification.mode > target.mode, let stricter = notification.stricter { notification = stricter }
        guard notification.mode == .sealed, !notification.sealed.isEmpty else {
            return sealedIfNecessary(notification, id: id, for: target)
        }
        guard let key = held.sealedTo, key != sealer?.keyMark(of: target.device) else { return notification }
        return notification.stricter ?? notification
    }

    /// What cannot be sealed goes in its stricter form.
    private func sealedIfNecessary(
        _ notification: Notification,
        id: DeliveryID,
        for target: TargetDevice
    ) -> Notification {
        guard notification.mode == .sealed, !target.isSealedByTransport else { return notification }
        var sealed =
            sealer?.seal(notification, id: id, for: target.device) ?? notification.stricter
            ?? .wake(notification.signal, urgency: notification.urgency, count: notification.count)
        sealed.origin = notification.origin
        return sealed
    }
}

extension TargetDevice {
    /// The platform whose block the rule's push to the device has; nil for the router's own envelopes, which have none.
    fileprivate func platformOfBlock(_ renderer: Renderer) -> String? {
        min(mode, renderer.rule.mode) != .sealed || isSealedByTransport ? route.platform : nil
    }
}

extension Renderer {
    fileprivate func rendering(for device: TargetDevice, _ context: inout EventContext, at now: Timestamp) -> Rendering
    {
        rendering(in: device.mode, device.language, on: device.route.platform, context: &context, at: now)
    }
}
