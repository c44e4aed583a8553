import Core
import GRDB
import Push
import Storage
import Synchronization

/// Events that their author took back or replaced, so that they are no longer pushed.
package struct Withdrawal: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// One event, whenever it arrives: 32 bytes in memory order.
        case event(SIMD4<UInt64>)
        /// All versions at an address up to a time; see ``EventOrigin/address``.
        case address(Int64)
        /// All of the author's events up to a time.
        case everything
        /// Older versions at an address that arrive after a newer one was pushed. Queued ones are still pushed.
        case olderVersions(Int64)
    }

    /// The author's public key: 32 bytes in memory order.
    package var author: SIMD4<UInt64>
    package var scope: Scope
    /// In seconds since 1970; unused for a single event.
    package var until: Int64

    package init(author: SIMD4<UInt64>, _ scope: Scope, until: Int64 = 0) {
        self.author = author
        self.scope = scope
        self.until = until
    }

    package func covers(_ origin: EventOrigin) -> Bool {
        guard author == origin.author else { return false }
        return switch scope {
        case .event(let event): event == origin.event
        case .address(let address): address == origin.address && origin.createdAt <= until
        case .everything: origin.createdAt <= until
        case .olderVersions: false
        }
    }
}

/// A bounded set of recent withdrawals. The oldest are forgotten first.
package struct Withdrawals: Sendable {
    private struct Key: Hashable, Sendable {
        let author: SIMD4<UInt64>
        let scope: Withdrawal.Scope
    }

    package static let capacity = 100_000

    private var ends = BoundedCache<Key, Int64>(capacity: capacity)
    private var hasOthers = false

    package init() {}

    package var isEmpty: Bool { ends.count == 0 }

    package mutating func insert(_ withdrawal: Withdrawal) {
        let key = Key(author: withdrawal.author, scope: withdrawal.scope)
        ends.set(max(withdrawal.until, ends.peek(key) ?? .min), for: key)
        switch withdrawal.scope {
        case .address, .everything: hasOthers = true
        case .event, .olderVersions: break
        }
    }

    /// Whether an event was taken back.
    package func contains(_ origin: EventOrigin) -> Bool {
        if ends.contains(Key(author: origin.author, scope: .event(origin.event))) { return true }
        guard hasOthers else { return false }
        if let address = origin.address, isPast(origin, .address(address)) { return true }
        return isPast(origin, .everything)
    }

    /// Whether a newer version of an event was pushed.
    package func isOutdated(_ origin: EventOrigin) -> Bool {
        origin.address.map { isPast(origin, .olderVersions($0)) } ?? false
    }

    private func isPast(_ origin: EventOrigin, _ scope: Withdrawal.Scope) -> Bool {
        ends.peek(Key(author: origin.author, scope: scope)).map { origin.createdAt <= $0 } ?? false
    }
}

/// The withdrawals that all threads of a courier share.
final class SharedWithdrawals: Sendable {
    private let withdrawals: Mutex<Withdrawals>
    private let isEmpty: Atomic<Bool>

    init(_ known: [Withdrawal] = []) {
        var withdrawals = Withdrawals()
        for withdrawal in known { withdrawals.insert(withdrawal) }
        self.withdrawals = Mutex(withdrawals)
        isEmpty = Atomic(known.isEmpty)
    }

    func insert(_ more: [Withdrawal]) {
        guard !more.isEmpty else { return }
        withdrawals.withLock { withdrawals in for withdrawal in more { withdrawals.insert(withdrawal) } }
        isEmpty.store(false, ordering: .releasing)
    }

    /// Whether the event of a delivery was taken back. Called before each attempt.
    func contains(_ delivery: Delivery) -> Bool { contains(delivery.notification.origin) }

    func contains(_ origin: EventOrigin?) -> Bool {
        guard !isEmpty.load(ordering: .acquiring), let origin else { return false }
        return withdrawals.withLock { $0.contains(origin) }
    }
}

/// Reads and writes the rows of withdrawals within the caller's transaction.
enum WithdrawalRows {
    /// The maximum number of rows, which is what memory keeps after a restart.
    private static let most: Int64 = Int64(Withdrawals.capacity / 2)

    static func add(_ withdrawals: [Withdrawal], _ database: Database) throws {
        guard !withdrawals.isEmpty else { return }
        try database.run(
            "INSERT INTO outbox_withdrawal (until, address, author, event, is_older) VALUES (?, ?, ?, ?, ?)",
            for: withdrawals
        ) { insert, withdrawal in
            try insert.bind(withdrawal.until, at: 1)
            try withUnsafeBytes(of: withdrawal.author) { try insert.bind(copyOf: $0, at: 3) }
            switch withdrawal.scope {
            case .event(let event): try withUnsafeBytes(of: event) { try insert.bind(copyOf: $0, at: 4) }
            case .address(let address): try insert.bind(address, at: 2)
            case .everything: break
            case .olderVersions(let address):
                try insert.bind(address, at: 2)
                try insert.bind(1, at: 5)
            }
        }
        let forget = try RawStatement(database, "DELETE FROM outbox_withdrawal WHERE number <= ?")
        defer { forget.reset() }
        try forget.bind(database.lastInsertedRowID - most, at: 1)
        try forget.run()
    }

    static func all(_ database: Database) throws -> [Withdrawal] {
        let select = try RawStatement(
            database,
            "SELECT author, event, address, until, is_older FROM outbox_withdrawal ORDER BY number"
        )
        defer { select.reset() }
        var all: [Withdrawal] = []
        while try select.step() {
            guard let author = SIMD4(bytes: select.bytes(at: 0)) else { continue }
            let scope: Withdrawal.Scope
            if !select.isNull(at: 1) {
                guard let event = SIMD4(bytes: select.bytes(at: 1)) else { continue }
                scope = .event(event)
            } else if select.isNull(at: 2) {
                scope = .everything
            } else {
                let address = select.integer(at: 2)
                scope = select.isNull(at: 4) ? .address(address) : .olderVersions(address)
            }
            all.append(Withdrawal(author: author, scope, until: select.integer(at: 3)))
        }
        return all
    }

    static func forEachAuthor(_ database: Database, _ body: (SIMD4<UInt64>) -> Void) throws {
        let tables = [
            ("outbox_delivery", "notification"), ("outbox_notification", "content"),
            ("outbox_dead_letter", "notification"), ("outbox_held_member", "notification"),
        ]
        for (table, column) in tables {
            let select = try RawStatement(
                database,
                """
                SELECT DISTINCT substr(\(column), \(Notification.authorPlace) + 1, 32) FROM \(table)
                WHERE substr(hex(substr(\(column), 1, 1)), 1, 1) IN ('1', '3', '5', '7')
                """
            )
            defer { select.reset() }
            while try select.step() {
                if let author = SIMD4(bytes: select.bytes(at: 0)) { body(author) }
            }
        }
    }
}
