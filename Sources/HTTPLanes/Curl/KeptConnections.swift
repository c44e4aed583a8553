import CCurl

/// The HTTP/1.1 connections in libcurl's pool, to check whether one may carry another request.
///
/// A server may send more than the answer to a request: a body behind a 204, or a second answer. libcurl (7.88) would
/// take that for the answer to the next request on the connection, which belongs to someone else. So nothing is sent on
/// a connection with unread input. Used on libcurl's thread alone.
final class KeptConnections {
    /// The two ends of a connection.
    struct Ends: Hashable {
        let remoteAddress: String
        let remotePort: Int32
        let localAddress: String
        let localPort: Int32
    }

    private var sockets: [Ends: curl_socket_t] = [:]
    private let limit: Int

    /// `limit` is how many connections there may be.
    init(limit: Int) {
        // libcurl does not report closed connections.
        self.limit = 2 * max(1, limit)
    }

    /// Notes the connection of a finished transfer, before `easy` is used for anything else.
    func note(_ easy: UnsafeMutableRawPointer) {
        var kept = ccurl_kept_connection()
        guard ccurl_keeps_connection(easy, &kept) != 0 else { return }
        let ends = Ends(
            remoteAddress: String(cString: kept.remote_address),
            remotePort: kept.remote_port,
            localAddress: String(cString: kept.local_address),
            localPort: kept.local_port
        )
        // Forgetting all is cheap: connections in use are noted again.
        if sockets.count >= limit, sockets[ends] == nil { sockets.removeAll(keepingCapacity: true) }
        sockets[ends] = kept.socket
    }

    /// Whether the connection between these ends holds no unread input, as far as is known. True for a new one.
    func isClean(_ ends: Ends) -> Bool {
        guard let socket = sockets[ends] else { return true }
        return ccurl_has_unread_input(socket, ends.remotePort, ends.localPort) == 0
    }
}
