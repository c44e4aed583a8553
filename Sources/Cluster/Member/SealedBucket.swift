import NATS

/// A bucket whose values carry the code of ``MemberSeal``. A foreign value counts as deleted; where the bucket keeps
/// earlier values, the last one of a member counts.
package struct SealedBucket: Sendable {
    let bucket: KeyValueBucket
    private let seal: MemberSeal

    package init(_ name: String, in stream: JetStream, _ seal: MemberSeal) {
        bucket = KeyValueBucket(name, in: stream)
        self.seal = seal
    }

    /// As ``KeyValueBucket/put(_:_:over:)``.
    @discardableResult
    package func put(_ key: String, _ value: [UInt8], over revision: UInt64? = nil) async throws(NATSError) -> UInt64 {
        try await bucket.put(key, seal.seal(value, for: bucket.subject(key)), over: revision)
    }

    /// The entry of a key with what a member put last, and with the revision of whatever is there now; nil: there never
    /// was one.
    package func entry(_ key: String) async throws(NATSError) -> KeyValueBucket.Entry? {
        guard let last = try await bucket.entry(key) else { return nil }
        let entry = opened(last)
        guard entry.value == nil else { return entry }
        var earlier: [KeyValueBucket.Entry] = []
        while let next = try await bucket.entry(key, from: (earlier.last?.revision ?? 0) + 1),
            next.revision < last.revision
        { earlier.append(next) }
        let value = earlier.reversed().lazy.compactMap { opened($0).value }.first
        return KeyValueBucket.Entry(key: key, value: value, revision: last.revision)
    }

    /// The entry with a member's value, or without one if the value is foreign.
    func opened(_ entry: KeyValueBucket.Entry) -> KeyValueBucket.Entry {
        let value = entry.value.flatMap { seal.open($0, of: bucket.subject(entry.key)) }
        return KeyValueBucket.Entry(key: entry.key, value: value, revision: entry.revision)
    }
}
