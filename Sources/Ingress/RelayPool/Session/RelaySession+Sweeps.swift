import Nostr

extension RelaySession {
    /// Sweeps at the same time, those included that wait for results or for a pause to end.
    private static let sweepLimit = 4
    /// Keys are read for together whose moments lie so many seconds apart.
    private static let window: Int64 = 600

    /// Requests pages that are due, and begins sweeps while there is anything to read and room for it.
    mutating func advanceSweeps(_ now: Int64) {
        expireSweeps(now)
        for number in sweeps.keys.sorted() {
            guard let sweep = sweeps[number], sweep.subscription == nil, let step = sweep.steps.first else { continue }
            guard sweep.retryAt <= now else {
                wake(at: sweep.retryAt)
                continue
            }
            guard hasSweepPlace(for: step.length) else { return }
            guard takesRequest(now) else { return }
            requestPage(number, now: now)
        }
        while hasSweepPlace(for: messageLength), sweeps.count < Self.sweepLimit {
            guard let next = nextPurpose(now) else { return }
            guard pace.next(after: now) <= now else { return wake(at: pace.next(after: now)) }
            guard let sweep = make(next, now: now) else { continue }
            _ = pace.take(at: now)
            sweeps[sweep.number] = sweep
            requestPage(sweep.number, now: now)
        }
    }

    /// Whether there is room for a REQ of that length. One subscription is left for fetches; live ones come first.
    private func hasSweepPlace(for length: Int) -> Bool {
        let open = sweeps.values.count { $0.subscription != nil }
        guard open < settings.sweepsAtOnce, !waitsForRoom,
            subscriptions.count < (open == 0 ? capacity.subscriptions : capacity.subscriptions - 1)
        else { return false }
        if subscriptions.bytes + length <= capacity.bytes { return true }
        // What is open for long leaves room for one. If that is a little less than one takes, it must do.
        return open == 0 && retired.isEmpty && live.values.allSatisfy { $0.pending == nil }
    }

    private func isOpen(_ chunk: Int) -> Bool {
        live[isAskedByKind ? .kinds : .chunk(chunk)]?.open != nil || isPolled(chunk)
    }

    private mutating func nextPurpose(_ now: Int64) -> Sweep.Purpose? {
        if !missed.isEmpty {
            if missedAt <= now { return .again }
            wake(at: missedAt)
        }
        if let ownGap, live[.own]?.open != nil {
            switch ownGap {
            case .since(let since): return .own(since: since)
            case .sinceMark: return .own(since: progress.reached)
            case .everything: return .own(since: nil)
            }
        }
        if let (chunk, since) = gaps.filter({ isOpen($0.key) }).min(by: { $0.key < $1.key }) {
            return .gap(chunk: chunk, since: since)
        }
        if !laggards.isEmpty { return .laggards }
        return beginnings.isEmpty ? nil : .beginning
    }

    /// Makes the sweep; nil when nothing is to be read after all.
    private mutating func make(_ purpose: Sweep.Purpose, now: Int64) -> Sweep? {
        let number = nextSweepNumber()
        var entries: [RosterEntry] = []
        let stages: [SweepStage]
        switch purpose {
        case .again:
            stages = again(missed)
            missed = [:]
        case .own(let since):
            stages = own.stages(
                since: since.map { max(0, $0 - settings.slackSeconds) },
                pages: settings.pages,
                wholePages: settings.registrationPages
            )
            ownGap = nil
        case .gap(let chunk, let since):
            gaps[chunk] = nil
            entries = roster.entries(ofChunk: chunk).filter { $0.isEstablished && $0.isLive && $0.behindSince == 0 }
            let first = entries.map { Int64($0.since) }.min() ?? 0
            stages = plan.catchUp(entries, since: max(first, since - settings.slackSeconds, horizon(now)))
        case .laggards:
            let places = laggards.next(atMost: roster.chunkSize, within: Self.window)
            entries = take(places, for: number) { $0.isEstablished && $0.behindSince != 0 }
            let first = entries.map { max(Int64($0.since), Int64($0.behindSince) - settings.slackSeconds) }.min() ?? 0
            stages = plan.catchUp(entries, since: max(first, horizon(now)))
        case .beginning:
            let places = beginnings.next(atMost: roster.chunkSize, within: Self.window)
            entries = take(places, for: number) { !$0.isEstablished }
            stages = plan.beginning(entries, notBefore: horizon(now))
        }
        guard !stages.isEmpty else { return nil }
        return Sweep(number: number, purpose: purpose, keys: entries.map(\.key), steps: steps(for: stages))
    }

    /// Nothing older is read, in seconds.
    private func horizon(_ now: Int64) -> Int64 { max(0, now / 1_000 - settings.catchUpSeconds) }

    /// Gives the keys at these places to a sweep, if they still wait for one.
    private mutating func take(
        _ places: [UInt32],
        for number: UInt32,
        where isWaiting: (RosterEntry) -> Bool
    ) -> [RosterEntry] {
        places.compactMap { place in
            guard let entry = roster.entry(at: place), entry.isLive, entry.sweep == 0, isWaiting(entry) else {
                return nil
            }
            _ = roster.change(at: place) { $0.sweep = number }
            return entry
        }
    }

    private func again(_ events: [EventID: Reading]) -> [SweepStage] {
        var stages: [SweepStage] = []
        for reading in Set(events.values) {
            let ids = events.filter { $0.value == reading }.keys.sorted()
            let size = 200
            for start in stride(from: 0, to: ids.count, by: size) {
                let some = Set(ids[start..<min(start + size, ids.count)])
                stages.append(SweepStage(filter: Filter(ids: some), reading: reading, pages: settings.pages))
            }
        }
        return stages
    }

