import Core

/// How one relay is asked for new events of the watched keys: by key, with a subscription for each chunk of them, or by
/// kind only, for all keys.
///
/// By kind where the relay allows fewer chunks than there are. One that refuses that as well gets as many chunks as it
/// allows; the others are polled: their stored events are read from time to time. A relay that finds a chunk too large
/// gets smaller ones, on this connection and later.
struct ChunkPolicy: Sendable {
    enum Change: Sendable {
        /// The chunks make way for one subscription by kind.
        case toKinds
        /// The other way round.
        case toKeys
        /// By key as before; chunks without a subscription get one, or are polled.
        case moreChunks
    }

    /// Chunks are not made smaller than this.
    private static let smallestChunk = 50

    private(set) var isAskedByKind = false
    /// The relay refuses requests by kind.
    private(set) var isByKindRefused = false
    /// Keys in a chunk at most, after the relay refused larger ones.
    private var largestChunk: Int
    private let pollInterval: Duration
    private var pollAt: Timestamp?

    init(keysPerFilter: Int, pollInterval: Duration) {
        largestChunk = keysPerFilter
        self.pollInterval = pollInterval
    }

    /// A connection begins. What the relay found too large, it finds too large again.
    mutating func begin() {
        isAskedByKind = false
        isByKindRefused = false
        pollAt = nil
    }

    // MARK: By keys or by kinds

    /// Decides for these keys, of which `room` chunks may be live. Going back to keys has some margin. Nil: nothing
    /// changes.
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

    /// The relay will not be asked by kind. ``decide(_:room:)`` follows.
    mutating func refusedByKind() { isByKindRefused = true }

    // MARK: Chunks

    /// Chunks of `size` keys that may be live, beside `own` subscriptions for our own key. Some room is kept for
    /// catching up, fetching and replacing.
    static func room(ofSize size: Int, beside own: Int, in capacity: RelayCapacity) -> Int {
        let count = capacity.subscriptions
        let reserve = count >= 8 ? 3 : count >= 5 ? 2 : 1
        let bytes = capacity.bytes - capacity.freeBytes
        return max(1, min(count - reserve - own, bytes / FilterPlan.length(ofLive: size)))
    }

    /// Keys of a chunk, whose REQ is to be no longer than `messageLength`.
    func keys(inMessageOf messageLength: Int) -> Int {
        FilterPlan.keys(inMessageOf: messageLength, filters: FilterPlan.liveFilters, atMost: largestChunk)
    }

    /// Chunks of `size` are too large for the relay. Returns the size to use instead; nil: there is no smaller one.
    mutating func shrink(from size: Int) -> Int? {
        guard size > Self.smallestChunk else { return nil }
        let smaller = max(Self.smallestChunk, size / 2)
        largestChunk = min(largestChunk, smaller)
        return smaller
    }

    // MARK: Polling

    /// Some chunks are polled from now on.
    mutating func poll(from now: Timestamp) { pollAt = pollAt ?? now + pollInterval }

    /// When polled chunks are read next; nil: there are none.
    var nextPoll: Timestamp? { isByKindRefused ? pollAt : nil }

    /// Since when polled chunks are to be read now, in seconds; nil: not now.
    mutating func takePoll(now: Timestamp) -> Int64? {
        guard let due = nextPoll, now >= due else { return nil }
        pollAt = now + pollInterval
        return (due - pollInterval).seconds
    }
}
