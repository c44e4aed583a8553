import PluginServices

/// The HTTP requests of a process that the router has not answered, and those that outlive their process. Pure.
struct ProcessRequests: Sendable {
    /// What became of a new request.
    enum Begin: Sendable {
        case taken
        /// Its number is in use.
        case inUse
        /// More are open than deliveries can need. It has to end like the others.
        case tooMany
    }

    /// A request of a process that died.
    private struct Orphan: Hashable {
        let session: ObjectIdentifier
        let number: UInt64
    }

    private static let perDelivery = 4
    private static let spare = 64

    /// The deliveries that they are for, by their own numbers, which the process chooses.
    private var open = NumberTable<UInt64>()
    /// Those of processes that died, with all deliveries that each carries.
    private var orphans: [Orphan: [UInt64]] = [:]

    /// A request of the process that works, for the delivery `ticket`; 0: that is not known.
    mutating func begin(_ number: UInt64, for ticket: UInt64, inHand: Int) -> Begin {
        guard open.insert(ticket, for: number) else { return .inUse }
        return open.count <= Self.perDelivery * inHand + Self.spare ? .taken : .tooMany
    }

    /// A request of the process that works has ended.
    mutating func end(_ number: UInt64) { _ = open.remove(number) }

    /// Another process works.
    mutating func restart() { open = NumberTable() }

    /// The process has died. A suspect among its deliveries is not tried again before its requests have ended.
    mutating func died(_ session: ObjectIdentifier, _ ledger: inout DeliveryLedger) {
        for (number, ticket) in open.all {
            orphans[Orphan(session: session, number: number)] = ledger.beginRequest(for: ticket)
        }
        restart()
    }

    /// A request of another process has ended. Returns the deliveries that it carried.
    mutating func end(_ number: UInt64, of session: ObjectIdentifier) -> [UInt64] {
        guard !orphans.isEmpty else { return [] }
        return orphans.removeValue(forKey: Orphan(session: session, number: number)) ?? []
    }
}