    private func steps(for stages: [SweepStage]) -> [SweepStep] {
        let limit = min(settings.pageLimit, limitation.maxLimit ?? settings.pageLimit)
        return SweepStep.pack(stages, limit: limit, within: asksTogether ? messageLength - 64 : 0)
    }

    private mutating func requestPage(_ number: UInt32, now: Int64) {
        sweeps[number]?.steps[0].beginPageAgain()
        guard let step = sweeps[number]?.steps.first else { return }
        let id = request(step.filters, as: .sweep(number))
        sweeps[number]?.subscription = id
        sweeps[number]?.heardAt = now
        sweeps[number]?.awaitsAuthentication = false
        wake(at: now + settings.answer)
    }

    /// Counts as failed what has no answer, unless what came of it is still in work: then we may be who is slow.
    private mutating func expireSweeps(_ now: Int64) {
        for (number, sweep) in sweeps where sweep.subscription != nil && sweep.outstanding == 0 {
            guard now >= sweep.heardAt + settings.answer else {
                wake(at: sweep.heardAt + settings.answer)
                continue
            }
            close(sweep.subscription)
            sweepFailed(number, pause: pause(after: sweep.failures), now: now)
        }
    }

    mutating func sweepPageEnded(_ number: UInt32, now: Int64) {
        close(sweeps[number]?.subscription)
        sweeps[number]?.subscription = nil
        sweeps[number]?.failures = 0
        if let unread = sweeps[number]?.endPage(), unread > 0 { act(.unread(unread)) }
        finishSweep(number, now: now)
    }

    mutating func sweepClosed(_ number: UInt32, _ refusal: Refusal, now: Int64) {
        guard let sweep = sweeps[number] else { return }
        switch refusal {
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            sweepFailed(number, pause: pause(after: sweep.failures), now: now)
        case .authenticate:
            sweepFailed(number, pause: settings.answer, now: now)
            sweeps[number]?.awaitsAuthentication = true
        case .smaller where sweep.steps.first?.isOfSeveral == true, .never where sweep.steps.first?.isOfSeveral == true:
            asksTogether = false
            sweeps[number]?.subscription = nil
            sweeps[number]?.steps = sweep.steps.flatMap { $0.separated() }
        case .smaller where sweep.keys.count > 50 && shrinkChunks(now: now):
            break
        case .smaller, .never:
            sweeps[number]?.subscription = nil
            sweeps[number]?.endStep()
            finishSweep(number, now: now)
        }
    }

    /// Stops the page that is being read, if one is, until later. Returns whether one was.
    mutating func interruptSweep(now: Int64) -> Bool {
        guard let (number, sweep) = sweeps.filter({ $0.value.subscription != nil }).max(by: { $0.key < $1.key }) else {
            return false
        }
        close(sweep.subscription)
        sweeps[number]?.subscription = nil
        sweeps[number]?.retryAt = now + settings.firstPause
        return true
    }

    private mutating func sweepFailed(_ number: UInt32, pause: Int64, now: Int64) {
        sweeps[number]?.subscription = nil
        sweeps[number]?.retryAt = now + pause
        sweeps[number]?.failures += 1
    }

    /// Ends a sweep that is through, or has it read again what was not dealt with.
    mutating func finishSweep(_ number: UInt32, now: Int64) {
        guard let sweep = sweeps[number], sweep.isRead else { return }
        if sweep.mustBeginAgain {
            dissolve(number)
        } else if !sweep.undealt.isEmpty {
            let steps = steps(for: again(sweep.undealt))
            let pause = pause(after: sweep.failedReadings)
            sweeps[number]?.steps = steps
            sweeps[number]?.undealt = [:]
            sweeps[number]?.retryAt = now + pause
            sweeps[number]?.failedReadings += 1
        } else {
            sweeps[number] = nil
            if sweep.purpose == .again { missedFailures = 0 }
            var established: [PublicKey] = []
            for key in sweep.keys {
                guard let place = roster.place(of: key), let entry = roster.entry(at: place), entry.sweep == number
                else {
                    continue
                }
                if sweep.purpose == .beginning { established.append(key) }
                readingEnded(at: place, entry, now: now)
            }
            if !established.isEmpty { act(.established(established)) }
        }
    }

    private mutating func readingEnded(at place: UInt32, _ entry: RosterEntry, now: Int64) {
        let isLagging = !entry.isEstablished && entry.behindSince != 0
        _ = roster.change(at: place) { entry in
            entry.sweep = 0
            entry.flags.insert(.established)
            if !isLagging { entry.behindSince = 0 }
        }
        if isLagging, entry.isLive { laggards.append(place, moment: Int64(entry.behindSince)) }
    }

    /// Ends a sweep unread, and notes that what it read must be read.
    mutating func dissolve(_ number: UInt32) {
        guard let sweep = sweeps.removeValue(forKey: number) else { return }
        close(sweep.subscription)
        switch sweep.purpose {
        case .again: missed.merge(sweep.undealt) { one, _ in one }
        case .own(let since): ownGap = since.map { .since($0) } ?? .everything
        case .gap(let chunk, let since): gaps[chunk] = min(gaps[chunk] ?? since, since)
        case .laggards, .beginning:
            for key in sweep.keys {
                guard let place = roster.place(of: key), let entry = roster.entry(at: place), entry.sweep == number
                else {
                    continue
                }
                _ = roster.change(at: place) { $0.sweep = 0 }
                queue(place)
            }
        }
    }
}
