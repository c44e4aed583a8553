import CarillonABI
import PluginServices
import Units

/// What is open: deliveries that the plugins have not ended, requests that the router has not answered. Pure.
struct Ledger: Sendable {
    /// A request, and who waits for its end.
    ///
    /// Unchecked: the pointer is the plugin's own business and never looked into here.
    struct Request: @unchecked Sendable {
        let instance: PluginInstance
        let ticket: UInt64
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    private static let spareRequests = 64
    private static let requestsOfTicket = 4

    /// The instance of each delivery in hand.
    private var tickets = NumberTable<UInt32>()
    private var requests = NumberTable<Request>()
    private var lastRequest: UInt64 = 0

    mutating func begin(_ ticket: UInt64, of instance: UInt32) { _ = tickets.insert(instance, for: ticket) }

    /// False: the instance has no such delivery in hand.
    mutating func end(_ ticket: UInt64, of instance: UInt32) -> Bool {
        tickets.remove(ticket, if: { $0 == instance }) != nil
    }

    func isOpen(_ ticket: UInt64) -> Bool { tickets[ticket] != nil }

    /// The number of a new request; nil: too many are open for what is in hand.
    mutating func open(_ request: Request) -> UInt64? {
        guard requests.count < Self.spareRequests + Self.requestsOfTicket * tickets.count else { return nil }
        lastRequest += 1
        return requests.insert(request, for: lastRequest) ? lastRequest : nil
    }

    mutating func close(_ number: UInt64) -> Request? { requests.remove(number) }
}

/// Lets at most so many messages through in a second, and counts the rest: plugins that repeat themselves shall not
/// keep the router busy. Pure.
struct MessageLimit: Sendable {
    private static let perSecond = 100

    private var second: Int64 = .min
    private var count = 0
    private(set) var lost = 0

    /// Whether one more may go.
    mutating func take(now: Deadline) -> Bool {
        let current = now.milliseconds / 1000
        if current != second {
            second = current
            count = 0
        }
        count += 1
        if count > Self.perSecond { lost += 1 }
        return count <= Self.perSecond
    }

    /// How many were lost since it was asked last.
    mutating func takeLost() -> Int {
        defer { lost = 0 }
        return lost
    }
}
