import Cipher
import Console
import Core
import Delivery
import Foundation
import Operations

/// Requests for notifications in a bucket of JetStream, so that an Idempotency-Key counts at all members: under a
/// digest of sender and key when a request arrives, and under the request's id once its events are kept. Both expire
/// after a day.
struct SharedRequestBucket: SharedRequests {
    /// A ``RequestRecord``. Bytes are hexadecimal digits.
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

        /// Nil: it is not a valid record.
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

    /// Tries to be first, or to find who was.
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
        // No client can ask for it again.
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

    /// Nil: it has no key.
    private static func place(_ record: RequestRecord) -> String? {
        record.key.map { "k.\(Hex.encode(SHA256.hash(record.sender + $0)))" }
    }

    private static func problem(_ error: NATSError?) -> APIError {
        let why = error.map { "\($0)" } ?? "others ask under the same key"
        return APIError(503, "the cluster's servers do not keep it now: \(why)", retryAfter: 1)
    }
}
