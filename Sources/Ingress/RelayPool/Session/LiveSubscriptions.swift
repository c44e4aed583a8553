import Nostr
import Units

/// The subscriptions to new events at one relay: for our own key, and for the watched keys, in chunks or by kind as a
/// ``ChunkPolicy`` decides.
///
/// When a relay is asked by kind, the match index decides which of its events concern anybody here. Where there is
/// room, a subscription is replaced by a new one before the old one is closed. New events come through these
/// subscriptions; stored events are read by sweeps (``Sweep``).
struct LiveSubscriptions: Sendable {
    typealias Name = LiveSubscription.Name

    /// After so many failures the relay seems to refuse requests by kind, without saying so.
    private static let patienceByKind = 5
    private static let patienceAtUsers = 3

    private let settings: SessionSettings
    /// What the subscriptions of this connection ask for.
    private(set) var plan: FilterPlan
    /// What is asked for on behalf of our own key.
    private(set) var own: OwnWatch
    private var policy: ChunkPolicy
    private var live = LiveTable()
    /// A live subscription waits until there is room for it.
    private(set) var waitsForRoom = false

    init(settings: SessionSettings) {
        self.settings = settings
        plan = FilterPlan(settings, withWraps: true)
        own = OwnWatch(keys: settings.ownKeys)
        policy = ChunkPolicy(keysPerFilter: settings.keysPerFilter, pollInterval: settings.pollInterval)
    }

    // MARK: State

    var isAskedByKind: Bool { policy.isAskedByKind }
    /// Whether everything that is watched is live. Our own key does not count if the relay refuses that.
    var isComplete: Bool { live.isComplete }
    var isOwnOpen: Bool { live[.own]?.open != nil }
    /// Whether registrations for our own key cannot be had here for now.
    var isOwnGivenUp: Bool { live[.own]?.isGivenUp ?? true }
    /// Whether no subscription is being opened or replaced.
    var isAtRest: Bool { live.isAtRest }
    /// Whether keys are subscribed to by name.
    var hasOpenChunk: Bool { live.hasOpenChunk }

    func isPending(_ name: Name, _ id: SubscriptionID) -> Bool { live[name]?.pending == id }

    /// Whether new events for the keys of a chunk come live or are polled.
    func isOpen(chunk: Int, of size: Int, _ capacity: RelayCapacity) -> Bool {
        live[isAskedByKind ? .kinds : .chunk(chunk)]?.open != nil || isPolled(chunk, of: size, capacity)
    }

    /// Whether no subscription can be had for a chunk, so that its stored events are read from time to time.
    private func isPolled(_ chunk: Int, of size: Int, _ capacity: RelayCapacity) -> Bool {
        guard policy.isByKindRefused, !isAskedByKind, live[.chunk(chunk)] == nil else { return false }
        return live.count - ownSubscriptions >= chunkCapacity(of: size, capacity)
    }

    /// Chunks of that size that may be live.
    private func chunkCapacity(of size: Int, _ capacity: RelayCapacity) -> Int {
        ChunkPolicy.room(ofSize: size, beside: ownSubscriptions, in: capacity)
    }

    /// Subscriptions that are for our own key.
    private var ownSubscriptions: Int { own.place == .operators || live[.own] != nil ? 1 : 0 }

    /// Keys for which one live subscription can be had.
    func keysPerChunk(_ requests: RelayRequests) -> Int { policy.keys(inMessageOf: requests.messageLength) }

    // MARK: Connections

    /// Begins a connection, with settings that may have changed. ``openAll(_:_:)`` follows when the backlog has begun,
    /// too.
    mutating func begin(_ settings: SessionSettings, now: Timestamp) {
        plan = FilterPlan(settings, withWraps: true)
        own.begin(at: own.place, now: now)
        live.removeAll()
        policy.begin()
    }

    mutating func openAll(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        openWhatFits(&catchUp, &requests)
        if !isAskedByKind { openChunks(&catchUp, requests) }
    }

