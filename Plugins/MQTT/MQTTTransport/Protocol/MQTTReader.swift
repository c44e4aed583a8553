/// A packet from a broker that a publisher must handle.
enum MQTTReply: Sendable, Hashable {
    /// CONNACK.
    case connected(MQTTLimits)
    /// CONNACK with a refusal: the return code of 3.1.1 or the reason code of 5.
    case refused(UInt8)
    /// PUBACK with the packet's identifier and the reason code, which 3.1.1 does not have.
    case acknowledged(id: UInt16, reason: UInt8)
    case pong
    /// DISCONNECT, which a broker sends only in version 5.
    case disconnected(reason: UInt8)
}

/// The limits of a broker, from its CONNACK.
struct MQTTLimits: Sendable, Hashable {
    /// The maximum number of messages with QoS 1 that wait for their PUBACK.
    var receiveMaximum: UInt16 = .max
    /// The longest packet; nil: unlimited.
    var packetSize: UInt32?
    var allowsQoS1 = true
    var allowsRetained = true
    /// The keep-alive interval set by the broker; nil: ours applies.
    var keepAliveSeconds: UInt16?

    init() {}
}

/// Parses packets from a broker, in chunks of any size. It is strict even though the broker is the operator's: lengths
/// are checked, and unexpected packets end the connection.
struct MQTTReader: Sendable {
    /// An error: the broker violated the protocol or sent an unexpected packet.
    struct Malformed: Error, Hashable {}

    /// The maximum size in bytes. A publisher gets no longer packets, unless a broker sends a very long explanation.
    private static let limit = 65_536

    private let version: MQTTVersion
    private var bytes: [UInt8] = []

    init(_ version: MQTTVersion) {
        self.version = version
    }

    /// Returns the packets that end in `more`.
    mutating func take(_ more: [UInt8]) throws(Malformed) -> [MQTTReply] {
        bytes += more
        var replies: [MQTTReply] = []
        var start = 0
        while let range = try packet(at: start) {
            replies.append(try reply(first: bytes[start], Fields(bytes[range])))
            start = range.upperBound
        }
        bytes.removeFirst(start)
        return replies
    }

    /// Returns the range of the content of the packet that starts at `start`; nil: it is incomplete.
    private func packet(at start: Int) throws(Malformed) -> Range<Int>? {
        guard start < bytes.count else { return nil }
        // Fails immediately if the peer uses another protocol.
        guard [0x20, 0x40, 0xD0, 0xE0].contains(bytes[start]) else { throw Malformed() }
        var length = 0
        for index in 0..<4 {
            let place = start + 1 + index
            guard place < bytes.count else { return nil }
            length |= Int(bytes[place] & 127) << (7 * index)
            guard bytes[place] & 128 != 0 else {
                guard length <= MQTTReader.limit else { throw Malformed() }
                let end = place + 1 + length
                return end <= bytes.count ? place + 1..<end : nil
            }
        }
        throw Malformed()
    }

    private func reply(first: UInt8, _ fields: Fields) throws(Malformed) -> MQTTReply {
        var fields = fields
        switch first {
        case 0x20:
            let flags = try fields.byte()
            let code = try fields.byte()
            guard flags & 0xFE == 0 else { throw Malformed() }
            guard code == 0 else { return .refused(code) }
            return .connected(version == .v5 ? try fields.limits() : MQTTLimits())
        case 0x40:
            let id = try fields.number()
            guard id != 0 else { throw Malformed() }
            // A reason code of 0 may be omitted.
            return .acknowledged(id: id, reason: version == .v5 && !fields.isEmpty ? try fields.byte() : 0)
        case 0xD0: return .pong
        case 0xE0 where version == .v5: return .disconnected(reason: fields.isEmpty ? 0 : try fields.byte())
        default: throw Malformed()
        }
    }

    /// The content of a packet, read in order.
    private struct Fields {
        private var rest: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>) {
            rest = bytes
        }

        var isEmpty: Bool { rest.isEmpty }

        mutating func byte() throws(Malformed) -> UInt8 {
            guard let byte = rest.popFirst() else { throw Malformed() }
            return byte
        }

        mutating func number() throws(Malformed) -> UInt16 {
            let high = try byte()
            return UInt16(high) << 8 | UInt16(try byte())
        }

        private mutating func longNumber() throws(Malformed) -> UInt32 {
            let high = try number()
            return UInt32(high) << 16 | UInt32(try number())
        }

        private mutating func skipText() throws(Malformed) {
            let count = Int(try number())
            guard rest.count >= count else { throw Malformed() }
            rest = rest.dropFirst(count)
        }

        private mutating func length() throws(Malformed) -> Int {
            var length = 0
            for index in 0..<4 {
                let byte = try byte()
                length |= Int(byte & 127) << (7 * index)
                if byte & 128 == 0 { return length }
            }
            throw Malformed()
        }

        /// Reads the properties of a CONNACK (MQTT 5 section 3.2.2.3).
        mutating func limits() throws(Malformed) -> MQTTLimits {
            var limits = MQTTLimits()
            guard !rest.isEmpty else { return limits }
            let count = try length()
            guard rest.count == count else { throw Malformed() }
            while !rest.isEmpty {
                switch try byte() {
                case 0x21:
                    limits.receiveMaximum = try number()
                    guard limits.receiveMaximum > 0 else { throw Malformed() }
                case 0x27:
                    let size = try longNumber()
                    guard size > 0 else { throw Malformed() }
                    limits.packetSize = size
                case 0x24: limits.allowsQoS1 = try byte() > 0
                case 0x25: limits.allowsRetained = try byte() > 0
                case 0x13: limits.keepAliveSeconds = try number()
                // Wildcard Subscription, Subscription Identifiers, Shared Subscription.
                case 0x28, 0x29, 0x2A: _ = try byte()
                // Topic Alias Maximum.
                case 0x22: _ = try number()
                // Session Expiry Interval.
                case 0x11: _ = try longNumber()
                // Assigned Client Identifier, Authentication Method and Data, Response Information, Server Reference,
                // Reason String.
                case 0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F: try skipText()
                // User Property.
                case 0x26:
                    try skipText()
                    try skipText()
                default: throw Malformed()
                }
            }
            return limits
        }
    }
}
