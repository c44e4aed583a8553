import Glibc

/// Cuts a stream of bytes into lines. Keeps at most `limit` bytes of an unfinished line.
struct LineSplitter {
    /// A line without its end, and without the carriage return that may stand before that.
    struct Line: Equatable {
        /// From 1.
        let number: Int
        /// Nil for a line that was too long, which is not kept.
        let bytes: [UInt8]?
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
        keep(UnsafeRawBufferPointer(rebasing: bytes.prefix(length)))
        bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(length + 1))
        return finish()
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
        return Line(number: number, bytes: isTooLong ? nil : unfinished)
    }
}