    /// Ends a connection. `isMessageTooLong` says that a message of ours was too long for the relay.
    mutating func end(isMessageTooLong: Bool, _ roster: Roster) {
        if isMessageTooLong { _ = policy.shrink(from: roster.chunkSize) }
        live.removeAll()
    }

    // MARK: What is watched

    /// Watches our own key at such a relay, or no longer.
    mutating func watchOwnKey(at place: OwnWatch.Place?, _ requests: inout RelayRequests) {
        live.abandon(.own, &requests)
        own.begin(at: place, now: requests.now)
    }

    /// Watches the key at that place, which was added or changed.
    mutating func include(_ place: UInt32, _ catchUp: inout CatchUp, _ requests: RelayRequests) {
        let chunk = catchUp.backlog.roster.chunk(of: place)
        if isAskedByKind {
            if live[.kinds]?.open != nil { catchUp.backlog.becameLiveUnasked(place) }
        } else if isPolled(chunk, of: catchUp.backlog.roster.chunkSize, requests.capacity) {
            catchUp.backlog.becameLiveUnasked(place)
        } else {
            // Events before the next REQ are read when that is open.
            live.open(.chunk(chunk)) { $0.replace(now: requests.now, settings) }
        }
    }

    /// A key of that chunk is not watched any more.
    mutating func exclude(from chunk: Int, _ roster: Roster, _ requests: inout RelayRequests) {
        guard !isAskedByKind else { return }
        if roster.size(ofChunk: chunk) == 0 {
            live.abandon(.chunk(chunk), &requests)
        } else {
            live[.chunk(chunk)]?.prune(by: requests.now + settings.removalDelay)
        }
    }

    /// Opens what is watched, by keys or by kinds.
    mutating func openWhatFits(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        // At a relay of users, our own key must not use up the room for theirs.
        if live[.own] == nil, own.place == .operators || isRoomForOwn(catchUp.backlog.roster, requests.capacity) {
            live[.own] = LiveSubscription(dueAt: requests.now)
        }
        chooseMode(&catchUp, &requests)
    }

    private func isRoomForOwn(_ roster: Roster, _ capacity: RelayCapacity) -> Bool {
        own.place == .users && roster.count > 0 && capacity.subscriptions >= 5
    }

    // MARK: By keys or by kinds

    /// Asks for keys or only for kinds, as the policy decides.
    mutating func chooseMode(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        let size = catchUp.backlog.roster.chunkSize
        switch policy.decide(catchUp.backlog.roster, room: chunkCapacity(of: size, requests.capacity)) {
        case .toKinds:
            for name in live.names where name != .own { live.retire(name, &requests) }
            live[.kinds] = LiveSubscription(dueAt: requests.now)
        case .toKeys:
            live.retire(.kinds, &requests)
            rearrange(chunkSize: size, &catchUp, &requests)
            openChunks(&catchUp, requests)
        case .moreChunks:
            openChunks(&catchUp, requests)
        case nil:
            break
        }
    }

    /// Wants a subscription for each chunk, as far as the relay allows.
    private mutating func openChunks(_ catchUp: inout CatchUp, _ requests: RelayRequests) {
        let size = catchUp.backlog.roster.chunkSize
        for chunk in catchUp.backlog.roster.chunks where live[.chunk(chunk)] == nil {
            if isPolled(chunk, of: size, requests.capacity) {
                poll(chunk, requests.now, &catchUp)
            } else {
                live[.chunk(chunk)] = LiveSubscription(dueAt: requests.now)
            }
        }
    }

    private mutating func poll(_ chunk: Int, _ now: Timestamp, _ catchUp: inout CatchUp) {
        catchUp.backlog.becameLiveUnasked(chunk: chunk)
        policy.poll(from: now)
    }

    /// Queues what came for polled chunks since the last time.
    mutating func advancePolling(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        let since = policy.takePoll(now: requests.now)
        if let next = policy.nextPoll { requests.wake(at: next) }
        guard let since else { return }
        let size = catchUp.backlog.roster.chunkSize
        for chunk in catchUp.backlog.roster.chunks where isPolled(chunk, of: size, requests.capacity) {
            catchUp.backlog.read(chunk: chunk, since: since)
        }
    }

