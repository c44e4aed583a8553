import ArgumentParser
import CarillonRouter
import Operations
import RouterConfiguration

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
