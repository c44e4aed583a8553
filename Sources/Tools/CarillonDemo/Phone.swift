import CarillonLab
import Cipher
import Core
import Foundation
import Nostr

/// A device of the owner, as in its registration (kind 10062, contrib/docs/registration.md).
struct Phone {
    /// How much content a push has.
    enum Mode: String {
        /// Only the signal.
        case wake
        /// The signal with a constant text.
        case nudge
        /// Everything, in an envelope that only the device can decrypt.
        case sealed
        /// Everything.
        case alert
    }

    /// The push service.
    enum Service: String {
        case apns = "APNs"
        case fcm = "FCM"
        case unifiedPush = "UnifiedPush"
        case webPush = "Web Push"
    }

    let name: String
    let service: Service
    let mode: Mode
    /// Its name in the lab's record: the device token, the endpoint's topic or the subscription's ID.
    let target: String
    /// Its registration in a few words.
    let introduction: String
    /// The language of its texts; nil: English.
    var language: String?
    /// Opens sealed envelopes.
    var sealingKey: Person?
    /// Members of its registration that only this device has, as JSON.
    let fields: String

    /// All signals, without pauses between pushes.
    private static let preferences = """
        "filters":{"dm":true,"mention":true,"reply":true,"reaction":true},"signals":{"repost":true,"follow":true},\
        "batch":{"window_seconds":0,"cooldown_seconds":0}
        """

    /// Whether its push service must not learn anything about the event.
    var isSecret: Bool { !(service == .apns && mode == .alert) }

    /// The part visible to its push service; a phrase that follows a number.
    var secrecy: String {
        switch (service, mode) {
        case (.unifiedPush, _), (.webPush, _): "ciphertexts, which the device's own keys opened (RFC 8291)"
        case (_, .wake): "signals"
        case (_, .nudge): #"times "\#(PushChecker.Message.neutralTitle)", and the signal"#
        case (_, .sealed): "envelopes, all of one length, which the device's own key opened (NIP-44)"
        case (_, .alert): "notifications, all readable: the owner chose this mode"
        }
    }

    /// The content of the registration, before it is encrypted.
    private var content: String {
        let locale = language.map { #""locale":"\#($0)","# } ?? ""
        return #"{\#(fields),\#(locale)"mode":"\#(mode.rawValue)",\#(Self.preferences)}"#
    }

    /// The registration with `router`, signed by the phone's owner.
    func registration(by owner: Person, with router: PublicKey) throws -> Event {
        try owner.event(
            .pushRegistration,
            tags: [["d", "\(router.hex):\(target.prefix(16))"], ["protocol_version", "1"]],
            content: try owner.encrypt(content, to: router)
        )
    }

    /// The size of a sealed notification with its padding, in bytes.
    static let sealedByteCount = 2048

    /// The content that the app reads: the envelope's if there is one, else the payload. Nil for an envelope that the
    /// phone's key cannot decrypt.
    func reads(_ push: Push) -> JSON? {
        mode == .sealed ? opened(push).flatMap { JSON(parsing: Array($0.utf8)) } : push.payload
    }

    /// The text in the envelope of a push from FCM.
    func opened(_ push: Push) -> String? {
        guard let text = push.payload["message"]?["data"]?["sealed"]?.string,
            let envelope = JSON(parsing: Array(text.utf8)), envelope["alg"]?.string == "nip44",
            let router = envelope["from"]?.string.flatMap(PublicKey.init(hex:))
        else { return nil }
        return envelope["ct"]?.string.flatMap { try? sealingKey?.decrypt($0, from: router) }
    }

    /// The push as the phone's owner or app sees it, or why it was refused.
    func shows(_ push: Push) -> [String] {
        guard push.isAccepted else { return ["refused: \(push.status)"] }
        guard let content = reads(push) else { return ["the envelope cannot be opened"] }
        let texts = content["aps"]?["alert"] ?? content["notification"] ?? content
        let shown = [texts["title"], texts["body"]].compactMap { $0?.string }
        return shown.isEmpty ? [push.line] : shown
    }

    /// An iPhone that shows everything.
    static func iPhone(_ name: String) -> Phone {
        let token = Hex.encode(SecureRandom.bytes(32))
        return Phone(
            name: name,
            service: .apns,
            mode: .alert,
            target: token,
            introduction: "platform ios, mode alert: the push shows the event",
            fields: #""platform":"ios","token":"\#(token)","device":"iphone""#
        )
    }

    /// An iPhone that shows a neutral text.
    static func discreetIPhone() -> Phone {
        let token = Hex.encode(SecureRandom.bytes(32))
        return Phone(
            name: "iPhone",
            service: .apns,
            mode: .nudge,
            target: token,
            introduction: "platform ios, mode nudge: a neutral text and the signal",
            fields: #""platform":"ios","token":"\#(token)","device":"iphone""#
        )
    }

    /// An Android phone with a key for sealed notifications only.
    static func android() throws -> Phone {
        let token = Base64URL.encode(SecureRandom.bytes(16)) + ":APA91b" + Base64URL.encode(SecureRandom.bytes(96))
        let key = try Person("android")
        return Phone(
            name: "Android phone",
            service: .fcm,
            mode: .sealed,
            target: token,
            introduction: "platform android, mode sealed: the event, encrypted to the phone's own key",
            sealingKey: key,
            fields: #""platform":"android","token":"\#(token)","device":"nexus","sealing_key":"\#(key.hex)""#
        )
    }

    /// A browser in Vienna, subscribed at `endpoint`. Its push service sees only ciphertext (RFC 8291).
    static func browser(endpoint: String, receiver: WebPushReceiver) throws -> Phone {
        Phone(
            name: "browser",
            service: .webPush,
            mode: .alert,
            target: receiver.topic,
            introduction: "platform web, mode alert, locale de-AT: the event in German, encrypted",
            language: "de-AT",
            fields: #""platform":"web","subscription":\#(try receiver.subscription(endpoint)),"device":"firefox""#
        )
    }

    /// A phone without Google. Its push server sees only ciphertext (RFC 8291).
    static func unifiedPush(server: String, receiver: WebPushReceiver) throws -> Phone {
        let subscription = try receiver.subscription("\(server)/\(receiver.topic)?up=1")
        return Phone(
            name: "UnifiedPush phone",
            service: .unifiedPush,
            mode: .wake,
            target: receiver.topic,
            introduction: "platform unifiedpush, mode wake: a wake-up without content, encrypted",
            fields: #""platform":"unifiedpush","subscription":\#(subscription),"device":"pixel""#
        )
    }
}

extension WebPushReceiver {
    /// The subscription in a browser's form (`PushSubscription.toJSON()`).
    fileprivate func subscription(_ endpoint: String) throws -> String {
        let keys = try publicKeys()
        return #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(keys.p256dh)","auth":"\#(keys.auth)"}}"#
    }
}

/// A person on Nostr with new keys.
struct Person {
    let name: String
    let keys: KeyPair

