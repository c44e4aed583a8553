import CarillonABI
import Core
import Glibc
import HTTPClient
import PluginProtocol
import Synchronization

/// The HTTP requests of one instance, and their connections, until ``close()``.
final class PluginRequests: Sendable {
    private struct State {
        /// Nil after ``close()``.
        var sender: (any HTTPSender)?
        var words = ConnectionWords()
    }

    private let state: Mutex<State>

    init(_ sender: any HTTPSender) { state = Mutex(State(sender: sender)) }

    /// Sends a request of the instance of `bridge`. Unless the status is not OK, `done` is called once with a function
    /// that writes the response.
    func send(
        _ message: RequestMessage,
        _ done: @escaping @Sendable (InstanceHost.WriteResponse) -> Void,
        for bridge: PluginBridge
    ) -> carillon_status {
        do throws(FormError) {
            let (begun, word) = try message.withCStruct { pointer in
                Result { () throws(FormError) in try HTTPRequest.reading(pointer) }
            }.get()
            guard let (sender, scope) = open(word), bridge.change({ $0.beginRequest() }) else { return .CARILLON_BUSY }
            var request = begun
            request.scope = scope
            sender.send(request) { result in
                done { result.write(to: &$0) }
                let failure: HTTPError.Reason? =
                    if case .failure(let failure) = result { failure.reason } else { nil }
                bridge.change { $0.endRequest(failure) }
            }
            return .CARILLON_OK
        } catch {
            bridge.noteRequest(error.text)
            return error.status
        }
    }

    /// Returns the sender and the connections for a request of the group `word`; nil after ``close()``.
    private func open(_ word: String) -> (sender: any HTTPSender, scope: ConnectionScope?)? {
        let opened = state.withLock { state -> (any HTTPSender, ConnectionScope?, ConnectionScope?)? in
            guard let sender = state.sender else { return nil }
            guard !word.isEmpty else { return (sender, nil, nil) }
            let (scope, retired) = state.words.scope(of: word)
            return (sender, scope, retired)
        }
        guard let (sender, scope, retired) = opened else { return nil }
        if let retired { sender.retire(retired) }
        return (sender, scope)
    }

    /// Presents a client certificate on the connections of its group; the text describes an error.
    func present(_ message: PresentMessage) -> (status: carillon_status, text: String) {
        do throws(CertificateError) {
            let (certificate, word) = try ClientCertificate.reading(
                message.certificates,
                message.key,
                on: message.connection
            )
            let (sender, retired) = state.withLock { ($0.sender, $0.words.present(certificate, on: word)) }
            guard let retired else { throw .tooMany }
            for scope in retired { sender?.retire(scope) }
            return (.CARILLON_OK, "")
        } catch {
            return (.CARILLON_INVALID, error.text)
        }
    }

    /// Gives all groups new connections, because a restarted plugin has lost the state of the old ones. Apple, for
    /// example, refuses a second token on a connection for 20 minutes. Requests in flight on the old ones continue.
    func forgetConnections() {
        let (sender, retired) = state.withLock { ($0.sender, $0.words.removeAll()) }
        for scope in retired { sender?.retire(scope) }
    }

    func close() {
        forgetConnections()
        state.withLock { $0.sender = nil }
    }
}

/// The connection groups of an instance, by their names, which are called words here. Pure: the caller retires the
/// returned scopes. The groups are in the order of their last use.
struct ConnectionWords: Sendable {
    /// The maximum number of groups. Beyond it, the least recently used one is removed.
    static let limit = 64
    /// The maximum number of groups with a certificate. These are never removed: a connection without it would have
    /// another identity.
    static let certificatesLimit = 16

    private static var lengthLimit: Int { 128 }

    private var scopes: [ConnectionScope] = []

    /// `text`, if it is a valid name of a group: 1 to 128 printable bytes of ASCII.
    static func word(_ text: carillon_str) -> String? {
        guard let word = PluginText.string(text, limit: lengthLimit), !word.isEmpty,
            word.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else { return nil }
        return word
    }

    /// Returns the scope of `word`, and the scope that was removed for it.
    mutating func scope(of word: String) -> (scope: ConnectionScope, retired: ConnectionScope?) {
        if let index = scopes.firstIndex(where: { $0.word == word }) {
            let scope = scopes.remove(at: index)
            scopes.insert(scope, at: 0)
            return (scope, nil)
        }
        let scope = ConnectionScope(word: word)
        return (scope, insert(scope))
    }

    /// Maps `word` to connections that present `certificate`. Returns nil if there are too many such groups, otherwise
    /// the scopes that are no longer used.
    mutating func present(_ certificate: ClientCertificate, on word: String) -> [ConnectionScope]? {
        let old = scopes.firstIndex { $0.word == word }
        let others = scopes.indices.count { $0 != old && scopes[$0].clientCertificate != nil }
        guard others < Self.certificatesLimit else { return nil }
        var retired = old.map { [scopes.remove(at: $0)] } ?? []
        if let last = insert(ConnectionScope(word: word, clientCertificate: certificate)) { retired.append(last) }
        return retired
    }

