import CarillonABI
import Core
import Logging
import Push

/// The plugin's open commands or requests from clients, with the callers that wait for their responses. Pure: it knows
/// no lock, clock or plugin.
///
/// Numbers never repeat. Calls end one by one or at their deadlines. There are few, so they are not sorted.
struct AwaitedAnswers<Waiter: Sendable>: Sendable {
    private var waiting: [UInt64: (deadline: Deadline, waiter: Waiter)] = [:]
    /// Expired numbers whose first response may still arrive.
    private var expired: Set<UInt64> = []
    private var last: UInt64 = 0
    private let limit: Int

    /// A table of at most `limit` waiting callers.
    init(limit: Int) { self.limit = limit }

    var count: Int { waiting.count }

    /// Returns the number of a new call, or nil if too many are open.
    mutating func open(_ waiter: Waiter, deadline: Deadline) -> UInt64? {
        guard waiting.count < limit else { return nil }
        last += 1
        waiting[last] = (deadline, waiter)
        return last
    }

    mutating func end(_ number: UInt64) -> TicketTable<Waiter>.Completion {
        if let (_, waiter) = waiting.removeValue(forKey: number) { return .ended(waiter) }
        return expired.remove(number) == nil ? .unknown : .late
    }

    /// Removes the overdue calls and returns their callers.
    mutating func expire(now: Deadline) -> [Waiter] {
        let due = waiting.filter { $0.value.deadline <= now }.sorted { $0.key < $1.key }
        for (number, _) in due {
            waiting[number] = nil
            expired.insert(number)
        }
        // A plugin that never answers must not fill the memory.
        while expired.count > limit, let oldest = expired.min() { expired.remove(oldest) }
        return due.map(\.value.waiter)
    }

    /// Removes all calls and returns their callers, because no more responses will arrive.
    mutating func removeAll() -> [Waiter] {
        defer { waiting = [:] }
        return waiting.values.map(\.waiter)
    }
}

/// The result of an operator's command.
enum CommandResult: Sendable, Hashable {
    case answered(String)
    case failed(String)
    /// The plugin did not accept it.
    case refused(carillon_status)
    case tooMany
    case unanswered
    case draining

    private static let answerLimit = 1 << 20

    /// The result for a reply of the plugin's process.
    init(_ reply: CommandReply) {
        switch reply {
        case .answered(let status, let text):
            let page = PluginText.page(text, limit: Self.answerLimit)
            self = status == .CARILLON_OK ? .answered(page) : .failed(page)
        case .refused(let status): self = .failed(TransportInstance.words(for: status))
        case .failed(let text): self = .failed(text)
        }
    }
}

/// Calls that wait for the plugin's response.
extension PluginBridge {
    /// Ends a command that the plugin answered or refused. Only the first end of a command counts.
    func endCommand(_ number: UInt64, _ end: CommandResult) {
        let (ending, mistakes) = change { ($0.endCommand(number), $0.statistics.unknownTickets) }
        switch ending {
        case .ended(let waiter): waiter(end)
        case .late: break
        case .unknown: warn("The plugin answered a command twice, or one that it had refused", times: mistakes)
        }
    }

    /// Ends a client's request that the plugin answered or refused. Only the first end of a request counts.
    func endInbound(_ number: UInt64, _ end: InboundResult) {
        let (ending, mistakes) = change { ($0.endInbound(number), $0.statistics.unknownTickets) }
        switch ending {
        case .ended(let waiter):
            if case .malformed = end { note("The plugin gave an invalid response to a request", \.malformedAnswers) }
            waiter(end)
        case .late: break
        case .unknown: warn("The plugin answered a request twice, or one that it had refused", times: mistakes)
        }
    }

    /// Ends the calls whose deadline has passed.
    func expireCalls(now: Deadline) {
        let (commands, inbound) = change { ($0.expireCommands(now: now), $0.expireInbound(now: now)) }
        for waiter in commands { waiter(.unanswered) }
        for waiter in inbound { waiter(.unanswered) }
    }
}
