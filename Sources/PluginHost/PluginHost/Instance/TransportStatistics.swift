import Core
import Foundation
import HTTPClient
import PluginProtocol

/// Counts an instance's rule violations. All counters except `deadlinesMissed` and `lateCompletions` count errors of
/// the plugin.
package struct TransportStatistics: Sendable, Hashable {
    /// Tickets that the plugin ended twice, or that it never had.
    package var unknownTickets: UInt64 = 0
    /// Outcomes that are missing, of an unknown kind or of an implausible size.
    package var malformedOutcomes: UInt64 = 0
    /// HTTP requests that the host refused to send.
    package var malformedRequests: UInt64 = 0
    /// Streams that the host refused to open, and other misuse of streams.
    package var malformedStreams: UInt64 = 0
    /// Tickets that the host stopped waiting for.
    package var deadlinesMissed: UInt64 = 0
    /// Tickets that the plugin ended after the host had stopped waiting.
    package var lateCompletions: UInt64 = 0
    /// Responses to clients' requests that cannot be passed on.
    package var malformedAnswers: UInt64 = 0
    /// Invalid edits of a filter, and edits after its call.
    package var malformedEdits: UInt64 = 0
    /// Decisions for which a filter took too long.
    package var slowDecisions: UInt64 = 0
    /// Decisions that a filter could not make.
    package var failedDecisions: UInt64 = 0

    package init(
        unknownTickets: UInt64 = 0,
        malformedOutcomes: UInt64 = 0,
        malformedRequests: UInt64 = 0,
        deadlinesMissed: UInt64 = 0,
        lateCompletions: UInt64 = 0
    ) {
        self.unknownTickets = unknownTickets
        self.malformedOutcomes = malformedOutcomes
        self.malformedRequests = malformedRequests
        self.deadlinesMissed = deadlinesMissed
        self.lateCompletions = lateCompletions
    }
}

/// The HTTP requests of one instance so far.
package struct RequestCounts: Sendable, Hashable {
    package var begun: UInt64 = 0
    /// Requests without a response, by reason.
    package var failures: [HTTPError.Reason: UInt64] = [:]
    package var answered: UInt64 = 0
    /// Clients' requests, by the first digit of the response's status.
    package var inbound: [UInt32: UInt64] = [:]

    package init() {}

    package mutating func add(_ other: RequestCounts) {
        begun += other.begun
        answered += other.answered
        failures.merge(other.failures, uniquingKeysWith: +)
        inbound.merge(other.inbound, uniquingKeysWith: +)
    }
}

/// The streams of one instance so far.
package struct StreamCounts: Sendable, Hashable {
    /// The maximum number of open streams.
    static let limit = StreamForm.streamLimit

    package internal(set) var open = 0
    package internal(set) var begun: UInt64 = 0
    /// Streams that failed, by reason; one of their ends closed all others.
    package internal(set) var failures: [StreamError: UInt64] = [:]

    package init() {}

    package mutating func add(_ other: StreamCounts) {
        open += other.open
        begun += other.begun
        failures.merge(other.failures, uniquingKeysWith: +)
    }
}

/// A plugin's response to the command `status` of one of its transports.
package struct TransportStatus: Sendable, Hashable {
    /// A credential, or part of one, that expires.
    package struct Expiry: Sendable, Hashable {
        /// One word, fit for a metric's label.
        package var what: String
        package var at: Timestamp
    }

    private struct Expiries: Decodable {
        struct Entry: Decodable {
            var what: String
            /// Seconds since 1970.
            var at: Int64
        }

        var expires: [Entry]
    }

    private struct Clients: Decodable {
        var clients: [String: [String]]
    }

    package let expiries: [Expiry]
    /// Values that clients need before they register, by name, such as the public keys for browsers' subscriptions. The
    /// advertisement (kind 10067), the NIP-11 document and `notification-relay.json` contain them.
    package let clients: [String: [String]]

    /// Reads any response, and skips values that are invalid or exceed the limits.
    init(answer: String) {
        let (data, decoder) = (Data(answer.utf8), JSONDecoder())
        var known: Set<String> = []
        let entries = (try? decoder.decode(Expiries.self, from: data))?.expires ?? []
        expiries = entries.prefix(16).compactMap { expiry in
            let isWord = expiry.what.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
            guard isWord, (1...40).contains(expiry.what.utf8.count), known.insert(expiry.what).inserted else {
                return nil
            }
            return Expiry(what: expiry.what, at: Timestamp(seconds: expiry.at))
        }
        let clients = (try? decoder.decode(Clients.self, from: data))?.clients ?? [:]
        self.clients = Dictionary(
            uniqueKeysWithValues: clients.filter { name, texts in
                let isName = name.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
                }
                return isName && (1...40).contains(name.utf8.count) && texts.count <= 20
                    && texts.allSatisfy { $0.utf8.count <= 256 && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
            }.sorted { $0.key < $1.key }.prefix(16).map { ($0.key, $0.value) }
        )
    }
}
