import Nostr

/// The subscriptions of one connection that new events can match. Others are not kept: clients ask every relay for
/// everything.
struct LiveSubscriptions {
    private var subscriptions: [(id: SubscriptionID, filters: [Filter], values: Int)] = []
    private var values = 0

    /// Takes a subscription, which must not be open. Returns false, and takes nothing, when the filters of all would
    /// hold more than `limit` values.
    mutating func open(_ id: SubscriptionID, _ filters: [Filter], limit: Int) -> Bool {
        let filters = filters.filter(Self.canMatch)
        let count = filters.reduce(0) { $0 + Self.values(in: $1) }
        guard values + count <= limit else { return false }
        guard !filters.isEmpty else { return true }
        values += count
        subscriptions.append((id, filters, count))
        return true
    }

    /// Forgets a subscription, if it is open.
    mutating func close(_ id: SubscriptionID) {
        guard let index = subscriptions.firstIndex(where: { $0.id == id }) else { return }
        values -= subscriptions.remove(at: index).values
    }

    /// The subscriptions that want `event`, in the order in which they were opened.
    func wanting(_ event: Event) -> [SubscriptionID] {
        subscriptions.compactMap { subscription in
            subscription.filters.contains { Self.wants($0, event) } ? subscription.id : nil
        }
    }

    private static func wants(_ filter: Filter, _ event: Event) -> Bool {
        switch event.kind {
        case .remoteSigning: filter.tags["p"] != nil && filter.matches(event)
        case .notificationRelay: filter.matches(event)
        default: false
        }
    }

    private static func canMatch(_ filter: Filter) -> Bool {
        filter.wants(.notificationRelay) || filter.wants(.remoteSigning) && filter.tags["p"]?.isEmpty == false
    }

    private static func values(in filter: Filter) -> Int {
        let sets = [filter.ids?.count, filter.authors?.count, filter.kinds?.count].compactMap { $0 }
        return 1 + sets.reduce(0, +) + filter.tags.values.reduce(0) { $0 + $1.count }
    }
}

extension Filter {
    fileprivate func wants(_ kind: Kind) -> Bool {
        kinds?.contains(kind) ?? true
    }
}
