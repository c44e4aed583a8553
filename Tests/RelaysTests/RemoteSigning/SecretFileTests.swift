import Cipher
import Foundation
import Nostr
import Registry
import Testing

@testable import Relays

@Suite struct SecretFileTests {
    @Test func addingMakesTheFileForThisUserOnly() throws {
        let folder = try TemporaryFolder()
        let file = SecretFile(path: folder.file("secrets"))
        #expect(try file.read().isEmpty)
        let secrets = [try file.add(random: SecureRandom.bytes), try file.add(random: SecureRandom.bytes)]
        #expect(try file.read() == secrets)
        #expect(secrets.allSatisfy { $0.count == 32 } && secrets[0] != secrets[1])
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func addingKeepsExistingLines() throws {
        let folder = try TemporaryFolder()
        let file = SecretFile(path: try folder.write("# mine\n  0123456789abcdef  \n\nfedcba9876543210", to: "secrets"))
        let added = try file.add(random: SecureRandom.bytes)
        #expect(try file.read() == ["0123456789abcdef", "fedcba9876543210", added])
    }

    @Test func errorsNameTheLineWithoutQuotingIt() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("0123456789abcdef\nshort\n", to: "secrets")
        let error = #expect(throws: SecretFileError.self) { try SecretFile(path: path).read() }
        #expect(error?.description == "\(path): line 2: expected a secret of 16 to 256 characters")
        #expect(throws: SecretFileError.self) { try SecretFile(path: path).add(random: SecureRandom.bytes) }
    }

    @Test func aFileThatOthersCanReadIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("0123456789abcdef\n", to: "secrets", mode: 0o640)
        let error = #expect(throws: SecretFileError.self) { try SecretFile(path: path).read() }
        #expect(error?.reason == "the secrets are open to other users; run: chmod 600 \(path)")
    }

    @Test func invalidTextFileIsRefused() throws {
        let folder = try TemporaryFolder()
        #expect(throws: SecretFileError.self) { try SecretFile(path: folder.path).read() }
        let path = try folder.write("", to: "secrets")
        try Data([0xff, 0xfe, 0x0a]).write(to: URL(fileURLWithPath: path))
        #expect(throws: SecretFileError.self) { try SecretFile(path: path).read() }
        #expect(throws: SecretFileError.self) {
            try SecretFile(path: folder.file("none/secrets")).add(random: SecureRandom.bytes)
        }
    }

    @Test func danglingLinkIsNotFollowed() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("secrets")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.file("elsewhere"))
        let error = #expect(throws: SecretFileError.self) { try SecretFile(path: path).add(random: SecureRandom.bytes) }
        #expect(error?.reason == "cannot write the secret")
        #expect(!FileManager.default.fileExists(atPath: folder.file("elsewhere")))
        // A link to an existing file of ours is allowed: the operator may store the secret elsewhere.
        _ = try folder.write("0123456789abcdef\n", to: "elsewhere")
        let added = try SecretFile(path: path).add(random: SecureRandom.bytes)
        #expect(try SecretFile(path: folder.file("elsewhere")).read() == ["0123456789abcdef", added])
    }

    @Test func secretIsFoundByAKeyedDigest() throws {
        func digester(_ byte: UInt8) throws -> ConnectSecrets.Digester {
            try ConnectSecrets.Digester(
                RouterKeys(KeyPair(secret: SecretKey(bytes: Array(repeating: byte, count: 32)))).seeds
            )
        }
        let secrets = ConnectSecrets(["first secret here", "second secret here"], digester: try digester(1))
        let digest = try #require(secrets.digest(matching: "first secret here"))
        #expect(digest.count == 32)
        #expect(secrets.digest(matching: "second secret here") != digest)
        #expect(secrets.digest(matching: "first secret her") == nil)
        #expect(secrets.digest(matching: "") == nil)
        #expect(try digester(2).digest(of: "first secret here") != digest)
        #expect("\(secrets)".contains("concealed"))
    }
}
