import Cipher
import Core
import PluginKit

/// The configuration block of one app.
struct APNsConfiguration: Sendable {
    private static let keys: [StaticString] = [
        "topic", "team_id", "key_id", "key_file", "key", "certificate_file", "certificate_key_file",
        "certificate_password_file", "environment", "base_url", "sandbox", "port", "try_other_environment",
        "broadcast_key_file", "broadcast_management",
    ]

    /// Apple's servers also listen on 2197, for networks that block 443.
    private static let ports: [Int64] = [443, 2197]

    /// The app's bundle id: `apns-topic`.
    let topic: String
    let authentication: Authentication
    /// The servers for pushes. Default: Apple's production servers.
    let origins: Origins
    /// The servers for the management of broadcast channels.
    let managementOrigins: PerEnvironment<String>
    /// Whether a token that is unknown at one environment is tried at the other.
    let triesOtherEnvironment: Bool
    /// The key that registrations of broadcast channels must present; nil: channels cannot be registered.
    let broadcastKey: BroadcastKey?
    /// Warnings for the operator about a valid configuration.
    let warnings: [String]

    /// Throws for the first error, with its key and the expected value.
    init(_ block: JSONObject, now: Timestamp) throws(PluginError) {
        try block.refuseMembers(except: APNsConfiguration.keys)
        topic = try APNsConfiguration.topic(block)
        authentication = try Authentication(block)
        if case .certificate(let identity) = authentication {
            warnings = try Authentication.check(identity.certificate, topic: topic, now: now)
        } else {
            warnings = []
        }
        origins = try APNsConfiguration.origins(block)
        managementOrigins = try APNsConfiguration.managementOrigins(block)
        triesOtherEnvironment = try APNsConfiguration.triesOtherEnvironment(block)
        broadcastKey = try APNsConfiguration.broadcastKey(block)
    }

    private static func topic(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "the app's bundle id, such as com.example.app"
        let topic = try block.requiredText("topic", expected: expected)
        let isBundleID =
            (1...255).contains(topic.utf8.count)
            && topic.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0.isOne(of: "-.") }
        guard isBundleID else { throw PluginError("topic: expected \(expected)") }
        return topic
    }

    private static func triesOtherEnvironment(_ block: JSONObject) throws(PluginError) -> Bool {
        guard let value = block["try_other_environment"], !value.isNull else { return false }
        guard let flag = value.bool else {
            throw PluginError("try_other_environment: expected true or false, found \(value.kind)")
        }
        return flag
    }

    private static func broadcastKey(_ block: JSONObject) throws(PluginError) -> BroadcastKey? {
        let expected = "the path of a file with the key that registrations of broadcast channels must contain"
        guard let file = try block.file("broadcast_key_file", expected: expected) else { return nil }
        guard let key = BroadcastKey(fileContent: try file.text()) else {
            throw PluginError("broadcast_key_file: expected a file with \(BroadcastKey.description) in it")
        }
        return key
    }

    /// Reads the servers. `environment` applies to devices whose registration names none. `base_url` replaces Apple's
    /// servers of all environments, and `sandbox` the one for development builds. `port` applies to Apple's servers.
    private static func origins(_ block: JSONObject) throws(PluginError) -> Origins {
        let suffix = try port(block).map { $0 == 443 ? "" : ":\($0)" }
        let own = try origin(block, "base_url")
        guard own == nil || suffix == nil else { throw PluginError("port: not allowed together with base_url") }
        let apple = Origins.apple.map { own ?? $0 + (suffix ?? "") }
        let sandbox = try origin(block, "sandbox") ?? apple.sandbox
        let main: Environment
        switch try block.text("environment", expected: "production or sandbox") {
        case nil, "production": main = .production
        case "sandbox": main = .sandbox
        default: throw PluginError("environment: expected production or sandbox; a server belongs under base_url")
        }
        return Origins(of: PerEnvironment(production: apple.production, sandbox: sandbox), main: main)
    }

    private static func managementOrigins(_ block: JSONObject) throws(PluginError) -> PerEnvironment<String> {
        guard let own = try origin(block, "broadcast_management") else { return Origins.appleManagement }
        return PerEnvironment(production: own, sandbox: own)
    }

    private static func port(_ block: JSONObject) throws(PluginError) -> Int64? {
        guard let value = block["port"], !value.isNull else { return nil }
        guard let port = value.integer, ports.contains(port) else {
            throw PluginError("port: expected 443 or 2197")
        }
        return port
    }

    private static func origin(_ block: JSONObject, _ key: StaticString) throws(PluginError) -> String? {
        let expected = "https://host:port"
        guard let text = try block.text(key, expected: expected) else { return nil }
        guard let url = HTTPURL(text), url.isSecure, url.target.isEmpty else {
            throw PluginError("\(key): expected \(expected)")
        }
        return url.origin
    }
}

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
    /// Apple's servers for the management of broadcast channels.
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
