import RandomTestSupport
import Testing

@testable import HTTPClient

struct FrameReaderTests {
    private struct Read: Equatable {
        var header: FrameHeader
        var payload: [UInt8]
    }

    private let frames = [
        RawFrame(type: 4), RawFrame(type: 0, flags: 1, stream: 3, payload: [1, 2, 3]),
        RawFrame(type: 0xf0, flags: 0xff, stream: 0xffff_ffff, payload: [9]),
        RawFrame(type: 1, flags: 4, stream: 5, payload: [UInt8](repeating: 7, count: 16_384)), RawFrame(type: 6),
    ]

    private func read(_ pieces: [[UInt8]]) throws -> [Read] {
        var reader = FrameReader()
        var all: [Read] = []
        for piece in pieces {
            try piece.withUnsafeBytes { bytes in
                var rest = bytes
                while let frame = try reader.next(&rest) {
                    all.append(Read(header: frame.header, payload: Array(frame.payload)))
                }
                #expect(rest.isEmpty)
            }
        }
        return all
    }

    private var expected: [Read] {
        frames.map { frame in
            var header = FrameHeader(
                length: frame.payload.count,
                type: .data,
                flags: FrameFlags(rawValue: frame.flags),
                streamID: Int32(frame.stream & 0x7fff_ffff)
            )
            header.type = FrameType(rawValue: frame.type)
            return Read(header: header, payload: frame.payload)
        }
    }

    @Test func framesAreTheSameHoweverTheirBytesArrive() throws {
        let bytes = frames.flatMap(\.bytes)
        #expect(try read([bytes]) == expected)
        #expect(try read(bytes.map { [$0] }) == expected)
        for cut in [1, 8, 9, 10, 17, 18, 20, 21, 22, 31, 40, bytes.count - 10, bytes.count - 9, bytes.count - 1] {
            #expect(try read([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
        }
        var random = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(random.number(0...random.number(1...20_000)))
                pieces.append(Array(piece))
                rest = rest.dropFirst(piece.count)
            }
            #expect(try read(pieces) == expected)
        }
    }

    @Test(arguments: [[16_385], [9, 16_385 - 9]]) func aFrameTooLargeIsRefusedByItsHeader(cuts: [Int]) {
        let bytes = RawFrame(type: 0, stream: 1, payload: [UInt8](repeating: 0, count: 16_385)).bytes
        var pieces: [[UInt8]] = []
        var start = 0
        for cut in cuts {
            pieces.append(Array(bytes[start..<start + cut]))
            start += cut
        }
        #expect(throws: HTTP2Violation.connection(.frameSizeError)) { try read(pieces) }
    }

    @Test func aHeaderIsWrittenAsItIsRead() {
        let header = FrameHeader(length: 16_384, type: .headers, flags: [.endStream, .endHeaders], streamID: .max - 2)
        var bytes = [UInt8](repeating: 0, count: 9)
        bytes.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            header.write(to: base)
        }
        #expect(bytes == [0x00, 0x40, 0x00, 0x01, 0x05, 0x7f, 0xff, 0xff, 0xfd])
        #expect(bytes.withUnsafeBytes { $0.baseAddress.map { FrameHeader($0) } } == header)
    }
}
