/// A complete received frame. Its payload is valid until the reader returns the next one.
struct Frame {
    let header: FrameHeader
    let payload: UnsafeRawBufferPointer

    /// The content of a DATA frame, without its padding (RFC 9113, section 6.1).
    func content() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        try withoutPadding(from: 0)
    }

    /// The field block fragment of a HEADERS frame, without padding and priority (RFC 9113, section 6.2).
    func fieldBlockFragment() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        try withoutPadding(from: header.flags.contains(.priority) ? 5 : 0)
    }

    /// The four bytes of the payload at `offset` as a number.
    func number(at offset: Int) -> UInt32 {
        UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private func withoutPadding(from skipped: Int) throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        guard header.flags.contains(.padded) else {
            guard payload.count >= skipped else { throw .connection(.frameSizeError) }
            return UnsafeRawBufferPointer(rebasing: payload[skipped...])
        }
        guard let padding = payload.first, payload.count > skipped else { throw .connection(.frameSizeError) }
        let end = payload.count - Int(padding)
        guard end > skipped else { throw .connection(.protocolError) }
        return UnsafeRawBufferPointer(rebasing: payload[(1 + skipped)..<end])
    }
}

/// The nine bytes before every frame's payload (RFC 9113, section 4.1).
struct FrameHeader: Equatable {
    static let size = 9
    /// The largest payload that every peer accepts, and that this side accepts or sends.
    static let maximumLength = 16_384

    /// The payload's size in bytes.
    var length: Int
    /// Nil if RFC 9113 defines no such type; such frames are ignored.
    var type: FrameType?
    var flags: FrameFlags
    var streamID: Int32

    init(length: Int, type: FrameType, flags: FrameFlags = [], streamID: Int32) {
        self.length = length
        self.type = type
        self.flags = flags
        self.streamID = streamID
    }

    /// - Parameter bytes: At least nine bytes.
    init(_ bytes: UnsafeRawPointer) {
        let word = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
        length = Int(word >> 8)
        type = FrameType(rawValue: UInt8(truncatingIfNeeded: word))
        flags = FrameFlags(rawValue: bytes.load(fromByteOffset: 4, as: UInt8.self))
        let stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt32.self))
        streamID = Int32(stream & 0x7fff_ffff)
    }

    /// - Parameter bytes: Space for nine bytes.
    func write(to bytes: UnsafeMutableRawPointer) {
        let word = UInt32(length) << 8 | UInt32(type?.rawValue ?? 0xff)
        bytes.storeBytes(of: word.bigEndian, as: UInt32.self)
        bytes.storeBytes(of: flags.rawValue, toByteOffset: 4, as: UInt8.self)
        bytes.storeBytes(of: streamID.bigEndian, toByteOffset: 5, as: Int32.self)
    }
}

/// RFC 9113, section 6.
enum FrameType: UInt8 {
    case data
    case headers
    case priority
    case rstStream
    case settings
    case pushPromise
    case ping
    case goAway
    case windowUpdate
    case continuation
}

/// The flags of all frames; their meaning depends on the frame's type (RFC 9113, section 6).
struct FrameFlags: OptionSet {
    let rawValue: UInt8

    static let endStream = FrameFlags(rawValue: 0x01)
    static let ack = FrameFlags(rawValue: 0x01)
    static let endHeaders = FrameFlags(rawValue: 0x04)
    static let padded = FrameFlags(rawValue: 0x08)
    static let priority = FrameFlags(rawValue: 0x20)
}

/// Why a stream is reset or a connection is closed (RFC 9113, section 7).
enum HTTP2ErrorCode: UInt32 {
    case noError
    case protocolError
    case internalError
    case flowControlError
    case settingsTimeout
    case streamClosed
    case frameSizeError
    case refusedStream
    case cancel
    case compressionError
    case connectError
    case enhanceYourCalm
    case inadequateSecurity
    case http11Required
}

/// A peer's protocol error and its scope (RFC 9113, section 5.4).
enum HTTP2Violation: Error, Equatable {
    case connection(HTTP2ErrorCode)
    /// Ends only the stream of the current frame.
    case stream(HTTP2ErrorCode)
}

/// Splits a connection's input into frames (RFC 9113, section 4).
///
/// Complete frames are not copied; the start of an incomplete one is kept until its end arrives.
struct FrameReader: ~Copyable {
    private let kept = UnsafeMutableRawBufferPointer.allocate(
        byteCount: FrameHeader.size + FrameHeader.maximumLength,
        alignment: 16
    )
    private var keptCount = 0

    deinit {
        kept.deallocate()
    }

    /// Takes the next complete frame from the front of `bytes`; nil if they hold none. The frame's payload is valid
    /// until the next call, and only while `bytes` is.
    mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(HTTP2Violation) -> Frame? {
        if keptCount > 0 { return try completeKept(&bytes) }
        guard bytes.count >= FrameHeader.size, let start = bytes.baseAddress else {
            keep(&bytes, upTo: FrameHeader.size)
            return nil
        }
        let header = try checked(FrameHeader(start))
        let end = FrameHeader.size + header.length
        guard bytes.count >= end else {
            keep(&bytes, upTo: end)
            return nil
        }
        let payload = UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size..<end])
        bytes = UnsafeRawBufferPointer(rebasing: bytes[end...])
        return Frame(header: header, payload: payload)
    }

    private mutating func completeKept(_ bytes: inout UnsafeRawBufferPointer) throws(HTTP2Violation) -> Frame? {
        keep(&bytes, upTo: FrameHeader.size)
        guard keptCount >= FrameHeader.size, let start = kept.baseAddress else { return nil }
        let header = try checked(FrameHeader(start))
        let end = FrameHeader.size + header.length
        keep(&bytes, upTo: end)
        guard keptCount == end else { return nil }
        keptCount = 0
        return Frame(header: header, payload: UnsafeRawBufferPointer(rebasing: kept[FrameHeader.size..<end]))
    }

    private func checked(_ header: FrameHeader) throws(HTTP2Violation) -> FrameHeader {
        guard header.length <= FrameHeader.maximumLength else { throw .connection(.frameSizeError) }
        return header
    }

    /// Moves bytes over until `count` are kept or none are left.
    private mutating func keep(_ bytes: inout UnsafeRawBufferPointer, upTo count: Int) {
        let moved = max(0, min(count - keptCount, bytes.count))
        UnsafeMutableRawBufferPointer(rebasing: kept[keptCount...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<moved]))
        keptCount += moved
        bytes = UnsafeRawBufferPointer(rebasing: bytes[moved...])
    }
}

/// The small frames that are sent before any request's (RFC 9113, sections 6.4 to 6.9).
struct ControlFrames {
    private(set) var bytes: [UInt8] = []

    /// Whether a peer causes responses faster than it reads them.
    var isFlooded: Bool { bytes.count > Self.limit }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.count < Self.limit)
    }

    /// The client's connection preface (RFC 9113, section 3.4).
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

    /// This side accepts no streams, so the last one processed is always 0.
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