    /// Asks for fewer keys at a time. Reading begins again for what was not read yet. Returns false if there is no
    /// less.
    mutating func shrinkChunks(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) -> Bool {
        guard let size = policy.shrink(from: catchUp.backlog.roster.chunkSize) else { return false }
        useChunks(of: size, &catchUp, &requests)
        return true
    }

    private mutating func useChunks(of size: Int, _ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        for name in live.names where name.chunk != nil { live.retire(name, &requests) }
        rearrange(chunkSize: size, &catchUp, &requests)
        if isAskedByKind { return }
        chooseMode(&catchUp, &requests)
        if !isAskedByKind { openChunks(&catchUp, requests) }
    }

    private mutating func rearrange(chunkSize: Int, _ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        catchUp.rearrange(chunkSize: chunkSize, &requests)
        live.renameRetired(&requests)
    }

    /// Asks for less, after the room became smaller.
    mutating func fit(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        if own.place == .users, !isRoomForOwn(catchUp.backlog.roster, requests.capacity) {
            live.abandon(.own, &requests)
        }
        let size = keysPerChunk(requests)
        if size < catchUp.backlog.roster.chunkSize { useChunks(of: size, &catchUp, &requests) }
        chooseMode(&catchUp, &requests)
        guard !isAskedByKind else { return }
        var chunks = catchUp.backlog.roster.chunks.filter { live[.chunk($0)] != nil }
        chunks.sort { (live[.chunk($0)]?.open == nil ? 1 : 0, $0) < (live[.chunk($1)]?.open == nil ? 1 : 0, $1) }
        let capacity = chunkCapacity(of: catchUp.backlog.roster.chunkSize, requests.capacity)
        for chunk in chunks.dropFirst(capacity) {
            lost(.chunk(chunk), requests.now, &catchUp)
            live.abandon(.chunk(chunk), &requests)
            poll(chunk, requests.now, &catchUp)
        }
    }

    // MARK: Sending

    /// Sends what is due, and counts as failed what has no answer.
    mutating func advance(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        for (name, subscription) in live.all {
            guard let deadline = subscription.deadline(settings.answer) else { continue }
            guard requests.now >= deadline else {
                requests.wake(at: deadline)
                continue
            }
            requests.countUnanswered()
            requests.close(subscription.pending)
            if subscription.open == subscription.pending { lost(name, requests.now, &catchUp) }
            failed(name, pause: settings.pause(after: subscription.failures), &catchUp, &requests)
        }
        waitsForRoom = false
        let waiting = live.all.compactMap { name, subscription in subscription.nextRequest.map { (name, $0) } }
        for (name, moment) in waiting.sorted(by: { ($0.1, $0.0.rank) < ($1.1, $1.0.rank) }) {
            guard moment <= requests.now else {
                requests.wake(at: moment)
                break
            }
            guard hasPlace(for: name, catchUp, requests) else { continue }
            guard requests.takeTurn() else { break }
            let replaced = makePlace(for: name, &catchUp, &requests)
            send(name, replacing: replaced, &catchUp, &requests)
        }
        if live.hasRetired, live.isSettled {
            live.closeRetired(&requests)
            retiredEnded(nil, requests.now, &catchUp)
        }
    }

    private func isRoom(for name: Name, _ roster: Roster, _ requests: RelayRequests) -> Bool {
        guard requests.subscriptions.count < requests.capacity.subscriptions else { return false }
        // Without keys the REQ is short, so it is worth a try however much is open.
        guard let chunk = name.chunk else { return true }
        let length = FilterPlan.length(ofLive: roster.size(ofChunk: chunk))
        return requests.subscriptions.bytes + length <= requests.capacity.bytes
    }

