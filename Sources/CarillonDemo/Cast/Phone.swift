import CarillonLab
import Nostr

/// A device of the owner, as a registration describes it (seed 004, kind 10062).
struct Phone {
    /// What it is told.
    enum Mode: String {
        /// That something happened, and of what sort.
        case wake
        /// The same, beside a text that is always the same.
        case nudge
        /// What happened, in an envelope that the device alone opens.
        case sealed
        /// What happened.
        case alert
    }

    /// Who brings it the pushes.
    enum Service: String {
        case apns = "APNs"
        case fcm = "FCM"
        case unifiedPush = "UnifiedPush"
        case webPush = "Web Push"
    }

    let name: String
    let service: Service
    let mode: Mode
    /// By which the lab's records name it: the device token, the topic of the endpoint or the id of the subscription.
    let target: String
    /// What it registers for, in a few words.
    let introduction: String
    /// In which it is spoken to; nil: English.
    var language: String?
    /// Opens the envelopes it gets.
    var sealingKey: Person?
    /// What only this device says of itself, as members of JSON.
    let fields: String

    /// Everything that is notifiable, and no pause between pushes.
    private static let wishes = """
        "filters":{"dm":true,"mention":true,"reply":true,"reaction":true},"signals":{"repost":true,"follow":true},\
        "batch":{"window_seconds":0,"cooldown_seconds":0}
        """

    /// Whether its push service must learn nothing of the event.
    var isSecret: Bool { !(service == .apns && mode == .alert) }

    /// What its push service gets of the event, in a few words after how many.
    var secrecy: String {
        switch (service, mode) {
        case (.unifiedPush, _), (.webPush, _): "ciphertexts, which the device's own keys opened (RFC 8291)"
        case (_, .wake): "signals"
        case (_, .nudge): #"times "\#(Judge.Message.neutralTitle)", and the signal"#
        case (_, .sealed): "envelopes, all of one length, which the device's own key opened (NIP-44)"
        case (_, .alert): "notifications, all of them readable, as their owner wants"
        }
    }

    /// The content of the registration, before it is encrypted.
    private var content: String {
        let locale = language.map { #""locale":"\#($0)","# } ?? ""
        return #"{\#(fields),\#(locale)"mode":"\#(mode.rawValue)",\#(Self.wishes)}"#
    }

    /// The registration with `router`, signed by the phone's owner.
    func registration(by owner: Person, with router: PublicKey) throws -> Event {
        try owner.event(
            .pushRegistration,
            tags: [["d", "\(router.hex):\(target.prefix(16))"], ["protocol_version", "1"]],
            content: try owner.encrypt(content, to: router)
        )
    }
}
