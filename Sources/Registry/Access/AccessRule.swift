import Core
import Nostr

/// The subject of an access rule: a key, a network, an invitation or a relay.
package enum AccessSubject: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case key, network, invitation, relay
    }

    /// An account, or a key that signs registrations for one.
    case key(PublicKey)
    /// A network in CIDR notation, normalized.
    case network(String)
    /// A secret that opens a session (NIP-46), given as the hex digits of its keyed digest.
    case invitation(String)
    /// A relay's normalized URL, a host, or all hosts below one as in `*.example.com`.
    case relay(String)

    package var kind: Kind {
        switch self {
        case .key: .key
        case .network: .network
        case .invitation: .invitation
        case .relay: .relay
        }
    }

    /// The text that the database stores.
    package var text: String {
        switch self {
        case .key(let key): key.hex
        case .network(let text), .invitation(let text), .relay(let text): text
        }
    }

    /// Returns nil if the text is not a valid key.
    package init?(_ kind: Kind, _ text: String) {
        switch kind {
        case .key:
            guard let key = PublicKey(hex: text) else { return nil }
            self = .key(key)
        case .network: self = .network(text)
        case .invitation: self = .invitation(text)
        case .relay: self = .relay(text)
        }
    }
}

/// An operator's decision to allow or block a subject.
package struct AccessRule: Hashable, Sendable {
    package var subject: AccessSubject
    /// Whether it blocks the subject; false: it allows it.
    package var isBlock: Bool
    /// Shown to operators only.
    package var reason: String
    package var madeAt: Timestamp
    /// When the rule expires. Nil: never.
    package var until: Timestamp?
    /// Whether the rule is from the configuration; false: a command made it.
    package var isConfigured: Bool

    package init(
        _ subject: AccessSubject,
        isBlock: Bool,
        reason: String = "",
        madeAt: Timestamp,
        until: Timestamp? = nil,
        isConfigured: Bool = false
    ) {
        self.subject = subject
        self.isBlock = isBlock
        self.reason = reason
        self.madeAt = madeAt
        self.until = until
        self.isConfigured = isConfigured
    }

    func isInForce(at now: Timestamp) -> Bool { until.map { now < $0 } ?? true }
}

/// The policy that decides which clients may register with this router.
package enum AccessMode: String, Sendable, CaseIterable {
    /// All clients that are not blocked.
    case open
    /// Clients with a session opened by an invitation (NIP-46), and keys that are allowed by name.
    case inviteOnly = "invite-only"
    /// Keys that are allowed by name, and clients on allowed networks.
    case allowlist
}

/// All current access rules. A block takes precedence over every rule that allows the same subject.
package struct AccessList: Sendable {
    package let mode: AccessMode
    /// The rules of the configuration first.
    package let rules: [AccessRule]
    /// Keys that are blocked by name, or because they used a blocked invitation.
    package let blockedKeys: Set<PublicKey>
    private let allowedKeys: Set<PublicKey>
    private let blockedInvitations: Set<String>
    /// When the next rule expires; nil: no rule expires.
    package let nextEnd: Timestamp?

    /// `invitees` maps the digest of each used invitation to the client that used it.
    package init(
        mode: AccessMode = .open,
        rules: [AccessRule] = [],
        invitees: [String: PublicKey] = [:],
        now: Timestamp
    ) {
        let rules = rules.filter { $0.isInForce(at: now) }
        var (blocked, allowed): (Set<PublicKey>, Set<PublicKey>) = ([], [])
        var invitations: Set<String> = []
        for rule in rules {
            switch rule.subject {
            case .key(let key) where rule.isBlock: blocked.insert(key)
            case .key(let key): allowed.insert(key)
            case .invitation(let digest) where rule.isBlock:
                invitations.insert(digest)
                if let client = invitees[digest] { blocked.insert(client) }
            case .invitation, .network, .relay: break
            }
        }
        self.mode = mode
        self.rules = rules
        blockedKeys = blocked
        allowedKeys = allowed.subtracting(blocked)
        blockedInvitations = invitations
        nextEnd = rules.compactMap(\.until).min()
    }

    package func isBlocked(_ key: PublicKey) -> Bool { blockedKeys.contains(key) }

    /// Whether a rule blocks a device that `author` registered for `account`.
    package func isBlocked(_ author: PublicKey, for account: PublicKey) -> Bool {
        !blockedKeys.isEmpty && (blockedKeys.contains(author) || blockedKeys.contains(account))
    }

    /// Whether a key is allowed by name.
    package func isAllowed(_ key: PublicKey) -> Bool { allowedKeys.contains(key) }

    /// Whether an invitation is revoked. `digest` is the keyed digest of its secret, in hex.
    package func isBlocked(invitation digest: String) -> Bool { blockedInvitations.contains(digest) }

    /// The rules about a key.
    package func rules(about key: PublicKey) -> [AccessRule] { rules.filter { $0.subject == .key(key) } }

    /// Returns the reason to refuse a registration that `author` signed for `account`; nil if it is allowed.
    /// `isListed`: it came from an allowed network.
    func refusal(
        ofRegistrationBy author: PublicKey,
        for account: PublicKey,
        isListed: Bool = false
    ) -> RegistrationError? {
        if isBlocked(author, for: account) { return .blocked("this router does not serve this key") }
        guard mode == .allowlist, !isListed, !isAllowed(author), !isAllowed(account) else { return nil }
        return .blocked("only keys that this router's operator has listed may register here")
    }
}
