import Core
import Foundation

/// A client of JetStream: streams that store messages, and conditional appends (NATS JetStream API).
struct JetStream: Sendable {
    /// The preconditions of an append, and its id for deduplication.
    struct Expectation: Sendable {
        /// The append is refused unless this is the last sequence of its subject; 0: the subject must have no messages.
        var lastOfSubject: UInt64?
        /// Within the stream's duplicate window, a second append with the same ID is ignored and gets the original
        /// response.
        var messageID: String?
    }

    /// The response to an append: the message is stored.
    struct Appended: Decodable, Hashable, Sendable {
        /// Its sequence in the stream.
        let seq: UInt64
        /// Whether it was already stored.
        let duplicate: Bool?
    }

    /// A message of a stream.
    struct StoredMessage: Sendable {
        let subject: String
        let sequence: UInt64
        let headers: NATSHeaders
        let payload: [UInt8]
    }

    /// Error codes that callers distinguish.
    enum Code {
        static let streamNotFound = 10_059
        static let messageNotFound = 10_037
        static let consumerNotFound = 10_014
        /// The last sequence is not the expected one.
        static let wrongLastSequence = 10_071
        /// The stream, or the server's disk, is full.
        static let noSpace = 10_077
        /// Another append to the subject is in progress: retry.
        static let appendUnderWay = 10_164
        /// The same append is in progress.
        static let duplicateUnderWay = 10_158
        /// The servers are electing a leader.
        static let temporarilyUnavailable = 10_008
    }

    private struct ErrorResponse: Decodable {
        struct Details: Decodable {
            let errCode: Int?
            let code: Int?
            let description: String?

            enum CodingKeys: String, CodingKey {
                case errCode = "err_code"
                case code, description
            }
        }

        let error: Details?
    }

    let client: NATSClient
    /// The timeout for a response.
    let timeout: Duration

    init(_ client: NATSClient, timeout: Duration = .seconds(5)) {
        self.client = client
        self.timeout = timeout
    }

    // MARK: Appending

    /// Appends a message to the stream that its subject belongs to.
    func append(
        _ subject: String,
        _ payload: [UInt8],
        expecting expectation: Expectation = Expectation(),
        headers: NATSHeaders = [:]
    ) async throws(NATSError) -> Appended {
        var headers = headers
        headers["Nats-Expected-Last-Subject-Sequence"] = expectation.lastOfSubject.map { "\($0)" }
        headers["Nats-Msg-Id"] = expectation.messageID
        let answer = try await client.request(subject, payload, headers: headers, within: timeout)
        return try Self.decode(answer.payload)
    }

    // MARK: Streams

    /// Creates a stream, or updates its configuration.
    func ensure(_ stream: StreamConfiguration) async throws(NATSError) {
        do throws(NATSError) {
            let _: StreamDescription = try await ask("STREAM.UPDATE.\(stream.name)", stream)
        } catch .refused(code: Code.streamNotFound, _) {
            let _: StreamDescription = try await ask("STREAM.CREATE.\(stream.name)", stream)
        }
    }

    /// Checks that this account has JetStream. Throws ``NATSError/noResponders`` if it does not.
    func probe() async throws(NATSError) {
        struct Account: Decodable {
            let streams: Int
        }
        let _: Account = try await ask("INFO", Nothing())
    }

    func describe(_ stream: String) async throws(NATSError) -> StreamDescription {
        try await ask("STREAM.INFO.\(stream)", Nothing())
    }

    /// The subjects that match `filter` and have messages, sorted. The server returns up to 100,000.
    func subjects(of filter: String, in stream: String) async throws(NATSError) -> [String] {
        struct Question: Encodable {
            let filter: String

            enum CodingKeys: String, CodingKey { case filter = "subjects_filter" }
        }
        struct Answer: Decodable {
            struct State: Decodable {
                let subjects: [String: UInt64]?
            }

            let state: State
        }
        let answer: Answer = try await ask("STREAM.INFO.\(stream)", Question(filter: filter))
        return answer.state.subjects?.keys.sorted() ?? []
    }

    func delete(stream: String) async throws(NATSError) {
        let _: Nothing = try await ask("STREAM.DELETE.\(stream)", Nothing())
    }

    /// Deletes the messages of a subject before `sequence`. The last message of a subject must stay: without it, the
    /// next append would have to expect sequence 0.
    func purge(_ stream: String, subject: String, before sequence: UInt64) async throws(NATSError) {
        struct Purge: Encodable {
            let filter: String
            let seq: UInt64
        }
        let _: Nothing = try await ask("STREAM.PURGE.\(stream)", Purge(filter: subject, seq: sequence))
    }

    // MARK: Reading

    private struct Get: Encodable {
        var seq: UInt64?
        var lastBySubject: String?
        var nextBySubject: String?

