import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Why a database cannot be used, in a sentence that names the file, what is wrong and the way out. It is never repaired or emptied
/// on our own account. Holds nothing of what is in the database.
package struct StoreFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    package enum Cause: Hashable, Sendable {
        /// SQLite cannot make sense of it; what it says of that.
        case damaged(String)
        /// There is a file, and nothing in it.
        case empty
        /// The file is missing, and its log is there.
        case withoutItsFile
        /// There is none, and another database beside it says that there was; that one's path.
        case missingBeside(String)
        /// What was to be saved cannot go here: there is a file already.
        case inTheWay
        /// It is a database, and not one of these.
        case foreign
        /// It has tables that this version does not know; the first migration of them.
        case newer(String)
        /// It lacks tables that this version needs, and is not to be changed.
        case older
        /// What is committed would not survive a power cut.
        case notDurable
        /// What the system says.
        case cannotOpen(String)
        /// There is no room on its disk.
        case full
        /// The disk or the file takes no changes.
        case readOnly
        /// SQLite's extended result code.
        case failed(Int32)
    }

    package let cause: Cause
    /// As in "the registry".
    let name: String
    let path: String
    private let costOfLoss: String

    package init(_ cause: Cause, in kind: StoreKind, at path: String) {
        self.cause = cause
        self.path = path
        name = kind.name
        costOfLoss = kind.costOfLoss
    }

    /// What SQLite says, without statements and values, which are none of a log's business.
    package init(_ error: DatabaseError, in kind: StoreKind, at path: String) {
        self.init(error, in: kind, at: path, isReadOnly: Self.isOnReadOnlyDisk(path))
    }

    /// `isReadOnly` says whether its disk takes no changes, which to SQLite is one error of the disk's among many.
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

    static func system(errno number: Int32, in kind: StoreKind, at path: String) -> StoreFault {
        switch number {
        case ENOSPC, EDQUOT: StoreFault(.full, in: kind, at: path)
        case EROFS: StoreFault(.readOnly, in: kind, at: path)
        default: StoreFault(.cannotOpen(String(cString: strerror(number))), in: kind, at: path)
        }
    }

    /// Whether the file itself is at fault, so that trying again is of no use and writing may do harm.
    package var isDamage: Bool {
        switch cause {
        case .damaged, .empty, .withoutItsFile, .missingBeside: true
        default: false
        }
    }

    package var description: String { sentence(waysOut) }

    /// The same for whoever has tried to rescue it, without advice to do so.
    package var descriptionAfterRescue: String { sentence(waysOutAfterRescue) }

    private func sentence(_ waysOut: String) -> String {
        switch cause {
        case .damaged(let finding):
            "\(name) \(path) is damaged or no SQLite database (\(finding)); it was left as it is. \(waysOut)"
        case .empty:
            "\(name) \(path) is an empty file, so what it held is lost; it was left as it is. \(waysOut)"
        case .withoutItsFile:
            "\(name) \(path) is missing, but its log \(path)-wal is there: put both back where they were, or move the log away, "
                + "which \(costOfLoss)"
        case .missingBeside(let other):
            "\(name) \(path) is missing, but \(other), which was filled beside it, is there; nothing was made. Put it back, or a "
                + "backup in its place; or move \(other) away as well and begin an empty one, which \(costOfLoss)"
        case .inTheWay:
            "\(name) would be saved into \(path), and there is a file already, as of an earlier rescue: put that in its place, or move "
                + "it away"
        case .foreign:
            "\(path) is another program's database or another one of ours, and not \(name); it was left as it is: "
                + "check store.path"
        case .newer(let migration):
            "\(name) \(path) was written by a newer version of Carillon (it has \u{201C}\(migration)\u{201D}); it was left as it is: "
                + "run that version, or restore a backup from before"
        case .older:
            "\(name) \(path) was written by an older version of Carillon: start the router once, which brings it up to date"
        case .notDurable:
            "\(name) \(path) cannot be written durably: it must be on a local file system that SQLite's WAL works on"
        case .cannotOpen(let reason):
            "\(name) \(path) cannot be opened (\(reason)): expected a file in a folder that exists and that this user may write to"
        case .full:
            "\(name) \(path) cannot be written, as its disk is full: make room; nothing else is to be done"
        case .readOnly:
            "\(name) \(path) cannot be written, as its disk or file is read-only: make it writable; nothing else is to be done"
        case .failed(let code):
            "\(name) \(path) failed with SQLite's code \(code): see that its disk is neither full, read-only nor failing"
        }
    }

    private var waysOut: String {
        "Move it and \(path)-wal away and put a backup in its place; or save what can be read with "
            + "`carillon store rescue`; or move both away and begin an empty one, which \(costOfLoss)"
    }

    private var waysOutAfterRescue: String {
        "Move it and \(path)-wal away and put a backup in its place, or begin an empty one, which \(costOfLoss)"
    }
}
