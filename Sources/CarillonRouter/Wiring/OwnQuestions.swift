import Nostr
import Operations
import Synchronization

/// The way from NIP-46 sessions to what accounts may ask about themselves, which is made after them.
final class OwnQuestions: Sendable {
    private struct NotYet: Error, CustomStringConvertible {
        let description = "503 the router is starting: try again in a moment"
    }

    private let session = Mutex<OwnSession?>(nil)

    func begin(_ session: OwnSession) { self.session.withLock { $0 = session } }

    func answer(_ proof: String, _ body: String, _ client: PublicKey) async -> Result<String, any Error> {
        guard let session = session.withLock({ $0 }) else { return .failure(NotYet()) }
        return await session.answer(proof: proof, body: body, client: client).mapError { $0 }
    }
}
