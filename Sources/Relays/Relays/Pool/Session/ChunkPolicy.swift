import Core

/// Decides how the router asks one relay for new events of the watched keys: by key, with a subscription for each chunk
/// of keys, or by kind only, for all keys.
///
/// The router asks by kind if the relay allows fewer chunks than there are. If the relay refuses that too, it gets as
/// many chunks as it allows, and the router polls the stored events of the others. A relay that finds a chunk too large
/// gets smaller ones, on this connection and later ones.
struct ChunkPolicy: Sendable {
    enum Change: Sendable {
        /// One subscription by kind replaces the chunks.
        case toKinds
        /// Chunks replace the subscription by kind.
        case toKeys
        /// Still by key; chunks without a subscription get one or are polled.
        case moreChunks
    }

    /// The smallest chunk that the router uses.
    private static let smallestChunk = 50

    private(set) var isAskedByKind = false
    /// The relay refuses requests by kind.
    private(set) var isByKindRefused = false
    /// The maximum number of keys in a chunk, after the relay refused larger ones.
    private var largestChunk: Int
    private let pollInterval: Duration
    private var pollAt: Timestamp?

    init(keysPerFilter: Int, pollInterval: Duration) {
        largestChunk = keysPerFilter
        self.pollInterval = pollInterval
    }

    /// Starts a connection. The largest chunk size that the relay accepts is kept.
    mutating func begin() {
        isAskedByKind = false
        isByKindRefused = false
        pollAt = nil
    }

    // MARK: By keys or by kinds

    /// Returns the change to make for these keys if up to `room` chunks may be live, or nil for none. Returning to keys
    /// requires a margin.
    mutating func decide(_ keyTable: KeyTable, room: Int) -> Change? {
        if !isAskedByKind, keyTable.chunks.count > room, !isByKindRefused {
            isAskedByKind = true
            return .toKinds
        }
        if isAskedByKind, isByKindRefused || keyTable.count * 4 <= room * keyTable.chunkSize * 3 {
            isAskedByKind = false
            return .toKeys
        }
        return !isAskedByKind && isByKindRefused ? .moreChunks : nil
    }

    /// Notes that the relay refuses requests by kind. The caller must then call ``decide(_:room:)``.
    mutating func refusedByKind() { isByKindRefused = true }

    // MARK: Chunks

    /// Returns how many chunks of `size` keys may be live next to `own` subscriptions for the router's own key. Some
    /// capacity is reserved for catching up, fetching and replacing.
    static func room(ofSize size: Int, beside own: Int, in capacity: RelayCapacity) -> Int {
        let count = capacity.subscriptions
        let reserve = count >= 8 ? 3 : count >= 5 ? 2 : 1
        let bytes = capacity.bytes - capacity.freeBytes
        return max(1, min(count - reserve - own, bytes / FilterPlan.length(ofLive: size)))
    }

    /// Returns how many keys fit into a chunk whose REQ may have up to `messageLength` bytes.
    func keys(inMessageOf messageLength: Int) -> Int {
        FilterPlan.keys(inMessageOf: messageLength, filters: FilterPlan.liveFilters, atMost: largestChunk)
    }

    /// Notes that chunks of `size` are too large for the relay. Returns the size to use instead, or nil if there is no
    /// smaller one.
    mutating func shrink(from size: Int) -> Int? {
        guard size > Self.smallestChunk else { return nil }
        let smaller = max(Self.smallestChunk, size / 2)
        largestChunk = min(largestChunk, smaller)
        return smaller
    }

    // MARK: Polling

    /// Starts polling.
    mutating func poll(from now: Timestamp) { pollAt = pollAt ?? now + pollInterval }

    /// When polled chunks are read next; nil if no chunk is polled.
    var nextPoll: Timestamp? { isByKindRefused ? pollAt : nil }

    /// Returns the second from which polled chunks must be read now, or nil if polling is not due.
    mutating func takePoll(now: Timestamp) -> Int64? {
        guard let due = nextPoll, now >= due else { return nil }
        pollAt = now + pollInterval
        return (due - pollInterval).seconds
    }
}
