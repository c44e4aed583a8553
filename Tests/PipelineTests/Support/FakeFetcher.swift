import Nostr
import Pipeline
import Synchronization

/// Relays that answer when a test lets them.
final class FakeFetcher: ContextFetcher {
    struct Asked: Sendable {
        let wants: ContextWants
        let completion: @Sendable () -> Void
    }

    let asked = Mutex<[Asked]>([])

    func fetch(_ wants: ContextWants, completion: @escaping @Sendable () -> Void) {
        asked.withLock { $0.append(Asked(wants: wants, completion: completion)) }
    }

    var last: Asked? { asked.withLock { $0.last } }
    var count: Int { asked.withLock { $0.count } }
}
