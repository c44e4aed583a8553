import Cipher
import Foundation

/// A browser's subscription at the lab's Web Push service.
public struct WebPushSubscription: Sendable, Hashable {
    /// The last part of its endpoint, and the browser's keys.
    public var receiver: WebPushReceiver
    /// Whose messages it takes, in base64url; nil: those of any key.
    public var applicationServerKey: String?
    /// Whose service it is at.
    public var flavour: WebPushFlavour

    /// Takes keys and a place that exist, unchecked: what is none is refused by the lab that is given the subscription.
    public init(receiver: WebPushReceiver, applicationServerKey: String?, flavour: WebPushFlavour = .apple) {
        self.receiver = receiver
        self.applicationServerKey = applicationServerKey
        self.flavour = flavour
    }

    /// Makes new keys and a new place, as a browser does when an app subscribes.
    public init(applicationServerKey: String?, flavour: WebPushFlavour = .apple) {
        self.init(
            receiver: WebPushReceiver(topic: Base64URL.encode(SecureRandom.bytes(24))),
            applicationServerKey: applicationServerKey,
            flavour: flavour
        )
    }

    /// As `PushSubscription.toJSON()` writes it, with the endpoint at a service.
    func json(at url: String) throws -> JSONValue {
        let keys = try receiver.publicKeys()
        return .object([
            "endpoint": .string(endpoint(at: url)),
            "keys": .object(["p256dh": .string(keys.p256dh), "auth": .string(keys.auth)]),
        ])
    }

    func endpoint(at url: String) -> String { url + flavour.folder + receiver.topic }
}
