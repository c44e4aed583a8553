/// A message that the lab's Web Push service has accepted, on its way to the browser.
struct BrowserMessage: Sendable {
    /// The last part of the subscription's endpoint.
    var subscription: String
    /// In seconds.
    var timeToLive: Int64
    /// As the sender wrote it; empty for a message without content.
    var body: [UInt8]
    /// `Content-Encoding`.
    var encoding: String?
}

extension BrowserMessage {
    /// Takes an accepted request as it is.
    init(_ request: LabRequest, to subscription: String) {
        self.init(
            subscription: subscription,
            timeToLive: request.header("ttl").flatMap { Int64($0) } ?? 0,
            body: request.body,
            encoding: request.header("content-encoding")
        )
    }
}

/// What has to happen after a browser said something, or after a message for it came.
enum BrowserAction: Sendable, Equatable {
    /// The bytes go to the browser on this connection.
    case send([UInt8], to: Int)
    /// The connection closes.
    case close(Int)
    /// The browser made a subscription; `key` is the only accepted sender's, in base64url.
    case subscribe(id: String, key: String?)
    /// The browser ended a subscription.
    case expire(id: String)
}
