import Core
import Delivery
import Nostr
import Pipeline
import Push

/// One thing that became of an event or of a delivery, in the order in which it happened.
package struct TraceEntry: Sendable, Hashable {
    package enum What: Sendable, Hashable {
        /// A step of the pipeline, by its word; other versions know other words.
        case step(String)
        /// What was decided about a delivery.
        case report(Report)
    }

    /// The owner of an entry, for limits.
    package enum Owner: Sendable, Hashable {
        case account(PublicKey)
        /// A device whose account is not known.
        case device(DeviceID)

        // What sets and dictionaries ask where they are of these values alone, in place of a hash over both.
        package func _rawHashValue(seed: Int) -> Int {
            switch self {
            case .account(let key): key._rawHashValue(seed: seed)
            case .device(let device): device._rawHashValue(seed: seed)
            }
        }
    }

    /// What a `DeliveryReport` says besides its delivery, device and reason.
    package struct Report: Sendable, Hashable {
        /// By its word, see `DeliveryReport.Kind`.
        package var kind: String
        package var queue: QueueName
        /// The push service's HTTP status, or 0.
        package var status: Int
        package var attempt: Int
        package var nextDue: Timestamp?
        /// Whether nothing more is reported of the delivery, but what operators do with it.
        let isEnd: Bool

        /// `isEnd` is known from the word.
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
    package var what: What
    /// Nil in a report, and in a step of all events that were held under `delivery`.
    package var event: EventID?
    package var account: PublicKey?
    package var device: DeviceID?
    package var delivery: DeliveryID?
    package var reason: String
    /// The member that wrote it down; nil: this router.
    package var member: String?
    /// Nil: nobody's in particular.
    var owner: Owner?
    /// Whether any stranger can cause it at will.
    let isStray: Bool

    /// The delivery that `delivery` became part of; nil where it did not.
    package var joinedDelivery: DeliveryID? {
        guard event == nil, case .step(PipelineStep.joined.rawValue) = what else { return nil }
        return DeliveryID(reason)
    }

    /// Whether it says that a push was queued which nothing else is part of: nothing of it was held before.
    var isWholePush: Bool {
        guard case .step(PipelineStep.queued.rawValue) = what else { return false }
        return !PipelineStep.isOfHeld(queuedReason: reason)
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
        what: What,
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
            kind: report.kind.name,
            queue: report.queue,
            status: Int(report.status),
            attempt: report.attempt,
            nextDue: report.nextDue,
            isEnd: report.kind.isFinal
        )
    }
}
