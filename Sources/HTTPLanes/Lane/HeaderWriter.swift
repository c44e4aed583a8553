import CNghttp2

/// Lays header fields out in memory that outlives it, as nghttp2 takes them without copying.
struct HeaderWriter {
    private(set) var fields: [nghttp2_nv]
    private(set) var used = 0
    private let memory: UnsafeMutableRawBufferPointer

    /// - Parameters:
    ///   - memory: Large enough for all names and values.
    ///   - fields: Empty; its storage is used.
    init(memory: UnsafeMutableRawBufferPointer, fields: consuming [nghttp2_nv]) {
        self.memory = memory
        self.fields = fields
    }

    mutating func append(_ name: String, _ value: String, indexed: Bool = true) {
        let nameStart = copy(name)
        let valueStart = copy(value)
        let base = memory.baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) }
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        fields.append(
            nghttp2_nv(
                name: base.map { $0 + nameStart },
                value: base.map { $0 + valueStart },
                namelen: valueStart - nameStart,
                valuelen: used - valueStart,
                flags: UInt8(indexed ? flags : flags | NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
            )
        )
    }

    private mutating func copy(_ text: String) -> Int {
        let start = used
        var text = text
        used += text.withUTF8 { bytes in
            UnsafeMutableRawBufferPointer(rebasing: memory[start...]).copyMemory(from: UnsafeRawBufferPointer(bytes))
            return bytes.count
        }
        return start
    }

    /// Different in every request or secret: indexing them would only wash useful entries out of the table.
    static func isUnrepeated(_ name: String) -> Bool {
        switch name {
        case "authorization", "apns-id", "apns-collapse-id", "content-length": true
        default: false
        }
    }

    /// Has no place in HTTP/2 (RFC 9113, section 8.2.2); `host` became `:authority`.
    static func isConnectionSpecific(_ name: String) -> Bool {
        switch name {
        case "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade": true
        default: false
        }
    }
}
