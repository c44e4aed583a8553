import ArgumentParser
import CarillonRouter
import Glibc
import Operations

/// The `carillon` command.
@main
struct Carillon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon",
        abstract: "A push router for Nostr: events come in, the right devices are woken.",
        discussion: """
            Answer some questions, and have a configuration:

              carillon setup

            Or start with a key, a configuration of your own and a look at both:

              carillon keys new carillon.key
              carillon check --config carillon.yaml
              carillon serve --config carillon.yaml

            See what events become, without sending anything and without any configuration:

              carillon rules try --all
              carillon rules try --rules rules.yaml --fixture reply --platform ios
            """,
        version: Version.described,
        subcommands: [
            SetupCommand.self, Serve.self, Status.self, Reload.self, Check.self, Explain.self, Devices.self,
            Users.self, Relays.self, Queue.self, Stats.self, Tokens.self, Keys.self, Backup.self, Store.self,
            Plugin.self, Push.self, Rules.self, LogsCommand.self, ClusterCommand.self,
        ]
    )

    static func main() async {
        // Before anything else: a reload that is asked for while the service begins must not end it. What begins reads
        // the newest configuration anyway, and `Serve` listens before it reads.
        if CommandLine.arguments.dropFirst().first == Serve.configuration.commandName ?? "serve" {
            signal(SIGHUP, SIG_IGN)
        }
        do {
            var command = try parseAsRoot()
            try (command as? any OwnerCommand)?.startAsOwner()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exit(withError: error)
        }
    }
}
