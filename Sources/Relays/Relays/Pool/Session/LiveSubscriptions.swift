import Core
import Nostr

/// The subscriptions to new events at one relay: for our own key, and for the watched keys, in chunks or by kind as a
/// ``ChunkPolicy`` decides.
///
/// When a relay is asked by kind, the match index decides which of its events concern anybody here. Where there is
/// room, a subscription is replaced by a new one before the old one is closed. New events come through these
/// subscriptions; stored events are read by sweeps (``Sweep``).
struct LiveSubscriptions {
    typealias Name = LiveSubscription.Name

    /// After so many failures the relay seems to refuse requests by kind, without saying so.
    private static let patienceByKind = 5
    private static let patienceAtUsers = 3

    private let requests: RelayRequests
    private let catchUp: CatchUp
    private let settings: SessionSettings
    /// What the subscriptions of this connection ask for.
    private(set) var plan: FilterPlan
    /// What is asked for on behalf of our own key.
    private(set) var own: OwnWatch
    private var policy: ChunkPolicy
    private(set) var table: LiveTable
    /// A live subscription waits until there is room for it.
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
    var isAskedByKind: Bool { policy.isAskedByKind }
    var isOwnOpen: Bool { table[.own]?.open != nil }
    /// Whether registrations for our own key cannot be had here for now.
    var isOwnGivenUp: Bool { table[.own]?.isGivenUp ?? true }

    func isPending(_ name: Name, _ id: SubscriptionID) -> Bool { table[name]?.pending == id }

    /// Whether new events for the keys of a chunk come live or are polled.
    func isOpen(chunk: Int) -> Bool {
        table[isAskedByKind ? .kinds : .chunk(chunk)]?.open != nil || isPolled(chunk)
    }

    /// Whether no subscription can be had for a chunk, so that its stored events are read from time to time.
    private func isPolled(_ chunk: Int) -> Bool {
        guard policy.isByKindRefused, !isAskedByKind, table[.chunk(chunk)] == nil else { return false }
        return table.all.count - ownSubscriptions >= chunkCapacity
    }

    /// Chunks that may be table.
    private var chunkCapacity: Int {
        ChunkPolicy.room(ofSize: keyTable.chunkSize, beside: ownSubscriptions, in: requests.capacity)
    }

    /// Subscriptions that are for our own key.
    private var ownSubscriptions: Int { own.place == .operators || table[.own] != nil ? 1 : 0 }

    /// Keys for which one live subscription can be had.
    var keysPerChunk: Int { policy.keys(inMessageOf: requests.messageLength) }

    // MARK: Connections

    /// Begins a connection, with settings that may have changed. ``openAll()`` follows when the backlog has begun, too.
    mutating func begin(_ settings: SessionSettings) {
        plan = FilterPlan(settings, withWraps: true)
        own.begin(at: own.place, now: requests.now)
        table.removeAll()
        policy.begin()
    }

    mutating func openAll() {
        openWhatFits()
        if !isAskedByKind { openChunks() }
    }

    /// Ends a connection. `isMessageTooLong` says that a message of ours was too long for the relay.
    mutating func end(isMessageTooLong: Bool) {
        if isMessageTooLong { _ = policy.shrink(from: keyTable.chunkSize) }
        table.removeAll()
    }

    // MARK: What is watched

    /// Watches our own key at such a relay, or no longer.
    mutating func watchOwnKey(at place: OwnWatch.Place?) {
        table.abandon(.own)
        own.begin(at: place, now: requests.now)
    }

    /// Watches the key at that place, which was added or changed.
    mutating func include(_ place: UInt32) {
        let chunk = keyTable.chunk(of: place)
        if isAskedByKind {
            if table[.kinds]?.open != nil { catchUp.backlog.becameLive(place, isUnnamed: true) }
        } else if isPolled(chunk) {
            catchUp.backlog.becameLive(place, isUnnamed: true)
        } else {
            // Events before the next REQ are read when that is open.
            table.open(.chunk(chunk)) { $0.replace(now: requests.now, settings) }
        }
    }

    /// A key of that chunk is not watched any more.
    mutating func exclude(from chunk: Int) {
        guard !isAskedByKind else { return }
        if keyTable.size(ofChunk: chunk) == 0 {
            table.abandon(.chunk(chunk))
        } else {
            table[.chunk(chunk)]?.prune(by: requests.now + settings.removalDelay)
        }
    }

    /// Opens what is watched, by keys or by kinds.
    mutating func openWhatFits() {
        // At a relay of users, our own key must not use up the room for theirs.
        if table[.own] == nil, own.place == .operators || isRoomForOwn {
            table[.own] = LiveSubscription(dueAt: requests.now)
        }
        chooseMode()
    }

    private var isRoomForOwn: Bool {
        own.place == .users && keyTable.count > 0 && requests.capacity.subscriptions >= 5
    }

    // MARK: By keys or by kinds

    /// Asks for keys or only for kinds, as the policy decides.
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

    /// Wants a subscription for each chunk, as far as the relay allows.
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

    /// Queues what came for polled chunks since the last time.
    mutating func advancePolling() {
        let since = policy.takePoll(now: requests.now)
        if let next = policy.nextPoll { requests.wake(at: next) }
        guard let since else { return }
        for chunk in keyTable.chunks where isPolled(chunk) {
            catchUp.backlog.read(chunk: chunk, since: since)
        }
    }

