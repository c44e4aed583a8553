import Cipher
import Console
import Core
import Delivery
import Foundation
import Operations

/// Stores requests for notifications in a JetStream bucket, so that an Idempotency-Key is valid at all members. The key
/// is a digest of sender and Idempotency-Key when a request arrives, and the request's ID once its events are stored.
/// Entries expire after a day.
struct SharedRequestBucket: SharedRequests {
    /// The JSON form of a ``RequestRecord``. Bytes are in hexadecimal digits.
    private struct Record: Codable {
        var id: String
        var sender: String
        var key: String?
        var body: String
        var createdAt: Int64
        var events: [String]
        var answer: String?

        init(_ record: RequestRecord) {
            id = Hex.encode(record.id)
            sender = Hex.encode(record.sender)
            key = record.key.map { Hex.encode($0) }
            body = Hex.encode(record.body)
            createdAt = record.createdAt.milliseconds
            events = record.events.map { Hex.encode($0) }
            answer = record.answer
        }

        /// The decoded record; nil if it is invalid.
        var record: RequestRecord? {
            guard let id = Hex.decode(id), id.count == 16, let sender = Hex.decode(sender), let body = Hex.decode(body)
            else { return nil }
            return RequestRecord(
                id: id,
                sender: sender,
                key: key.flatMap { Hex.decode($0) },
                body: body,
                createdAt: Timestamp(milliseconds: createdAt),
                events: events.compactMap { Hex.decode($0) },
                answer: answer
            )
        }
    }

    /// The maximum of attempts to store a request or find an earlier one.
    private static let attempts = 3

    private let bucket: KeyValueBucket

    init(_ link: ClusterLink) {
        bucket = KeyValueBucket(
            link.settings.layout.requestBucket,
            in: JetStream(link.line.client, timeout: .seconds(3)),
            link.line.seal
        )
    }

    func remember(_ record: RequestRecord) async throws -> RequestRecord {
        // Without an Idempotency-Key, no client can repeat the request.
        guard let place = Self.place(record) else { return record }
        var revision: UInt64 = 0
        var failure: NATSError?
        for _ in 0..<Self.attempts {
            do throws(NATSError) {
                try await bucket.put(place, Record(record).bucketValue, over: revision)
                return record
            } catch {
                failure = error
                // The conflicting entry may be this member's earlier attempt.
                guard case .refused(JetStream.Code.wrongLastSequence, _) = error else { continue }
            }
            do throws(NATSError) {
                let entry = try await bucket.entry(place)
                revision = entry?.revision ?? 0
                let known = entry?.value.flatMap { Record(bucketValue: $0)?.record }
                guard let known, known.createdAt > record.createdAt - RequestStore.lifetime else { continue }
                return known
            } catch {
                failure = error
            }
        }
        throw Self.problem(failure)
    }

    func note(_ record: RequestRecord) async {
        let value = Record(record).bucketValue
        _ = try? await bucket.put(Self.place(record.id), value)
        if let place = Self.place(record) { _ = try? await bucket.put(place, value) }
    }

    func find(_ id: [UInt8]) async throws -> RequestRecord? {
        do throws(NATSError) {
            return try await bucket.entry(Self.place(id))?.value.flatMap { Record(bucketValue: $0)?.record }
        } catch {
            throw Self.problem(error)
        }
    }

    private static func place(_ id: [UInt8]) -> String { "r.\(Hex.encode(id))" }

    /// The key for a request; nil if it has no Idempotency-Key.
    private static func place(_ record: RequestRecord) -> String? {
        record.key.map { "k.\(Hex.encode(SHA256.hash(record.sender + $0)))" }
    }

    private static func problem(_ error: NATSError?) -> APIError {
        let why = error.map { "\($0)" } ?? "others ask under the same key"
        return APIError(503, "the cluster's servers do not keep it now: \(why)", retryAfter: 1)
    }
}
