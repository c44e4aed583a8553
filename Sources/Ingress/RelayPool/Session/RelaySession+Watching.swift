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
            let earliest = max(now, (subscription.sentAt ?? 0) + pause(afterBytes: subscription.sentBytes))
            subscription.dueAt = min(subscription.dueAt ?? earliest, earliest)
            live[name] = subscription
        }
    }

    /// How long after a REQ of that length the next for the same chunk is sent. What comes in between is read when that is open.
    private func pause(afterBytes bytes: Int) -> Int64 {
        max(settings.replacementInterval, Int64(bytes) * 1_000 / Int64(max(1, settings.replacementBytesPerSecond)))
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
}
