/// The flags of all frames; what a bit means depends on the frame's type (RFC 9113, section 6).
struct FrameFlags: OptionSet {
    let rawValue: UInt8

    static let endStream = FrameFlags(rawValue: 0x01)
    static let ack = FrameFlags(rawValue: 0x01)
    static let endHeaders = FrameFlags(rawValue: 0x04)
    static let padded = FrameFlags(rawValue: 0x08)
    static let priority = FrameFlags(rawValue: 0x20)
}
