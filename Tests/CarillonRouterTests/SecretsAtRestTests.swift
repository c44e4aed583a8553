import Cipher
import Core
import Foundation
import Logging
import Nostr
import Pipeline
import Push
import Registry
import Synchronization
import Testing

@testable import CarillonRouter
@testable import Operations
@testable import RouterConfiguration

/// The data that a thief of the disk gets without the key file: the test searches every file of a store for secrets,
/// while the router runs and after it stopped.
@Suite final class SecretsAtRestTests {
    private static let deviceToken = String(repeating: "7e57ab1e", count: 8)
    private static let endpoint = "https://push.example.com/up/9c2e-secret-endpoint"
    private static let p256dh = [0x04] + [UInt8](150..<214)
    private static let auth = [UInt8](33..<49)
    private static let accessToken = "tk_thisopensanthystopic"
    private static let rumor = "meet me at the old bell tower at nine"

    private let folder: String
    private let configuration: RouterConfiguration.Configuration
    private let owner: KeyPair
    private let friend: KeyPair

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-at-rest-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var configuration = RouterConfiguration.Configuration(
            keyFile: folder + "/carillon.key",
            storePath: folder + "/carillon.sqlite"
        )
        configuration.relay.port = 0
        self.configuration = configuration
        owner = try KeyPair(random: SecureRandom.bytes)
        friend = try KeyPair(random: SecureRandom.bytes)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The secrets in their possible forms: as strings, and decoded.
    private static var needles: [String: [UInt8]] {
        [
            "device token": Array(deviceToken.utf8),
            "device token, decoded": Hex.decode(anyCase: deviceToken[...]) ?? [],
            "endpoint": Array(endpoint.utf8), "part of the endpoint": Array("9c2e-secret-endpoint".utf8),
            "p256dh": Array(Base64URL.encode(p256dh).utf8), "p256dh, decoded": p256dh,
            "auth": Array(Base64URL.encode(auth).utf8), "auth, decoded": auth,
            "access token": Array(accessToken.utf8), "message": Array(rumor.utf8),
        ]
    }

    @Test func filesRevealNoTokensKeysEndpointsOrMessages() async throws {
        let identity = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
        let now = Timestamp.now()
        let keys = ##"{"p256dh":"\##(Base64URL.encode(Self.p256dh))","auth":"\##(Base64URL.encode(Self.auth))"}"##
        let everything = ##""mode":"alert","signals":{"mention":true,"dm":true}"##
        let contents = [
            ##"{"platform":"ios","token":"\##(Self.deviceToken)",\##(everything)}"##,
            ##"{"platform":"web","subscription":{"endpoint":"\##(Self.endpoint)","keys":\##(keys)},\##(everything)}"##,
            ##"{"platform":"ntfy","push_endpoint":"\##(Self.endpoint)-2","access_token":"\##(Self.accessToken)",\##(everything)}"##,
        ]
        try register(contents, identity: identity, now: now)

        let router = try Router(
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            defer { start.finish() }
            try await router.run(started: { _ in start.yield() })
        }
        for await _ in starts { break }
        let decisions = await submit(try messages(now: now), to: router)
        #expect(decisions.allSatisfy { $0.result == .accepted })
        try search(whileRunning: true)
        running.cancel()
        try await running.value
        try search(whileRunning: false)
    }

    /// Registers devices, moves one, and removes one. They are read back, which proves that the searched data exists.
    private func register(_ contents: [String], identity: KeyPair, now: Timestamp) throws {
        let registry = try Registry(
            store: RegistryStore(path: configuration.store.path),
            identity: identity,
            now: { now },
            check: { _ in }
        )
        let key = try ConversationKey(secret: owner.secret, public: identity.publicKey)
        for (number, content) in (contents + contents).enumerated() {
            let device = "\(identity.publicKey.hex):d\(number % contents.count)"
            let event = try Event.signed(
                kind: .pushRegistration,
                createdAt: now.seconds - 60 + Int64(number),
                tags: [["d", device]],
                content: try NIP44.encrypt(content, key: key, nonce: SecureRandom.bytes(NIP44.nonceByteCount)),
                by: owner
            )
            #expect(try registry.apply(event).isAccepted)
        }
        let farewell = try Event.signed(
            kind: .pushRegistration,
            createdAt: now.seconds,
            tags: [["d", "\(identity.publicKey.hex):d0"]],
            content: "",
            by: owner
        )
        let devices = try registry.devices(of: owner.publicKey)
        #expect(devices.count == contents.count)
        #expect(try devices.contains { try registry.address(of: $0.device)?.token == Self.deviceToken })
        #expect(try registry.apply(farewell) == .deregistered)
    }

    /// A gift wrap that only the owner can decrypt, and a note that names the owner.
    private func messages(now: Timestamp) throws -> [Event] {
        let key = try ConversationKey(secret: friend.secret, public: owner.publicKey)
        return [
            try Event.signed(
                kind: .giftWrap,
                createdAt: now.seconds,
                tags: [["p", owner.publicKey.hex]],
                content: try NIP44.encrypt(Self.rumor, key: key, nonce: SecureRandom.bytes(NIP44.nonceByteCount)),
                by: friend
            ),
            try Event.signed(
                kind: .textNote,
                createdAt: now.seconds,
                tags: [["p", owner.publicKey.hex]],
                content: "hello in public",
                by: friend
            ),
        ]
    }

    private func submit(_ events: [Event], to router: Router) async -> [EventDecision] {
        await withCheckedContinuation { continuation in
            router.plane.entrance.intake.submit(
                Submission(events: events.map(\.json), source: .socket(authenticated: [])) {
                    continuation.resume(returning: $0)
                }
            )
        }
    }

    private func search(whileRunning: Bool) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "carillon.key" }.sorted()
        #expect(names.contains("carillon.sqlite") && names.contains("carillon.sqlite-outbox"))
        if whileRunning { #expect(names.contains { $0.hasSuffix("-wal") }) }
        var found: Set<String> = []
        for name in names {
            // A journal may be gone by now, and the folder of the socket contains no file.
            guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                #expect(name.hasSuffix("-journal") || name.hasSuffix("-admin"))
                continue
            }
            for (what, needle) in Self.needles {
                #expect(bytes.range(of: Data(needle)) == nil, "\(what) in \(name)")
            }
            // The search finds data that is not secret, which proves that it works.
            if bytes.range(of: Data(owner.publicKey.bytes.array)) != nil { found.insert(name) }
        }
        #expect(!found.isEmpty)
    }
}
