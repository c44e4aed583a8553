@testable import HTTPClient

/// A frame's parts as a test writes or reads them, well-formed or not.
struct RawFrame: Equatable {
    var type: UInt8
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    static func headers(_ stream: UInt32, _ block: [UInt8], endStream: Bool = true, flags: UInt8 = 0x04) -> Self {
        Self(type: 1, flags: flags | (endStream ? 1 : 0), stream: stream, payload: block)
    }

    static func continuation(_ stream: UInt32, _ block: [UInt8], endHeaders: Bool = true) -> Self {
        Self(type: 9, flags: endHeaders ? 4 : 0, stream: stream, payload: block)
    }

    static func data(_ stream: UInt32, _ content: [UInt8], endStream: Bool = true) -> Self {
        Self(type: 0, flags: endStream ? 1 : 0, stream: stream, payload: content)
    }

    static func settings(_ entries: (UInt16, UInt32)...) -> Self {
        Self(type: 4, payload: entries.flatMap { bigEndian($0.0) + bigEndian($0.1) })
    }

    static let settingsAck = Self(type: 4, flags: 1)

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> Self {
        Self(type: 8, stream: stream, payload: bigEndian(increment))
    }

    static func reset(_ stream: UInt32, _ code: UInt32) -> Self {
        Self(type: 3, stream: stream, payload: bigEndian(code))
    }

    static func goAway(_ last: UInt32, _ code: UInt32 = 0) -> Self {
        Self(type: 7, payload: bigEndian(last) + bigEndian(code))
    }

    /// Returns a field that does not use a table.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0x00] + literal(name) + literal(value)
    }

    private static func literal(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return bytes.count < 127 ? [UInt8(bytes.count)] + bytes : [0x7f] + continued(bytes.count - 127) + bytes
    }

    private static func continued(_ number: Int) -> [UInt8] {
        number < 128 ? [UInt8(number)] : [UInt8(number & 0x7f) | 0x80] + continued(number >> 7)
    }

    var bytes: [UInt8] {
        Array(Self.bigEndian(UInt32(payload.count)).dropFirst()) + [type, flags] + Self.bigEndian(stream) + payload
    }

    /// The number at the start of the payload.
    var number: UInt32? { Self.number(payload, at: 0) }

    /// The error code of a GOAWAY frame.
    var goAwayCode: UInt32? { type == 7 ? Self.number(payload, at: 4) : nil }

    /// Cuts `bytes` into frames; an incomplete frame at their end is a separate one, without a meaningful header.
    static func all(in bytes: some Collection<UInt8>) -> [RawFrame] {
        var frames: [RawFrame] = []
        var rest = Array(bytes)[...]
        while rest.count >= 9 {
            let header = Array(rest.prefix(9))
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            frames.append(
                RawFrame(
                    type: header[3],
                    flags: header[4],
                    stream: number(header, at: 5) ?? 0,
                    payload: Array(rest.dropFirst(9).prefix(length))
                )
            )
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32? {
        guard bytes.count >= offset + 4 else { return nil }
        return bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}
