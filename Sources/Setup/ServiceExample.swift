import CSetupExamples

/// A service of contrib/examples/push-services, which the platform `http` describes by a request.
struct ServiceExample: Sendable {
    /// Telegram is a platform of its own.
    static let names = ["pushover", "bark", "slack", "discord", "matrix", "apprise"]

    private let name: String
    /// The lines of its block, without the remarks about what people register and where its secrets come from.
    private let lines: [Substring]

    static func named(_ name: String) -> ServiceExample? {
        setup_example("push-services/\(name)").map { ServiceExample(name, String(cString: $0)) }
    }

    private init(_ name: String, _ text: String) {
        self.name = name
        lines = text.split(separator: "\n").drop { $0.hasPrefix("#") }.filter { !$0.hasPrefix("  secrets:") }
    }

    /// The names of its secrets in a file of secrets, such as `pushover.token`.
    var secrets: [String] {
        var found: [String] = []
        for line in lines {
            for part in line.split(separator: "{{secrets.").dropFirst() {
                let secret = "\(name).\(part.prefix { $0 != "}" })"
                if !found.contains(secret) { found.append(secret) }
            }
        }
        return found
    }

    /// The block, to stand under `services`.
    func block(matrixServer: String) -> [String] {
        ["        # As in contrib/examples/push-services/\(name).yaml, which says what people register."]
            + lines.map { "        " + $0.replacing("https://matrix.example.org/", with: "\(matrixServer)/") }
    }
}
