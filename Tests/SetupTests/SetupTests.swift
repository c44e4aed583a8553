import Cipher
import Foundation
import Setup
import Storage
import Testing

/// Returns a machine with these files.
private func machine(
    _ files: [String: String] = [:],
    isRoot: Bool = false,
    plugins: String? = "/opt/plugins"
) -> SetupMachine {
    SetupMachine(isRoot: isRoot, home: "/home/alice", currentFolder: "/tmp/work", pluginFolder: plugins) { files[$0] }
}

private let p8 = P256PrivateKey().pemRepresentation
private let account = #"{"project_id": "p", "client_email": "a@b.c", "private_key": "k"}"#

private func read(_ text: String, _ machine: SetupMachine = machine()) throws -> SetupAnswers {
    try SetupAnswersFile.read(text, name: "answers.yaml", questions: SetupQuestions(machine: machine))
}

private func mistakes(_ text: String, _ machine: SetupMachine = machine()) -> [String] {
    do {
        _ = try read(text, machine)
        return []
    } catch let mistakes as Diagnostics {
        return mistakes.all.map(\.description)
    } catch {
        return ["\(error)"]
    }
}

struct SetupAnswersTests {
    @Test func unusedTokensAreWellFormedAndNew() {
        let tokens = (0..<2).compactMap { _ in SetupPlan.unusedToken(of: "ios") }
        #expect(tokens.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) } && Set(tokens).count == 2)
        #expect(SetupPlan.unusedToken(of: "android")?.contains(":APA91b") == true)
        #expect(SetupPlan.unusedToken(of: "email") == nil)
    }

    @Test func emptyMappingUsesTheSuggestions() throws {
        let answers = try read("{}")
        #expect(answers["folder"] == "/home/alice/carillon")
        #expect(answers["services"] == "unifiedpush, ntfy")
        #expect(answers["test_push"] == "no")
        #expect(answers["plugins"] == "/opt/plugins")
    }

    @Test func rootInstallsAService() throws {
        let answers = try read("{}", machine(isRoot: true))
        #expect(answers["run"] == "service")
        #expect(answers["folder"] == "/etc/carillon")
        #expect(answers["state"] == "/var/lib/carillon")
    }

    @Test(
        "An answer in its one spelling",
        arguments: [
            ("url: notify.example.com", "url", "wss://notify.example.com"),
            ("url: https://Notify.Example.com/", "url", "wss://notify.example.com"),
            ("url: none", "url", ""),
            (
                "relays: [relay.example.com, wss://b.example/x, relay.example.com]", "relays",
                "wss://relay.example.com, wss://b.example/x"
            ),
            ("relays: wss://a.example", "relays", "wss://a.example"),
            ("contact: mailto:a@b.org", "contact", "a@b.org"),
            ("services: [ntfy, unifiedpush, ntfy]", "services", "unifiedpush, ntfy"),
            ("monitoring: no", "monitoring", "no"),
            ("listen: '[::1]:7447'", "listen", "[::1]:7447"),
            ("folder: sub/folder/", "folder", "/tmp/work/sub/folder"),
            ("folder: ~/x", "folder", "/home/alice/x"),
        ]
    )
    func spelling(text: String, key: String, expected: String) throws {
        #expect(try read(text)[key] == expected)
    }

