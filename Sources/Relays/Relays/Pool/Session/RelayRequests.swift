import Core
import Nostr

/// What is asked of one relay: which subscriptions are open, how many and how fast it allows, and the actions that
/// result.
///
/// The parts of a ``RelaySession`` share it and send through it.
final class RelayRequests {
    let settings: SessionSettings
    /// What the relay says about its limits.
    private(set) var limitation = RelayLimitation()
    /// What the relay seems to allow to be open.
    private(set) var capacity: RelayCapacity
    private var refusals = RefusalStreak()
    private var pace: RequestPace
    var subscriptions = OpenSubscriptions()
    /// The number of the last REQ, which is how many were sent since the session began.
    private(set) var lastNumber: UInt64 = 0
    /// Those among them that the relay neither answered nor refused in time.
    private(set) var unanswered = 0
    private var actions: [RelayAction] = []
    /// The moment of the call that the session handles.
    private(set) var now = Timestamp.epoch
    /// When something is due that no message triggers.
    private(set) var nextTick: Timestamp?

    init(settings: SessionSettings) {
        self.settings = settings
        capacity = RelayCapacity(enough: settings.openBytes.bytes)
        pace = RequestPace(burst: settings.requestBurst, perSecond: settings.requestsPerSecond, now: .epoch)
    }

    /// How long a message of ours may be.
    var messageLength: Int { min(limitation.maxMessageLength, capacity.freeBytes) }

    /// Begins a connection.
    func begin(_ limitation: RelayLimitation) {
        self.limitation = limitation
        capacity.says(subscriptions: limitation.maxSubscriptions)
        refusals = RefusalStreak()
        pace = RequestPace(burst: settings.requestBurst, perSecond: settings.requestsPerSecond, now: now)
        subscriptions.removeAll()
    }

    /// Ends a connection.
    func end() { subscriptions.removeAll() }

    // MARK: Actions

    /// To be called first whenever the session is called.
    func begin(at now: Timestamp) { self.now = now }

    func act(_ action: RelayAction) { actions.append(action) }

    /// Asks to be called at `moment` at the latest.
    func wake(at moment: Timestamp) { nextTick = min(nextTick ?? moment, moment) }

    /// To be called before everything that is due is done: it asks again to be called.
    func forgetTick() { nextTick = nil }

    func takeActions() -> [RelayAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: Subscriptions

    /// Opens a subscription, or replaces the one of that name.
    func request(_ filters: [Filter], as use: SubscriptionUse, replacing id: SubscriptionID? = nil) -> SubscriptionID? {
        lastNumber += 1
        guard let id = id ?? SubscriptionID("c\(lastNumber)") else { return nil }
        let bytes = filters.reduce(0) { $0 + $1.estimatedLength }
        subscriptions.open(id, OpenSubscriptions.Entry(use: use, bytes: bytes, number: lastNumber))
        act(.send(.request(id, filters)))
        return id
    }

    /// Closes a subscription of ours.
    func close(_ id: SubscriptionID?) {
        guard let id, subscriptions.remove(id) != nil else { return }
        act(.send(.close(id)))
    }

    /// A subscription has no answer in time.
    func countUnanswered() { unanswered += 1 }

    /// Whether that is a name that we gave a subscription at some time.
    func wasOpened(_ id: SubscriptionID) -> Bool {
        guard id.description.hasPrefix("c"), let number = UInt64(id.description.dropFirst()) else { return false }
        return number <= lastNumber
    }

    /// The relay accepted a subscription, for it sent all stored events. Returns what it is.
    func accepted(_ id: SubscriptionID) -> SubscriptionUse? {
        guard let entry = subscriptions[id] else { return nil }
        refusals.accepted(entry.number)
        return entry.use
    }

    /// The relay closed a subscription. Returns what it was.
    func closed(_ id: SubscriptionID) -> OpenSubscriptions.Entry? { subscriptions.remove(id) }

    // MARK: Pace and limits

    /// Whether one more REQ may be sent now. If so, it counts as sent.
    func takeTurn() -> Bool {
        guard !pace.take(at: now) else { return true }
        wake(at: max(now + .milliseconds(1), pace.next(after: now)))
        return false
    }

    /// Whether one more REQ may be sent now.
    func mayTakeTurn() -> Bool {
        let moment = pace.next(after: now)
        guard moment > now else { return true }
        wake(at: moment)
        return false
    }

    /// Learns from a refusal how much the relay allows to be open. Returns what the refusal means, and whether the
    /// relay now seems to allow less. `isUnanswered` says that the relay had not accepted this subscription before.
    func learn(
        from refusal: Refusal,
        of entry: OpenSubscriptions.Entry,
        isUnanswered: Bool,
        hasOpenChunk: Bool
    ) -> (meaning: Refusal, allowsLess: Bool) {
        let others = subscriptions.before(isUnanswered ? entry.number : .max)
        // Between the bytes that are open and those with the refused REQ; more than half of that if little else is
        // open.
        let bytes = max(others.bytes, (others.bytes + entry.bytes) / 2)
        switch refusal {
        case .tooManySubscriptions:
            capacity.learn(subscriptions: others.count)
            return (refusal, true)
        case .tooLargeSubscriptions:
            capacity.learn(bytes: bytes)
            return (refusal, true)
        case .slower, .later:
            guard isUnanswered, hasOpenChunk, refusals.refused(entry.number, last: lastNumber) else {
                if refusal == .slower { pace.slowDown(at: now) }
                return (refusal, false)
            }
            refusals = RefusalStreak()
            pace.resume(at: now)
            capacity.guess(subscriptions: others.count, bytes: bytes, until: now + settings.guessLifetime)
            return (.tooLargeSubscriptions, true)
        case .authenticate, .smaller, .never:
            return (refusal, false)
        }
    }

    /// Learns from a `NOTICE`. Returns whether the relay now seems to allow less.
    func noticed(_ text: String) -> Bool {
        switch Refusal(notice: text) {
        case .slower:
            pace.slowDown(at: now)
            return false
        case .tooManySubscriptions:
            capacity.learn(subscriptions: subscriptions.entries.count - 1)
            return true
        case .tooLargeSubscriptions:
            let others = subscriptions.before(lastNumber)
            capacity.learn(bytes: max(others.bytes, subscriptions.bytes / 2))
            return true
        default:
            return false
        }
    }

    /// Gives up what was only guessed about the relay, when it is time. Returns whether there is more room now.
    func forgetGuesses() -> Bool {
        let isMore = capacity.forget(now: now)
        if let moment = capacity.forgetAt { wake(at: moment) }
        return isMore
    }
}

/// What one of our subscriptions at a relay is for.
enum SubscriptionUse: Hashable, Sendable {
    case live(LiveSubscription.Name)
    /// Live, and to be closed as soon as others have taken over. With its former name, if keys still have the places
    /// that had it.
    case retired(LiveSubscription.Name?)
    case sweep(UInt32)
    case fetch(UInt64)
}

/// The subscriptions that are open at a relay or were asked for, with the lengths of their REQs.
struct OpenSubscriptions: Sendable {
    struct Entry: Sendable {
        var use: SubscriptionUse
        /// The length of its REQ.
        let bytes: Int
        /// REQs are numbered in the order in which they are sent.
        let number: UInt64
    }

