/// What outgoing HTTP has open at a moment: for metrics.
package struct LanesSnapshot: Sendable, Hashable {
    /// All connections of HTTP/2 to one origin, or to all that users chose.
    package struct OriginCount: Sendable, Hashable {
        /// Connections that are open.
        package var connections = 0
        /// Connections that are being opened.
        package var connecting = 0
        /// Requests under way on them.
        package var streams = 0
        /// Requests that wait for a stream.
        package var waiting = 0

        static func += (left: inout Self, right: Self) {
            left.connections += right.connections
            left.connecting += right.connecting
            left.streams += right.streams
            left.waiting += right.waiting
        }
    }

    /// By host, and port where it is not 443. Only those that the operator or a plugin chose: users' endpoints are their secret.
    package var origins: [String: OriginCount] = [:]
    /// Of all origins that users chose.
    package var users = OriginCount()
    /// Requests that libcurl carries, waiting ones included.
    package var otherRequests = 0
}
