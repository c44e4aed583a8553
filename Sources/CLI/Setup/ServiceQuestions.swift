/// The questions about push services: which ones, and the settings of each. Some services have no settings.
struct ServiceQuestions: Sendable {
    /// The services, in the order of the questions and of the output.
    static let services = [
        "ios", "android", "web", "unifiedpush", "ntfy", "gotify", "email", "telegram", "mqtt", "webhook", "http",
    ]

    private let machine: SetupMachine

    init(machine: SetupMachine) {
        self.machine = machine
    }

    /// Returns the questions that follow from `answers`.
    func list(for answers: SetupAnswers) -> [SetupQuestion] {
        var questions = [
            SetupQuestion(
                key: "services",
                prompt: "Push services (\(Self.services.joined(separator: ", ")))",
                help:
                    "ios, android and web are for an app of yours and need credentials. email, telegram and mqtt "
                    + "need an account of yours. unifiedpush, ntfy, gotify and webhook need nothing. http is for services "
                    + "such as Slack and Matrix. contrib/docs/push-services.md tells more of each.",
                suggestion: "unifiedpush, ntfy"
            ) { text throws(SetupError) in try SetupChecks.choices(text, among: Self.services) }
        ]
        for service in answers.list("services") {
            switch service {
            case "ios": questions += ios
            case "android": questions += android
            case "web": questions += web(answers)
            case "email": questions += email(answers)
            case "telegram": questions += telegram
            case "mqtt": questions += mqtt(answers)
            case "webhook": questions += webhook(answers)
            case "http": questions += http(answers)
            default: break
            }
        }
        return questions
    }

    private var ios: [SetupQuestion] {
        let machine = machine
        return [
            SetupQuestion(
                key: "ios.topic",
                prompt: "iPhone: the app's bundle id",
                help: "As in Xcode, under Signing & Capabilities: com.example.app."
            ) { text throws(SetupError) in try SetupChecks.bundle(text) },
            SetupQuestion(
                key: "ios.team_id",
                prompt: "iPhone: team id",
                help: "developer.apple.com, Account, Membership details."
            ) { text throws(SetupError) in
                try SetupChecks.appleID(text, "developer.apple.com shows it under Membership")
            },
            SetupQuestion(
                key: "ios.key_id",
                prompt: "iPhone: key id",
                help: "developer.apple.com, Certificates, Identifiers & Profiles, Keys: a key with APNs."
            ) { text throws(SetupError) in try SetupChecks.appleID(text, "developer.apple.com shows it under Keys") },
            SetupQuestion(
                key: "ios.key_file",
                prompt: "iPhone: file with that key (AuthKey_….p8)",
                help: "Apple lets you download it once, when the key is made."
            ) { text throws(SetupError) in try SetupChecks.p256Key(text, machine) },
            SetupQuestion(
                key: "ios.environment",
                prompt: "iPhone: production or sandbox (development builds)",
                help: "Apps from the App Store and TestFlight use production.",
                suggestion: "production"
            ) { text throws(SetupError) in try SetupChecks.choice(text, among: ["production", "sandbox"]) },
            server("ios.base_url", "iPhone: server instead of Apple's"),
        ]
    }

    private var android: [SetupQuestion] {
        let machine = machine
        return [
            SetupQuestion(
                key: "android.service_account",
                prompt: "Android: file with Firebase's service account (JSON)",
                help: "Firebase console, Project settings, Service accounts, Generate new private key."
            ) { text throws(SetupError) in try SetupChecks.serviceAccount(text, machine) },
            server("android.base_url", "Android: server instead of Google's"),
        ]
    }

    private func web(_ answers: SetupAnswers) -> [SetupQuestion] {
        let machine = machine
        let contact = answers["contact"] ?? ""
        return [
            SetupQuestion(
                key: "web.subject",
                prompt: "Browsers: a real e-mail or https address of yours",
                help: "Push services write to it when something is wrong. Apple refuses addresses that do not exist.",
                suggestion: contact.isEmpty ? nil : "mailto:" + contact
            ) { text throws(SetupError) in try SetupChecks.subject(text) },
            SetupQuestion(
                key: "web.vapid_key_file",
                prompt: "Browsers: file with the VAPID key (new: make one)",
                help: "A private key on P-256 as PEM. Subscriptions are bound to it, so keep one that you have.",
                suggestion: "new"
            ) { text throws(SetupError) in text == "new" ? text : try SetupChecks.p256Key(text, machine) },
            SetupQuestion(
                key: "web.navigate",
                prompt: "Browsers: page of your app that a tap opens (none: your service worker decides)",
                help: "If you set one, Safari shows notifications automatically, even without a service worker.",
                suggestion: ""
            ) { text throws(SetupError) in text == "none" ? "" : try SetupChecks.address(text) },
        ]
    }

