extension HPACKEncoder {
    /// What a request's field block takes at most, in bytes.
    static func bound(_ exchange: Exchange) -> Int {
        let fields = exchange.request.headers.count + 6
        return fields * perField + exchange.request.headers.byteCount + exchange.request.method.utf8.count
            + exchange.url.origin.authority.utf8.count + exchange.url.target.utf8.count
    }

    /// Writes a request's field block (RFC 9113, section 8.3.1).
    mutating func encode(_ exchange: Exchange, to block: inout BlockCursor) {
        beginBlock(&block)
        switch exchange.request.method {
        case "POST": block.put(0x80 | StaticTable.methodPOST)
        case "GET": block.put(0x80 | StaticTable.methodGET)
        default: append(":method", exchange.request.method, to: &block)
        }
        block.put(0x80 | (exchange.url.origin.isSecure ? StaticTable.schemeHTTPS : StaticTable.schemeHTTP))
        append(":authority", exchange.url.origin.authority, to: &block)
        append(":path", exchange.url.target, to: &block)
        exchange.request.headers.withBytes { fields in
            for index in 0..<fields.count {
                let (name, value) = fields[index]
                append(name: name, value: value, to: &block)
            }
        }
        let length = exchange.request.body.count
        if length > 0, !hasContentLength { appendContentLength(length, to: &block) }
    }

    private mutating func append(_ name: StaticString, _ value: String, to block: inout BlockCursor) {
        let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var value = value
        value.withUTF8 { append(name: name, value: $0, to: &block) }
    }

    private mutating func appendContentLength(_ count: Int, to block: inout BlockCursor) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = count
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            append(
                name: UnsafeBufferPointer(
                    start: Self.contentLength.utf8Start,
                    count: Self.contentLength.utf8CodeUnitCount
                ),
                value: UnsafeBufferPointer(rebasing: digits[start...]),
                to: &block
            )
        }
    }

    private static let contentLength: StaticString = "content-length"
    /// Two lengths and an index, five bytes each, and a first byte; the content's length is counted in.
    private static let perField = 36
}
