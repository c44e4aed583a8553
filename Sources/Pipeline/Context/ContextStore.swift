import Dispatch
import Foundation
import GRDB
import Logging
import Nostr
import Synchronization
import Units

/// A cache of profiles and notes in a file. A crash may lose the last moments, and a damaged file is replaced.
package final class ContextStore: Sendable {
    /// How much is kept.
    package struct Limits: Sendable {
        package var profiles = 200_000
        package var notes = 200_000
        /// Since it was learned.
        package var age: Duration = .days(90)

        package init() {}
    }

    /// What waits to be written.
    private struct Pending {
        var profiles: [PublicKey: ContextProfile] = [:]
        var notes: [EventID: ContextNote] = [:]
        /// To be removed.
        var deletedNotes: Set<EventID> = []
        var deletedProfiles: Set<PublicKey> = []
        var deletedAuthors: Set<PublicKey> = []
        var time = Timestamp.epoch
        /// Before the rest is written.
        var mustErase = false
        var isScheduled = false
        var isOverflowing = false

        var count: Int {
            profiles.count + notes.count + deletedNotes.count + deletedProfiles.count + deletedAuthors.count
        }
    }

    /// How much may wait for a slow disk.
    private static let pendingLimit = 50_000
    /// Rows written between two looks at what is beyond the limits.
    private static let pruneInterval = 5_000

    private let file: ContextFile
    private let limits: Limits
    private let pending = Mutex(Pending())
    private let unpruned = Mutex(pruneInterval)
    private let writing = DispatchQueue(label: "carillon context cache")
    private let logger: Logger

    /// Opens the file at `path`. Where there is none, the first write makes one, readable by this user only. What is
    /// there and damaged is put aside under the same name with `.damaged` behind it. Throws a ``ContextStoreError``
    /// when it cannot be opened, or is another program's.
    package init(path: String, limits: Limits = Limits(), logger: Logger) throws {
        self.file = try ContextFile(path: path, logger: logger)
        self.limits = limits
        self.logger = logger
    }

    func profile(of author: PublicKey) -> ContextProfile? {
        file.read { try $0.profile(of: author) } ?? nil
    }

    func note(_ id: EventID) -> ContextNote? {
        file.read { try $0.note(id) } ?? nil
    }

    /// Has these written soon. Never blocks.
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
        if mustWarn { logger.warning("The disk is too slow for all names and notes; some are not kept") }
    }

    /// Removes the file soon; the next write makes a new one.
    func erase() {
        schedule { pending in
            pending = Pending(mustErase: true, isScheduled: pending.isScheduled)
            return true
        }
    }

    /// Has these removed soon. Never blocks.
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

    /// Has what waits written soon, if `change` says that it added anything.
    private func schedule(_ change: (inout sending Pending) -> Bool) {
        let mustSchedule = pending.withLock { pending in
            guard change(&pending) else { return false }
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if mustSchedule { writing.async { self.writePending() } }
    }

    /// Returns when everything is written. Nothing may be read or written after.
    package func close() {
        writing.sync { writePending() }
        file.close()
    }

    private func writePending() {
        let pending = pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
        if pending.mustErase { file.erase() }
        guard pending.count > 0 else { return }
        let mustPrune = unpruned.withLock { unpruned in
            unpruned += pending.count
            guard unpruned >= Self.pruneInterval else { return false }
            unpruned = 0
            return true
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
    }
}

/// Why there is no ``ContextStore``. Names the file.
package struct ContextStoreError: Error, CustomStringConvertible {
    private enum Code {
        case foreign
        case unusable(String)
    }

    private let code: Code
    private let path: String

    /// The file is a database, and not one of these.
    static func foreign(path: String) -> ContextStoreError {
        ContextStoreError(code: .foreign, path: path)
    }

    /// SQLite says `reason`.
    static func unusable(_ reason: String, path: String) -> ContextStoreError {
        ContextStoreError(code: .unusable(reason), path: path)
    }

    package var description: String {
        switch code {
        case .foreign:
            "\(path) is another program's database, so names and notes are not kept there: give them a file of their own"
        case .unusable(let reason):
            "names and notes cannot be kept in \(path), for \(reason): check that its folder is there and may be written"
        }
    }
}
