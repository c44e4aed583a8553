import Cipher
import Foundation
import Testing
import TimeTestSupport
import Units

@testable import Backup

/// Bytes in memory.
private final class Memory: ByteSink, ByteSource {
    private(set) var bytes: [UInt8] = []
    private var place = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    func write(_ bytes: ArraySlice<UInt8>) { self.bytes += bytes }
    func finish() {}

    func read(upTo count: Int) -> [UInt8] {
        // In small parts, as a pipe would hand them out.
        let part = bytes[place..<min(bytes.count, place + min(count, 5_000))]
        place += part.count
        return Array(part)
    }
}

private struct Sample {
    static let passphrase = Array("correct horse".utf8)
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
            carillon: "0.1.0",
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

    /// A backup in memory.
    func backup(sealed: Bool, _ change: (inout BackupManifest) -> Void = { _ in }) throws -> [UInt8] {
        let memory = Memory()
        let sink: any ByteSink =
            try sealed
            ? SealingSink(memory, passphrase: Self.passphrase, logN: 10, random: { [UInt8](repeating: 9, count: $0) })
            : memory
        try BackupWriter(manifest(change), inputs).write(to: sink)
        return memory.bytes
    }

    /// Reads all of it; returns what the files hold by then.
    static func read(_ bytes: [UInt8], passphrase: [UInt8] = passphrase) throws -> BackupManifest {
        let reader = try BackupReader(Memory(bytes)) { passphrase }
        try reader.extract { _ in nil }
        return reader.manifest
    }
}

