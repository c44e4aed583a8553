import Cipher
import Foundation
import Nostr
import Relays
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct BunkerInvitationTests {
    private let folder: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "carillon-bunker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        folder = url.path
    }

    private func withConfiguration(
        _ change: (inout Configuration) -> Void,
        _ body: (Configuration) throws -> Void
    ) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = Configuration(keyFile: "\(folder)/key", storePath: "\(folder)/store")
        change(&configuration)
        try body(configuration)
    }

    @Test func theSecretInTheURLIsInTheFile() throws {
        try withConfiguration {
            $0.relay.url = "wss://notify.example.com"
            $0.registration.secretFile = "\(folder)/secrets"
        } _: { configuration in
            let key = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
            let urls = try (0..<2).map { _ in
                try BunkerInvitation(configuration: configuration, random: SecureRandom.bytes).url
            }
            #expect(urls.allSatisfy { $0.signer == key.publicKey && $0.relays == ["wss://notify.example.com"] })
            #expect(try SecretFile(path: "\(folder)/secrets").read() == urls.map(\.secret))
        }
    }

    @Test func noSecretIsWrittenWithoutASecretFile() throws {
        try withConfiguration {
            _ in
        } _: { configuration in
            _ = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
            let url = try BunkerInvitation(configuration: configuration, random: SecureRandom.bytes).url
            #expect(url.secret == nil)
            #expect(url.relays == ["ws://127.0.0.1:7447"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
        }
    }

    @Test func unusableInvitationIsNotCreated() throws {
        try withConfiguration {
            $0.relay.port = 0
            $0.registration.secretFile = "\(folder)/secrets"
        } _: { configuration in
            #expect(throws: Diagnostics.self) {
                try BunkerInvitation(configuration: configuration, random: SecureRandom.bytes)
            }
            _ = try IdentityFile(path: configuration.identity.keyFile).create(random: SecureRandom.bytes)
            #expect(throws: Diagnostics.self) {
                try BunkerInvitation(configuration: configuration, random: SecureRandom.bytes)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
        }
    }
}
