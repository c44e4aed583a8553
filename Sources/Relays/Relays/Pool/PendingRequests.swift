import Core
import Nostr
import Synchronization

/// Pending publications and fetches at one relay, with their callers.
struct PendingRequests {
    var publications: [EventID: [PublishTally]] = [:]
    var fetches: [UInt64: FetchTally] = [:]
    private var lastFetch: UInt64 = 0

    /// Adds a publication. Returns false if the same event is already being published here.
    mutating func add(_ publication: PublishTally) -> Bool {
        publications[publication.event.id, default: []].append(publication)
        return publications[publication.event.id]?.count == 1
    }

    /// Adds a fetch. Returns its number.
    mutating func add(_ fetch: FetchTally) -> UInt64 {
        lastFetch += 1
        fetches[lastFetch] = fetch
        return lastFetch
    }

    /// Ends all requests without a response.
    mutating func abandon(at relay: RelayURL) {
        for publication in publications.values.joined() { publication.add(.unanswered, from: relay) }
        for fetch in fetches.values { fetch.end(relay) }
        publications = [:]
        fetches = [:]
    }
}

/// Collects the results of publishing one event and completes once with all of them.
final class PublishTally: Sendable {
    private struct State {
        var open: Set<RelayURL>
        var results: [RelayURL: PublishResult] = [:]
    }

    let event: Event
    private let state: Mutex<State>
    private let completion: @Sendable ([RelayURL: PublishResult]) -> Void

    init(event: Event, relays: Set<RelayURL>, completion: @escaping @Sendable ([RelayURL: PublishResult]) -> Void) {
        self.event = event
        self.state = Mutex(State(open: relays))
        self.completion = completion
    }

    /// Adds the result of a relay. Only the first result of a relay counts.
    func add(_ result: PublishResult, from relay: RelayURL) {
        let complete = state.withLock { state -> [RelayURL: PublishResult]? in
            guard state.open.remove(relay) != nil else { return nil }
            state.results[relay] = result
            return state.open.isEmpty ? state.results : nil
        }
        if let complete { completion(complete) }
    }
}

/// Waits for the relays of a fetch, and completes once: when all have responded or at the timeout.
final class FetchTally: Sendable {
    let filters: [Filter]
    /// The timeout for each relay.
    let time: Duration
    private let state: Mutex<(open: Set<RelayURL>, isAnswered: Bool)>
    private let completion: @Sendable (_ isAnswered: Bool) -> Void

    init(
        filters: [Filter],
        relays: Set<RelayURL>,
        time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        self.filters = filters
        self.time = time
        self.state = Mutex((relays, false))
        self.completion = completion
    }

    /// Notes that a relay has sent all its events.
    func noteAnswer() { state.withLock { $0.isAnswered = true } }

    /// Stops waiting for `relay`.
    func end(_ relay: RelayURL) {
        let (isLast, isAnswered) = state.withLock { state in
            (state.open.remove(relay) != nil && state.open.isEmpty, state.isAnswered)
        }
        if isLast { completion(isAnswered) }
    }
}

/// The events read from one relay, in batches for the delegate, and the number of unsettled ones.
struct EventBatches {
    /// Events that are passed to the delegate together.
    struct Batch: Equatable {
        let reading: Reading
        private(set) var events: [[UInt8]] = []
        private(set) var arrivals: [Arrival] = []
        private(set) var bytes = 0
        /// The number of events that may register an account.
        private(set) var registering = 0

        fileprivate init(_ reading: Reading) {
            self.reading = reading
        }

        fileprivate mutating func append(_ event: [UInt8], _ arrival: Arrival, mayRegister: Bool) {
            if mayRegister { registering += 1 }
            events.append(event)
            arrivals.append(arrival)
            bytes += event.count
        }
    }

    private let limits: ConnectionLimits
    /// The batches that are not passed on yet.
    private var open: [Reading: Batch] = [:]
    private var unsettled = (events: 0, bytes: 0)

    init(limits: ConnectionLimits) {
        self.limits = limits
    }

    /// Whether every event is settled.
    var isSettled: Bool { unsettled.events == 0 }
    /// Whether reading must stop because too many events are unsettled.
    var isFull: Bool { unsettled.events >= limits.eventsInWork || unsettled.bytes >= limits.bytesInWork.bytes }

    /// Adds an event. Returns the batch if this fills it.
    mutating func add(_ event: [UInt8], _ arrival: Arrival, mayRegister: Bool = false) -> Batch? {
        unsettled.events += 1
        unsettled.bytes += event.count
        var batch = open.removeValue(forKey: arrival.reading) ?? Batch(arrival.reading)
        batch.append(event, arrival, mayRegister: mayRegister)
        guard batch.events.count < limits.batch else { return batch }
        open[arrival.reading] = batch
        return nil
    }

    mutating func settle(_ batch: Batch) {
        unsettled.events -= batch.events.count
        unsettled.bytes -= batch.bytes
    }

    /// Returns all batches that are not passed on yet.
    mutating func takeAll() -> [Batch] {
        guard !open.isEmpty else { return [] }
        defer { open.removeAll(keepingCapacity: true) }
        return Array(open.values)
    }
}
