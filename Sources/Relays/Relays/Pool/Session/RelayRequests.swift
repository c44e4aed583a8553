import Core
import Nostr

/// The requests to one relay: open subscriptions, the relay's limits on number and rate, and the resulting actions.
///
/// The parts of a ``RelaySession`` share it and send through it.
final class RelayRequests {
    let settings: SessionSettings
    /// The limits that the relay states.
    private(set) var limitation = RelayLimitation()
    /// The capacity that the relay seems to allow.
    private(set) var capacity: RelayCapacity
    private var refusals = RejectStreak()
    private var pace: RequestPace
    var subscriptions = OpenSubscriptions()
    /// The number of the last REQ, which equals the number of REQs sent in this session.
    private(set) var lastNumber: UInt64 = 0
    /// The number of REQs that the relay neither answered nor refused in time.
    private(set) var unanswered = 0
    private var actions: [RelayAction] = []
    /// The time of the call that the session handles.
    private(set) var now = Timestamp.epoch
    /// When the next time-driven work is due.
    private(set) var nextTick: Timestamp?

    init(settings: SessionSettings) {
        self.settings = settings
        capacity = RelayCapacity(enough: settings.openBytes.bytes)
        pace = RequestPace(burst: settings.requestBurst, perSecond: settings.requestsPerSecond, now: .epoch)
    }

    /// The maximum length of a message from the router.
    var messageLength: Int { min(limitation.maxMessageLength, capacity.freeBytes) }

    /// Starts a connection.
    func begin(_ limitation: RelayLimitation) {
        self.limitation = limitation
        capacity.says(subscriptions: limitation.maxSubscriptions)
        refusals = RejectStreak()
        pace = RequestPace(burst: settings.requestBurst, perSecond: settings.requestsPerSecond, now: now)
        subscriptions.removeAll()
    }

    /// Ends a connection.
    func end() { subscriptions.removeAll() }

    // MARK: Actions

    /// Sets the time. Every call of the session must call this first.
    func begin(at now: Timestamp) { self.now = now }

    func act(_ action: RelayAction) { actions.append(action) }

    /// Requests a call at `moment` at the latest.
    func wake(at moment: Timestamp) { nextTick = min(nextTick ?? moment, moment) }

    /// Clears the next tick. Must be called before due work is done, which sets it again.
    func forgetTick() { nextTick = nil }

    func takeActions() -> [RelayAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: Subscriptions

    /// Opens a subscription, or replaces the one with that id.
    func request(_ filters: [Filter], as use: SubscriptionUse, replacing id: SubscriptionID? = nil) -> SubscriptionID? {
        lastNumber += 1
        guard let id = id ?? SubscriptionID("c\(lastNumber)") else { return nil }
        let bytes = filters.reduce(0) { $0 + $1.estimatedLength }
        subscriptions.open(id, OpenSubscriptions.Entry(use: use, bytes: bytes, number: lastNumber))
        act(.send(.request(id, filters)))
        return id
    }

    /// Closes a subscription.
    func close(_ id: SubscriptionID?) {
        guard let id, subscriptions.remove(id) != nil else { return }
        act(.send(.close(id)))
    }

    /// Counts a subscription without a response in time.
    func countUnanswered() { unanswered += 1 }

    /// Whether the router used that id for a subscription in this session.
    func wasOpened(_ id: SubscriptionID) -> Bool {
        guard id.description.hasPrefix("c"), let number = UInt64(id.description.dropFirst()) else { return false }
        return number <= lastNumber
    }

    /// Notes that the relay accepted a subscription, because it sent all stored events. Returns its use.
    func accepted(_ id: SubscriptionID) -> SubscriptionUse? {
        guard let entry = subscriptions[id] else { return nil }
        refusals.accepted(entry.number)
        return entry.use
    }

    /// Removes a subscription that the relay closed. Returns it.
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

    /// Learns from a refusal how much may be open at the relay. Returns the meaning of the refusal, and whether the
    /// relay now seems to allow less. `isUnanswered`: the relay had not accepted this subscription before.
    func learn(
        from refusal: RejectReason,
        of entry: OpenSubscriptions.Entry,
        isUnanswered: Bool,
        hasOpenChunk: Bool
    ) -> (meaning: RejectReason, allowsLess: Bool) {
        let others = subscriptions.before(isUnanswered ? entry.number : .max)
        // Between the open bytes and those including the refused REQ; at least half of the latter if little else is
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
            refusals = RejectStreak()
            pace.resume(at: now)
            capacity.guess(subscriptions: others.count, bytes: bytes, until: now + settings.guessLifetime)
            return (.tooLargeSubscriptions, true)
        case .authenticate, .smaller, .never:
            return (refusal, false)
        }
    }

