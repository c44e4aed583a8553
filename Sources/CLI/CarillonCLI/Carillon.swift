import ArgumentParser
import CPrivileges
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
        abstract: "A push router for Nostr: it receives events and notifies the right devices.",
        discussion: """
            Answer some questions to get a configuration:

              carillon setup

            Or start with a key and your own configuration, and check both:

              carillon keys new carillon.key
              carillon check --config carillon.yaml
              carillon serve --config carillon.yaml

            Show the notifications for sample events, without sending anything and without any configuration:

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
        // A reload signal during the start must not end the service. The start reads the latest configuration anyway,
        // and `Serve` handles the signal before it reads.
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

    /// Whether no file was named and the default file does not exist.
    var isAbsent: Bool { path == Self.defaultPath && !FileManager.default.fileExists(atPath: path) }

    /// The configuration; `nil` if it is missing or invalid. For commands that can run without it.
    var ifReadable: Configuration? {
        isAbsent ? nil : try? Configuration(file: path, withoutCredentials: true)
    }

    /// Asks the running router, or reads its files, and prints the answer.
    @discardableResult
    func show<Answer: OperatorAnswer>(
        asJSON: Bool,
        _ ask: (RouterOrFiles) async throws -> Answer
    ) async throws -> Answer {
        let answer = try await Asking.run { try await ask(RouterOrFiles(configuration: read())) }
        Asking.show(answer, asJSON: asJSON)
        return answer
    }

    /// Reads the file, or prints its errors and fails. Only the service itself needs its credentials.
    func read(withoutCredentials: Bool = true) throws -> Configuration {
        try Terminal.printingMistakes { () throws in
            try Configuration(file: path, withoutCredentials: withoutCredentials)
        }
    }
}

/// The options of commands that ask the running router or read its files: the configuration and the output format.
struct AnswerOptions: ParsableArguments {
    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Print one JSON object.")
    var json = false

    func show(_ answer: some OperatorAnswer) { Asking.show(answer, asJSON: json) }

    /// Asks the running router, or reads its files, and prints the answer.
    func show<Answer: OperatorAnswer>(_ ask: (RouterOrFiles) async throws -> Answer) async throws {
        try await config.show(asJSON: json, ask)
    }
}

/// The option for plugin directories whose platforms a command should know.
struct PluginsOption: ParsableArguments {
    @Option(
        name: .customLong("plugins"),
        help: "A folder with plugins. Default: those of the configuration or next to the program. May be repeated."
    )
    var names: [String] = []

    /// Absolute paths.
    var folders: [String] { names.map { URL(fileURLWithPath: $0).standardizedFileURL.path } }

    /// Returns the platforms of these plugins. Default: the plugins of the configuration, if it can be read. Prints a
    /// warning if there are no plugins.
    func catalog(_ config: ConfigurationOption) throws -> PlatformCatalog {
        let plugins = try Terminal.printingMistakes { () throws in
            try CommandPlugins(names.isEmpty ? config.ifReadable : nil, folders: folders)
        }
        let catalog = plugins.platforms.catalog
        if catalog.platforms.isEmpty {
            Terminal.error(
                "no plugins in \(plugins.folders.joined(separator: ", ")), so the keys of platforms are unknown; "
                    + "use --plugins to name a folder with plugins"
            )
        }
        return catalog
    }
}

/// A command that opens or writes files in a directory that another user may own. If root starts it, the program
/// restarts as that user before the command runs, so no command runs twice.
protocol OwnerCommand: ParsableCommand {
    /// A file in that directory; `nil` if the command needs none.
    var ownersFile: String? { get throws }
}

/// A command that opens the databases of a configuration.
protocol StoreCommand: OwnerCommand {
    var config: ConfigurationOption { get }
}

extension StoreCommand {
    var ownersFile: String? {
        get throws { try config.read().store.path }
    }
}

/// A store command that prints its answer as text or JSON.
protocol StoreQuery: OwnerCommand {
    var options: AnswerOptions { get }
}

extension StoreQuery {
    var ownersFile: String? {
        get throws { try options.config.read().store.path }
    }
}

extension OwnerCommand {
    /// Restarts the program as the owner if root runs it on another user's files. Call it before `run()`.
    func startAsOwner() throws {
        guard geteuid() == 0, let file = try ownersFile else { return }
        do throws(OperationError) {
            try FolderOwner.startAgain(asOwnerOf: file)
        } catch {
            Terminal.error("\(error)")
            throw ExitCode(1)
        }
    }
}

extension FolderOwner {
    /// Starts this program again as the user who owns the directory of `path`, with root's permission to read. Does
    /// nothing if root owns it. Call it first, because earlier actions of the program would happen twice.
    ///
    /// Throws an ``OperationError`` if that fails. The process must end then.
    static func startAgain(asOwnerOf path: String) throws(OperationError) {
        guard let owner = FolderOwner(ofFolderOf: path) else { return }
        var number = carillon_become(owner.user, owner.group, true)
        if number == 0 {
            execv("/proc/self/exe", CommandLine.unsafeArgv)
            number = errno
        }
        throw owner.cannotAct(path, number)
    }

    /// Permanently switches this process from root to this user. `path` is in the user's directory.
    ///
    /// Throws an ``OperationError`` if that fails. The process must end then.
    func become(_ path: String) throws(OperationError) {
        let number = carillon_become(user, group, false)
        guard number == 0 else { throw cannotAct(path, number) }
    }

    private func cannotAct(_ path: String, _ number: Int32) -> OperationError {
        .unavailable(
            "the folder of \(path) belongs to user \(user), and root cannot act as that user here "
                + "(\(String(cString: strerror(number)))): run this as that user, as with \(command("carillon …"))"
        )
    }
}
