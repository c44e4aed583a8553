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
        waitsForRoom = false
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
            retiredEnded(nil, now: now)
        }
    }

    private func isRoom(for name: LiveSubscription.Name) -> Bool {
        guard subscriptions.count < capacity.subscriptions else { return false }
        // Without keys it is short. Whether the relay has room for that is worth a try, however much is open.
        guard case .chunk(let chunk) = name else { return true }
        return subscriptions.bytes + FilterPlan.length(ofLive: roster.size(ofChunk: chunk)) <= capacity.bytes
    }

    /// Whether the relay allows a REQ for this, if need be instead of another. If not, waits for others to end.
    private mutating func hasPlace(_ name: LiveSubscription.Name) -> Bool {
        if isRoom(for: name) { return true }
        if subscriptions.count >= capacity.subscriptions { return live[name]?.open != nil || !retired.isEmpty }
        waitsForRoom = sweeps.values.contains { $0.subscription != nil } || live.values.contains { $0.pending != nil }
        return !waitsForRoom
    }

    /// Makes room for one more subscription. Returns the one that is replaced under its own id, for want of room.
    private mutating func makePlace(_ name: LiveSubscription.Name, now: Int64) -> SubscriptionID? {
        while !isRoom(for: name), !retired.isEmpty { leaveRetired(now: now) }
        return isRoom(for: name) ? nil : live[name]?.open
    }

    private mutating func send(_ name: LiveSubscription.Name, replacing id: SubscriptionID?, now: Int64) {
        let filters: [Filter]
        switch name {
        case .own:
            filters = own.filters(now: now)
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
        live[name]?.sentBytes = pending.flatMap { subscriptions[$0]?.bytes } ?? 0
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
        let isForRoom = refusal == .tooManySubscriptions || refusal == .tooLargeSubscriptions
        if isForRoom, name == .kinds, makeRoom(now: now) {
            live[.kinds]?.pending = nil
            live[.kinds]?.dueAt = now
            return
        }
        switch refusal {
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            liveFailed(name, pause: pause(after: subscription.failures), now: now)
        case .authenticate:
            liveFailed(name, pause: settings.answer, now: now)
            live[name]?.awaitsAuthentication = true
        case .smaller where name == .own && own.askLess(), .never where name == .own && own.askLess():
            liveFailed(name, pause: 0, now: now)
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

    /// It may be that the relay will not be asked by kind, but has no word for that.
    private static let patienceByKind = 5
    private static let patienceAtUsers = 3

    private mutating func liveFailed(_ name: LiveSubscription.Name, pause: Int64, now: Int64) {
        live[name]?.pending = nil
        live[name]?.dueAt = now + pause
        live[name]?.failures += 1
        if name == .kinds, live[name]?.failures == Self.patienceByKind { giveUp(name, now: now) }
        // What a relay of users' is asked for besides holds nothing up there.
        if name == .own, own.place == .users, live[name]?.failures == Self.patienceAtUsers { giveUp(name, now: now) }
        if case .chunk(let chunk) = name {
            roster.change(chunk: chunk) { if !$1.isLive { $1.flags.remove(.asked) } }
        }
    }

    /// Closes something for which the relay will have one more subscription. Returns false if there is nothing.
    private mutating func makeRoom(now: Int64) -> Bool {
        if interruptSweep(now: now) { return true }
        guard !retired.isEmpty else { return false }
        leaveRetired(now: now)
        return true
    }

    /// Closes a subscription before others have taken over.
    private mutating func leaveRetired(now: Int64) {
        guard let id = retired.popLast(), case .retired(let former)? = subscriptions[id]?.use else { return }
        close(id)
        retiredEnded(former, now: now)
    }

    /// What a retired subscription brought until now, and nothing else does yet, must be read from now on.
    mutating func retiredEnded(_ former: LiveSubscription.Name?, now: Int64) {
        if isAskedByKind, case .chunk(let chunk)? = former {
            guard live[.kinds]?.open == nil else { return }
            gap(.chunk(chunk), since: now / 1_000)
            roster.change(chunk: chunk) { $1.flags.remove(.live) }
        } else {
            for (name, subscription) in live where subscription.open == nil && name != .own { lost(name, now: now) }
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
        let needed = live.filter { $0.key != .own || own.place == .operators }
        if !needed.isEmpty, needed.values.allSatisfy(\.isGivenUp) { act(.rest(until: now + settings.rest)) }
    }

    /// What a live subscription brought until now must be read from now on, once it is open again.
    mutating func lost(_ name: LiveSubscription.Name, now: Int64) {
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
