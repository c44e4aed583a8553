import Core
import Delivery
import Nostr
import Push
import Rules
import Synchronization

/// What a pipeline's thread finds in its intake at one time.
package struct Arrivals: Sendable {
    package var submissions: [Submission]
    /// The numbers of fetches whose results have all been submitted.
    package var endedFetches: [Int]
    /// Those among them that no relay answered.
    package var unansweredFetches: Set<Int>
    /// Deliveries that the courier brought to their end.
    package var ends: [PushEnd]
    /// Events that were handed over to other owners, and whether these kept them.
    var endedHandOvers: [(event: EventID, isKept: Bool)] = []
    /// Settings that are to be in force from these submissions on, in their order.
    package var settings: [SettingsChange] = []

    package init(
        submissions: [Submission] = [],
        endedFetches: [Int] = [],
        unansweredFetches: Set<Int> = [],
        ends: [PushEnd] = []
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

/// Events that came in together, and the closure that takes their verdicts.
package struct Submission: Sendable {
    /// The bytes of one JSON object each.
    package let events: [[UInt8]]
    package let source: EventSource
    /// Whether this process made and signed the events, so that their signatures need no check.
    let isOurs: Bool
    /// Called once, on the pipeline's thread or, when refused, the submitter's, with a verdict for each event in order.
    package let completion: @Sendable ([EventVerdict]) -> Void

    /// Bytes of all events.
    var size: Int { events.reduce(0) { $0 + $1.count } }

    package init(
        events: [[UInt8]],
        source: EventSource,
        isOurs: Bool = false,
        completion: @escaping @Sendable ([EventVerdict]) -> Void
    ) {
        self.events = events
        self.source = source
        self.isOurs = isOurs
        self.completion = completion
    }
}

/// Where an event came in, as far as the stages treat it differently.
package enum EventSource: Sendable {
    /// Our own socket, with the keys that the client proved to have (NIP-42). Every event is verified before it is
    /// answered, even if it concerns nobody: the answer must not show who is registered here.
    /// `isListed`: it came from a network whose clients may register where only who is listed may.
    case socket(authenticated: Set<PublicKey>, isListed: Bool = false)
    /// A stream of new events without answers. Events that concern nobody are dropped unverified.
    case feed
    /// A relay, without answers either.
    case relay(RelayReading)
    /// The router's API: the router made and signed the event, which stands for a caller's notification.
    case api(NotificationOrder)

    /// Whether the sender gets the verdict.
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

    /// Whether its events may wake anybody.
    var mayWake: Bool {
        switch self {
        case .socket, .feed, .relay(.live), .relay(.stored), .api: true
        case .relay(.baseline), .relay(.fetched): false
        }
    }

    // Made once: that takes arithmetic of 128 bits.
    private static let liveTolerance: Duration = .minutes(10)

    /// How far behind now a new event may be dated. Senders' clocks are slow by minutes. A live event was
    /// made when it came; the age of a stored one is known by its date alone.
    var clockTolerance: Duration {
        switch self {
        case .socket, .feed, .relay(.live), .api: Self.liveTolerance
        case .relay(.stored), .relay(.baseline), .relay(.fetched): .zero
        }
    }
}

/// What somebody asked to be sent over the API, and to which devices of those whom the event names.
package final class NotificationOrder: Sendable {
    package enum Content: Sendable {
        /// What was asked for itself.
        case rule(Rule)
        /// The rule of that name, of the book for a device's app.
        case template(String)
    }

    let content: Content
    /// The request as it was written, for another router; empty: nobody needs it.
    package let request: [UInt8]
    /// What devices call it; nil: the rule says, or ``Signal/notification``. Devices that switch it off are not woken.
    let signal: Signal?
    private let devices: Set<DeviceID>?
    private let platform: String?
    private let app: String?
    private let counted = Mutex<Counts?>(nil)

    /// Nil stands for all `devices`, whatever their `platform` and `app`.
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
        /// Devices that get a push now.
        package var queued = 0
        /// Devices for which it waits for their time.
        package var held = 0
        /// When the last of these is due; nil if none is held.
        package var heldUntil: Timestamp?
        /// Whether another router carried out a part of it and did not count it.
        package var isPartial = false

        package init() {}
    }

    /// Nil until the pipeline has carried it out, or other routers.
    package var counts: Counts? { counted.withLock { $0 } }

    /// Adds the result of one of its events; nil: it was not counted.
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
    /// Of what is asked for over the API without a signal of its own. No device can switch it off.
    package static let notification = Signal(rawValue: "notification")
}

/// How an event of a relay came to be read, which decides whether it is new.
package enum RelayReading: Sendable, Hashable {
    /// After the end of the stored events (NIP-01).
    case live
    /// Stored, and published while nobody listened: new as well. Comes in any order.
    case stored
    /// Stored before the key was watched there: not new, to be remembered only. Gift wraps and contact lists of this
    /// kind stay remembered, because their dates say nothing.
    case baseline
    /// Asked for by a ``ContextFetcher``: not new, to be learned from only. It may still be new when it comes by
    /// itself.
    case fetched
}

/// Other settings for a pipeline that runs.
package struct SettingsChange: Sendable {
    package let settings: PipelineSettings
    /// Called once, on the pipeline's thread, when they are in force or could not be put in force.
    package let completion: @Sendable (Result<Void, any Error>) -> Void
}
