import HTTPClient
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Nostr
import Relays

/// Settles events immediately, or when a test allows it.
final class RecordingDelegate: RelayPoolDelegate {
    struct Batch: Equatable {
        var events: [[UInt8]]
        var relay: RelayURL
        var reading: Reading
    }

    private struct State {
        var holds: Bool
        var held: [@Sendable () -> Void] = []
        var established: [PublicKey] = []
        var marks: [Int64] = []
        var unread = 0
        var screened: ScreenedAuthors?
    }

    let batches: AsyncStream<Batch>
    private let continuation: AsyncStream<Batch>.Continuation
    private let state: NIOLockedValueBox<State>

    var established: [PublicKey] { state.withLockedValue { $0.established } }
    /// In seconds since 1970.
    var marks: [Int64] { state.withLockedValue { $0.marks } }

    /// How often stored events were out of reach.
    var unread: Int { state.withLockedValue { $0.unread } }

    init(holds: Bool = false) {
        (batches, continuation) = AsyncStream.makeStream(of: Batch.self)
        state = NIOLockedValueBox(State(holds: holds))
    }

    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    ) {
        let complete: @Sendable () -> Void = { completion(Array(repeating: true, count: events.count)) }
        let isHeld = state.withLockedValue { state in
            if state.holds { state.held.append(complete) }
            return state.holds
        }
        continuation.yield(Batch(events: events, relay: relay, reading: reading))
        if !isHeld { complete() }
    }

    func established(_ keys: [PublicKey], at relay: RelayURL) {
        state.withLockedValue { $0.established += keys }
    }

    func marked(_ relay: RelayURL, upTo moment: Int64) {
        state.withLockedValue { $0.marks.append(moment) }
    }

    func mark(of relay: RelayURL) -> Int64? { nil }

    func prefilter() -> (any EventPrefilter)? { state.withLockedValue { $0.screened }?.make() }

    /// Screens live events from now on.
    func screen(_ authors: ScreenedAuthors?) { state.withLockedValue { $0.screened = authors } }

    func couldNotRead(_ times: Int, at relay: RelayURL) {
        state.withLockedValue { $0.unread += times }
    }

    /// Settles the held events, and from now on all events immediately.
    func release() {
        let held = state.withLockedValue { state in
            state.holds = false
            defer { state.held = [] }
            return state.held
        }
        for complete in held { complete() }
    }

    /// Returns the ids of the next `count` events.
    func ids(_ count: Int) async -> [EventID] {
        var ids: [EventID] = []
        for await batch in batches {
            ids += batch.events.compactMap { try? Event(json: $0).id }
            if ids.count >= count { break }
        }
        return ids
    }
}

/// A prefilter that drops one author's events as irrelevant.
final class ScreenedAuthors: Sendable {
    private let author: PublicKey
    private let count = NIOLockedValueBox(0)

    init(_ author: PublicKey) {
        self.author = author
    }

    var reported: Int { count.withLockedValue { $0 } }

    func make() -> any EventPrefilter { Reading(author, count) }

    private final class Reading: EventPrefilter {
        private let author: PublicKey
        private let count: NIOLockedValueBox<Int>
        private var scanner = EventScanner()
        private var passed = 0

        init(_ author: PublicKey, _ count: NIOLockedValueBox<Int>) {
            self.author = author
            self.count = count
        }

        func finding(of json: UnsafeRawBufferPointer) -> PrefilterResult {
            guard (try? scanner.scan(json))?.pubkey == author else { return .mayConcernSomebody }
            passed += 1
            return .irrelevant
        }

        func report() {
            count.withLockedValue { $0 += passed }
            passed = 0
        }
    }
}

/// Answers requests for information documents, immediately or when a test allows it.
final class StubHTTP: HTTPSender {
    private struct State {
        var requests: [HTTPRequest] = []
        var holds: Bool
        var held: [@Sendable () -> Void] = []
    }

    private let document: String?
    private let state: NIOLockedValueBox<State>

    /// Without a document the page does not exist.
    init(document: String? = nil, holds: Bool = false) {
        self.document = document
        state = NIOLockedValueBox(State(holds: holds))
    }

    var requests: [HTTPRequest] { state.withLockedValue { $0.requests } }

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void) {
        let response = HTTPResponse(status: document == nil ? 404 : 200, body: Array((document ?? "").utf8))
        let complete: @Sendable () -> Void = {
            MultiThreadedEventLoopGroup.singleton.next().execute { completion(.success(response)) }
        }
        let isHeld = state.withLockedValue { state in
            state.requests.append(request)
            if state.holds { state.held.append(complete) }
            return state.holds
        }
        if !isHeld { complete() }
    }

    func release() {
        let held = state.withLockedValue { state in
            state.holds = false
            defer { state.held = [] }
            return state.held
        }
        for complete in held { complete() }
    }
}
