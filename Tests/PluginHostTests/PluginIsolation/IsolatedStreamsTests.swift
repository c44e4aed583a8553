import CarillonABI
import PluginProtocol
import Synchronization
import Testing

@testable import PluginHost

/// A process's use of streams, and the events that it gets. Its frames may be hostile.
@Suite struct IsolatedStreamsTests {
    /// A stream of the host that records its calls.
    private final class Connection: StreamConnection {
        private let kept = Mutex<[String]>([])
        var asked: [String] { kept.withLock(\.self) }

        private func note(_ text: String) { kept.withLock { $0.append(text) } }

        func start() { note("start") }
        func write(_ bytes: [UInt8]) { note("write \(bytes.count)") }
        func startTLS() { note("startTLS") }
        func close() { note("close") }
        func end(_ failure: StreamError) { note("end \(failure.rawValue)") }
        func setReading(_ isReading: Bool) { note(isReading ? "read" : "pause") }
    }

    /// The streams of a process and their host.
    private final class Desk: Sendable {
        private struct State {
            var connections: [Connection] = []
            var receivers: [any StreamReceiver] = []
            var sent: [(kind: FrameKind, id: UInt64)] = []
            var ends = 0
        }

        let streams = IsolatedStreams()
        private let state = Mutex(State())

        var connection: Connection? { state.withLock { $0.connections.last } }
        var receiver: (any StreamReceiver)? { state.withLock { $0.receivers.last } }
        var sent: [FrameKind] { state.withLock { $0.sent.map(\.kind) } }
        /// Streams that the host may forget.
        var ends: Int { state.withLock(\.ends) }

        func receive(
            _ kind: FrameKind,
            _ id: UInt64,
            instance: UInt32 = 7,
            _ body: (inout FrameWriter) -> Void = { _ in }
        ) throws {
            var writer = FrameWriter()
            writer.frame(kind, id: id, body)
            try writer.bytes.dropFirst(Frame.headerSize).withUnsafeBytes { bytes in
                try streams.receive(
                    Frame(kind: kind, id: id, body: bytes),
                    host: { $0 == 7 ? TestHost(open: self.opened) : nil },
                    send: { kind, id, _ in self.state.withLock { $0.sent.append((kind, id)) } }
                )
            }
        }

        @Sendable private func opened(_ receiver: any StreamReceiver) -> StreamOpening {
            let connection = Connection()
            state.withLock { state in
                state.connections.append(connection)
                state.receivers.append(receiver)
            }
            return .opened(connection)
        }

        func open(_ id: UInt64, instance: UInt32 = 7) throws {
            var target = carillon_stream_target()
            target.struct_size = UInt32(MemoryLayout<carillon_stream_target>.size)
            try receive(.streamOpen, id) { StreamOpenMessage.write(instance: instance, target, to: &$0) }
        }

        func count(_ kind: FrameKind, _ id: UInt64, _ total: UInt64) throws {
            try receive(kind, id) { StreamCountMessage(total: total).write(to: &$0) }
        }

        func close(_ id: UInt64, _ meaning: StreamCloseMessage.Meaning) throws {
            try receive(.streamClose, id) { StreamCloseMessage(meaning).write(to: &$0) }
        }

        func write(_ id: UInt64, _ count: Int) throws {
            let bytes = [UInt8](repeating: 0, count: count)
            try receive(.streamWrite, id) { writer in
                bytes.withUnsafeBytes { StreamBytesMessage.write($0, to: &writer) }
            }
        }

        func give(_ count: Int) {
            [UInt8](repeating: 0, count: count).withUnsafeBytes { receiver?.received($0) }
        }

        func closed(_ failure: StreamError?) {
            receiver?.closed(failure) { self.state.withLock { $0.ends += 1 } }
        }
    }

    @Test func streamLivesUntilThePluginKnowsItsEnd() throws {
        let desk = Desk()
        try desk.open(1)
        desk.receiver?.opened()
        desk.give(10)
        try desk.write(1, 5)
        desk.receiver?.sent(5)
        try desk.close(1, .close)
        desk.closed(nil)
        #expect(desk.ends == 0 && desk.streams.isBusy)
        try desk.close(1, .told)
        #expect(desk.ends == 1 && !desk.streams.isBusy)
        #expect(desk.sent == [.streamOpened, .streamReceived, .streamDrained, .streamClosed])
        #expect(desk.connection?.asked == ["start", "write 5", "close"])
        // Sent by the process before it knew.
        try desk.write(1, 5)
        try desk.close(1, .close)
    }

