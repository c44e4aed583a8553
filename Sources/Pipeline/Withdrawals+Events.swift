import Cipher
import Delivery
import Nostr
import Notifications

extension SIMD4<UInt64> {
    init(_ bytes: Bytes32) { self.init(bytes.words.0, bytes.words.1, bytes.words.2, bytes.words.3) }
}

extension EventOrigin {
    init(_ event: Event) {
        self.init(
            event: SIMD4(event.id.bytes),
            author: SIMD4(event.pubkey.bytes),
            createdAt: event.createdAt,
            address: Self.hash(event.kind, identifier: event.identifier)
        )
    }

    /// The same for all versions of a replaceable event, also after a restart; nil: it is none.
    fileprivate static func hash(_ kind: Kind, identifier: @autoclosure () -> String) -> Int64? {
        let text: String
        switch kind.retention {
        case .regular, .ephemeral: return nil
        case .replaceable: text = "\(kind.rawValue):"
        case .addressable: text = "\(kind.rawValue):\(identifier())"
        }
        return SHA256.hash(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension Withdrawals {
    func contains(_ event: Event) -> Bool { !isEmpty && contains(EventOrigin(event)) }
}

extension Deletion {
    /// The events that it deletes, by id or otherwise.
    var withdrawals: [Withdrawal] {
        ids.map { Withdrawal(author: SIMD4(author.bytes), .event(SIMD4($0.bytes))) } + withdrawalsWithoutIDs
    }

    /// The events that it deletes without giving their ids.
    var withdrawalsWithoutIDs: [Withdrawal] {
        let author = SIMD4(author.bytes)
        switch scope {
        case .everything: return [Withdrawal(author: author, .everything, until: createdAt)]
        case .events(_, let addresses):
            let hashes = addresses.compactMap { EventOrigin.hash($0.kind, identifier: $0.identifier) }
            return hashes.map { Withdrawal(author: author, .address($0), until: createdAt) }
        }
    }
}
