/// All questions in the order in which they are asked. Earlier answers determine later questions.
package struct SetupQuestions: Sendable {
    package static let rules = ["built-in", "social", "privacy-first", "wallet-and-signer"]

    private let machine: SetupMachine

    package init(machine: SetupMachine) {
        self.machine = machine
    }

    /// Returns the questions that follow from `answers`.
    package func list(for answers: SetupAnswers) -> [SetupQuestion] {
        place(answers) + network + ServiceQuestions(machine: machine).list(for: answers) + [rules] + rest(answers)
    }

    /// All valid keys of an answers file.
    package var allKeys: [String] {
        var answers = SetupAnswers()
        answers["run"] = "service"
        answers["services"] = ServiceQuestions.services.joined(separator: ", ")
        answers["http.services"] = ServiceExample.names.joined(separator: ", ")
        // Any answer to these adds more questions.
        for key in ["email.username", "mqtt.username", "webhook.url"] { answers[key] = "x" }
        return list(for: answers).map(\.key)
    }

    private func place(_ answers: SetupAnswers) -> [SetupQuestion] {
        let isService = answers["run"] == "service"
        let machine = machine
        var questions = [
            SetupQuestion(
                key: "run",
                prompt: "Will systemd run the router (service), or you by hand (hand)?",
                help:
                    "A service has its files in /etc/carillon and /var/lib/carillon. By hand everything is in one folder.",
                suggestion: machine.isRoot ? "service" : "hand"
            ) { text throws(SetupError) in try SetupChecks.choice(text, among: ["service", "hand"]) },
            SetupQuestion(
                key: "folder",
                prompt: "Folder for the configuration",
                help: "Setup creates it if it does not exist, and asks before it replaces a file.",
                suggestion: isService ? "/etc/carillon" : machine.path("~/carillon")
            ) { text throws(SetupError) in try SetupChecks.path(text, machine) },
        ]
        if isService {
            questions.append(
                SetupQuestion(
                    key: "state",
                    prompt: "Folder for the key and the databases",
                    help: "The unit's StateDirectory.",
                    suggestion: "/var/lib/carillon",
                    isAsked: false
                ) { text throws(SetupError) in try SetupChecks.path(text, machine) }
            )
        }
        questions.append(
            SetupQuestion(
                key: "plugins",
                prompt: "Folder with the plugins (libCarillon….so)",
                help: "No plugins were found next to this program.",
                suggestion: machine.pluginFolder,
                isAsked: machine.pluginFolder == nil
            ) { text throws(SetupError) in try SetupChecks.path(text, machine) }
        )
        return questions
    }

    private var network: [SetupQuestion] {
        [
            SetupQuestion(
                key: "url",
                prompt: "Public address, as in wss://notify.example.com (none: this machine only)",
                help: "Phones register at this address. A web server with TLS must respond there; setup writes its "
                    + "configuration for nginx and Caddy.",
                suggestion: ""
            ) { text throws(SetupError) in try SetupChecks.publicURL(text) },
            SetupQuestion(
                key: "listen",
                prompt: "Where the router listens on this machine",
                help: "The web server passes connections on to it.",
                suggestion: "127.0.0.1:7447"
            ) { text throws(SetupError) in try SetupChecks.listenAddress(text) },
            SetupQuestion(
                key: "relays",
                prompt: "Relays that most of your users are on (commas between; none)",
                help: "The router watches them for all users. It finds each user's own relays automatically.",
                suggestion: ""
            ) { text throws(SetupError) in try SetupChecks.relays(text) },
            SetupQuestion(
                key: "contact",
                prompt: "Your e-mail address, shown to clients (none)",
                help: "The router shows it next to its name. Push services of browsers get it too.",
                suggestion: ""
            ) { text throws(SetupError) in text == "none" ? "" : try SetupChecks.mail(text) },
        ]
    }

    private var rules: SetupQuestion {
        SetupQuestion(
            key: "rules",
            prompt: "Notification texts (\(Self.rules.joined(separator: ", ")))",
            help:
                "built-in: texts for all common events. social: with buttons, in English and German. privacy-first: nothing "
                + "readable leaves the router. wallet-and-signer: payments and signing requests.",
            suggestion: "built-in"
        ) { text throws(SetupError) in try SetupChecks.choice(text, among: Self.rules) }
    }

    private func rest(_ answers: SetupAnswers) -> [SetupQuestion] {
        let machine = machine
        var questions = [
            SetupQuestion(
                key: "monitoring",
                prompt: "Address for health and metrics (no: none)",
                help: "/healthz, /readyz and /metrics answer there. Commands do not need it.",
                suggestion: "127.0.0.1:7448"
            ) { text throws(SetupError) in text == "no" ? text : try SetupChecks.listenAddress(text) },
            SetupQuestion(
                key: "key",
                prompt: "The router's key (new: make one; or a file)",
                help: "Phones encrypt their registrations to it. Use the old file when you move a router.",
                suggestion: "new"
            ) { text throws(SetupError) in
                guard text != "new" else { return text }
                let path = try SetupChecks.path(text, machine)
                guard machine.read(path) != nil else { throw SetupError("cannot read \(path)") }
                return path
            },
        ]
        if answers.list("services").contains("ntfy") {
            questions.append(
                SetupQuestion(
                    key: "test_push",
                    prompt: "ntfy server for a test push at the end (no: none)",
                    help: "Setup shows a random topic, with qrencode as a QR code, and sends one notification there.",
                    suggestion: "https://ntfy.sh"
                ) { text throws(SetupError) in text == "no" ? text : try SetupChecks.origin(text) }
            )
        }
        questions += [
            SetupQuestion(
                key: "ca_file",
                prompt: "File with additional root certificates",
                help: "For a lab, or servers with your own certificates.",
                suggestion: "",
                isAsked: false
            ) { text throws(SetupError) in try SetupChecks.path(text, machine) },
            SetupQuestion(
                key: "allow_private",
                prompt: "Private networks that may contain users' endpoints",
                help: "As in 10.1.2.0/24.",
                suggestion: "",
                isAsked: false
            ) { text throws(SetupError) in
                let blocks = SetupText.members(text)
                guard
                    blocks.allSatisfy({ $0.contains("/") && $0.allSatisfy { "0123456789abcdefABCDEF.:/".contains($0) } }
                    )
                else { throw SetupError("expected networks, as in 10.1.2.0/24") }
                return blocks.joined(separator: ", ")
            },
        ]
        return questions
    }
}
