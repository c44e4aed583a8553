import ArgumentParser
import Console
import Operations

extension APIScope: ExpressibleByArgument {}

/// `carillon tokens`
struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make, list and revoke tokens for the API, each with a name and with what it may do.",
        discussion: """
            The token of api.token_file opens everything. Named ones open what their scopes say: read (look at everything), \
            operate (change things) and send (send notifications). Only a hash of each is kept, in a file beside the store. \
            A running router notices changes at once.

              carillon tokens create grafana --scope read
              carillon tokens create deploy --scope read --scope operate --expires 90d
              carillon tokens list
              carillon tokens revoke grafana
            """,
        subcommands: [Create.self, List.self, Revoke.self]
    )

    /// `carillon tokens create`
    struct Create: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a token, and print it once.",
            discussion: """
                The first line of the output is the token.

                  carillon tokens create grafana --scope read
                  carillon tokens create app --scope send --expires 365d --json | jq -r .token
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "What it is called.")
        var name: String

        @Option(help: "What it may do: read, operate or send; may be repeated.")
        var scope: [APIScope]

        @Option(help: "When it ends, as in 12h or 90d; never when left out.")
        var expires: Span?

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            let created = try await Asking.run {
                try operations.create(name, Set(scope), for: expires?.duration)
            }
            Asking.show(created, asJSON: json)
        }
    }

    /// `carillon tokens list`
    struct List: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "List named tokens, what they may do, and when they were used last.",
            discussion: "  carillon tokens list --json | jq '.tokens[] | select(.last_used_at == null) | .name'"
        )

        @OptionGroup var config: ConfigurationOption

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            Asking.show(try await Asking.run { try operations.list() }, asJSON: json)
        }
    }

    /// `carillon tokens revoke`
    struct Revoke: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Have a token open nothing any more.",
            discussion: "  carillon tokens revoke grafana"
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "What it is called.")
        var name: String

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            Asking.show(try await Asking.run { try operations.revoke(name) }, asJSON: json)
        }
    }
}
