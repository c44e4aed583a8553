import Nostr

extension RelayClient {
    /// How a router advertises itself here (seed 004, kind 10067); `router` where it is known already which one is meant. Waits for
    /// it: a router that has just started publishes it soon.
    mutating func advertisement(of router: PublicKey? = nil) async throws -> Event {
        let filter = Filter(authors: router.map { [$0] }, kinds: [.notificationRelay])
        let subscription = try await subscribe("router", to: filter)
        guard let event = try await next(of: subscription) else {
            throw DemoError("the router does not advertise itself with a kind 10067")
        }
        return event
    }
}
