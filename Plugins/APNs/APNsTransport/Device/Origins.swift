import PluginKit

/// Which of Apple's servers know a device: those for apps from the store and from TestFlight, or those for development
/// builds. The field `environment` of a registration says `production`, or `sandbox` (`development` in the words of the
/// app's entitlements).
struct Origins: Sendable {
    static let apple = (production: "https://api.push.apple.com", sandbox: "https://api.sandbox.push.apple.com")

    /// `https://host[:port]` of devices whose registration does not say.
    let main: String
    let production: String
    let sandbox: String

    static func isEnvironment(_ field: BorrowedText) -> Bool {
        field == "production" || isSandbox(field)
    }

    /// The server for a registration with that field; one that says something else counts as absent.
    subscript(field: BorrowedText?) -> String {
        guard let field, Origins.isEnvironment(field) else { return main }
        return Origins.isSandbox(field) ? sandbox : production
    }

    func appending(_ path: String) -> Origins {
        Origins(main: main + path, production: production + path, sandbox: sandbox + path)
    }

    private static func isSandbox(_ field: BorrowedText) -> Bool {
        field == "sandbox" || field == "development"
    }
}
