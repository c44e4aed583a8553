import CarillonABI
import HTTPLanes
import PluginProtocol
import Units

extension HTTPRequest {
    private static var urlLimit: Int { 8192 }
    private static var bodyLimit: Int { 1 << 20 }
    private static var timeoutLimit: UInt32 { 60_000 }
    private static var responseLimit: UInt32 { 1 << 20 }
    private static var knownFlags: UInt32 { UInt32(CARILLON_HTTP_MULTIPLEX | CARILLON_HTTP_UNTRUSTED_URL) }

    /// A copy of a plugin's request, checked against every limit of the header, and the place of its connection's word,
    /// which means something to an instance only. Each byte is read once.
    package static func reading(
        _ pointer: UnsafePointer<carillon_http_request>?
    ) throws(RequestError) -> (request: HTTPRequest, connection: UnsafeBufferPointer<UInt8>) {
        guard let pointer, let foreign = carillon_http_request(adopting: pointer) else {
            throw RequestError(.CARILLON_INVALID, "the request is NULL, or its struct_size implausible")
        }
        guard let connection = foreign.connection.len == 0 ? .empty : ConnectionWords.word(foreign.connection) else {
            throw RequestError(.CARILLON_INVALID, "connection is not a word of at most 128 printable bytes")
        }
        return (try HTTPRequest(foreign), connection)
    }

    private init(_ request: carillon_http_request) throws(RequestError) {
        guard request.flags & ~Self.knownFlags == 0 else {
            throw RequestError(.CARILLON_UNSUPPORTED, "an unknown flag is set")
        }
        guard request.timeout_ms <= Self.timeoutLimit, request.max_response_bytes <= Self.responseLimit else {
            throw RequestError(.CARILLON_INVALID, "timeout_ms or max_response_bytes is beyond its limit")
        }
        guard let method = PluginText.bytes(request.method, limit: 16) else { throw Self.noMethod }
        guard let url = PluginText.bytes(request.url, limit: Self.urlLimit), Self.isAbsolute(url) else {
            throw RequestError(
                .CARILLON_INVALID,
                "url is not an absolute http or https URL of at most 8192 ASCII bytes"
            )
        }
        guard let body = PluginText.bytes(request.body, limit: Self.bodyLimit) else {
            throw RequestError(.CARILLON_INVALID, "body is NULL with a length, or longer than 1 MiB")
        }
        self.init(
            method: String(decoding: method, as: UTF8.self),
            url: String(decoding: url, as: UTF8.self),
            headers: try HTTPFields(reading: request.headers, count: request.header_count),
            body: Array(body),
            timeout: request.timeout_ms == 0 ? .seconds(30) : .milliseconds(request.timeout_ms),
            maxResponseBytes: request.max_response_bytes == 0
                ? .kibibytes(64) : ByteCount(Int(request.max_response_bytes)),
            multiplexed: request.flags & UInt32(CARILLON_HTTP_MULTIPLEX) != 0,
            untrustedURL: request.flags & UInt32(CARILLON_HTTP_UNTRUSTED_URL) != 0
        )
        // The fields are by now.
        guard isWellFormed else { throw Self.noMethod }
    }

    private static let noMethod = RequestError(.CARILLON_INVALID, "method is not a token of 1 to 16 bytes")

    private static func isAbsolute(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
        // Without branches, so that the compiler can vectorize it.
        var isHidden: UInt8 = 0
        for byte in url { isHidden |= byte &- 0x21 <= 0x7e - 0x21 ? 0 : 1 }
        return isHidden == 0 && (begins(url, with: "https://") || begins(url, with: "http://"))
    }

    /// The scheme's case does not matter (RFC 3986 section 3.1).
    private static func begins(_ url: UnsafeBufferPointer<UInt8>, with scheme: StaticString) -> Bool {
        guard url.count > scheme.utf8CodeUnitCount else { return false }
        return scheme.withUTF8Buffer { scheme in
            scheme.indices.allSatisfy { url[$0] == scheme[$0] || (url[$0] ^ 0x20 == scheme[$0] && scheme[$0] >= 0x61) }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate static var empty: Self { Self(start: nil, count: 0) }
}

extension HTTPFields {
    private static var countLimit: Int { 64 }
    private static var bytesLimit: Int { 32 << 10 }

    /// A copy of a plugin's fields, in one piece.
    init(reading start: UnsafePointer<carillon_field>?, count: Int) throws(RequestError) {
        guard count != 0 else {
            self.init()
            return
        }
        guard (1...Self.countLimit).contains(count), let start else {
            throw RequestError(.CARILLON_INVALID, "headers is NULL with a count, or there are more than 64")
        }
        let fields = UnsafeBufferPointer(start: start, count: count)
        self.init(reservingFields: count, bytes: try Self.length(of: fields))
        for field in fields {
            guard let name = PluginText.bytes(field.name, limit: Self.bytesLimit), !Self.isHosts(name),
                let value = PluginText.bytes(field.value, limit: Self.bytesLimit)
            else { throw RequestError(.CARILLON_INVALID, "a header frames the message, which is the host's to do") }
            append(name: name, value: value)
        }
        guard isWellFormed else {
            throw RequestError(
                .CARILLON_INVALID,
                "a header's name is not a token in lower case, or its value has control characters"
            )
        }
        guard isASCII || areValuesUTF8 else { throw RequestError(.CARILLON_INVALID, "a header's value is not UTF-8") }
    }

    private var areValuesUTF8: Bool {
        withBytes { bytes in (0..<bytes.count).allSatisfy { PluginText.isUTF8(bytes[$0].value) } }
    }

    private static func length(of fields: UnsafeBufferPointer<carillon_field>) throws(RequestError) -> Int {
        var length = 0
        for field in fields {
            guard let name = PluginText.bytes(field.name, limit: bytesLimit - length),
                let value = PluginText.bytes(field.value, limit: bytesLimit - length - name.count)
            else { throw RequestError(.CARILLON_INVALID, "a header is NULL with a length, or all are beyond 32 KiB") }
            length += name.count + value.count
        }
        return length
    }

    /// Fields that frame the message: the host's, or a plugin could smuggle a second request into the first.
    private static func isHosts(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 2: equal(name, "te")
        case 4: equal(name, "host")
        case 7: equal(name, "upgrade")
        case 10: equal(name, "connection") || equal(name, "keep-alive")
        case 14: equal(name, "content-length")
        case 16: equal(name, "proxy-connection")
        case 17: equal(name, "transfer-encoding")
        default: false
        }
    }

    private static func equal(_ name: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        text.withUTF8Buffer { name.elementsEqual($0) }
    }
}

/// What is wrong with a plugin's request; the text names the field and never its value.
package struct RequestError: Error {
    package let status: carillon_status
    package let text: String

    package init(_ status: carillon_status, _ text: String) {
        self.status = status
        self.text = text
    }
}
