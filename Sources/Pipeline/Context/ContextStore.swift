import Core
import Dispatch
import Foundation
import GRDB
import Logging
import Nostr
import Synchronization

/// A cache of profiles and notes in a file. A crash may lose the last writes. A damaged file is replaced.
package final class ContextStore: Sendable {
    /// The limits of the cache.
    package struct Limits: Sendable {
        package var profiles = 200_000
        package var notes = 200_000
        /// The maximum age since an entry was learned.
        package var age: Duration = .days(90)

        package init() {}
    }

    /// Changes that are not written yet.
    private struct Pending {
        var profiles: [PublicKey: ContextProfile] = [:]
        var notes: [EventID: ContextNote] = [:]
        /// Rows to remove.
        var deletedNotes: Set<EventID> = []
        var deletedProfiles: Set<PublicKey> = []
        var deletedAuthors: Set<PublicKey> = []
        var time = Timestamp.epoch
        /// Whether to erase the file before writing the rest.
        var mustErase = false
        var isScheduled = false
        var isOverflowing = false

        var count: Int {
            profiles.count + notes.count + deletedNotes.count + deletedProfiles.count + deletedAuthors.count
        }
    }

    /// The maximum number of changes that wait for a slow disk.
    private static let pendingLimit = 50_000
    private static let keysPerRead = 5_000
    /// Rows written between two checks of the limits.
    private static let pruneInterval = 5_000

    private let file: ContextFile
    private let limits: Limits
    private let pending = Mutex(Pending())
    /// Nil until the file's keys are read. Changed only on the writing queue.
    private let stored: Mutex<StoredKeys?>
    private let unpruned = Mutex(pruneInterval)
    private let writing = DispatchQueue(label: "carillon context cache")
    private let logger: Logger

    /// Opens the file at `path`. If there is none, the first write creates it, readable only by this user. A damaged
    /// file is renamed with the suffix `.damaged`. Throws a ``ContextStoreError`` if the file cannot be opened or
    /// belongs to another program.
    package init(path: String, limits: Limits = Limits(), logger: Logger) throws {
        self.file = try ContextFile(path: path, logger: logger)
        self.limits = limits
        self.logger = logger
        stored = Mutex(file.isAbsent ? StoredKeys(limit: limits.profiles + limits.notes) : nil)
        writing.async { self.readStoredKeys() }
    }

    func profile(of author: PublicKey) -> ContextProfile? {
        guard stored.withLock({ $0?.mayContain(author.bytes) ?? true }) else { return nil }
        return file.read { try $0.profile(of: author) } ?? nil
    }

    func note(_ id: EventID) -> ContextNote? {
        guard stored.withLock({ $0?.mayContain(id.bytes) ?? true }) else { return nil }
        return file.read { try $0.note(id) } ?? nil
    }

    /// Schedules writing these entries. Never blocks.
    func write(profiles: [PublicKey: ContextProfile], notes: [EventID: ContextNote], at now: Timestamp) {
        var mustWarn = false
        schedule { pending in
            guard pending.count < Self.pendingLimit else {
                mustWarn = !pending.isOverflowing
                pending.isOverflowing = true
                return false
            }
            pending.profiles.merge(profiles) { $1 }
            pending.notes.merge(notes) { $1 }
            pending.time = now
            return true
        }
        if mustWarn { logger.warning("The disk is too slow for all names and notes; some were not stored") }
    }

    /// Schedules removing the file; the next write creates a new one.
    func erase() {
        schedule { pending in
            pending = Pending(mustErase: true, isScheduled: pending.isScheduled)
            return true
        }
    }

    /// Schedules removing these entries. Never blocks.
    func forget(notes: Set<EventID>, profiles: Set<PublicKey>, notesBy authors: Set<PublicKey> = []) {
        schedule { pending in
            for id in notes { pending.notes[id] = nil }
            for author in profiles { pending.profiles[author] = nil }
            if !authors.isEmpty { pending.notes = pending.notes.filter { !authors.contains($0.value.author) } }
            pending.deletedNotes.formUnion(notes)
            pending.deletedProfiles.formUnion(profiles)
            pending.deletedAuthors.formUnion(authors)
            return true
        }
    }

    /// Schedules writing the pending changes if `change` returns that it added any.
    private func schedule(_ change: (inout sending Pending) -> Bool) {
        let mustSchedule = pending.withLock { pending in
            guard change(&pending) else { return false }
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if mustSchedule { writing.async { self.writePending() } }
    }

    /// Returns after everything is written. The store must not be used afterwards.
    package func close() {
        writing.sync { writePending() }
        file.close()
    }

    private func writePending() {
        let pending = pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
        if pending.mustErase {
            file.erase()
            stored.withLock { $0 = StoredKeys(limit: limits.profiles + limits.notes) }
        }
        guard pending.count > 0 else { return }
        let mustPrune = unpruned.withLock { unpruned in
            unpruned += pending.count
            guard unpruned >= Self.pruneInterval else { return false }
            unpruned = 0
            return true
        }
        // This comes before the write: keys that are missing here are not looked up on disk.
        let mustRead = stored.withLock { stored in
            for author in pending.profiles.keys { stored?.insert(author.bytes) }
            for id in pending.notes.keys { stored?.insert(id.bytes) }
            return stored?.isOutdated ?? true
        }
        file.write { rows in
            try rows.remove(
                notes: pending.deletedNotes,
                profiles: pending.deletedProfiles,
                notesBy: pending.deletedAuthors
            )
            for (author, profile) in pending.profiles { try rows.write(profile, of: author) }
            for (id, note) in pending.notes { try rows.write(note, id, at: pending.time) }
            if mustPrune { try rows.prune(limits, at: pending.time) }
        }
        if mustRead { readStoredKeys() }
    }

    /// Reads the stored keys, some thousands at a time, so that lookups never wait for long. Runs on the writing queue,
    /// so that no write happens in between.
    private func readStoredKeys() {
        var keys = StoredKeys(limit: limits.profiles + limits.notes)
        for table in [ContextRows.KeyTable.profiles, .notes] {
            var last: Bytes32?
            repeat {
                // A failed read is tried again after the next write.
                guard let page = file.read({ [last] in try $0.keys(of: table, after: last, limit: Self.keysPerRead) })
                else { return }
                for key in page { keys.insert(key) }
                last = page.count == Self.keysPerRead ? page.last : nil
            } while last != nil
        }
        stored.withLock { $0 = keys }
    }
}

/// The keys that may be in a ``ContextStore``'s file, by their first eight bytes. Most keys that events mention are not
/// stored, and then need no disk access. Removed keys stay until the file is read again.
private struct StoredKeys {
    private var words: Set<UInt64> = []
    private let limit: Int

    /// `limit` is the approximate maximum number of stored keys.
    init(limit: Int) { self.limit = limit }

    /// Whether so many keys were removed that the file should be read again.
    var isOutdated: Bool { words.count > 2 * limit + 1_000 }

    /// Returns false only if the key is not in the file.
    func mayContain(_ key: Bytes32) -> Bool { words.contains(key.words.0) }

    mutating func insert(_ key: Bytes32) { words.insert(key.words.0) }
}

/// The reason why a ``ContextStore`` cannot be opened, with the file's path.
package struct ContextStoreError: Error, CustomStringConvertible {
    private enum Code {
        case foreign
        case unusable(String)
    }

    private let code: Code
    private let path: String

    /// The file is a database of another program.
    static func foreign(path: String) -> ContextStoreError {
        ContextStoreError(code: .foreign, path: path)
    }

    /// SQLite reported `reason`.
    static func unusable(_ reason: String, path: String) -> ContextStoreError {
        ContextStoreError(code: .unusable(reason), path: path)
    }

    package var description: String {
        switch code {
        case .foreign:
            "\(path) is another program's database, so names and notes are not stored there: configure a separate file"
        case .unusable(let reason):
            "cannot store names and notes in \(path): \(reason). Check that its directory exists and is writable."
        }
    }
}
