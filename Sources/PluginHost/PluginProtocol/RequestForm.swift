import CarillonABI

/// An error in a plugin's request. The message names the field and never its value.
package struct FormError: Error {
    package let status: carillon_status
    package let text: String

    package init(_ text: String, _ status: carillon_status = .CARILLON_INVALID) {
        self.status = status
        self.text = text
    }
}

/// Checks a plugin's request against every limit of the header. The process checks so that the plugin gets the error
/// immediately; the router checks again because it trusts no process.
package enum RequestForm {
    private static let knownFlags = UInt32(CARILLON_HTTP_MULTIPLEX | CARILLON_HTTP_UNTRUSTED_URL)
    private static let timeoutLimit: UInt32 = 60_000
    private static let responseLimit: UInt32 = 1 << 20
    private static let urlLimit = 8192
    private static let bodyLimit = 1 << 20
    private static let headerLimit = 64
    private static let headerBytesLimit = 32 << 10
    private static let wordLimit = 128

    /// Returns a copy of the request's struct; its strings stay in place.
    package static func checked(
        _ pointer: UnsafePointer<carillon_http_request>?
    ) throws(FormError) -> carillon_http_request {
        guard let pointer, let request = carillon_http_request(adopting: pointer) else {
            throw FormError("the request is NULL, or its struct_size implausible")
        }
        guard request.connection.len == 0 || isWord(request.connection) else {
            throw FormError("connection is not a word of at most 128 printable bytes")
        }
        guard request.flags & ~knownFlags == 0 else { throw FormError("an unknown flag is set", .CARILLON_UNSUPPORTED) }
        guard request.timeout_ms <= timeoutLimit, request.max_response_bytes <= responseLimit else {
            throw FormError("timeout_ms or max_response_bytes exceeds its limit")
        }
        guard let method = bytes(request.method, limit: 16), !method.isEmpty,
            isToken(method, letters: anyCase)
        else { throw FormError("method is not a token of 1 to 16 bytes") }
        guard let url = bytes(request.url, limit: urlLimit), isAbsolute(url) else {
            throw FormError("url is not an absolute http or https URL of at most 8192 ASCII bytes")
        }
        guard bytes(request.body, limit: bodyLimit) != nil else {
            throw FormError("body is NULL with a length, or longer than 1 MiB")
        }
        try checkHeaders(request.headers, request.header_count)
        return request
    }

    /// Whether `text` can name connections: 1 to 128 printable bytes of ASCII.
    package static func isWord(_ text: carillon_str) -> Bool {
        guard let word = bytes(text, limit: wordLimit) else { return false }
        return !word.isEmpty && word.allSatisfy { (0x20...0x7e).contains($0) }
    }

    /// Returns at most `limit` bytes in place; nil if there are more, or for NULL with a length. A length of more than
    /// half the address space is negative here.
    package static func bytes(_ bytes: carillon_bytes, limit: Int) -> UnsafeBufferPointer<UInt8>? {
        guard bytes.len != 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard bytes.len > 0, bytes.len <= limit, let start = bytes.ptr else { return nil }
        return UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: bytes.len)
    }

    package static func checkHeaders(_ start: UnsafePointer<carillon_field>?, _ count: Int) throws(FormError) {
        guard count != 0 else { return }
        guard (1...headerLimit).contains(count), let start else {
            throw FormError("headers is NULL with a count, or there are more than 64")
        }
        var length = 0
        for field in UnsafeBufferPointer(start: start, count: count) {
            guard let name = bytes(field.name, limit: headerBytesLimit - length),
                let value = bytes(field.value, limit: headerBytesLimit - length - name.count)
            else { throw FormError("a header is NULL with a length, or they exceed 32 KiB") }
            length += name.count + value.count
            guard !isHosts(name) else { throw FormError("a header frames the message, which only the host may do") }
            guard isName(name), isValue(value) else {
                throw FormError("a header's name is not a token in lower case, or its value has control characters")
            }
            guard isASCII(value) || String(validating: value, as: UTF8.self) != nil else {
                throw FormError("a header's value is not UTF-8")
            }
        }
    }

    private static func isAbsolute(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
        // Without a branch for each byte, so that the compiler can vectorize the loop.
        var flaws: UInt8 = 0
        for byte in url { flaws |= byte &- 0x21 > 0x7e - 0x21 ? 1 : 0 }
        return flaws == 0 && (begins(url, with: "https://") || begins(url, with: "http://"))
    }

    /// Compares without case, because a scheme's case does not matter (RFC 3986 section 3.1).
    private static func begins(_ url: UnsafeBufferPointer<UInt8>, with scheme: StaticString) -> Bool {
        guard url.count > scheme.utf8CodeUnitCount else { return false }
        return scheme.withUTF8Buffer { scheme in
            scheme.indices.allSatisfy { url[$0] == scheme[$0] || (url[$0] ^ 0x20 == scheme[$0] && scheme[$0] >= 0x61) }
        }
    }

    private static func isName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        !name.isEmpty && isToken(name, letters: lowerCase)
    }

    private static func isValue(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        var flaws: UInt8 = 0
        for byte in value { flaws |= (byte < 0x20 ? 1 : 0) & (byte != 0x09 ? 1 : 0) | (byte == 0x7f ? 1 : 0) }
        return flaws == 0
    }

    private static func isASCII(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for byte in value { all |= byte }
        return all < 0x80
    }

    /// Whether the string consists of `letters`, digits and the marks of tokens (RFC 9110 section 5.6.2). Without a
    /// branch for each byte.
    private static func isToken(_ text: UnsafeBufferPointer<UInt8>, letters: UInt64) -> Bool {
        var flaws: UInt64 = 0
        for byte in text {
            let bits = byte & 0x40 == 0 ? digitsAndMarks : letters
            flaws |= ~(bits >> UInt64(byte & 0x3f)) & 1 | UInt64(byte >> 7)
        }
        return flaws == 0
    }

    /// A bit for each of the bytes 0 to 63: digits and `! # $ % & ' * + - .`
    private static let digitsAndMarks = bits("0123456789!#$%&'*+-.")
    /// A bit for each of the bytes 64 to 127: small letters and `^ _ ` | ~`, and these with capitals.
    private static let lowerCase = bits("abcdefghijklmnopqrstuvwxyz^_`|~")
    private static let anyCase = bits("ABCDEFGHIJKLMNOPQRSTUVWXYZ") | lowerCase

    private static func bits(_ text: StaticString) -> UInt64 {
        text.withUTF8Buffer { $0.reduce(0) { $0 | 1 << UInt64($1 & 0x3f) } }
    }

    /// Whether only the host may set the field, because it frames the message: otherwise a plugin could smuggle
    /// requests.
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

