/// A whole frame as it was received. Its payload stays where it is until the reader is asked for the next one.
struct Frame {
    let header: FrameHeader
    let payload: UnsafeRawBufferPointer

    /// What a DATA frame carries, without its padding (RFC 9113, section 6.1).
    func content() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        try withoutPadding(from: 0)
    }

    /// What a HEADERS frame carries of a field block, without padding and priority (RFC 9113, section 6.2).
    func fieldBlockFragment() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        try withoutPadding(from: header.flags.contains(.priority) ? 5 : 0)
    }

    /// The number in the four bytes of the payload from `offset` on.
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
    /// The largest payload everyone takes, and the largest that this side takes or sends.
    static let maximumLength = 16_384

    /// Of the payload, in bytes.
    var length: Int
    /// Nil when RFC 9113 defines no such type; such frames are passed over.
    var type: FrameType?
    var flags: FrameFlags
    var streamID: Int32

    init(length: Int, type: FrameType, flags: FrameFlags = [], streamID: Int32) {
        self.length = length
        self.type = type
        self.flags = flags
        self.streamID = streamID
    }

    /// - Parameter bytes: Nine of them at least.
    init(_ bytes: UnsafeRawPointer) {
        let word = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
        length = Int(word >> 8)
        type = FrameType(rawValue: UInt8(truncatingIfNeeded: word))
        flags = FrameFlags(rawValue: bytes.load(fromByteOffset: 4, as: UInt8.self))
        let stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt32.self))
        streamID = Int32(stream & 0x7fff_ffff)
    }

    /// - Parameter bytes: Room for nine.
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

/// The flags of all frames; what a bit means depends on the frame's type (RFC 9113, section 6).
struct FrameFlags: OptionSet {
    let rawValue: UInt8

    static let endStream = FrameFlags(rawValue: 0x01)
    static let ack = FrameFlags(rawValue: 0x01)
    static let endHeaders = FrameFlags(rawValue: 0x04)
    static let padded = FrameFlags(rawValue: 0x08)
    static let priority = FrameFlags(rawValue: 0x20)
}

/// Why a stream is reset or a connection left (RFC 9113, section 7).
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

/// What a peer did wrong, and how much of the connection that costs (RFC 9113, section 5.4).
enum HTTP2Violation: Error, Equatable {
    case connection(HTTP2ErrorCode)
    /// Only the stream of the frame at hand is lost.
    case stream(HTTP2ErrorCode)
}
