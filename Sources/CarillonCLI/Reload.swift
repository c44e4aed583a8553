import ArgumentParser
import CarillonRouter
import Foundation
import Operations

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
