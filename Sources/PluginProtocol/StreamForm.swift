import CarillonABI

/// Checks what a plugin asks of a stream against every limit of the header. Both sides do: the process, so that the
/// plugin hears at once what is wrong, and the router, as it trusts no process.
package enum StreamForm {
    /// What is wrong; the text names the field and never its value.
    package struct Flaw: Error {
        package let status: carillon_status
        package let text: String

        package init(_ text: String, _ status: carillon_status = .CARILLON_INVALID) {
            self.status = status
            self.text = text
        }
    }

    /// Streams of one instance at a time.
    package static let streamLimit = 256
    /// The longest list of authorities.
    package static let authoritiesLimit = 256 << 10
    /// The most bytes that the plugin receives in one call.
    package static let pieceLimit = 64 << 10
    private static let hostLimit = 253
    private static let knownFlags = UInt32(CARILLON_STREAM_TLS | CARILLON_STREAM_UNTRUSTED_HOST)
    private static let connectLimit: UInt32 = 60_000
    private static let idleLimit: UInt32 = 3_600_000

    /// A copy of the target's struct; its texts stay where they are.
    package static func checked(
        _ pointer: UnsafePointer<carillon_stream_target>?
    ) throws(Flaw) -> carillon_stream_target {
        guard let pointer, let target = carillon_stream_target(adopting: pointer) else {
            throw Flaw("the target is NULL, or its struct_size implausible")
        }
        guard target.flags & ~knownFlags == 0 else { throw Flaw("an unknown flag is set", .CARILLON_UNSUPPORTED) }
        guard let host = bytes(target.host, limit: hostLimit), !host.isEmpty, host.allSatisfy(isOfHost) else {
            throw Flaw("host is not a name or an address of at most 253 bytes")
        }
        guard (1...65_535).contains(target.port) else { throw Flaw("port is not between 1 and 65535") }
        guard target.connect_timeout_ms <= connectLimit, target.idle_timeout_ms <= idleLimit else {
            throw Flaw("connect_timeout_ms or idle_timeout_ms is beyond its limit")
        }
        guard bytes(target.authorities, limit: authoritiesLimit) != nil else {
            throw Flaw("authorities is NULL with a length, or longer than 256 KiB")
        }
        return target
    }

    /// A copy of the events' struct.
    package static func checked(
        _ pointer: UnsafePointer<carillon_stream_events>?
    ) throws(Flaw) -> carillon_stream_events {
        guard let pointer, let events = carillon_stream_events(adopting: pointer), events.closed != nil else {
            throw Flaw("the events are NULL, without closed, or their struct_size implausible")
        }
        return events
    }

    /// The bytes of one write where they are; nil when they are too many, or NULL with a length.
    package static func written(_ bytes: carillon_bytes) -> UnsafeRawBufferPointer? {
        Self.bytes(bytes, limit: SendWindow.limit).map { UnsafeRawBufferPointer($0) }
    }

    /// A length of more than half the address space is a negative one here.
    private static func bytes(_ bytes: carillon_bytes, limit: Int) -> UnsafeBufferPointer<UInt8>? {
        guard bytes.len != 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard bytes.len > 0, bytes.len <= limit, let start = bytes.ptr else { return nil }
        return UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: bytes.len)
    }

    /// Letters, digits and what else names and addresses are made of.
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
