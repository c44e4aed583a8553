import PluginKit

/// Where the servers of the environments are, as `https://host[:port]`. The field `environment` of a registration says
/// `production`, or `sandbox` (`development` in the words of the app's entitlements).
struct Origins: Sendable {
    static let apple = PerEnvironment(
        production: "https://api.push.apple.com",
        sandbox: "https://api.sandbox.push.apple.com"
    )
    /// Where broadcast channels are managed.
    static let appleManagement = PerEnvironment(
        production: "https://api-manage-broadcast.push.apple.com:2196",
        sandbox: "https://api-manage-broadcast.sandbox.push.apple.com:2195"
    )

    let all: PerEnvironment<String>
    /// Where devices are whose registration does not say.
    let main: Environment

    init(of all: PerEnvironment<String>, main: Environment = .production) {
        self.all = all
        self.main = main
    }

    /// Whether there is another place to look for a device.
    var differ: Bool { all.production != all.sandbox }

    static func isEnvironment(_ field: BorrowedText) -> Bool {
        field == "production" || isSandbox(field)
    }

    /// The environment of a registration with that field; one that says something else counts as absent.
    func environment(_ field: BorrowedText?) -> Environment {
        guard differ, let field, Origins.isEnvironment(field) else { return main }
        return Origins.isSandbox(field) ? .sandbox : .production
    }

    private static func isSandbox(_ field: BorrowedText) -> Bool {
        field == "sandbox" || field == "development"
    }
}
