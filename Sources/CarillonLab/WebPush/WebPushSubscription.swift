import Cipher
import Foundation

/// A browser's subscription at the lab's Web Push service.
public struct WebPushSubscription: Sendable, Hashable {
    /// The last part of its endpoint, and the browser's keys.
    public var receiver: WebPushReceiver
    /// The key of the accepted sender, in base64url; nil for any sender.
    public var applicationServerKey: String?
    /// Its push service.
    public var flavour: WebPushFlavour

    /// Takes existing keys without a check. The lab refuses a subscription with an invalid id or key.
    public init(receiver: WebPushReceiver, applicationServerKey: String?, flavour: WebPushFlavour = .apple) {
        self.receiver = receiver
        self.applicationServerKey = applicationServerKey
        self.flavour = flavour
    }

    /// Makes new keys and a new id, as a browser does when an app subscribes.
    public init(applicationServerKey: String?, flavour: WebPushFlavour = .apple) {
        self.init(
            receiver: WebPushReceiver(topic: Base64URL.encode(SecureRandom.bytes(24))),
            applicationServerKey: applicationServerKey,
            flavour: flavour
        )
    }

    /// The subscription in the form of `PushSubscription.toJSON()`.
    func json(at url: String) throws -> JSONValue {
        let keys = try receiver.publicKeys()
        return .object([
            "endpoint": .string(endpoint(at: url)),
            "keys": .object(["p256dh": .string(keys.p256dh), "auth": .string(keys.auth)]),
        ])
    }

    func endpoint(at url: String) -> String { url + flavour.folder + receiver.topic }
}

/// A request to the control endpoint for a subscription. Every member is optional.
///
/// `{"id": "…", "private_key": "<base64url>", "auth": "<base64url>", "application_server_key": "<base64url>",
/// "flavour": "mozilla"}`. The key is the operator's by default, and `any` for a subscription that accepts every
/// sender. The flavour is apple by default.
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

    /// `ownKey` is the operator's key.
    func subscription(ownKey: String) -> WebPushSubscription {
        let key = applicationServerKey ?? ownKey
        var subscription = WebPushSubscription(applicationServerKey: key == "any" ? nil : key, flavour: flavour)
        let topic = id ?? subscription.receiver.topic
        subscription.receiver = keys ?? subscription.receiver
        subscription.receiver.topic = topic
        return subscription
    }
}

/// The present and former subscriptions of the lab's Web Push service.
struct WebPushSubscriptions: Sendable {
    struct Entry: Sendable {
        var decryption: WebPushDecryption
        var applicationServerKey: String?
        var flavour: WebPushFlavour
        /// The browser ended it.
        var isGone = false
    }

    private var entries: [String: Entry] = [:]

    /// Throws `LabError` for an invalid id or key.
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

    /// Ends a subscription. Returns false if there is none.
    mutating func expire(_ id: String) -> Bool {
        guard entries[id]?.isGone == false else { return false }
        entries[id]?.isGone = true
        return true
    }

    /// A present or former subscription; nil if there never was one.
    func entry(_ id: String) -> Entry? { entries[id] }
}
