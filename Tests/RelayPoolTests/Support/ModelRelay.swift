import Nostr

/// A relay as NIP-01 describes it, in memory, and with the ways of others where a test wants them.
struct ModelRelay {
    enum Message {
        case event(SubscriptionID, Event)
        case other(ReceivedRelayMessage)
    }

    var events: [Event] = []
    /// Events of one answer at most, whatever `limit` says.
    var cap = 500
    /// Whether `cap` is for the filters of a REQ together.
    var capsTogether = false
    var ignoresLimit = false
    var ignoresUntil = false
    /// Whether events of the second named in `until` are left out.
    var excludesUntil = false
    var ignoresSince = false
    var ignoresKinds = false
    var ignoresTags = false
    var endsStoredEvents = true
    /// Open subscriptions at most.
    var maxSubscriptions = 20
    /// Bytes of all open REQs together at most.
    var maxBytesOpen = Int.max
    /// What is said when they are more.
    var wordsForBytesOpen = "rate-limited: active subscriptions exceed max size"
    /// The refusal of a subscription, if it is refused.
    var refusal: ([Filter]) -> String? = { _ in nil }
    var publishRefusal: (Event) -> String? = { _ in nil }
    /// Whether answers to challenges are accepted; nil: they are not answered.
    var acceptsAuthentication: Bool? = true

    private(set) var open: [SubscriptionID: [Filter]] = [:]
    private(set) var requests: [(id: SubscriptionID, filters: [Filter])] = []
    private(set) var closes: [SubscriptionID] = []
    private(set) var published: [Event] = []
    private(set) var isAuthenticated = false
    private var sizes: [SubscriptionID: Int] = [:]
    private(set) var mostOpen = 0
    private(set) var mostBytesOpen = 0
    /// Bytes of all REQs.
    private(set) var bytesRequested = 0
    private(set) var refused: [SubscriptionID] = []

    mutating func disconnect() {
        open = [:]
        isAuthenticated = false
    }

    /// Ends a subscription from the relay's side.
    mutating func drop(_ id: SubscriptionID, _ message: String) -> [Message] {
        open[id] = nil
        return [.other(.closed(id, message: message))]
    }

    mutating func receive(_ command: ClientCommand) -> [Message] {
        switch command {
        case .close(let id):
            open[id] = nil
            closes.append(id)
            return []
        case .authenticate(let event):
            guard let accepts = acceptsAuthentication else { return [] }
            isAuthenticated = accepts
            return [.other(.ok(event.id, isAccepted: accepts, message: accepts ? "" : "restricted: not you"))]
        case .publish(let event):
            if let refusal = publishRefusal(event) {
                return [.other(.ok(event.id, isAccepted: false, message: refusal))]
            }
            published.append(event)
            return [.other(.ok(event.id, isAccepted: true, message: ""))] + arrive(event)
        case .request(let id, let filters):
            requests.append((id, filters))
            let (others, size) = (bytesOpen(except: id), command.json.count)
            bytesRequested += size
            if let refusal = refusal(filters) { return refuse(id, refusal) }
            if open[id] == nil, open.count >= maxSubscriptions { return refuse(id, "error: too many subscriptions") }
            if others + size > maxBytesOpen { return refuse(id, wordsForBytesOpen) }
            open[id] = filters
            sizes[id] = size
            mostOpen = max(mostOpen, open.count)
            mostBytesOpen = max(mostBytesOpen, others + size)
            let stored = (capsTogether ? storedTogether(filters) : filters.flatMap(stored)).map {
                Message.event(id, $0)
            }
            return stored + (endsStoredEvents ? [.other(.endOfStoredEvents(id))] : [])
        }
    }

    private mutating func refuse(_ id: SubscriptionID, _ message: String) -> [Message] {
        open[id] = nil
        refused.append(id)
        return [.other(.closed(id, message: message))]
    }

    /// Bytes of all open REQs.
    var bytesOpen: Int { bytesOpen(except: nil) }

    private func bytesOpen(except id: SubscriptionID?) -> Int {
        open.keys.reduce(0) { $0 + ($1 == id ? 0 : sizes[$1] ?? 0) }
    }

    /// Takes an event from somebody else.
    mutating func arrive(_ event: Event) -> [Message] {
        if !(20_000..<30_000).contains(event.kind.rawValue) { events.append(event) }
        return open.filter { $0.value.contains { $0.matches(event) } }.keys.map { .event($0, event) }
    }

    private func storedTogether(_ filters: [Filter]) -> [Event] {
        let matching = Set(filters.flatMap(stored)).sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        return Array(matching.prefix(cap))
    }

    private func stored(_ filter: Filter) -> [Event] {
        var filter = filter
        if ignoresUntil { filter.until = nil }
        if excludesUntil { filter.until = filter.until.map { $0 - 1 } }
        if ignoresSince { filter.since = nil }
        if ignoresKinds { filter.kinds = nil }
        if ignoresTags { filter.tags = [:] }
        let matching = events.filter(filter.matches).sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        return ignoresLimit ? matching : Array(matching.prefix(min(cap, filter.limit ?? cap)))
    }
}
