import Core
import Foundation

/// A key-value bucket: a stream that keeps the last values of each subject (NATS ADR-8).
///
/// With a seal, each value has an authentication code. A foreign value counts as deleted. If the bucket keeps earlier
/// values, a member's last value counts instead.
struct KeyValueBucket: Sendable {
    /// A value and its revision, which is its sequence in the bucket's stream.
    struct Entry: Hashable, Sendable {
        let key: String
        /// Nil: the key was deleted.
        let value: [UInt8]?
        let revision: UInt64
    }

    let name: String
    let stream: JetStream
    private let seal: MemberSeal?

    init(_ name: String, in stream: JetStream, _ seal: MemberSeal? = nil) {
        (self.name, self.stream, self.seal) = (name, stream, seal)
    }

    /// The name of the bucket's stream.
    var streamName: String { "KV_\(name)" }

    func subject(_ key: String) -> String { "$KV.\(name).\(key)" }

    /// A bucket's stream. `history`: values per key, 1 to 64. `age`: how long they are kept; nil: forever. `bytes`: the
    /// maximum size, above which the oldest values are dropped; nil: no limit.
    static func configuration(
        _ name: String,
        replicas: Int,
        history: Int64 = 1,
        age: Duration? = nil,
        bytes: Int64? = nil
    ) -> StreamConfiguration {
        var configuration = StreamConfiguration(name: "KV_\(name)", subjects: ["$KV.\(name).>"])
        configuration.replicas = replicas
        configuration.maxMessagesPerSubject = history
        configuration.maxAge = (age?.milliseconds ?? 0) * 1_000_000
        if let bytes { (configuration.maxBytes, configuration.discard) = (bytes, "old") }
        configuration.allowDirect = true
        configuration.deniesDeletion = true
        configuration.allowsRollup = true
        return configuration
    }

    /// The entry of a key, read from the leader; nil: it never existed. The revision may be a foreign value's.
    func entry(_ key: String) async throws(NATSError) -> Entry? {
        guard let last = try await stream.last(of: subject(key), in: streamName).map(entry) else { return nil }
        let found = opened(last)
        guard seal != nil, found.value == nil else { return found }
        var earlier: [Entry] = []
        while let next = try await stream.next(
            of: subject(key),
            from: (earlier.last?.revision ?? 0) + 1,
            in: streamName
        ).map(entry), next.revision < last.revision {
            earlier.append(next)
        }
        let value = earlier.reversed().lazy.compactMap { opened($0).value }.first
        return Entry(key: key, value: value, revision: last.revision)
    }

    /// The entry with its value verified and unsealed; without a value if it is foreign.
    func opened(_ entry: Entry) -> Entry {
        guard let seal else { return entry }
        let value = entry.value.flatMap { seal.open($0, of: subject(entry.key)) }
        return Entry(key: entry.key, value: value, revision: entry.revision)
    }

    /// The keys of the bucket, including deleted ones.
    func keys() async throws(NATSError) -> [String] {
        let prefix = subject("")
        return try await stream.subjects(of: subject(">"), in: streamName).map { String($0.dropFirst(prefix.count)) }
    }

    /// Writes a value. With `revision`, only if that is the key's current revision (of a value or a deletion); 0: only
    /// if the key never existed. Returns the new revision.
    @discardableResult
    func put(_ key: String, _ value: [UInt8], over revision: UInt64? = nil) async throws(NATSError) -> UInt64 {
        let payload = seal?.seal(value, for: subject(key)) ?? value
        return try await stream.append(
            subject(key),
            payload,
            expecting: JetStream.Expectation(lastOfSubject: revision)
        ).seq
    }

    /// Deletes a key, under the same condition. Returns the revision of the deletion.
    @discardableResult
    func delete(_ key: String, over revision: UInt64? = nil) async throws(NATSError) -> UInt64 {
        try await stream.append(
            subject(key),
            [],
            expecting: JetStream.Expectation(lastOfSubject: revision),
            headers: ["KV-Operation": "DEL"]
        ).seq
    }

    func entry(_ message: JetStream.StoredMessage) -> Entry {
        let isGone = message.headers["KV-Operation"] != nil || message.headers["Nats-Marker-Reason"] != nil
        return Entry(
            key: String(message.subject.dropFirst(subject("").count)),
            value: isGone ? nil : message.payload,
            revision: message.sequence
        )
    }
}