        enum CodingKeys: String, CodingKey {
            case seq
            case lastBySubject = "last_by_subj"
            case nextBySubject = "next_by_subj"
        }
    }

    /// The last message of a subject, read from the leader; nil: none.
    func last(of subject: String, in stream: String) async throws(NATSError) -> StoredMessage? {
        try await get(Get(lastBySubject: subject), stream)
    }

    /// The last message of a subject from any replica, which may lag; nil: it has none. Needs no leader, but a stream
    /// with `allowDirect`.
    func copy(ofLast subject: String, in stream: String) async throws(NATSError) -> [UInt8]? {
        let answer = try await client.request("$JS.API.DIRECT.GET.\(stream).\(subject)", [], within: timeout)
        switch answer.headers.status {
        case nil: return answer.payload
        case 404: return nil
        case let status?: throw .refused(code: status, "a replica")
        }
    }

    /// The first message of a subject at or after `sequence`, read from the leader; nil: none.
    func next(
        of subject: String,
        from sequence: UInt64,
        in stream: String
    ) async throws(NATSError)
        -> StoredMessage?
    {
        try await get(Get(seq: sequence, nextBySubject: subject), stream)
    }

    /// The message with that sequence, read from the leader; nil: none.
    func message(_ sequence: UInt64, in stream: String) async throws(NATSError) -> StoredMessage? {
        try await get(Get(seq: sequence), stream)
    }

    private struct Got: Decodable, Sendable {
        struct Message: Decodable, Sendable {
            let subject: String
            let seq: UInt64
            let hdrs: Data?
            let data: Data?
        }

        let message: Message
    }

    private func get(_ get: Get, _ stream: String) async throws(NATSError) -> StoredMessage? {
        do throws(NATSError) {
            let answer: Got = try await ask("STREAM.MSG.GET.\(stream)", get)
            let message = answer.message
            return StoredMessage(
                subject: message.subject,
                sequence: message.seq,
                headers: try message.hdrs.map { data throws(NATSError) in try NATSHeaders(reading: data) } ?? [:],
                payload: Array(message.data ?? Data())
            )
        } catch .refused(code: Code.messageNotFound, _) {
            return nil
        }
    }

    // MARK: Requests

    struct Nothing: Codable {}

    func ask<Answer: Decodable & Sendable>(
        _ path: String,
        _ question: some Encodable
    ) async throws(NATSError)
        -> Answer
    {
        guard let body = try? JSONEncoder().encode(question) else { throw .badAnswer }
        let payload = question is Nothing ? [] : Array(body)
        return try Self.decode(try await client.request("$JS.API.\(path)", payload, within: timeout).payload)
    }

    private static func decode<Answer: Decodable>(_ payload: [UInt8]) throws(NATSError) -> Answer {
        let (decoder, data) = (JSONDecoder(), Data(payload))
        if let flaw = (try? decoder.decode(ErrorResponse.self, from: data))?.error {
            throw .refused(code: flaw.errCode ?? flaw.code ?? 0, (flaw.description ?? "without a word").excerpt)
        }
        guard let answer = try? decoder.decode(Answer.self, from: data) else { throw .badAnswer }
        return answer
    }
}

/// The configuration of a stream.
struct StreamConfiguration: Codable, Sendable {
    var name: String
    var subjects: [String]
    var replicas = 1
    /// The maximum size in bytes; -1: no limit.
    var maxBytes: Int64 = -1
    /// How long messages are kept, in nanoseconds; 0: forever.
    var maxAge: Int64 = 0
    /// The maximum of messages of one subject; -1: no limit.
    var maxMessagesPerSubject: Int64 = -1
    /// The duplicate window: how long an append's ID is remembered, in nanoseconds.
    var duplicateWindow: Int64 = 120_000_000_000
    var retention = "limits"
    var storage = "file"
    /// The policy for appends that exceed a limit: they are refused.
    var discard = "new"
    var allowDirect = false
    var deniesDeletion = false
    var allowsRollup = false

    private enum CodingKeys: String, CodingKey {
        case name, subjects, retention, storage, discard
        case replicas = "num_replicas"
        case maxBytes = "max_bytes"
        case maxAge = "max_age"
        case maxMessagesPerSubject = "max_msgs_per_subject"
        case duplicateWindow = "duplicate_window"
        case allowDirect = "allow_direct"
        case deniesDeletion = "deny_delete"
        case allowsRollup = "allow_rollup_hdrs"
    }
}

/// The server's description of a stream.
struct StreamDescription: Decodable, Sendable {
    struct State: Decodable, Sendable {
        let messages: UInt64
        let bytes: UInt64
        let first: UInt64
        let last: UInt64

        private enum CodingKeys: String, CodingKey {
            case messages, bytes
            case first = "first_seq"
            case last = "last_seq"
        }
    }

    let config: StreamConfiguration
    let state: State
}
