import Cipher
import Notifications

extension SealingKey {
    /// Tells this key from others, and says nothing else of it.
    package var mark: Int64 {
        let bytes =
            switch self {
            case .nip44(let publicKey): [0] + publicKey
            case .webPush(let p256dh, let auth): [1] + Array(p256dh.utf8) + [0] + Array(auth.utf8)
            }
        return SHA256.hash(bytes).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}
