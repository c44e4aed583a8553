import Nostr
import Pipeline
import Synchronization

/// A session desk that lets in whom a test names, and takes requests in plain text.
final class FakeSigner: RemoteSigner {
    private struct State {
        var admitted: Set<PublicKey> = []
        var carried: Event?
        var requests: [EventID] = []
        var sources: [EventSource] = []
        var results: [EventVerdict.Result] = []
    }

    private let state = Mutex(State())

    /// Whose registrations may come as events.
    func admit(_ keys: some Sequence<KeyPair>) {
        let keys = Set(keys.map(\.publicKey))
        state.withLock { $0.admitted = keys }
    }

    /// What further requests carry.
    func carry(_ registration: Event) { state.withLock { $0.carried = registration } }

    /// The requests handed over.
    var requests: [EventID] { state.withLock { $0.requests } }
    /// Where those came in.
    var sources: [EventSource] { state.withLock { $0.sources } }
    /// What became of the registrations in them.
    var results: [EventVerdict.Result] { state.withLock { $0.results } }

    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventVerdict.Result) {
        let carried = state.withLock { state in
            state.requests.append(event.id)
            state.sources.append(source)
            return state.carried
        }
        guard let carried else { return }
        let result = register(carried)
        state.withLock { $0.results.append(result) }
    }

    func admits(_ registration: Event) -> Bool {
        state.withLock { $0.admitted.contains(registration.pubkey) }
    }
}
