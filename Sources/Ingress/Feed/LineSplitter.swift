import Glibc

/// Cuts a stream of bytes into lines, without copying those that lie within one piece. Keeps at most `limit` bytes of
/// an unfinished line.
struct LineSplitter {
    /// A line without its end, and without the carriage return that may stand before that.
    struct Line {
        enum Content {
            /// Valid as long as the bytes that were handed in.
            case within(UnsafeRawBufferPointer)
            /// It came in several pieces.
            case joined([UInt8])
            /// It was not kept.
            case tooLong
        }

        /// From 1.
        let number: Int
        let content: Content
    }

    private let limit: Int
    private var unfinished: [UInt8] = []
    private var isTooLong = false
    private var number = 0

    /// `limit` is how many bytes a line may have.
    init(limit: Int) {
        self.limit = limit
    }

    var isWithinLine: Bool { isTooLong || !unfinished.isEmpty }

    /// The next line that ends within `bytes`; `bytes` then begins after it. Nil when there is none; `bytes` is then
    /// empty.
    mutating func next(in bytes: inout UnsafeRawBufferPointer) -> Line? {
        guard let start = bytes.baseAddress, let newline = memchr(start, 0x0A, bytes.count) else {
            keep(bytes)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.suffix(0))
            return nil
        }
        let length = UnsafeRawPointer(newline) - start
        let piece = UnsafeRawBufferPointer(start: start, count: length)
        bytes = UnsafeRawBufferPointer(start: start + length + 1, count: bytes.count - length - 1)
        guard !isWithinLine, length <= limit else {
            keep(piece)
            return finish()
        }
        number += 1
        return Line(number: number, content: .within(piece.withoutReturn))
    }

    /// The rest when the stream has ended, which is a line as well. Nil if nothing is left.
    mutating func last() -> Line? {
        isWithinLine ? finish() : nil
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if unfinished.count + bytes.count > limit { isTooLong = true }
        if isTooLong { unfinished = [] } else { unfinished.append(contentsOf: bytes) }
    }

    private mutating func finish() -> Line {
        number += 1
        defer {
            unfinished = []
            isTooLong = false
        }
        if unfinished.last == UInt8(ascii: "\r") { unfinished.removeLast() }
        return Line(number: number, content: isTooLong ? .tooLong : .joined(unfinished))
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var withoutReturn: Self {
        last == UInt8(ascii: "\r") ? Self(rebasing: dropLast()) : self
    }
}
