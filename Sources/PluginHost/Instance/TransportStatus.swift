import Foundation
import Units

/// What a plugin answers to the command `status` of one of its transports.
package struct TransportStatus: Sendable, Hashable {
    /// Something of the credentials that is of no use after a moment.
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
    /// What clients need to know before they register, by its name, such as the public keys that browsers subscribe
    /// with. The advertisement (kind 10067), the NIP-11 document and `notification-relay.json` carry it.
    package let clients: [String: [String]]

    /// Reads the answer, which may be anything: of what is too much or unfit for its place the rest counts.
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
