import Nostr

/// The live subscriptions of a connection by what they are for, and former ones that stay open until others have taken
/// over.
struct LiveTable: Sendable {
    typealias Name = LiveSubscription.Name

    private(set) var all: [Name: LiveSubscription] = [:]
    private var retired: [SubscriptionID] = []

    subscript(name: Name) -> LiveSubscription? {
        get { all[name] }
        set { all[name] = newValue }
    }

    var names: [Name] { Array(all.keys) }
    var count: Int { all.count }
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
    mutating func removeAll() { self = LiveTable() }

    /// Closes a subscription that is not needed any more.
    mutating func abandon(_ name: Name, _ requests: inout RelayRequests) {
        guard let subscription = all.removeValue(forKey: name) else { return }
        requests.close(subscription.open)
        requests.close(subscription.pending)
    }

    // MARK: Former ones

    /// Leaves a subscription open, if it is, until others have taken over.
    mutating func retire(_ name: Name, _ requests: inout RelayRequests) {
        guard let subscription = all.removeValue(forKey: name) else { return }
        requests.close(subscription.pending)
        guard let open = subscription.open, requests.subscriptions[open] != nil else { return }
        requests.reuse(open, as: .retired(name))
        retired.append(open)
    }

    /// Keys have other places, so that former names mean nothing any more.
    func renameRetired(_ requests: inout RelayRequests) {
        for id in retired { requests.reuse(id, as: .retired(nil)) }
    }

    /// Others have taken over.
    mutating func closeRetired(_ requests: inout RelayRequests) {
        for id in retired { requests.close(id) }
        retired = []
    }

    /// Closes one before others have taken over. Returns what it was.
    mutating func closeLastRetired(_ requests: inout RelayRequests) -> SubscriptionUse? {
        guard let id = retired.popLast(), let use = requests.subscriptions[id]?.use else { return nil }
        requests.close(id)
        return use
    }

    /// The relay closed one.
    mutating func retiredClosed(_ id: SubscriptionID) { retired.removeAll { $0 == id } }
}
