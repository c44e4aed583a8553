import Nostr
import Pipeline
import Synchronization

/// Relays that answer when a test lets them.
final class FakeFetcher: ContextFetcher {
    struct Asked: Sendable {
        let profiles: Set<PublicKey>
        let events: Set<EventID>
        let completion: @Sendable () -> Void
    }

    let asked = Mutex<[Asked]>([])

    func fetch(profiles: Set<PublicKey>, events: Set<EventID>, completion: @escaping @Sendable () -> Void) {
        asked.withLock { $0.append(Asked(profiles: profiles, events: events, completion: completion)) }
    }

    var last: Asked? { asked.withLock { $0.last } }
    var count: Int { asked.withLock { $0.count } }
}
