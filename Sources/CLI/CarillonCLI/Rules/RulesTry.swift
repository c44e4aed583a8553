import ArgumentParser
import CarillonRouter
import Core
import Foundation
import Operations
import RouterConfiguration
import Storage

/// `carillon rules try`
struct RulesTry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Print the requests to push services that events would cause, without sending them.",
        discussion: """
            The event need not be signed; `carillon rules fixtures` prints samples. Device tokens are samples unless \
            you give one, and so are missing keys of the configuration. Payloads encrypted to the sample device are \
            shown decrypted. Credentials are cut short, and secrets of the configuration are shown as "…".

            Without --config, carillon.yaml is used if it exists and neither --rules nor --plugins is given. Exits \
            with status 1 if a platform gets no request, if a plugin is rejected, or if an event sends no notification \
            (except with --all).

              carillon rules try --all
              carillon rules try --rules rules.yaml --fixture reply --fixture zap
              carillon rules try --rules rules.yaml --fixture like --platform ios --mode sealed --language de --watch
              carillon rules try --config carillon.yaml --event reply.json --recipient 7e7e… --platform unifiedpush \\
                --token https://push.example.com/abc --field p256dh=BCVx… --field auth=BTBZ…
              cat reply.json | carillon rules try --event - --json
            """
    )

    @Option(
        name: [.customShort("c"), .customLong("config")],
        help: "Use rules, plugins and blocks of this configuration."
    )
    var config: String?

    @Option(parsing: .upToNextOption, help: "Rules files to use instead of the configuration's, in this order.")
    var rules: [String] = []

    @Option(
        help: "A folder with plugins. Default: those of the configuration or next to the program. May be repeated."
    )
    var plugins: [String] = []

    @Option(help: "A file with one event as JSON; - reads standard input; may be repeated.")
    var event: [String] = []

    @Option(help: "A sample event of Carillon; may be repeated.")
    var fixture: [String] = []

    @Flag(help: "All sample events of Carillon.")
    var all = false

    @Option(
        help: "The recipient: 64 hex digits or npub1…. Default: the account that the event names, or the fixture's."
    )
    var recipient: String?

    @Option(
        help:
            "Show this platform's request; may be repeated. Default: the app's platforms, or all."
    )
    var platform: [String] = []

    @Option(help: "The app whose blocks of the configuration to use.")
    var app = "default"

    @Option(help: "The mode that the device requested: wake, nudge, sealed or alert.")
    var mode = "alert"

    @Option(help: "The device's language, such as de or pt-BR.")
    var language: String?

    @Option(help: "The device's token or endpoint. Default: a sample.")
    var token: String?

    @Option(help: "An additional field of the registration, as name=value; may be repeated.")
    var field: [String] = []

    @Option(help: "The author's name. Default: the fixture's, or the start of the key.")
    var author: String?

    @Flag(help: "The recipient follows the author.")
    var followed = false

    @Flag(help: "Print one JSON object for each event, one a line.")
    var json = false

    @Flag(help: "Try again whenever a file changes, until ^C.")
    var watch = false

    func validate() throws {
        if !all && event.isEmpty && fixture.isEmpty {
            throw ValidationError("expected --event FILE, --fixture NAME or --all; carillon rules fixtures lists names")
        }
    }

    func run() async throws {
        let input = event.contains("-") ? Array(FileHandle.standardInput.readDataToEndOfFile()) : []
        let fixtures = try Fixture.all()
        let chosen = all ? fixtures : try fixture.map { try RulesFixtures.named($0, in: fixtures) }
        let order = try order()
        try await Watching(isOn: watch).run(files: files) {
            try await Asking.run {
                var order = order
                order.configuration = try configurationPath.map {
                    try Configuration(file: $0, withoutCredentials: true)
                }
                let subjects = try chosen.map { TrialSubject($0) } + event.map { try subject($0, input) }
                try await run(order, subjects)
            }
        }
    }

    private func run(_ order: TrialOrder, _ subjects: [TrialSubject]) async throws {
        let trial = try RulesTrial(order, now: Timestamp.now())
        for refusal in trial.refusals { Terminal.error(refusal) }
        var isComplete = trial.refusals.isEmpty
        for (index, subject) in subjects.enumerated() {
            let report = try await trial.run(subject)
            if report.hasFailures { isComplete = false }
            if let silence = report.silence, !all {
                isComplete = false
                Terminal.error("\(subject.name): the event sends no notification: \(silence)")
                if !json { continue }
            }
            print(json ? report.json : (index > 0 ? "\n" : "") + report.text)
        }
        await trial.close()
        if !isComplete { throw ExitCode(1) }
    }

    private var configurationPath: String? {
        let usual = "carillon.yaml"
        if let config { return config }
        return rules.isEmpty && plugins.isEmpty && FileManager.default.fileExists(atPath: usual) ? usual : nil
    }

    private func order() throws -> TrialOrder {
        var order = TrialOrder()
        order.rulesFiles = rules
        order.pluginFolders = plugins.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
        order.platforms = platform
        order.app = app
        order.mode = mode
        order.language = language
        order.token = token
        order.fields = try fields()
        order.recipient = recipient
        order.authorName = author
        order.isAuthorFollowed = followed
        return order
    }

    private func fields() throws -> [String: String] {
        var fields: [String: String] = [:]
        for pair in field {
            guard let equals = pair.firstIndex(of: "="), equals > pair.startIndex else {
                throw ValidationError("--field: expected name=value")
            }
            fields[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
        }
        return fields
    }

    private func files() -> [String] {
        let rules =
            rules.isEmpty
            ? ConfiguredRules.files([], config: configurationPath)
            : ConfiguredRules.files(rules, config: nil) + (configurationPath.map { [$0] } ?? [])
        return rules + event.filter { $0 != "-" }
    }

    private func subject(_ name: String, _ input: [UInt8]) throws -> TrialSubject {
        if name == "-" { return try TrialSubject(event: input, name: "standard input") }
        guard let data = FileManager.default.contents(atPath: name) else {
            Terminal.error(
                "--event: cannot read \(name); expected a file with one event as JSON, or - for standard input"
            )
            throw ExitCode(1)
        }
        return try TrialSubject(event: Array(data), name: name)
    }
}
