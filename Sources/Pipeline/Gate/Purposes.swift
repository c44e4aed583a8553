import Nostr

/// What an event may be for, by its kind.
struct Purposes {
    enum Purpose {
        case registration
        /// A NIP-46 request to us.
        case request
        /// A list of relays or devices.
        case list
        /// A wake-up hint.
        case hint
        /// Something that a rule may be for.
        case notice
        case other
    }

    let ourKey: PublicKey
    /// Nil: any kind may be notifiable.
    private let notifiableKinds: Set<UInt16>?
    private let takesRequests: Bool
    private let takesHints: Bool

    init(ourKey: PublicKey, notifiableKinds: Set<UInt16>?, takesRequests: Bool, takesHints: Bool) {
        self.ourKey = ourKey
        self.notifiableKinds = notifiableKinds
        self.takesRequests = takesRequests
        self.takesHints = takesHints
    }

    /// `keys` are the event's `p` values.
    func purpose(of event: ScannedEvent, naming keys: [Bytes32]) -> Purpose {
        switch event.kind {
        case .pushRegistration, .addressablePushRegistration: .registration
        case .remoteSigning where takesRequests && keys.contains(ourKey.bytes): .request
        case .relayList, .deviceList: .list
        case .wakeUpHint where takesHints: .hint
        default: notifiableKinds?.contains(event.kind.rawValue) ?? true ? .notice : .other
        }
    }
}
