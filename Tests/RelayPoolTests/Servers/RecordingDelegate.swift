import NIOConcurrencyHelpers
import Nostr
import RelayPool

/// Deals with whatever comes, at once or when a test lets go.
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

    func couldNotRead(_ times: Int, at relay: RelayURL) {
        state.withLockedValue { $0.unread += times }
    }

    /// Deals with what was held back, and from now on with everything at once.
    func letGo() {
        let held = state.withLockedValue { state in
            state.holds = false
            defer { state.held = [] }
            return state.held
        }
        for complete in held { complete() }
    }

    /// The ids of the next so many events.
    func ids(_ count: Int) async -> [EventID] {
        var ids: [EventID] = []
        for await batch in batches {
            ids += batch.events.compactMap { try? Event(json: $0).id }
            if ids.count >= count { break }
        }
        return ids
    }
}
