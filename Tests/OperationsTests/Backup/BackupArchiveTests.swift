import Cipher
import CommandTestSupport
import Core
import Foundation
import Testing
import TimeTestSupport

@testable import Operations

private struct Sample {
    static let registry = (0..<150_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 7) }
    static let outbox = [UInt8](repeating: 7, count: 512)

    let folder = FileManager.default.temporaryDirectory.appending(path: "backup-\(UUID().uuidString)").path

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(Self.registry).write(to: URL(fileURLWithPath: folder + "/registry"))
        try Data(Self.outbox).write(to: URL(fileURLWithPath: folder + "/outbox"))
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    private var inputs: [BackupInput] {
        [BackupRole.registry, .outbox].map {
            BackupInput(role: $0, name: "\($0.rawValue).sqlite", path: "\(folder)/\($0.rawValue)", original: "/\($0)")
        }
    }

    func manifest(_ change: (inout BackupManifest) -> Void = { _ in }) throws -> BackupManifest {
        var manifest = BackupManifest(
            createdAt: Timestamp(seconds: 1_700_000_000),
            identity: nil,
            devices: 3,
            waiting: 4,
            isFinal: false,
            files: try inputs.map { try $0.described() }
        )
        change(&manifest)
        return manifest
    }

    /// A new empty folder.
    func place() throws -> String {
        let place = folder + "/" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        return place
    }

    /// The path of a backup.
    func backup(recipient: String? = nil, _ change: (inout BackupManifest) -> Void = { _ in }) throws -> String {
        let path = folder + "/" + UUID().uuidString
        let file = try UnfinishedFile(for: path)
        try BackupWriter(manifest(change), inputs).write(to: file.descriptor, in: place(), recipient: recipient)
        try file.finish {}
        return path
    }

    /// Returns the path of an archive of the files that `fill` writes into a folder.
    func archive(_ fill: (_ folder: String) throws -> Void) throws -> String {
        let (from, path) = (try place(), folder + "/" + UUID().uuidString)
        let inside = from + "/carillon-backup"
        try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: false)
        try Data(manifest().json).write(to: URL(fileURLWithPath: inside + "/manifest.json"))
        try Data(manifest().sums).write(to: URL(fileURLWithPath: inside + "/SHA256SUMS"))
        try Data(Self.registry).write(to: URL(fileURLWithPath: inside + "/registry.sqlite"))
        try Data(Self.outbox).write(to: URL(fileURLWithPath: inside + "/outbox.sqlite"))
        try fill(inside)
        #expect(try CommandRun("tar", ["-c", "-f", path, "-C", from, "carillon-backup"]).status == 0)
        return path
    }

    /// The path of a file with `bytes`.
    func file(_ bytes: some Sequence<UInt8>) throws -> String {
        let path = folder + "/" + UUID().uuidString
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// An identity of age's: its file, and the recipient.
    func identity() throws -> (file: String, recipient: String) {
        let file = folder + "/" + UUID().uuidString
        #expect(try CommandRun("age-keygen", ["-o", file]).status == 0)
        let recipient = try CommandRun("age-keygen", ["-y", file]).output
        return (file, recipient.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    @discardableResult func read(_ path: String, identity: String? = nil) throws -> UnpackedBackup {
        try UnpackedBackup(path, identity: identity, into: place())
    }
}

@Suite struct BackupArchiveTests {
    @Test(arguments: [false, true]) func writtenFormRoundTrips(isEncrypted: Bool) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let identity = isEncrypted ? try sample.identity() : nil
        let path = try sample.backup(recipient: identity?.recipient)
        let backup = try sample.read(path, identity: identity?.file)
        #expect(backup.isEncrypted == isEncrypted)
        #expect(backup.manifest == (try sample.manifest()))
        try backup.move { "\(sample.folder)/\($0.name)" }
        #expect(FileManager.default.contents(atPath: sample.folder + "/registry.sqlite") == Data(Sample.registry))
        #expect(FileManager.default.contents(atPath: sample.folder + "/outbox.sqlite") == Data(Sample.outbox))
        for file in [sample.folder + "/registry.sqlite", path] {
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        }
    }

    /// Only tar's padding between the files may change.
    @Test(arguments: [false, true]) func changedBytesAreDetected(isEncrypted: Bool) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let identity = isEncrypted ? try sample.identity() : nil
        let bytes = Array(try Data(contentsOf: URL(filePath: sample.backup(recipient: identity?.recipient))))
        // The name, the manifest, the registry and the outbox; of an encrypted file anything.
        let outbox = try #require(isEncrypted ? bytes.count - 1 : bytes.firstRange(of: Sample.outbox)?.lowerBound)
        for place in [0, 30, 600, 5_000, 77_777, 150_000, outbox] {
            var changed = bytes
            changed[place] ^= 0x20
            let file = try sample.file(changed)
            #expect(throws: BackupError.self, "byte \(place)") { try sample.read(file, identity: identity?.file) }
        }
    }

    @Test(arguments: [false, true]) func truncationIsDetected(isEncrypted: Bool) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let identity = isEncrypted ? try sample.identity() : nil
        let bytes = try Data(contentsOf: URL(filePath: sample.backup(recipient: identity?.recipient)))
        let manifest = try sample.manifest().files[0].size
        for end in [0, 1, 100, 512, 1_024, Int(manifest), 150_000, 152_000] {
            let file = try sample.file(bytes.prefix(end))
            #expect(throws: BackupError.self, "\(end) bytes") { try sample.read(file, identity: identity?.file) }
        }
    }

    @Test func encryptedBackupErrorShowsHowToDecrypt() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let path = try sample.backup(recipient: sample.identity().recipient)
        let error = #expect(throws: BackupError.self) { try sample.read(path) }
        #expect(error?.description.contains("--identity") == true)
        let other = try sample.identity().file
        let wrong = #expect(throws: BackupError.self) { try sample.read(path, identity: other) }
        #expect(wrong?.description.contains("age") == true)
    }

    @Test(arguments: [
        ("age-encryption.org/v1\n-> X25519", BackupEncryption.age), ("-----BEGIN AGE ENCRYPTED FILE-----\n", .age),
        ("-----BEGIN PGP MESSAGE-----\n", .gpg), ("carillon-backup/manifest.json", nil), ("", nil),
    ]) func encryptionProgramIsDetected(start: String, program: BackupEncryption?) {
        #expect(BackupEncryption(start: start.utf8) == program)
        #expect(BackupEncryption(start: [0x85, 0x01, 0x0C]) == .gpg)
    }

    @Test(arguments: [
        ("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", BackupEncryption.age),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJxk ops", .age), ("ops@example.com", .gpg),
        ("0123456789ABCDEF0123456789ABCDEF01234567", .gpg),
    ]) func choosesTheProgramForARecipient(recipient: String, program: BackupEncryption) {
        #expect(BackupEncryption(recipient: recipient) == program)
    }

    @Test func refusesHugeManifests() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let path = try sample.archive { folder in
            try Data(count: BackupManifest.maxBytes + 1).write(to: URL(fileURLWithPath: folder + "/manifest.json"))
        }
        #expect(throws: BackupError.damaged("manifest.json is too long")) { try sample.read(path) }
    }

    @Test(arguments: ["outbox.sqlite", "SHA256SUMS", "manifest.json"]) func missingFileIsDetected(name: String) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let path = try sample.archive { try FileManager.default.removeItem(atPath: $0 + "/" + name) }
        #expect(throws: BackupError.self) { try sample.read(path) }
    }

    @Test func filesMissingInTheManifestAreRefused() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let path = try sample.archive { try Data([1]).write(to: URL(fileURLWithPath: $0 + "/more")) }
        #expect(throws: BackupError.damaged("it has files that its manifest does not list")) {
            try sample.read(path)
        }
    }

    @Test func refusesLinks() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let target = sample.folder + "/outbox"
        let path = try sample.archive { folder in
            try FileManager.default.removeItem(atPath: folder + "/outbox.sqlite")
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/outbox.sqlite",
                withDestinationPath: target
            )
        }
        #expect(throws: BackupError.self) { try sample.read(path) }
    }

    @Test(arguments: ["../registry", "a/b", ".hidden", "manifest.json", "", "white space", "line\nbreak"])
    func pathTraversalIsRefused(name: String) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let json = try sample.manifest { $0.files[1].name = name }.json
        let path = try sample.archive { try Data(json).write(to: URL(fileURLWithPath: $0 + "/manifest.json")) }
        #expect(throws: BackupError.damaged("its manifest is invalid")) { try sample.read(path) }
    }

    @Test func refusesALaterFormatByItsNumber() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let json = try sample.manifest { $0.format = 2 }.json
        let path = try sample.archive { try Data(json).write(to: URL(fileURLWithPath: $0 + "/manifest.json")) }
        let expected = BackupError("the backup has format 2, and this version of Carillon reads format 1")
        #expect(throws: expected) { try sample.read(path) }
    }

    @Test(arguments: [[], Array("%PDF-1.4".utf8), [UInt8](repeating: 0, count: 4_096)])
    func invalidBackupIsRefused(bytes: [UInt8]) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let path = try sample.file(bytes)
        #expect(throws: BackupError.self) { try sample.read(path) }
    }
}
