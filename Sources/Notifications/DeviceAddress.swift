/// Where a push goes: one device as its owner registered it. Everything here is secret and stays out of logs.
package struct DeviceAddress: Sendable, Hashable {
    /// The transport that serves it: `ios`, `android`, `unifiedpush`, `web`, or what a plugin names.
    package var platform: String
    /// The operator's app block it belongs to.
    package var app: String
    /// The device token, or the endpoint URL.
    package var token: String
    /// Further fields of the registration, such as `p256dh` and `auth`.
    package var fields: [String: String]
    /// When the owner last registered it, in milliseconds since 1970: a GONE that is older says nothing about it.
    package var registeredAt: Int64
    /// Whether its push service took a push for this token before, as far as is known.
    package var isProven: Bool

    package init(
        platform: String,
        app: String,
        token: String,
        fields: [String: String] = [:],
        registeredAt: Int64,
        isProven: Bool = true
    ) {
        self.platform = platform
        self.app = app
        self.token = token
        self.fields = fields
        self.registeredAt = registeredAt
        self.isProven = isProven
    }
}
