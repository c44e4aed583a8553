import Delivery
import Foundation
import GRDB
import Nostr
import Registry
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

/// The problems that `carillon check` finds only on the disk.
@Suite final class ConfigurationCheckTests {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-check-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func mistakes(key: String = "carillon.key", store: String = "carillon.sqlite") async throws -> [String] {
        let file = folder + "/carillon.yaml"
        try Data("identity: { key_file: \(key) }\nstore: { path: \(store) }\n".utf8).write(
            to: URL(fileURLWithPath: file)
        )
        return await ConfigurationCheck(path: file).mistakes().map { "\($0)".replacing(folder, with: "~") }
    }

    private func write(_ name: String, _ text: String) throws {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        #expect(
            FileManager.default.createFile(
                atPath: "\(folder)/\(name)",
                contents: Data(text.utf8),
                attributes: attributes
            )
        )
    }

    @Test func firstRunNeedsNoKeyOrStoreAndTheCheckCreatesNone() async throws {
        #expect(try await mistakes() == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["carillon.yaml"])
    }

    @Test func eachRulesFileIsCheckedUnderItsOwnName() async throws {
        try write("own.yaml", "version: 1\nrules: [{ match: { kind: 7 } }]\n")
        try write("common.yaml", "version: 1\nrules: [{ match: { kinds: 1 } }]\n")
        try write(
            "carillon.yaml",
            "identity: { key_file: k }\nstore: { path: s }\nrules: [own.yaml, missing.yaml, common.yaml]\n"
        )
        let found = await ConfigurationCheck(path: folder + "/carillon.yaml").mistakes()
        #expect(
            found.map { "\($0)".replacing(folder, with: "~") } == [
                "~/missing.yaml: cannot read the rules: check that the file exists and that this user may read it",
                "~/own.yaml:2:20: rules[0].match: unknown key 'kind'; did you mean 'kinds'?",
            ]
        )
    }

    @Test func missingFoldersAreReportedWithTheirLine() async throws {
        #expect(
            try await mistakes(key: "nowhere/key", store: "nowhere/store") == [
                "~/carillon.yaml:1:11: identity.key_file: the folder ~/nowhere does not exist",
                "~/carillon.yaml:2:8: store.path: the folder ~/nowhere does not exist",
            ]
        )
    }

    @Test func folderInsteadOfAFileIsReported() async throws {
        #expect(
            try await mistakes(key: ".", store: ".") == [
                "~/.: expected a file with the router's key",
                "~/carillon.yaml:2:8: store.path: ~/. is a folder; expected a file, or the path of a new one",
            ]
        )
    }

    @Test func fileThatIsNotADatabaseIsReported() async throws {
        try write("carillon.key", String(repeating: "1", count: 64))
        try write("carillon.sqlite", "this is no database")
        let found = try await mistakes()
        #expect(found.count == 1)
        let sentence =
            "store.path: the registry ~/carillon.sqlite is damaged or not an SQLite database (file is not a database)"
        #expect(found.first?.hasPrefix("~/carillon.yaml:2:8: \(sentence)") == true)
    }

    @Test func missingKeyIsReported() async throws {
        try write("carillon.sqlite", "")
        let found = try await mistakes()
        #expect(found.count == 2)
        #expect(found.first?.hasPrefix("~/carillon.yaml:1:11: identity.key_file: the key is missing") == true)
        #expect(found.last?.contains("the registry ~/carillon.sqlite is an empty file") == true)
    }

    @Test func keyOfAnotherStoreIsReported() async throws {
        try makeRegistry(withKey: 0x11)
        try write("carillon.key", String(repeating: "11", count: 32))
        #expect(try await mistakes() == [])
        try FileManager.default.removeItem(atPath: folder + "/carillon.key")
        try write("carillon.key", String(repeating: "22", count: 32))
        #expect(
            try await mistakes() == [
                "~/carillon.yaml:1:11: identity.key_file: the key is not the one that ~/carillon.sqlite was made with: restore "
                    + "that key file, or move the store away, which forgets every device until its app registers again"
            ]
        )
    }

    @Test func missingOutboxIsReported() async throws {
        try write("carillon.key", String(repeating: "11", count: 32))
        try makeRegistry(withKey: 0x11)
        let check = ConfigurationCheck(path: folder + "/carillon.yaml")
        // No device is registered: this is a first start that failed before it created its outbox.
        #expect(try await mistakes() == [] && check.warnings().isEmpty)
        let database = try DatabaseQueue(path: folder + "/carillon.sqlite")
        try await database.write { database in
            try database.execute(
                sql: """
                    INSERT INTO routes VALUES (1, 'ios', 'default');
                    INSERT INTO devices
                        (author, device_id, created_at, event_id, first_registered_at, registered_at, route, signals)
                    VALUES (x'01', '', 1, x'02', 1, 1, 1, 7);
                    """
            )
        }
        #expect(try await mistakes() == [])
        let said = check.warnings().map { "\($0)".replacing(folder, with: "~") }
        let sentence =
            "~/carillon.yaml:2:8: store.path: the outbox ~/carillon.sqlite-outbox is missing next to a registry with devices: "
        #expect(said.count == 1 && said.first?.hasPrefix(sentence) == true)
        _ = try Outbox(path: folder + "/carillon.sqlite-outbox")
        #expect(check.warnings().isEmpty)
    }

    private func makeRegistry(withKey byte: UInt8) throws {
        _ = try Registry(
            store: RegistryStore(path: folder + "/carillon.sqlite"),
            identity: KeyPair(random: { Array(repeating: byte, count: $0) }),
            now: { 0 },
            check: { _ in }
        )
    }

    @Test func exposedKeyIsReported() async throws {
        try write("carillon.key", String(repeating: "1", count: 64))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder + "/carillon.key")
        #expect(
            try await mistakes() == [
                "~/carillon.key: the key is open to other users; run: chmod 600 ~/carillon.key"
            ]
        )
    }

    private func mistakes(of block: String) async throws -> [String] {
        try write(
            "carillon.yaml",
            "identity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }\n\(block)\n"
        )
        return await ConfigurationCheck(path: folder + "/carillon.yaml").mistakes()
            .map { "\($0)".replacing(folder, with: "~") }
    }

    @Test func missingSecretsAreAllowedButExposedOnesAreNot() async throws {
        let block = "registration: { require_session: true, secret_file: secrets }"
        #expect(try await mistakes(of: block) == [])
        try write("secrets", "abc\n")
        #expect(try await mistakes(of: block) == [])
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder + "/secrets")
        #expect(
            try await mistakes(of: block) == [
                "~/carillon.yaml:3:53: registration.secret_file: the secrets are open to other users; run: chmod 600 ~/secrets"
            ]
        )
        #expect(
            try await mistakes(of: "registration: { secret_file: . }") == [
                "~/carillon.yaml:3:30: registration.secret_file: expected a file with secrets; ~/. is not a regular file"
            ]
        )
        #expect(
            try await mistakes(of: "registration: { secret_file: nowhere/secrets }") == [
                "~/carillon.yaml:3:30: registration.secret_file: the folder ~/nowhere does not exist"
            ]
        )
    }

    @Test func theContextsFileNeedsItsFolder() async throws {
        #expect(try await mistakes(of: "context: { path: context.sqlite }") == [])
        #expect(
            try await mistakes(of: "context: { path: nowhere/context }") == [
                "~/carillon.yaml:3:18: context.path: the folder ~/nowhere does not exist"
            ]
        )
    }
}
