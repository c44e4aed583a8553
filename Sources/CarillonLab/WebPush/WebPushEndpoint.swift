/// What a path says of a subscription.
struct WebPushEndpoint {
    var id: String
    var flavour: WebPushFlavour

    /// Nil for a path that is none of an endpoint.
    init?(_ request: HTTP1Request) {
        guard let flavour = WebPushFlavour.allCases.first(where: { request.uri.hasPrefix($0.folder) }) else {
            return nil
        }
        let id = request.uri.dropFirst(flavour.folder.count)
        guard WebPushDesk.isSubscription(id) else { return nil }
        self.id = String(id)
        self.flavour = flavour
    }
}
