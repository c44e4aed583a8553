import CSetupExamples

/// The configuration blocks of push services, and the credential files that they name.
package struct ServiceBlocks: Sendable {
    typealias Credential = (key: String, name: String, path: String)

    private let answers: SetupAnswers
    private let isService: Bool
    /// The directory for secrets that setup creates.
    private let secretFolder: String

    init(_ answers: SetupAnswers, isService: Bool, secretFolder: String) {
        self.answers = answers
        self.isService = isService
        self.secretFolder = secretFolder
    }

    /// The path of the VAPID key to create; `nil` if none is needed or one exists.
    package var newVAPIDKey: String? { isNew("web", "vapid_key_file") ? secretFolder + "/vapid.pem" : nil }
    /// The path of the webhook secret to create; `nil` if none is needed or one exists.
    package var newWebhookSecret: String? { isNew("webhook", "secrets_file") ? secretFolder + "/webhook.secrets" : nil }

    /// All credential files, with their systemd credential name and the key of their answer.
    var credentials: [Credential] {
        [
            ("ios.key_file", "apns.p8", nil), ("android.service_account", "firebase.json", nil),
            ("web.vapid_key_file", "vapid.pem", newVAPIDKey),
            ("email.password_file", "smtp.password", nil), ("telegram.token_file", "telegram.token", nil),
            ("mqtt.password_file", "mqtt.password", nil), ("webhook.secrets_file", "webhook.secrets", newWebhookSecret),
            ("http.secrets_file", "http.secrets", nil),
        ].compactMap { key, name, new in (new ?? answers[key]).map { (key, name, $0) } }
    }

    var lines: [String] { answers.list("services").flatMap(block) }

    private func isNew(_ service: String, _ key: String) -> Bool {
        answers.list("services").contains(service) && answers["\(service).\(key)"] == "new"
    }

    private func block(_ service: String) -> [String] {
        switch service {
        case "ios":
            written(
                "Your app on iPhones.",
                "ios",
                ["topic", "team_id", "key_id", "key_file", "environment", "base_url"]
            )
        case "android": written("Your app on Android.", "android", ["service_account", "base_url"])
        case "web":
            written(
                "Your app in browsers. Subscriptions are bound to the key: keep a copy.",
                "web",
                ["vapid_key_file", "subject", "navigate"]
            )
        case "unifiedpush": written("Android apps without Google; the endpoints are the users' own.", "unifiedpush", [])
        case "ntfy": written("People without an app: topics of theirs at any ntfy server.", "ntfy", [])
        case "gotify": written("People without an app: applications at Gotify servers of theirs.", "gotify", [])
        case "email":
            written(
                "E-mail to the people themselves, through your mail server.",
                "email",
                ["server", "port", "security", "username", "password_file", "authority_file", "from"]
            )
        case "telegram": written("A bot of yours writes to people.", "telegram", ["token_file", "bot", "base_url"])
        case "mqtt":
            written(
                "JSON to topics at your broker.",
                "mqtt",
                ["server", "port", "security", "username", "password_file", "authority_file", "topic_prefix"]
            )
        case "webhook":
            written(
                "JSON to endpoints of users or to your server, signed as Standard Webhooks says.",
                "webhook",
                ["url", "secrets_file"]
            )
        case "http":
            written("Services that take a text in one request.", "http", ["secrets_file"]) + ["      services:"]
                + answers.list("http.services").flatMap {
                    ServiceExample.named($0)?.block(matrixServer: answers["http.matrix_server"] ?? "") ?? []
                }
        default: []
        }
    }

    /// Returns a comment, and a block with those of `keys` that have an answer.
    private func written(_ remark: String, _ service: String, _ keys: [String]) -> [String] {
        let members = keys.compactMap { key in value(of: "\(service).\(key)").map { "      \(key): \($0)" } }
        // The block `http` always has services, which follow.
        let isEmpty = members.isEmpty && service != "http"
        return ["    # \(remark)", "    \(service):\(isEmpty ? " {}" : "")"] + members
    }

    private func value(of key: String) -> String? {
        if let found = credentials.first(where: { $0.key == key }) {
            if isService { return SetupText.quoted("${CREDENTIALS_DIRECTORY}/\(found.name)") }
            let isMade = found.path == newVAPIDKey || found.path == newWebhookSecret
            return SetupText.quoted(isMade ? found.name : found.path)
        }
        guard let answer = answers[key], !answer.isEmpty else { return nil }
        return key.hasSuffix(".port") ? answer : SetupText.quoted(answer)
    }
}

/// A service of contrib/examples/push-services, which the platform `http` describes with a request.
struct ServiceExample: Sendable {
    /// Telegram is a separate platform.
    static let names = ["pushover", "bark", "slack", "discord", "matrix", "apprise"]

    private let name: String
    /// The lines of the service's block, without the comments about registrations and secrets.
    private let lines: [Substring]

    static func named(_ name: String) -> ServiceExample? {
        setup_example("push-services/\(name)").map { ServiceExample(name, String(cString: $0)) }
    }

    private init(_ name: String, _ text: String) {
        self.name = name
        lines = text.split(separator: "\n").drop { $0.hasPrefix("#") }.filter { !$0.hasPrefix("  secrets:") }
    }

    /// The names of the service's secrets in a secrets file, such as `pushover.token`.
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

    /// Returns the block for `services`.
    func block(matrixServer: String) -> [String] {
        ["        # As in contrib/examples/push-services/\(name).yaml, which describes registrations."]
            + lines.map { "        " + $0.replacing("https://matrix.example.org/", with: "\(matrixServer)/") }
    }
}
