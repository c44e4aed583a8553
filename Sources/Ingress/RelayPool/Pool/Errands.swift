import Nostr

/// What one relay is to publish and to be asked for, and whom to tell how it went.
struct Errands {
    private var publications: [EventID: [PublishTally]] = [:]
    private var fetches: [UInt64: FetchTally] = [:]
    private var lastFetch: UInt64 = 0

    /// Whether nobody asked for the same event to be published here meanwhile.
    mutating func add(_ publication: PublishTally) -> Bool {
        publications[publication.event.id, default: []].append(publication)
        return publications[publication.event.id]?.count == 1
    }

    /// Returns the number that the fetch goes by.
    mutating func add(_ fetch: FetchTally) -> UInt64 {
        lastFetch += 1
        fetches[lastFetch] = fetch
        return lastFetch
    }

    mutating func takePublications(_ id: EventID) -> [PublishTally] {
        publications.removeValue(forKey: id) ?? []
    }

    /// The relay has nothing more for the fetch of that number.
    func noteAnswer(_ number: UInt64) { fetches[number]?.noteAnswer() }

    mutating func takeFetch(_ number: UInt64) -> FetchTally? {
        fetches.removeValue(forKey: number)
    }

    /// Gives everything up.
    mutating func abandon(at relay: RelayURL) {
        for publication in publications.values.joined() { publication.add(.unanswered, from: relay) }
        for fetch in fetches.values { fetch.end(relay) }
        publications = [:]
        fetches = [:]
    }
}
