import HTTPLanes
import WebIngress

extension Configuration {
    /// `POST /push/:device_token/:id` for Web Push senders (seed 001).
    package struct SealedIngress: Sendable {
        /// The app whose `ios` block is used.
        package var app = "default"
        /// Networks of proxies whose word on who a client is counts, as CIDR blocks.
        package var trustedProxies: [AddressBlock] = [] {
            didSet {
                web.isTrustedProxy = { [trustedProxies] address in
                    guard let address = IPAddress(address) else { return false }
                    return trustedProxies.contains { $0.contains(address) }
                }
            }
        }
        /// Devices that are remembered, at most.
        package var devices = 1_000_000
        /// Where it listens and what one client may do.
        package var web = WebIngressConfiguration()

        package init() {}
    }
}
