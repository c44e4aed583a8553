/// The subscriptions of the lab's Web Push service, and those there were.
struct WebPushSubscriptions: Sendable {
    struct Entry: Sendable {
        var decryption: WebPushDecryption
        var applicationServerKey: String?
    }

    private var entries: [String: Entry] = [:]
    private var expired: Set<String> = []

    /// Throws `LabError` where the keys are none.
    mutating func add(_ subscription: WebPushSubscription) throws {
        let id = subscription.receiver.topic
        guard WebPushDesk.isSubscription(id[...]) else {
            throw LabError.invalid("A subscription's id is 1 to 128 characters of base64url.")
        }
        entries[id] = Entry(
            decryption: try WebPushDecryption(subscription.receiver),
            applicationServerKey: subscription.applicationServerKey
        )
        expired.remove(id)
    }

    /// From now on the subscription is gone. False where there is none.
    mutating func expire(_ id: String) -> Bool {
        guard entries.removeValue(forKey: id) != nil else { return false }
        expired.insert(id)
        return true
    }

    func entry(_ id: String) throws(WebPushRefusal) -> Entry {
        if let entry = entries[id] { return entry }
        if expired.contains(id) {
            throw WebPushRefusal(410, "ExpiredToken", "the browser no longer has this subscription")
        }
        throw WebPushRefusal(404, nil, "there never was such a subscription")
    }
}
