import Cipher
import Notifications

/// A device token as it stands in a URL of the sealed ingress (seed 001), which nobody registered.
package struct IngressToken: Sendable, Hashable, Concealed {
    /// Lower-case hex digits.
    package let token: String
    /// Whether it is one of Apple's development environment.
    package let isSandbox: Bool
    /// The operator's app block it belongs to.
    package let app: String

    package init(token: String, isSandbox: Bool, app: String) {
        self.token = token
        self.isSandbox = isSandbox
        self.app = app
    }

    /// Where pushes to it go. Nobody registered it, so no GONE is too old to count.
    var address: DeviceAddress {
        DeviceAddress(
            platform: "ios",
            app: app,
            token: token,
            fields: isSandbox ? ["environment": "sandbox"] : [:],
            registeredAt: 0
        )
    }

    /// What its handle is made of. No token of a registration has these blanks.
    var name: String { "ingress \(isSandbox ? "sandbox" : "production") \(app) \(token)" }
}
