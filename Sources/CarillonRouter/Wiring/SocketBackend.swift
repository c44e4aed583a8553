import Dispatch
import Logging
import Nostr
import Pipeline
import Registry
import RelayServer

/// What stands behind our relay socket: the pipeline's intake, and the few events that are served.
struct SocketBackend: RelayBackend {
    /// The disk may keep a reader waiting, which the threads that tasks share must not.
    private static let reading = DispatchQueue(label: "carillon.socket-reading")

    let intake: Intake
    let registry: Registry
    let logger: Logger
    /// Whether who connects from an address may register without being listed by key.
    let isListed: @Sendable (_ address: String) -> Bool
    /// Our own events of kind 10067, one a key, once there are any.
    let advertisements: @Sendable () -> [Event]

    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    ) {
        let source = EventSource.socket(authenticated: authenticated, isListed: client.map(isListed) ?? false)
        let submission = Submission(events: events, source: source) { verdicts in
            completion(verdicts.map(\.answer))
        }
        intake.submit(submission)
    }

    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]] {
        await withCheckedContinuation { continuation in
            Self.reading.async { continuation.resume(returning: read(filters, authenticated)) }
        }
    }

    private func read(_ filters: [Filter], _ authenticated: Set<PublicKey>) -> [[UInt8]] {
        let own = authenticated.flatMap { author in
            do {
                return try registry.storedEvents(of: author)
            } catch {
                logger.error("Registrations could not be read", metadata: ["error": "\(error)"])
                return []
            }
        }
        return StoredEvents.select(from: own + advertisements(), filters: filters).map(\.json)
    }
}

extension EventVerdict {
    fileprivate var answer: EventAnswer {
        switch result {
        case .accepted: EventAnswer(id: id, accepted: true)
        case .duplicate: EventAnswer(id: id, accepted: true, message: "duplicate: already have this event")
        case .outdated: EventAnswer(id: id, accepted: true, message: "duplicate: a newer list of this author is known")
        case .refused(let message): EventAnswer(id: id, accepted: false, message: message)
        }
    }
}

/// Answers a REQ from a handful of events (NIP-01).
enum StoredEvents {
    /// What any of `filters` matches: for each filter its newest up to its limit, together newest first, the lower id
    /// first where two are of the same second.
    static func select(from events: [Event], filters: [Filter]) -> [Event] {
        let sorted = events.sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        var chosen: Set<EventID> = []
        for filter in filters {
            let matching = sorted.lazy.filter(filter.matches)
            chosen.formUnion(matching.prefix(filter.limit ?? sorted.count).map(\.id))
        }
        return sorted.filter { chosen.contains($0.id) }
    }
}
