import Delivery

/// What a pipeline reaches beside its stages. Each may be missing, and what it is for then does not happen.
package struct PipelineDoors: Sendable {
    /// Without one, registering takes no session and requests to the router's key concern nobody.
    package var remoteSigner: (any RemoteSigner)?
    /// Without one, nothing waits for what is not at hand.
    package var contextFetcher: (any ContextFetcher)?
    /// Without one, hints of partners are not taken and wake nobody.
    package var hintObserver: (any HintObserver)?
    /// Without one, what may only be seen sealed goes out in its stricter form.
    package var sealer: (any NotificationSealer)?
    /// Without one, every device is woken whenever there is something.
    package var paceStore: (any PaceStore)?
    /// Without one, or without a pace store, there is always room.
    package var room: (any DeliveryRoom)?
    /// Whether that is our own socket's URL, in whatever spelling (NIP-62).
    package var isOurRelay: @Sendable (String) -> Bool

    package init(
        remoteSigner: (any RemoteSigner)? = nil,
        contextFetcher: (any ContextFetcher)? = nil,
        hintObserver: (any HintObserver)? = nil,
        sealer: (any NotificationSealer)? = nil,
        paceStore: (any PaceStore)? = nil,
        room: (any DeliveryRoom)? = nil,
        isOurRelay: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.remoteSigner = remoteSigner
        self.contextFetcher = contextFetcher
        self.hintObserver = hintObserver
        self.sealer = sealer
        self.paceStore = paceStore
        self.room = room
        self.isOurRelay = isOurRelay
    }
}
