import ArgumentParser
import CarillonRouter
import Foundation
import Glibc
import Operations
import Push
import RouterConfiguration

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

/// The option that names the configuration file.
struct ConfigurationOption: ParsableArguments {
    @Option(name: [.customShort("c"), .customLong("config")], help: "The configuration file.")
    var path = Self.defaultPath

    private static let defaultPath = "carillon.yaml"

    /// Whether nobody named a file and there is none where it would be.
    var isAbsent: Bool { path == Self.defaultPath && !FileManager.default.fileExists(atPath: path) }

    /// Nil where there is none, or it has mistakes: for commands that go on without.
    var ifReadable: Configuration? {
        isAbsent ? nil : try? Configuration(file: path, withoutCredentials: true)
    }

    /// Reads the file; prints its mistakes and fails when there are any. Only the service itself needs its credentials.
    func read(withoutCredentials: Bool = true) throws -> Configuration {
        try Terminal.printingMistakes { () throws in
            try Configuration(file: path, withoutCredentials: withoutCredentials)
        }
    }
}

/// What commands take that ask the running router or its files: which router, and how the answer is printed.
struct AnswerOptions: ParsableArguments {
    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Print one JSON object.")
    var json = false

    func show(_ answer: some OperatorAnswer) { Asking.show(answer, asJSON: json) }
}

/// The option that names folders with plugins, whose platforms a command is to know.
struct PluginsOption: ParsableArguments {
    @Option(
        name: .customLong("plugins"),
        help: "A folder with plugins, in place of the configuration's or those beside the program; may be repeated."
    )
    var names: [String] = []

    /// Absolute paths.
    var folders: [String] { names.map { URL(fileURLWithPath: $0).standardizedFileURL.path } }

    /// What they say about their platforms. Without the option these are the plugins of the configuration, if it can be
    /// read. What cannot be known without any plugin is said.
    func catalog(_ config: ConfigurationOption) throws -> PlatformCatalog {
        let plugins = try Terminal.printingMistakes { () throws in
            try CommandPlugins(names.isEmpty ? config.ifReadable : nil, folders: folders)
        }
        let catalog = plugins.platforms.catalog
        if catalog.platforms.isEmpty {
            Terminal.error(
                "no plugins in \(plugins.folders.joined(separator: ", ")), so no platform's keys are known; "
                    + "--plugins names a folder with some"
            )
        }
        return catalog
    }
}

/// A command that opens or writes files in a folder that another user may own. If root starts it, the program runs as
/// that user before the command begins, so that no command runs twice.
protocol OwnerCommand: ParsableCommand {
    /// A file in that folder; nil if the command needs none.
    var ownersFile: String? { get throws }
}

/// A command that opens the databases of a configuration.
protocol StoreCommand: OwnerCommand {
    var config: ConfigurationOption { get }
}

extension StoreCommand {
    var ownersFile: String? {
        get throws { try config.read().storePath }
    }
}

/// A command of that sort whose answer is printed as text or JSON.
protocol StoreQuery: StoreCommand {
    var options: AnswerOptions { get }
}

extension StoreQuery {
    var config: ConfigurationOption { options.config }
}

extension OwnerCommand {
    /// Starts the program again as the owner if root runs it on another user's files. Call it before `run()`.
    func startAsOwner() throws {
        guard geteuid() == 0, let file = try ownersFile else { return }
        do throws(OperationFailure) {
            try FolderOwner.startAgain(asOwnerOf: file)
        } catch {
            Terminal.error("\(error)")
            throw ExitCode(1)
        }
    }
}
