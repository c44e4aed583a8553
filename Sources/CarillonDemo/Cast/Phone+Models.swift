import CarillonLab
import Cipher

extension Phone {
    /// An iPhone that shows what the push says.
    static func iPhone(_ name: String) -> Phone {
        let token = Hex.encode(SecureRandom.bytes(32))
        return Phone(
            name: name,
            service: .apns,
            mode: .alert,
            target: token,
            introduction: "platform ios, mode alert: the push says what happened",
            fields: #""platform":"ios","token":"\#(token)","device":"iphone""#
        )
    }

    /// An iPhone whose pushes show a neutral text.
    static func discreetIPhone() -> Phone {
        let token = Hex.encode(SecureRandom.bytes(32))
        return Phone(
            name: "iPhone",
            service: .apns,
            mode: .nudge,
            target: token,
            introduction: "platform ios, mode nudge: a neutral text, and of what sort it is",
            fields: #""platform":"ios","token":"\#(token)","device":"iphone""#
        )
    }

    /// An Android phone with a key that was made for sealed notifications and is nobody's identity.
    static func android() throws -> Phone {
        let token = Base64URL.encode(SecureRandom.bytes(16)) + ":APA91b" + Base64URL.encode(SecureRandom.bytes(96))
        let key = try Person("android")
        return Phone(
            name: "Android phone",
            service: .fcm,
            mode: .sealed,
            target: token,
            introduction: "platform android, mode sealed: what happened, in an envelope for the phone's own key",
            sealingKey: key,
            fields: #""platform":"android","token":"\#(token)","device":"nexus","sealing_key":"\#(key.hex)""#
        )
    }

    /// A browser in Vienna, subscribed at `endpoint`; its push service sees ciphertext only (RFC 8291).
    static func browser(endpoint: String, receiver: WebPushReceiver) throws -> Phone {
        Phone(
            name: "browser",
            service: .webPush,
            mode: .alert,
            target: receiver.topic,
            introduction: "platform web, mode alert, locale de-AT: what happened in German, encrypted",
            language: "de-AT",
            fields: #""platform":"web","subscription":\#(try receiver.subscription(endpoint)),"device":"firefox""#
        )
    }

    /// A phone without Google, whose push server at `server` sees ciphertext only (RFC 8291).
    static func unifiedPush(server: String, receiver: WebPushReceiver) throws -> Phone {
        let subscription = try receiver.subscription("\(server)/\(receiver.topic)?up=1")
        return Phone(
            name: "UnifiedPush phone",
            service: .unifiedPush,
            mode: .wake,
            target: receiver.topic,
            introduction: "platform unifiedpush, mode wake: the push says that something happened, encrypted",
            fields: #""platform":"unifiedpush","subscription":\#(subscription),"device":"pixel""#
        )
    }
}

extension WebPushReceiver {
    /// As a browser describes it (`PushSubscription.toJSON()`).
    fileprivate func subscription(_ endpoint: String) throws -> String {
        let keys = try publicKeys()
        return #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(keys.p256dh)","auth":"\#(keys.auth)"}}"#
    }
}
