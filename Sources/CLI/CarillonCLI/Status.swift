import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import RouterConfiguration
import Storage

/// `carillon status`
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the router's status and any problems.",
        discussion: """
            Uses the socket next to the store, as root or as the user that runs Carillon, otherwise the API.

              carillon status --config /etc/carillon/carillon.yaml
              carillon status --watch
              carillon status --json | jq .issues

            If the configuration file has errors, they come first, and the running router's status follows.

            Exits with status 0 if there are no problems, 1 for minor problems, 2 if a problem stops pushes, and 3 if \
            no router responds.
            """
    )

    @OptionGroup var options: AnswerOptions

    @Flag(help: "Update the status every two seconds, until Ctrl-C.")
    var watch = false

    func run() async throws {
        let (configuration, mistakes) = try read()
        repeat {
            var status: RouterStatus = try await RunningRouter(configuration).ask("/v1/status")
            if let mistakes { status.add(mistakes) }
            // Clears the screen but keeps the terminal's history.
            if watch, !options.json { print("\u{1B}[H\u{1B}[2J", terminator: "") }
            options.show(status)
            guard watch else { throw ExitCode(status.exitCode) }
            fflush(nil)
            try await Task.sleep(for: .seconds(2))
        } while true
    }

    /// Reads the configuration and its errors. A file with errors is enough if it contains the router's address.
    private func read() throws -> (Configuration, Diagnostics?) {
        do throws(Diagnostics) {
            return (try Configuration(file: options.config.path, withoutCredentials: true), nil)
        } catch {
            Terminal.error(error)
            guard let configuration = Configuration(toAskRouterOf: options.config.path) else { throw ExitCode(1) }
            return (configuration, error)
        }
    }
}

/// A client of the running router for commands, which prints failures.
struct RunningRouter {
    private let configuration: Configuration

    init(_ configuration: Configuration) { self.configuration = configuration }

    /// Returns the answer to a GET of `target`. Prints a failure and exits with its code.
    func ask<Answer: OperatorAnswer>(_ target: String) async throws -> Answer {
        try await Asking.run { try await APIClient(configuration: configuration).answer("GET", target) }
    }

    /// Returns the answer to a POST of `target`. Prints a failure and exits with its code.
    func change<Answer: OperatorAnswer>(_ target: String) async throws -> Answer {
        try await Asking.run { try await APIClient(configuration: configuration).answer("POST", target) }
    }

    /// Returns the text percent-encoded for a query.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                String(Unicode.Scalar(byte))
            default: "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
        }
        .joined()
    }
}

/// `carillon check`
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the configuration, rules, key and plugins.",
        discussion: """
            Shows every error with file and line. Sends and changes nothing. Exits with status 1 on any error.

              carillon check --config carillon.yaml

            Editors can complete and check the file with its JSON Schema:

              carillon check --schema > carillon.schema.json
            """
    )

    @OptionGroup var config: ConfigurationOption

    @OptionGroup var plugins: PluginsOption

    @Flag(help: "Print the JSON Schema of configuration files instead.")
    var schema = false

    func run() async throws {
        if schema { return try print(Schemas.configuration(plugins.catalog(config)), terminator: "") }
        let check = ConfigurationCheck(path: config.path)
        for warning in check.warnings() { Terminal.error("warning: \(warning)") }
        let mistakes = await check.mistakes()
        for mistake in mistakes { Terminal.error("\(mistake)") }
        guard mistakes.isEmpty else {
            Terminal.error(mistakes.count == 1 ? "1 error" : "\(mistakes.count) errors")
            throw ExitCode(1)
        }
        print("\(config.path): no errors")
    }
}

/// `carillon reload`
struct Reload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Reload the configuration.",
        discussion: """
            Changes of rules, apps, credentials, key files, filters, defaults, limits, shutdown_seconds and new \
            plugins apply without a restart; deliveries in flight continue. A configuration with errors is rejected as \
            a whole. SIGHUP does the same but logs its errors. It also accepts a new API token, which this command \
            could not show.

              carillon reload --config /etc/carillon/carillon.yaml

            Exits with status 1 if the router rejects the configuration or a plugin, and with 3 if no router responds.
            """
    )

    private struct Answer: Decodable {
        var detail: String?
        var mistakes: [String]?
        var needsRestart: [String]?
        var warnings: [String]?
        var refused: [String]?

        enum CodingKeys: String, CodingKey {
            case detail, mistakes, warnings, refused
            case needsRestart = "needs_restart"
        }
    }

    @OptionGroup var config: ConfigurationOption

    func run() async throws {
        let configuration = try config.read()
        let answer = try await Asking.run {
            try await APIClient(configuration: configuration).ask("POST", "/v1/reload")
        }
        let content = try? JSONDecoder().decode(Answer.self, from: Data(answer.body.utf8))
        guard answer.status == 200, let content else {
            for mistake in content?.mistakes ?? [] { Terminal.error(mistake) }
            Terminal.error(content?.detail ?? "the router answered with status \(answer.status)")
            throw ExitCode(1)
        }
        for warning in content.warnings ?? [] { Terminal.error("warning: \(warning)") }
        print("The configuration was reloaded and is active.")
        let keys = content.needsRestart ?? []
        if !keys.isEmpty { print("Changes under these keys require a restart: \(keys.joined(separator: ", "))") }
        let refused = content.refused ?? []
        for plugin in refused { Terminal.error("refused: \(plugin)") }
        if !refused.isEmpty { throw ExitCode(1) }
    }
}
