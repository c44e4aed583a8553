/// The door to outgoing HTTP: real lanes, or a recorder for a dry run.
package protocol HTTPSender: Sendable {
    /// Sends `request` and calls `completion` exactly once, on a thread of the sender's and never from inside this call.
    /// Returns at once and never blocks.
    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void)
}
