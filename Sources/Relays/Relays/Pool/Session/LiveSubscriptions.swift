import Core
import Nostr

/// The subscriptions to new events at one relay: for the router's own key, and for the watched keys, in chunks or by
/// kind as a ``ChunkPolicy`` decides.
///
/// If a relay is asked by kind, the match index selects the events that concern watched keys. If capacity allows, the
/// replacement of a subscription opens before the old one is closed. Sweeps read stored events (``Sweep``).
struct LiveSubscriptions {
    typealias Name = LiveSubscription.Name

    /// After this number of failures the relay is assumed to refuse requests by kind silently.
    private static let maxFailuresByKind = 5
    private static let maxFailuresAtUsers = 3

    private let requests: RelayRequests
    private let catchUp: CatchUp
    private let settings: SessionSettings
    /// The plan for the subscriptions of this connection.
    private(set) var plan: FilterPlan
    /// The requests for the router's own key.
    private(set) var own: OwnWatch
    private(set) var policy: ChunkPolicy
    private(set) var table: LiveTable
    /// Whether a live subscription waits for capacity.
    private(set) var waitsForRoom = false

    init(_ catchUp: CatchUp, _ requests: RelayRequests) {
        self.catchUp = catchUp
        self.requests = requests
        settings = requests.settings
        table = LiveTable(requests)
        plan = FilterPlan(settings, withWraps: true)
        own = OwnWatch(keys: settings.ownKeys)
        policy = ChunkPolicy(keysPerFilter: settings.keysPerFilter, pollInterval: settings.pollInterval)
    }

    // MARK: State

    private var keyTable: KeyTable { catchUp.backlog.keyTable }
    var isOwnOpen: Bool { table[.own]?.open != nil }
    /// Whether the relay currently refuses registrations for the router's own key.
    var isOwnGivenUp: Bool { table[.own]?.isGivenUp ?? true }

    func isPending(_ name: Name, _ id: SubscriptionID) -> Bool { table[name]?.pending == id }

    /// Whether new events for the keys of a chunk come live or are polled.
    func isOpen(chunk: Int) -> Bool {
        table[policy.isAskedByKind ? .kinds : .chunk(chunk)]?.open != nil || isPolled(chunk)
    }

    /// Whether a chunk gets no subscription, so that its stored events are polled.
    private func isPolled(_ chunk: Int) -> Bool {
        guard policy.isByKindRefused, !policy.isAskedByKind, table[.chunk(chunk)] == nil else { return false }
        return table.all.count - ownSubscriptions >= chunkCapacity
    }

    /// The number of chunks that may be live.
    private var chunkCapacity: Int {
        ChunkPolicy.room(ofSize: keyTable.chunkSize, beside: ownSubscriptions, in: requests.capacity)
    }

    /// The number of subscriptions for the router's own key.
    private var ownSubscriptions: Int { own.place == .operators || table[.own] != nil ? 1 : 0 }

    /// The maximum number of keys in one live subscription.
    var keysPerChunk: Int { policy.keys(inMessageOf: requests.messageLength) }

    // MARK: Connections

    /// Starts a connection, with settings that may have changed. After the backlog has started too, the caller must
    /// call ``openAll()``.
    mutating func begin(_ settings: SessionSettings) {
        plan = FilterPlan(settings, withWraps: true)
        own.begin(at: own.place, now: requests.now)
        table.removeAll()
        policy.begin()
    }

    mutating func openAll() {
        openWhatFits()
        if !policy.isAskedByKind { openChunks() }
    }

    /// Ends a connection. `isMessageTooLong`: a message from the router was too long for the relay.
    mutating func end(isMessageTooLong: Bool) {
        if isMessageTooLong { _ = policy.shrink(from: keyTable.chunkSize) }
        table.removeAll()
    }

    // MARK: Watched keys

    /// Watches the router's own key at a relay of that type, or stops watching it if `place` is nil.
    mutating func watchOwnKey(at place: OwnWatch.Place?) {
        table.abandon(.own)
        own.begin(at: place, now: requests.now)
    }

