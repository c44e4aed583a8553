import Core
import Delivery
import Nostr
import Push
import Registry
import Rules

/// A push to one device before pacing: everything about it that does not depend on when it is sent.
struct Draft {
    fileprivate enum Content {
        case rendered(by: Renderer)
        /// The content is the same for every event.
        case fixed(Notification)
    }

    let target: TargetDevice
    let match: PaceMatch
    /// The reason of the push, for the trace.
    let reason: String
    fileprivate let content: Content
    /// The notification after the filters that run after rendering, if there are any.
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

    /// Creates a push whose notification is known already.
    init(_ notification: Notification, for match: PaceMatch, to target: TargetDevice, reason: String) {
        self.init(target, match, reason: reason, .fixed(notification))
    }

    /// The rule and its keys with invalid values, if the notification was rendered and is sent without them.
    var leftOut: (rule: Rule, keys: [String])? {
        guard case .rendered(let renderer) = content else { return nil }
        guard let keys = rendering?.keysLeftOut(for: target.platformOfBlock(renderer)), !keys.isEmpty else {
            return nil
        }
        return (renderer.rule, keys)
    }
}

/// The composing stage: makes notifications from plans that passed the filters, and seals those that only the device
/// may read.
struct Composer {
    /// The result of drafting a target, before pacing.
    enum DraftResult {
        case draft(Draft)
        /// A value of the rule is invalid, and the platform refuses a push without it.
        case withheld(Rule, keys: [String])
        /// A filter after rendering drops it.
        case dropped(filter: String, reason: String)
    }

    var rules: RuleBook
    private let sealer: (any NotificationSealer)?

    init(rules: RuleBook, sealer: (any NotificationSealer)?) {
        self.rules = rules
        self.sealer = sealer
    }

    /// Renders a target as far as decisions need that. `session` runs the filters after rendering.
    func draft(
        _ target: Plan.Target,
        _ session: FilterSession?,
        _ context: inout EventContext,
        at now: Timestamp
    ) -> DraftResult {
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
        let match = renderer.paceMatch(on: device.route.platform, in: device.mode, context: &context, at: now)
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

    /// Returns the notification of a draft for the delivery `id`.
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

    /// Returns one notification for several events: the rule book's summary in the least strict mode of the members
    /// that the device allows. If it must not show content, it is a wake-up. It expires with its last member, if all do.
    func summary(_ sum: HeldGroup, id: DeliveryID, for target: TargetDevice, at now: Timestamp) -> Notification {
        var notification = rules[target.route.app].renderSummary(
            count: sum.count,
            signal: sum.signal,
            urgency: sum.urgency,
            mode: sum.nature == .silent ? .wake : min(sum.mode, target.mode),
            language: target.language,
            now: now
        )
        notification.expiresAt = notification.expiresAt.earlierExpiry(sum.expiresAt)
        return sealedIfNecessary(notification, id: id, for: target)
    }

    /// Returns a notification in the form that is held for a device.
    func hold(_ notification: Notification, for device: DeviceID) -> HeldNotification {
        HeldNotification(notification, sealedTo: notification.sealed.isEmpty ? nil : sealer?.keyMark(of: device))
    }

    /// Returns a held notification in the form to send now. Since then the device may have registered again with a
    /// stricter mode or another key.
    func renew(_ held: HeldNotification, id: DeliveryID, for target: TargetDevice) -> Notification {
        var notification = held.notification
        while notification.mode > target.mode, let stricter = notification.stricter { notification = stricter }
        guard notification.mode == .sealed, !notification.sealed.isEmpty else {
            return sealedIfNecessary(notification, id: id, for: target)
        }
        guard let key = held.sealedTo, key != sealer?.keyMark(of: target.device) else { return notification }
        return notification.stricter ?? notification
    }

    /// Seals a notification if its mode requires that. If sealing fails, the stricter form is used.
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
    /// The platform whose block in the rule applies to the push. Nil for the router's own envelopes, which have none.
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
