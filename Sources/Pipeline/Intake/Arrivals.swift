import Core
import Delivery
import Nostr
import Push
import Rules
import Synchronization

/// The items that a pipeline's thread takes from its intake at one time.
package struct Arrivals: Sendable {
    package var submissions: [Submission]
    /// The numbers of fetches whose results have all been submitted.
    package var endedFetches: [Int]
    /// The ended fetches that no relay answered.
    package var unansweredFetches: Set<Int>
    /// Deliveries that the courier completed.
    package var ends: [CompletedPush]
    /// Events that were passed to other owners, and whether these kept them.
    var endedHandOvers: [(event: EventID, isKept: Bool)] = []
    /// Settings that apply from these submissions on, in order.
    package var settings: [SettingsChange] = []

    package init(
        submissions: [Submission] = [],
        endedFetches: [Int] = [],
        unansweredFetches: Set<Int> = [],
        ends: [CompletedPush] = []
    ) {
        self.submissions = submissions
        self.endedFetches = endedFetches
        self.unansweredFetches = unansweredFetches
        self.ends = ends
    }

    package var isEmpty: Bool {
        submissions.isEmpty && endedFetches.isEmpty && ends.isEmpty && settings.isEmpty && endedHandOvers.isEmpty
    }
}

/// Events that were submitted together, and the closure that takes their decisions.
package struct Submission: Sendable {
    /// The bytes of one JSON object each.
    package let events: [[UInt8]]
    package let source: EventSource
    /// Whether this process made and signed the events, so that their signatures need no check.
    let isOurs: Bool
    /// Called once with a decision for each event in order: on the pipeline's thread, or on the submitter's if refused.
    package let completion: @Sendable ([EventDecision]) -> Void

    /// The total size of the events in bytes.
    var size: Int { events.reduce(0) { $0 + $1.count } }

    package init(
        events: [[UInt8]],
        source: EventSource,
        isOurs: Bool = false,
        completion: @escaping @Sendable ([EventDecision]) -> Void
    ) {
        self.events = events
        self.source = source
        self.isOurs = isOurs
        self.completion = completion
    }
}

/// The origin of an event, as far as the stages treat it differently.
package enum EventSource: Sendable {
    /// The router's own socket, with the keys that the client authenticated (NIP-42). Every event is verified before
    /// the answer, because the answer must not show who is registered here. `isListed` is whether it came from a
    /// network whose clients may register without being listed by key.
    case socket(authenticated: Set<PublicKey>, isListed: Bool = false)
    /// A stream of new events without answers. Events that concern no account are dropped unverified.
    case feed
    /// A relay; it gets no answers either.
    case relay(RelayReading)
    /// The router's API. The router made and signed the event, which represents a caller's notification.
    case api(NotificationOrder)

    /// Whether the sender gets the decision.
    var isAnswered: Bool {
        switch self {
        case .socket, .api: true
        case .feed, .relay: false
        }
    }

    /// Whether it may register without being listed by key.
    var isListed: Bool {
        if case .socket(_, let isListed) = self { isListed } else { false }
    }

    /// Whether its events may send notifications.
    var mayWake: Bool {
        switch self {
        case .socket, .feed, .relay(.live), .relay(.stored), .api: true
        case .relay(.baseline), .relay(.fetched): false
        }
    }

    // A constant, because computing it takes 128-bit arithmetic.
    private static let liveTolerance: Duration = .minutes(10)

    /// The maximum age of a new event, because senders' clocks can be minutes slow. A live event was made when it
    /// arrived; a stored one only has its date.
    var clockTolerance: Duration {
        switch self {
        case .socket, .feed, .relay(.live), .api: Self.liveTolerance
        case .relay(.stored), .relay(.baseline), .relay(.fetched): .zero
        }
    }
}

/// A notification that an API caller requested, and a selection among the devices of the accounts that the event names.
package final class NotificationOrder: Sendable {
    package enum Content: Sendable {
        /// The requested content itself.
        case rule(Rule)
        /// The rule of that name in the rule book of a device's app.
        case template(String)
    }

    let content: Content
    /// The request as it was written, for another router. Empty if no router needs it.
    package let request: [UInt8]
    /// The signal for devices; nil means the rule's, or ``Signal/notification``. Devices that switch it off get no
    /// push.
    let signal: Signal?
    private let devices: Set<DeviceID>?
    private let platform: String?
    private let app: String?
    private let counted = Mutex<Counts?>(nil)

    /// Nil means all `devices`, or any `platform` or `app`.
    package init(
        _ content: Content,
        signal: Signal? = nil,
        devices: Set<DeviceID>? = nil,
        platform: String? = nil,
        app: String? = nil,
        request: [UInt8] = []
    ) {
        self.content = content
        self.request = request
        self.signal = signal
        self.devices = devices
        self.platform = platform
        self.app = app
    }

    /// Whether it is for that device.
    package func includes(_ device: DeviceID, platform: String, app: String) -> Bool {
        (devices?.contains(device) ?? true) && (self.platform.map { $0 == platform } ?? true)
            && (self.app.map { $0 == app } ?? true)
    }

    /// The results for its devices.
    package struct Counts: Hashable, Sendable {
        package var devices = 0
        /// The number of devices that get a push now.
        package var queued = 0
        /// The number of devices for which it is held.
        package var held = 0
        /// When the last of the held pushes is due; nil if none is held.
        package var heldUntil: Timestamp?
        /// Whether another router handled a part of it and did not report counts.
        package var isPartial = false

        package init() {}
    }

    /// Nil until this pipeline or other routers have handled it.
    package var counts: Counts? { counted.withLock { $0 } }

    /// Adds the result of one of its events; nil means that there are no counts.
    package func add(_ counts: Counts?) {
        counted.withLock { sum in
            var whole = sum ?? Counts()
            defer { sum = whole }
            guard let counts else {
                whole.isPartial = true
                return
            }
            whole.devices += counts.devices
            whole.queued += counts.queued
            whole.held += counts.held
            whole.heldUntil = [whole.heldUntil, counts.heldUntil].compactMap(\.self).max()
        }
    }
}

extension Signal {
    /// The signal of API notifications without a signal. Devices cannot switch it off.
    package static let notification = Signal(rawValue: "notification")
}

/// How an event was read from a relay. This decides whether it is new.
package enum RelayReading: Sendable, Hashable {
    /// Received after the end of the stored events (NIP-01).
    case live
    /// Stored while the router was not connected, so it is new. Such events come in any order.
    case stored
    /// Stored before the router watched the key there: not new, only remembered. Gift wraps and contact lists of this
    /// kind stay remembered, because their dates do not show their age.
    case baseline
    /// Requested by a ``ContextFetcher``: not new, only used as context. It may still be new if it arrives unrequested.
    case fetched
}

/// New settings for a running pipeline.
package struct SettingsChange: Sendable {
    package let settings: PipelineSettings
    /// Called once, on the pipeline's thread, after they were applied or failed to apply.
    package let completion: @Sendable (Result<Void, any Error>) -> Void
}
