import GRDB

/// Why a trace cannot be written or read. Names the file, and nothing that is in it.
package enum TraceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It is a database, and not a trace.
    case foreign(String)
    /// Another version of Carillon wrote it.
    case otherVersion(String)
    /// There is none.
    case missing(String)
    /// SQLite says so.
    case failed(String, reason: String)

    init(_ error: any Error, path: String) {
        switch error {
        case let error as TraceError: self = error
        case let error as DatabaseError: self = .failed(path, reason: error.message ?? "\(error.extendedResultCode)")
        default: self = .failed(path, reason: "\(error)")
        }
    }

    package var description: String {
        switch self {
        case .foreign(let path): "\(path) is another program's database and no trace: move it elsewhere"
        case .otherVersion(let path):
            "the trace \(path) is of another version; the router begins it anew when it starts"
        case .missing(let path): "there is no trace \(path) yet: the router makes it when the first event comes"
        case .failed(let path, let reason): "the trace \(path) cannot be used: \(reason)"
        }
    }
}
