import HTTPLanes

/// How an instance's plugin kept to the rules: everything here but `deadlinesMissed` and `lateCompletions` is a
/// plugin's mistake.
package struct TransportStatistics: Sendable, Hashable {
    /// Tickets that the plugin ended twice, or that were never its own.
    package var unknownTickets: UInt64 = 0
    /// Outcomes of an unknown kind, with an implausible size, or none at all.
    package var malformedOutcomes: UInt64 = 0
    /// HTTP requests that the host refused to send.
    package var malformedRequests: UInt64 = 0
    /// Tickets that the host stopped waiting for.
    package var deadlinesMissed: UInt64 = 0
    /// Tickets that the plugin ended after the host had stopped waiting.
    package var lateCompletions: UInt64 = 0
    /// What a filter set that cannot be taken, or after its call.
    package var malformedEdits: UInt64 = 0
    /// Decisions for which a filter took too long.
    package var slowDecisions: UInt64 = 0
    /// Decisions that a filter could not make.
    package var failedDecisions: UInt64 = 0

    package init(
        unknownTickets: UInt64 = 0,
        malformedOutcomes: UInt64 = 0,
        malformedRequests: UInt64 = 0,
        deadlinesMissed: UInt64 = 0,
        lateCompletions: UInt64 = 0
    ) {
        self.unknownTickets = unknownTickets
        self.malformedOutcomes = malformedOutcomes
        self.malformedRequests = malformedRequests
        self.deadlinesMissed = deadlinesMissed
        self.lateCompletions = lateCompletions
    }
}

/// The HTTP requests of one instance so far.
package struct RequestCounts: Sendable, Hashable {
    package var begun: UInt64 = 0
    /// By why no answer arrived; all others that ended were answered.
    package var failures: [HTTPFailure.Reason: UInt64] = [:]
    package var answered: UInt64 = 0

    package init() {}

    package mutating func add(_ other: RequestCounts) {
        begun += other.begun
        answered += other.answered
        failures.merge(other.failures, uniquingKeysWith: +)
    }
}