    @Test(
        "A mistake with its line and what was expected",
        arguments: [
            ("\nurl: 'wss://a b'", "answers.yaml:2:6: url: expected the router's public name"),
            ("url: wss://a.example/path", "url: expected the router's public name"),
            ("url: ftp://a.example", "url: expected"),
            ("services: [iso]", "services: 'iso' is none of ios, android"),
            (
                "services: [email]\nemail: { server: a.b, from: a@b.org, username: u }",
                "'email.password_file' is missing"
            ),
            (
                "services: [email]\nemail: { server: 'a.b:25', from: a@b.org }",
                "email.server: expected a server's name without a port"
            ),
            (
                "services: [email]\nemail: { server: a.b, from: a@b.org, username: u, password_file: /half2 }",
                "expected the secret as the only line of /half2"
            ),
            (
                "services: [email]\nemail: { server: a.b, from: a@b.org, security: none, username: u }",
                "email.username: the other answers leave no use for it"
            ),
            ("services: [mqtt]\nmqtt: { server: a.b, topic_prefix: 'a/#' }", "mqtt.topic_prefix: expected a topic"),
            ("services: [mqtt]\nmqtt: { server: a.b, port: 70000 }", "mqtt.port: expected a port"),
            (
                "services: [telegram]\ntelegram: { bot: 'a b', token_file: /one }",
                "telegram.bot: expected the bot's name"
            ),
            ("services: [webhook]\nwebhook: { url: 'ftp://a' }", "webhook.url: expected an address"),
            ("services: [http]", "'http.services' is missing"),
            ("services: [http]\nhttp: { services: [telegram] }", "http.services: 'telegram' is none of pushover"),
            (
                "services: [http]\nhttp: { services: [pushover, slack], secrets_file: /one }",
                "http.secrets_file: /one lacks pushover.token; expected lines as pushover.token=abc123"
            ),
            ("adress: x", "unknown key 'adress'"),
            ("contact: nobody@localhost", "contact: expected an e-mail address"),
            ("listen: 300.1.1.1:80", "listen: expected an address and a port"),
            ("listen: 127.0.0.1:70000", "listen: expected a port from 1 to 65535"),
            ("folder: '/a/$(reboot)'", "folder: expected a path without blanks, quotes"),
            ("contact: \"a\\e[2J@b.org\"", "contact: expected text without control characters"),
            ("services: [ios]", "'ios.topic' is missing"),
            ("ios: { topic: com.example.app }", "ios.topic: services does not name ios"),
            ("services: [web]", "'web.subject' is missing"),
            (
                "services: [ios]\nios: { topic: a.b, team_id: short, key_id: ABCDEFGHIJ, key_file: x }",
                "ios.team_id: expected ten letters"
            ),
            (
                "services: [ios]\nios: { topic: a.b, team_id: ABCDEFGHIJ, key_id: ABCDEFGHIJ, key_file: x }",
                "ios.key_file: cannot read /tmp/work/x"
            ),
            ("services: [android]\nandroid: { service_account: /p8 }", "/p8 is not a service account"),
            ("services: [android]\nandroid: { service_account: /half }", "/half lacks client_email, private_key"),
            (
                "services: [ios]\nios: { topic: a.b, team_id: ABCDEFGHIJ, key_id: ABCDEFGHIJ, key_file: /account }",
                "/account does not contain a P-256 private key"
            ),
            ("test_push: https://ntfy.sh\nservices: [gotify]", "test_push: the other answers leave no use for it"),
            ("[1, 2]", "expected a mapping"),
            ("", "the file is empty"),
        ]
    )
    func mistake(text: String, expected: String) {
        let files = [
            "/p8": p8, "/account": account, "/half": #"{"project_id": "p"}"#, "/one": "secret\n", "/half2": "a\nb\n",
        ]
        let found = mistakes(text, machine(files))
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    @Test func pluginFolderIsAskedForIfNoneWasFound() {
        #expect(mistakes("{}", machine(plugins: nil)).contains { $0.contains("'plugins' is missing") })
    }
}

struct SetupInterviewTests {
    private func interview(_ machine: SetupMachine = machine()) -> SetupInterview {
        SetupInterview(SetupQuestions(machine: machine))
    }

    @Test func emptyLinesUseTheSuggestions() throws {
        var interview = interview()
        var keys: [String] = []
        while let question = interview.question {
            keys.append(question.key)
            try interview.answer("")
        }
        #expect(
            keys == [
                "run", "folder", "url", "listen", "relays", "contact", "services", "rules", "monitoring", "key",
                "test_push",
            ]
        )
        #expect(interview.complete["plugins"] == "/opt/plugins")
    }

    @Test func invalidAnswerRepeatsTheQuestion() {
        var interview = interview()
        #expect(throws: SetupError.self) { try interview.answer("perhaps") }
        #expect(interview.question?.key == "run")
    }

    @Test func chosenServicesAddTheirQuestions() throws {
        var interview = interview(machine(["/tmp/work/key.p8": p8]))
        while interview.question?.key != "services" { try interview.answer("") }
        try interview.answer("1, web")
        for answer in ["com.example.app", "abcdefghij", "KLMNOPQRST", "key.p8", ""] {
            #expect(interview.question?.key.hasPrefix("ios.") == true)
            try interview.answer(answer)
        }
        #expect(interview.answers["ios.team_id"] == "ABCDEFGHIJ")
        #expect(interview.answers["ios.key_file"] == "/tmp/work/key.p8")
        #expect(interview.question?.key == "web.subject")
        #expect(throws: SetupError.self) { try interview.answer("") }
        for answer in ["ops@example.org", "", "none"] { try interview.answer(answer) }
        #expect(interview.complete["web.navigate"] == "")
    }

    @Test func backSuggestsThePreviousAnswer() throws {
        var interview = interview()
        var hasGoneBack = interview.back()
        #expect(!hasGoneBack)
        try interview.answer("hand")
        try interview.answer("/srv/push")
        hasGoneBack = interview.back()
        #expect(hasGoneBack)
        #expect(interview.question?.key == "folder")
        #expect(interview.question?.suggestion == "/srv/push")
        try interview.answer("")
        #expect(interview.answers["folder"] == "/srv/push")
    }

