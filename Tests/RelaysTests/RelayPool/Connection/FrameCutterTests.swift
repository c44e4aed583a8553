import NIOCore
import RandomTestSupport
import Testing

@testable import Relays

@Suite struct FrameCutterTests {
    private struct Frame {
        var first: UInt8
        var payload: [UInt8]

        var bytes: [UInt8] {
            let length: [UInt8] =
                switch payload.count {
                case ..<126: [UInt8(payload.count)]
                case ..<65_536: [126] + (0..<2).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
                default: [127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
                }
            return [first] + length + payload
        }
    }

    private func pieces(
        _ bytes: [UInt8],
        of sizes: () -> Int,
        messageBytes: Int = 1 << 20,
        bytesPassed: Int = 1 << 20
    ) -> [FrameCutter.Piece] {
        var cutter = FrameCutter(messageBytes: messageBytes, bytesPassed: bytesPassed)
        var pieces: [FrameCutter.Piece] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + max(1, sizes()))
            cutter.add(ByteBuffer(bytes: bytes[start..<end]))
            while let piece = cutter.next() { pieces.append(piece) }
            start = end
        }
        return pieces
    }

    @Test func singleFrameTextIsExtracted() {
        let frames = [Frame(first: 0x81, payload: Array("one".utf8)), Frame(first: 0x81, payload: [])]
        let expected: [FrameCutter.Piece] = [.text(ByteBuffer(string: "one")), .text(ByteBuffer())]
        #expect(pieces(frames.flatMap(\.bytes), of: { 100 }) == expected)
        #expect(pieces(frames.flatMap(\.bytes), of: { 1 }) == expected)
    }

    private static let parted = [
        Frame(first: 0x01, payload: [1]), Frame(first: 0x89, payload: [2]), Frame(first: 0x00, payload: []),
        Frame(first: 0x80, payload: [3, 4]), Frame(first: 0x81, payload: [5]),
    ]

    @Test(arguments: [1, 3, 100]) func fragmentsAreReassembledAroundControlFrames(_ size: Int) {
        let expected: [FrameCutter.Piece] = [
            .frame(ByteBuffer(bytes: Self.parted[1].bytes)), .text(ByteBuffer(bytes: [1, 3, 4])),
            .text(ByteBuffer(bytes: [5])),
        ]
        #expect(pieces(Self.parted.flatMap(\.bytes), of: { size }) == expected)
    }

    @Test(arguments: [1, 7, 100_000]) func tooLongMessageIsSkipped(_ size: Int) {
        let short = Frame(first: 0x81, payload: [7]).bytes
        let long = Frame(first: 0x81, payload: .init(repeating: 1, count: 1_025)).bytes
        let inParts = [
            Frame(first: 0x01, payload: .init(repeating: 1, count: 1_000)), Frame(first: 0x89, payload: [2]),
            Frame(first: 0x00, payload: .init(repeating: 1, count: 25)), Frame(first: 0x80, payload: [3]),
        ]
        let pieces = pieces(short + long + short + inParts.flatMap(\.bytes) + short, of: { size }, messageBytes: 1_024)
        let text = FrameCutter.Piece.text(ByteBuffer(bytes: [7]))
        #expect(pieces == [text, .tooLong, text, .frame(ByteBuffer(bytes: inParts[1].bytes)), .tooLong, text])
    }

    @Test func messageOfTooManyPartsIsSkipped() {
        let parts = Frame(first: 0x01, payload: [1]).bytes + .init(repeating: 0, count: 2 * 5_000)
        let after = Frame(first: 0x80, payload: []).bytes + Frame(first: 0x81, payload: [7]).bytes
        #expect(pieces(parts + after, of: { 100 }) == [.tooLong, .text(ByteBuffer(bytes: [7]))])
    }

    @Test(arguments: [
        [0x81, 127, 0, 0, 0, 0, 0, 0, 8, 1], [0x81, 127, 127, 255, 255, 255, 255, 255, 255, 255],
        [0x01, 126, 4, 1] + .init(repeating: 0, count: 1_025) + [0x00, 126, 4, 0],
    ]) func messageTooLongToSkipEndsTheConnection(_ bytes: [UInt8]) {
        let short = Frame(first: 0x81, payload: [7]).bytes
        let pieces = pieces(short + bytes + short, of: { 1_000 }, messageBytes: 1_024, bytesPassed: 2_048)
        #expect(pieces.first == .text(ByteBuffer(bytes: [7])))
        #expect(pieces.last == .broken(.tooLarge))
    }

    /// Even empty parts count, because a message without an end would be read forever.
    @Test func emptyPartsCountToo() {
        let parts = Frame(first: 0x01, payload: []).bytes + .init(repeating: 0, count: 2 * 5_200)
        let pieces = pieces(parts, of: { 1_000 }, messageBytes: 1_024, bytesPassed: 2_048)
        #expect(pieces == [.tooLong, .broken(.tooLarge)])
    }

    @Test(arguments: [0x81, 0x01, 0x82, 0x83] as [UInt8])
    func interleavedMessageIsAViolation(_ first: UInt8) {
        let bytes = Frame(first: 0x01, payload: [1]).bytes + Frame(first: first, payload: [2]).bytes
        #expect(pieces(bytes + bytes, of: { 100 }) == [.broken(.protocolError)])
    }

    @Test(arguments: [
        [0x81, 0x83, 1, 2, 3, 4, 9, 9, 9], [0xC1, 1, 0x20], [0x80, 1, 0x20], [0x82, 1, 0x20], [0x83, 0],
        [0x89, 126, 4, 1], [0x81, 127] + [255] + .init(repeating: 0, count: 7),
    ])
    func invalidServerFrameIsLeftToTheDecoder(_ bytes: [UInt8]) {
        let good = Frame(first: 0x81, payload: [7]).bytes
        let pieces = pieces(good + bytes + good, of: { 1_000 }, messageBytes: 1_024)
        #expect(pieces == [.text(ByteBuffer(bytes: [7])), .undivided(ByteBuffer(bytes: bytes + good))])
    }

    /// Bytes in any pieces give the same frames as in one piece.
    @Test func framesComeInAnyPieces() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<50 {
            let frames = (0..<generator.number(1...30)).map { _ in
                let length = generator.once(in: 20) ? 70_000 : generator.number(0...300)
                let payload = generator.bytes(length)
                guard generator.once(in: 5) else { return [Frame(first: 0x81, payload: payload)] }
                let ping = Frame(first: 0x89, payload: [])
                return [Frame(first: 0x01, payload: payload), ping, Frame(first: 0x80, payload: payload)]
            }
            let bytes = frames.joined().flatMap(\.bytes)
            let whole = pieces(bytes, of: { bytes.count })
            #expect(whole.count == frames.reduce(0) { $0 + ($1.count + 1) / 2 })
            let sizes = generator.once(in: 2) ? 1...40 : 1...9_000
            #expect(pieces(bytes, of: { generator.number(sizes) }) == whole)
        }
    }

    /// Invalid bytes in any pieces give the same result as in one piece, without duplicates.
    @Test func unknownBytesArePassedThrough() {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<300 {
            var bytes = (0..<generator.number(1...10)).flatMap { _ in
                Frame(first: 0x81, payload: generator.bytes(generator.number(0...200))).bytes
            }
            for _ in 0..<generator.number(1...4) {
                bytes[generator.number(0...(bytes.count - 1))] = generator.bytes(1)[0]
            }
            let whole = pieces(bytes, of: { bytes.count }, messageBytes: 1_024, bytesPassed: 4_096)
            let parts = pieces(bytes, of: { generator.number(1...40) }, messageBytes: 1_024, bytesPassed: 4_096)
            #expect(joined(parts) == joined(whole))
            #expect(whole.reduce(0) { $0 + length($1) } <= bytes.count)
        }
    }

    /// Joins adjacent undivided pieces, because they are sent as they came.
    private func joined(_ pieces: [FrameCutter.Piece]) -> [FrameCutter.Piece] {
        var joined: [FrameCutter.Piece] = []
        for piece in pieces {
            if case .undivided(let next) = piece, case .undivided(var former)? = joined.last {
                former.writeImmutableBuffer(next)
                joined[joined.count - 1] = .undivided(former)
            } else {
                joined.append(piece)
            }
        }
        return joined
    }

    /// The fewest bytes that the piece can have been.
    private func length(_ piece: FrameCutter.Piece) -> Int {
        switch piece {
        case .text(let bytes): bytes.readableBytes + 2
        case .frame(let bytes), .undivided(let bytes): bytes.readableBytes
        case .tooLong, .broken: 2
        }
    }
}
