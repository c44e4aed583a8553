import CCurl
import Core

/// One request on a libcurl easy handle. Used only on libcurl's thread.
final class CurlTransfer {
    let exchange: Exchange
    let easy: UnsafeMutableRawPointer
    let isGuarded: Bool
    let begunAt: Deadline
    private var wasForbidden = false
    /// The ends of the connection that carries the request, once it started.
    private(set) var ends: KeptConnections.Ends?
    private var opened: [curl_socket_t] = []
    private var hasBegun = false
    private var wasRepeated = false
    /// Whether the connection held unread input, so that no request was sent.
    private(set) var metUnreadInput = false
    private let addressGuard: AddressGuard
    private let connections: KeptConnections
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var headers = HTTPFields()
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isCutOff = false

    init(
        exchange: Exchange,
        easy: UnsafeMutableRawPointer,
        addressGuard: AddressGuard,
        connections: KeptConnections
    ) {
        self.exchange = exchange
        self.easy = easy
        self.addressGuard = addressGuard
        self.connections = connections
        self.isGuarded = exchange.request.untrustedURL
        begunAt = .now()
    }

    /// Whether the request may have been sent.
    var mayHaveBeenProcessed: Bool { ccurl_may_have_sent(easy) != 0 }

    /// Decides whether a connection between these ends may carry the request. A second connection may not: if a reused
    /// one ends without a response, libcurl resends the request automatically, although it may have been processed. A
    /// connection with unread input, which belongs to an earlier exchange, may not either.
    func begin(_ ends: KeptConnections.Ends?) -> Bool {
        if !hasBegun, let ends, !connections.isClean(ends) {
            metUnreadInput = true
            return false
        }
        wasRepeated = hasBegun
        hasBegun = true
        if let ends, !wasRepeated {
            self.ends = ends
            connections.began(ends, opened: opened)
        }
        return !wasRepeated
    }

    func opened(_ socket: curl_socket_t) { opened.append(socket) }

    /// Notes that the response is complete.
    func ended() {
        guard let ends else { return }
        connections.ended(ends, isHTTP1: ccurl_http_version(easy) < Int(CURL_HTTP_VERSION_2_0))
    }

    /// Whether its connection received far more than a response: twice the longest one.
    var isFlooded: Bool {
        guard let ends else { return false }
        let longest = HTTP2Session.headerLimit + exchange.request.maxResponseBytes.bytes
        return connections.input(ends) > 2 * longest
    }