    private(set) var entries: [SubscriptionID: Entry] = [:]
    /// The length of all REQs together.
    private(set) var bytes = 0

    subscript(id: SubscriptionID) -> Entry? { entries[id] }

    /// Adds a subscription; what was open under its id is replaced by it.
    mutating func open(_ id: SubscriptionID, _ entry: Entry) {
        remove(id)
        entries[id] = entry
        bytes += entry.bytes
    }

    @discardableResult
    mutating func remove(_ id: SubscriptionID) -> Entry? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        bytes -= entry.bytes
        return entry
    }

    mutating func reuse(_ id: SubscriptionID, as use: SubscriptionUse) { entries[id]?.use = use }

    /// What was asked for before the REQ of that number.
    func before(_ number: UInt64) -> (count: Int, bytes: Int) {
        entries.values.reduce(into: (count: 0, bytes: 0)) { sum, entry in
            guard entry.number < number else { return }
            sum.count += 1
            sum.bytes += entry.bytes
        }
    }

    mutating func removeAll() { self = OpenSubscriptions() }
}

/// When something that the relay refused or did not answer is sent again.
struct Retry: Hashable, Sendable {
    private(set) var at = Timestamp.epoch
    private(set) var failures = 0
    private var awaitsAuthentication = false

    mutating func sent() { awaitsAuthentication = false }

    mutating func succeeded() { failures = 0 }

    mutating func failed(until moment: Timestamp) {
        at = moment
        failures += 1
    }

    /// Waits without counting a failure.
    mutating func wait(until moment: Timestamp) { at = moment }

    /// Waits until we have authenticated, but no longer than until that moment.
    mutating func awaitAuthentication(until moment: Timestamp) {
        at = moment
        awaitsAuthentication = true
    }

    mutating func authenticationEnded(_ now: Timestamp) { if awaitsAuthentication { at = now } }
}

/// What the shell around a ``RelaySession`` must do, in the order given.
enum RelayAction: Hashable, Sendable {
    /// Send this.
    case send(ClientCommand)
    /// Sign an answer to this challenge (NIP-42) and hand it to ``RelaySession/signed(_:now:)``, which sends it.
    case authenticate(challenge: String)
    /// Tell the delegate: all that was stored for these keys was read and dealt with.
    case established([PublicKey])
    /// Tell the delegate: all that the relay had up to that moment, in seconds since 1970, was read and dealt with.
    case marked(Int64)
    /// Tell the delegate: stored events could not be read, so many times (``RelayPoolDelegate/couldNotRead(_:at:)``).
    case unread(Int)
    /// Tell the operator: the relay has so many registrations for other routers that it finds named devices only by a
    /// `p` tag.
    case tooManyRegistrations
    /// The relay says that it has nothing more for the fetch of that number, whose end follows.
    case fetchAnswered(UInt64)
    /// The fetch of that number has ended: no further event of it will come.
    case fetchEnded(UInt64)
    /// The result of a publication. `message` is the relay's and not to be trusted; it is nil if the relay gave no
    /// answer in time.
    case publishEnded(EventID, isAccepted: Bool, message: String?)
    /// The relay refuses everything: disconnect, and stay away until that moment.
    case rest(until: Timestamp)
}

/// How an event came in. The shell keeps it until the event is settled.
struct Arrival: Hashable, Sendable {
    let reading: Reading
    /// The catch-up it belongs to; nil for other events.
    let sweep: UInt32?
    /// The epoch of ``MarkProgress`` it is counted in.
    let epoch: UInt32

    init(reading: Reading, sweep: UInt32?, epoch: UInt32 = 0) {
        self.reading = reading
        self.sweep = sweep
        self.epoch = epoch
    }
}
