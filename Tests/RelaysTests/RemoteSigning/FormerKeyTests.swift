import Cipher
import Core
import Logging
import Nostr
import Registry
import Testing
import TimeTestSupport

@testable import Relays

/// A router that has another key since a while.
@Suite struct FormerKeyTests {
    private static let retirement: Duration = .days(30)

    /// Returns the signer and the result of the response to a request for `router`'s public key.
    private func answer(
        of router: PublicKey,
        to client: KeyPair,
        _ method: String,
        _ service: RemoteSigningService,
        _ surroundings: SigningContext
    ) throws -> (signer: PublicKey, outcome: RemoteSigningResponse.Outcome)? {
        let key = try ConversationKey(secret: client.secret, public: router)
        let request = RemoteSigningRequest(id: method, method: method, params: [])
        service.receive(
            try Event.signed(
                kind: .remoteSigning,
                createdAt: surroundings.clock.time.seconds,
                tags: [["p", router.hex]],
                content: NIP44.encrypt(request.json, key: key, nonce: SecureRandom.bytes(32)),
                by: client
            ),
            from: .relays,
            register: { _ in .accepted }
        )
        guard let reply = surroundings.lastReply() else { return nil }
        try reply.verify()
        let text = try NIP44.decryptText(reply.content, key: key)
        return (reply.pubkey, try #require(RemoteSigningResponse(json: text)).outcome)
    }

    @Test func responsesComeFromTheRequestedKey() throws {
        let bench = try SigningBench()
        let next = try KeyPair(random: SecureRandom.bytes)
        let keys = RouterKeyStore(bench.registry.store)
        let date = SigningBench.start + Self.retirement
        try keys.begin(next, after: bench.identity, retiresAt: date, now: SigningBench.start)
        let registry = try Registry(
            store: RegistryStore(path: bench.folder.file("carillon.sqlite")),
            identity: next,
            now: { SigningBench.start },
            check: { _ in }
        )
        let surroundings = SigningContext(now: SigningBench.start)
        let service = try RemoteSigningService(
            configuration: RemoteSigningConfiguration(),
            registry: registry,
            reply: { surroundings.take($0, $1) },
            now: surroundings.clock.now,
            logger: Logger(label: "test")
        )
        let (one, two) = (try bench.client(), try bench.client())
        let former = bench.identity.publicKey
        for (client, router) in [(one, former), (two, next.publicKey)] {
            let connected = try #require(try answer(of: router, to: client, "connect", service, surroundings))
            #expect(connected.signer == router && connected.outcome == .result("ack"))
            let asked = try #require(try answer(of: router, to: client, "get_public_key", service, surroundings))
            #expect(asked.signer == router && asked.outcome == .result(router.hex))
        }
        // A session belongs to the client, so it may continue with the new key.
        let moved = try #require(try answer(of: next.publicKey, to: one, "ping", service, surroundings))
        #expect(moved.signer == next.publicKey && moved.outcome == .result("pong"))
        surroundings.clock.advance(by: Self.retirement)
        #expect(try answer(of: former, to: one, "ping", service, surroundings) == nil, "its day is over")
        #expect(try answer(of: next.publicKey, to: one, "connect", service, surroundings)?.outcome == .result("ack"))
    }
}
