import CSetupExamples
import Cipher

/// The files that setup will write, computed from complete answers. It does not access files.
package struct SetupPlan: Sendable {
    package struct File: Sendable, Hashable {
        package var path: String
        package var text: String
    }

    package let folder: String
    /// The directory for the router's own files: its key, its databases, the API's token.
    package let stateFolder: String
    package let isService: Bool
    private let answers: SetupAnswers
    /// The current date, for the first line of the configuration.
    private let date: String
    /// The path of `carillon`, for the unit.
    private let program: String

    package init(_ answers: SetupAnswers, date: String, program: String) {
        self.answers = answers
        self.date = date
        self.program = program
        folder = answers["folder"] ?? "."
        isService = answers["run"] == "service"
        stateFolder = isService ? answers["state"] ?? folder : folder
    }

    package var configurationPath: String { folder + "/carillon.yaml" }
    package var keyPath: String { stateFolder + "/carillon.key" }
    /// The path of an existing key to use; `nil` to create one.
    package var givenKey: String? { answers["key"].flatMap { $0 == "new" ? nil : $0 } }
    /// The server of the test push; `nil` if no test push was requested.
    package var testServer: String? { answers["test_push"].flatMap { $0 == "no" ? nil : $0 } }
    /// The platforms whose push services can check credentials.
    package var credentialPlatforms: [String] {
        services.filter { ["ios", "android", "email", "telegram", "mqtt"].contains($0) }
    }
    /// The platform of the test push, which works without the operator's own app.
    package static let testPlatform = "ntfy"

    /// Returns a well-formed token that no device has; `nil` if the plugin can check the credentials without a push.
    package static func unusedToken(of platform: String) -> String? {
        switch platform {
        case "ios": Hex.encode(SecureRandom.bytes(32))
        case "android":
            Base64URL.encode(SecureRandom.bytes(16)) + ":APA91b" + Base64URL.encode(SecureRandom.bytes(100))
        default: nil
        }
    }

    /// The required directories. Secret ones are accessible to their owner only.
    package var folders: [(path: String, isSecret: Bool)] {
        [(folder, false)] + (isService ? [(stateFolder, true)] : [])
            + (credentialFolder != folder && (blocks.newVAPIDKey ?? blocks.newWebhookSecret) != nil
                ? [(credentialFolder, true)] : [])
    }

    /// The credentials that systemd passes to the service, by name; empty without a service.
    package var credentialFiles: [(name: String, path: String)] {
        guard isService else { return [] }
        return blocks.credentials.map { ($0.name, $0.path) }
    }

    /// Returns the command that checks the credentials with a push service. Only the service has the credentials from
    /// systemd.
    package func checkCommand(_ platform: String) -> String {
        let command = "\(program) push --config \(configurationPath) \(platform) check"
        guard isService else { return command }
        return passing(blocks.credentials.filter { $0.key.hasPrefix(platform + ".") }, to: command)
    }

    /// The command that checks the configuration.
    private var checkCommand: String {
        let command = "check --config \(configurationPath)"
        return credentialFiles.isEmpty
            ? "carillon \(command)" : passing(blocks.credentials, to: "\(program) \(command)")
    }

    private func passing(_ credentials: [ServiceBlocks.Credential], to command: String) -> String {
        let loans = credentials.map { "-p LoadCredential=\($0.name):\($0.path) " }
        return "systemd-run --pipe --wait \(loans.joined())\(command)"
    }

    /// All files except keys. The configuration is last, because the router cannot start without it.
    package var files: [File] {
        var files: [File] = []
        if let text = rulesText { files.append(File(path: folder + "/rules.yaml", text: text)) }
        if let host {
            let texts = WebServerTexts(host: host, listen: listen, plugins: inboundAddress)
            files.append(File(path: folder + "/Caddyfile", text: texts.caddy))
            files.append(File(path: folder + "/nginx.conf", text: texts.nginx))
        }
        if isService { files.append(File(path: folder + "/systemd.conf", text: dropIn)) }
        return files + [File(path: configurationPath, text: configuration)]
    }

    /// Returns the next steps, one a line. `publicKey` is the router's, if known.
    package func nextSteps(publicKey: String?) -> [String] {
        var steps: [String] = []
        if isService {
            steps.append(
                "install -D -m 644 \(folder)/systemd.conf /etc/systemd/system/carillon.service.d/setup.conf"
                    + " && systemctl daemon-reload"
            )
            steps.append("systemctl enable --now carillon")
        } else {
            steps.append("\(program) serve --config \(configurationPath)")
        }
        if host != nil {
            steps.append(
                "put \(folder)/nginx.conf (as a site of nginx) or \(folder)/Caddyfile in place, so that \(url) answers"
            )
        } else {
            steps.append("for phones: give the router a public address (relay.url) and a web server with TLS before it")
        }
        if services.contains("telegram"), inboundAddress == nil {
            steps.append(
                "for Telegram: people register the number of a chat; codes need a public address and api.listen:"
                    + " contrib/docs/push-services.md"
            )
        }
        if let secret = blocks.newWebhookSecret {
            steps.append("give your server the secret in \(secret): it verifies webhooks by it")
        }
        if relays.isEmpty {
            steps.append("name a relay under relays.always, or feed the router: contrib/docs/operating.md")
        }
        steps.append("\(program) status --config \(configurationPath)")
        steps.append("register a device: contrib/docs/registration.md")
        if let publicKey { steps.append("keep a copy of \(keyPath); apps register with its public key, \(publicKey)") }
        return steps
    }

    // MARK: Derived values

    private var services: [String] { answers.list("services") }
    private var relays: [String] { answers.list("relays") }
    private var url: String { answers["url"] ?? "" }
    private var listen: String { answers["listen"] ?? "127.0.0.1:7447" }
    /// The host of the public address; `nil` if it has no TLS.
    private var host: String? { url.hasPrefix("wss://") ? String(url.dropFirst(6)) : nil }
    /// The directory for keys that setup creates.
    private var credentialFolder: String { isService ? folder + "/secrets" : folder }
    package var blocks: ServiceBlocks {
        ServiceBlocks(answers, isService: isService, secretFolder: credentialFolder)
    }
    /// The address for plugins' requests from outside, which Telegram needs; `nil` if there is none.
    private var inboundAddress: String? {
        guard services.contains("telegram"), host != nil, let address = answers["monitoring"], address != "no" else {
            return nil
        }
        return address
    }

    private var rulesText: String? {
        answers["rules"].flatMap { setup_example("rules/\($0)") }.map { String(cString: $0) }
    }

    // MARK: Texts

    private func quoted(_ text: String) -> String { SetupText.quoted(text) }

    private func list(_ texts: [String]) -> String { "[" + texts.map(quoted).joined(separator: ", ") + "]" }

    private func state(_ name: String) -> String { quoted(isService ? "\(stateFolder)/\(name)" : name) }

    private var configuration: String {
        let reload = isService ? "systemctl reload carillon" : "carillon reload --config \(configurationPath)"
        var lines = [
            "# Carillon's configuration, written by `carillon setup` on \(date). After a change, run:",
            "#",
            "#     \(checkCommand)",
            "#     \(reload)",
            "#",
            "# Relative paths start from this file's folder. contrib/docs/configuration.md lists all settings.",
            "",
            "# The router's identity: phones encrypt their registrations to this key. Keep a copy of the file.",
            "identity: { key_file: \(state("carillon.key")) }",
            "",
            "# Registrations. The same folder has queued pushes, names for notifications, and the trace for `carillon explain`.",
            "store: { path: \(state("carillon.sqlite")) }",
            "",
            "# The relay socket, where phones register and events come in.",
            "relay:",
            "  listen: \(quoted(listen))",
        ]
        lines.append(
            url.isEmpty
                ? "  # url: wss://notify.example.com     # how clients reach it, through a web server with TLS"
                : "  url: \(quoted(url))     # how clients reach it; NIP-42 proofs must name it"
        )
        if let contact = answers["contact"], !contact.isEmpty {
            lines.append("  contact: \(quoted("mailto:" + contact))")
        }
        lines += [
            "",
            "# Relays watched for all registered users. The router finds each user's own relays there.",
            relays.isEmpty ? "# relays: { always: [wss://relay.example.com] }" : "relays: { always: \(list(relays)) }",
            "",
            "# The texts of notifications.",
            rulesText == nil
                ? "# rules: rules.yaml                  # the built-in rules; `carillon rules default` prints them as a start"
                : "rules: rules.yaml",
            "",
            "# The mode of devices that request none: wake (a signal), nudge (a neutral text), sealed (encrypted), alert (all).",
            "# defaults: { mode: wake, cooldown_seconds: 60, window_seconds: 30, daily_cap: 100 }",
            "",
            "plugins: { folders: \(list([answers["plugins"] ?? "plugins"])) }",
            "",
        ]
        lines += http
        if let monitoring = answers["monitoring"], monitoring != "no" {
            lines += [
                "# /healthz, /readyz, and /metrics with the token, which is made on the first start.",
                "api:",
                "  listen: \(quoted(monitoring))",
                "  token_file: \(state("api.token"))",
            ]
            if inboundAddress != nil, let host {
                lines += [
                    "  # Where Telegram posts what people write to the bot; the web server passes /plugins/ on.",
                    "  public_url: \(quoted("https://\(host)/"))",
                ]
            }
            lines.append("")
        }
        if Self.signUp.contains(where: services.contains) {
            lines += [
                "# A page at /subscribe where people without an app turn on notifications: contrib/docs/subscribe.md.",
                "# subscribe: {}",
                "",
            ]
        }
        lines += ["apps:", "  default:"] + blocks.lines
        lines += ["    # All settings of a block, and what clients register: contrib/docs/push-services.md.", ""]
        return lines.joined(separator: "\n")
    }

    /// The platforms for which people can register on the page /subscribe.
    private static let signUp = ["web", "unifiedpush", "ntfy", "gotify"]

    private var http: [String] {
        var members: [String] = []
        if let file = answers["ca_file"], !file.isEmpty { members.append("ca_file: \(quoted(file))") }
        let networks = answers.list("allow_private")
        if !networks.isEmpty { members.append("allow_private: \(list(networks))") }
        return members.isEmpty ? [] : ["http: { \(members.joined(separator: ", ")) }", ""]
    }

    private var dropIn: String {
        var lines = [
            "# Settings that `carillon setup` adds to the unit. Install it as /etc/systemd/system/carillon.service.d/setup.conf.",
            "[Service]",
        ]
        lines += credentialFiles.map { "LoadCredential=\($0.name):\($0.path)" }
        if folder != "/etc/carillon" {
            lines.append("# The configuration is not at the unit's default path.")
            lines += ["ExecStart=", "ExecStart=\(program) serve --config \(configurationPath)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// Configurations of web servers in front of the router.
struct WebServerTexts {
    let host: String
    let listen: String
    /// The address for plugins' requests; `nil` if there is none.
    let plugins: String?

    var caddy: String {
        let handler = plugins.map { "    handle /plugins/* {\n        reverse_proxy \($0)\n    }\n" } ?? ""
        return """
            # Caddy gets the certificate automatically, and sends each client's address in X-Forwarded-For.
            \(host) {
            \(handler)    reverse_proxy \(listen)
            }

            """
    }

    var nginx: String {
        let parts = host.split(separator: ":", maxSplits: 1)
        let (name, port) = (parts.first ?? "", parts.count > 1 && !host.hasPrefix("[") ? parts[1] : "443")
        let location =
            plugins.map {
                """
                    location /plugins/ {
                        proxy_pass http://\($0);
                        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                    }


                """
            } ?? ""
        return """
            # A site of nginx. Get the certificate first, as with: certbot certonly --nginx -d \(name)
            map $http_upgrade $carillon_connection {
                default upgrade;
                "" close;
            }

            server {
                listen \(port) ssl;
                listen [::]:\(port) ssl;
                server_name \(name);
                ssl_certificate /etc/letsencrypt/live/\(name)/fullchain.pem;
                ssl_certificate_key /etc/letsencrypt/live/\(name)/privkey.pem;

            \(location)    location / {
                    proxy_pass http://\(listen);
                    proxy_http_version 1.1;
                    proxy_set_header Host $host;
                    proxy_set_header Upgrade $http_upgrade;
                    proxy_set_header Connection $carillon_connection;
                    # Limits go by client.
                    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                    # Connections of clients last for hours.
                    proxy_read_timeout 1h;
                    proxy_send_timeout 1h;
                }
            }

            """
    }
}