    @Test func answersWithoutAQuestionAreForgotten() throws {
        var interview = interview(machine(["/tmp/work/pw": "x\n"]))
        while interview.question?.key != "services" { try interview.answer("") }
        try interview.answer("email")
        for answer in ["a@b.org", "smtp.b.org", "", "", "push", "pw"] { try interview.answer(answer) }
        #expect(interview.complete["email.password_file"] == "/tmp/work/pw")
        interview.reopen("email.username")
        try interview.answer("none")
        #expect(interview.complete["email.password_file"] == nil)
        interview.reopen("services")
        try interview.answer("ntfy")
        #expect(interview.complete["email.server"] == nil)
    }

    @Test func givenSettingIsNotAsked() throws {
        var given = SetupAnswers()
        given["folder"] = "/srv"
        var interview = SetupInterview(SetupQuestions(machine: machine()), given: given)
        try interview.answer("")
        #expect(interview.question?.key == "url")
        let hasGoneBack = interview.back()
        #expect(hasGoneBack)
        #expect(interview.question?.key == "run")
    }
}

struct SetupPlanTests {
    private func plan(_ text: String, isRoot: Bool = false) throws -> SetupPlan {
        let files = ["/p8": p8, "/account": account]
        return SetupPlan(
            try read(text, machine(files, isRoot: isRoot)),
            date: "2026-11-23",
            program: "/usr/bin/carillon"
        )
    }

    private func file(_ name: String, _ plan: SetupPlan) -> String? {
        plan.files.first { $0.path == "\(plan.folder)/\(name)" }?.text
    }

    @Test func theConfigurationComesLast() throws {
        let plan = try plan("{ url: wss://a.example, rules: social }")
        #expect(plan.files.map(\.path).last == plan.configurationPath)
        #expect(plan.files.count == 4)
    }

    @Test func serviceCredentialsUseSystemdCredentials() throws {
        let text = """
            services: [ios, android, web]
            ios: { topic: com.example.app, team_id: ABCDEFGHIJ, key_id: KLMNOPQRST, key_file: /p8 }
            android: { service_account: /account }
            web: { subject: ops@example.org, navigate: 'https://app.example.org/inbox' }
            """
        let plan = try plan(text, isRoot: true)
        #expect(plan.credentialFiles.map(\.name) == ["apns.p8", "firebase.json", "vapid.pem"])
        let dropIn = try #require(file("systemd.conf", plan))
        #expect(dropIn.contains("LoadCredential=apns.p8:/p8\n"))
        #expect(!dropIn.contains("ExecStart"))
        let configuration = try #require(file("carillon.yaml", plan))
        #expect(configuration.contains(#"key_file: "${CREDENTIALS_DIRECTORY}/apns.p8""#))
        // Only the service has the credentials that systemd passes to it, so the plain command would report errors.
        #expect(configuration.contains("systemd-run --pipe --wait -p LoadCredential=apns.p8:/p8 "))
        #expect(!configuration.contains("#     carillon check"))
        #expect(configuration.contains(#"navigate: "https://app.example.org/inbox""#))
        #expect(plan.blocks.newVAPIDKey == "/etc/carillon/secrets/vapid.pem")
    }

    @Test func webServerRequiresAnAddress() throws {
        let plan = try plan("{}")
        #expect(plan.files.map(\.path) == ["/home/alice/carillon/carillon.yaml"])
        #expect(plan.nextSteps(publicKey: nil).contains { $0.contains("relay.url") })
    }

    @Test func webServerTextsContainThePort() throws {
        let plan = try plan("url: wss://a.example:8443")
        #expect(file("nginx.conf", plan)?.contains("listen 8443 ssl;") == true)
        #expect(file("nginx.conf", plan)?.contains("server_name a.example;") == true)
        #expect(file("Caddyfile", plan)?.contains("a.example:8443 {") == true)
    }

    @Test("The rules are the examples", arguments: ["social", "privacy-first", "wallet-and-signer"])
    func rulesAreTheExamples(name: String) throws {
        let text = try #require(file("rules.yaml", try plan("rules: \(name)")))
        let example = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let expected = try String(contentsOfFile: "/\(example)/contrib/examples/rules/\(name).yaml", encoding: .utf8)
        #expect(text == expected)
    }

