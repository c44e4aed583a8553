import CarillonABI
import Glibc
import PluginHost

/// What a plugin answered to a call that may be refused, with room for a sentence.
struct Refusal: Sendable, Hashable {
    private static let margin = 64
    private static let mark: UInt8 = 0xa5

    let status: carillon_status
    /// What it wrote, made harmless; empty when it refused nothing.
    let said: String
    /// What is wrong with how it refused; empty when nothing is, or when it refused nothing.
    let flaw: String

    var isRefused: Bool { status != .CARILLON_OK }

    /// Lends `capacity` bytes to `body`, and looks whether it kept to them.
    init(capacity: Int = 512, of body: (UnsafeMutablePointer<carillon_error>) -> carillon_status) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity + 2 * Self.margin, alignment: 16)
        defer { room.deallocate() }
        if let start = room.baseAddress { memset(start, Int32(Self.mark), room.count) }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: room[Self.margin..<(Self.margin + capacity)])
        if let start = buffer.baseAddress { memset(start, 0, buffer.count) }
        var error = carillon_error(
            buf: room.baseAddress.map { ($0 + Self.margin).assumingMemoryBound(to: CChar.self) },
            capacity: capacity,
            len: 0
        )
        status = body(&error)
        let text = carillon_str(ptr: room.baseAddress.map { $0 + Self.margin }, len: min(error.len, capacity))
        said = status == .CARILLON_OK ? "" : PluginText.line(text, limit: capacity)

        let isMarginTouched =
            room[..<Self.margin].contains { $0 != Self.mark }
            || room[(Self.margin + capacity)...].contains { $0 != Self.mark }
        if isMarginTouched {
            flaw = "it wrote outside of the error's buffer: write at most `capacity` bytes (\(capacity) here)"
        } else if error.len > capacity {
            flaw = "it set the error's len to \(error.len) with a capacity of \(capacity): set it to what you wrote"
        } else if status != .CARILLON_OK, capacity > 0, error.len == 0 {
            flaw = "it refused without a word: write to the carillon_error what is wrong and what was expected"
        } else if status != .CARILLON_OK, error.len < capacity, PluginText.string(text, limit: capacity) == nil {
            flaw = "the error's text is not UTF-8: never copy what came from outside unchecked"
        } else {
            flaw = ""
        }
    }
}
