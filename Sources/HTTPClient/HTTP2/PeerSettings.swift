/// The SETTINGS that both sides send at least once, and acknowledge (RFC 9113, sections 3.4 and 6.5).
struct SettingsExchange {
    enum Received {
        /// The peer sent settings, which must be acknowledged.
        case set
        /// The peer has acknowledged this side's.
        case acknowledged
    }

    var peer = PeerSettings()
    /// Whether the peer sent its first SETTINGS, its mandatory first frame.
    private(set) var hasBegun = false
    /// This side's SETTINGS that the peer has not acknowledged yet.
    private var isAckDue = true

    mutating func received(_ frame: Frame) throws(HTTP2Violation) -> Received {
        guard frame.header.streamID == 0 else { throw .connection(.protocolError) }
        guard frame.header.flags.contains(.ack) else {
            try peer.apply(frame)
            hasBegun = true
            return .set
        }
        guard frame.payload.isEmpty else { throw .connection(.frameSizeError) }
        guard isAckDue else { throw .connection(.protocolError) }
        isAckDue = false
        return .acknowledged
    }

}

/// The peer's current settings (RFC 9113, section 6.5), starting with the defaults.
struct PeerSettings: Equatable {
    private(set) var headerTableSize: UInt32 = 4_096
    private(set) var maxConcurrentStreams: UInt32 = .max
    private(set) var initialWindowSize: Int = 65_535
    /// The smallest header table size since this was last cleared. The encoder must shrink to it, even if the peer
    /// raised it again (RFC 7541, section 4.2).
    private(set) var smallestHeaderTableSize: UInt32?

    /// Applies a SETTINGS frame. The maximum frame size is not stored: this side keeps to the smallest permitted one.
    /// The size of header lists is only advice.
    mutating func apply(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.payload.count.isMultiple(of: 6) else { throw .connection(.frameSizeError) }
        for offset in stride(from: 0, to: frame.payload.count, by: 6) {
            let id = UInt16(frame.payload[offset]) << 8 | UInt16(frame.payload[offset + 1])
            let value = frame.number(at: offset + 2)
            // Unknown settings are ignored.
            guard let id = SettingID(rawValue: id) else { continue }
            try apply(id, value)
        }
    }

    /// Returns the smallest header table size since the last call, and clears it.
    mutating func takeSmallestHeaderTableSize() -> UInt32? {
        defer { smallestHeaderTableSize = nil }
        return smallestHeaderTableSize
    }

    private mutating func apply(_ id: SettingID, _ value: UInt32) throws(HTTP2Violation) {
        switch id {
        case .headerTableSize:
            headerTableSize = value
            smallestHeaderTableSize = min(value, smallestHeaderTableSize ?? value)
        case .enablePush:
            guard value == 0 else { throw .connection(.protocolError) }
        case .maxConcurrentStreams:
            maxConcurrentStreams = value
        case .initialWindowSize:
            guard value <= SendWindow.maximum else { throw .connection(.flowControlError) }
            initialWindowSize = Int(value)
        case .maxFrameSize:
            guard (16_384...16_777_215).contains(value) else { throw .connection(.protocolError) }
        case .maxHeaderListSize:
            break
        }
    }
}

/// RFC 9113, section 6.5.2.
enum SettingID: UInt16 {
    case headerTableSize = 1
    case enablePush
    case maxConcurrentStreams
    case initialWindowSize
    case maxFrameSize
    case maxHeaderListSize
}
