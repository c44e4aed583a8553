import Core
import Nostr

/// The keys that are watched at one relay, and the stored events that must still be read for them.
struct Backlog: Sendable {
    /// Up to this many events that the delegate did not process are requested by id. If there are more, everything is
    /// read again.
    static let missedLimit = 2_000
    /// One sweep reads for several keys if their moments are within this time.
    private static let window: Duration = .minutes(10)

    private let settings: SessionSettings
    private(set) var keyTable: KeyTable
    /// The second up to which every event was processed. Counts events that were passed to the delegate and settled.
    var progress = MarkProgress()
    /// For each chunk, the second from which events must be read for its established keys.
    private var gaps: [Int: Int64] = [:]
    /// Places of established keys whose events must be read, each from its own second.
    private var stragglers = ReadingQueue()
    /// Places of keys whose stored events have not been read yet.
    private var beginnings = ReadingQueue()
    /// Stored events that must be read for the router's own key.
    var own = OwnGap()
    /// Live events that the delegate did not process.
    var missed = MissedEvents()
    /// Whether there was an earlier connection. If so, the durable mark does not cover keys that are added from now on.
    private var wasConnected = false

    init(settings: SessionSettings) {
        self.settings = settings
        keyTable = KeyTable(chunkSize: settings.keysPerFilter)
    }

    // MARK: Keys

    /// Adds or changes a watched key. Returns its place if its subscription must change.
    mutating func put(_ watched: Watched) -> UInt32? {
        if let known = keyTable.place(of: watched.key) { return change(known, watched) ? known : nil }
        var entry = KeyEntry(watched)
        if entry.isEstablished, wasConnected { entry.behindSince = entry.since }
        return keyTable.insert(entry)
    }

    /// Returns whether the subscription of the key must change.
    private mutating func change(_ place: UInt32, _ watched: Watched) -> Bool {
        keyTable.change(at: place) { entry in
            let isMore = !watched.interest.isSubset(of: entry.interest)
            let isOther = watched.interest != entry.interest
            entry.interest = watched.interest
            if !isMore {
                if !entry.isEstablished, entry.sweep == 0 { entry.since = UInt32(clamping: max(1, watched.since)) }
                return isOther
            }
            let moment = UInt32(clamping: max(1, watched.since))
            if watched.isEstablished {
                entry.behindSince = entry.behindSince == 0 ? moment : min(moment, entry.behindSince)
                entry.since = min(entry.since, moment)
                entry.flags = [.used, .established]
            } else {
                entry.since = moment
                entry.flags = .used
            }
            entry.sweep = 0
            return true
        } ?? false
    }

    /// Stops watching a key. Returns the chunk it was in.
    mutating func remove(_ key: PublicKey) -> Int? {
        guard let chunk = keyTable.remove(key) else { return nil }
        if keyTable.size(ofChunk: chunk) == 0 { gaps[chunk] = nil }
        return chunk
    }

    /// Notes that a REQ names the keys of a chunk.
    mutating func asked(chunk: Int) { keyTable.change(chunk: chunk) { $1.flags.insert(.asked) } }

    /// Notes that the REQ for a chunk failed.
    mutating func askingFailed(chunk: Int) {
        keyTable.change(chunk: chunk) { if !$1.isLive { $1.flags.remove(.asked) } }
    }

    /// Marks the keys of a chunk, or all keys, as live: their stored events may now be read. If `isUnnamed`, no REQ
    /// names the keys, and they count as asked for.
    mutating func becameLive(chunk: Int?, isUnnamed: Bool = false) {
        var places: [UInt32] = []
        keyTable.change(chunk: chunk) { place, _ in places.append(place) }
        for place in places { becameLive(place, isUnnamed: isUnnamed) }
    }

    /// Does the same for one key.
    mutating func becameLive(_ place: UInt32, isUnnamed: Bool) {
        let isNew = keyTable.change(at: place) { entry in
            if isUnnamed { entry.flags.insert(.asked) }
            guard entry.flags.contains(.asked), !entry.isLive else { return false }
            entry.flags.insert(.live)
            return true
        }
        if isNew == true { queue(place) }
    }

    /// Marks the keys of a chunk, or all keys, as not live. `staysAsked`: another REQ that names them is already sent.
    mutating func notLive(chunk: Int?, staysAsked: Bool) {
        keyTable.change(chunk: chunk) { $1.flags.remove(staysAsked ? .live : [.live, .asked]) }
    }

    /// Queues a live key if stored events must be read for it.
    private mutating func queue(_ place: UInt32) {
        guard let entry = keyTable.entry(at: place), entry.isLive, entry.sweep == 0 else { return }
        if !entry.isEstablished {
            beginnings.append(place, moment: Int64(entry.since))
        } else if entry.behindSince != 0 {
            stragglers.append(place, moment: Int64(entry.behindSince))
        }
    }

    // MARK: Connections

