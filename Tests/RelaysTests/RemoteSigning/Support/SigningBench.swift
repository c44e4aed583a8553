import Cipher
import Core
import Logging
import Nostr
import Registry
import Synchronization
import TimeTestSupport

@testable import Relays

/// A service over a registry on a temporary file, and its clients.
final class SigningBench {
    /// 2026-03-14.
    static let start = Timestamp(seconds: 1_773_446_400)

    let folder: TemporaryFolder
    let identity: KeyPair
    /// Registrations that reached the registry.
    private(set) var registered: [Event] = []
    let registry: Registry
    private let surroundings = SigningContext(now: start)
    private var service: RemoteSigningService

    init(
        _ configuration: RemoteSigningConfiguration = RemoteSigningConfiguration(),
        folder: TemporaryFolder? = nil,
        limits: SessionLimits = SessionLimits()
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        identity = try KeyPair(random: SecureRandom.bytes)
        registry = try Registry(
            store: RegistryStore(path: self.folder.file("carillon.sqlite")),
            identity: identity,
            now: { Self.start },
            check: { _ in }
        )
        service = try Self.service(configuration, registry, limits, surroundings)
    }

    /// Starts a service that knows only stored state.
    func restart(
        _ configuration: RemoteSigningConfiguration = RemoteSigningConfiguration(),
        limits: SessionLimits = SessionLimits()
    ) throws {
        service = try Self.service(configuration, registry, limits, surroundings)
    }

    private static func service(
        _ configuration: RemoteSigningConfiguration,
        _ registry: Registry,
        _ limits: SessionLimits,
        _ surroundings: SigningContext
    ) throws -> RemoteSigningService {
        var configuration = configuration
        configuration.limits = limits
        return try RemoteSigningService(
            configuration: configuration,
            registry: registry,
            reply: { surroundings.take($0, $1) },
            now: surroundings.clock.now,
            logger: Logger(label: "test")
        )
    }

    /// The responses that were not read yet.
    var replies: [Event] { surroundings.replies }
    /// The sources of those responses.
    var sources: [RequestSource] { surroundings.sources }

    /// The time of the clock, in seconds since 1970.
    var seconds: Int64 { surroundings.clock.time.seconds }

    func wait(_ span: Duration) {
        surroundings.clock.advance(by: span)
    }

    func client() throws -> KeyPair { try KeyPair(random: SecureRandom.bytes) }

    /// A request as an event, as `client` would send it.
    func event(
        _ text: String,
        from client: KeyPair,
        at seconds: Int64? = nil,
        to signer: PublicKey? = nil
    ) throws -> Event {
        let signer = signer ?? identity.publicKey
        let key = try ConversationKey(secret: client.secret, public: signer)
        return try Event.signed(
            kind: .remoteSigning,
            createdAt: seconds ?? self.seconds,
            tags: [["p", signer.hex]],
            content: NIP44.encrypt(text, key: key, nonce: SecureRandom.bytes(32)),
            by: client
        )
    }

    func receive(
        _ event: Event,
        from source: RequestSource = .relays,
        register answer: RegistrationAnswer = .accepted
    ) {
        service.receive(event, from: source) { registration in
            registered.append(registration)
            return answer
        }
    }

    func admits(_ registration: Event) -> Bool { service.admits(registration) }

    /// Sends a request and returns the response; nil when there was none.
    func ask(
        _ method: String,
        _ params: [String] = [],
        from client: KeyPair,
        at seconds: Int64? = nil,
        register answer: RegistrationAnswer = .accepted
    ) throws -> RemoteSigningResponse.Outcome? {
        let id = Hex.encode(SecureRandom.bytes(8))
        let request = RemoteSigningRequest(id: id, method: method, params: params)
        receive(try event(request.json, from: client, at: seconds), register: answer)
        guard let response = try response(to: client) else { return nil }
        return response.id == id ? response.outcome : nil
    }

    /// Removes and returns the last response, as `client` reads it.
    func response(to client: KeyPair) throws -> RemoteSigningResponse? {
        guard let reply = surroundings.lastReply() else { return nil }
        try reply.verify()
        guard reply.kind == .remoteSigning, reply.pubkey == identity.publicKey,
            reply.tags == [["p", client.publicKey.hex]]
        else { return nil }
        let key = try ConversationKey(secret: client.secret, public: identity.publicKey)
        return RemoteSigningResponse(json: try NIP44.decryptText(reply.content, key: key))
    }

    func registration(by author: KeyPair, kind: Kind = .pushRegistration, root: String? = nil) throws -> Event {
        let root = root.map { [["root_identity", $0]] } ?? []
        return try Event.signed(
            kind: kind,
            createdAt: seconds,
            tags: [["d", identity.publicKey.hex]] + root,
            content: "sealed",
            by: author
        )
    }
}

/// A manual clock, and the receiver of responses.
final class SigningContext: Sendable {
    let clock: ManualClock
    private let answers = Mutex<[(event: Event, source: RequestSource)]>([])

    init(now: Timestamp) {
        clock = ManualClock(now)
    }

    var replies: [Event] { answers.withLock { $0.map(\.event) } }
    /// The source of each response.
    var sources: [RequestSource] { answers.withLock { $0.map(\.source) } }

    func take(_ reply: Event, _ source: RequestSource) {
        answers.withLock { $0.append((reply, source)) }
    }

    func lastReply() -> Event? {
        answers.withLock { $0.popLast()?.event }
    }
}
