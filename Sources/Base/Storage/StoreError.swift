import GRDB
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The reason why a database cannot be used, with a message that names the file, the problem and the fix. The router
/// never repairs or empties a database automatically. Contains no content of the database.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Cause: Hashable, Sendable {
        /// SQLite cannot read it; with SQLite's message.
        case damaged(String)
        /// The file is empty.
        case empty
        /// The file is missing, but its log is there.
        case withoutItsFile
        /// The file is missing, but another database that was used with it exists; with the path of that one.
        case missingBeside(String)
        /// The rescued database cannot be saved here, because a file exists.
        case inTheWay
        /// It is a database of another kind.
        case foreign
        /// This version cannot read its format: the last migration of the file, and the expected one.
        case version(found: String, expected: String)
        /// It needs a migration, but must not be changed.
        case unmigrated
        /// Commits would not survive a power failure.
        case notDurable
        /// With the system's message.
        case cannotOpen(String)
        /// Its disk is full.
        case full
        /// The disk or the file is read-only.
        case readOnly
        /// With SQLite's extended result code.
        case failed(Int32)
    }

    package let cause: Cause
    /// The kind's name, such as "the registry".
    let name: String
    let path: String
    private let costOfLoss: String

    package init(_ cause: Cause, in kind: StoreKind, at path: String) {
        self.cause = cause
        self.path = path
        name = kind.name
        costOfLoss = kind.costOfLoss
    }

    /// Converts an SQLite error, without its statements and values, which do not belong in a log.
    package init(_ error: DatabaseError, in kind: StoreKind, at path: String) {
        self.init(error, in: kind, at: path, isReadOnly: Self.isOnReadOnlyDisk(path))
    }

    /// `isReadOnly`: its disk is read-only, which SQLite reports like any other disk error.
    init(_ error: DatabaseError, in kind: StoreKind, at path: String, isReadOnly: @autoclosure () -> Bool) {
        let cause: Cause =
            switch error.resultCode {
            case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHORT_READ: .damaged("a page is missing")
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .damaged(error.message ?? "result \(error.resultCode.rawValue)")
            case .SQLITE_CANTOPEN: .cannotOpen(error.message ?? "result \(error.extendedResultCode.rawValue)")
            case .SQLITE_FULL: .full
            case .SQLITE_READONLY: .readOnly
            case .SQLITE_IOERR where isReadOnly(): .readOnly
            default: .failed(error.extendedResultCode.rawValue)
            }
        self.init(cause, in: kind, at: path)
    }

    private static func isOnReadOnlyDisk(_ path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }

    static func system(errno number: Int32, in kind: StoreKind, at path: String) -> StoreError {
        switch number {
        case ENOSPC, EDQUOT: StoreError(.full, in: kind, at: path)
        case EROFS: StoreError(.readOnly, in: kind, at: path)
        default: StoreError(.cannotOpen(String(cString: strerror(number))), in: kind, at: path)
        }
    }

    /// Whether the file itself is damaged, so that a retry is useless and writing may do harm.
    package var isDamage: Bool {
        switch cause {
        case .damaged, .empty, .withoutItsFile, .missingBeside: true
        default: false
        }
    }

    package var description: String { sentence(recoverySteps) }

    /// The description for an operator who has already tried a rescue, without that advice.
    package var descriptionAfterRescue: String { sentence(recoveryStepsAfterRescue) }

    private func sentence(_ recoverySteps: String) -> String {
        switch cause {
        case .damaged(let finding):
            "\(name) \(path) is damaged or not an SQLite database (\(finding)). It was not changed. \(recoverySteps)"
        case .empty:
            "\(name) \(path) is an empty file: its content is lost. It was not changed. \(recoverySteps)"
        case .withoutItsFile:
            """
            \(name) \(path) is missing, but its log \(path)-wal exists. Restore both, or move the log away, which \
            \(costOfLoss)
            """
        case .missingBeside(let other):
            """
            \(name) \(path) is missing, but \(other), which was used with it, exists. No new one was created. \
            Restore the file or a backup; or move \(other) away too and start with an empty one, which \(costOfLoss)
            """
        case .inTheWay:
            """
            cannot save \(name) to \(path): the file exists, perhaps from an earlier rescue. Use that file, or move it \
            away
            """
        case .foreign:
            """
            \(path) is not \(name), but another database of Carillon or of another program. It was not changed. Check \
            store.path
            """
        case .version(let found, let expected):
            """
            \(name) \(path) has the format \u{201C}\(found)\u{201D}, and this version of Carillon expects \
            \u{201C}\(expected)\u{201D}. It was not changed. Run the version that wrote it. \(recoverySteps)
            """
        case .unmigrated:
            "\(name) \(path) was written by an older version of Carillon: start the router once to update it"
        case .notDurable:
            "\(name) \(path) cannot be written durably: move it to a local file system that supports SQLite's WAL"
        case .cannotOpen(let reason):
            """
            \(name) \(path) cannot be opened (\(reason)): expected a file in an existing directory that this user \
            can write to
            """
        case .full:
            "cannot write \(name) \(path): its disk is full. Free some space"
        case .readOnly:
            "cannot write \(name) \(path): the disk or file is read-only. Remount it or make the file writable"
        case .failed(let code):
            "\(name) \(path) failed with SQLite's code \(code): check whether its disk is full, read-only or failing"
        }
    }

    private var recoverySteps: String {
        """
        Move it and \(path)-wal away and restore a backup; or save the readable part with \
        `carillon store rescue`; or move both away and start with an empty one, which \(costOfLoss)
        """
    }

    private var recoveryStepsAfterRescue: String {
        "Move it and \(path)-wal away and restore a backup, or start with an empty one, which \(costOfLoss)"
    }
}

/// A guard around a store's database access. It converts SQLite's errors and, once the file is found damaged, refuses
/// all writes, because they could destroy more.
package final class CorruptionGuard: Sendable {
    package let file: StoreFile
    private let found = Mutex<StoreError?>(nil)
    private let report: @Sendable (StoreError) -> Void

    /// Calls `report` once, when damage is found.
    package init(_ file: StoreFile, report: @escaping @Sendable (StoreError) -> Void) {
        self.file = file
        self.report = report
    }

    /// The damage found so far; nil if there is none.
    package var damage: StoreError? { found.withLock(\.self) }

    /// Runs `body` and throws a ``StoreError`` instead of SQLite's errors.
    package func reading<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try file.naming(body)
        } catch let fault as StoreError where fault.isDamage {
            note(fault)
            throw fault
        }
    }

    /// Does the same for writing, but throws immediately if damage is known.
    package func writing<Value>(_ body: () throws -> Value) throws -> Value {
        if let damage { throw damage }
        return try reading(body)
    }

    private func note(_ fault: StoreError) {
        let isFirst = found.withLock { found in
            defer { found = found ?? fault }
            return found == nil
        }
        if isFirst { report(fault) }
    }
}
