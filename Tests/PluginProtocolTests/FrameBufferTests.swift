import PluginProtocol
import RandomTestSupport
import Testing

/// Frames in bytes from a socket, in pieces of any size.
@Suite struct FrameBufferTests {
    private struct Seen: Equatable {
        let kind: FrameKind
        let id: UInt64
        let body: [UInt8]
    }

    private func receive(_ pieces: [ArraySlice<UInt8>], taking kinds: Set<FrameKind>) throws(ProtocolError) -> [Seen] {
        var buffer = FrameBuffer(taking: kinds)
        var seen: [Seen] = []
        for piece in pieces {
            piece.withUnsafeBytes { buffer.append($0) }
            try buffer.drain { frame throws(ProtocolError) in
                seen.append(Seen(kind: frame.kind, id: frame.id, body: Array(frame.body)))
            }
        }
        return seen
    }

    private func header(length: UInt32, kind: UInt32) -> [UInt8] {
        var writer = FrameWriter()
        writer.number(length)
        writer.number(kind)
        writer.number(UInt64(1))
        return writer.bytes
    }

    @Test(arguments: [1, 2, 7, 16, 17, 100, 1_000_000])
    func framesRoundTrip(_ size: Int) throws {
        let samples = Sample.all
        let stream = samples.flatMap(\.bytes)
        let pieces = stride(from: 0, to: stream.count, by: size).map { stream[$0..<min(stream.count, $0 + size)] }
        let seen = try receive(pieces, taking: Set(FrameKind.allCases))
        #expect(seen == samples.map { Seen(kind: $0.kind, id: $0.id, body: $0.body) })
    }

    @Test func everyKindBelongsToOneDirection() {
        let directions = [FrameKind.questions, FrameKind.deliveries, FrameKind.answers, FrameKind.results]
        #expect(directions.map(\.count).reduce(0, +) == FrameKind.allCases.count)
        #expect(directions.reduce(into: Set()) { $0.formUnion($1) } == Set(FrameKind.allCases))
    }

    @Test func kindsOfTheOtherDirectionAreRefused() {
        #expect(throws: ProtocolError.unexpected(.deliver)) {
            try receive([header(length: 0, kind: 32)[...]], taking: FrameKind.results)
        }
        #expect(throws: ProtocolError.unexpected(.mistake)) {
            try receive([header(length: 0, kind: 100)[...]], taking: FrameKind.deliveries)
        }
    }

    @Test(arguments: [0, 10, 31, 200, 65_535, 65_536 + 32, .max] as [UInt32])
    func unknownKindsAreRefused(_ number: UInt32) {
        #expect(throws: ProtocolError.unknownKind(number)) {
            try receive([header(length: 0, kind: number)[...]], taking: Set(FrameKind.allCases))
        }
    }

    @Test(arguments: FrameKind.allCases)
    func tooLongFramesAreRefusedByTheirHeader(_ kind: FrameKind) throws {
        let kinds = Set(FrameKind.allCases)
        let number = UInt32(kind.rawValue)
        #expect(throws: ProtocolError.tooLong(kind, bytes: kind.limit + 1)) {
            try receive([header(length: UInt32(kind.limit) + 1, kind: number)[...]], taking: kinds)
        }
        #expect(try receive([header(length: UInt32(kind.limit), kind: number)[...]], taking: kinds).isEmpty)
    }

    @Test func tooLongFramesAreNotWritten() {
        var writer = FrameWriter()
        let first = writer.frame(.ping, id: 1)
        let second = writer.frame(.cancel, id: 2) { $0.text("more than sixteen bytes") }
        let third = writer.frame(.ping, id: 3)
        #expect(first && !second && third)
        #expect(writer.bytes.count == 2 * Frame.headerSize)
    }

    @Test func randomBytesAreReadOrRefused() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<10_000 {
            let noise = random.bytes(Int(random.next() % 100))
            _ = try? receive([noise[...]], taking: Set(FrameKind.allCases))
        }
    }

    @Test func incompleteFrameWaits() throws {
        var buffer = FrameBuffer(taking: [.cancel])
        let cancel = Sample.all.first { $0.kind == .cancel }?.bytes ?? []
        (cancel + cancel.prefix(9)).withUnsafeBytes { buffer.append($0) }
        var count = 0
        try buffer.drain { _ in count += 1 }
        #expect(count == 1)
        #expect(buffer.pending == 9)
    }
}
