import Nostr
import Registry
import RelayPool

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
    /// Whether all processes understand which keys were read.
    package var isUnderstood: @Sendable () -> Bool

    package init(
        part: @escaping @Sendable (RelayURL) -> Int,
        marked: @escaping @Sendable (_ part: Int, _ marks: [RelayURL: Int64?]) -> Void,
        isUnderstood: @escaping @Sendable () -> Bool
    ) {
        self.part = part
        self.marked = marked
        self.isUnderstood = isUnderstood
    }
}

/// The relays that this process reads of those that several share. Without sharing, all of them.
struct ReadParts: Sendable {
    let sharing: RelaySharing?
    private(set) var parts: Set<Int> = []
    /// Keys that were read at a relay and are no longer, which the others do not know yet.
    private(set) var forgotten: [ReadKey] = []

    init(_ sharing: RelaySharing?) { self.sharing = sharing }

    func includes(_ relay: RelayURL) -> Bool { sharing.map { parts.contains($0.part(relay)) } ?? true }

    mutating func take(_ new: some Sequence<Int>) { parts.formUnion(new) }

    mutating func leave(_ part: Int) { parts.remove(part) }

    mutating func forget(_ keys: [ReadKey]) { forgotten += keys }

    mutating func forgottenAreShared() { forgotten = [] }

    /// Tells how far relays of these were read. What this process does not read is not its to tell.
    func mark(_ marks: [RelayURL: Int64?]) {
        guard let sharing else { return }
        for (part, marks) in Dictionary(grouping: marks, by: { sharing.part($0.key) }) {
            sharing.marked(part, Dictionary(marks.map { ($0.key, $0.value) }) { $1 })
        }
    }
}
