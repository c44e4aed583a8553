import PluginKit

extension APNsConfiguration {
    /// `environment` says where devices are whose registration does not say; a server of one's own (a lab) is so for all of
    /// them. `sandbox` is a server in the place of Apple's for development builds.
    static func origins(_ block: JSONObject) throws(PluginError) -> Origins {
        let expected = "production, sandbox or https://host:port"
        let (production, sandbox) = Origins.apple
        let ownSandbox = try block.text("sandbox", expected: "https://host:port").map { text throws(PluginError) in
            try origin(text, under: "sandbox", expected: "https://host:port")
        }
        switch try block.text("environment", expected: expected) {
        case nil, "production":
            return Origins(main: production, production: production, sandbox: ownSandbox ?? sandbox)
        case "sandbox":
            let sandbox = ownSandbox ?? sandbox
            return Origins(main: sandbox, production: production, sandbox: sandbox)
        case let text?:
            let own = try origin(text, under: "environment", expected: expected)
            return Origins(main: own, production: own, sandbox: ownSandbox ?? own)
        }
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
