import Nostr
import Registry

/// The division of relays among several processes with one registry: each relay is in a part, and one process at a time
/// reads a part.
///
/// The reader of a part reports its progress to the others: marks through ``marked``, and the keys it has read through
/// the registry. So the next reader continues at that point. If two processes read one relay for a moment, events are
/// only read twice.
package struct RelaySharing: Sendable {
    /// Returns the part of a relay, the same in all processes.
    package var part: @Sendable (RelayURL) -> Int
    /// Takes the marks of a part's relays, in seconds since 1970; nil: the relay is no longer needed.
    package var marked: @Sendable (_ part: Int, _ marks: [RelayURL: Int64?]) -> Void

    package init(
        part: @escaping @Sendable (RelayURL) -> Int,
        marked: @escaping @Sendable (_ part: Int, _ marks: [RelayURL: Int64?]) -> Void
    ) {
        self.part = part
        self.marked = marked
    }
}

/// The relays that this process reads, and the keys that any process has read at shared relays. Without sharing, it
/// reads all relays and reports to no other process.
struct SharedReading: Sendable {
    private let sharing: RelaySharing?
    private let registry: Registry
    /// The parts that this process reads.
    private var parts: Set<Int> = []
    /// Keys that no longer count as read at a relay, which the other processes do not know yet.
    private var forgotten: [ReadKey] = []

    init(_ sharing: RelaySharing?, registry: Registry) {
        self.sharing = sharing
        self.registry = registry
    }

    // MARK: Relays

    var isShared: Bool { sharing != nil }

    /// The part of a relay; nil without sharing.
    func part(of relay: RelayURL) -> Int? { sharing?.part(relay) }

    /// Whether this process reads a relay.
    func includes(_ relay: RelayURL) -> Bool { sharing.map { parts.contains($0.part(relay)) } ?? true }

    mutating func take(_ new: some Sequence<Int>) { parts.formUnion(new) }

    mutating func leave(_ part: Int) { parts.remove(part) }

    /// Reports the marks of these relays. A process reports only relays that it reads.
    func mark(_ marks: [RelayURL: Int64?]) {
        guard let sharing else { return }
        for (part, marks) in Dictionary(grouping: marks, by: { sharing.part($0.key) }) {
            sharing.marked(part, Dictionary(marks.map { ($0.key, $0.value) }) { $1 })
        }
    }

    // MARK: Keys

    /// Whether another process read the stored events for all watches of a place.
    func wasRead(_ place: WatchPlace, at url: RelayURL, _ rows: RegistryRows) throws -> Bool {
        guard isShared, let read = try rows.readInterest(of: place.key, at: url.text) else { return false }
        return place.interest.rawValue & WatchInterest.bitsAsked & ~read == 0
    }

    /// Returns the reports for keys that this process has read at a relay.
    func read(
        _ keys: some Sequence<PublicKey>,
        at relay: RelayNumber,
        _ url: RelayURL,
        _ rows: RegistryRows
    ) throws -> [ReadKey] {
        isShared ? try keys.map { try rows.readKey($0, at: relay, url) } : []
    }

    /// Returns the report for a key that was read before relays were shared; nil if the other processes know.
    func unshared(_ row: WatchRow, at url: RelayURL, _ rows: RegistryRows) throws -> ReadKey? {
        guard row.isEstablished, try rows.readInterest(of: row.key, at: url.text) == nil else { return nil }
        return try rows.readKey(row.key, at: row.relay, url)
    }

    /// Returns the report for a key that this change makes unread at a relay; nil if there is none, or if no other
    /// process counts it as read.
    func unread(by change: WatchChange, at url: RelayURL, _ rows: RegistryRows) throws -> ReadKey? {
        guard isShared, includes(url), let key = change.unreadKey, try rows.readInterest(of: key, at: url.text) != nil
        else { return nil }
        return ReadKey(url: url.text, key: key, interest: 0)
    }

    /// Queues reports for ``shareForgotten()``.
    mutating func forget(_ keys: [ReadKey]) { forgotten += keys }

    /// Reports keys that were read to the other processes.
    func share(_ read: [ReadKey]) throws {
        guard !read.isEmpty, isShared else { return }
        try registry.share(read: read, forgotten: [], asked: WatchInterest.bitsAsked)
    }

    /// Reports keys that must be read again, by any process.
    mutating func shareForgotten() throws {
        guard !forgotten.isEmpty, isShared else { return }
        try registry.share(read: [], forgotten: forgotten, asked: WatchInterest.bitsAsked)
        forgotten = []
    }
}

extension WatchInterest {
    /// The bits of an interest that relays are asked for.
    static let bitsAsked = addressed.union(authored).rawValue
}

extension WatchChange {
    /// The key, if its stored events at the relay are unread or no longer count as read.
    fileprivate var unreadKey: PublicKey? {
        switch self {
        case .remove(let key): key
        case .put(let watched): watched.isEstablished ? nil : watched.key
        }
    }
}

extension RegistryRows {
    fileprivate func readKey(_ key: PublicKey, at relay: RelayNumber, _ url: RelayURL) throws -> ReadKey {
        ReadKey(url: url.text, key: key, interest: try interests(in: key, at: relay) & WatchInterest.bitsAsked)
    }
}
