import Nostr
import Synchronization

@testable import Registry

/// Keeps the codes that should be pushed.
final class PushedCodes: Sendable {
    private let requests = Mutex<[TargetCodeRequest]>([])

    func note(_ request: TargetCodeRequest) {
        requests.withLock { $0.append(request) }
    }

    var all: [TargetCodeRequest] { requests.withLock(\.self) }
}

/// Records a registry's reports of changes.
final class Reports: Sendable {
    private let keys = Mutex<[Set<PublicKey>]>([])

    func note(_ changed: Set<PublicKey>) {
        keys.withLock { $0.append(changed) }
    }

    /// Returns the reports since the last call.
    func take() -> [Set<PublicKey>] {
        keys.withLock { keys in
            defer { keys = [] }
            return keys
        }
    }
}
