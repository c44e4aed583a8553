import CCurl
import Units

/// One request on a libcurl easy handle. Used on libcurl's thread alone.
final class CurlTransfer {
    let exchange: Exchange
    let easy: UnsafeMutableRawPointer
    let isGuarded: Bool
    let begunAt: Deadline
    private var wasForbidden = false
    private var hasBegun = false
    private var wasRepeated = false
    /// Whether the connection held unread input, so that nothing was sent.
    private(set) var metUnreadInput = false
    private let addressGuard: AddressGuard
    private let connections: KeptConnections
    private var headerList: UnsafeMutablePointer<curl_slist>?
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

    /// Whether the request may have left.
    var mayHaveBeenProcessed: Bool { ccurl_may_have_sent(easy) != 0 }

    /// Decides whether a connection between these ends may carry the request. A second connection may not: when a
    /// reused one ends without an answer libcurl sends the request again by itself, although it may have been
    /// processed. Neither may one with unread input, which belongs to an earlier exchange.
    func begin(_ ends: KeptConnections.Ends?) -> Bool {
        if !hasBegun, let ends, !connections.isClean(ends) {
            metUnreadInput = true
            return false
        }
        wasRepeated = hasBegun
        hasBegun = true
        return !wasRepeated
    }

    func permits(_ address: IPAddress?) -> Bool {
        guard let address, addressGuard.permits(address) else {
            wasForbidden = true
            return false
        }
        return true
    }

    /// Decides whether the request may go to `address`, where it is about to go. Addresses that were refused before
    /// were alternatives.
    func connected(to address: IPAddress?) -> Bool {
        guard permits(address) else { return false }
        wasForbidden = false
        return true
    }

    /// Takes a header line; false when the answer's header is too long.
    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= HTTP2Session.headerLimit else { return false }
        if line.starts(with: "HTTP/".utf8) {
            // Another answer follows an interim one (1xx).
            headers.removeAll()
            // If a server sends a body all the same, it may arrive after the next request has left.
            if line.starts(with: "HTTP/1.".utf8), Self.statusesWithoutBody.contains(where: line.dropFirst(8).starts) {
                _ = ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1)
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

    /// Takes a piece of the body; false when no more is wanted.
    func received(body bytes: UnsafeRawBufferPointer) -> Bool {
        let room = exchange.request.maxResponseBytes.bytes - body.count
        body.append(contentsOf: bytes.prefix(room))
        isCutOff = bytes.count > room
        return !isCutOff
    }

    private static let statusesWithoutBody = [" 204", " 205", " 304"].map { Array($0.utf8) }

    func setHeaders(_ list: UnsafeMutablePointer<curl_slist>?) {
        headerList = list
    }

    func releaseHeaders() {
        curl_slist_free_all(headerList)
        headerList = nil
    }

    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPFailure> {
        if wasForbidden, code != CURLE_OK {
            return .failure(HTTPFailure(.forbiddenAddress, mayHaveBeenProcessed: false))
        }
        if wasRepeated { return .failure(HTTPFailure(.closed, mayHaveBeenProcessed: true)) }
        let status = ccurl_response_code(easy)
        if status >= 200, code == CURLE_OK || isCutOff {
            return .success(HTTPResponse(status: status, headers: headers, body: body))
        }
        return .failure(failure(code))
    }

    private var certificateFlaw: HTTPFailure.Reason {
        switch ccurl_certificate_flaw(easy) {
        case CCURL_CERTIFICATE_FOR_OTHER_NAMES: .tlsName
        case CCURL_CERTIFICATE_EXPIRED: .tlsExpired
        default: .tlsUntrusted
        }
    }

    private func failure(_ code: CURLcode) -> HTTPFailure {
        switch code {
        // The URL was checked before; libcurl also says this about answers that are not HTTP (HTTP/0.9).
        case CURLE_URL_MALFORMAT where !mayHaveBeenProcessed:
            HTTPFailure(.invalidURL, mayHaveBeenProcessed: false)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            HTTPFailure(.unresolved, mayHaveBeenProcessed: false)
        case CURLE_COULDNT_CONNECT, CURLE_PROXY:
            HTTPFailure(.unreachable, mayHaveBeenProcessed: false)
        case CURLE_PEER_FAILED_VERIFICATION:
            HTTPFailure(certificateFlaw, mayHaveBeenProcessed: false)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE:
            HTTPFailure(.tls, mayHaveBeenProcessed: false)
        case CURLE_OPERATION_TIMEDOUT:
            HTTPFailure(.timeout, mayHaveBeenProcessed: mayHaveBeenProcessed)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE:
            HTTPFailure(.closed, mayHaveBeenProcessed: mayHaveBeenProcessed)
        case CURLE_OUT_OF_MEMORY:
            HTTPFailure(.overloaded, mayHaveBeenProcessed: mayHaveBeenProcessed)
        default:
            HTTPFailure(.protocolError, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
    }
}
