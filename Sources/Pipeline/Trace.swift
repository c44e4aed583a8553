import Core
import Logging
import Nostr
import Push
import Rules

/// Counts, logs and traces the steps of one batch. Holds no content, and of an event only its id.
///
/// The steps of deliveries wait until the disk took the batch, or refused it: ``settle(isKept:)``.
struct StepLog {
    /// In characters; a trace is no place for all keys of a long rule.
    private static let keysLimit = 200

    private let logger: Logger
    private(set) var counts: [PipelineStep: Int] = [:]
    /// For how many devices filters dropped events, by the filter's name.
    private(set) var filtered: [String: Int] = [:]
    /// How often the rules' values came out unfit for their keys.
    private(set) var leftOut: [RuleValue: Int] = [:]
    /// Steps of deliveries.
    private var reserved: [PipelineStep: Int] = [:]
    /// In the order in which they were taken.
    private(set) var trace: [TraceStep] = []

    init(logger: Logger) {
        self.logger = logger
    }

    /// The filter of that name drops an event for a device.
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
        note(step, event, account, device, reason)
    }

    /// `account` is for steps about one account, `device` for steps about one of its devices, `delivery` for steps once
    /// there is one. A step of a delivery without an event is about all events that wait as part of it.
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
            log(step, event, device, nil, reason())
            // Copies, and events that concern nobody, are too many.
            guard let event, step.isTraced || account != nil else { return }
            trace.append(TraceStep(step: step, event: event, account: account, device: device, reason: reason()))
            return
        }
        reserved[step, default: 0] += 1
        var traced = TraceStep(step: step, event: event, account: account, device: device, reason: reason())
        traced.delivery = delivery
        trace.append(traced)
    }

    /// Notes the step that an outcome names, if any.
    mutating func note(_ outcome: EventOutcome) {
        guard let step = outcome.step else { return }
        note(step, outcome.event, outcome.account, outcome.device, outcome.reason)
    }

    /// The disk took the batch, or refused it. Then the steps of its deliveries have not happened: they are decided
    /// anew later, perhaps every second.
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
        _ delivery: DeliveryID?,
        _ reason: @autoclosure () -> String
    ) {
        Self.log(step, event, device, delivery, reason(), to: logger)
    }

    /// A line for one step; for steps outside of a batch as well.
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

/// One step of one event, or of all events of a held group, if it is worth keeping. Holds neither content nor tokens.
package struct TraceStep: Sendable, Hashable {
    package var step: PipelineStep
    /// Nil: all events that were held as part of `delivery`.
    package var event: EventID?
    /// Nil: all accounts that the event names, or before that was known.
    package var account: PublicKey?
    /// Nil: all of its devices that have no step of their own.
    package var device: DeviceID?
    /// The delivery that came of it, by its id.
    package var delivery: DeliveryID?
    /// Why, in a few printable words; empty where the step says it all.
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

/// Learns how many events came to which end. Called once a batch, on the pipeline's thread: hand on, and return soon.
package protocol PipelineObserver: Sendable {
    func record(_ counts: [PipelineStep: Int])
    /// For how many devices filters dropped a batch's events, by the filter's name. Not called for a batch in which
    /// none did.
    func filtered(_ counts: [String: Int])
    /// How often the rules' values came out unfit for their keys, so that a push went without or was not sent. Not
    /// called for a batch in which all values fit.
    func leftOut(_ counts: [RuleValue: Int])
    /// The steps of a batch that are worth keeping, in order; `time` is the batch's. Not
    /// called for a batch that has none.
    func trace(_ steps: [TraceStep], at time: Timestamp)
}

extension PipelineObserver {
    package func filtered(_ counts: [String: Int]) {}
    package func leftOut(_ counts: [RuleValue: Int]) {}
    package func trace(_ steps: [TraceStep], at time: Timestamp) {}
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
