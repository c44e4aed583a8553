import Delivery
import Foundation
import GRDB
import Nostr
import Notifications
import Storage
import Units

/// Reads a trace, also while a router writes to it, and changes nothing.
package struct TraceReader: Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// The steps of `event` and what became of the deliveries that came of it, in their order; empty when nothing is
    /// known of it. What happened before `time` is left out, and with a `recipient` what
    /// is about others. Throws a ``TraceError``.
    package func history(
        of event: EventID,
        for recipient: PublicKey? = nil,
        since time: Timestamp
    ) throws(TraceError) -> [TraceEntry] {
        try read { try $0.history(of: event, for: recipient).filter { $0.time >= time } }
    }

    /// How pushes to each of `devices` went of late; devices without any push are missing. Throws a
    /// ``TraceError``.
    package func statuses(of devices: [DeviceID]) throws(TraceError) -> [DeviceID: DeviceStatus] {
        try read { rows in
            var statuses: [DeviceID: DeviceStatus] = [:]
            for device in devices { statuses[device] = try rows.status(of: device) }
            return statuses
        }
    }

    /// The queues that were paused when the router, or the last one, wrote that down. Throws a ``TraceError``.
    package func pauses() throws(TraceError) -> [QueueName: TracedPause] {
        try read { try $0.pauses() }
    }

    /// The events that `deliveries`, given by id, came of: of several the first. Looks at every entry. Throws a
    /// ``TraceError``.
    package func events(of deliveries: Set<DeliveryID>) throws(TraceError) -> [DeliveryID: EventID] {
        guard !deliveries.isEmpty else { return [:] }
        return try read { try $0.events(of: deliveries) }
    }

    /// The newest events that something was decided about for an account, the newest first. Looks no further back than
    /// some entries of everybody's. Throws a ``TraceError``.
    package func recentEvents(of account: PublicKey, limit: Int) throws(TraceError) -> [EventID] {
        try read { try $0.recentEvents(of: account, limit: limit) }
    }

    /// Since when entries are kept; nil: there are none. Throws a ``TraceError``.
    package func beginning() throws(TraceError) -> Timestamp? {
        try read { try $0.beginning() }
    }

    private func read<Value>(_ body: (TraceRows) throws -> Value) throws(TraceError) -> Value {
        guard FileManager.default.fileExists(atPath: path) else { throw .missing(path) }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            return try queue.read { db in
                switch try TraceSchema.file(at: path).state(of: db) {
                case .ready: return try body(TraceRows(db: db))
                case .empty: throw TraceError.missing(path)
                case .outdated: throw TraceError.otherVersion(path)
                case .foreign: throw TraceError.foreign(path)
                }
            }
        } catch {
            throw TraceError(error, path: path)
        }
    }
}

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
