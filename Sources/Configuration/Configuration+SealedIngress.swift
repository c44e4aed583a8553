import WebIngress

extension Configuration {
    /// `POST /push/:device_token/:id` for Web Push senders (seed 001).
    package struct SealedIngress: Sendable {
        /// The app whose `ios` block is used.
        package var app = "default"
        /// Whose word on who a client is counts.
        package var trustedProxies = TrustedProxies() {
            didSet { web.isTrustedProxy = trustedProxies.contains }
        }
        /// Devices that are remembered, at most.
        package var devices = 1_000_000
        /// Where it listens and what one client may do.
        package var web = WebIngressConfiguration()

        package init() {
            web.isTrustedProxy = trustedProxies.contains
        }
    }
}
