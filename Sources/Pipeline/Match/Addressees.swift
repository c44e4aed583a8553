import Delivery
import Nostr
import Notifications
import Registry
import Rules

/// Turns an event that names an account into deliveries for those of its devices that want it.
struct Addressees {
    private let rules: RuleBook
    private let defaultMode: Mode
    private let deliveryID: @Sendable (EventID, DeviceID) -> String

    init(settings: PipelineSettings, deliveryID: @escaping @Sendable (EventID, DeviceID) -> String) {
        self.rules = settings.rules
        self.defaultMode = settings.defaultMode
        self.deliveryID = deliveryID
    }

    func address(
        _ event: Event,
        to account: AccountNumber,
        _ key: PublicKey,
        index: borrowing MatchIndex,
        context: inout EventContext,
        into batch: inout Batch
    ) {
        guard event.pubkey != key else { return batch.log.note(.own, event: event.id) }
        let concern: EventConcern
        do {
            concern = try EventConcern.classify(event, for: key) { context.authors(of: $0) }
        } catch {
            return batch.log.note(error.step, event: event.id, reason: error.description)
        }
        switch rules.decide(
            kind: event.kind,
            content: event.content,
            relation: concern.relation,
            signal: concern.signal
        ) {
        case .unmatched:
            batch.log.note(.unmatched, event: event.id)
        case .drop(let rule):
            batch.log.note(.dropped, event: event.id, reason: rule.name)
        case .notify(let rule, let signal):
            var renderer = Renderer(rule: rule, signal: signal, event: event, recipient: key, concern: concern)
            let wanted = index.signals[signal]
            index.forEachDevice(of: account) { device in
                guard !device.signals.isDisjoint(with: wanted), let route = index.route(device.route) else {
                    return batch.log.note(.unwanted, event: event.id)
                }
                batch.log.note(.queued, event: event.id, reason: rule.name)
                batch.deliveries.append(
                    Delivery(
                        id: deliveryID(event.id, device.device),
                        device: device.device,
                        platform: route.platform,
                        app: route.app,
                        notification: renderer.notification(in: device.mode ?? defaultMode, context: &context),
                        acceptedAt: batch.time
                    )
                )
            }
        }
    }
}