    @Test func everyLineOfAnyAnswersIsYAML() throws {
        let text =
            "{ url: wss://a.example, relays: [wss://r.example], contact: a@b.org, ca_file: /ca.pem, allow_private: [10.0.0.0/8] }"
        let configuration = try #require(file("carillon.yaml", try plan(text)))
        let file = YAMLFile(name: "carillon.yaml")
        let top = file.parse(configuration)?.mapping()
        try file.throwMistakes()
        #expect(top?.members.map(\.key) == ["identity", "store", "relay", "relays", "plugins", "http", "api", "apps"])
    }

    private static let everything = """
        url: wss://a.example
        services: [email, telegram, mqtt, webhook, http]
        email: { server: SMTP.example.com, from: push@example.com, username: push, password_file: /one, port: 2525 }
        telegram: { token_file: /one, bot: '@example_bot' }
        mqtt: { server: mqtt.example.com, username: u, password_file: /one }
        webhook: { url: https://app.example.com/hook }
        http:
          services: [pushover, bark, slack, discord, matrix, apprise]
          matrix_server: matrix.org
          secrets_file: /services
        """

    private func everything(isRoot: Bool) throws -> SetupPlan {
        let services = "pushover.token=a\nmatrix.token=b\napprise.url=http://localhost:8000\n"
        return SetupPlan(
            try read(Self.everything, machine(["/one": "secret\n", "/services": services], isRoot: isRoot)),
            date: "2026-11-26",
            program: "/usr/bin/carillon"
        )
    }

    @Test("Blocks of all further services", arguments: [false, true])
    func furtherServices(isRoot: Bool) throws {
        let plan = try everything(isRoot: isRoot)
        let configuration = try #require(file("carillon.yaml", plan))
        let yaml = YAMLFile(name: "carillon.yaml", environment: { _ in "/run" })
        let platforms = yaml.parse(configuration)?.mapping()?["apps"]?.mapping()?["default"]?.mapping()
        try yaml.throwMistakes()
        #expect(platforms?.members.map(\.key) == ["email", "telegram", "mqtt", "webhook", "http"])
        let services = platforms?["http"]?.mapping()?["services"]?.mapping()
        #expect(services?.members.map(\.key) == ["pushover", "bark", "slack", "discord", "matrix", "apprise"])
        #expect(configuration.contains("url: https://matrix.org/_matrix/client/v3/rooms/"))
        #expect(!configuration.contains("matrix.example.org") && !configuration.contains("_TOKEN}"))
        #expect(configuration.contains("port: 2525") && configuration.contains(#"server: "smtp.example.com""#))
        #expect(configuration.contains(#"public_url: "https://a.example/""#))
        #expect(plan.credentialPlatforms == ["email", "telegram", "mqtt"])
        // No secret is in a file that others may read.
        #expect(!plan.files.contains { $0.text.contains("secret\n") || $0.text.contains("=a\n") })
    }

    @Test func furtherServicesUseSystemdCredentialsToo() throws {
        let plan = try everything(isRoot: true)
        #expect(
            plan.credentialFiles.map(\.name) == [
                "smtp.password", "telegram.token", "mqtt.password", "webhook.secrets", "http.secrets",
            ]
        )
        #expect(plan.blocks.newWebhookSecret == "/etc/carillon/secrets/webhook.secrets")
        let configuration = try #require(file("carillon.yaml", plan))
        #expect(configuration.contains(#"password_file: "${CREDENTIALS_DIRECTORY}/smtp.password""#))
        #expect(plan.nextSteps(publicKey: nil).contains { $0.contains("webhook.secrets") })
        let command = "/usr/bin/carillon push --config /etc/carillon/carillon.yaml email check"
        #expect(
            plan.checkCommand("email") == "systemd-run --pipe --wait -p LoadCredential=smtp.password:/one \(command)"
        )
        #expect(try everything(isRoot: false).checkCommand("mqtt").hasSuffix("carillon.yaml mqtt check"))
    }

    @Test func webServerForwardsTelegramsPosts() throws {
        let plan = try everything(isRoot: false)
        #expect(file("nginx.conf", plan)?.contains("location /plugins/ {") == true)
        #expect(file("Caddyfile", plan)?.contains("handle /plugins/* {\n        reverse_proxy 127.0.0.1:7448") == true)
        let without = try self.plan("url: wss://a.example")
        #expect(file("nginx.conf", without)?.contains("plugins") == false)
    }

    @Test(
        "In examples of services the secrets are one line",
        arguments: ["pushover", "bark", "slack", "discord", "matrix", "apprise"]
    )
    func secretsAreOneLine(name: String) throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let example = try String(contentsOfFile: "\(root)/contrib/examples/push-services/\(name).yaml", encoding: .utf8)
        // Each part that setup omits must be one line; a longer one would break the example.
        #expect(example.split(separator: "\n").count { $0.hasPrefix("  secrets:") && !$0.hasSuffix("}") } == 0)
    }
}
