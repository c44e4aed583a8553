import Nostr
import Units

/// The keys that are watched at one relay, and what must still be read for them.
struct Backlog: Sendable {
    /// The most events that are asked for by id because the delegate did not deal with them. If there are more,
    /// everything is read again.
    static let missedLimit = 2_000
    /// Keys are read for together if their moments lie within this time.
    private static let window: Duration = .minutes(10)

    private let settings: SessionSettings
    private(set) var roster: Roster
    private(set) var progress = MarkProgress()
    /// By chunk, the second from which its established keys must be read for.
    private var gaps: [Int: Int64] = [:]
    /// Places of established keys that must be read for, each from its own moment.
    private var stragglers = ReadingQueue()
    /// Places of keys for which nothing was read yet.
    private var beginnings = ReadingQueue()
    private var own = OwnGap()
    /// Live events that the delegate did not deal with.
    private var missed = MissedEvents()
    /// Whether there was a connection before, so that the durable mark says nothing about keys that are added from now
    /// on.
    private var wasConnected = false

    init(settings: SessionSettings) {
        self.settings = settings
        roster = Roster(chunkSize: settings.keysPerFilter)
    }

    // MARK: Keys

    /// Watches a key, or watches it differently. Returns its place if its subscription must change.
    mutating func put(_ watched: Watched) -> UInt32? {
        if let known = roster.place(of: watched.key) { return change(known, watched) ? known : nil }
        var entry = RosterEntry(watched)
        if entry.isEstablished, wasConnected { entry.behindSince = entry.since }
        return roster.insert(entry)
    }

