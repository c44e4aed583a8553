import ArgumentParser
import CarillonRouter
import Operations
import RouterConfiguration
import YAMLReading

/// `carillon rules check`
struct RulesCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Name every mistake in rules files, each with file, line and column.",
        discussion: """
            Several files are checked together, as they would be used: the rules of the first are asked before those of the \
            next, and files given here before those of the configuration. Without files and configuration the built-in rules \
            are checked. Exits with status 1 when there is any mistake.

              carillon rules check rules.yaml
              carillon rules check own.yaml common.yaml
              carillon rules check --config carillon.yaml
              carillon rules check rules.yaml --watch
            """
    )

    @Argument(help: "Rules files.")
    var files: [String] = []

    @Option(name: [.customShort("c"), .customLong("config")], help: "Check the rules of this configuration as well.")
    var config: String?

    @OptionGroup var plugins: PluginsOption

    @Flag(help: "Check again whenever a file changes, until ^C.")
    var watch = false

    func run() async throws {
        let watched = { ConfiguredRules.files(files, config: config) }
        try await Watching(isOn: watch).run(files: watched) {
            try Terminal.printingMistakes {
                let configuration = try config.map { try Configuration(file: $0, withoutCredentials: true) }
                let platforms = try CommandPlugins(configuration, folders: plugins.folders).platforms
                let check = RulesCheck(files: files, configuration: configuration, platforms)
                for line in try check.summary(warn: { Terminal.error("warning: \($0)") }) { print(line) }
            }
        }
    }
}

/// The files that rules come from.
enum ConfiguredRules {
    /// `files`, the configuration file and the rules files that it names, and what rules name, as far as they can be
    /// read.
    static func files(_ files: [String], config: String?) -> [String] {
        let configuration = config.flatMap { try? Configuration(file: $0, withoutCredentials: true) }
        return (config.map { [$0] } ?? [])
            + RulesCheck(files: files, configuration: configuration, KnownPlatforms()).allFiles
    }
}
