import ArgumentParser
import CarillonRouter
import Operations
import RouterConfiguration

/// `carillon rules`
struct Rules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check rules, and see what events become.",
        discussion: """
            Write rules of your own, with every change checked and shown:

              carillon rules default > rules.yaml
              carillon rules check rules.yaml --watch
              carillon rules try --rules rules.yaml --fixture like --platform ios --watch
            """,
        subcommands: [
            RulesCheckCommand.self, RulesTry.self, RulesDiffCommand.self, RulesFixtures.self, Default.self, Schema.self,
        ]
    )

    /// `carillon rules default`
    struct Default: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the built-in rules, as a start for your own.",
            discussion: "  carillon rules default > rules.yaml"
        )

        @OptionGroup var config: ConfigurationOption
        @OptionGroup var plugins: PluginsOption

        func run() throws {
            try print(RulesTrial.builtInRules(plugins.catalog(config)), terminator: "")
        }
    }

    /// `carillon rules schema`
    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the JSON Schema of rules files, from which editors complete and check them.",
            discussion: """
                Editors with the YAML language server find it by a file's first line:

                  # yaml-language-server: $schema=rules.schema.json

                  carillon rules schema > rules.schema.json
                """
        )

        @OptionGroup var config: ConfigurationOption
        @OptionGroup var plugins: PluginsOption

        func run() throws {
            try print(Schemas.rules(plugins.catalog(config)), terminator: "")
        }
    }
}
