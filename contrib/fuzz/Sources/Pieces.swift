/// Bytes from a connection come in pieces of any size, and a reader's result must not depend on the cuts. The input's
/// first byte is the length of the pieces.
enum Pieces {
    /// Compares the result of `read` for the input in one piece and in many. False if there is no input.
    static func judge<Result: Equatable>(
        _ bytes: UnsafeRawBufferPointer,
        _ read: (_ choice: UInt8, _ pieces: [[UInt8]]) -> Result
    ) -> Bool {
        guard let choice = bytes.first else { return false }
        let rest = Array(bytes.dropFirst())
        let length = 1 + Int(choice >> 2)
        let pieces = stride(from: 0, to: rest.count, by: length).map { Array(rest[$0..<min($0 + length, rest.count)]) }
        promise(read(choice, [rest]) == read(choice, pieces), "bytes read the same in one piece and in many")
        return true
    }
}
