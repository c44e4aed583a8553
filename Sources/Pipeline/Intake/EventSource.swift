/// Where an event came in, as far as the stages treat it differently.
package enum EventSource: Sendable {
    /// Our own socket. Every event is verified before it is answered, also one that concerns nobody: the answer must not
    /// tell who is registered here.
    case socket
    /// A relay or a feed, which nobody answers: what concerns nobody is dropped unverified.
    case subscription
}
