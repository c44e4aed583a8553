import Nostr

extension RelaySession {
    /// Fetches that wait at one relay at most.
    private static let fetchLimit = 256

    /// Asks for stored events, now or when connected. ``RelayAction/fetchEnded(_:)`` with that number follows, at `deadline` at the
    /// latest. The number must not be in use.
    mutating func fetch(_ number: UInt64, _ filters: [Filter], deadline: Int64, now: Int64) -> [RelayAction] {
        if filters.isEmpty || fetches.count >= Self.fetchLimit || fetches[number] != nil {
            act(.fetchEnded(number))
        } else {
            fetches[number] = Fetch(filters: filters, deadline: deadline)
            fetchOrder.append(number)
        }
        return finish(now)
    }

    mutating func sendFetches(_ now: Int64) {
        for number in fetchOrder {
            guard let fetch = fetches[number], fetch.subscription == nil else { continue }
            guard fetch.retryAt <= now else {
                wake(at: fetch.retryAt)
                continue
            }
            guard subscriptions.count < capacity.subscriptions, takesRequest(now) else { return }
            let id = request(fetch.filters, as: .fetch(number))
            fetches[number]?.subscription = id
            fetches[number]?.awaitsAuthentication = false
        }
    }

    mutating func expireFetches(_ now: Int64) {
        for number in fetchOrder {
            guard let fetch = fetches[number] else { continue }
            if fetch.deadline <= now {
                endFetch(number)
            } else {
                wake(at: fetch.deadline)
            }
        }
    }

    mutating func endFetch(_ number: UInt64) {
        guard let fetch = fetches.removeValue(forKey: number) else { return }
        fetchOrder.removeAll { $0 == number }
        close(fetch.subscription)
        act(.fetchEnded(number))
    }

    mutating func fetchClosed(_ number: UInt64, _ refusal: Refusal, now: Int64) {
        guard let fetch = fetches[number] else { return }
        fetches[number]?.subscription = nil
        switch refusal {
        case .authenticate:
            fetches[number]?.awaitsAuthentication = true
            fetches[number]?.retryAt = now + settings.answer
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            let pause = pause(after: fetch.failures)
            fetches[number]?.retryAt = now + pause
            fetches[number]?.failures += 1
        case .smaller, .never:
            endFetch(number)
        }
    }
}
