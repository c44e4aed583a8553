/// The door to outgoing HTTP: real lanes, or a recorder for a dry run.
package protocol HTTPSender: Sendable {
    /// Sends `request` and calls `completion` exactly once, on a thread of the sender's and never from inside this call.
    /// Returns at once and never blocks.
    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)

    /// No further requests of `scope` will come: its connections close when they have nothing left to do.
    func retire(_ scope: ConnectionScope)
}

extension HTTPSender {
    /// For senders without connections.
    package func retire(_ scope: ConnectionScope) {}
}