    @Test func streamNumbersMustIncrease() throws {
        let desk = Desk()
        try desk.open(5)
        #expect(throws: ProtocolError.unexpected(.streamOpen)) { try desk.open(5) }
        #expect(throws: ProtocolError.unexpected(.streamOpen)) { try desk.open(4) }
        try desk.open(9)
        #expect(throws: ProtocolError.unexpected(.streamWrite)) { try desk.write(10, 1) }
        #expect(throws: ProtocolError.unexpected(.streamClose)) { try desk.close(.max, .close) }
        // Never opened, and may have been.
        try desk.write(7, 1)
    }

    @Test func unknownInstanceIsAViolation() throws {
        let desk = Desk()
        try desk.open(1, instance: 8)
        #expect(desk.sent == [.streamClosed] && desk.connection == nil)
        try desk.close(1, .told)
    }

    @Test func excessBufferedDataIsAViolation() throws {
        let desk = Desk()
        try desk.open(1)
        try desk.write(1, 1 << 20)
        #expect(throws: ProtocolError.tooMany) { try desk.write(1, 1) }
    }

    @Test func impossibleNumbersAreAViolation() throws {
        let desk = Desk()
        try desk.open(1)
        desk.give(100)
        #expect(throws: ProtocolError.unknownValue) { try desk.count(.streamTaken, 1, 101) }
        try desk.count(.streamTaken, 1, 100)
        #expect(throws: ProtocolError.unknownValue) { try desk.count(.streamTaken, 1, 99) }
        #expect(throws: ProtocolError.unknownValue) { try desk.count(.streamStartTLS, 1, 7_000) }
        #expect(throws: ProtocolError.unexpected(.streamClose)) { try desk.close(1, .told) }
        #expect(throws: ProtocolError.unknownValue) { try desk.receive(.streamClose, 1) { $0.number(UInt32(2)) } }
        #expect(throws: ProtocolError.malformed(.streamTaken)) {
            try desk.receive(.streamTaken, 1) { writer in
                writer.number(UInt64(100))
                writer.number(UInt32(0))
            }
        }
    }

    @Test func readingPausesForASlowPlugin() throws {
        let desk = Desk()
        try desk.open(1)
        for _ in 0..<4 { desk.give(64 << 10) }
        #expect(desk.connection?.asked == ["start", "pause"])
        try desk.count(.streamTaken, 1, 64 << 10)
        #expect(desk.connection?.asked == ["start", "pause"])
        try desk.count(.streamTaken, 1, 128 << 10)
        #expect(desk.connection?.asked == ["start", "pause", "read"])
    }

    @Test func startTLSStartsIfAllDataWasTaken() throws {
        let desk = Desk()
        try desk.open(1)
        desk.give(11)
        try desk.count(.streamStartTLS, 1, 11)
        #expect(desk.connection?.asked == ["start", "startTLS"])
        desk.receiver?.opened()
        desk.give(5)
        #expect(desk.sent == [.streamReceived, .streamOpened, .streamReceived])
    }

    @Test func dataInFlightAtStartTLSIsAnInjection() throws {
        let desk = Desk()
        try desk.open(1)
        desk.give(11)
        desk.give(5)
        try desk.count(.streamStartTLS, 1, 11)
        #expect(desk.connection?.asked == ["start", "end tls"])
    }

    @Test func dataBetweenStartTLSAndItsEndIsAnInjection() throws {
        let desk = Desk()
        try desk.open(1)
        try desk.count(.streamStartTLS, 1, 0)
        desk.give(5)
        #expect(desk.connection?.asked == ["start", "startTLS", "end tls"])
        #expect(desk.sent.isEmpty)
    }

    @Test func streamsOfADeadProcessAreClosed() throws {
        let desk = Desk()
        try desk.open(1)
        let first = desk.connection
        desk.closed(.reset)
        try desk.open(2)
        desk.streams.end()
        // The stream whose end was reported to the process, and never confirmed.
        #expect(desk.ends == 1 && first?.asked == ["start"])
        #expect(desk.connection?.asked == ["start", "close"])
        desk.closed(nil)
        #expect(desk.ends == 2 && !desk.streams.isBusy)
    }
}
