import CarillonABI
import HTTPLanes

extension HTTPRequest {
    private static var urlLimit: Int { 8192 }
    private static var fieldsLimit: Int { 64 }
    private static var fieldBytesLimit: Int { 32 << 10 }
    private static var bodyLimit: Int { 1 << 20 }
    private static var timeoutLimit: UInt32 { 60_000 }
    private static var responseLimit: UInt32 { 1 << 20 }
    private static var knownFlags: UInt32 { UInt32(CARILLON_HTTP_MULTIPLEX | CARILLON_HTTP_UNTRUSTED_URL) }

    /// Fields that frame the message: the host's, or a plugin could smuggle a second request into the first.
    private static let hostFields: Set<String> = [
        "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding",
        "upgrade",
    ]

    /// A copy of what a plugin asks for, with every limit of the header held against it.
    init(reading pointer: UnsafePointer<carillon_http_request>?) throws(RequestFlaw) {
        guard let pointer, let request = carillon_http_request(adopting: pointer) else {
            throw RequestFlaw(.CARILLON_INVALID, "the request is NULL, or its struct_size implausible")
        }
        guard request.flags & ~Self.knownFlags == 0 else {
            throw RequestFlaw(.CARILLON_UNSUPPORTED, "an unknown flag is set")
        }
        guard request.timeout_ms <= Self.timeoutLimit, request.max_response_bytes <= Self.responseLimit else {
            throw RequestFlaw(.CARILLON_INVALID, "timeout_ms or max_response_bytes is beyond its limit")
        }
        guard let method = PluginText.string(request.method, limit: 16), Self.isToken(method) else {
            throw RequestFlaw(.CARILLON_INVALID, "method is not a token of 1 to 16 bytes")
        }
        guard let url = PluginText.string(request.url, limit: Self.urlLimit), Self.isAbsolute(url) else {
            throw RequestFlaw(.CARILLON_INVALID, "url is not an absolute http or https URL of at most 8192 ASCII bytes")
        }
        guard let body = Self.bytes(request.body) else {
            throw RequestFlaw(.CARILLON_INVALID, "body is NULL with a length, or longer than 1 MiB")
        }
        self.init(
            method: method,
            url: url,
            headers: try Self.fields(request.headers, request.header_count),
            body: body,
            timeout: request.timeout_ms == 0 ? 30_000 : request.timeout_ms,
            maxResponseBytes: request.max_response_bytes == 0 ? 65_536 : request.max_response_bytes,
            multiplexed: request.flags & UInt32(CARILLON_HTTP_MULTIPLEX) != 0,
            untrustedURL: request.flags & UInt32(CARILLON_HTTP_UNTRUSTED_URL) != 0
        )
    }

    private static func fields(_ start: UnsafePointer<carillon_field>?, _ count: Int) throws(RequestFlaw) -> [HTTPField]
    {
        guard count != 0 else { return [] }
        guard (1...fieldsLimit).contains(count), let start else {
            throw RequestFlaw(.CARILLON_INVALID, "headers is NULL with a count, or there are more than 64")
        }
        var fields: [HTTPField] = []
        fields.reserveCapacity(count)
        var room = fieldBytesLimit
        for field in UnsafeBufferPointer(start: start, count: count) {
            guard let name = PluginText.string(field.name, limit: room), isFieldName(name) else {
                throw RequestFlaw(
                    .CARILLON_INVALID,
                    "a header's name is not a token in lower case, or the host's to set"
                )
            }
            room -= name.utf8.count
            guard let value = PluginText.string(field.value, limit: room), value.utf8.allSatisfy(isFieldByte) else {
                throw RequestFlaw(
                    .CARILLON_INVALID,
                    "a header's value is not UTF-8, has control characters, or all are beyond 32 KiB"
                )
            }
            room -= value.utf8.count
            fields.append(HTTPField(name, value))
        }
        return fields
    }

    private static func bytes(_ body: carillon_bytes) -> [UInt8]? {
        guard body.len != 0 else { return [] }
        guard (1...bodyLimit).contains(body.len), let start = body.ptr else { return nil }
        return Array(UnsafeRawBufferPointer(start: start, count: body.len))
    }

    private static func isAbsolute(_ url: String) -> Bool {
        guard url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return false }
        for scheme in ["https://", "http://"] where url.utf8.count > scheme.utf8.count {
            // The scheme's case does not matter (RFC 3986 section 3.1), but nobody writes it in capitals.
            if url.hasPrefix(scheme) || url.prefix(scheme.count).lowercased() == scheme { return true }
        }
        return false
    }

    private static func isFieldName(_ name: String) -> Bool {
        isToken(name) && !name.utf8.contains { (0x41...0x5a).contains($0) } && !hostFields.contains(name)
    }

    /// A token of RFC 9110 section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// What RFC 9110 section 5.5 lets into a field's value; the lines' ends above all are out.
    private static func isFieldByte(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7f }
}
