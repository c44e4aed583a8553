import Cipher
import Nostr
import Registry
import Testing

@testable import Relays

/// Clients that may open a session if secrets are required.
@Suite struct SessionSecretsTests {
    private static let wrongSecret = "the secret is unknown or was used by another client: ask for a new bunker:// URL"

    @Test func aSecretOpensTheSessionOfOneClientOnly() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("# phones\n\n0123456789abcdef\nfedcba9876543210\n", to: "secrets")
        let bench = try SigningBench(RemoteSigningConfiguration(secretFile: file), folder: folder)
        let (first, second) = (try bench.client(), try bench.client())
        let signer = bench.identity.publicKey.hex
        #expect(try bench.ask("connect", [signer], from: first) == .error(Self.wrongSecret))
        #expect(try bench.ask("connect", [signer, "0123456789abcdee"], from: first) == .error(Self.wrongSecret))
        #expect(try bench.ask("connect", [signer, "0123456789abcdef", "", "{}"], from: first) == .result("ack"))
        #expect(try bench.ask("connect", [signer, "0123456789abcdef"], from: second) == .error(Self.wrongSecret))
        #expect(try bench.ask("ping", from: second) == .error("no session: connect first"))
        #expect(try bench.ask("connect", [signer, "fedcba9876543210"], from: second) == .result("ack"))
    }

    @Test func aUsedSecretStaysUsedAfterLogoutAndRestart() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("0123456789abcdef\n", to: "secrets")
        let configuration = RemoteSigningConfiguration(secretFile: file)
        let bench = try SigningBench(configuration, folder: folder)
        let (first, second) = (try bench.client(), try bench.client())
        #expect(try bench.ask("connect", ["", "0123456789abcdef"], from: first) == .result("ack"))
        #expect(try bench.ask("logout", from: first) == .result("ack"))
        try bench.restart(configuration)
        #expect(try bench.ask("connect", ["", "0123456789abcdef"], from: second) == .error(Self.wrongSecret))
        #expect(try bench.ask("connect", ["", "0123456789abcdef"], from: first) == .result("ack"))
    }

    @Test func clientWithASessionReconnectsWithOrWithoutTheSecret() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("0123456789abcdef\n", to: "secrets")
        let configuration = RemoteSigningConfiguration(secretFile: file)
        let bench = try SigningBench(configuration, folder: folder)
        let client = try bench.client()
        #expect(try bench.ask("connect", ["", "0123456789abcdef"], from: client) == .result("ack"))
        try bench.restart(configuration)
        #expect(try bench.ask("ping", from: client) == .result("pong"))
        #expect(try bench.ask("connect", [""], from: client) == .result("ack"))
        #expect(try bench.ask("connect", ["", "0123456789abcdef"], from: client) == .result("ack"))
    }

    @Test func blockedInvitationGrantsNoSessionAndEndsItsClients() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("0123456789abcdef\nfedcba9876543210\n", to: "secrets")
        let bench = try SigningBench(RemoteSigningConfiguration(secretFile: file), folder: folder)
        let (first, second) = (try bench.client(), try bench.client())
        #expect(try bench.ask("connect", ["", "0123456789abcdef"], from: first) == .result("ack"))
        for invitation in ["0123456789abcdef", "bunker://ab?relay=wss%3A%2F%2Fa&secret=fedcba9876543210"] {
            let digest = try #require(try InvitationDigest.text(of: invitation, bench.registry.keys.seeds))
            try bench.registry.put(AccessRule(.invitation(digest), isBlock: true, madeAt: SigningBench.start))
        }
        let blocked = "blocked: this router does not serve this key"
        #expect(try bench.ask("ping", from: first) == .error(blocked))
        #expect(try bench.ask("connect", ["", "fedcba9876543210"], from: second) == .error(Self.wrongSecret))
        #expect(try InvitationDigest.text(of: "bunker://ab?relay=x", bench.registry.keys.seeds) == nil)
    }

    @Test func allowlistedKeyNeedsNoSession() throws {
        let bench = try SigningBench(RemoteSigningConfiguration(requireSession: true))
        let client = try bench.client()
        let registration = try Event.signed(kind: .pushRegistration, createdAt: 1, tags: [], content: "x", by: client)
        #expect(!bench.admits(registration))
        try bench.registry.put(AccessRule(.key(client.publicKey), isBlock: false, madeAt: SigningBench.start))
        #expect(bench.admits(registration))
    }

    @Test func secretAddedLaterCountsImmediately() throws {
        let folder = try TemporaryFolder()
        let file = SecretFile(path: folder.file("secrets"))
        let bench = try SigningBench(RemoteSigningConfiguration(secretFile: file.path), folder: folder)
        let client = try bench.client()
        #expect(try bench.ask("connect", ["", ""], from: client) == .error(Self.wrongSecret))
        let secret = try file.add(random: SecureRandom.bytes)
        #expect(try bench.ask("connect", ["", secret], from: client) == .result("ack"))
    }

    @Test func brokenSecretFileGrantsNoSessions() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("0123456789abcdef\n", to: "secrets")
        let bench = try SigningBench(RemoteSigningConfiguration(secretFile: file), folder: folder)
        _ = try folder.write("0123456789abcdef\n", to: "secrets", mode: 0o644)
        let outcome = try bench.ask("connect", ["", "0123456789abcdef"], from: try bench.client())
        #expect(outcome == .error("the session could not be opened: try again later"))
        #expect(throws: SecretFileError.self) { try bench.restart(RemoteSigningConfiguration(secretFile: file)) }
    }
}
