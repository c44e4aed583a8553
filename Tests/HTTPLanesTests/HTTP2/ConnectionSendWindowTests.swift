import Testing

@testable import HTTPLanes

/// The connection's window opens ahead of the frames that say so, and by no byte twice.
struct ConnectionSendWindowTests {
    private var window = ConnectionSendWindow()

    private mutating func open(aheadOf frames: [RawFrame], missing: Int = 0) -> Bool {
        Array(frames.flatMap(\.bytes).dropLast(missing)).withUnsafeBytes { window.open(aheadOf: $0) }
    }

    @Test mutating func whatWasFoundAheadCountsOnce() throws {
        window.sent(65_535)
        #expect(window.available == 0)
        let isOpened = open(aheadOf: [.headers(1, []), .windowUpdate(0, 1_000), .windowUpdate(0, 500)])
        #expect(isOpened)
        #expect(window.available == 1_500)
        try window.received(increment: 1_000)
        try window.received(increment: 500)
        #expect(window.available == 1_500)
        try window.received(increment: 7)
        #expect(window.available == 1_507)
    }

    @Test mutating func onlyWholeFramesOfTheConnectionAreFound() {
        let isOpenedByStream = open(aheadOf: [.windowUpdate(1, 1_000), .data(1, [1, 2, 3])])
        #expect(!isOpenedByStream)
        let isOpenedByHalf = open(aheadOf: [.windowUpdate(0, 1_000)], missing: 1)
        #expect(!isOpenedByHalf)
        let isOpenedByNothing = open(aheadOf: [.windowUpdate(0, 0), .windowUpdate(0, 1_000)])
        #expect(!isOpenedByNothing)
        #expect(window.available == 65_535)
    }

    @Test mutating func nothingIsFoundBehindAGoAway() {
        let isOpened = open(aheadOf: [.goAway(0), .windowUpdate(0, 1_000)])
        #expect(!isOpened)
    }

    @Test mutating func aWindowBeyondTheProtocolIsAViolation() {
        let most = SendWindow.maximum - 65_535
        #expect(throws: HTTP2Violation.connection(.flowControlError)) { try window.received(increment: most + 1) }
        window = ConnectionSendWindow()
        #expect(throws: Never.self) { try window.received(increment: most) }
        #expect(throws: HTTP2Violation.connection(.protocolError)) { try window.received(increment: 0) }
    }
}

/// Who says and acknowledges SETTINGS.
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

    @Test mutating func whatIsMalformedIsAViolation() {
        var onStream = RawFrame.settings()
        onStream.stream = 1
        #expect(throws: HTTP2Violation.connection(.protocolError)) { try receive(onStream) }
        var longAck = RawFrame.settings((1, 0))
        longAck.flags = 1
        #expect(throws: HTTP2Violation.connection(.frameSizeError)) { try receive(longAck) }
        #expect(!exchange.hasBegun)
    }
}
