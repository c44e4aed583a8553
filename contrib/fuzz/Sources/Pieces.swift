/// What arrives over a connection comes in pieces that a network chooses, so whoever reads it must come to the same end
/// however it is cut. The input's first byte says how long the pieces are.
enum Pieces {
    /// Compares what `read` makes of the input in one piece and in many. False: there is no input.
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
