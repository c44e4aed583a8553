import Core
import Nostr

/// Events to publish at one relay. Each waits until the relay has responded or its deadline has passed.
struct Publications {
    struct Publication: Sendable {
        let event: Event
        var deadline: Timestamp
        /// Whether it was sent and waits for the response.
        var isSent = false
        var retry = Retry()
    }

    /// The maximum number of events that wait to be published at one relay.
    private static let limit = 1_000

    private let requests: RelayRequests
    private(set) var waiting: [EventID: Publication] = [:]

    init(_ requests: RelayRequests) {
        self.requests = requests
    }

    /// Adds an event. If it is already being published, the later deadline applies and it ends once.
    mutating func add(_ event: Event, deadline: Timestamp) {
        if let known = waiting[event.id] {
            waiting[event.id]?.deadline = max(known.deadline, deadline)
        } else if waiting.count < Self.limit {
            var publication = Publication(event: event, deadline: deadline)
            publication.retry.wait(until: requests.now)
            waiting[event.id] = publication
        } else {
            requests.act(.publishEnded(event.id, isAccepted: false, message: nil))
        }
    }

    /// Sends due events.
    mutating func send() {
        for (id, publication) in waiting where !publication.isSent {
            guard publication.retry.at <= requests.now else {
                requests.wake(at: publication.retry.at)
                continue
            }
            waiting[id]?.isSent = true
            waiting[id]?.retry.sent()
            requests.act(.send(.publish(publication.event)))
        }
    }

    /// Ends the events whose deadline has passed.
    mutating func expire() {
        for (id, publication) in waiting {
            if publication.deadline <= requests.now {
                end(id, isAccepted: false, nil)
            } else {
                requests.wake(at: publication.deadline)
            }
        }
    }

    /// Takes the relay's response. Returns whether the relay asks for authentication.
    mutating func answered(
        _ id: EventID,
        isAccepted: Bool,
        _ message: String,
        _ authentication: Authentication
    ) -> Bool {
        guard let publication = waiting[id] else { return false }
        if isAccepted || MachineReadablePrefix(of: message) == .duplicate {
            end(id, isAccepted: true, message)
            return false
        }
        let again = requests.now + requests.settings.pause(after: publication.retry.failures)
        switch authentication.meaning(of: RejectReason(message)) {
        case .authenticate:
            waiting[id]?.isSent = false
            waiting[id]?.retry.awaitAuthentication(until: requests.now + requests.settings.answer)
            return true
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions:
            waiting[id]?.isSent = false
            waiting[id]?.retry.failed(until: again)
        case .later where MachineReadablePrefix(of: message) == .error:
            waiting[id]?.isSent = false
            waiting[id]?.retry.failed(until: again)
        case .later, .smaller, .never:
            end(id, isAccepted: false, message)
        }
        return false
    }

    mutating func authenticationEnded() {
        for id in waiting.keys { waiting[id]?.retry.authenticationEnded(requests.now) }
    }

    /// Queues all events again for the next connection.
    mutating func disconnected() {
        for id in waiting.keys {
            waiting[id]?.isSent = false
            waiting[id]?.retry.wait(until: requests.now)
        }
    }

    private mutating func end(_ id: EventID, isAccepted: Bool, _ message: String?) {
        waiting[id] = nil
        requests.act(.publishEnded(id, isAccepted: isAccepted, message: message))
    }
}

/// Requests for stored events at one relay. Each waits until the relay has sent them or its deadline has passed.
struct Fetches {
    struct Fetch: Sendable {
        let filters: [Filter]
        let deadline: Timestamp
        var subscription: SubscriptionID?
        var retry = Retry()
    }

    /// The maximum number of fetches that wait at one relay.
    private static let limit = 256

    private let requests: RelayRequests
    private(set) var waiting: [UInt64: Fetch] = [:]
    /// The order of sending.
    private var order: [UInt64] = []

    init(_ requests: RelayRequests) {
        self.requests = requests
    }

    /// Adds a fetch. The number must not be in use.
    mutating func add(_ number: UInt64, _ filters: [Filter], deadline: Timestamp) {
        if filters.isEmpty || waiting.count >= Self.limit || waiting[number] != nil {
            requests.act(.fetchEnded(number))
        } else {
            waiting[number] = Fetch(filters: filters, deadline: deadline)
            order.append(number)
        }
    }

    /// Opens the subscriptions of due fetches, up to the relay's limit.
    mutating func send() {
        for number in order {
            guard let fetch = waiting[number], fetch.subscription == nil else { continue }
            guard fetch.retry.at <= requests.now else {
                requests.wake(at: fetch.retry.at)
                continue
            }
            guard requests.subscriptions.entries.count < requests.capacity.subscriptions, requests.takeTurn() else {
                return
            }
            waiting[number]?.subscription = requests.request(fetch.filters, as: .fetch(number))
            waiting[number]?.retry.sent()
        }
    }

    /// Ends the fetches whose deadline has passed.
    mutating func expire() {
        for number in order {
            guard let fetch = waiting[number] else { continue }
            if fetch.deadline <= requests.now {
                end(number)
            } else {
                requests.wake(at: fetch.deadline)
            }
        }
    }

    /// Ends a fetch for which the relay has sent all events.
    mutating func answered(_ number: UInt64) {
        requests.act(.fetchAnswered(number))
        end(number)
    }

    /// Handles a subscription that the relay closed or did not open.
    mutating func closed(_ number: UInt64, _ refusal: RejectReason) {
        guard let fetch = waiting[number] else { return }
        waiting[number]?.subscription = nil
        switch refusal {
        case .authenticate:
            waiting[number]?.retry.awaitAuthentication(until: requests.now + requests.settings.answer)
        case .slower, .tooManySubscriptions, .tooLargeSubscriptions, .later:
            waiting[number]?.retry.failed(until: requests.now + requests.settings.pause(after: fetch.retry.failures))
        case .smaller, .never:
            end(number)
        }
    }

    mutating func authenticationEnded() {
        for number in order { waiting[number]?.retry.authenticationEnded(requests.now) }
    }

    /// Queues all fetches again for the next connection.
    mutating func disconnected() {
        for number in order { waiting[number]?.subscription = nil }
    }

    private mutating func end(_ number: UInt64) {
        guard let fetch = waiting.removeValue(forKey: number) else { return }
        order.removeAll { $0 == number }
        requests.close(fetch.subscription)
        requests.act(.fetchEnded(number))
    }
}
