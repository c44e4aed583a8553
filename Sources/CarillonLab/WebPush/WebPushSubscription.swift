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

/// What the control endpoint is asked for: a subscription, all of which may be left to the lab.
///
/// `{"id": "…", "private_key": "<base64url>", "auth": "<base64url>", "application_server_key": "<base64url>",
/// "flavour": "mozilla"}`; the key is the operator's where it is left out, and `any` for a subscription that takes everybody's
/// messages; the flavour is apple where it is left out.
struct WebPushSubscriptionRequest: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id
        case privateKey = "private_key"
        case auth
        case applicationServerKey = "application_server_key"
        case flavour
    }

    private let id: String?
    private let keys: WebPushReceiver?
    private let applicationServerKey: String?
    private let flavour: WebPushFlavour

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decodeIfPresent(String.self, forKey: .id)
        applicationServerKey = try container.decodeIfPresent(String.self, forKey: .applicationServerKey)
        let word = try container.decodeIfPresent(String.self, forKey: .flavour) ?? WebPushFlavour.apple.rawValue
        guard let flavour = WebPushFlavour(rawValue: word) else {
            let words = WebPushFlavour.allCases.map(\.rawValue).joined(separator: ", ")
            throw container.invalid(.flavour, "flavour is one of \(words)")
        }
        self.flavour = flavour
        let bringsKeys = container.contains(.privateKey) || container.contains(.auth)
        keys = bringsKeys ? try WebPushReceiver(topic: "", from: decoder) : nil
    }

    /// `ownKey` is the operator's.
    func subscription(ownKey: String) -> WebPushSubscription {
        let key = applicationServerKey ?? ownKey
        var subscription = WebPushSubscription(applicationServerKey: key == "any" ? nil : key, flavour: flavour)
        let topic = id ?? subscription.receiver.topic
        subscription.receiver = keys ?? subscription.receiver
        subscription.receiver.topic = topic
        return subscription
    }
}

/// The subscriptions of the lab's Web Push service, and those there were.
struct WebPushSubscriptions: Sendable {
    struct Entry: Sendable {
        var decryption: WebPushDecryption
        var applicationServerKey: String?
        var flavour: WebPushFlavour
        /// The browser gave it up.
        var isGone = false
    }

    private var entries: [String: Entry] = [:]

    /// Throws `LabError` where the keys are none.
    mutating func add(_ subscription: WebPushSubscription) throws {
        let id = subscription.receiver.topic
        guard WebPushResponder.isSubscription(id[...]) else {
            throw LabError.invalid("A subscription's id is 1 to 128 characters of base64url.")
        }
        entries[id] = Entry(
            decryption: try WebPushDecryption(subscription.receiver),
            applicationServerKey: subscription.applicationServerKey,
            flavour: subscription.flavour
        )
    }

    /// From now on the subscription is gone. False where there is none.
    mutating func expire(_ id: String) -> Bool {
        guard entries[id]?.isGone == false else { return false }
        entries[id]?.isGone = true
        return true
    }

    /// Of a subscription that is or was; nil where there never was one.
    func entry(_ id: String) -> Entry? { entries[id] }
}
