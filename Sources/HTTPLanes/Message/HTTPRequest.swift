/// One outgoing request. Never logged: the URL and the headers may hold tokens.
package struct HTTPRequest: Sendable {
    package var method: String
    /// Absolute, `https://…` or `http://…`.
    package var url: String
    /// Names in lower case.
    package var headers: HTTPFields
    package var body: [UInt8]
    /// From submission to the last byte of the answer, in milliseconds.
    package var timeout: UInt32
    /// What an answer's body may hold at most, in bytes; the rest is cut off.
    package var maxResponseBytes: UInt32
    /// A busy origin: keep HTTP/2 connections to it and send many requests at once.
    package var multiplexed: Bool
    /// The URL came from a user: no private addresses, no redirects.
    package var untrustedURL: Bool
    /// Nil: connections are shared with all other requests that have none.
    package var scope: ConnectionScope?
    /// On whose account it is sent (``HTTPSender/share()``): what one has under way never takes the room that others need.
    package var share: UInt32 = 0

    package init(
        method: String,
        url: String,
        headers: HTTPFields = HTTPFields(),
        body: [UInt8] = [],
        timeout: UInt32 = 30_000,
        maxResponseBytes: UInt32 = 65_536,
        multiplexed: Bool = false,
        untrustedURL: Bool = false,
        scope: ConnectionScope? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maxResponseBytes = maxResponseBytes
        self.multiplexed = multiplexed
        self.untrustedURL = untrustedURL
        self.scope = scope
    }
}