    /// Returns whether the subscription of the key must change.
    private mutating func change(_ place: UInt32, _ watched: Watched) -> Bool {
        roster.change(at: place) { entry in
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
        guard let chunk = roster.remove(key) else { return nil }
        if roster.size(ofChunk: chunk) == 0 { gaps[chunk] = nil }
        return chunk
    }

    /// Notes that a REQ names the keys of a chunk.
    mutating func asked(chunk: Int) { roster.change(chunk: chunk) { $1.flags.insert(.asked) } }

    /// Notes that the REQ for a chunk failed.
    mutating func askingFailed(chunk: Int) {
        roster.change(chunk: chunk) { if !$1.isLive { $1.flags.remove(.asked) } }
    }

    /// Keys may be read for from now on: their new events come live.
    mutating func becameLive(chunk: Int) {
        var places: [UInt32] = []
        roster.change(chunk: chunk) { place, _ in places.append(place) }
        for place in places { becameLive(place) }
    }

    /// The same for a chunk that is not subscribed to by name: its keys count as asked for.
    mutating func becameLiveUnasked(chunk: Int) {
        asked(chunk: chunk)
        becameLive(chunk: chunk)
    }

    /// The same for all keys.
    mutating func becameLiveUnasked() {
        var places: [UInt32] = []
        roster.changeAll { place, entry in
            entry.flags.insert(.asked)
            places.append(place)
        }
        for place in places { becameLive(place) }
    }

    /// The same for one key.
    mutating func becameLiveUnasked(_ place: UInt32) {
        _ = roster.change(at: place) { $0.flags.insert(.asked) }
        becameLive(place)
    }

    private mutating func becameLive(_ place: UInt32) {
        guard let entry = roster.entry(at: place), entry.flags.contains(.asked), !entry.isLive else { return }
        _ = roster.change(at: place) { $0.flags.insert(.live) }
        queue(place)
    }

    /// The keys of a chunk, or all, are live no longer. `staysAsked` says that another REQ that names them is already
    /// sent.
    mutating func notLive(chunk: Int?, staysAsked: Bool) {
        let forget: (UInt32, inout RosterEntry) -> Void = { _, entry in
            entry.flags.remove(staysAsked ? .live : [.live, .asked])
        }
        if let chunk { roster.change(chunk: chunk, forget) } else { roster.changeAll(forget) }
    }

    /// Queues a live key if stored events must be read for it.
    private mutating func queue(_ place: UInt32) {
        guard let entry = roster.entry(at: place), entry.isLive, entry.sweep == 0 else { return }
        if !entry.isEstablished {
            beginnings.append(place, moment: Int64(entry.since))
        } else if entry.behindSince != 0 {
            stragglers.append(place, moment: Int64(entry.behindSince))
        }
    }

    // MARK: Connections

    /// Begins a connection. `mark`, in seconds, is up to when everything was dealt with before, in an earlier process
    /// too.
    ///
    /// Established keys are read for since the mark, unless they have a moment of their own; for the others everything
    /// is read.
    mutating func begin(mark: Int64?, chunkSize: Int, isOwnWatched: Bool, now: Timestamp) {
        progress.distrust(now: now, to: (now - settings.catchUp).seconds)
        if let mark { progress.resume(from: mark) }
        if chunkSize != roster.chunkSize || roster.chunks.count > roster.chunksNeeded + 1 {
            roster.rearrange(chunkSize: chunkSize)
        }
        gaps = [:]
        stragglers.removeAll()
        beginnings.removeAll()
        let mark = progress.reached
        var chunks: Set<Int> = []
        roster.changeAll { place, entry in
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

    /// Ends a connection. Returns the new mark if one holds.
    mutating func end(isComplete: Bool, now: Timestamp) -> Int64? {
        defer { progress.dismiss() }
        return isComplete ? progress.conclude(now: now) : nil
    }

    /// Gives keys new places. Nothing is being read for them.
    mutating func rearrange(chunkSize: Int) {
        let gap = gaps.values.min()
        roster.rearrange(chunkSize: chunkSize)
        gaps = [:]
        if let gap {
            for chunk in roster.chunks { gaps[chunk] = gap }
        }
        stragglers.removeAll()
        beginnings.removeAll()
        var places: [UInt32] = []
        roster.changeAll { place, entry in
            entry.flags.remove(.asked)
            places.append(place)
        }
        for place in places { queue(place) }
    }

    // MARK: Gaps

    /// Begins or stops watching our own key.
    mutating func watchOwn(_ isWatched: Bool) {
        own.watch(isWatched, isNew: wasConnected)
    }

    /// Events for our own key must be read from that second on.
    mutating func ownGap(since: Int64) {
        progress.dismiss()
        own.open(since: since)
    }

    /// A sweep for our own key was given up.
    mutating func ownReadingAbandoned(since: Int64?) { own.abandoned(since: since) }

    /// From that second on, events for the keys of a chunk, or for all keys, may not have come.
    mutating func gap(chunk: Int?, since: Int64) {
        progress.dismiss()
        let miss: (UInt32, inout RosterEntry) -> Void = { _, entry in
            guard entry.sweep != 0 || entry.behindSince != 0 else { return }
            let since = UInt32(clamping: max(1, since))
            entry.behindSince = entry.behindSince == 0 ? since : min(entry.behindSince, since)
            if entry.isEstablished { entry.sweep = 0 }
        }
        if let chunk {
            roster.change(chunk: chunk, miss)
            read(chunk: chunk, since: since)
        } else {
            roster.changeAll(miss)
            for chunk in roster.chunks { read(chunk: chunk, since: since) }
        }
    }

    /// Queues a chunk to be read from that second on.
    mutating func read(chunk: Int, since: Int64) { gaps[chunk] = min(gaps[chunk] ?? since, since) }

    // MARK: Reading

    /// Whether nothing waits to be read. Keys for which nothing was read yet don't count.
    func isEmpty(ignoringOwn: Bool) -> Bool {
        gaps.isEmpty && stragglers.isEmpty && missed.isEmpty && (own.isEmpty || ignoringOwn)
    }

    /// What to read next. `isOpen` says whether the new events of a chunk come live or are polled.
    func nextPurpose(now: Timestamp, isOwnOpen: Bool, isOpen: (Int) -> Bool) -> Sweep.Purpose? {
        if missed.isDue(now) { return .again }
        if isOwnOpen, let purpose = own.purpose(mark: progress.reached) { return purpose }
        if let (chunk, since) = gaps.filter({ isOpen($0.key) }).min(by: { $0.key < $1.key }) {
            return .gap(chunk: chunk, since: since)
        }
        if !stragglers.isEmpty { return .stragglers }
        return beginnings.isEmpty ? nil : .beginning
    }

    /// When events that were not dealt with are read again.
    var missedAt: Timestamp? { missed.isEmpty ? nil : missed.retryAt }

    mutating func takeMissed() -> [EventID: Reading] { missed.take() }

    mutating func takeOwnGap() { own.take() }

    mutating func takeGap(chunk: Int) -> [RosterEntry] {
        gaps[chunk] = nil
        return roster.entries(ofChunk: chunk).filter { $0.isEstablished && $0.isLive && $0.behindSince == 0 }
    }

    mutating func takeStragglers(for sweep: UInt32) -> [RosterEntry] {
        let places = stragglers.next(atMost: roster.chunkSize, within: Self.window)
        return take(places, for: sweep) { $0.isEstablished && $0.behindSince != 0 }
    }

    mutating func takeBeginnings(for sweep: UInt32) -> [RosterEntry] {
        let places = beginnings.next(atMost: roster.chunkSize, within: Self.window)
        return take(places, for: sweep) { !$0.isEstablished }
    }

    /// Gives the keys at these places to a sweep, if they still wait for one.
    private mutating func take(
        _ places: [UInt32],
        for sweep: UInt32,
        where isWaiting: (RosterEntry) -> Bool
    ) -> [RosterEntry] {
        places.compactMap { place in
            guard let entry = roster.entry(at: place), entry.isLive, entry.sweep == 0, isWaiting(entry) else {
                return nil
            }
            _ = roster.change(at: place) { $0.sweep = sweep }
            return entry
        }
    }

    /// A sweep has read everything for these keys. Returns those that it still had.
    mutating func readingEnded(for keys: [PublicKey], by sweep: UInt32) -> [PublicKey] {
        keys.filter { key in
            guard let (place, entry) = entry(of: key, readBy: sweep) else { return false }
            let isBehind = !entry.isEstablished && entry.behindSince != 0
            _ = roster.change(at: place) { entry in
                entry.sweep = 0
                entry.flags.insert(.established)
                if !isBehind { entry.behindSince = 0 }
            }
            if isBehind, entry.isLive { stragglers.append(place, moment: Int64(entry.behindSince)) }
            return true
        }
    }

    /// A sweep was given up before it had read everything for these keys.
    mutating func readingAbandoned(for keys: [PublicKey], by sweep: UInt32) {
        for key in keys {
            guard let (place, _) = entry(of: key, readBy: sweep) else { continue }
            _ = roster.change(at: place) { $0.sweep = 0 }
            queue(place)
        }
    }

    private func entry(of key: PublicKey, readBy sweep: UInt32) -> (UInt32, RosterEntry)? {
        guard let place = roster.place(of: key), let entry = roster.entry(at: place), entry.sweep == sweep else {
            return nil
        }
        return (place, entry)
    }

    // MARK: Events

    /// Counts an event that is handed over. Returns its epoch.
    mutating func handedOver() -> UInt32 { progress.arrived() }

    mutating func settled(epoch: UInt32) { progress.settled(epoch) }

    /// Looks whether a new mark holds, and when to look again.
    mutating func advanceMark(isComplete: Bool, now: Timestamp) -> (mark: Int64?, next: Timestamp?) {
        guard isComplete else {
            progress.dismiss()
            return (nil, nil)
        }
        let mark = progress.advance(now: now, interval: settings.markInterval)
        return (mark, max(now + .seconds(1), progress.nextAt))
    }

    /// The delegate did not deal with a live event. An event without an id cannot be asked for.
    mutating func missed(_ id: EventID?, isOwnWatched: Bool, now: Timestamp) {
        progress.dismiss()
        guard let id else { return }
        missed.add(id, now: now, settings)
        guard missed.count > Self.missedLimit else { return }
        _ = missed.take()
        let since = progress.reached ?? 0
        for chunk in roster.chunks { read(chunk: chunk, since: since) }
        if isOwnWatched { ownReadingAbandoned(since: progress.reached) }
    }

    func isMissed(_ id: EventID) -> Bool { missed.contains(id) }

    /// A sweep for missed events was given up with these unread.
    mutating func missedAgain(_ events: [EventID: Reading]) { missed.putBack(events) }

    mutating func missedWereRead() { missed.wereRead() }
}
