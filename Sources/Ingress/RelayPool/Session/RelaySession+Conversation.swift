import Nostr

extension RelaySession {
    /// Begins a conversation. `mark`, in seconds, is up to when everything was dealt with before, in an earlier process too.
    mutating func connected(limitation: RelayLimitation, mark: Int64?, now: Int64) -> [RelayAction] {
        progress.distrust(now: now, to: now / 1_000 - settings.catchUpSeconds)
        if let mark { progress.resume(from: mark) }
        isConnected = true
        self.limitation = limitation
        capacity.says(subscriptions: limitation.maxSubscriptions)
        refusals = RefusalRow()
        plan = FilterPlan(settings, withWraps: true)
        isByKindRefused = false
        pollAt = nil
        pace = RequestPace(burst: settings.requestBurst, perSecond: settings.requestsPerSecond, now: now)
        authentication = Authentication()
        wantsAuthentication = limitation.isAuthenticationRequired
        holdUntil = wantsAuthentication ? now + min(5_000, settings.answer) : nil
        beginReading()
        isAskedByKind = false
        own.begin(at: own.place, now: now)
        live = [:]
        openOwn(now: now)
        chooseMode(now: now)
        if !isAskedByKind { openChunks(now: now) }
        wasConnected = true
        return finish(now)
    }

    /// Ends the conversation. `isClean` says that we ended it, with nothing unread; `isMessageTooLong` that the relay did
    /// because a message of ours was too long for it (status 1009).
    mutating func disconnected(isClean: Bool, isMessageTooLong: Bool = false, now: Int64) -> [RelayAction] {
        guard isConnected else { return finish(now) }
        if isClean, isEverythingLive, let seconds = progress.conclude(now: now) { act(.marked(seconds)) }
        progress.dismiss()
        if isMessageTooLong { chunkLimit = max(50, roster.chunkSize / 2) }
        isConnected = false
        subscriptions.removeAll()
        live = [:]
        retired = []
        sweeps = [:]
        for number in fetchOrder { fetches[number]?.subscription = nil }
        for id in publications.keys { publications[id]?.sendAt = now }
        return finish(now)
    }

    /// Forgets what was being read, and finds out what is to be read: since the mark for established keys, unless they have a
    /// moment of their own; everything for the others.
    private mutating func beginReading() {
        let size = keysPerChunk
        if size != roster.chunkSize || roster.chunks.count > roster.chunksNeeded + 1 {
            roster.rearrange(chunkSize: size)
        }
        subscriptions.removeAll()
        retired = []
        sweeps = [:]
        gaps = [:]
        laggards.removeAll()
        beginnings.removeAll()
        let mark = progress.reached
        var chunks: Set<Int> = []
        let chunkSize = roster.chunkSize
        roster.changeAll { place, entry in
            entry.flags.remove([.asked, .live])
            entry.sweep = 0
            guard entry.isEstablished else { return }
            if entry.behindSince == 0, mark.map({ Int64(entry.since) > $0 }) ?? true { entry.behindSince = entry.since }
            if entry.behindSince == 0 { chunks.insert(Int(place) / chunkSize) }
        }
        for chunk in chunks { gaps[chunk] = mark }
        if own.place != nil {
            switch ownGap {
            case .everything: break
            case .sinceMark, .since, nil: ownGap = mark.map { .since($0) } ?? .everything
            }
        }
    }

    /// The stored events of a subscription have ended.
    mutating func ended(_ subscription: SubscriptionID, now: Int64) {
        guard let entry = subscriptions[subscription] else { return }
        refusals.accepted(entry.number)
        switch entry.use {
        case .live(let name): becameLive(name, subscription, now: now)
        case .sweep(let number): sweepPageEnded(number, now: now)
        case .fetch(let number):
            act(.fetchAnswered(number))
            endFetch(number)
        case .retired: break
        }
    }

    /// The relay closed a subscription, or would not open it.
    mutating func closed(_ subscription: SubscriptionID, _ refusal: Refusal, now: Int64) {
        guard let entry = subscriptions.remove(subscription) else { return }
        let meaning = meaning(of: learn(from: refusal, of: entry, subscription, now: now))
        if meaning == .authenticate { authenticate(now: now) }
        switch entry.use {
        case .live(let name): liveClosed(name, subscription, meaning, now: now)
        case .sweep(let number): sweepClosed(number, meaning, now: now)
        case .fetch(let number): fetchClosed(number, meaning, now: now)
        case .retired(let former):
            retired.removeAll { $0 == subscription }
            retiredEnded(former, now: now)
        }
    }

    /// Does what is due, as far as the pace allows.
    mutating func advance(_ now: Int64) {
        expireAuthentication(now)
        forgetGuesses(now)
        sendPublications(now)
        if let holdUntil, now < holdUntil { return wake(at: holdUntil) }
        advanceLive(now)
        advancePolling(now)
        sendFetches(now)
        advanceSweeps(now)
        advanceMark(now)
    }

    /// Whether one more REQ may be sent now; if not, sees to it that it will be.
    mutating func takesRequest(_ now: Int64) -> Bool {
        guard !pace.take(at: now) else { return true }
        wake(at: max(now + 1, pace.next(after: now)))
        return false
    }

    func pause(after failures: Int) -> Int64 {
        min(settings.longestPause, settings.firstPause << Int64(min(failures, 20)))
    }

    /// Whether nothing of established keys is missing at this moment.
    var isEverythingLive: Bool {
        isConnected && gaps.isEmpty && laggards.isEmpty && missed.isEmpty
            && (ownGap == nil || live[.own]?.isGivenUp ?? true)
            && live.allSatisfy { $0.value.isComplete || $0.key == .own && $0.value.isGivenUp }
            && !sweeps.values.contains(where: \.holdsMark)
    }

    private mutating func advanceMark(_ now: Int64) {
        guard isEverythingLive else { return progress.dismiss() }
        if let seconds = progress.advance(now: now, interval: settings.markInterval) { act(.marked(seconds)) }
        wake(at: max(now + 1_000, progress.nextAt))
    }
}
