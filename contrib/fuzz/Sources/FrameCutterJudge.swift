import NIOCore

@testable import Relays

/// Frames of a relay's WebSocket: no message exceeds the limit, and none is longer than the input.
enum FrameCutterJudge {
    private static let messageBytes = 200
    private static let bytesPassed = 2_000

    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        Pieces.judge(bytes) { _, pieces in results(pieces) }
    }

    private static func results(_ pieces: [[UInt8]]) -> [String] {
        var cutter = FrameCutter(messageBytes: messageBytes, bytesPassed: bytesPassed)
        var results: [String] = []
        var left: [UInt8] = []
        for piece in pieces {
            cutter.add(ByteBuffer(bytes: piece))
            while let next = cutter.next() {
                switch next {
                case .text(let text):
                    promise(text.readableBytes <= messageBytes, "no text is over the limit")
                    results.append("text \(Array(text.readableBytesView))")
                case .frame(let frame): results.append("frame \(Array(frame.readableBytesView))")
                case .tooLong: results.append("too long")
                case .broken(let failure): results.append("broken \(failure)")
                case .undivided(let bytes): left += bytes.readableBytesView
                }
            }
        }
        return results + ["\(left)"]
    }
}
