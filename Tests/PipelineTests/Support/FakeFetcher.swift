import Nostr
import Pipeline
import Synchronization

/// Relays that answer when a test lets them.
final class FakeFetcher: ContextFetcher {
    struct Asked: Sendable {
        let wants: ContextWants
        let end: @Sendable (_ isAnswered: Bool) -> Void

        func completion() { end(true) }
    }

    let asked = Mutex<[Asked]>([])

    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (Bool) -> Void) {
        asked.withLock { $0.append(Asked(wants: wants, end: completion)) }
    }

    var last: Asked? { asked.withLock { $0.last } }
    var count: Int { asked.withLock { $0.count } }
}
