import Nostr

extension RelaySession {
    /// Watches a key, or watches it differently.
    mutating func put(_ watched: Watched, now: Int64) {
        guard !watched.interest.isEmpty else { return remove(watched.key, now: now) }
        let place: UInt32
        if let known = roster.place(of: watched.key) {
            guard changes(known, watched) else { return }
            place = known
        } else {
            var entry = RosterEntry(watched)
            if entry.isEstablished, wasConnected { entry.behindSince = entry.since }
            place = roster.insert(entry)
        }
        guard isConnected else { return }
        if isAskedByKind {
            guard live[.kinds]?.open != nil else { return }
            _ = roster.change(at: place) { $0.flags.insert(.asked) }
            goLive(place)
        } else if isPolled(roster.chunk(of: place)) {
            _ = roster.change(at: place) { $0.flags.insert(.asked) }
            goLive(place)
        } else {
            let name = LiveSubscription.Name.chunk(roster.chunk(of: place))
            var subscription = live[name] ?? LiveSubscription()
            let earliest = max(now, (subscription.sentAt ?? 0) + settings.replacementInterval)
            subscription.dueAt = min(subscription.dueAt ?? earliest, earliest)
            live[name] = subscription
        }
    }

    /// Applies what is new about a key that is watched. Returns whether its subscription must say something new.
    private mutating func changes(_ place: UInt32, _ watched: Watched) -> Bool {
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

    mutating func remove(_ key: PublicKey, now: Int64) {
        guard let chunk = roster.remove(key), isConnected, !isAskedByKind else { return }
        if roster.size(ofChunk: chunk) == 0 {
            abandon(.chunk(chunk))
            gaps[chunk] = nil
        } else if let subscription = live[.chunk(chunk)], subscription.pruneAt == nil {
            live[.chunk(chunk)]?.pruneAt = now + settings.removalDelay
        }
    }

    /// A key that is in a REQ whose stored events have ended may be read for.
    mutating func goLive(_ place: UInt32) {
        guard let entry = roster.entry(at: place), entry.flags.contains(.asked), !entry.isLive else { return }
        _ = roster.change(at: place) { $0.flags.insert(.live) }
        queue(place)
    }

    /// Has what is stored for a live key read, if it must be.
    mutating func queue(_ place: UInt32) {
        guard let entry = roster.entry(at: place), entry.isLive, entry.sweep == 0 else { return }
        if !entry.isEstablished {
            beginnings.append(place, moment: Int64(entry.since))
        } else if entry.behindSince != 0 {
            laggards.append(place, moment: Int64(entry.behindSince))
        }
    }

    /// Closes a live subscription that is not needed any more.
    mutating func abandon(_ name: LiveSubscription.Name) {
        guard let subscription = live.removeValue(forKey: name) else { return }
        close(subscription.open)
        close(subscription.pending)
    }

    /// Subscriptions that may be live, some being kept back for catching up, fetching and replacing.
    var chunkCapacity: Int {
        let reserve = capacity >= 8 ? 3 : capacity >= 5 ? 2 : 1
        return max(1, capacity - reserve - (watchesOwnKey ? 1 : 0))
    }

    /// Decides whether keys or only kinds are asked for. Going back to keys has some margin.
    mutating func chooseMode(now: Int64) {
        let isTooMany = roster.chunks.count > chunkCapacity || roster.count > settings.keysByKey
        if !isAskedByKind, isTooMany, !isByKindRefused {
            askByKind(now: now)
        } else if isAskedByKind, isByKindRefused || fitsWithMargin {
            askByKey(now: now)
        } else if !isAskedByKind, isByKindRefused {
            openChunks(now: now)
        }
    }

    private var fitsWithMargin: Bool {
        roster.count * 4 <= chunkCapacity * roster.chunkSize * 3 && roster.count * 4 <= settings.keysByKey * 3
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
        return live.count - (watchesOwnKey ? 1 : 0) >= chunkCapacity
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
        subscriptions[open] = .retired
        retired.append(open)
    }

    /// Asks for fewer keys at a time. Reading begins again for what was not read yet. Returns false if there is no less.
    mutating func shrinkChunks(now: Int64) -> Bool {
        guard roster.chunkSize > 50 else { return false }
        chunkLimit = max(50, roster.chunkSize / 2)
        for name in live.keys where name != .own && name != .kinds { retire(name) }
        rearrange(chunkSize: chunkLimit)
        if isAskedByKind { return true }
        chooseMode(now: now)
        if !isAskedByKind { openChunks(now: now) }
        return true
    }

    /// Gives keys new places, and what is to be read for them as well.
    private mutating func rearrange(chunkSize: Int) {
        for number in Array(sweeps.keys) { dissolve(number) }
        let gap = gaps.values.min()
        roster.rearrange(chunkSize: chunkSize)
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
