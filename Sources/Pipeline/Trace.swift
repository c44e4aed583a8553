import Core
import Logging
import Nostr
import Push
import Rules

/// Counts, logs and traces the steps of one batch. It holds no content, and only the ids of events.
///
/// The steps of deliveries are recorded after the batch is written: ``settle(isKept:)``.
struct StepLog {
    /// The limit in characters, because a long rule has many keys.
    private static let keysLimit = 200

    private let logger: Logger
    private(set) var counts: [PipelineStep: Int] = [:]
    /// The number of devices for which filters dropped events, by the filter's name.
    private(set) var filtered: [String: Int] = [:]
    /// The number of rule values that were invalid for their keys.
    private(set) var leftOut: [RuleValue: Int] = [:]
    /// The counts of delivery steps.
    private var reserved: [PipelineStep: Int] = [:]
    /// In the order of processing.
    private(set) var trace: [TraceStep] = []

    init(logger: Logger) {
        self.logger = logger
    }

    /// Notes that a filter drops an event for a device.
    mutating func note(
        filter: String,
        _ event: EventID,
        _ account: PublicKey,
        _ device: DeviceID,
        _ reason: String
    ) {
        filtered[filter, default: 0] += 1
        note(.filtered, event, account, device, reason)
    }

    /// Notes a push that is sent without values of its rule, or that is not sent because they are missing.
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
        note(step, event, account, device, reason)
    }

    /// Notes a step. `account` is for steps about one account, `device` for steps about one of its devices, and
    /// `delivery` for steps of a delivery. A step of a delivery without an event is about all events held as part of
    /// it.
    mutating func note(
        _ step: PipelineStep,
        _ event: EventID?,
        _ account: PublicKey? = nil,
        _ device: DeviceID? = nil,
        _ reason: @autoclosure () -> String = "",
        delivery: DeliveryID? = nil
    ) {
        guard let delivery else {
            counts[step, default: 0] += 1
            Self.log(step, event, device, nil, reason(), to: logger)
            // Copies, and events that concern no account, are too many to trace.
            guard let event, step.isTraced || account != nil else { return }
            trace.append(TraceStep(step: step, event: event, account: account, device: device, reason: reason()))
            return
        }
        reserved[step, default: 0] += 1
        var traced = TraceStep(step: step, event: event, account: account, device: device, reason: reason())
        traced.delivery = delivery
        trace.append(traced)
    }

    /// Notes the outcome's step, if any.
    mutating func note(_ outcome: EventOutcome) {
        guard let step = outcome.step else { return }
        note(step, outcome.event, outcome.account, outcome.device, outcome.reason)
    }

    /// Ends the batch. If the disk refused it, the steps of its deliveries are discarded: they will be decided again,
    /// perhaps every second.
    mutating func settle(isKept: Bool) {
        defer { reserved = [:] }
        guard isKept else { return trace.removeAll { $0.delivery != nil } }
        counts.merge(reserved, uniquingKeysWith: +)
        guard logger.logLevel <= .debug else { return }
        for step in trace where step.delivery != nil {
            Self.log(step.step, step.event, step.device, step.delivery, step.reason, to: logger)
        }
    }

    /// Logs one step, including steps outside of a batch.
    static func log(
        _ step: PipelineStep,
        _ event: EventID?,
        _ device: DeviceID? = nil,
        _ delivery: DeliveryID? = nil,
        _ reason: @autoclosure () -> String = "",
        to logger: Logger
    ) {
        logger.debug(
            "Event",
            metadata: [
                "step": "\(step.rawValue)", "event": "\(event?.hex ?? "")",
                "device": "\(device.map { "\($0.rawValue)" } ?? "")", "delivery": "\(delivery?.description ?? "")",
                "reason": "\(reason())",
            ]
        )
    }
}

/// A traced step of one event, or of all events of a held group. It holds neither content nor tokens.
package struct TraceStep: Sendable, Hashable {
    package var step: PipelineStep
    /// Nil means all events that were held as part of `delivery`.
    package var event: EventID?
    /// Nil means all accounts that the event names, or that they were not known yet.
    package var account: PublicKey?
    /// Nil means all devices of the account that have no separate step.
    package var device: DeviceID?
    /// The id of the resulting delivery.
    package var delivery: DeliveryID?
    /// The reason in a few printable words. Empty if the step is self-explanatory.
    package var reason: String

    package init(
        step: PipelineStep,
        event: EventID?,
        account: PublicKey? = nil,
        device: DeviceID? = nil,
        delivery: DeliveryID? = nil,
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

/// Receives the results of events. Called once a batch, on the pipeline's thread; must return soon.
package protocol PipelineObserver: Sendable {
    func record(_ counts: [PipelineStep: Int])
    /// Gets the number of devices for which filters dropped a batch's events, by the filter's name. Only called if
    /// there are any.
    func filtered(_ counts: [String: Int])
    /// Gets the number of rule values that were invalid for their keys, so that a push was sent without them or not at
    /// all. Only called if there are any.
    func leftOut(_ counts: [RuleValue: Int])
    /// Gets the traced steps of a batch in order; `time` is the batch's. Only called if there are any.
    func trace(_ steps: [TraceStep], at time: Timestamp)
}

extension PipelineObserver {
    package func filtered(_ counts: [String: Int]) {}
    package func leftOut(_ counts: [RuleValue: Int]) {}
    package func trace(_ steps: [TraceStep], at time: Timestamp) {}
}

/// A value of a rule: the rule's name, and the value's key in it, such as `apns.relevance-score`.
package struct RuleValue: Hashable, Sendable {
    package let rule: String
    package let key: String

    package init(rule: String, key: String) {
        self.rule = rule
        self.key = key
    }
}