    /// Removes all groups and returns their scopes.
    mutating func removeAll() -> [ConnectionScope] {
        defer { scopes = [] }
        return scopes
    }

    private mutating func insert(_ scope: ConnectionScope) -> ConnectionScope? {
        scopes.insert(scope, at: 0)
        guard scopes.count > Self.limit, let last = scopes.lastIndex(where: { $0.clientCertificate == nil }) else {
            return nil
        }
        return scopes.remove(at: last)
    }
}

extension HTTPRequest {
    /// Returns a copy of a plugin's request, checked against every limit of the header, and the name of its connection
    /// group, which is valid only within the instance.
    package static func reading(
        _ pointer: UnsafePointer<carillon_http_request>?
    ) throws(FormError) -> (request: HTTPRequest, connection: String) {
        let request = try RequestForm.checked(pointer)
        return (HTTPRequest(checked: request), String(decoding: buffer(request.connection), as: UTF8.self))
    }

    private init(checked request: carillon_http_request) {
        self.init(
            method: String(decoding: Self.buffer(request.method), as: UTF8.self),
            url: String(decoding: Self.buffer(request.url), as: UTF8.self),
            headers: HTTPFields(checked: request.headers, count: request.header_count),
            body: Array(Self.buffer(request.body)),
            timeout: request.timeout_ms == 0 ? .seconds(30) : .milliseconds(request.timeout_ms),
            maxResponseBytes: request.max_response_bytes == 0
                ? .kibibytes(64) : ByteCount(Int(request.max_response_bytes)),
            multiplexed: request.flags & UInt32(CARILLON_HTTP_MULTIPLEX) != 0,
            untrustedURL: request.flags & UInt32(CARILLON_HTTP_UNTRUSTED_URL) != 0
        )
    }

    fileprivate static func buffer(_ text: carillon_bytes) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(start: text.ptr, count: text.len).assumingMemoryBound(to: UInt8.self)
    }
}

extension HTTPFields {
    /// Copies a plugin's fields into one buffer. Throws for invalid fields and for those that frame the message.
    init(reading start: UnsafePointer<carillon_field>?, count: Int) throws(FormError) {
        try RequestForm.checkHeaders(start, count)
        self.init(checked: start, count: count)
    }

    fileprivate init(checked start: UnsafePointer<carillon_field>?, count: Int) {
        let fields = UnsafeBufferPointer(start: start, count: count)
        self.init(reservingFields: count, bytes: fields.reduce(0) { $0 + $1.name.len + $1.value.len })
        for field in fields {
            append(name: HTTPRequest.buffer(field.name), value: HTTPRequest.buffer(field.value))
        }
    }
}

extension Result<HTTPResponse, HTTPError> {
    /// Writes the response, or the reason for its absence.
    func write(to writer: inout FrameWriter) {
        switch self {
        case .success(let response):
            writer.number(UInt32(clamping: response.status))
            writer.text("")
            response.headers.withBytes { headers in
                writer.number(UInt32(clamping: headers.count))
                for index in 0..<headers.count {
                    writer.bytes(UnsafeRawBufferPointer(headers[index].0))
                    writer.bytes(UnsafeRawBufferPointer(headers[index].1))
                }
            }
            writer.text(response.body)
        case .failure(let failure):
            writer.number(UInt32(0))
            writer.text(failure.reason.rawValue)
            writer.number(UInt32(0))
            writer.text("")
        }
    }
}

extension ClientCertificate {
    private static var certificatesLimit: Int { 256 << 10 }
    private static var keyLimit: Int { 64 << 10 }

    /// Returns the certificate that a plugin presents, and the name of its connection group.
    package static func reading(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str
    ) throws(CertificateError) -> (certificate: ClientCertificate, word: String) {
        guard let word = ConnectionWords.word(connection) else { throw .word }
        guard let certificates = PluginText.string(certificates, limit: certificatesLimit) else {
            throw .certificate(.certificates)
        }
        guard let key = PluginText.string(key, limit: keyLimit) else { throw .certificate(.key) }
        do throws(FormatError) {
            return (try ClientCertificate(certificates: certificates, key: key), word)
        } catch {
            throw .certificate(error)
        }
    }
}

/// An error in a client certificate that a plugin presents; the text contains no part of it.
package enum CertificateError: Error {
    case word
    case tooMany
    case certificate(ClientCertificate.FormatError)

    package var text: String {
        switch self {
        case .word: "connection: expected a word of 1 to 128 printable bytes"
        case .tooMany: "connection: at most \(ConnectionWords.certificatesLimit) words may have a certificate"
        case .certificate(let mistake): mistake.rawValue
        }
    }
}
