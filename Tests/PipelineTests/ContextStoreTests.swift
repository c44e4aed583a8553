import Cipher
import Core
import Foundation
import GRDB
import Logging
import Nostr
import Rules
import Testing

@testable import Pipeline

@Suite final class ContextStoreTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let folder: URL
    private let path: String
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let author = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private let note = ContextNote(
        author: PublicKey(Bytes32(words: (1, 1, 1, 1))),
        root: PublicKey(Bytes32(words: (2, 2, 2, 2))),
        kind: .textNote,
        content: "nul \0 and 🔥"
    )

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "context-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("context.sqlite").path
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func id(_ number: Int) -> EventID { EventID(Bytes32(words: (UInt64(number), 7, 7, 7))) }

    private func store(_ limits: ContextStore.Limits = ContextStore.Limits()) throws -> ContextStore {
        try ContextStore(path: path, limits: limits, logger: logger)
    }

    private func profile(_ name: String?, learnedAt: Timestamp = noon) -> ContextProfile {
        ContextProfile(name: name, createdAt: 5, learnedAt: learnedAt)
    }

    @Test func forgottenContextIsErasedFromTheFile() throws {
        let store = try store()
        store.write(profiles: [author: profile("ada")], notes: [id(1): note, id(2): note, id(3): note], at: Self.noon)
        store.close()
        let second = try self.store()
        second.forget(notes: [id(1)], profiles: [author])
        second.close()
        let third = try self.store()
        #expect(third.note(id(1)) == nil && third.profile(of: author) == nil)
        #expect(third.note(id(2)) == note)
        third.forget(notes: [], profiles: [], notesBy: [author])
        third.close()
        let fourth = try self.store()
        #expect(fourth.note(id(2)) == nil && fourth.note(id(3)) == nil)
        fourth.close()
    }

    @Test func writtenContextSurvivesARestart() throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        var context = EventContext(store: try store())
        context.learn(
            try Event.signed(kind: .profile, createdAt: 1, content: #"{"name":"alice"}"#, by: keys),
            at: Self.noon
        )
        let note = try Event.signed(kind: .textNote, createdAt: 1, content: "hello", by: keys)
        context.learn(note, at: Self.noon)
        context.close(at: Self.noon)

        var later = EventContext(store: try store())
        #expect(later.name(of: keys.publicKey) == "alice")
        #expect(later.referenced(note.id).content == "hello")
        #expect(later.authors(of: note.id) == [keys.publicKey])
        let concern = Relevance(referencedID: note.id, author: keys.publicKey)
        #expect(later.missing([.authorName, .referencedEvent], of: concern, at: Self.noon + .milliseconds(1)).isEmpty)
        later.close(at: Self.noon)
    }

    @Test func rowsRoundTrip() throws {
        let first = try store()
        let nameless = PublicKey(Bytes32(words: (3, 3, 3, 3)))
        first.write(
            profiles: [author: profile("a\0b"), nameless: profile(nil)],
            notes: [id(1): note],
            at: Self.noon
        )
        first.write(profiles: [author: profile("newer")], notes: [:], at: Self.noon)
        first.close()
        let second = try store()
        #expect(second.profile(of: author) == profile("newer"))
        #expect(second.profile(of: nameless) == profile(nil))
        #expect(second.note(id(1)) == note)
        #expect(second.note(id(2)) == nil)
        second.close()
    }

    /// Which keys there are is read in pages of 5,000.
    @Test func storedContextIsFoundWhateverItsSize() throws {
        var limits = ContextStore.Limits()
        limits.notes = 6_000
        limits.profiles = 0
        for round in 0..<4 {
            let store = try store(limits)
            let notes = Dictionary(uniqueKeysWithValues: (0..<5_001).map { (id(round * 10_000 + $0), note) })
            store.write(profiles: [:], notes: notes, at: Self.noon)
            store.close()
        }
        let last = try store(limits)
        for number in [30_000, 32_345, 35_000] { #expect(last.note(id(number)) == note) }
        #expect(last.note(id(10_000)) == nil && last.note(id(35_001)) == nil)
        last.close()
    }

    @Test func oldestAreForgottenBeyondTheLimits() throws {
        var limits = ContextStore.Limits()
        limits.notes = 10
        let first = try store(limits)
        // Each opening prunes with its first write.
        first.write(profiles: [:], notes: [id(0): note], at: Self.noon)
        first.close()
        for number in 1...30 {
            let store = try store(limits)
            store.write(profiles: [:], notes: [id(number): note, id(0): note], at: Self.noon)
            store.close()
        }
        let last = try store(limits)
        let kept = (0...30).filter { last.note(id($0)) != nil }
        #expect(kept.contains(0) && kept.contains(30))
        #expect(kept.count <= 10)
        last.close()
    }

    @Test func oldContextIsForgotten() throws {
        var limits = ContextStore.Limits()
        limits.age = .seconds(1)
        let first = try store(limits)
        first.write(profiles: [author: profile("a")], notes: [id(1): note], at: Self.noon)
        first.close()
        let second = try store(limits)
        second.write(profiles: [:], notes: [id(2): note], at: Self.noon + .milliseconds(1_001))
        second.close()
        let third = try store(limits)
        #expect(third.profile(of: author) == nil && third.note(id(1)) == nil && third.note(id(2)) == note)
        third.close()
    }

    @Test func damagedFileIsPutAsideAndRecreated() throws {
        try Data(repeating: 0x5A, count: 8192).write(to: URL(fileURLWithPath: path))
        let store = try store()
        store.write(profiles: [:], notes: [id(1): note], at: Self.noon)
        store.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged")).count == 8192)
        let again = try self.store()
        #expect(again.note(id(1)) == note)
        again.close()
    }

    @Test func fileFoundDamagedLaterIsRecreated() throws {
        let first = try store()
        first.write(
            profiles: [:],
            notes: Dictionary(uniqueKeysWithValues: (0..<500).map { (id($0), note) }),
            at: Self.noon
        )
        first.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let size = try file.seekToEnd()
        for page in stride(from: UInt64(8192), to: size, by: 4096) {
            try file.seek(toOffset: page)
            try file.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        }
        try file.close()
        let second = try store()
        for number in 0..<500 { #expect(second.note(id(number)) == nil) }
        second.write(profiles: [:], notes: [id(7): note], at: Self.noon)
        second.close()
        #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
        let third = try store()
        #expect(third.note(id(7)) == note)
        third.close()
    }

    @Test func databaseOfAnotherVersionIsRecreated() throws {
        let first = try self.store()
        first.write(profiles: [:], notes: [id(1): note], at: Self.noon)
        first.close()
        let other = try DatabaseQueue(path: path)
        try other.write { db in
            try db.execute(sql: "DROP TABLE notes; PRAGMA user_version = 99")
        }
        try other.close()
        let store = try store()
        store.write(profiles: [:], notes: [id(1): note], at: Self.noon)
        store.close()
        let again = try self.store()
        #expect(again.note(id(1)) == note)
        again.close()
    }

    @Test func foreignDatabaseIsNotChanged() throws {
        let other = try DatabaseQueue(path: path)
        try other.write { try $0.execute(sql: "CREATE TABLE accounts (name TEXT)") }
        try other.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect { try self.store() } throws: {
            "\($0)".contains("context.sqlite is another program's database")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func missingFolderIsReported() {
        #expect { try ContextStore(path: self.folder.path + "/nowhere/x.sqlite", logger: self.logger) } throws: {
            "\($0)".contains("Check that its directory exists and is writable")
        }
    }

    @Test func fileIsNotCreatedBeforeTheFirstWrite() throws {
        let store = try store()
        #expect(store.note(id(1)) == nil)
        store.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func erasedStoreIsRecreated() throws {
        try Data("earlier".utf8).write(to: URL(fileURLWithPath: path + ".damaged"))
        let store = try store()
        store.write(profiles: [author: profile("a")], notes: [id(1): note], at: Self.noon)
        store.erase()
        store.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        let next = try self.store()
        next.write(profiles: [:], notes: [id(1): note], at: Self.noon)
        next.erase()
        next.write(profiles: [:], notes: [id(2): note], at: Self.noon)
        next.close()
        let last = try self.store()
        #expect(last.note(id(2)) == note)
        last.close()
    }

    @Test func fileIsReadableByItsOwnerOnly() throws {
        let store = try store()
        store.write(profiles: [:], notes: [id(1): note], at: Self.noon)
        store.close()
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }
}
