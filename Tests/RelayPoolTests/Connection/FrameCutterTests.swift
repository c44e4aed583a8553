import NIOCore
import RandomTestSupport
import Testing

@testable import RelayPool

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

    private func pieces(_ bytes: [UInt8], of sizes: () -> Int, frameBytes: Int = 1 << 20) -> [FrameCutter.Piece] {
        var cutter = FrameCutter(frameBytes: frameBytes)
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

    @Test func aTextInOneFrameIsTakenOut() {
        let frames = [Frame(first: 0x81, payload: Array("one".utf8)), Frame(first: 0x81, payload: [])]
        let expected: [FrameCutter.Piece] = [.text(ByteBuffer(string: "one")), .text(ByteBuffer())]
        #expect(pieces(frames.flatMap(\.bytes), of: { 100 }) == expected)
        #expect(pieces(frames.flatMap(\.bytes), of: { 1 }) == expected)
    }

    @Test func partsOfAMessageAndWhatStandsBetweenThemStayAsTheyAre() {
        let frames = [
            Frame(first: 0x01, payload: [1]), Frame(first: 0x89, payload: [2]), Frame(first: 0x81, payload: [3]),
            Frame(first: 0x80, payload: [4]), Frame(first: 0x81, payload: [5]), Frame(first: 0x82, payload: [6]),
        ]
        let pieces = pieces(frames.flatMap(\.bytes), of: { 3 })
        let expected = frames.enumerated().map { place, frame -> FrameCutter.Piece in
            // A text within a message breaks the rules, and the decoder says so; it ends the message as well.
            place == 4 ? .text(ByteBuffer(bytes: frame.payload)) : .frame(ByteBuffer(bytes: frame.bytes))
        }
        #expect(pieces == expected)
    }

    @Test(arguments: [
        [0x81, 0x83, 1, 2, 3, 4, 9, 9, 9], [0xC1, 1, 0x20], [0x81, 126, 4, 1],
        [0x81, 127] + [255] + .init(repeating: 0, count: 7),
    ])
    func whatAServerMustNotSendIsLeftToTheDecoder(_ bytes: [UInt8]) {
        let good = Frame(first: 0x81, payload: [7]).bytes
        let pieces = pieces(good + bytes + good, of: { 1_000 }, frameBytes: 1_024)
        #expect(pieces == [.text(ByteBuffer(bytes: [7])), .undivided(ByteBuffer(bytes: bytes + good))])
    }

    /// However the bytes come in, they leave as they would all at once.
    @Test func framesComeInAnyPieces() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<50 {
            let frames = (0..<generator.number(1...30)).map { _ in
                let first: UInt8 = generator.once(in: 5) ? [0x01, 0x80, 0x89, 0x82][generator.number(0...3)] : 0x81
                let length = generator.once(in: 20) ? 70_000 : generator.number(0...300)
                return Frame(first: first, payload: generator.bytes(length))
            }
            let bytes = frames.flatMap(\.bytes)
            let whole = pieces(bytes, of: { bytes.count })
            #expect(whole.count == frames.count)
            let sizes = generator.once(in: 2) ? 1...40 : 1...9_000
            #expect(pieces(bytes, of: { generator.number(sizes) }) == whole)
        }
    }

    /// However wrong bytes come in, they leave as they would all at once, and nothing twice.
    @Test func oddBytesLeaveAsTheyCame() {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<300 {
            var bytes = (0..<generator.number(1...10)).flatMap { _ in
                Frame(first: 0x81, payload: generator.bytes(generator.number(0...200))).bytes
            }
            for _ in 0..<generator.number(1...4) {
                bytes[generator.number(0...(bytes.count - 1))] = generator.bytes(1)[0]
            }
            let whole = pieces(bytes, of: { bytes.count }, frameBytes: 1_024)
            let parts = pieces(bytes, of: { generator.number(1...40) }, frameBytes: 1_024)
            #expect(joined(parts) == joined(whole))
            #expect(whole.reduce(0) { $0 + length($1) } <= bytes.count)
        }
    }

    /// With what is undivided put together, since that leaves as it comes.
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
        }
    }
}
