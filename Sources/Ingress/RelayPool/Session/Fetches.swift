import Nostr
import Units

/// Requests for stored events at one relay, each until the relay has sent them or its time is up.
struct Fetches: Sendable {
    private struct Fetch: Sendable {
        let filters: [Filter]
        let deadline: Timestamp
        var subscription: SubscriptionID?
        var retry = Retry()
    }

    /// Fetches that wait at one relay at most.
    private static let limit = 256

    private var fetches: [UInt64: Fetch] = [:]
    /// The first is sent first.
    private var order: [UInt64] = []

    var isEmpty: Bool { fetches.isEmpty }

    /// Adds a fetch. The number must not be in use.
    mutating func add(_ number: UInt64, _ filters: [Filter], deadline: Timestamp, _ requests: inout RelayRequests) {
        if filters.isEmpty || fetches.count >= Self.limit || fetches[number] != nil {
            requests.act(.fetchEnded(number))
        } else {
            fetches[number] = Fetch(filters: filters, deadline: deadline)
            order.append(number)
        }
    }

    /// Sends what is due, as far as there is room.
    mutating func send(_ requests: inout RelayRequests) {
        for number in order {
            guard let fetch = fetches[number], fetch.subscription == nil else { continue }
            guard fetch.retry.at <= requests.now else {
                requests.wake(at: fetch.retry.at)
                continue
            }
            guard requests.subscriptions.count < requests.capacity.subscriptions, requests.takeTurn() else { return }
            fetches[number]?.subscription = requests.request(fetch.filters, as: .fetch(number))
            fetches[number]?.retry.sent()
        }
    }

    /// Ends what had no answer in time.
    mutating func expire(_ requests: inout RelayRequests) {
        for number in order {
            guard let fetch = fetches[number] else { continue }
            if fetch.deadline <= requests.now {
                end(number, &requests)
            } else {
                requests.wake(at: fetch.deadline)
            }
        }
    }

    /// The relay has sent all that it has.
    mutating func answered(_ number: UInt64, _ requests: inout RelayRequests) {
        requests.act(.fetchAnswered(number))
        end(number, &requests)
    }

    /// The relay closed the subscription, or did not open it.
    mutating func closed(_ number: UInt64, _ refusal: Refusal, _ requests: inout RelayRequests) {
        guard let fetch = fetches[number] else { return }
        fetches[number]?.subscription = nil
        switch refusal {
        case .authenticate:
            fetches[number]?.retry.awaitAuthentication(until: requests.now + requests.settings.answer)
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            fetches[number]?.retry.failed(until: requests.now + requests.settings.pause(after: fetch.retry.failures))
        case .smaller, .never:
            end(number, &requests)
        }
    }

    mutating func authenticationEnded(_ now: Timestamp) {
        for number in order { fetches[number]?.retry.authenticationEnded(now) }
    }

    /// The connection has ended: everything is asked again over the next.
    mutating func disconnected() {
        for number in order { fetches[number]?.subscription = nil }
    }

    private mutating func end(_ number: UInt64, _ requests: inout RelayRequests) {
        guard let fetch = fetches.removeValue(forKey: number) else { return }
        order.removeAll { $0 == number }
        requests.close(fetch.subscription)
        requests.act(.fetchEnded(number))
    }
}
