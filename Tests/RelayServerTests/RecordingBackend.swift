import Nostr
import Synchronization

@testable import RelayServer

/// Answers every event with what `answer` says, at once or when a test lets go.
final class RecordingBackend: RelayBackend {
    struct State {
        var events: [[UInt8]] = []
        /// Who had proven to be whom when events came, one entry a submission.
        var authenticated: [Set<PublicKey>] = []
        var held: [@Sendable () -> Void] = []
        var queries: [([Filter], Set<PublicKey>)] = []
    }

    let state = Mutex(State())
    private let holds: Bool
    private let stored: [[UInt8]]
    private let answer: @Sendable ([UInt8]) -> EventAnswer

    init(
        holds: Bool = false,
        stored: [[UInt8]] = [],
        answer: @escaping @Sendable ([UInt8]) -> EventAnswer = {
            EventAnswer(id: (try? Event(json: $0))?.id, accepted: true)
        }
    ) {
        self.holds = holds
        self.stored = stored
        self.answer = answer
    }

    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    ) {
        let answers = events.map(answer)
        state.withLock {
            $0.events += events
            $0.authenticated.append(authenticated)
            if holds { $0.held.append { completion(answers) } }
        }
        if !holds { completion(answers) }
    }

    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]] {
        state.withLock { $0.queries.append((filters, authenticated)) }
        return stored
    }
}