@Suite struct BackupArchiveTests {
    @Test(arguments: [false, true]) func readsWhatItWrites(sealed: Bool) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let reader = try BackupReader(Memory(sample.backup(sealed: sealed))) { Sample.passphrase }
        #expect(reader.isEncrypted == sealed)
        #expect(reader.manifest == (try sample.manifest()))
        try reader.extract { "\(sample.folder)/\($0.name)" }
        #expect(FileManager.default.contents(atPath: sample.folder + "/registry.sqlite") == Data(Sample.registry))
        #expect(FileManager.default.contents(atPath: sample.folder + "/outbox.sqlite") == Data(Sample.outbox))
        let attributes = try FileManager.default.attributesOfItem(atPath: sample.folder + "/registry.sqlite")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// Wherever a byte is changed, reading ends with an error. Bytes that mean nothing, such as owners in tar's
    /// headers, are covered by the header's sum.
    @Test(arguments: [false, true]) func noticesEveryChangedByte(sealed: Bool) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: sealed)
        // Every byte of what comes first, some of the content, every byte of the end.
        let places =
            Array(0..<80) + Array(stride(from: 80, to: bytes.count - 2_000, by: 1_009))
            + Array(stride(from: bytes.count - 2_000, to: bytes.count, by: 7))
        for place in places {
            var changed = bytes
            changed[place] ^= 0x20
            #expect(throws: BackupError.self, "byte \(place)") { try Sample.read(changed) }
        }
    }

    @Test(arguments: [false, true]) func noticesEveryTruncation(sealed: Bool) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: sealed)
        let chunk = SealedFormat.chunkByteCount + AESGCM.tagByteCount
        let ends =
            [0, 1, 15, 16, 17, 51, 52, 53, 511, 512, 513, 1_024, bytes.count - 1, bytes.count - 512]
            + [1, 2].map { SealedFormat.headerByteCount + $0 * chunk }
            + Array(stride(from: 600, to: bytes.count, by: 9_973))
        for end in ends {
            #expect(throws: BackupError.self, "\(end) bytes") { try Sample.read(Array(bytes.prefix(end))) }
        }
        #expect(throws: BackupError.self) { try Sample.read(bytes + [0]) }
    }

    @Test func saysThatItEndsTooEarlyBetweenChunks() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: true)
        let cut = bytes.prefix(SealedFormat.headerByteCount + SealedFormat.chunkByteCount + AESGCM.tagByteCount)
        #expect(throws: BackupError.truncated) { try Sample.read(Array(cut)) }
    }

    @Test func refusesChunksInAnotherOrder() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: true)
        let (head, chunk) = (SealedFormat.headerByteCount, SealedFormat.chunkByteCount + AESGCM.tagByteCount)
        let swapped =
            bytes[..<head] + bytes[(head + chunk)..<(head + 2 * chunk)] + bytes[head..<(head + chunk)]
            + bytes[(head + 2 * chunk)...]
        #expect(throws: BackupError.self) { try Sample.read(Array(swapped)) }
        let without = bytes[..<(head + chunk)] + bytes[(head + 2 * chunk)...]
        #expect(throws: BackupError.self) { try Sample.read(Array(without)) }
    }

    @Test func saysThatThePassphraseIsWrong() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: true)
        #expect(throws: BackupError.wrongPassphrase) { try Sample.read(bytes, passphrase: Array("wrong".utf8)) }
    }

    /// A cost that would take all memory is not believed.
    @Test func refusesAHugeCost() throws {
        let sample = try Sample()
        defer { sample.remove() }
        var bytes = try sample.backup(sealed: true)
        bytes[16] = 63
        #expect(throws: BackupError.damaged("its header is none that this version knows")) { try Sample.read(bytes) }
    }

    /// What a tar header claims is neither allocated nor waited for.
    @Test(arguments: [Int64(1) << 20 + 1, 1 << 40, .max]) func refusesHugeLengths(size: Int64) throws {
        let header = TarEntry(name: "carillon-backup/manifest.json", size: size).header(modified: 0)
        #expect(throws: BackupError.damaged("manifest.json is longer than it can be")) { try Sample.read(header) }
    }

    @Test func refusesAHugeFile() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let manifest = try sample.manifest { $0.files[0].size = 1 << 50 }
        let memory = Memory()
        let tar = TarWriter(memory, modified: 0)
        try tar.add("carillon-backup/manifest.json", manifest.json)
        try tar.add("carillon-backup/SHA256SUMS", manifest.sums)
        memory.write(TarEntry(name: "carillon-backup/registry.sqlite", size: 1 << 50).header(modified: 0)[...])
        #expect(throws: BackupError.truncated) { try Sample.read(memory.bytes) }
    }

    @Test(arguments: ["../registry", "a/b", ".hidden", "manifest.json", "", "white space", "line\nbreak"])
    func refusesNamesThatLeadElsewhere(name: String) throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: false) { $0.files[1].name = name }
        #expect(throws: BackupError.damaged("its manifest says what cannot be")) { try Sample.read(bytes) }
    }

    @Test func refusesALaterFormatByItsNumber() throws {
        let sample = try Sample()
        defer { sample.remove() }
        let bytes = try sample.backup(sealed: false) { $0.format = 2 }
        let expected = BackupError("the backup has format 2, and this version of Carillon reads format 1")
        #expect(throws: expected) { try Sample.read(bytes) }
    }

    @Test func refusesWhatIsNoBackup() {
        #expect(throws: BackupError.damaged("the file is empty")) { try Sample.read([]) }
        #expect(throws: BackupError.self) { try Sample.read(Array("%PDF-1.4".utf8)) }
        #expect(throws: BackupError.self) { try Sample.read([UInt8](repeating: 0, count: 4_096)) }
    }

    /// Sizes from 8 GiB on take another form.
    @Test(arguments: [0, 1, 511, 512, 513, 1 << 33 - 1, 1 << 33, 1 << 50]) func readsItsTarHeaders(size: Int64) throws {
        let entry = TarEntry(name: "carillon-backup/registry.sqlite", size: size)
        let header = entry.header(modified: 1_700_000_000)
        #expect(try TarEntry(header: header) == entry)
        #expect(header.count == 512)
    }
}
