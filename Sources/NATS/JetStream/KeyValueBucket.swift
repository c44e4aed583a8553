import Foundation
import Units

/// A bucket of keys and values: a stream that keeps the last values of each subject (NATS ADR-8).
package struct KeyValueBucket: Sendable {
    /// A value and when it was put, in revisions: the sequences of the bucket's stream.
    package struct Entry: Hashable, Sendable {
        package let key: String
        /// Nil: the key was deleted.
        package let value: [UInt8]?
        package let revision: UInt64

        package init(key: String, value: [UInt8]?, revision: UInt64) {
            self.key = key
            self.value = value
            self.revision = revision
        }
    }

    package let name: String
    let stream: JetStream

    package init(_ name: String, in stream: JetStream) {
        self.name = name
        self.stream = stream
    }

    /// The name of the stream underneath.
    package var streamName: String { "KV_\(name)" }

    package func subject(_ key: String) -> String { "$KV.\(name).\(key)" }

    /// Makes the bucket, or changes it; as ``configuration(_:replicas:history:age:bytes:)`` says.
    package func ensure(
        replicas: Int,
        history: Int64 = 1,
        age: Duration? = nil,
        bytes: Int64? = nil
    ) async throws(NATSError) {
        try await stream.ensure(
            Self.configuration(name, replicas: replicas, history: history, age: age, bytes: bytes)
        )
    }

    /// The stream of a bucket. `history`: values kept of each key, 1 to 64. `age`: how long; nil: for ever. `bytes`:
    /// what it holds at most, beyond which the oldest values go; nil: no limit.
    package static func configuration(
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

    /// The entry of a key, as the leader has it; nil: there never was one.
    package func entry(_ key: String) async throws(NATSError) -> Entry? {
        try await stream.last(of: subject(key), in: streamName).map(entry)
    }

    /// The first entry of a key that the bucket still has at `revision` or after it; nil: there is none.
    package func entry(_ key: String, from revision: UInt64) async throws(NATSError) -> Entry? {
        try await stream.next(of: subject(key), from: revision, in: streamName).map(entry)
    }

    /// The keys that the bucket has, deleted ones included.
    package func keys() async throws(NATSError) -> [String] {
        let prefix = subject("")
        return try await stream.subjects(of: subject(">"), in: streamName).map { String($0.dropFirst(prefix.count)) }
    }

    /// Puts a value. With `revision`, only if that is the present one of the key, a deletion's included; 0: only if
    /// there never was one. Returns the new revision.
    @discardableResult
    package func put(_ key: String, _ value: [UInt8], over revision: UInt64? = nil) async throws(NATSError) -> UInt64 {
        try await stream.append(subject(key), value, expecting: JetStream.Expectation(lastOfSubject: revision)).seq
    }

    /// Deletes a key, with the same condition. Returns the revision of the deletion.
    @discardableResult
    package func delete(_ key: String, over revision: UInt64? = nil) async throws(NATSError) -> UInt64 {
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
