import GRDB
import Synchronization

/// Stands between a store and its database: names its faults, and where the file turns out damaged lets nothing be written
/// any more, since that could only cost more of it.
package final class DamageWatch: Sendable {
    package let file: StoreFile
    private let found = Mutex<StoreFault?>(nil)
    private let report: @Sendable (StoreFault) -> Void

    /// `report` is told of damage, once.
    package init(_ file: StoreFile, report: @escaping @Sendable (StoreFault) -> Void) {
        self.file = file
        self.report = report
    }

    /// The damage that was met; nil while all is well.
    package var damage: StoreFault? { found.withLock(\.self) }

    /// Throws a ``StoreFault`` in place of SQLite's errors.
    package func reading<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try file.naming(body)
        } catch let fault as StoreFault where fault.isDamage {
            note(fault)
            throw fault
        }
    }

    /// The same, and does nothing where damage is known.
    package func writing<Value>(_ body: () throws -> Value) throws -> Value {
        if let damage { throw damage }
        return try reading(body)
    }

    private func note(_ fault: StoreFault) {
        let isFirst = found.withLock { found in
            defer { found = found ?? fault }
            return found == nil
        }
        if isFirst { report(fault) }
    }
}