    private func email(_ answers: SetupAnswers) -> [SetupQuestion] {
        let contact = answers["contact"] ?? ""
        return [
            SetupQuestion(
                key: "email.from",
                prompt: "E-mail: the sender's address",
                help: "Recipients see it, and reply to it.",
                suggestion: contact.isEmpty ? nil : contact
            ) { text throws(SetupError) in try SetupChecks.mail(text) }
        ]
            + connection(
                "email",
                "E-mail: name of your mail server",
                example: "smtp.example.com",
                securities: ["starttls", "tls", "none"],
                "starttls is at port 587 mostly, tls at 465. none is for a server on this machine.",
                answers
            )
    }

    private var telegram: [SetupQuestion] {
        [
            SetupQuestion(
                key: "telegram.bot",
                prompt: "Telegram: the bot's name, as in example_bot",
                help: "Ask @BotFather for a bot. Apps link people by this name."
            ) { text throws(SetupError) in
                let name = text.hasPrefix("@") ? String(text.dropFirst()) : text
                guard (3...64).contains(name.utf8.count),
                    name.utf8.allSatisfy({ SetupChecks.isLetterOrDigit(Unicode.Scalar($0)) || $0 == UInt8(ascii: "_") })
                else { throw SetupError("expected the bot's name, as in example_bot") }
                return name
            },
            secret("telegram.token_file", "Telegram: file with the bot's token", "the token that @BotFather gave"),
            address("telegram.base_url", "Telegram: Bot API server to use instead of Telegram's"),
        ]
    }

    private func mqtt(_ answers: SetupAnswers) -> [SetupQuestion] {
        connection(
            "mqtt",
            "MQTT: name of your broker",
            example: "mqtt.example.com",
            securities: ["tls", "none"],
            "tls is at port 8883 mostly. none is for a broker on this machine or network.",
            answers
        ) + [
            SetupQuestion(
                key: "mqtt.topic_prefix",
                prompt: "MQTT: prefix of all topics",
                help: "People register the rest of a topic: phones/alice becomes carillon/phones/alice.",
                suggestion: "carillon"
            ) { text throws(SetupError) in
                guard text.utf8.count <= 200, !text.hasPrefix("$"), !text.contains(where: { "+#".contains($0) }),
                    text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
                else { throw SetupError("expected a topic without + and #, as in carillon") }
                return text
            }
        ]
    }

    private func webhook(_ answers: SetupAnswers) -> [SetupQuestion] {
        let machine = machine
        var questions = [
            SetupQuestion(
                key: "webhook.url",
                prompt: "Webhooks: address of your app's server (none: endpoints of users only)",
                help: "Receives pushes for devices without their own endpoint, with the device's token as recipient.",
                suggestion: ""
            ) { text throws(SetupError) in text == "none" ? "" : try SetupChecks.address(text) }
        ]
        if answers["webhook.url"]?.isEmpty == false {
            questions.append(
                SetupQuestion(
                    key: "webhook.secrets_file",
                    prompt: "Webhooks: file with the secret that signs (new: make one)",
                    help: "whsec_… of Standard Webhooks, a secret a line. Your server verifies messages with it.",
                    suggestion: "new"
                ) { text throws(SetupError) in
                    text == "new" ? text : try SetupChecks.secretFile(text, machine, isOneLine: false)
                }
            )
        }
        return questions
    }