    /// Watches the key at that place, which was added or changed.
    mutating func include(_ place: UInt32) {
        let chunk = keyTable.chunk(of: place)
        if policy.isAskedByKind {
            if table[.kinds]?.open != nil { catchUp.backlog.becameLive(place, isUnnamed: true) }
        } else if isPolled(chunk) {
            catchUp.backlog.becameLive(place, isUnnamed: true)
        } else {
            // Events before the next REQ are read when that is open.
            table.open(.chunk(chunk)) { $0.replace(now: requests.now, settings) }
        }
    }

    /// Notes that a key of that chunk is no longer watched.
    mutating func exclude(from chunk: Int) {
        guard !policy.isAskedByKind else { return }
        if keyTable.size(ofChunk: chunk) == 0 {
            table.abandon(.chunk(chunk))
        } else {
            table[.chunk(chunk)]?.prune(by: requests.now + settings.removalDelay)
        }
    }

    /// Opens the subscriptions for the watched keys, by key or by kind.
    mutating func openWhatFits() {
        // At a relay of users, the router's own key must not use up the capacity for their keys.
        if table[.own] == nil, own.place == .operators || isRoomForOwn {
            table[.own] = LiveSubscription(dueAt: requests.now)
        }
        chooseMode()
    }

    private var isRoomForOwn: Bool {
        own.place == .users && keyTable.count > 0 && requests.capacity.subscriptions >= 5
    }

    // MARK: By keys or by kinds

    /// Asks by key or by kind, according to the policy.
    mutating func chooseMode() {
        switch policy.decide(keyTable, room: chunkCapacity) {
        case .toKinds:
            for name in table.names where name != .own { table.retire(name) }
            table[.kinds] = LiveSubscription(dueAt: requests.now)
        case .toKeys:
            table.retire(.kinds)
            rearrange(chunkSize: keyTable.chunkSize)
            openChunks()
        case .moreChunks:
            openChunks()
        case nil:
            break
        }
    }

    /// Schedules a subscription for each chunk, up to the relay's limit, and polls the others.
    private mutating func openChunks() {
        for chunk in keyTable.chunks where table[.chunk(chunk)] == nil {
            if isPolled(chunk) {
                poll(chunk)
            } else {
                table[.chunk(chunk)] = LiveSubscription(dueAt: requests.now)
            }
        }
    }

    private mutating func poll(_ chunk: Int) {
        catchUp.backlog.becameLive(chunk: chunk, isUnnamed: true)
        policy.poll(from: requests.now)
    }

    /// Queues the reading of polled chunks when a poll is due.
    mutating func advancePolling() {
        let since = policy.takePoll(now: requests.now)
        if let next = policy.nextPoll { requests.wake(at: next) }
        guard let since else { return }
        for chunk in keyTable.chunks where isPolled(chunk) {
            catchUp.backlog.read(chunk: chunk, since: since)
        }
    }

    /// Uses smaller chunks. Unfinished readings start again. Returns false if the chunks already have the minimum size.
    mutating func shrinkChunks() -> Bool {
        guard let size = policy.shrink(from: keyTable.chunkSize) else { return false }
        useChunks(of: size)
        return true
    }

    private mutating func useChunks(of size: Int) {
        for name in table.names where name.chunk != nil { table.retire(name) }
        rearrange(chunkSize: size)
        if policy.isAskedByKind { return }
        chooseMode()
        if !policy.isAskedByKind { openChunks() }
    }

    private mutating func rearrange(chunkSize: Int) {
        catchUp.rearrange(chunkSize: chunkSize)
        table.renameRetired()
    }

    /// Reduces the requests after the capacity became smaller.
    mutating func fit() {
        if own.place == .users, !isRoomForOwn {
            table.abandon(.own)
        }
        let size = keysPerChunk
        if size < keyTable.chunkSize { useChunks(of: size) }
        chooseMode()
        guard !policy.isAskedByKind else { return }
        var chunks = keyTable.chunks.filter { table[.chunk($0)] != nil }
        chunks.sort { (table[.chunk($0)]?.open == nil ? 1 : 0, $0) < (table[.chunk($1)]?.open == nil ? 1 : 0, $1) }
        for chunk in chunks.dropFirst(chunkCapacity) {
            lost(.chunk(chunk))
            table.abandon(.chunk(chunk))
            poll(chunk)
        }
    }

    // MARK: Sending