    /// Whether the relay allows a REQ for this, perhaps instead of another. If not, it waits for others to end.
    private mutating func hasPlace(for name: Name, _ catchUp: CatchUp, _ requests: RelayRequests) -> Bool {
        if isRoom(for: name, catchUp.backlog.roster, requests) { return true }
        if requests.subscriptions.count >= requests.capacity.subscriptions {
            return live[name]?.open != nil || live.hasRetired
        }
        waitsForRoom = catchUp.isReading || live.isAnyPending
        return !waitsForRoom
    }

    /// Makes room for one more subscription. Returns the one that is replaced under its own id, for want of room.
    private mutating func makePlace(
        for name: Name,
        _ catchUp: inout CatchUp,
        _ requests: inout RelayRequests
    ) -> SubscriptionID? {
        while !isRoom(for: name, catchUp.backlog.roster, requests) {
            guard live.hasRetired else { return live[name]?.open }
            leaveRetired(&catchUp, &requests)
        }
        return nil
    }

    private mutating func send(
        _ name: Name,
        replacing id: SubscriptionID?,
        _ catchUp: inout CatchUp,
        _ requests: inout RelayRequests
    ) {
        let filters: [Filter]
        switch name {
        case .own:
            filters = own.filters(now: requests.now)
        case .kinds:
            filters = plan.live(addressed: nil, authored: nil, now: requests.now)
        case .chunk(let chunk):
            catchUp.backlog.asked(chunk: chunk)
            let entries = catchUp.backlog.roster.entries(ofChunk: chunk)
            filters = plan.live(
                addressed: entries.keys(.addressed),
                authored: entries.keys(.authored),
                now: requests.now
            )
        }
        guard !filters.isEmpty else { return live.abandon(name, &requests) }
        let pending = requests.request(filters, as: .live(name), replacing: id)
        live[name]?.sent(pending, bytes: pending.flatMap { requests.subscriptions[$0]?.bytes } ?? 0, now: requests.now)
        requests.wake(at: requests.now + settings.answer)
    }

    // MARK: Answers

    mutating func received(_ name: Name, now: Timestamp) { live[name]?.received(now: now) }

    /// Takes a registration for somebody else. Of too many, fewer are asked for from now on, and true is returned.
    mutating func receivedStranger(_ kind: Kind, isLive: Bool, now: Timestamp) -> Bool {
        guard isLive, !own.takesStranger(kind, now: now) else { return false }
        live[.own]?.request(by: now)
        return true
    }

    /// The stored events of a subscription have ended: new events come live.
    mutating func becameLive(
        _ name: Name,
        _ id: SubscriptionID,
        _ catchUp: inout CatchUp,
        _ requests: inout RelayRequests
    ) {
        guard let subscription = live[name], subscription.pending == id else { return }
        if subscription.open == id {
            gap(name, since: (subscription.sentAt ?? requests.now).seconds, &catchUp)
        } else {
            requests.close(subscription.open)
        }
        live[name]?.becameLive(id)
        switch name {
        case .own: break
        case .chunk(let chunk): catchUp.backlog.becameLive(chunk: chunk)
        case .kinds: catchUp.backlog.becameLiveUnasked()
        }
    }

    /// The relay closed a live subscription or did not open it.
    mutating func closed(
        _ name: Name,
        _ id: SubscriptionID,
        _ refusal: Refusal,
        _ catchUp: inout CatchUp,
        _ requests: inout RelayRequests
    ) {
        guard let subscription = live[name] else { return }
        if subscription.open == id { lost(name, requests.now, &catchUp) }
        guard subscription.pending == id || subscription.pending == nil else { return }
        let isForRoom = refusal == .tooManySubscriptions || refusal == .tooLargeSubscriptions
        if isForRoom, name == .kinds, makeSpace(&catchUp, &requests) {
            live[.kinds]?.requestAgain(now: requests.now)
            return
        }
        switch refusal {
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            failed(name, pause: settings.pause(after: subscription.failures), &catchUp, &requests)
        case .authenticate:
            failed(name, pause: settings.answer, &catchUp, &requests)
            live[name]?.awaitAuthentication()
        case .smaller where name == .own && own.askLess(), .never where name == .own && own.askLess():
            failed(name, pause: .zero, &catchUp, &requests)
        case .smaller:
            if name.chunk != nil, shrinkChunks(&catchUp, &requests) { return }
            giveUp(name, &catchUp, &requests)
        case .never where name != .own && plan.canDoWithoutWraps:
            plan = plan.withoutWraps
            failed(name, pause: .zero, &catchUp, &requests)
        case .never:
            giveUp(name, &catchUp, &requests)
        }
    }