    private func http(_ answers: SetupAnswers) -> [SetupQuestion] {
        let machine = machine
        let chosen = answers.list("http.services")
        let needed = chosen.flatMap { ServiceExample.named($0)?.secrets ?? [] }
        var questions = [
            SetupQuestion(
                key: "http.services",
                prompt: "Services by requests (\(ServiceExample.names.joined(separator: ", ")))",
                help: "People register a key, a room or a webhook's address of theirs. More can be described: "
                    + "contrib/docs/push-services.md."
            ) { text throws(SetupError) in try SetupChecks.choices(text, among: ServiceExample.names) }
        ]
        if chosen.contains("matrix") {
            questions.append(
                SetupQuestion(
                    key: "http.matrix_server",
                    prompt: "Matrix: homeserver of the router's account, as in https://matrix.example.org",
                    help: "Make an account for the router there. People invite it into a room."
                ) { text throws(SetupError) in try SetupChecks.origin(text, expected: "https://matrix.example.org") }
            )
        }
        if !needed.isEmpty {
            questions.append(
                SetupQuestion(
                    key: "http.secrets_file",
                    prompt: "File with the secrets of these services (lines such as \(needed[0])=…)",
                    help: "It must contain \(needed.joined(separator: ", ")). The services' files in "
                        + "contrib/examples/push-services say where to get them."
                ) { text throws(SetupError) in try SetupChecks.secretsOfServices(text, machine, names: needed) }
            )
        }
        return questions
    }

    /// Returns the questions about a server of the operator: name, encryption, account.
    private func connection(
        _ service: String,
        _ prompt: String,
        example: String,
        securities: [String],
        _ help: String,
        _ answers: SetupAnswers
    ) -> [SetupQuestion] {
        let machine = machine
        let name = prompt.prefix { $0 != ":" }
        let security = answers["\(service).security"]
        var questions = [
            SetupQuestion(
                key: "\(service).server",
                prompt: "\(prompt), as in \(example)",
                help: "The router connects there. Its certificate must be for this name."
            ) { text throws(SetupError) in try SetupChecks.hostName(text, example: example) },
            SetupQuestion(
                key: "\(service).security",
                prompt: "\(name): encryption (\(securities.joined(separator: ", ")))",
                help: help,
                suggestion: securities[0]
            ) { text throws(SetupError) in try SetupChecks.choice(text, among: securities) },
            port("\(service).port", name),
            SetupQuestion(
                key: "\(service).authority_file",
                prompt: "\(name): PEM file with the authority of the server's certificate",
                help: "For a server with your own certificate.",
                suggestion: "",
                isAsked: false
            ) { text throws(SetupError) in try SetupChecks.path(text, machine) },
        ]
        // A password is never sent to a mail server unencrypted.
        guard service != "email" || security != "none" else { return questions }
        questions.append(
            SetupQuestion(
                key: "\(service).username",
                prompt: "\(name): account at the server (none)",
                help: "The router logs in with it.",
                suggestion: ""
            ) { text throws(SetupError) in
                guard text.utf8.count <= 256 else { throw SetupError("expected at most 256 bytes") }
                return text == "none" ? "" : text
            }
        )
        if answers["\(service).username"]?.isEmpty == false {
            questions.append(secret("\(service).password_file", "\(name): file with its password", "the password"))
        }
        return questions
    }

    private func port(_ key: String, _ name: some StringProtocol) -> SetupQuestion {
        SetupQuestion(
            key: key,
            prompt: "\(name): port (none: the default port of the encryption)",
            help: "Ask the server's operator.",
            suggestion: ""
        ) { text throws(SetupError) in
            if text == "none" { return "" }
            guard let port = Int(text), (1...65_535).contains(port) else {
                throw SetupError("expected a port from 1 to 65535, or none")
            }
            return String(port)
        }
    }

    private func secret(_ key: String, _ prompt: String, _ what: String) -> SetupQuestion {
        let machine = machine
        return SetupQuestion(
            key: key,
            prompt: prompt,
            help: "A file with only \(what), which other users cannot read: (umask 077; cat > FILE)"
        ) { text throws(SetupError) in try SetupChecks.secretFile(text, machine) }
    }

    private func server(_ key: String, _ prompt: String) -> SetupQuestion {
        SetupQuestion(key: key, prompt: prompt, help: "For a lab.", suggestion: "", isAsked: false) {
            text throws(SetupError) in try SetupChecks.origin(text)
        }
    }

    private func address(_ key: String, _ prompt: String) -> SetupQuestion {
        SetupQuestion(key: key, prompt: prompt, help: "For a lab.", suggestion: "", isAsked: false) {
            text throws(SetupError) in try SetupChecks.address(text)
        }
    }
}
