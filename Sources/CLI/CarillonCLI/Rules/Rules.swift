import ArgumentParser
import CarillonRouter
import Foundation
import Nostr
import Operations
import RouterConfiguration
import Storage

/// `carillon rules`
struct Rules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check rules, and try them on events.",
        discussion: """
            Write your own rules; each change is checked and shown:

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
            abstract: "Print the built-in rules. Start your own rules from them.",
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
            abstract: "Print the JSON Schema of rules files, for completion and checks in editors.",
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

/// `carillon rules check`
struct RulesCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check rules files, and show every error with file, line and column.",
        discussion: """
            Several files are checked together, as the router uses them: the rules of the first file come before those \
            of the next, and files given here before those of the configuration. Without files and configuration, the \
            built-in rules are checked. Exits with status 1 if there is any error.

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

/// The files that contain rules.
enum ConfiguredRules {
    /// Returns `files`, the configuration file with its rules files, and files that the rules name, if they can be
    /// read.
    static func files(_ files: [String], config: String?) -> [String] {
        let configuration = config.flatMap { try? Configuration(file: $0, withoutCredentials: true) }
        return (config.map { [$0] } ?? [])
            + RulesCheck(files: files, configuration: configuration, KnownPlatforms()).allFiles
    }
}

/// `carillon rules diff`
struct RulesDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show recent events for which other rules give a different result.",
        discussion: """
            The running router compares its last events under two sets of rules: the active ones, and the files on \
            disk or the file given here. It needs `trace: { keep_events_hours: 24 }` in the configuration, which keeps \
            events. No content is shown. Exits with status 0 even if there are differences.

              carillon rules diff
              carillon rules diff new.yaml --hours 3
              carillon rules diff new.yaml --in-place-of rules.yaml
            """
    )

    @OptionGroup var options: AnswerOptions

    @Argument(help: "Rules to try instead of all files. Default: the files on disk, which a reload would use.")
    var rules: String?

    @Option(help: "The configuration's rules file that they replace. Default: all.")
    var inPlaceOf: String?

    @Option(help: "How many hours to look back.")
    var hours = 24

    func validate() throws {
        guard inPlaceOf == nil || rules != nil else {
            throw ValidationError("--in-place-of: expected a rules file as an argument")
        }
    }

    func run() async throws {
        let configuration = try options.config.read()
        let text = try rules.map { path in try Terminal.printingMistakes { try RulesFiles.text(of: path) } }
        let file = inPlaceOf.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
        let diff = try await Asking.run {
            try await RouterOrFiles(configuration: configuration)
                .compare(rules: text, of: rules, file: file, hours: hours)
        }
        options.show(diff)
    }
}

/// `carillon rules fixtures`
struct RulesFixtures: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fixtures",
        abstract: "List the sample events for trying rules, or print one.",
        discussion: """
              carillon rules fixtures
              carillon rules fixtures zap > event.json
              carillon rules try --event event.json
            """
    )

    @Argument(help: "The fixture whose event to print.")
    var name: String?

    func run() throws {
        let fixtures = try Fixture.all()
        guard let name else {
            let width = fixtures.map(\.name.count).max() ?? 0
            for fixture in fixtures {
                let name = fixture.name + String(repeating: " ", count: width - fixture.name.count)
                let kind = "\(fixture.event.kind.rawValue)"
                print("\(name)  \(String(repeating: " ", count: max(0, 5 - kind.count)))\(kind)  \(fixture.about)")
            }
            return
        }
        print(try Self.named(name, in: fixtures).json)
    }

    /// Returns the fixture of that name. If there is none, fails and suggests the closest name.
    static func named(_ name: String, in fixtures: [Fixture]) throws -> Fixture {
        if let fixture = fixtures.first(where: { $0.name == name }) { return fixture }
        throw ValidationError(
            "there is no fixture '\(name)'\(NearestName.hint(name, among: fixtures.map(\.name))); "
                + "carillon rules fixtures lists them"
        )
    }
}

/// Runs a command once, or again after each change to one of its files.
struct Watching {
    let isOn: Bool

    /// `files` returns the files that `body` reads, before each run. A run that prints an error and throws an exit code
    /// does not end the loop.
    func run(files: () -> [String], _ body: () async throws -> Void) async throws {
        guard isOn else { return try await body() }
        while true {
            let names = files()
            var watch = FileWatch(names)
            do {
                try await body()
            } catch is ExitCode {}
            print("\n(watching \(names.joined(separator: ", ")); ^C ends)")
            fflush(nil)
            let changed = try await watch.next()
            print(
                "\n" + String(repeating: "═", count: 80)
                    + "\n\(Self.time): \(changed.joined(separator: ", ")) changed\n"
            )
            // Diagnostics go to another stream and must come after this.
            fflush(nil)
        }
    }

    /// The time of day.
    private static var time: String {
        Date.now.formatted(
            Date.VerbatimFormatStyle(
                format:
                    "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)",
                timeZone: .current,
                calendar: .current
            )
        )
    }
}
