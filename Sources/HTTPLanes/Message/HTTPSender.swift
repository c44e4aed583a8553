/// The door to outgoing HTTP: real lanes, or a recorder for a dry run.
package protocol HTTPSender: Sendable {
    /// Sends `request` and calls `completion` exactly once, on a thread of the sender's and never from inside this call.
    /// Returns at once and never blocks.
    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)

    /// No further requests of `scope` will come: its connections close when they have nothing left to do.
    func retire(_ scope: ConnectionScope)

    /// This sender on an account of its own. However much is sent on one account and left unanswered, there is room for
    /// what others send: each app on each platform gets its own.
    func share() -> any HTTPSender
}

extension HTTPSender {
    /// For senders without connections.
    package func retire(_ scope: ConnectionScope) {}

    /// For senders that have room for everybody.
    package func share() -> any HTTPSender { self }
}
