import Nostr

extension RelaySession {
    /// Events that are asked for one by one at most when they were not dealt with; of more, everything is read again.
    private static let missedLimit = 2_000
    private static let rememberedLimit = 10_000

    /// Says how an event is to be read that came on that subscription; nil when it is not to be read at all.
    ///
    /// Looks at the event's bytes only in subscriptions to stored events. Is not followed by actions.
    mutating func received(_ event: UnsafeRawBufferPointer, on subscription: SubscriptionID, now: Int64) -> Arrival? {
        switch subscriptions[subscription]?.use {
        case .live(.own) where !isOurs(event, isLive: live[.own]?.pending != subscription, now: now):
            live[.own]?.heardAt = now
            return nil
        case .live(let name):
            guard live[name]?.pending == subscription else { return liveArrival(event) }
            live[name]?.heardAt = now
            // What is stored is read by a sweep, which knows what is news. Nobody sweeps for remote signing.
            return name == .own ? arrival(.stored) : nil
        case .retired:
            return liveArrival(event)
        case .fetch:
            return arrival(.fetched)
        case .sweep(let number):
            sweeps[number]?.heardAt = now
            guard let scanned = try? scanner.scan(event), let reading = sweeps[number]?.reading(of: scanned) else {
                return nil
            }
            if sweeps[number]?.isForOwnKey == true, !own.isOurs(scanned, in: event) { return nil }
            if reading == .baseline {
                // Else one user's relay could have other users' messages taken for old ones.
                let isMessage = scanned.kind == .giftWrap || scanned.kind == .ephemeralGiftWrap
                if isMessage, sweeps[number]?.asksFor(scanner.pValues) != true { return nil }
                if liveWhileBeginning.contains(scanned.id) || missed[scanned.id] != nil { return nil }
            }
            sweeps[number]?.outstanding += 1
            return Arrival(reading: reading, sweep: number)
        case nil:
            return nil
        }
    }

    /// Whether an event on our own key's account is for us. Of too many that are not less is asked for.
    private mutating func isOurs(_ event: UnsafeRawBufferPointer, isLive: Bool, now: Int64) -> Bool {
        guard let scanned = try? scanner.scan(event), !own.isOurs(scanned, in: event) else { return true }
        if isLive, !own.bears(scanned.kind, now: now) {
            live[.own]?.dueAt = now
            wake(at: now)
            act(.tooManyRegistrations)
        }
        return false
    }

    private mutating func liveArrival(_ event: UnsafeRawBufferPointer) -> Arrival {
        if sweeps.isEmpty {
            if !liveWhileBeginning.isEmpty { liveWhileBeginning = [] }
        } else if liveWhileBeginning.count < Self.rememberedLimit, sweeps.values.contains(where: \.isBeginning),
            let id = try? scanner.scan(event).id
        {
            liveWhileBeginning.insert(id)
        }
        return arrival(.live)
    }

    private mutating func arrival(_ reading: Reading) -> Arrival {
        Arrival(reading: reading, sweep: nil, epoch: reading == .fetched ? 0 : progress.arrived())
    }

    /// Takes what became of events that ``received(_:on:now:)`` let through, one result an event. The events are looked at only
    /// where they were not dealt with, to be read again.
    mutating func settled(
        _ arrivals: [Arrival],
        _ events: [[UInt8]],
        isDealtWith: [Bool],
        now: Int64
    ) -> [RelayAction] {
        var touched: Set<UInt32> = []
        for (index, arrival) in arrivals.enumerated() {
            let isDealtWith = index < isDealtWith.count && isDealtWith[index]
            let event = index < events.count ? events[index] : []
            if let number = arrival.sweep {
                guard sweeps[number] != nil else { continue }
                touched.insert(number)
                sweeps[number]?.outstanding -= 1
                sweeps[number]?.heardAt = now
                if !isDealtWith { missedInSweep(number, event, arrival.reading) }
            } else if arrival.reading != .fetched {
                if !isDealtWith { missedLive(event, now: now) }
                progress.settled(arrival.epoch)
            }
        }
        for number in touched { finishSweep(number, now: now) }
        return finish(now)
    }

    private mutating func missedInSweep(_ number: UInt32, _ event: [UInt8], _ reading: Reading) {
        guard let id = id(of: event), (sweeps[number]?.undealt.count ?? 0) < Self.missedLimit else {
            sweeps[number]?.mustBeginAgain = true
            return
        }
        sweeps[number]?.undealt[id] = reading
    }

    private mutating func missedLive(_ event: [UInt8], now: Int64) {
        progress.dismiss()
        guard let id = id(of: event) else { return }
        if missed.isEmpty {
            missedAt = now + pause(after: missedFailures)
            missedFailures += 1
        }
        missed[id] = .stored
        guard missed.count > Self.missedLimit else { return }
        missed = [:]
        let since = progress.reached ?? 0
        for chunk in roster.chunks { gaps[chunk] = min(gaps[chunk] ?? since, since) }
        if own.place != nil { ownGap = progress.reached.map { .since($0) } ?? .everything }
    }

    private mutating func id(of event: [UInt8]) -> EventID? {
        event.withUnsafeBytes { try? scanner.scan($0).id }
    }
}