    /// Sends due REQs, and counts REQs without a response as failed.
    mutating func advance() {
        for (name, subscription) in table.all {
            guard let deadline = subscription.deadline(settings.answer) else { continue }
            guard requests.now >= deadline else {
                requests.wake(at: deadline)
                continue
            }
            requests.countUnanswered()
            requests.close(subscription.pending)
            if subscription.open == subscription.pending { lost(name) }
            failed(name, pause: settings.pause(after: subscription.failures))
        }
        waitsForRoom = false
        let waiting = table.all.compactMap { name, subscription in subscription.nextRequest.map { (name, $0) } }
        for (name, moment) in waiting.sorted(by: { ($0.1, $0.0.rank) < ($1.1, $1.0.rank) }) {
            guard moment <= requests.now else {
                requests.wake(at: moment)
                break
            }
            guard hasPlace(for: name) else { continue }
            guard requests.takeTurn() else { break }
            send(name, replacing: makePlace(for: name))
        }
        if table.hasRetired, table.isSettled {
            table.closeRetired()
            retiredEnded(nil)
        }
    }

    private func isRoom(for name: Name) -> Bool {
        guard requests.subscriptions.entries.count < requests.capacity.subscriptions else { return false }
        // Without keys the REQ is short, so the router tries it regardless of the open bytes.
        guard let chunk = name.chunk else { return true }
        let length = FilterPlan.length(ofLive: keyTable.size(ofChunk: chunk))
        return requests.subscriptions.bytes + length <= requests.capacity.bytes
    }

    /// Whether the relay allows this REQ, perhaps instead of another. If not, it waits until other subscriptions end.
    private mutating func hasPlace(for name: Name) -> Bool {
        if isRoom(for: name) { return true }
        if requests.subscriptions.entries.count >= requests.capacity.subscriptions {
            return table[name]?.open != nil || table.hasRetired
        }
        waitsForRoom = catchUp.isReading || table.isAnyPending
        return !waitsForRoom
    }

    /// Frees capacity for one more subscription. Returns the subscription whose id the new one must reuse, if none
    /// could be freed.
    private mutating func makePlace(for name: Name) -> SubscriptionID? {
        while !isRoom(for: name) {
            guard table.hasRetired else { return table[name]?.open }
            leaveRetired()
        }
        return nil
    }

    private mutating func send(_ name: Name, replacing id: SubscriptionID?) {
        let filters: [Filter]
        switch name {
        case .own:
            filters = own.filters(now: requests.now)
        case .kinds:
            filters = plan.live(addressed: nil, authored: nil, now: requests.now)
        case .chunk(let chunk):
            catchUp.backlog.asked(chunk: chunk)
            let entries = keyTable.entries(ofChunk: chunk)
            filters = plan.live(
                addressed: entries.keys(.addressed),
                authored: entries.keys(.authored),
                now: requests.now
            )
        }
        guard !filters.isEmpty else { return table.abandon(name) }
        let pending = requests.request(filters, as: .live(name), replacing: id)
        table[name]?.sent(pending, bytes: pending.flatMap { requests.subscriptions[$0]?.bytes } ?? 0, now: requests.now)
        requests.wake(at: requests.now + settings.answer)
    }

    // MARK: Answers

    mutating func received(_ name: Name) { table[name]?.received(now: requests.now) }

    /// Counts a registration for another router. If there are too many, it requests fewer from now on and returns true.
    mutating func receivedStranger(_ kind: Kind, isLive: Bool) -> Bool {
        guard isLive, !own.takesStranger(kind, now: requests.now) else { return false }
        table[.own]?.request(by: requests.now)
        return true
    }

    /// Marks a subscription as live because its stored events have ended.
    mutating func becameLive(_ name: Name, _ id: SubscriptionID) {
        guard let subscription = table[name], subscription.pending == id else { return }
        if subscription.open == id {
            gap(name, since: (subscription.sentAt ?? requests.now).seconds)
        } else {
            requests.close(subscription.open)
        }
        table[name]?.becameLive(id)
        switch name {
        case .own: break
        case .chunk(let chunk): catchUp.backlog.becameLive(chunk: chunk)
        case .kinds: catchUp.backlog.becameLive(chunk: nil, isUnnamed: true)
        }
    }