    /// Asks for fewer keys at a time. Reading begins again for what was not read yet. Returns false if there is no
    /// less.
    mutating func shrinkChunks() -> Bool {
        guard let size = policy.shrink(from: keyTable.chunkSize) else { return false }
        useChunks(of: size)
        return true
    }

    private mutating func useChunks(of size: Int) {
        for name in table.names where name.chunk != nil { table.retire(name) }
        rearrange(chunkSize: size)
        if isAskedByKind { return }
        chooseMode()
        if !isAskedByKind { openChunks() }
    }

    private mutating func rearrange(chunkSize: Int) {
        catchUp.rearrange(chunkSize: chunkSize)
        table.renameRetired()
    }

    /// Asks for less, after the room became smaller.
    mutating func fit() {
        if own.place == .users, !isRoomForOwn {
            table.abandon(.own)
        }
        let size = keysPerChunk
        if size < keyTable.chunkSize { useChunks(of: size) }
        chooseMode()
        guard !isAskedByKind else { return }
        var chunks = keyTable.chunks.filter { table[.chunk($0)] != nil }
        chunks.sort { (table[.chunk($0)]?.open == nil ? 1 : 0, $0) < (table[.chunk($1)]?.open == nil ? 1 : 0, $1) }
        for chunk in chunks.dropFirst(chunkCapacity) {
            lost(.chunk(chunk))
            table.abandon(.chunk(chunk))
            poll(chunk)
        }
    }

    // MARK: Sending

    /// Sends what is due, and counts as failed what has no answer.
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
        // Without keys the REQ is short, so it is worth a try however much is open.
        guard let chunk = name.chunk else { return true }
        let length = FilterPlan.length(ofLive: keyTable.size(ofChunk: chunk))
        return requests.subscriptions.bytes + length <= requests.capacity.bytes
    }

    /// Whether the relay allows a REQ for this, perhaps instead of another. If not, it waits for others to end.
    private mutating func hasPlace(for name: Name) -> Bool {
        if isRoom(for: name) { return true }
        if requests.subscriptions.entries.count >= requests.capacity.subscriptions {
            return table[name]?.open != nil || table.hasRetired
        }
        waitsForRoom = catchUp.isReading || table.isAnyPending
        return !waitsForRoom
    }

    /// Makes room for one more subscription. Returns the one that is replaced under its own id, for want of room.
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

    /// Takes a registration for somebody else. Of too many, fewer are asked for from now on, and true is returned.
    mutating func receivedStranger(_ kind: Kind, isLive: Bool) -> Bool {
        guard isLive, !own.takesStranger(kind, now: requests.now) else { return false }
        table[.own]?.request(by: requests.now)
        return true
    }

    /// The stored events of a subscription have ended: new events come table.
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

    /// The relay closed a live subscription or did not open it.
    mutating func closed(_ name: Name, _ id: SubscriptionID, _ refusal: Refusal) {
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
        if name == .kinds, failures == Self.patienceByKind { giveUp(name) }
        // At a relay of users our own key is optional.
        if name == .own, own.place == .users, failures == Self.patienceAtUsers { giveUp(name) }
        if let chunk = name.chunk { catchUp.backlog.askingFailed(chunk: chunk) }
    }

    /// The relay refuses this subscription. If it refuses all, it is left alone.
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

    /// Closes a less important subscription to make room for one more. Returns false if there is none.
    private mutating func makeSpace() -> Bool {
        if catchUp.interrupt() { return true }
        guard table.hasRetired else { return false }
        leaveRetired()
        return true
    }

    /// Closes a retired subscription before others have taken over.
    private mutating func leaveRetired() {
        guard case .retired(let former)? = table.closeLastRetired() else { return }
        retiredEnded(former)
    }

    /// The relay closed a retired subscription.
    mutating func retiredClosed(_ id: SubscriptionID, _ former: Name?) {
        table.retiredClosed(id)
        retiredEnded(former)
    }

    /// What a retired subscription brought until now, and nothing else does yet, must be read from now on.
    private mutating func retiredEnded(_ former: Name?) {
        if isAskedByKind, let chunk = former?.chunk {
            guard table[.kinds]?.open == nil else { return }
            gap(.chunk(chunk), since: requests.now.seconds)
            catchUp.backlog.notLive(chunk: chunk, staysAsked: true)
        } else {
            for (name, subscription) in table.all where subscription.open == nil && name != .own {
                lost(name)
            }
        }
    }

    /// What a live subscription brought until now must be read from now on, once it is open again.
    private mutating func lost(_ name: Name) {
        let isReplaced = table[name]?.pending != nil && table[name]?.pending != table[name]?.open
        table[name]?.lost()
        gap(name, since: requests.now.seconds)
        if name != .own { catchUp.backlog.notLive(chunk: name.chunk, staysAsked: isReplaced) }
    }

    /// Notes that from `since` on, in seconds, events may not have come.
    private func gap(_ name: Name, since: Int64) {
        if name == .own {
            catchUp.backlog.ownGap(since: since)
        } else {
            catchUp.backlog.gap(chunk: name.chunk, since: since)
        }
    }
}
