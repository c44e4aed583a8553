import Core
import Delivery
import Logging
import Nostr
import Push
import Synchronization

@testable import Pipeline

extension PipelineDependencies {
    /// Creates the parts that a test names; the others are inactive.
    init(
        remoteSigner: (any RemoteSigner)? = nil,
        contextFetcher: (any ContextFetcher)? = nil,
        hintHeard: HintHeard? = nil,
        sealer: (any NotificationSealer)? = nil,
        owners: (any PartitionOwners)? = nil,
        screen: EventScreen? = nil,
        isOurRelay: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.init(
            deliveryID: { "\($0.hex.prefix(8))-\($1.rawValue)" },
            observer: Workbench.Observed(),
            now: { Workbench.start },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        self.remoteSigner = remoteSigner
        self.contextFetcher = contextFetcher
        self.hintHeard = hintHeard
        self.sealer = sealer
        self.owners = owners
        self.screen = screen
        self.isOurRelay = isOurRelay
    }
}

extension EventFilter {
    /// A filter that answers one question at a time.
    init(
        name: String,
        availability: FilterAvailability = .maySwitchOff,
        onError: OnError = .pass,
        wantedKinds: [Kind] = [],
        need: FollowNeed = .nothing,
        isAskedAfterRendering: Bool = false,
        decide: @escaping @Sendable (FilterQuestion) -> FilterDecision
    ) {
        self.init(name: name, availability: availability, onError: onError) { $0.map(decide) }
        self.wantedKinds = wantedKinds
        self.need = need
        self.isAskedAfterRendering = isAskedAfterRendering
    }
}

/// Relays that respond when a test allows it.
final class FakeFetcher: ContextFetcher {
    struct Asked: Sendable {
        let wants: ContextWants
        let end: @Sendable (_ isAnswered: Bool) -> Void

        func completion() { end(true) }
    }

    let asked = Mutex<[Asked]>([])
    private let connected = Mutex(true)

    var isReachable: Bool { connected.withLock { $0 } }

    func set(isReachable: Bool) { connected.withLock { $0 = isReachable } }

    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (Bool) -> Void) {
        asked.withLock { $0.append(Asked(wants: wants, end: completion)) }
    }

    var last: Asked? { asked.withLock { $0.last } }
    var count: Int { asked.withLock { $0.count } }
}

final class FakeHintObserver: Sendable {
    struct Heard: Sendable, Hashable {
        let account: PublicKey
        let partner: PublicKey
        let moment: Timestamp
    }

    let heard = Mutex<[Heard]>([])

    @Sendable func heard(account: PublicKey, partner: PublicKey, at moment: Timestamp) {
        heard.withLock { $0.append(Heard(account: account, partner: partner, moment: moment)) }
    }

    var all: [Heard] { heard.withLock { $0 } }
}

/// Capacity for up to N deliveries of the queues marked as behind, and for any number of others.
final class FakeCapacity: DeliveryCapacity {
    private struct State {
        var room: [QueueName: Int] = [:]
        var asked = 0
    }

    private let state = Mutex(State())

    /// Nil: as many as there are.
    func set(_ room: Int?, of queue: QueueName) { state.withLock { $0.room[queue] = room } }

    /// The number of calls.
    var asked: Int { state.withLock { $0.asked } }

    func take(for device: DeviceID, of queue: QueueName) -> Bool {
        state.withLock { state in
            state.asked += 1
            guard let room = state.room[queue] else { return true }
            guard room > 0 else { return false }
            state.room[queue] = room - 1
            return true
        }
    }

    func settle() {}
}

/// Seals by recording its input, unless a test makes it fail.
final class FakeSealer: NotificationSealer {
    let given = Mutex<[(id: DeliveryID, device: DeviceID, notification: Notification)]>([])
    let refuses: Bool
    /// Which key all devices have.
    let key = Mutex<Int64>(1)

    init(refuses: Bool = false) {
        self.refuses = refuses
    }

    func seal(_ notification: Notification, id: DeliveryID, for device: DeviceID) -> Notification? {
        given.withLock { $0.append((id, device, notification)) }
        guard !refuses else { return nil }
        return Notification(
            mode: .sealed,
            signal: notification.signal,
            urgency: notification.urgency,
            neutral: notification.neutral,
            sealed: "{\"for\":\(device.rawValue)}"
        )
    }

    func keyMark(of device: DeviceID) -> Int64? { key.withLock(\.self) }
}

/// A signer that admits the keys of a test, and takes requests in plain text.
final class FakeSigner: RemoteSigner {
    private struct State {
        var admitted: Set<PublicKey> = []
        var carried: Event?
        var requests: [EventID] = []
        var sources: [EventSource] = []
        var results: [EventDecision.Result] = []
    }

    private let state = Mutex(State())

    /// Allows registrations of these keys to come as events.
    func admit(_ keys: some Sequence<KeyPair>) {
        let keys = Set(keys.map(\.publicKey))
        state.withLock { $0.admitted = keys }
    }

    /// Sets the registration that later requests carry.
    func carry(_ registration: Event) { state.withLock { $0.carried = registration } }

    var requests: [EventID] { state.withLock { $0.requests } }
    /// The sources of those requests.
    var sources: [EventSource] { state.withLock { $0.sources } }
    /// The results of the registrations in those requests.
    var results: [EventDecision.Result] { state.withLock { $0.results } }

    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventDecision.Result) {
        let carried = state.withLock { state in
            state.requests.append(event.id)
            state.sources.append(source)
            return state.carried
        }
        guard let carried else { return }
        let result = register(carried)
        state.withLock { $0.results.append(result) }
    }

    func admits(_ registration: Event) -> Bool {
        state.withLock { $0.admitted.contains(registration.pubkey) }
    }
}

/// The response to a submission, once it comes.
final class Answer: Sendable {
    private let told = Mutex<[[EventDecision]]>([])

    @Sendable func take(_ decisions: [EventDecision]) { told.withLock { $0.append(decisions) } }

    /// The number of reports.
    var count: Int { told.withLock { $0.count } }
    var results: [EventDecision.Result] { told.withLock { $0.last ?? [] }.map(\.result) }
    /// The verdicts of all submissions reported so far, in order.
    var allResults: [EventDecision.Result] { told.withLock { $0.flatMap { $0 } }.map(\.result) }
}
