import PluginKit

/// Stands for a token while this process lives, and tells nothing about it.
struct TokenKey: Hashable, Sendable {
    private let hash: Int

    init(_ token: BorrowedText) {
        var hasher = Hasher()
        hasher.combine(bytes: token.bytes)
        hash = hasher.finalize()
    }
}
