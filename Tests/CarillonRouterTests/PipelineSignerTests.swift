import Cipher
import Core
import Foundation
import Logging
import Nostr
import Pipeline
import Registry
import Relays
import Synchronization
import Testing

@testable import CarillonRouter

@Suite struct PipelineSignerTests {
    @Test func onlyRequestsFromElsewhereAreAnsweredElsewhere() throws {
        let path = NSTemporaryDirectory() + "carillon-signer-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let (ours, client) = (try KeyPair(random: SecureRandom.bytes), try KeyPair(random: SecureRandom.bytes))
        let time: Int64 = 1_773_446_400
        let answered = Answered()
        let signer = PipelineSigner(
            service: try RemoteSigningService(
                configuration: RemoteSigningConfiguration(),
                registry: Registry(
                    store: RegistryStore(path: path),
                    identity: ours,
                    now: { Timestamp(seconds: time) },
                    check: { _ in }
                ),
                reply: { _, source in answered.sources.withLock { $0.append(source) } },
                now: { Timestamp(seconds: time) },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        let key = try ConversationKey(secret: client.secret, public: ours.publicKey)
        let sources: [EventSource] = [
            .socket(authenticated: [client.publicKey]), .feed, .relay(.live), .relay(.stored),
        ]
        for source in sources {
            let request = RemoteSigningRequest(id: "1", method: "connect", params: [])
            let event = try Event.signed(
                kind: .remoteSigning,
                createdAt: time,
                tags: [["p", ours.publicKey.hex]],
                content: NIP44.encrypt(request.json, key: key, nonce: SecureRandom.bytes(32)),
                by: client
            )
            signer.receive(event, from: source) { _ in .accepted }
        }
        #expect(answered.sources.withLock(\.self) == [.ownSocket, .relays, .relays, .relays])
    }

    private final class Answered: Sendable {
        let sources = Mutex<[RequestSource]>([])
    }
}
