import Nostr

extension RelaySession {
    /// Subscriptions for chunks that may be live, some room being kept back for catching up, fetching and replacing.
    var chunkCapacity: Int {
        let count = capacity.subscriptions
        let reserve = count >= 8 ? 3 : count >= 5 ? 2 : 1
        let bytes = capacity.bytes - capacity.spareBytes
        return max(
            1,
            min(count - reserve - ownSubscriptions, bytes / FilterPlan.length(ofLive: roster.chunkSize))
        )
    }

    /// Subscriptions that are for our own key.
    private var ownSubscriptions: Int { own.place == .operators || live[.own] != nil ? 1 : 0 }

    /// Has our own key watched, unless that would take what a relay of users' has for them.
    mutating func openOwn(now: Int64) {
        guard live[.own] == nil, own.place == .operators || isRoomForOwn else { return }
        live[.own] = LiveSubscription(dueAt: now)
    }

    private var isRoomForOwn: Bool { own.place == .users && roster.count > 0 && capacity.subscriptions >= 5 }

    /// How long a message of ours may be.
    var messageLength: Int { min(limitation.maxMessageLength, capacity.spareBytes) }

    /// Keys for which one live subscription can be had.
    var keysPerChunk: Int {
        FilterPlan.keys(inMessageOf: messageLength, filters: FilterPlan.liveFilters, atMost: chunkLimit)
    }

    /// Decides whether keys or only kinds are asked for. Going back to keys has some margin.
    mutating func chooseMode(now: Int64) {
        let isTooMany = roster.chunks.count > chunkCapacity
        if !isAskedByKind, isTooMany, !isByKindRefused {
            askByKind(now: now)
        } else if isAskedByKind, isByKindRefused || fitsWithMargin {
            askByKey(now: now)
        } else if !isAskedByKind, isByKindRefused {
            openChunks(now: now)
        }
    }

    private var fitsWithMargin: Bool {
        roster.count * 4 <= chunkCapacity * roster.chunkSize * 3
    }

    private mutating func askByKind(now: Int64) {
        isAskedByKind = true
        for name in live.keys where name != .own { retire(name) }
        live[.kinds] = LiveSubscription(dueAt: now)
    }

    private mutating func askByKey(now: Int64) {
        isAskedByKind = false
        retire(.kinds)
        rearrange(chunkSize: roster.chunkSize)
        openChunks(now: now)
    }

    /// Wants a subscription for each chunk, as far as the relay allows.
    mutating func openChunks(now: Int64) {
        for chunk in roster.chunks where live[.chunk(chunk)] == nil {
            if isPolled(chunk) {
                poll(chunk, now: now)
            } else {
                live[.chunk(chunk)] = LiveSubscription(dueAt: now)
            }
        }
    }

    /// Whether no subscription can be had for a chunk, so that what is stored for it is read from time to time.
    func isPolled(_ chunk: Int) -> Bool {
        guard isByKindRefused, !isAskedByKind, live[.chunk(chunk)] == nil else { return false }
        return live.count - ownSubscriptions >= chunkCapacity
    }

    private mutating func poll(_ chunk: Int, now: Int64) {
        var places: [UInt32] = []
        roster.change(chunk: chunk) { place, entry in
            entry.flags.insert(.asked)
            places.append(place)
        }
        for place in places { goLive(place) }
        pollAt = pollAt ?? now + settings.pollInterval
    }

    /// Has what came for polled chunks since the last time read.
    mutating func advancePolling(_ now: Int64) {
        guard let due = pollAt, isByKindRefused else { return }
        guard now >= due else { return wake(at: due) }
        let since = (due - settings.pollInterval) / 1_000
        for chunk in roster.chunks where isPolled(chunk) { gaps[chunk] = min(gaps[chunk] ?? since, since) }
        pollAt = now + settings.pollInterval
        wake(at: now + settings.pollInterval)
    }

    /// Leaves a subscription open, if it is, until others have taken over.
    private mutating func retire(_ name: LiveSubscription.Name) {
        guard let subscription = live.removeValue(forKey: name) else { return }
        close(subscription.pending)
        guard let open = subscription.open, subscriptions[open] != nil else { return }
        subscriptions.reuse(open, as: .retired(name))
        retired.append(open)
    }

    /// Asks for fewer keys at a time. Reading begins again for what was not read yet. Returns false if there is no less.
    mutating func shrinkChunks(now: Int64) -> Bool {
        guard roster.chunkSize > 50 else { return false }
        chunkLimit = max(50, roster.chunkSize / 2)
        useChunks(of: chunkLimit, now: now)
        return true
    }

    private mutating func useChunks(of size: Int, now: Int64) {
        for name in live.keys where name != .own && name != .kinds { retire(name) }
        rearrange(chunkSize: size)
        if isAskedByKind { return }
        chooseMode(now: now)
        if !isAskedByKind { openChunks(now: now) }
    }

    /// Asks for no more than there is room for, after that became less.
    mutating func fitCapacity(now: Int64) {
        if own.place == .users, !isRoomForOwn { abandon(.own) }
        if keysPerChunk < roster.chunkSize { useChunks(of: keysPerChunk, now: now) }
        chooseMode(now: now)
        guard !isAskedByKind else { return }
        var chunks = roster.chunks.filter { live[.chunk($0)] != nil }
        chunks.sort { (live[.chunk($0)]?.open == nil ? 1 : 0, $0) < (live[.chunk($1)]?.open == nil ? 1 : 0, $1) }
        for chunk in chunks.dropFirst(chunkCapacity) {
            lost(.chunk(chunk), now: now)
            abandon(.chunk(chunk))
            poll(chunk, now: now)
        }
    }

    /// Gives keys new places, and what is to be read for them as well.
    private mutating func rearrange(chunkSize: Int) {
        for number in Array(sweeps.keys) { dissolve(number) }
        let gap = gaps.values.min()
        roster.rearrange(chunkSize: chunkSize)
        for id in retired { subscriptions.reuse(id, as: .retired(nil)) }
        gaps = [:]
        if let gap {
            for chunk in roster.chunks { gaps[chunk] = gap }
        }
        laggards.removeAll()
        beginnings.removeAll()
        var places: [UInt32] = []
        roster.changeAll { place, entry in
            entry.flags.remove(.asked)
            places.append(place)
        }
        for place in places { queue(place) }
    }
}
