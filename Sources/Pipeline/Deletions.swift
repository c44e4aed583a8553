import Cipher
import Core
import Delivery
import Nostr
import Push
import Registry
import Storage

/// The deletion stage: ends registrations that their authors delete, and remembers the deleted events.
struct Deletions {
    enum Result {
        /// It is applied; `ended` registrations ended.
        case applied(ended: Int)
        case failed(EventOutcome)
    }

    /// The number of a deletion's events and addresses that are looked up before it is verified.
    private static let namesLookedAt = 100
    /// The limit of deletions by unknown authors that are verified each second. A deletion may arrive before its event.
    private static let maxOfStrangers = 100
    private static let registrationKinds: Set<String> = [
        "\(Kind.pushRegistration.rawValue)", "\(Kind.addressablePushRegistration.rawValue)",
    ]

    private let registry: Registry
    private let endsRegistrations: Bool
    private let isOurRelay: @Sendable (String) -> Bool
    private let trouble: ErrorLog
    private var withdrawals = Withdrawals()
    private var strangers: (second: Int64, count: Int) = (0, 0)

    /// `endsRegistrations` is whether deletions end registrations here. `known` are the withdrawals from earlier runs.
    init(
        _ known: [Withdrawal],
        registry: Registry,
        endsRegistrations: Bool,
        isOurRelay: @escaping @Sendable (String) -> Bool,
        trouble: ErrorLog
    ) {
        self.registry = registry
        self.endsRegistrations = endsRegistrations
        self.isOurRelay = isOurRelay
        self.trouble = trouble
        for withdrawal in known { withdrawals.insert(withdrawal) }
    }

    /// Whether the author of an event deleted it.
    func contains(_ event: Event) -> Bool { withdrawals.contains(event) }

    /// Whether a deletion is worth a signature check: something is stored that it may take back, or this is unknown.
    /// `isKept` returns whether an event is stored anywhere, `isAuthorKnown` whether anything by its author may be.
    mutating func isWanted(
        _ incoming: IncomingEvent,
        at now: Timestamp,
        isKept: (EventID) -> Bool,
        isAuthorKnown: () -> Bool
    ) -> Bool {
        guard let event = try? Event(scanned: incoming.scanned, in: incoming.json), let deletion = Deletion(event)
        else { return true }
        if (try? registry.hasRegistered(event.pubkey)) ?? true { return true }
        switch deletion.scope {
        case .everything: return isForUs(deletion) && (isAuthorKnown() || mayBeEarly(at: now))
        case .events(let ids, let addresses):
            // It may arrive before the registration that it takes back.
            if event.values(of: "k").contains(where: Self.registrationKinds.contains) { return true }
            if addresses.contains(where: { registry.keys.names.named(by: $0.identifier) != nil }) { return true }
            guard !ids.isEmpty || !addresses.isEmpty else { return false }
            if isAuthorKnown() { return true }
            return ids.prefix(Self.namesLookedAt).contains(where: isKept) || mayBeEarly(at: now)
        }
    }

    private mutating func mayBeEarly(at now: Timestamp) -> Bool {
        if strangers.second != now.seconds { strangers = (now.seconds, 0) }
        strangers.count += 1
        return strangers.count <= Self.maxOfStrangers
    }

    /// Returns a deletion (NIP-09) or a request to vanish (NIP-62). Nil if the event is neither, or not meant for this
    /// router.
    func read(_ event: Event) -> Deletion? {
        guard let deletion = Deletion(event), isForUs(deletion) else { return nil }
        return deletion
    }

    /// Ends the registrations that the deletion takes back, and remembers the events that it names.
    mutating func apply(_ deletion: Deletion, by event: Event, at now: Timestamp) -> Result {
        do {
            guard let ended = endsRegistrations ? try registry.apply(deletion) : 0 else {
                let message = MachineReadablePrefix.invalid.message(
                    "created_at: expected a time that is not ahead of now"
                )
                return .failed(
                    EventOutcome(
                        event: event.id,
                        end: .stopped(.refused(message)),
                        step: .deleted,
                        account: event.pubkey
                    )
                )
            }
            if ended > 0 { trouble.passed(at: now) }
            for withdrawal in deletion.withdrawals { withdrawals.insert(withdrawal) }
            return .applied(ended: ended)
        } catch {
            trouble.occurred(error, at: now)
            return .failed(.notKept(event.id, account: event.pubkey))
        }
    }

    private func isForUs(_ deletion: Deletion) -> Bool {
        guard case .everything(let relays) = deletion.scope else { return true }
        return relays.contains { $0 == Deletion.allRelays || isOurRelay($0) }
    }
}

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

    /// A hash that is the same for all versions of a replaceable event, even after a restart. Nil for other events.
    fileprivate static func hash(_ kind: Kind, identifier: @autoclosure () -> String) -> Int64? {
        let text: String
        switch kind.retention {
        case .regular, .ephemeral: return nil
        case .replaceable: text = "\(kind.rawValue):"
        case .addressable: text = "\(kind.rawValue):\(identifier())"
        }
        return SHA256.mark(of: Array(text.utf8))
    }
}

extension Withdrawals {
    func contains(_ event: Event) -> Bool { !isEmpty && contains(EventOrigin(event)) }
}

extension Deletion {
    /// The events that it deletes, by id or by other criteria.
    var withdrawals: [Withdrawal] {
        ids.map { Withdrawal(author: SIMD4(author.bytes), .event(SIMD4($0.bytes))) } + withdrawalsWithoutIDs
    }

    /// The events that it deletes by other criteria than their ids.
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
