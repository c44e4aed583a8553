extension Lab {
    /// Makes a browser's subscription to the operator's messages.
    public func subscribe(_ flavour: WebPushFlavour = .apple) throws -> WebPushSubscription {
        let key = vapid?.applicationServerKey
        let subscription = WebPushSubscription(applicationServerKey: key, flavour: flavour)
        try declare(subscription)
        return subscription
    }

    /// Adds a subscription, or has one back that had gone. Throws `LabError` where its id or keys are none.
    public func declare(_ subscription: WebPushSubscription) throws {
        try core.withState { try $0.subscriptions.add(subscription) }
    }

    /// The browser gives a subscription up: messages to it get 410. False where there is none of that id.
    @discardableResult
    public func expire(subscription id: String) -> Bool {
        core.withState { $0.subscriptions.expire(id) }
    }

    /// Where messages for a subscription go; nil where the service was left out.
    public func endpoint(of subscription: WebPushSubscription) -> String? {
        webPushURL.map(subscription.endpoint(at:))
    }
}