    init(_ name: String) throws {
        self.name = name
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    var hex: String { keys.publicKey.hex }

    /// Signs an event, dated `age` back.
    func event(_ kind: Kind, age: Duration = .zero, tags: [[String]] = [], content: String = "") throws -> Event {
        try Event.signed(
            kind: kind,
            createdAt: Timestamp.now().seconds - age.seconds,
            tags: tags,
            content: content,
            by: keys
        )
    }

    /// Kind 0: the person's name.
    func profile() throws -> Event {
        try event(.profile, content: #"{"name":"\#(name)"}"#)
    }

    /// Encrypts a text for the owner of `reader` (NIP-44).
    func encrypt(_ text: String, to reader: PublicKey) throws -> String {
        let key = try ConversationKey(secret: keys.secret, public: reader)
        return try NIP44.encrypt(text, key: key, nonce: SecureRandom.bytes(NIP44.nonceByteCount))
    }

    /// Decrypts a text of `writer` for this person (NIP-44).
    func decrypt(_ text: String, from writer: PublicKey) throws -> String {
        try NIP44.decryptText(text, key: try ConversationKey(secret: keys.secret, public: writer))
    }
}

/// A direct message by NIP-17: a message in a seal (kind 13) in a gift wrap (kind 1059), which hides its author.
enum GiftWrap {
    /// Gift wraps are backdated at random by up to two days.
    private static let longestBackdating: Int64 = 2 * 24 * 60 * 60

    static func event(around text: String, from sender: Person, to reader: PublicKey) throws -> Event {
        let message = try sender.event(.chatMessage, tags: [["p", reader.hex]], content: text)
        let seal = try sender.event(Kind(13), content: try sender.encrypt(unsigned(message), to: reader))
        let nobody = try Person("")
        return try Event.signed(
            kind: .giftWrap,
            createdAt: Timestamp.now().seconds - Int64.random(in: 0...longestBackdating),
            tags: [["p", reader.hex]],
            content: try nobody.encrypt(String(decoding: seal.json, as: UTF8.self), to: reader),
            by: nobody.keys
        )
    }

    /// The message without its signature, so that its authorship cannot be proved (NIP-59, "rumor").
    private static func unsigned(_ event: Event) throws -> String {
        guard var object = try JSONSerialization.jsonObject(with: Data(event.json)) as? [String: Any] else {
            throw DemoError("an event is not a JSON object")
        }
        object["sig"] = nil
        return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }
}
