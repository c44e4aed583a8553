import Core
import Nostr

/// A subscription to new events, and its replacement while that is not ready.
struct LiveSubscription: Sendable {
    enum Name: Hashable, Sendable {
        /// Events addressed to the router's own key.
        case own
        /// Events for the keys of one chunk.
        case chunk(Int)
        /// All events of the wanted kinds, for all keys.
        case kinds

        var chunk: Int? { if case .chunk(let number) = self { number } else { nil } }

        /// The order of sending: the router's own key first, then the chunks in order.
        var rank: Int {
            switch self {
            case .own: -2
            case .kinds: -1
            case .chunk(let number): number
            }
        }
    }

    /// The subscription whose stored events have ended. Its events are live.
    private(set) var open: SubscriptionID?
    /// The requested subscription whose stored events have not ended.
    private(set) var pending: SubscriptionID?
    /// When the last REQ was sent.
    private(set) var sentAt: Timestamp?
    private var sentBytes = 0
    /// When the relay last responded to it.
    private var lastActivity: Timestamp?
    /// When to send a REQ because there are changes or the last one failed.
    private var dueAt: Timestamp?
    /// The latest time to send a REQ that omits keys that are no longer watched.
    private var pruneAt: Timestamp?
    private(set) var failures = 0
    private var awaitsAuthentication = false
    /// Whether the relay refuses it. The router retries it much later.
    private(set) var isGivenUp = false

    init(dueAt: Timestamp? = nil) {
        self.dueAt = dueAt
    }

    /// Whether its current filters are live.
    var isComplete: Bool { open != nil && pending == nil && dueAt == nil }

    /// Whether no change to it is expected soon.
    var isSettled: Bool { isComplete || (pending == nil && open == nil && failures > 2) || isGivenUp }

    /// When to send the next REQ, if one is needed.
    var nextRequest: Timestamp? {
        guard pending == nil else { return nil }
        return [dueAt, pruneAt].compactMap(\.self).min()
    }

    /// Returns when the last REQ counts as failed.
    func deadline(_ timeout: Duration) -> Timestamp? {
        guard pending != nil, let lastActivity else { return nil }
        return lastActivity + timeout
    }

    /// Schedules a REQ for that moment at the latest.
    mutating func request(by moment: Timestamp) { dueAt = min(dueAt ?? moment, moment) }

    /// Schedules a REQ soon, limited by the rate for large REQs.
    mutating func replace(now: Timestamp, _ settings: SessionSettings) {
        let bytesPerSecond = Int64(max(1, settings.replacementBytesPerSecond))
        let pause = max(settings.replacementInterval, .milliseconds(Int64(sentBytes) * 1_000 / bytesPerSecond))
        request(by: max(now, (sentAt ?? .epoch) + pause))
    }

    /// Schedules a REQ without the keys that are no longer watched, for that moment at the latest.
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

    /// Notes that the open subscription has ended.
    mutating func lost() { open = nil }

    /// Schedules a REQ immediately, without counting a failure.
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

/// The live subscriptions of a connection by purpose, and retired ones that stay open until their replacements are
/// live.
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

    /// Whether everything is live. The router's own key does not count if the relay refuses that subscription.
    var isComplete: Bool { all.allSatisfy { $0.value.isComplete || $0.key == .own && $0.value.isGivenUp } }
    /// Whether no change to any subscription is expected soon.
    var isSettled: Bool { all.values.allSatisfy(\.isSettled) }
    var isAnyPending: Bool { all.values.contains { $0.pending != nil } }
    /// Whether no subscription is being opened or replaced.
    var isAtRest: Bool { retired.isEmpty && !isAnyPending }
    /// Whether an open subscription names keys.
    var hasOpenChunk: Bool { !retired.isEmpty || all.contains { $0.key.chunk != nil && $0.value.open != nil } }

    // MARK: Changes

    /// Changes a subscription, or adds it.
    mutating func open(_ name: Name, _ change: (inout LiveSubscription) -> Void) {
        change(&all[name, default: LiveSubscription()])
    }

    /// Removes all subscriptions because the connection has ended.
    mutating func removeAll() { self = LiveTable(requests) }

    /// Closes a subscription that is no longer needed.
    mutating func abandon(_ name: Name) {
        guard let subscription = all.removeValue(forKey: name) else { return }
        requests.close(subscription.open)
        requests.close(subscription.pending)
    }

    // MARK: Retired subscriptions

    /// Retires a subscription. If it is open, it stays open until its replacement is live.
    mutating func retire(_ name: Name) {
        guard let subscription = all.removeValue(forKey: name) else { return }
        requests.close(subscription.pending)
        guard let open = subscription.open, requests.subscriptions[open] != nil else { return }
        requests.subscriptions.reuse(open, as: .retired(name))
        retired.append(open)
    }

    /// Drops the former names of retired subscriptions, because keys have new places.
    func renameRetired() {
        for id in retired { requests.subscriptions.reuse(id, as: .retired(nil)) }
    }

    /// Closes the retired subscriptions after their replacements are live.
    mutating func closeRetired() {
        for id in retired { requests.close(id) }
        retired = []
    }

    /// Closes one retired subscription before its replacement is live. Returns its use.
    mutating func closeLastRetired() -> SubscriptionUse? {
        guard let id = retired.popLast(), let use = requests.subscriptions[id]?.use else { return nil }
        requests.close(id)
        return use
    }

    /// Removes a retired subscription that the relay closed.
    mutating func retiredClosed(_ id: SubscriptionID) { retired.removeAll { $0 == id } }
}
