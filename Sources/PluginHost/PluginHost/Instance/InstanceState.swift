import Core
import HTTPClient

/// One instance's life cycle: its open work, the calls inside it, and whether it may be destroyed. Pure: it knows no
/// lock, clock, plugin or logger.
struct InstanceState<Payload: Sendable>: Sendable {
    /// Whether a delivery may be passed to the plugin.
    enum Decision: Sendable {
        case admitted(ticket: UInt64)
        /// `reason` is the outcome's.
        case refused(Payload, reason: String)
    }

    /// Whether a command or a client's request may be passed to the plugin.
    enum CallDecision: Sendable {
        case admitted(number: UInt64)
        case draining
        case tooMany
    }

    typealias CommandWaiter = @Sendable (CommandResult) -> Void
    typealias InboundWaiter = @Sendable (InboundResult) -> Void

    /// The state of an instance that drains.
    enum DrainState: Sendable {
        /// Only streams are left: end them, and keep waiting.
        case onlyStreams
        /// No work is left: destroy it.
        case idle
        /// The deadline passed with work left: never destroy it. The payloads' callers get no other response.
        case stuck([Payload])
    }

    private enum Phase {
        case running
        case draining(deadline: Deadline)
        case settled
    }

    private var phase = Phase.running
    private var callsInside = 0
    private var openRequests = 0
    private(set) var tickets: TicketTable<Payload>
    private(set) var commands = AwaitedAnswers<CommandWaiter>(limit: 64)
    private(set) var inbound = AwaitedAnswers<InboundWaiter>(limit: 8)
    var statistics = TransportStatistics()
    private(set) var requests = RequestCounts()
    private(set) var streams = StreamCounts()
    private var areStreamsEnding = false

    init(tickets: TicketTable<Payload> = TicketTable()) {
        self.tickets = tickets
    }

    /// Opens a ticket and starts a call to the plugin; ``leave()`` must follow.
    mutating func admit(_ payload: Payload, deadline: Deadline) -> Decision {
        guard case .running = phase else { return .refused(payload, reason: "draining") }
        guard let ticket = tickets.open(payload, deadline: deadline) else {
            return .refused(payload, reason: "overloaded")
        }
        callsInside += 1
        return .admitted(ticket: ticket)
    }

    /// Closes a ticket that the plugin did not accept. Returns nil if the plugin ended it anyway, against the rules.
    /// The call to the plugin lasts until ``leave()``.
    mutating func withdraw(_ ticket: UInt64) -> Payload? {
        switch tickets.end(ticket) {
        case .ended(let payload): return payload
        case .late: return nil
        case .unknown:
            statistics.unknownTickets += 1
            return nil
        }
    }

    /// Ends a ticket for the plugin. If its payload still waits, ``leave()`` must follow after the completion: until
    /// then the instance is not idle.
    mutating func complete(_ ticket: UInt64) -> TicketTable<Payload>.Completion {
        let end = tickets.end(ticket)
        switch end {
        case .ended: callsInside += 1
        case .late: statistics.lateCompletions += 1
        case .unknown: statistics.unknownTickets += 1
        }
        return end
    }

    /// Removes overdue tickets. If there are any, this starts a call to the plugin, and ``leave()`` must follow.
    mutating func expire(now: Deadline) -> [(ticket: UInt64, payload: Payload)] {
        let expired = tickets.expire(now: now)
        statistics.deadlinesMissed += UInt64(expired.count)
        if !expired.isEmpty { callsInside += 1 }
        return expired
    }

    /// Starts a call to the plugin, unless the instance may be gone; ``leave()`` must follow.
    mutating func enter() -> Bool {
        if case .settled = phase { return false }
        callsInside += 1
        return true
    }

    /// Ends a call to the plugin, or to the completion of a delivery.
    mutating func leave() { callsInside -= 1 }

    /// Whether the plugin may start a request or a stream. While draining, it may only if a delivery, a command or a
    /// client's request is open.
    var mayBegin: Bool {
        switch phase {
        case .running: true
        case .draining: tickets.outstanding > 0 || commands.count > 0 || inbound.count > 0
        case .settled: false
        }
    }

    /// Whether the plugin may send an HTTP request now. If so, counts it.
    mutating func beginRequest() -> Bool {
        guard mayBegin else { return false }
        openRequests += 1
        requests.begun += 1
        return true
    }

    /// Counts a request whose `done` has returned; `failure` is the reason if there was no response.
    mutating func endRequest(_ failure: HTTPError.Reason? = nil) {
        openRequests -= 1
        if let failure {
            requests.failures[failure, default: 0] += 1
        } else {
            requests.answered += 1
        }
    }