    /// Handles a live subscription that the relay closed or did not open.
    mutating func closed(_ name: Name, _ id: SubscriptionID, _ refusal: RejectReason) {
        guard let subscription = table[name] else { return }
        if subscription.open == id { lost(name) }
        guard subscription.pending == id || subscription.pending == nil else { return }
        let isForRoom = refusal == .tooManySubscriptions || refusal == .tooLargeSubscriptions
        if isForRoom, name == .kinds, makeSpace() {
            table[.kinds]?.requestAgain(now: requests.now)
            return
        }
        switch refusal {
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            failed(name, pause: settings.pause(after: subscription.failures))
        case .authenticate:
            failed(name, pause: settings.answer)
            table[name]?.awaitAuthentication()
        case .smaller where name == .own && own.askLess(), .never where name == .own && own.askLess():
            failed(name, pause: .zero)
        case .smaller:
            if name.chunk != nil, shrinkChunks() { return }
            giveUp(name)
        case .never where name != .own && plan.canDoWithoutWraps:
            plan = plan.withoutWraps
            failed(name, pause: .zero)
        case .never:
            giveUp(name)
        }
    }

    mutating func authenticationEnded() {
        for name in table.names { table[name]?.authenticationEnded(requests.now) }
    }

    private mutating func failed(_ name: Name, pause: Duration) {
        table[name]?.failed(until: requests.now + pause)
        let failures = table[name]?.failures
        if name == .kinds, failures == Self.maxFailuresByKind { giveUp(name) }
        // At a relay of users, the router's own key is optional.
        if name == .own, own.place == .users, failures == Self.maxFailuresAtUsers { giveUp(name) }
        if let chunk = name.chunk { catchUp.backlog.askingFailed(chunk: chunk) }
    }

    /// Gives up a subscription that the relay refuses. If the relay refuses all of them, the router disconnects for a
    /// while.
    private mutating func giveUp(_ name: Name) {
        failed(name, pause: settings.rest)
        table[name]?.giveUp()
        if name == .kinds {
            policy.refusedByKind()
            chooseMode()
        }
        let needed = table.all.filter { $0.key != .own || own.place == .operators }
        if !needed.isEmpty, needed.values.allSatisfy(\.isGivenUp) {
            requests.act(.rest(until: requests.now + settings.rest))
        }
    }

    // MARK: Ending

    /// Closes a less important subscription to free capacity. Returns false if there is none.
    private mutating func makeSpace() -> Bool {
        if catchUp.interrupt() { return true }
        guard table.hasRetired else { return false }
        leaveRetired()
        return true
    }

    /// Closes a retired subscription before its replacement is live.
    private mutating func leaveRetired() {
        guard case .retired(let former)? = table.closeLastRetired() else { return }
        retiredEnded(former)
    }

    /// Removes a retired subscription that the relay closed.
    mutating func retiredClosed(_ id: SubscriptionID, _ former: Name?) {
        table.retiredClosed(id)
        retiredEnded(former)
    }

    /// Notes gaps for keys that only the retired subscription covered.
    private mutating func retiredEnded(_ former: Name?) {
        if policy.isAskedByKind, let chunk = former?.chunk {
            guard table[.kinds]?.open == nil else { return }
            gap(.chunk(chunk), since: requests.now.seconds)
            catchUp.backlog.notLive(chunk: chunk, staysAsked: true)
        } else {
            for (name, subscription) in table.all where subscription.open == nil && name != .own {
                lost(name)
            }
        }
    }

    /// Notes the loss of a live subscription. Its events from now on are read once it is open again.
    private mutating func lost(_ name: Name) {
        let isReplaced = table[name]?.pending != nil && table[name]?.pending != table[name]?.open
        table[name]?.lost()
        gap(name, since: requests.now.seconds)
        if name != .own { catchUp.backlog.notLive(chunk: name.chunk, staysAsked: isReplaced) }
    }

    /// Notes that events may be missing from `since` on, in seconds.
    private func gap(_ name: Name, since: Int64) {
        if name == .own {
            catchUp.backlog.ownGap(since: since)
        } else {
            catchUp.backlog.gap(chunk: name.chunk, since: since)
        }
    }
}
