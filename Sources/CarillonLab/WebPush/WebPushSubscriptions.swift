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
        guard WebPushDesk.isSubscription(id[...]) else {
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
