/// How an instance's plugin kept to the rules: everything here but `deadlinesMissed` and `lateCompletions` is a plugin's
/// mistake.
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
}
