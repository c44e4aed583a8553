import Core
import Delivery
import Nostr
import Pipeline
import Push

/// A recorded step of an event or a delivery.
package struct TraceEntry: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        /// A step of the pipeline, by its word; other versions may have other words.
        case step(String)
        /// A decision about a delivery.
        case report(Report)
    }

    /// The owner of an entry, for limits.
    package enum Owner: Sendable, Hashable {
        case account(PublicKey)
        /// A device whose account is unknown.
        case device(DeviceID)

        // A faster hash for sets and dictionaries of these values.
        package func _rawHashValue(seed: Int) -> Int {
            switch self {
            case .account(let key): key._rawHashValue(seed: seed)
            case .device(let device): device._rawHashValue(seed: seed)
            }
        }
    }

    /// The fields of a `DeliveryReport` except its delivery, device and reason.
    package struct Report: Sendable, Hashable {
        /// A word of `DeliveryReport.Kind`.
        package var kind: String
        package var queue: QueueName
        /// The push service's HTTP status, or 0.
        package var status: Int
        package var attempt: Int
        package var nextDue: Timestamp?
        /// Whether no more reports of the delivery follow, except for an operator's actions.
        let isEnd: Bool

        /// Derives `isEnd` from the word.
        package init(
            kind: String,
            queue: QueueName,
            status: Int,
            attempt: Int,
            nextDue: Timestamp?,
            isEnd: Bool? = nil
        ) {
            self.kind = kind
            self.queue = queue
            self.status = status
            self.attempt = attempt
            self.nextDue = nextDue
            self.isEnd = isEnd ?? DeliveryReport.Kind(rawValue: kind)?.isFinal ?? false
        }
    }

    package var time: Timestamp
    package var what: Content
    /// Nil in a report, and in a step of all events that were held under `delivery`.
    package var event: EventID?
    package var account: PublicKey?
    package var device: DeviceID?
    package var delivery: DeliveryID?
    package var reason: String
    /// The cluster member that recorded it; nil: this router.
    package var member: String?
    /// Nil: no owner.
    var owner: Owner?
    /// Whether strangers can cause it at will.
    let isStray: Bool

    /// The delivery that `delivery` was merged into; nil if it was not.
    package var joinedDelivery: DeliveryID? {
        guard event == nil, case .step(PipelineStep.joined.rawValue) = what else { return nil }
        return DeliveryID(reason)
    }

    /// Whether it reports a queued push that no other event is part of and that was not held before.
    var isWholePush: Bool {
        guard case .step(PipelineStep.queued.rawValue) = what else { return false }
        return !QueuedReason.isOfHeld(reason)
    }

    init(_ step: TraceStep, at time: Timestamp) {
        self.time = time
        what = .step(step.step.rawValue)
        isStray = Self.isStray(step.step)
        event = step.event
        account = step.account
        device = step.device
        delivery = step.delivery
        reason = step.reason
        owner = step.account.map(Owner.account)
    }

    init(_ report: DeliveryReport, at time: Timestamp) {
        self.time = time
        what = .report(Report(report))
        isStray = false
        device = report.device
        delivery = report.delivery
        reason = report.reason
        owner = .device(report.device)
    }

    package init(
        time: Timestamp,
        what: Content,
        event: EventID?,
        account: PublicKey?,
        device: DeviceID?,
        delivery: DeliveryID?,
        reason: String
    ) {
        self.time = time
        self.what = what
        self.event = event
        self.account = account
        self.device = device
        self.delivery = delivery
        self.reason = reason
        isStray =
            if case .step(let word) = what { PipelineStep(rawValue: word).map(Self.isStray) ?? false } else { false }
        owner = account.map(Owner.account) ?? device.map(Owner.device)
    }
}

extension TraceEntry {
    private static func isStray(_ step: PipelineStep) -> Bool {
        switch step {
        case .forged, .registrationRefused, .noSession, .listRefused, .request, .hintStale, .hintUnproven: true
        default: false
        }
    }
}

extension TraceEntry.Report {
    package init(_ report: DeliveryReport) {
        self.init(
            kind: report.kind.rawValue,
            queue: report.queue,
            status: Int(report.status),
            attempt: report.attempt,
            nextDue: report.nextDue,
            isEnd: report.kind.isFinal
        )
    }
}
