import Nostr
import Schnorr

/// Who appears in fixtures. Everybody knows the keys, so that events can be signed anew after a change; they are good for
/// nothing else.
struct FixtureCast {
    static let authorName = "Alice"

    /// Does what the fixtures tell of.
    let author: KeyPair
    /// Is told of it.
    let recipient: KeyPair
    /// Signs zap receipts.
    let wallet: KeyPair
    /// Signs one gift wrap (NIP-59), or speaks for an app (NIP-46, NIP-47).
    let oneTime: KeyPair

    init() throws {
        author = try Self.keys(1)
        recipient = try Self.keys(2)
        wallet = try Self.keys(3)
        oneTime = try Self.keys(4)
    }

    private static func keys(_ number: UInt8) throws -> KeyPair {
        try KeyPair(secret: SecretKey(bytes: [UInt8](repeating: 0, count: SecretKey.byteCount - 1) + [number]))
    }
}
