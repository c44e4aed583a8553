/// What became of an event that was published at one relay.
package enum PublishResult: Sendable, Hashable {
    /// The relay has it.
    case accepted
    /// With the relay's words, which are not to be trusted or logged.
    case refused(message: String)
    /// The relay could not be connected to, or did not answer in time.
    case unanswered
}
