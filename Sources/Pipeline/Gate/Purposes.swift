import Nostr

/// What an event may be for, by its kind: a table with a place for each, since the question comes up for every event.
struct Purposes {
    enum Purpose: UInt8 {
        case registration
        /// A NIP-46 request, to us or to others.
        case request
        /// A list of relays or devices.
        case list
        /// An account's own list that rules or filters read. A rule may be for it as well.
        case recipientList
        /// A wake-up hint.
        case hint
        /// It takes events of its author's back.
        case deletion
        /// Something that a rule may be for.
        case notice
        case other
    }

    let ourKey: PublicKey
    /// Nil: any kind may be notifiable.
    private let notifiableKinds: Set<UInt16>?
    private let table: [Purpose]

    init(
        ourKey: PublicKey,
        notifiableKinds: Set<UInt16>?,
        takesRequests: Bool,
        takesHints: Bool,
        recipientKinds: Set<Kind>
    ) {
        self.ourKey = ourKey
        self.notifiableKinds = notifiableKinds
        table = (0...UInt16.max).map { number in
            switch Kind(number) {
            case .pushRegistration, .addressablePushRegistration: .registration
            case .remoteSigning where takesRequests: .request
            case .relayList, .deviceList: .list
            case .deletion, .requestToVanish: .deletion
            case .wakeUpHint where takesHints: .hint
            case let kind where recipientKinds.contains(kind): .recipientList
            default: notifiableKinds?.contains(number) ?? true ? .notice : .other
            }
        }
    }

    subscript(kind: Kind) -> Purpose { table[Int(kind.rawValue)] }

    /// Whether a rule may be for events of that kind, whatever else they are for.
    func isRuled(_ kind: Kind) -> Bool {
        notifiableKinds?.contains(kind.rawValue) ?? true
    }
}
