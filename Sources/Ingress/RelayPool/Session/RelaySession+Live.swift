import Nostr

extension RelaySession {
    /// Sends what is due of live subscriptions, and counts as failed what has no answer.
    mutating func advanceLive(_ now: Int64) {
        for (name, subscription) in live {
            guard subscription.pending != nil, let heardAt = subscription.heardAt else { continue }
            if now >= heardAt + settings.answer {
                close(subscription.pending)
                if subscription.open == subscription.pending { lost(name, now: now) }
                liveFailed(name, pause: pause(after: subscription.failures), now: now)
            } else {
                wake(at: heardAt + settings.answer)
            }
        }
        let waiting = live.compactMap { name, subscription in subscription.nextRequest.map { (name, $0) } }
        for (name, moment) in waiting.sorted(by: { ($0.1, $0.0.rank) < ($1.1, $1.0.rank) }) {
            guard moment <= now else {
                wake(at: moment)
                break
            }
            guard hasPlace(name) else { continue }
            guard takesRequest(now) else { break }
            send(name, replacing: makePlace(name, now: now), now: now)
        }
        if !retired.isEmpty, live.values.allSatisfy(\.isSettled) {
            for id in retired { close(id) }
            retired = []
            for (name, subscription) in live where subscription.open == nil && name != .own { lost(name, now: now) }
        }
    }

    /// Whether the relay allows a REQ for this, if need be instead of another.
    private func hasPlace(_ name: LiveSubscription.Name) -> Bool {
        if live[name]?.open != nil { return true }
        return subscriptions.count < capacity || !retired.isEmpty
    }

    /// Makes room for one more subscription. Returns the one that is replaced under its own id, for want of room.
    private mutating func makePlace(_ name: LiveSubscription.Name, now: Int64) -> SubscriptionID? {
        if subscriptions.count < capacity { return nil }
        if let id = retired.popLast() {
            close(id)
            gap(.kinds, since: now / 1_000)
            return nil
        }
        return live[name]?.open
    }

    private mutating func send(_ name: LiveSubscription.Name, replacing id: SubscriptionID?, now: Int64) {
        let filters: [Filter]
        switch name {
        case .own:
            filters = plan.own(now: now)
        case .kinds:
            filters = plan.live(addressed: nil, authored: nil, now: now)
        case .chunk(let chunk):
            roster.change(chunk: chunk) { $1.flags.insert(.asked) }
            let entries = roster.entries(ofChunk: chunk)
            filters = plan.live(addressed: entries.keys(.addressed), authored: entries.keys(.authored), now: now)
        }
        guard !filters.isEmpty else { return abandon(name) }
        let pending = request(filters, as: .live(name), replacing: id)
        live[name]?.pending = pending
        live[name]?.sentAt = now
        live[name]?.heardAt = now
        live[name]?.dueAt = nil
        live[name]?.pruneAt = nil
        live[name]?.awaitsAuthentication = false
        live[name]?.isGivenUp = false
        wake(at: now + settings.answer)
    }

    mutating func becameLive(_ name: LiveSubscription.Name, _ id: SubscriptionID, now: Int64) {
        guard let subscription = live[name], subscription.pending == id else { return }
        if subscription.open == id {
            gap(name, since: (subscription.sentAt ?? now) / 1_000)
        } else {
            close(subscription.open)
        }
        live[name]?.open = id
        live[name]?.pending = nil
        live[name]?.failures = 0
        switch name {
        case .own:
            break
        case .chunk(let chunk):
            var places: [UInt32] = []
            roster.change(chunk: chunk) { place, _ in places.append(place) }
            for place in places { goLive(place) }
        case .kinds:
            var places: [UInt32] = []
            roster.changeAll { place, entry in
                entry.flags.insert(.asked)
                places.append(place)
            }
            for place in places { goLive(place) }
        }
    }

    /// The relay closed a live subscription or did not open it.
    mutating func liveClosed(
        _ name: LiveSubscription.Name,
        _ id: SubscriptionID,
        _ refusal: Refusal,
        now: Int64
    ) {
        guard let subscription = live[name] else { return }
        if subscription.open == id { lost(name, now: now) }
        guard subscription.pending == id || subscription.pending == nil else { return }
        switch refusal {
        case .slower, .tooManySubscriptions, .later:
            liveFailed(name, pause: pause(after: subscription.failures), now: now)
        case .authenticate:
            liveFailed(name, pause: settings.answer, now: now)
            live[name]?.awaitsAuthentication = true
        case .smaller:
            if case .chunk = name, shrinkChunks(now: now) { return }
            giveUp(name, now: now)
        case .never:
            if name != .own, !plan.wraps.isEmpty, plan.news != nil {
                plan = FilterPlan(settings, withWraps: false)
                liveFailed(name, pause: 0, now: now)
            } else {
                giveUp(name, now: now)
            }
        }
    }

    private mutating func liveFailed(_ name: LiveSubscription.Name, pause: Int64, now: Int64) {
        live[name]?.pending = nil
        live[name]?.dueAt = now + pause
        live[name]?.failures += 1
        if case .chunk(let chunk) = name {
            roster.change(chunk: chunk) { if !$1.isLive { $1.flags.remove(.asked) } }
        }
    }

    /// The relay will not have this subscription. When it will have none, it is left alone.
    private mutating func giveUp(_ name: LiveSubscription.Name, now: Int64) {
        liveFailed(name, pause: settings.rest, now: now)
        live[name]?.isGivenUp = true
        if name == .kinds {
            isByKindRefused = true
            chooseMode(now: now)
        }
        if !live.isEmpty, live.values.allSatisfy(\.isGivenUp) { act(.rest(until: now + settings.rest)) }
    }

    /// What a live subscription brought until now must be read from now on, once it is open again.
    private mutating func lost(_ name: LiveSubscription.Name, now: Int64) {
        let isReplaced = live[name]?.pending != nil && live[name]?.pending != live[name]?.open
        live[name]?.open = nil
        gap(name, since: now / 1_000)
        let forget: (UInt32, inout RosterEntry) -> Void = { _, entry in
            entry.flags.remove(isReplaced ? .live : [.live, .asked])
        }
        switch name {
        case .own: break
        case .chunk(let chunk): roster.change(chunk: chunk, forget)
        case .kinds: roster.changeAll(forget)
        }
    }

    /// Notes that from `since` on, in seconds, events may not have come.
    mutating func gap(_ name: LiveSubscription.Name, since: Int64) {
        progress.dismiss()
        let miss: (UInt32, inout RosterEntry) -> Void = { _, entry in
            guard entry.sweep != 0 || entry.behindSince != 0 else { return }
            let since = UInt32(clamping: max(1, since))
            entry.behindSince = entry.behindSince == 0 ? since : min(entry.behindSince, since)
            if entry.isEstablished { entry.sweep = 0 }
        }
        switch name {
        case .own:
            if ownGap == nil { ownGap = .since(since) }
        case .chunk(let chunk):
            roster.change(chunk: chunk, miss)
            gaps[chunk] = min(gaps[chunk] ?? since, since)
        case .kinds:
            roster.changeAll(miss)
            for chunk in roster.chunks { gaps[chunk] = min(gaps[chunk] ?? since, since) }
        }
    }
}

extension LiveSubscription.Name {
    /// Our own first, then in the order of chunks.
    fileprivate var rank: Int {
        switch self {
        case .own: -2
        case .kinds: -1
        case .chunk(let number): number
        }
    }
}
