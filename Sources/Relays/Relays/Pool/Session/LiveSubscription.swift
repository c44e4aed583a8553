import Core
import Nostr

/// A subscription to new events, and its replacement while that is not ready.
struct LiveSubscription: Sendable {
    enum Name: Hashable, Sendable {
        /// What is addressed to our own key.
        case own
        /// The keys of one chunk.
        case chunk(Int)
        /// Everything of the kinds wanted, for all keys.
        case kinds

        var chunk: Int? { if case .chunk(let number) = self { number } else { nil } }

        /// Our own first, then in the order of chunks.
        var rank: Int {
            switch self {
            case .own: -2
            case .kinds: -1
            case .chunk(let number): number
            }
        }
    }

    /// Its stored events have ended: what comes is live.
    private(set) var open: SubscriptionID?
    /// Requested; its stored events have not ended.
    private(set) var pending: SubscriptionID?
    /// When the last REQ was sent.
    private(set) var sentAt: Timestamp?
    private var sentBytes = 0
    /// When the relay last sent something in answer to it.
    private var lastActivity: Timestamp?
    /// When to send a REQ because there are changes or the last one failed.
    private var dueAt: Timestamp?
    /// When to send a REQ at the latest to leave out keys that are no longer watched.
    private var pruneAt: Timestamp?
    private(set) var failures = 0
    private var awaitsAuthentication = false
    /// The relay will not have it. It is tried again much later.
    private(set) var isGivenUp = false

    init(dueAt: Timestamp? = nil) {
        self.dueAt = dueAt
    }

    /// Whether everything that is to be in it is live.
    var isComplete: Bool { open != nil && pending == nil && dueAt == nil }

    /// Whether nothing happens to it soon.
    var isSettled: Bool { isComplete || (pending == nil && open == nil && failures > 2) || isGivenUp }

    /// When the next REQ is to be sent, if one is.
    var nextRequest: Timestamp? {
        guard pending == nil else { return nil }
        return [dueAt, pruneAt].compactMap(\.self).min()
    }

    /// When the REQ that was sent last counts as failed.
    func deadline(_ patience: Duration) -> Timestamp? {
        guard pending != nil, let lastActivity else { return nil }
        return lastActivity + patience
    }

    /// Requests it at that moment at the latest.
    mutating func request(by moment: Timestamp) { dueAt = min(dueAt ?? moment, moment) }

    /// Requests it soon, but not faster than large REQs may follow each other.
    mutating func replace(now: Timestamp, _ settings: SessionSettings) {
        let bytesPerSecond = Int64(max(1, settings.replacementBytesPerSecond))
        let pause = max(settings.replacementInterval, .milliseconds(Int64(sentBytes) * 1_000 / bytesPerSecond))
        request(by: max(now, (sentAt ?? .epoch) + pause))
    }

    /// Requests it by that moment without the keys that are no longer watched.
    mutating func prune(by moment: Timestamp) { pruneAt = pruneAt ?? moment }

    mutating func sent(_ id: SubscriptionID?, bytes: Int, now: Timestamp) {
        pending = id
        sentAt = now
        sentBytes = bytes
        lastActivity = now
        dueAt = nil
        pruneAt = nil
        awaitsAuthentication = false
        isGivenUp = false
    }

    mutating func received(now: Timestamp) { lastActivity = now }

    mutating func becameLive(_ id: SubscriptionID) {
        open = id
        pending = nil
        failures = 0
    }

    /// The open subscription has ended.
    mutating func lost() { open = nil }

    /// Requests it again at once; that is no failure.
    mutating func requestAgain(now: Timestamp) {
        pending = nil
        dueAt = now
    }

    mutating func failed(until moment: Timestamp) {
        pending = nil
        dueAt = moment
        failures += 1
    }

    mutating func awaitAuthentication() { awaitsAuthentication = true }

    mutating func authenticationEnded(_ now: Timestamp) { if awaitsAuthentication { dueAt = now } }

    mutating func giveUp() { isGivenUp = true }
}

/// The live subscriptions of a connection by what they are for, and former ones that stay open until others have taken
/// over.
struct LiveTable {
    typealias Name = LiveSubscription.Name

    private(set) var all: [Name: LiveSubscription] = [:]
    private var retired: [SubscriptionID] = []
    private let requests: RelayRequests

    init(_ requests: RelayRequests) {
        self.requests = requests
    }

    subscript(name: Name) -> LiveSubscription? {
        get { all[name] }
        set { all[name] = newValue }
    }

    var names: [Name] { Array(all.keys) }
    var hasRetired: Bool { !retired.isEmpty }

    // MARK: State

    /// Whether everything is live. Our own key does not count if the relay refuses that.
    var isComplete: Bool { all.allSatisfy { $0.value.isComplete || $0.key == .own && $0.value.isGivenUp } }
    /// Whether nothing happens to any of them soon.
    var isSettled: Bool { all.values.allSatisfy(\.isSettled) }
    var isAnyPending: Bool { all.values.contains { $0.pending != nil } }
    /// Whether none is being opened or replaced.
    var isAtRest: Bool { retired.isEmpty && !isAnyPending }
    /// Whether keys are subscribed to by name.
    var hasOpenChunk: Bool { !retired.isEmpty || all.contains { $0.key.chunk != nil && $0.value.open != nil } }

    // MARK: Changes

    /// Changes a subscription, which is there from now on.
    mutating func open(_ name: Name, _ change: (inout LiveSubscription) -> Void) {
        change(&all[name, default: LiveSubscription()])
    }

    /// The connection is another one, or none.
    mutating func removeAll() { self = LiveTable(requests) }

    /// Closes a subscription that is not needed any more.
    mutating func abandon(_ name: Name) {
        guard let subscription = all.removeValue(forKey: name) else { return }
        requests.close(subscription.open)
        requests.close(subscription.pending)
    }

    // MARK: Former ones

    /// Leaves a subscription open, if it is, until others have taken over.
    mutating func retire(_ name: Name) {
        guard let subscription = all.removeValue(forKey: name) else { return }
        requests.close(subscription.pending)
        guard let open = subscription.open, requests.subscriptions[open] != nil else { return }
        requests.subscriptions.reuse(open, as: .retired(name))
        retired.append(open)
    }

    /// Keys have other places, so that former names mean nothing any more.
    func renameRetired() {
        for id in retired { requests.subscriptions.reuse(id, as: .retired(nil)) }
    }

    /// Others have taken over.
    mutating func closeRetired() {
        for id in retired { requests.close(id) }
        retired = []
    }

    /// Closes one before others have taken over. Returns what it was.
    mutating func closeLastRetired() -> SubscriptionUse? {
        guard let id = retired.popLast(), let use = requests.subscriptions[id]?.use else { return nil }
        requests.close(id)
        return use
    }

    /// The relay closed one.
    mutating func retiredClosed(_ id: SubscriptionID) { retired.removeAll { $0 == id } }
}
