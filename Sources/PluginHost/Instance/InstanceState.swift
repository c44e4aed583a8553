import HTTPLanes
import Streams
import Units

/// One instance's life: what it has accepted, which calls are inside it, and whether it may be destroyed. Pure: it
/// knows no lock, clock, plugin or logger.
struct InstanceState<Payload: Sendable>: Sendable {
    /// Whether a delivery may be handed to the plugin.
    enum Admission: Sendable {
        case admitted(ticket: UInt64)
        /// `reason` is the outcome's.
        case refused(Payload, reason: String)
    }

    /// Whether a command may be handed to the plugin.
    enum CommandAdmission: Sendable {
        case admitted(number: UInt64)
        case refused(CommandEnd)
    }

    /// Whether a request from outside may be handed to the plugin.
    enum InboundAdmission: Sendable {
        case admitted(number: UInt64)
        case refused(InboundEnd)
    }

    /// What became of an instance that was asked to end.
    enum Settlement: Sendable {
        /// Nothing is left but streams: end them, and wait on.
        case onlyStreams
        /// Nothing is left: destroy it.
        case idle
        /// The deadline passed with work left: never destroy it. The payloads whose waiters get no other answer.
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
    private(set) var commands = AwaitedAnswers(limit: AwaitedAnswers.commands)
    private(set) var inbound = AwaitedAnswers(limit: AwaitedAnswers.requests)
    var statistics = TransportStatistics()
    private(set) var requests = RequestCounts()
    private(set) var streams = StreamCounts()
    private var areStreamsEnding = false

    init(tickets: TicketTable<Payload> = TicketTable()) {
        self.tickets = tickets
    }

    /// Opens a ticket and notes that a call to the plugin begins; ``leave()`` must follow.
    mutating func admit(_ payload: Payload, deadline: Deadline) -> Admission {
        guard case .running = phase else { return .refused(payload, reason: "draining") }
        guard let ticket = tickets.open(payload, deadline: deadline) else {
            return .refused(payload, reason: "overloaded")
        }
        callsInside += 1
        return .admitted(ticket: ticket)
    }

    /// The plugin did not accept `ticket`: nil when it ended it all the same, against the rules. The call to it goes on
    /// until ``leave()``.
    mutating func withdraw(_ ticket: UInt64) -> Payload? {
        switch tickets.end(ticket) {
        case .ended(let payload): return payload
        case .late: return nil
        case .unknown:
            statistics.unknownTickets += 1
            return nil
        }
    }

    /// The plugin ended `ticket`. If its payload still waits, ``leave()`` must follow after the completion was called:
    /// until then the instance is not idle.
    mutating func complete(_ ticket: UInt64) -> TicketTable<Payload>.End {
        let end = tickets.end(ticket)
        switch end {
        case .ended: callsInside += 1
        case .late: statistics.lateCompletions += 1
        case .unknown: statistics.unknownTickets += 1
        }
        return end
    }

    /// Stops waiting for what is due; one call to the plugin begins when there is any, and ``leave()`` must follow.
    mutating func expire(now: Deadline) -> [(ticket: UInt64, payload: Payload)] {
        let expired = tickets.expire(now: now)
        statistics.deadlinesMissed += UInt64(expired.count)
        if !expired.isEmpty { callsInside += 1 }
        return expired
    }

    /// A call to the plugin begins, unless the instance may be gone; ``leave()`` must follow.
    mutating func enter() -> Bool {
        if case .settled = phase { return false }
        callsInside += 1
        return true
    }

    /// A call to the plugin returned, or the completion of a delivery was called.
    mutating func leave() { callsInside -= 1 }

    /// Whether the plugin may begin something of its own. While draining only what still carries a delivery, a
    /// command or a request from outside may.
    var mayBegin: Bool {
        switch phase {
        case .running: true
        case .draining: tickets.outstanding > 0 || !commands.isEmpty || !inbound.isEmpty
        case .settled: false
        }
    }