    /// Learns from a `NOTICE`. Returns whether the relay now seems to allow less.
    func noticed(_ text: String) -> Bool {
        switch RejectReason(notice: text) {
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

    /// Drops guessed limits that have expired. Returns whether the capacity is larger now.
    func forgetGuesses() -> Bool {
        let isMore = capacity.forget(now: now)
        if let moment = capacity.forgetAt { wake(at: moment) }
        return isMore
    }
}

/// The purpose of one of the router's subscriptions at a relay.
enum SubscriptionUse: Hashable, Sendable {
    case live(LiveSubscription.Name)
    /// Live until its replacement is. With its former name, if keys still have the places that the name refers to.
    case retired(LiveSubscription.Name?)
    case sweep(UInt32)
    case fetch(UInt64)
}

/// The subscriptions that are open or requested at a relay, with the lengths of their REQs.
struct OpenSubscriptions: Sendable {
    struct Entry: Sendable {
        var use: SubscriptionUse
        /// The length of its REQ.
        let bytes: Int
        /// The REQ's number in the order of sending.
        let number: UInt64
    }

    private(set) var entries: [SubscriptionID: Entry] = [:]
    /// The total length of all REQs.
    private(set) var bytes = 0

    subscript(id: SubscriptionID) -> Entry? { entries[id] }

    /// Adds a subscription. It replaces an open one with the same id.
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

    /// Returns the number and bytes of the subscriptions requested before the REQ of that number.
    func before(_ number: UInt64) -> (count: Int, bytes: Int) {
        entries.values.reduce(into: (count: 0, bytes: 0)) { sum, entry in
            guard entry.number < number else { return }
            sum.count += 1
            sum.bytes += entry.bytes
        }
    }

    mutating func removeAll() { self = OpenSubscriptions() }
}

/// When to retry a request that the relay refused or did not answer.
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

    /// Waits until the router has authenticated, but at most until that moment.
    mutating func awaitAuthentication(until moment: Timestamp) {
        at = moment
        awaitsAuthentication = true
    }

    mutating func authenticationEnded(_ now: Timestamp) { if awaitsAuthentication { at = now } }
}

/// An action for the shell around a ``RelaySession``. Actions must be executed in order.
enum RelayAction: Hashable, Sendable {
    /// Sends a message.
    case send(ClientCommand)
    /// Signs a response to this challenge (NIP-42). The shell passes it to ``RelaySession/signed(_:now:)``, which sends
    /// it.
    case authenticate(challenge: String)
    /// Reports to the delegate that all stored events for these keys were read and processed.
    case established([PublicKey])
    /// Reports to the delegate that all events up to that moment, in seconds since 1970, were read and processed.
    case marked(Int64)
    /// Reports to the delegate how often reading stored events failed (``RelayPoolDelegate/couldNotRead(_:at:)``).
    case unread(Int)
    /// Reports to the operator that the relay has too many registrations for other routers. Named devices are then
    /// found there only by a `p` tag.
    case tooManyRegistrations
    /// The relay has sent all events for the fetch of that number. Its end follows.
    case fetchAnswered(UInt64)
    /// The fetch of that number has ended: no more events follow.
    case fetchEnded(UInt64)
    /// The result of a publication. `message` is the relay's and untrusted; it is nil if the relay did not respond in
    /// time.
    case publishEnded(EventID, isAccepted: Bool, message: String?)
    /// The relay refuses everything: the shell disconnects until that moment.
    case rest(until: Timestamp)
}

/// How an event arrived. The shell keeps it until the event is settled.
struct Arrival: Hashable, Sendable {
    let reading: Reading
    /// The sweep it belongs to; nil for other events.
    let sweep: UInt32?
    /// The epoch of ``MarkProgress`` in which it is counted.
    let epoch: UInt32

    init(reading: Reading, sweep: UInt32?, epoch: UInt32 = 0) {
        self.reading = reading
        self.sweep = sweep
        self.epoch = epoch
    }
}
