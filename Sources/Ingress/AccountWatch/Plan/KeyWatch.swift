import Nostr
import Registry
import RelayPool

/// How a key is watched at a relay, on behalf of one owner or of several together.
struct KeyWatch: Hashable, Sendable {
    var interest: WatchInterest
    var since: Int64
    var isEstablished: Bool

    init(_ row: WatchRow) {
        interest = WatchInterest(rawValue: row.interest)
        since = row.since
        isEstablished = row.isEstablished
    }

    /// What `rows` have watched together; nil when there are none.
    init?(_ rows: some Collection<WatchRow>) {
        guard let first = rows.first else { return nil }
        self = rows.dropFirst().reduce(KeyWatch(first)) { $0.joined(by: KeyWatch($1)) }
    }

    /// Both at once. It is established if those of them that are ask for all that both ask for.
    func joined(by other: KeyWatch?) -> KeyWatch {
        guard let other else { return self }
        var joined = self
        joined.interest.formUnion(other.interest)
        switch (interest.contains(.addressed), other.interest.contains(.addressed)) {
        case (true, false): break
        case (false, true): joined.since = other.since
        default: joined.since = min(since, other.since)
        }
        let established = [self, other].reduce(into: Watched.Interest()) { read, watch in
            if watch.isEstablished { read.formUnion(watch.interest.watched) }
        }
        joined.isEstablished = established == joined.interest.watched
        return joined
    }

    /// As relays are to be told; nil when there is nothing to watch.
    func watched(_ key: PublicKey) -> Watched? {
        let interest = interest.watched
        guard !interest.isEmpty else { return nil }
        return Watched(key: key, interest: interest, since: since, isEstablished: isEstablished)
    }
}
