/// What the control endpoint is asked for: a subscription, all of which may be left to the lab.
///
/// `{"id": "…", "private_key": "<base64url>", "auth": "<base64url>", "application_server_key": "<base64url>",
/// "flavour": "mozilla"}`; the key is the operator's where it is left out, and `any` for a subscription that takes everybody's
/// messages; the flavour is apple where it is left out.
struct WebPushSubscriptionOrder: Decodable {
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
            throw container.mistake(.flavour, "flavour is one of \(words)")
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
