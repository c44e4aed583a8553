import CSetupExamples

/// The blocks of push services in the configuration, and the files with credentials that they name.
struct ServiceBlocks: Sendable {
    typealias Credential = (key: String, name: String, path: String)

    private let answers: SetupAnswers
    private let isService: Bool
    /// Where secrets go that setup makes.
    private let secretFolder: String

    init(_ answers: SetupAnswers, isService: Bool, secretFolder: String) {
        self.answers = answers
        self.isService = isService
        self.secretFolder = secretFolder
    }

    /// The VAPID key that is to be made; nil: none, or one exists.
    var newVAPIDKey: String? { isNew("web", "vapid_key_file") ? secretFolder + "/vapid.pem" : nil }
    /// The secret for webhooks that is to be made; nil: none, or one exists.
    var newWebhookSecret: String? { isNew("webhook", "secrets_file") ? secretFolder + "/webhook.secrets" : nil }

    /// Each file with a credential, the name under which systemd lends it, and the key of the answers that named it.
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
            written("Your app on iPhones.", "ios", ["topic", "team_id", "key_id", "key_file", "environment"])
        case "android": written("Your app on Android.", "android", ["service_account", "origin"])
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
        case "telegram": written("A bot of yours writes to people.", "telegram", ["token_file", "bot", "api"])
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

    /// A remark, and a block with those of `keys` that have an answer.
    private func written(_ remark: String, _ service: String, _ keys: [String]) -> [String] {
        let members = keys.compactMap { key in value(of: "\(service).\(key)").map { "      \(key): \($0)" } }
        // Of `http` the services follow in any case.
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
