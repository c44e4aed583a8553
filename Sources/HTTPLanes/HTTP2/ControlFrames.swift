/// The small frames that go out before any request's (RFC 9113, sections 6.4 to 6.9).
struct ControlFrames {
    private(set) var bytes: [UInt8] = []

    var isEmpty: Bool { bytes.isEmpty }

    /// Whether a peer makes this side answer faster than it reads the answers.
    var isFlooded: Bool { bytes.count > Self.limit }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.count < Self.limit)
    }

    /// What a client's connection begins with (RFC 9113, section 3.4).
    mutating func preface() {
        bytes += "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8
    }

    mutating func settings(_ entries: [(id: SettingID, value: UInt32)]) {
        frame(.settings, length: 6 * entries.count, streamID: 0)
        for entry in entries {
            bytes.append(UInt8(truncatingIfNeeded: entry.id.rawValue >> 8))
            bytes.append(UInt8(truncatingIfNeeded: entry.id.rawValue))
            number(entry.value)
        }
    }

    mutating func settingsAck() {
        frame(.settings, length: 0, flags: .ack, streamID: 0)
    }

    mutating func ping() {
        frame(.ping, length: 8, streamID: 0)
        number(0)
        number(0)
    }

    mutating func pingAck(_ opaque: UnsafeRawBufferPointer) {
        frame(.ping, length: opaque.count, flags: .ack, streamID: 0)
        bytes += opaque
    }

    mutating func windowUpdate(streamID: Int32, by increment: Int) {
        frame(.windowUpdate, length: 4, streamID: streamID)
        number(UInt32(increment))
    }

    mutating func reset(streamID: Int32, _ code: HTTP2ErrorCode) {
        frame(.rstStream, length: 4, streamID: streamID)
        number(code.rawValue)
    }

    /// This side takes no streams from its peer, so the last one processed is always 0.
    mutating func goAway(_ code: HTTP2ErrorCode) {
        frame(.goAway, length: 8, streamID: 0)
        number(0)
        number(code.rawValue)
    }

    private mutating func frame(_ type: FrameType, length: Int, flags: FrameFlags = [], streamID: Int32) {
        let header = FrameHeader(length: length, type: type, flags: flags, streamID: streamID)
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.size, alignment: 1) { room in
            guard let start = room.baseAddress else { return }
            header.write(to: start)
            bytes += room
        }
    }

    private mutating func number(_ number: UInt32) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    private static let limit = 131_072
}
