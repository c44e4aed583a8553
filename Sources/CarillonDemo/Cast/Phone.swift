import CarillonLab
import Cipher
import Nostr

/// A device of the owner, as a registration describes it (seed 004, kind 10062).
struct Phone {
    /// What it is told.
    enum Mode {
        /// What happened.
        case alert
        /// That something happened, and of what sort.
        case wake
    }

    let name: String
    let mode: Mode
    /// By which the lab's records name it: the device token, or the topic of the endpoint.
    let target: String
    /// What it registers for, in a few words.
    let introduction: String
    /// The content of the registration, before it is encrypted.
    private let content: String

    /// Everything that is notifiable, and no pause between pushes.
    private static let wishes = """
        "filters":{"dm":true,"mention":true,"reply":true,"reaction":true},"signals":{"repost":true,"follow":true},\
        "batch":{"window_seconds":0,"cooldown_seconds":0}
        """

    /// An iPhone that shows what the push says.
    static func iPhone(_ name: String) -> Phone {
        let token = Hex.encode(SecureRandom.bytes(32))
        return Phone(
            name: name,
            mode: .alert,
            target: token,
            introduction: "platform ios, mode alert: the push says what happened",
            content: #"{"platform":"ios","token":"\#(token)","device":"iphone","mode":"alert",\#(wishes)}"#
        )
    }

    /// A phone without Google, whose push server at `server` sees ciphertext only (RFC 8291).
    static func unifiedPush(server: String, receiver: WebPushReceiver) throws -> Phone {
        let keys = try receiver.publicKeys()
        let subscription = """
            {"endpoint":"\(server)/\(receiver.topic)?up=1","keys":{"p256dh":"\(keys.p256dh)","auth":"\(keys.auth)"}}
            """
        return Phone(
            name: "UnifiedPush phone",
            mode: .wake,
            target: receiver.topic,
            introduction: "platform unifiedpush, mode wake: the push says that something happened, encrypted",
            content: """
                {"platform":"unifiedpush","subscription":\(subscription),"device":"pixel","mode":"wake",\(wishes)}
                """
        )
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
