import ArgumentParser
import CarillonRouter

/// The `carillon` command.
@main
struct Carillon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "A push router for Nostr: events come in, the right devices are woken.",
        discussion: """
            Start with a key, a configuration and a look at both:

              carillon keys new carillon.key
              carillon check --config carillon.yaml
              carillon serve --config carillon.yaml

            Try what an event becomes, without sending it:

              carillon rules try --event event.json --recipient HEX --platform ios
            """,
        version: Version.current,
        subcommands: [Serve.self, Check.self, Keys.self, Plugin.self, Rules.self]
    )
}
