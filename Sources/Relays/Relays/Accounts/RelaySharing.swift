import Nostr
import Registry

/// How several processes with one registry divide relays among them: each relay is in a part, and each part is read by
/// one process at a time.
///
/// Whoever reads a part tells the others how far: marks through ``marked``, and in the registry which keys it has read.
/// So the next reader goes on where the last one was. Two readers of one relay for a moment only read twice.
package struct RelaySharing: Sendable {
    /// The part of a relay, the same in all processes.
    package var part: @Sendable (RelayURL) -> Int
    /// Takes up to when relays of a part were read, in seconds since 1970; nil: nobody needs the relay any more.
    package var marked: @Sendable (_ part: Int, _ marks: [RelayURL: Int64?]) -> Void

    package init(
        part: @escaping @Sendable (RelayURL) -> Int,
        marked: @escaping @Sendable (_ part: Int, _ marks: [RelayURL: Int64?]) -> Void
    ) {
        self.part = part
        self.marked = marked
    }
}

/// The relays that this process reads of those that several share, and which keys were read at them, by whomever.
/// Without sharing, it reads all relays and tells nobody.
struct SharedReading: Sendable {
    private let sharing: RelaySharing?
    private let registry: Registry
    /// The parts that this process reads.
    private var parts: Set<Int> = []
    /// Keys that were read at a relay and are no longer, which the others do not know yet.
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

    /// Tells how far relays of these were read. What this process does not read is not its to tell.
    func mark(_ marks: [RelayURL: Int64?]) {
        guard let sharing else { return }
        for (part, marks) in Dictionary(grouping: marks, by: { sharing.part($0.key) }) {
            sharing.marked(part, Dictionary(marks.map { ($0.key, $0.value) }) { $1 })
        }
    }

    // MARK: Keys

    /// Whether another process read what the relay had stored for all that is watched at a place.
    func wasRead(_ place: WatchPlace, at url: RelayURL, _ rows: RegistryRows) throws -> Bool {
        guard isShared, let read = try rows.readInterest(of: place.key, at: url.text) else { return false }
        return place.interest.rawValue & WatchInterest.bitsAsked & ~read == 0
    }

    /// What to tell of keys that this process has read at a relay.
    func read(
        _ keys: some Sequence<PublicKey>,
        at relay: RelayNumber,
        _ url: RelayURL,
        _ rows: RegistryRows
    ) throws -> [ReadKey] {
        isShared ? try keys.map { try rows.readKey($0, at: relay, url) } : []
    }

    /// The same for a key that was read before relays were shared; nil if the others know.
    func unshared(_ row: WatchRow, at url: RelayURL, _ rows: RegistryRows) throws -> ReadKey? {
        guard row.isEstablished, try rows.readInterest(of: row.key, at: url.text) == nil else { return nil }
        return try rows.readKey(row.key, at: row.relay, url)
    }

    /// The key that no longer counts as read at a relay by such a change; nil if there is none, or others believe
    /// nothing else.
    func unread(by change: WatchChange, at url: RelayURL, _ rows: RegistryRows) throws -> ReadKey? {
        guard isShared, includes(url), let key = change.unreadKey, try rows.readInterest(of: key, at: url.text) != nil
        else { return nil }
        return ReadKey(url: url.text, key: key, interest: 0)
    }

    /// Remembers keys to tell of with ``shareForgotten()``.
    mutating func forget(_ keys: [ReadKey]) { forgotten += keys }

    /// Tells the other processes what was read.
    func share(_ read: [ReadKey]) throws {
        guard !read.isEmpty, isShared else { return }
        try registry.share(read: read, forgotten: [], asked: WatchInterest.bitsAsked)
    }

    /// Keys that are watched anew are to be read anew, whoever reads by then.
    mutating func shareForgotten() throws {
        guard !forgotten.isEmpty, isShared else { return }
        try registry.share(read: [], forgotten: forgotten, asked: WatchInterest.bitsAsked)
        forgotten = []
    }
}

extension WatchInterest {
    /// What relays are asked for, of all that an interest says.
    static let bitsAsked = addressed.union(authored).rawValue
}

extension WatchChange {
    /// The key, if what the relay had stored for it is not read, or no longer counts.
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
