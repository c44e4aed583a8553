import PluginKit

extension APNsConfiguration {
    /// Beside 443, for networks that let nothing else out.
    private static let ports: [Int64] = [443, 2197]

    /// `environment` says where devices are whose registration does not say; a server of one's own (a lab) is so for all of
    /// them. `sandbox` is a server in the place of Apple's for development builds. `port` is for Apple's servers.
    static func origins(_ block: JSONObject) throws(PluginError) -> Origins {
        let expected = "production, sandbox or https://host:port"
        let suffix = try port(block).map { $0 == 443 ? "" : ":\($0)" }
        let apple = Origins.apple.map { $0 + (suffix ?? "") }
        let ownSandbox = try origin(block, "sandbox")
        switch try block.text("environment", expected: expected) {
        case nil, "production":
            return Origins(of: PerEnvironment(production: apple.production, sandbox: ownSandbox ?? apple.sandbox))
        case "sandbox":
            return Origins(
                of: PerEnvironment(production: apple.production, sandbox: ownSandbox ?? apple.sandbox),
                main: .sandbox
            )
        case let text?:
            let own = try origin(text, under: "environment", expected: expected)
            guard suffix == nil else {
                throw PluginError("port: expected none beside an environment that is https://host:port")
            }
            return Origins(of: PerEnvironment(production: own, sandbox: ownSandbox ?? own))
        }
    }

    static func managementOrigins(_ block: JSONObject) throws(PluginError) -> PerEnvironment<String> {
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
        return try origin(text, under: key, expected: expected)
    }

    private static func origin(
        _ text: String,
        under key: StaticString,
        expected: String
    ) throws(PluginError) -> String {
        guard let url = HTTPURL(text), url.isSecure, url.target.isEmpty else {
            throw PluginError("\(key): expected \(expected)")
        }
        return url.origin
    }
}