    /// Whether the plugin may open a stream now. If so, counts it.
    mutating func beginStream() -> Bool {
        guard mayBegin, !areStreamsEnding, streams.open < StreamCounts.limit else { return false }
        streams.open += 1
        streams.begun += 1
        return true
    }

    /// Counts the end of a stream that the plugin knows of.
    mutating func endStream(_ failure: StreamError?) {
        streams.open -= 1
        if let failure { streams.failures[failure, default: 0] += 1 }
    }

    /// Whether no work is open: no call inside the plugin, no completion to call, no delivery, request, command or
    /// client's request. Streams may be open: some plugins always have one.
    var isIdle: Bool {
        callsInside == 0 && openRequests == 0 && tickets.outstanding == 0 && commands.count == 0 && inbound.count == 0
    }

    /// Starts an operator's command and a call to the plugin; ``leave()`` must follow.
    mutating func beginCommand(deadline: Deadline, _ waiter: @escaping CommandWaiter) -> CallDecision {
        begin(waiter, in: \.commands, deadline: deadline)
    }

    /// Starts a client's request and a call to the plugin; ``leave()`` must follow.
    mutating func beginInbound(deadline: Deadline, _ waiter: @escaping InboundWaiter) -> CallDecision {
        begin(waiter, in: \.inbound, deadline: deadline)
    }

    private mutating func begin<Waiter>(
        _ waiter: Waiter,
        in answers: WritableKeyPath<Self, AwaitedAnswers<Waiter>>,
        deadline: Deadline
    ) -> CallDecision {
        guard case .running = phase else { return .draining }
        guard let number = self[keyPath: answers].open(waiter, deadline: deadline) else { return .tooMany }
        callsInside += 1
        return .admitted(number: number)
    }

    /// Ends a command that the plugin answered or refused.
    mutating func endCommand(_ number: UInt64) -> TicketTable<CommandWaiter>.Completion { end(number, in: \.commands) }

    /// Ends a client's request that the plugin answered or refused.
    mutating func endInbound(_ number: UInt64) -> TicketTable<InboundWaiter>.Completion { end(number, in: \.inbound) }

    private mutating func end<Waiter>(
        _ number: UInt64,
        in answers: WritableKeyPath<Self, AwaitedAnswers<Waiter>>
    ) -> TicketTable<Waiter>.Completion {
        let end = self[keyPath: answers].end(number)
        switch end {
        case .ended: break
        case .late: statistics.lateCompletions += 1
        case .unknown: statistics.unknownTickets += 1
        }
        return end
    }

    /// Removes overdue requests from clients and returns their callers.
    mutating func expireInbound(now: Deadline) -> [InboundWaiter] {
        let expired = inbound.expire(now: now)
        statistics.deadlinesMissed += UInt64(expired.count)
        return expired
    }

    /// Removes all calls and returns their callers, because no more responses will arrive.
    mutating func abandonCalls() -> (commands: [CommandWaiter], inbound: [InboundWaiter]) {
        (commands.removeAll(), inbound.removeAll())
    }

    /// Counts a client's request by the status of its response.
    mutating func countInbound(_ status: UInt32) { requests.inbound[status / 100, default: 0] += 1 }

    /// Removes overdue commands and returns their callers. These commands no longer delay a drain.
    mutating func expireCommands(now: Deadline) -> [CommandWaiter] {
        let expired = commands.expire(now: now)
        statistics.deadlinesMissed += UInt64(expired.count)
        return expired
    }

    /// Stops accepting work. Returns the tickets to cancel. Starts a call to the plugin; ``leave()`` must follow.
    mutating func drain(deadline: Deadline) -> [UInt64] {
        phase = .draining(deadline: deadline)
        callsInside += 1
        return tickets.open
    }

    /// Stops accepting work, and releases the memory.
    mutating func close() {
        phase = .settled
        tickets = TicketTable()
    }

    /// Returns the next result of draining, each exactly once, or nil if it has not changed.
    mutating func settle(now: Deadline) -> DrainState? {
        guard case .draining(let deadline) = phase else { return nil }
        if isIdle, streams.open == 0 {
            close()
            return .idle
        }
        if isIdle, !areStreamsEnding {
            areStreamsEnding = true
            return .onlyStreams
        }
        guard deadline <= now else { return nil }
        phase = .settled
        return .stuck(tickets.expire(now: .distantFuture).map(\.payload))
    }
}