    /// Prevents libcurl from reusing its connection.
    func dropConnection() { _ = ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1) }

    func permits(_ address: IPAddress?) -> Bool {
        guard let address, addressGuard.permits(address) else {
            wasForbidden = true
            return false
        }
        return true
    }

    /// Decides whether the request may be sent to `address`, its actual destination. Previously refused addresses were
    /// alternatives.
    func connected(to address: IPAddress?) -> Bool {
        guard permits(address) else { return false }
        wasForbidden = false
        return true
    }

    /// Takes a header line; false if the response's header is too long.
    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= HTTP2Session.headerLimit else { return false }
        if line.starts(with: "HTTP/".utf8) {
            // Another response follows an interim one (1xx).
            headers.removeAll()
            // If a server sends a body anyway, it may arrive after the next request was sent.
            if line.starts(with: "HTTP/1.".utf8), Self.statusesWithoutBody.contains(where: line.dropFirst(8).starts) {
                dropConnection()
            }
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a }
            let value = line[(colon + 1)...].drop(while: isSpace)
            let end = value.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? value.startIndex
            headers.append(
                String(decoding: line[..<colon], as: UTF8.self).lowercased(),
                String(decoding: value[..<end], as: UTF8.self)
            )
        }
        return true
    }

    /// Takes a piece of the body; false if no more is wanted.
    func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        let room = exchange.request.maxResponseBytes.bytes - body.count
        body.append(contentsOf: bytes.prefix(room))
        isCutOff = bytes.count > room
        return !isCutOff
    }

    private static let statusesWithoutBody = [" 204", " 205", " 304"].map { Array($0.utf8) }

    /// Sets an option to `lines`, which live until ``releaseLists()``.
    func setList(_ option: CURLoption, _ lines: [String]) -> CURLcode {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return CURLE_OUT_OF_MEMORY
            }
            list = longer
        }
        if let list { lists.append(list) }
        return ccurl_set_list(easy, option, list)
    }

    func releaseLists() {
        for list in lists { curl_slist_free_all(list) }
        lists.removeAll()
    }

    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        if wasForbidden, code != CURLE_OK {
            return .failure(HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false))
        }
        if wasRepeated { return .failure(HTTPError(.closed, mayHaveBeenProcessed: true)) }
        let status = ccurl_response_code(easy)
        if status >= 200, code == CURLE_OK || isCutOff {
            return .success(HTTPResponse(status: status, headers: headers, body: body))
        }
        return .failure(failure(code))
    }

    private var certificateFlaw: HTTPError.Reason {
        switch ccurl_certificate_flaw(easy) {
        case CCURL_CERTIFICATE_FOR_OTHER_NAMES: .tlsName
        case CCURL_CERTIFICATE_EXPIRED: .tlsExpired
        default: .tlsUntrusted
        }
    }

    private func failure(_ code: CURLcode) -> HTTPError {
        switch code {
        // The URL was checked before; libcurl also reports this for responses that are not HTTP (HTTP/0.9).
        case CURLE_URL_MALFORMAT where !mayHaveBeenProcessed:
            HTTPError(.invalidURL, mayHaveBeenProcessed: false)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            HTTPError(.unresolved, mayHaveBeenProcessed: false)
        case CURLE_COULDNT_CONNECT, CURLE_PROXY:
            HTTPError(.unreachable, mayHaveBeenProcessed: false)
        case CURLE_PEER_FAILED_VERIFICATION:
            HTTPError(certificateFlaw, mayHaveBeenProcessed: false)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE:
            HTTPError(.tls, mayHaveBeenProcessed: false)
        case CURLE_OPERATION_TIMEDOUT:
            HTTPError(.timeout, mayHaveBeenProcessed: mayHaveBeenProcessed)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE:
            HTTPError(.closed, mayHaveBeenProcessed: mayHaveBeenProcessed)
        case CURLE_OUT_OF_MEMORY:
            HTTPError(.overloaded, mayHaveBeenProcessed: mayHaveBeenProcessed)
        default:
            HTTPError(.protocolError, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
    }
}

/// The connections of libcurl's transfers. Used only on libcurl's thread.
///
/// A server may send more than the response to a request: a body after a 204, or a second response. libcurl (7.88)
/// would take that for the response to the next request on an HTTP/1.1 connection, perhaps another user's. So a
/// connection with unread input gets no request. A server may also send endless bytes without progress: empty DATA
/// frames, chunk comments. libcurl reads all of it, so the input between two responses is counted.
final class KeptConnections {
    /// The two ends of a connection.
    struct Ends: Hashable {
        let remoteAddress: String
        let remotePort: Int32
        let localAddress: String
        let localPort: Int32
    }

    private struct Connection {
        let socket: curl_socket_t
        /// Whether it waits for its next request. HTTP/2 is exempt: its streams tell responses apart.
        var isKeptHTTP1 = false
        /// Bytes received when a request last started or ended.
        var received: UInt64
    }

    private var connections: [Ends: Connection] = [:]
    private var limit: Int

    /// `limit` is the maximum of connections.
    init(limit: Int) {
        self.limit = max(16, limit)
    }

    /// Notes that a request starts on the connection between `ends`, which may be new and one of `opened`.
    func began(_ ends: Ends, opened: [curl_socket_t]) {
        if let new = opened.first(where: { isOpen($0, ends) }) {
            makeSpace()
            connections[ends] = Connection(socket: new, received: ccurl_received(new))
        } else if let socket = connections[ends]?.socket {
            connections[ends]?.isKeptHTTP1 = false
            connections[ends]?.received = ccurl_received(socket)
        }
    }

    /// Notes that a request ended with a response.
    func ended(_ ends: Ends, isHTTP1: Bool) {
        guard let socket = connections[ends]?.socket else { return }
        connections[ends]?.isKeptHTTP1 = isHTTP1
        connections[ends]?.received = ccurl_received(socket)
    }

    /// Whether the connection between these ends has no known unread input. True for a new one.
    func isClean(_ ends: Ends) -> Bool {
        guard let connection = connections[ends], connection.isKeptHTTP1, isOpen(connection.socket, ends) else {
            return true
        }
        return ccurl_has_input(connection.socket) == 0
    }

    /// Bytes received since a request last started or ended.
    func input(_ ends: Ends) -> Int {
        guard let connection = connections[ends] else { return 0 }
        let received = ccurl_received(connection.socket)
        return received > connection.received ? Int(clamping: received - connection.received) : 0
    }

    /// Socket numbers are reused.
    private func isOpen(_ socket: curl_socket_t, _ ends: Ends) -> Bool {
        ccurl_is_between(socket, ends.remotePort, ends.localPort) != 0
    }

    /// libcurl does not report closed connections.
    private func makeSpace() {
        guard connections.count >= limit else { return }
        connections = connections.filter { isOpen($0.value.socket, $0.key) }
        limit = max(limit, 2 * connections.count)
    }
}

/// The root certificates that libcurl's connections trust, read once.
///
/// libcurl (7.88) would read the system's for each new connection, and keep a copy while it is open: a millisecond and
/// half a megabyte. Later changes of the system's roots need a restart, as for HTTP/2 connections.
///
/// `@unchecked Sendable`: OpenSSL guards its store with its own lock.
final class SharedRoots: @unchecked Sendable {
    private let roots: OpaquePointer

    /// The system's roots plus the operator's file. Nil: libcurl must read them itself.
    init?(file: String?) {
        guard let roots = ccurl_make_roots(file) else { return nil }
        self.roots = roots
    }

    deinit { ccurl_free_roots(roots) }

    /// Makes a transfer trust them.
    func set(on easy: UnsafeMutableRawPointer) -> CURLcode { ccurl_set_roots(easy, roots) }
}
