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