    /// A timer's call to the plugin begins, unless its instance has nothing to do any more; ``leave()`` must follow.
    mutating func enterTimer() -> Bool {
        guard mayBegin else { return false }
        callsInside += 1
        return true
    }

    /// Whether the plugin may ask for an HTTP request now.
    mutating func beginRequest() -> Bool {
        guard mayBegin else { return false }
        openRequests += 1
        requests.begun += 1
        return true
    }

    /// The `done` of a request has returned; `failure` is why it brought no answer.
    mutating func endRequest(_ failure: HTTPFailure.Reason? = nil) {
        openRequests -= 1
        if let failure {
            requests.failures[failure, default: 0] += 1
        } else {
            requests.answered += 1
        }
    }

    /// Whether the plugin may open a stream now.
    mutating func beginStream() -> Bool {
        guard mayBegin, !areStreamsEnding, streams.open < StreamCounts.limit else { return false }
        streams.open += 1
        streams.begun += 1
        return true
    }

    /// A stream has ended, and the plugin knows it.
    mutating func endStream(_ failure: StreamFailure?) {
        streams.open -= 1
        if let failure { streams.failures[failure, default: 0] += 1 }
    }

    /// Whether nothing is in work: no call inside the plugin, no completion to call, no open delivery, request,
    /// command or request from outside. Streams may be open: some plugins always have one.
    var isIdle: Bool {
        callsInside == 0 && openRequests == 0 && tickets.outstanding == 0 && commands.isEmpty && inbound.isEmpty
    }

    /// An operator's command begins, and with it a call to the plugin; ``leave()`` must follow.
    mutating func beginCommand(deadline: Deadline) -> CommandAdmission {
        guard case .running = phase else { return .refused(.draining) }
        guard let number = commands.open(deadline: deadline) else { return .refused(.tooMany) }
        callsInside += 1
        return .admitted(number: number)
    }

    /// The plugin answered a command, or refused it.
    mutating func endCommand(_ number: UInt64) -> AwaitedAnswers.End {
        let end = commands.end(number)
        count(end)
        return end
    }

    private mutating func count(_ end: AwaitedAnswers.End) {
        switch end {
        case .ended: break
        case .late: statistics.lateCompletions += 1
        case .unknown: statistics.unknownTickets += 1
        }
    }

    /// A request from outside begins, and with it a call to the plugin; ``leave()`` must follow.
    mutating func beginInbound(deadline: Deadline) -> InboundAdmission {
        guard case .running = phase else { return .refused(.draining) }
        guard let number = inbound.open(deadline: deadline) else { return .refused(.tooMany) }
        callsInside += 1
        return .admitted(number: number)
    }

    /// The plugin answered a request from outside, or refused it.
    mutating func endInbound(_ number: UInt64) -> AwaitedAnswers.End {
        let end = inbound.end(number)
        count(end)
        return end
    }

    /// Stops waiting for the answers to requests from outside that are due.
    mutating func expireInbound(now: Deadline) -> [UInt64] {
        let expired = inbound.expire(now: now)
        statistics.deadlinesMissed += UInt64(expired.count)
        return expired
    }

    /// A request from outside was answered with this status.
    mutating func countInbound(_ status: UInt32) { requests.inbound[status / 100, default: 0] += 1 }

    /// Stops waiting for the answers to commands that are due: those hold nothing up any more.
    mutating func expireCommands(now: Deadline) -> [UInt64] {
        let expired = commands.expire(now: now)
        statistics.deadlinesMissed += UInt64(expired.count)
        return expired
    }

    /// Accepts nothing more. Returns the tickets to cancel; one call to the plugin begins, and ``leave()`` must follow.
    mutating func drain(deadline: Deadline) -> [UInt64] {
        phase = .draining(deadline: deadline)
        callsInside += 1
        return tickets.open
    }

    /// Accepts nothing, and gives back the memory.
    mutating func close() {
        phase = .settled
        tickets = TicketTable()
    }

    /// What draining came to, each exactly once, when it has come to something.
    mutating func settle(now: Deadline) -> Settlement? {
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
