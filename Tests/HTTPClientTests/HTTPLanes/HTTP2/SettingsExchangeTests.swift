import Testing

@testable import HTTPClient

/// The exchange and acknowledgement of SETTINGS.
struct SettingsExchangeTests {
    private var exchange = SettingsExchange()

    private mutating func receive(_ frame: RawFrame) throws -> SettingsExchange.Received? {
        let bytes = frame.bytes
        return try bytes.withUnsafeBytes { bytes in
            var reader = FrameReader()
            var rest = bytes
            return try reader.next(&rest).map { try exchange.received($0) }
        }
    }

    @Test mutating func beginsWithThePeersSettings() throws {
        #expect(!exchange.hasBegun)
        #expect(try receive(.settings((4, 100))) == .set)
        #expect(exchange.hasBegun)
        #expect(exchange.peer.initialWindowSize == 100)
    }

    @Test mutating func isAcknowledgedOnce() throws {
        #expect(try receive(.settingsAck) == .acknowledged)
        #expect(throws: HTTP2Violation.connection(.protocolError)) { try receive(.settingsAck) }
    }

    @Test mutating func malformedSettingsAreAViolation() {
        var onStream = RawFrame.settings()
        onStream.stream = 1
        #expect(throws: HTTP2Violation.connection(.protocolError)) { try receive(onStream) }
        var longAck = RawFrame.settings((1, 0))
        longAck.flags = 1
        #expect(throws: HTTP2Violation.connection(.frameSizeError)) { try receive(longAck) }
        #expect(!exchange.hasBegun)
    }
}
