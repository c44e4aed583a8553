import HTTPLanes
import PluginProtocol
import Streams

/// How an instance's plugin kept to the rules: everything here but `deadlinesMissed` and `lateCompletions` is a
/// plugin's mistake.
package struct TransportStatistics: Sendable, Hashable {
    /// Tickets that the plugin ended twice, or that were never its own.
    package var unknownTickets: UInt64 = 0
    /// Outcomes of an unknown kind, with an implausible size, or none at all.
    package var malformedOutcomes: UInt64 = 0
    /// HTTP requests that the host refused to send.
    package var malformedRequests: UInt64 = 0
    /// Streams that the host did not open as they were asked for, and what else the plugin did wrong with streams.
    package var malformedStreams: UInt64 = 0
    /// Tickets that the host stopped waiting for.
    package var deadlinesMissed: UInt64 = 0
    /// Tickets that the plugin ended after the host had stopped waiting.
    package var lateCompletions: UInt64 = 0
    /// Answers to requests from outside that cannot be passed on.
    package var malformedAnswers: UInt64 = 0
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
    /// Requests from outside, by the hundreds of the status that they were answered with.
    package var inbound: [UInt32: UInt64] = [:]

    package init() {}

    package mutating func add(_ other: RequestCounts) {
        begun += other.begun
        answered += other.answered
        failures.merge(other.failures, uniquingKeysWith: +)
        inbound.merge(other.inbound, uniquingKeysWith: +)
    }
}

/// The streams of one instance so far.
package struct StreamCounts: Sendable, Hashable {
    /// The most that are open at a time.
    static let limit = StreamForm.streamLimit

    package internal(set) var open = 0
    package internal(set) var begun: UInt64 = 0
    /// By why they ended; all others were closed by one of their ends.
    package internal(set) var failures: [StreamFailure: UInt64] = [:]

    package init() {}

    package mutating func add(_ other: StreamCounts) {
        open += other.open
        begun += other.begun
        failures.merge(other.failures, uniquingKeysWith: +)
    }
}
