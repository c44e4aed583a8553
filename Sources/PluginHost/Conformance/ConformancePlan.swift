/// What a conformance test is to check, and with what.
package struct ConformancePlan: Sendable, Hashable, Codable {
    /// A registration that a platform takes, for plugins that take none of the usual ones.
    package struct Registration: Sendable, Hashable, Codable {
        package var token: String
        package var fields: [String: String]

        package init(token: String, fields: [String: String] = [:]) {
            self.token = token
            self.fields = fields
        }
    }

    /// The shared object.
    package var path: String
    /// By platform the block of one app as JSON, by filter its settings. What has none is checked with `{}`.
    package var configurations: [String: String]
    /// By platform.
    package var registrations: [String: Registration]
    /// How long a delivery may take when its answer is there at once, in milliseconds.
    package var patience: Int

    package init(
        path: String,
        configurations: [String: String] = [:],
        registrations: [String: Registration] = [:],
        patience: Int = 5000
    ) {
        self.path = path
        self.configurations = configurations
        self.registrations = registrations
        self.patience = patience
    }
}
