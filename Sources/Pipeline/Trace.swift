import Logging
import Nostr
import Notifications
import Rules

/// Counts, logs and traces the steps of one batch. Never holds content, and of an event nothing but its id.
///
/// What is said of a delivery stands under reserve until the disk took the batch, or did not: ``settle(isKept:)``.
struct StepLog {
    /// In characters; a trace is no place for all keys of a long rule.
    private static let keysLimit = 200

    private let logger: Logger
    private(set) var counts: [PipelineStep: Int] = [:]
    /// How many devices filters spared events, by the filter's name.
    private(set) var filtered: [String: Int] = [:]
    /// How often the rules' values came out unfit for their keys.
    private(set) var leftOut: [RuleValue: Int] = [:]
    /// Of the steps under reserve.
    private var reserved: [PipelineStep: Int] = [:]
    /// In the order in which they were taken.
    private(set) var trace: [TraceStep] = []

    init(logger: Logger) {
        self.logger = logger
    }

    /// Says that the filter of that name spares a device an event, and why.
    mutating func note(filter: String, event: EventID, account: PublicKey, device: DeviceID, reason: String) {
        filtered[filter, default: 0] += 1
        note(.filtered, event: event, account: account, device: device, reason: reason)
    }

    /// Notes a push that goes without values of its rule, or that is not sent because they are missing.
    mutating func note(
        _ step: PipelineStep,
        _ keys: [String],
        of rule: Rule,
        _ event: EventID,
        _ account: PublicKey,
        _ device: DeviceID
    ) {
        for key in keys { leftOut[RuleValue(rule: rule.name, key: key), default: 0] += 1 }
        let reason = String(keys.joined(separator: ", ").prefix(Self.keysLimit))
        note(step, event: event, account: account, device: device, reason: reason)
    }

    /// Says what is known at that place: `account` where the step is about one account, `device` where it is about one of its
    /// devices, `delivery` once there is one. With a delivery and no event it is about all events that wait under that delivery.
    mutating func note(
        _ step: PipelineStep,
        event: EventID?,
        account: PublicKey? = nil,
        device: DeviceID? = nil,
        delivery: String? = nil,
        reason: @autoclosure () -> String = ""
    ) {
        guard let delivery else {
            counts[step, default: 0] += 1
            log(step, event, device, nil, reason())
            // What happens to events that concern nobody, and to copies, happens too often.
            guard let event, step.isTraced || account != nil else { return }
            trace.append(TraceStep(step: step, event: event, account: account, device: device, reason: reason()))
            return
        }
        reserved[step, default: 0] += 1
        trace.append(
            TraceStep(
                step: step,
                event: event,
                account: account,
                device: device,
                delivery: delivery,
                reason: reason()
            )
        )
    }

    /// Notes the step that an outcome names, if any.
    mutating func note(_ outcome: EventOutcome) {
        guard let step = outcome.step else { return }
        note(
            step,
            event: outcome.event,
            account: outcome.account,
            device: outcome.device,
            reason: outcome.reason
        )
    }

    /// Says whether the disk took what the batch wakes and holds. What it did not take has not happened: the same is decided anew
    /// another time, perhaps every second.
    mutating func settle(isKept: Bool) {
        defer { reserved = [:] }
        guard isKept else { return trace.removeAll { $0.delivery != nil } }
        counts.merge(reserved, uniquingKeysWith: +)
        guard logger.logLevel <= .debug else { return }
        for step in trace where step.delivery != nil {
            log(step.step, step.event, step.device, step.delivery, step.reason)
        }
    }

    private func log(
        _ step: PipelineStep,
        _ event: EventID?,
        _ device: DeviceID?,
        _ delivery: String?,
        _ reason: @autoclosure () -> String
    ) {
        logger.debug(
            "Event",
            metadata: [
                "step": "\(step.rawValue)", "event": "\(event?.hex ?? "")",
                "device": "\(device.map { "\($0.rawValue)" } ?? "")", "delivery": "\(delivery ?? "")",
                "reason": "\(reason())",
            ]
        )
    }
}

/// One step of one event, or of all events that were held together, as far as it is worth keeping: what became of it for whom, and
/// why. Holds neither content nor tokens.
package struct TraceStep: Sendable, Hashable {
    package var step: PipelineStep
    /// Nil: of all events that were told to be held under `delivery`.
    package var event: EventID?
    /// For which account; nil: for all whom the event names, or before that was known.
    package var account: PublicKey?
    /// On which of its devices; nil: on all of which nothing else is said.
    package var device: DeviceID?
    /// The delivery that came of it, by its id.
    package var delivery: String?
    /// Why, in a few printable words; empty where the step says it all.
    package var reason: String

    package init(
        step: PipelineStep,
        event: EventID?,
        account: PublicKey? = nil,
        device: DeviceID? = nil,
        delivery: String? = nil,
        reason: String = ""
    ) {
        self.step = step
        self.event = event
        self.account = account
        self.device = device
        self.delivery = delivery
        self.reason = reason
    }
}

/// Learns how many events came to which end. Called once a batch, on the pipeline's thread: hand on, and return soon.
package protocol PipelineObserver: Sendable {
    func record(_ counts: [PipelineStep: Int])
    /// How many devices filters spared a batch's events, by the filter's name. Not called for a batch in which none did.
    func filtered(_ counts: [String: Int])
    /// How often the rules' values came out unfit for their keys, so that a push went without or was not sent. Not
    /// called for a batch in which all values fit.
    func leftOut(_ counts: [RuleValue: Int])
    /// The steps of a batch that are worth keeping, in order; `time` is the batch's, in milliseconds since 1970. Not called
    /// for a batch that has none.
    func trace(_ steps: [TraceStep], at time: Int64)
}

extension PipelineObserver {
    package func filtered(_ counts: [String: Int]) {}
    package func leftOut(_ counts: [RuleValue: Int]) {}
    package func trace(_ steps: [TraceStep], at time: Int64) {}
}

/// A value of a rule, by the rule's name and where the value stands in it, such as `apns.relevance-score`.
package struct RuleValue: Hashable, Sendable {
    package let rule: String
    package let key: String

    package init(rule: String, key: String) {
        self.rule = rule
        self.key = key
    }
}
