/// Reads what Chromium sends on its push connection (MCS): a byte with the version, then a tag, a length and a message
/// each.
struct MCSReader: Sendable {
    /// What the peer sent breaks the protocol.
    struct Malformed: Error {}

    struct Frame: Sendable, Equatable {
        var tag: UInt8
        var message: [UInt8]
    }

    /// The version that both sides send first.
    static let version: UInt8 = 41
    private static let longest: UInt64 = 65_536

    private var buffer: [UInt8] = []
    private var isGreeted = false

    /// Takes bytes as they arrive, and returns the frames that are complete.
    mutating func read(_ bytes: some Sequence<UInt8>) throws(Malformed) -> [Frame] {
        buffer += bytes
        var rest = buffer[...]
        if !isGreeted, let first = rest.first {
            guard first == Self.version else { throw Malformed() }
            isGreeted = true
            rest = rest.dropFirst()
        }
        var frames: [Frame] = []
        while let tag = rest.first {
            var next = rest.dropFirst()
            guard let length = ProtocolBuffers.readVarint(&next) else {
                guard next.count < 5 else { throw Malformed() }
                break
            }
            guard length <= Self.longest else { throw Malformed() }
            guard next.count >= Int(length) else { break }
            frames.append(Frame(tag: tag, message: Array(next.prefix(Int(length)))))
            rest = next.dropFirst(Int(length))
        }
        buffer = Array(rest)
        return frames
    }
}
