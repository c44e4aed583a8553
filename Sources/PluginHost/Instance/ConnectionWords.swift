import CarillonABI
import Glibc
import HTTPLanes

/// The connections that the words of an instance's requests stand for. Pure: the caller retires the scopes that it
/// returns.
///
/// Most instances use one word at a time, so the words are kept in the order of their last use and looked for from the
/// front, without hashing.
struct ConnectionWords: Sendable {
    /// Words at once; beyond it the one that was not used for longest gives way.
    static let limit = 64
    /// Words with a certificate at most: those are never given up, for a connection without it would be another's.
    static let certificatesLimit = 16

    private static var lengthLimit: Int { 128 }

    private struct Entry: Sendable {
        let word: [UInt8]
        let scope: ConnectionScope

        func isOf(_ word: UnsafeBufferPointer<UInt8>) -> Bool {
            guard word.count == self.word.count else { return false }
            return self.word.withUnsafeBytes { mine in
                guard let mine = mine.baseAddress, let other = word.baseAddress else { return true }
                return memcmp(mine, other, word.count) == 0
            }
        }
    }

    private var entries: [Entry] = []

    /// `text` where it is, if it is fit to name connections: 1 to 128 printable bytes of ASCII.
    static func word(_ text: carillon_str) -> UnsafeBufferPointer<UInt8>? {
        guard let word = PluginText.bytes(text, limit: lengthLimit), !word.isEmpty,
            word.allSatisfy({ (0x20...0x7e).contains($0) })
        else { return nil }
        return word
    }

    /// The scope of `word`, and the one that had to give way to it.
    mutating func scope(of word: UnsafeBufferPointer<UInt8>) -> (scope: ConnectionScope, retired: ConnectionScope?) {
        if let index = entries.firstIndex(where: { $0.isOf(word) }) {
            guard index > 0 else { return (entries[0].scope, nil) }
            entries.insert(entries.remove(at: index), at: 0)
            return (entries[0].scope, nil)
        }
        let scope = ConnectionScope(word: String(decoding: word, as: UTF8.self))
        return (scope, insert(Entry(word: Array(word), scope: scope)))
    }

    /// From now on `word` stands for connections that present `certificate`. Nil when there are too many such words;
    /// else the scopes that nothing uses any more.
    mutating func present(
        _ certificate: ClientCertificate,
        on word: UnsafeBufferPointer<UInt8>
    ) -> [ConnectionScope]? {
        let old = entries.firstIndex { $0.isOf(word) }
        let others = entries.indices.count { $0 != old && entries[$0].scope.clientCertificate != nil }
        guard others < Self.certificatesLimit else { return nil }
        var retired = old.map { [entries.remove(at: $0).scope] } ?? []
        let scope = ConnectionScope(word: String(decoding: word, as: UTF8.self), clientCertificate: certificate)
        if let last = insert(Entry(word: Array(word), scope: scope)) { retired.append(last) }
        return retired
    }

    /// Forgets all words; returns their scopes.
    mutating func removeAll() -> [ConnectionScope] {
        defer { entries = [] }
        return entries.map(\.scope)
    }

    private mutating func insert(_ entry: Entry) -> ConnectionScope? {
        entries.insert(entry, at: 0)
        guard entries.count > Self.limit,
            let last = entries.lastIndex(where: { $0.scope.clientCertificate == nil })
        else { return nil }
        return entries.remove(at: last).scope
    }
}