    /// Starts a connection. `mark`, in seconds, is the second up to which every event was processed, including by an
    /// earlier process.
    ///
    /// Events of established keys are read since the mark, or since the key's own moment if it has one. For the others
    /// everything is read.
    mutating func begin(mark: Int64?, chunkSize: Int, isOwnWatched: Bool, now: Timestamp) {
        progress.distrust(now: now, to: (now - settings.catchUp).seconds)
        if let mark { progress.resume(from: mark) }
        if chunkSize != keyTable.chunkSize || keyTable.chunks.count > keyTable.chunksNeeded + 1 {
            keyTable.rearrange(chunkSize: chunkSize)
        }
        gaps = [:]
        stragglers.removeAll()
        beginnings.removeAll()
        let mark = progress.reached
        var chunks: Set<Int> = []
        keyTable.change(chunk: nil) { place, entry in
            entry.flags.remove([.asked, .live])
            entry.sweep = 0
            guard entry.isEstablished else { return }
            if entry.behindSince == 0, mark.map({ Int64(entry.since) > $0 }) ?? true { entry.behindSince = entry.since }
            if entry.behindSince == 0 { chunks.insert(Int(place) / chunkSize) }
        }
        for chunk in chunks { gaps[chunk] = mark }
        if isOwnWatched { own.begin(mark: mark) }
        wasConnected = true
    }

    /// Ends a connection. Returns the new mark if there is one.
    mutating func end(isComplete: Bool, now: Timestamp) -> Int64? {
        defer { progress.dismiss() }
        return isComplete ? progress.conclude(now: now) : nil
    }

    /// Gives keys new places. No sweep may be reading for them.
    mutating func rearrange(chunkSize: Int) {
        let gap = gaps.values.min()
        keyTable.rearrange(chunkSize: chunkSize)
        gaps = [:]
        if let gap {
            for chunk in keyTable.chunks { gaps[chunk] = gap }
        }
        stragglers.removeAll()
        beginnings.removeAll()
        var places: [UInt32] = []
        keyTable.change(chunk: nil) { place, entry in
            entry.flags.remove(.asked)
            places.append(place)
        }
        for place in places { queue(place) }
    }

    // MARK: Gaps

    /// Starts or stops watching the router's own key.
    mutating func watchOwn(_ isWatched: Bool) {
        own.watch(isWatched, isNew: wasConnected)
    }

    /// Notes that events for the router's own key must be read from that second on.
    mutating func ownGap(since: Int64) {
        progress.dismiss()
        own.open(since: since)
    }

    /// Notes that events for the keys of a chunk, or for all keys, may be missing from that second on.
    mutating func gap(chunk: Int?, since: Int64) {
        progress.dismiss()
        keyTable.change(chunk: chunk) { _, entry in
            guard entry.sweep != 0 || entry.behindSince != 0 else { return }
            let since = UInt32(clamping: max(1, since))
            entry.behindSince = entry.behindSince == 0 ? since : min(entry.behindSince, since)
            if entry.isEstablished { entry.sweep = 0 }
        }
        for chunk in chunk.map({ [$0] }) ?? keyTable.chunks { read(chunk: chunk, since: since) }
    }

    /// Queues a chunk for reading from that second on.
    mutating func read(chunk: Int, since: Int64) { gaps[chunk] = min(gaps[chunk] ?? since, since) }

    // MARK: Reading

    /// Whether no reading is queued. Keys for which nothing was read yet don't count.
    func isEmpty(ignoringOwn: Bool) -> Bool {
        gaps.isEmpty && stragglers.waiting.isEmpty && missed.events.isEmpty && (own.isEmpty || ignoringOwn)
    }

    /// Returns the next reading. `isOpen` returns whether the new events of a chunk come live or are polled.
    func nextPurpose(now: Timestamp, isOwnOpen: Bool, isOpen: (Int) -> Bool) -> Sweep.Purpose? {
        if missed.isDue(now) { return .again }
        if isOwnOpen, let purpose = own.purpose(mark: progress.reached) { return purpose }
        if let (chunk, since) = gaps.filter({ isOpen($0.key) }).min(by: { $0.key < $1.key }) {
            return .gap(chunk: chunk, since: since)
        }
        if !stragglers.waiting.isEmpty { return .stragglers }
        return beginnings.waiting.isEmpty ? nil : .beginning
    }

    /// When unprocessed events are read again.
    var missedAt: Timestamp? { missed.events.isEmpty ? nil : missed.retryAt }

    mutating func takeGap(chunk: Int) -> [KeyEntry] {
        gaps[chunk] = nil
        return keyTable.entries(ofChunk: chunk).filter { $0.isEstablished && $0.isLive && $0.behindSince == 0 }
    }

    mutating func takeStragglers(for sweep: UInt32) -> [KeyEntry] {
        let places = stragglers.next(atMost: keyTable.chunkSize, within: Self.window)
        return take(places, for: sweep) { $0.isEstablished && $0.behindSince != 0 }
    }

