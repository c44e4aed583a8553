import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import RouterConfiguration
import Storage

/// `carillon status`
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say how the running router is doing, what is amiss, and what helps.",
        discussion: """
            Asks over the socket beside the store, as root or as the user that runs Carillon; elsewhere over the API.

              carillon status --config /etc/carillon/carillon.yaml
              carillon status --watch
              carillon status --json | jq .issues

            If the configuration file has mistakes now, they come first, and the status of the running router follows.

            Exits with status 0 when nothing is amiss, 1 when something should be looked at, 2 when pushes do not go out as they \
            should, and 3 when no router answers.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Show it anew every two seconds, until Ctrl-C.")
    var watch = false

    func run() async throws {
        let (configuration, mistakes) = try read()
        repeat {
            var status: RouterStatus = try await RunningRouter(configuration).ask("/v1/status")
            if let mistakes { status.add(mistakes) }
            // Clears the screen but keeps the terminal's history.
            if watch, !json { print("\u{1B}[H\u{1B}[2J", terminator: "") }
            Asking.show(status, asJSON: json)
            guard watch else { throw ExitCode(status.exitCode) }
            fflush(nil)
            try await Task.sleep(for: .seconds(2))
        } while true
    }

    /// Reads the configuration and its errors. A file with errors is enough if it contains the router's address.
    private func read() throws -> (Configuration, Diagnostics?) {
        do throws(Diagnostics) {
            return (try Configuration(file: config.path, withoutCredentials: true), nil)
        } catch {
            Terminal.error(error)
            guard let configuration = Configuration(toAskRouterOf: config.path) else { throw ExitCode(1) }
            return (configuration, error)
        }
    }
}

/// The running router of a configuration, as commands access it.
struct RunningRouter {
    private let configuration: Configuration

    init(_ configuration: Configuration) { self.configuration = configuration }

    /// Returns the answer to a GET of `target`. Prints a failure and exits with its code.
    func ask<Answer: OperatorAnswer>(_ target: String) async throws -> Answer {
        try await Asking.run { try await APIClient(configuration: configuration).read(target) }
    }

    /// Returns the answer to a POST of `target`. Prints a failure and exits with its code.
    func change<Answer: OperatorAnswer>(_ target: String) async throws -> Answer {
        try await Asking.run { try await APIClient(configuration: configuration).change(target) }
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
        abstract: "Name every mistake in configuration, rules, key and plugins, each with file and line.",
        discussion: """
            Sends nothing and changes nothing. Exits with status 1 when there is any mistake.

              carillon check --config carillon.yaml

            Editors complete and check the file by its JSON Schema:

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
            Terminal.error(mistakes.count == 1 ? "1 mistake" : "\(mistakes.count) mistakes")
            throw ExitCode(1)
        }
        print("\(config.path): no mistakes")
    }
}

/// `carillon reload`
struct Reload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Have the running router read its configuration anew.",
        discussion: """
            Rules, apps with their credentials and key files, filters, defaults and bounds, shutdown_seconds and new plugins take no \
            restart; nothing in flight is lost. A configuration with mistakes is refused as a whole, and the old one stays. SIGHUP \
            does the same, tells its mistakes in the log, and takes a new API token as well, which this command could not show.

              carillon reload --config /etc/carillon/carillon.yaml

            Exits with status 1 if the router refuses the configuration, or takes it and refuses a plugin, and with 3 if no \
            router answers.
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
        print("The configuration was read anew and is in force.")
        let keys = content.needsRestart ?? []
        if !keys.isEmpty { print("What changed under these keys takes a restart: \(keys.joined(separator: ", "))") }
        let refused = content.refused ?? []
        for plugin in refused { Terminal.error("refused: \(plugin)") }
        if !refused.isEmpty { throw ExitCode(1) }
    }
}
