import Cipher
import PluginKit

/// What a registration has to know to have broadcasts sent: everybody may register, and a broadcast reaches everybody.
struct BroadcastKey: Sendable {
    static let lengths = 16...1024
    /// For errors.
    static let description = "a key of \(lengths.lowerBound) to \(lengths.upperBound) bytes"

    private let digest: [UInt8]

    /// Nil unless `text`, without a line break at its end, has a length that is allowed.
    init?(fileContent text: String) {
        let key = [UInt8](text.withoutLineBreakAtEnd.utf8)
        guard BroadcastKey.lengths.contains(key.count) else { return nil }
        digest = SHA256.hash(key)
    }

    /// In a time that says nothing about where they differ.
    func isSame(as field: BorrowedText?) -> Bool {
        guard let field, BroadcastKey.lengths.contains(field.count) else { return false }
        return ConstantTime.areEqual(SHA256.hash(field.bytes), digest)
    }
}
