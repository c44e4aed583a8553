import PluginKit

/// Apple's servers for apps from the store and TestFlight, or those for development builds.
enum Environment: UInt8, Sendable {
    case production
    case sandbox

    var other: Environment { self == .production ? .sandbox : .production }
}

/// A value for each environment.
struct PerEnvironment<Value: Sendable>: Sendable {
    let production: Value
    let sandbox: Value

    subscript(environment: Environment) -> Value {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }

    func map<Other>(_ transform: (Value) -> Other) -> PerEnvironment<Other> {
        PerEnvironment<Other>(production: transform(production), sandbox: transform(sandbox))
    }
}

/// The origins of the environments' servers, as `https://host[:port]`. A registration's field `environment` is
/// `production` or `sandbox` (`development` in the app's entitlements).
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
    /// The environment of devices whose registration names none.
    let main: Environment

    init(of all: PerEnvironment<String>, main: Environment = .production) {
        self.all = all
        self.main = main
    }

    /// Whether the environments have different servers.
    var differ: Bool { all.production != all.sandbox }

    static func isEnvironment(_ field: BorrowedText) -> Bool {
        field == "production" || isSandbox(field)
    }

    /// The environment that a registration's field names; `main` for an absent or unknown one.
    func environment(_ field: BorrowedText?) -> Environment {
        guard differ, let field, Origins.isEnvironment(field) else { return main }
        return Origins.isSandbox(field) ? .sandbox : .production
    }

    private static func isSandbox(_ field: BorrowedText) -> Bool {
        field == "sandbox" || field == "development"
    }
}
