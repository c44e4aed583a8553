import NIOConcurrencyHelpers
import Nostr
import Units

/// Events that one relay is to publish and fetches that it is to answer, with who waits for the results.
struct PendingRequests {
    private var publications: [EventID: [PublishTally]] = [:]
    private var fetches: [UInt64: FetchTally] = [:]
    private var lastFetch: UInt64 = 0

    /// Returns false if the same event is already being published here.
    mutating func add(_ publication: PublishTally) -> Bool {
        publications[publication.event.id, default: []].append(publication)
        return publications[publication.event.id]?.count == 1
    }

    /// Returns the number of the fetch.
    mutating func add(_ fetch: FetchTally) -> UInt64 {
        lastFetch += 1
        fetches[lastFetch] = fetch
        return lastFetch
    }

    mutating func takePublications(_ id: EventID) -> [PublishTally] {
        publications.removeValue(forKey: id) ?? []
    }

    /// The relay has nothing more for the fetch of that number.
    func noteAnswer(_ number: UInt64) { fetches[number]?.noteAnswer() }

    mutating func takeFetch(_ number: UInt64) -> FetchTally? {
        fetches.removeValue(forKey: number)
    }

    /// Gives up all of them.
    mutating func abandon(at relay: RelayURL) {
        for publication in publications.values.joined() { publication.add(.unanswered, from: relay) }
        for fetch in fetches.values { fetch.end(relay) }
        publications = [:]
        fetches = [:]
    }
}

/// Collects the results of publishing one event and hands them over together, once.
final class PublishTally: Sendable {
    private struct State {
        var open: Set<RelayURL>
        var results: [RelayURL: PublishResult] = [:]
    }

    let event: Event
    private let state: NIOLockedValueBox<State>
    private let completion: @Sendable ([RelayURL: PublishResult]) -> Void

    init(
        event: Event,
        relays: Set<RelayURL>,
        completion: @escaping @Sendable ([RelayURL: PublishResult]) -> Void
    ) {
        self.event = event
        self.state = NIOLockedValueBox(State(open: relays))
        self.completion = completion
    }

    /// A second result of one relay does not count.
    func add(_ result: PublishResult, from relay: RelayURL) {
        let complete = state.withLockedValue { state -> [RelayURL: PublishResult]? in
            guard state.open.remove(relay) != nil else { return nil }
            state.results[relay] = result
            return state.open.isEmpty ? state.results : nil
        }
        if let complete { completion(complete) }
    }
}

/// Waits for the relays that were asked for stored events, and completes once: when all have answered or time is up.
final class FetchTally: Sendable {
    let filters: [Filter]
    /// How long each relay has.
    let time: Duration
    private let state: NIOLockedValueBox<(open: Set<RelayURL>, isAnswered: Bool)>
    private let completion: @Sendable (_ isAnswered: Bool) -> Void

    init(
        filters: [Filter],
        relays: Set<RelayURL>,
        time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        self.filters = filters
        self.time = time
        self.state = NIOLockedValueBox((relays, false))
        self.completion = completion
    }

    /// A relay says that it has nothing more for this.
    func noteAnswer() { state.withLockedValue { $0.isAnswered = true } }

    /// Stops waiting for `relay`.
    func end(_ relay: RelayURL) {
        let (isLast, isAnswered) = state.withLockedValue { state in
            (state.open.remove(relay) != nil && state.open.isEmpty, state.isAnswered)
        }
        if isLast { completion(isAnswered) }
    }
}