/// Checks a plugin's use of streams against every limit of the header. The process checks so that the plugin gets the
/// error immediately; the router checks again because it trusts no process.
package enum StreamForm {
    /// The maximum number of open streams of one instance.
    package static let streamLimit = 256
    /// The maximum length of the list of authorities in bytes.
    package static let authoritiesLimit = 256 << 10
    /// The maximum number of bytes that the plugin receives in one call.
    package static let pieceLimit = 64 << 10
    private static let hostLimit = 253
    private static let knownFlags = UInt32(CARILLON_STREAM_TLS | CARILLON_STREAM_UNTRUSTED_HOST)
    private static let connectLimit: UInt32 = 60_000
    private static let idleLimit: UInt32 = 3_600_000

    /// Returns a copy of the target's struct; its strings stay in place.
    package static func checked(
        _ pointer: UnsafePointer<carillon_stream_target>?
    ) throws(FormError) -> carillon_stream_target {
        guard let pointer, let target = carillon_stream_target(adopting: pointer) else {
            throw FormError("the target is NULL, or its struct_size implausible")
        }
        guard target.flags & ~knownFlags == 0 else { throw FormError("an unknown flag is set", .CARILLON_UNSUPPORTED) }
        guard let host = RequestForm.bytes(target.host, limit: hostLimit), !host.isEmpty, host.allSatisfy(isOfHost)
        else {
            throw FormError("host is not a name or an address of at most 253 bytes")
        }
        guard (1...65_535).contains(target.port) else { throw FormError("port is not between 1 and 65535") }
        guard target.connect_timeout_ms <= connectLimit, target.idle_timeout_ms <= idleLimit else {
            throw FormError("connect_timeout_ms or idle_timeout_ms exceeds its limit")
        }
        guard RequestForm.bytes(target.authorities, limit: authoritiesLimit) != nil else {
            throw FormError("authorities is NULL with a length, or longer than 256 KiB")
        }
        return target
    }

    /// Returns a copy of the events' struct.
    package static func checked(
        _ pointer: UnsafePointer<carillon_stream_events>?
    ) throws(FormError) -> carillon_stream_events {
        guard let pointer, let events = carillon_stream_events(adopting: pointer), events.closed != nil else {
            throw FormError("the events are NULL, without closed, or their struct_size implausible")
        }
        return events
    }

    /// Returns the bytes of one write in place; nil if there are too many, or for NULL with a length.
    package static func written(_ bytes: carillon_bytes) -> UnsafeRawBufferPointer? {
        RequestForm.bytes(bytes, limit: SendWindow.limit).map { UnsafeRawBufferPointer($0) }
    }

    /// Whether names and addresses of hosts may contain the byte.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