    mutating func authenticationEnded(_ now: Timestamp) {
        for name in live.names { live[name]?.authenticationEnded(now) }
    }

    private mutating func failed(
        _ name: Name,
        pause: Duration,
        _ catchUp: inout CatchUp,
        _ requests: inout RelayRequests
    ) {
        live[name]?.failed(until: requests.now + pause)
        let failures = live[name]?.failures
        if name == .kinds, failures == Self.patienceByKind { giveUp(name, &catchUp, &requests) }
        // At a relay of users our own key is optional.
        if name == .own, own.place == .users, failures == Self.patienceAtUsers {
            giveUp(name, &catchUp, &requests)
        }
        if let chunk = name.chunk { catchUp.backlog.askingFailed(chunk: chunk) }
    }

    /// The relay refuses this subscription. If it refuses all, it is left alone.
    private mutating func giveUp(_ name: Name, _ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        failed(name, pause: settings.rest, &catchUp, &requests)
        live[name]?.giveUp()
        if name == .kinds {
            policy.refusedByKind()
            chooseMode(&catchUp, &requests)
        }
        let needed = live.all.filter { $0.key != .own || own.place == .operators }
        if !needed.isEmpty, needed.values.allSatisfy(\.isGivenUp) {
            requests.act(.rest(until: requests.now + settings.rest))
        }
    }

    // MARK: Ending

    /// Closes a less important subscription to make room for one more. Returns false if there is none.
    private mutating func makeSpace(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) -> Bool {
        if catchUp.interrupt(&requests) { return true }
        guard live.hasRetired else { return false }
        leaveRetired(&catchUp, &requests)
        return true
    }

    /// Closes a retired subscription before others have taken over.
    private mutating func leaveRetired(_ catchUp: inout CatchUp, _ requests: inout RelayRequests) {
        guard case .retired(let former)? = live.closeLastRetired(&requests) else { return }
        retiredEnded(former, requests.now, &catchUp)
    }

    /// The relay closed a retired subscription.
    mutating func retiredClosed(_ id: SubscriptionID, _ former: Name?, _ now: Timestamp, _ catchUp: inout CatchUp) {
        live.retiredClosed(id)
        retiredEnded(former, now, &catchUp)
    }

    /// What a retired subscription brought until now, and nothing else does yet, must be read from now on.
    private mutating func retiredEnded(_ former: Name?, _ now: Timestamp, _ catchUp: inout CatchUp) {
        if isAskedByKind, let chunk = former?.chunk {
            guard live[.kinds]?.open == nil else { return }
            gap(.chunk(chunk), since: now.seconds, &catchUp)
            catchUp.backlog.notLive(chunk: chunk, staysAsked: true)
        } else {
            for (name, subscription) in live.all where subscription.open == nil && name != .own {
                lost(name, now, &catchUp)
            }
        }
    }

    /// What a live subscription brought until now must be read from now on, once it is open again.
    private mutating func lost(_ name: Name, _ now: Timestamp, _ catchUp: inout CatchUp) {
        let isReplaced = live[name]?.pending != nil && live[name]?.pending != live[name]?.open
        live[name]?.lost()
        gap(name, since: now.seconds, &catchUp)
        if name != .own { catchUp.backlog.notLive(chunk: name.chunk, staysAsked: isReplaced) }
    }

    /// Notes that from `since` on, in seconds, events may not have come.
    private func gap(_ name: Name, since: Int64, _ catchUp: inout CatchUp) {
        if name == .own {
            catchUp.backlog.ownGap(since: since)
        } else {
            catchUp.backlog.gap(chunk: name.chunk, since: since)
        }
    }
}