    mutating func takeBeginnings(for sweep: UInt32) -> [KeyEntry] {
        let places = beginnings.next(atMost: keyTable.chunkSize, within: Self.window)
        return take(places, for: sweep) { !$0.isEstablished }
    }

    /// Gives the keys at these places to a sweep, if they still wait for one.
    private mutating func take(
        _ places: [UInt32],
        for sweep: UInt32,
        where isWaiting: (KeyEntry) -> Bool
    ) -> [KeyEntry] {
        places.compactMap { place in
            guard let entry = keyTable.entry(at: place), entry.isLive, entry.sweep == 0, isWaiting(entry) else {
                return nil
            }
            _ = keyTable.change(at: place) { $0.sweep = sweep }
            return entry
        }
    }

    /// Notes that a sweep read everything for these keys. Returns the keys that were still assigned to it.
    mutating func readingEnded(for keys: [PublicKey], by sweep: UInt32) -> [PublicKey] {
        keys.filter { key in
            guard let (place, entry) = entry(of: key, readBy: sweep) else { return false }
            let isBehind = !entry.isEstablished && entry.behindSince != 0
            _ = keyTable.change(at: place) { entry in
                entry.sweep = 0
                entry.flags.insert(.established)
                if !isBehind { entry.behindSince = 0 }
            }
            if isBehind, entry.isLive { stragglers.append(place, moment: Int64(entry.behindSince)) }
            return true
        }
    }

    /// Notes that a sweep was abandoned before it had read everything for these keys.
    mutating func readingAbandoned(for keys: [PublicKey], by sweep: UInt32) {
        for key in keys {
            guard let (place, _) = entry(of: key, readBy: sweep) else { continue }
            _ = keyTable.change(at: place) { $0.sweep = 0 }
            queue(place)
        }
    }

    private func entry(of key: PublicKey, readBy sweep: UInt32) -> (UInt32, KeyEntry)? {
        guard let place = keyTable.place(of: key), let entry = keyTable.entry(at: place), entry.sweep == sweep else {
            return nil
        }
        return (place, entry)
    }

    // MARK: Events

    /// Checks whether a new mark holds. Returns it, and when to check again.
    mutating func advanceMark(isComplete: Bool, now: Timestamp) -> (mark: Int64?, next: Timestamp?) {
        guard isComplete else {
            progress.dismiss()
            return (nil, nil)
        }
        let mark = progress.advance(now: now, interval: settings.markInterval)
        return (mark, max(now + .seconds(1), progress.nextAt))
    }

    /// Notes a live event that the delegate did not process. An event without an id cannot be requested again.
    mutating func missed(_ id: EventID?, isOwnWatched: Bool, now: Timestamp) {
        progress.dismiss()
        guard let id else { return }
        missed.add(id, now: now, settings)
        guard missed.events.count > Self.missedLimit else { return }
        _ = missed.take()
        let since = progress.reached ?? 0
        for chunk in keyTable.chunks { read(chunk: chunk, since: since) }
        if isOwnWatched { own.abandoned(since: progress.reached) }
    }

}

/// Live events that the delegate did not process. They are read again after a pause.
struct MissedEvents: Sendable {
    private(set) var events: [EventID: Reading] = [:]
    private(set) var retryAt = Timestamp.epoch
    private var failures = 0

    func isDue(_ now: Timestamp) -> Bool { !events.isEmpty && retryAt <= now }

    mutating func add(_ id: EventID, now: Timestamp, _ settings: SessionSettings) {
        if events.isEmpty {
            retryAt = now + settings.pause(after: failures)
            failures += 1
        }
        events[id] = .stored
    }

    mutating func take() -> [EventID: Reading] {
        defer { events = [:] }
        return events
    }

    mutating func putBack(_ others: [EventID: Reading]) { events.merge(others) { one, _ in one } }

    mutating func wereRead() { failures = 0 }
}

/// A queue of places whose keys have stored events to read, oldest moment first.
struct ReadingQueue: Sendable {
    struct Waiting: Sendable {
        let place: UInt32
        let moment: Int64
    }

    /// Newest first if sorted, so that the oldest is removed from the end.
    private(set) var waiting: [Waiting] = []
    private var isSorted = true

    /// `moment` is in seconds since 1970.
    mutating func append(_ place: UInt32, moment: Int64) {
        if let last = waiting.last, last.moment < moment { isSorted = false }
        waiting.append(Waiting(place: place, moment: moment))
    }

    mutating func removeAll() {
        waiting = []
        isSorted = true
    }

    /// Removes the oldest places whose moments are within `span`. One sweep reads for all of them.
    mutating func next(atMost count: Int, within span: Duration) -> [UInt32] {
        if !isSorted {
            waiting.sort { $0.moment > $1.moment }
            isSorted = true
        }
        guard let first = waiting.last?.moment else { return [] }
        var places: [UInt32] = []
        while places.count < count, let next = waiting.last, next.moment - first <= span.seconds {
            places.append(next.place)
            waiting.removeLast()
        }
        return places
    }
}
