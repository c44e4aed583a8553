import ArgumentParser
import CarillonRouter
import Foundation
import YAMLReading

/// `carillon rules`
struct Rules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See what events become.",
        subcommands: [Try.self, Default.self]
    )

    /// `carillon rules default`
    struct Default: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the built-in rules, as a start for your own.",
            discussion: "  carillon rules default > rules.yaml"
        )

        func run() {
            print(RulesTrial.builtInRules, terminator: "")
        }
    }

    /// `carillon rules try`
    struct Try: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the exact request that an event would cause, without sending it.",
            discussion: """
                The event need not be signed. Rules, plugins and the app's own block are those of the configuration; a \
                device token is made up unless one is given. Credentials are cut short.

                  carillon rules try --event reply.json --recipient 7e7e… --platform ios --mode alert
                  cat reply.json | carillon rules try --event - --recipient 7e7e… --platform unifiedpush
                  carillon rules try --event reply.json --recipient 7e7e… --platform unifiedpush \\
                    --token https://push.example.com/abc --field p256dh=BCVx… --field auth=BTBZ…
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "A file with one event as JSON; - reads standard input.")
        var event: String

        @Option(help: "Whom the event concerns: 64 hex digits or npub1….")
        var recipient: String

        @Option(help: "The platform whose request to show.")
        var platform = "ios"

        @Option(help: "The app whose configuration to use.")
        var app = "default"

        @Option(help: "What the device asked for: wake or alert.")
        var mode = "alert"

        @Option(help: "The device token or endpoint to show; made up when left out.")
        var token: String?

        @Option(help: "A further field of the registration, as name=value; may be repeated.")
        var field: [String] = []

        @Option(help: "The author's name; the beginning of the key when left out.")
        var author: String?

        func run() async throws {
            let configuration = try config.read()
            let trial = RulesTrial(
                configuration: configuration,
                recipient: recipient,
                platform: platform,
                app: app,
                mode: mode,
                token: token,
                fields: try fields(),
                authorName: author
            )
            do {
                print(try await trial.run(event: try read()))
            } catch let mistakes as Mistakes {
                for mistake in mistakes.all { Terminal.error("\(mistake)") }
                throw ExitCode(1)
            } catch let error as RulesTrial.Failure {
                Terminal.error("\(error)")
                throw ExitCode(1)
            }
        }

        private func fields() throws -> [String: String] {
            var fields: [String: String] = [:]
            for pair in field {
                guard let equals = pair.firstIndex(of: "="), equals > pair.startIndex else {
                    throw ValidationError("--field: expected name=value")
                }
                fields[String(pair[..<equals])] = String(pair[pair.index(after: equals)...])
            }
            return fields
        }

        private func read() throws -> [UInt8] {
            if event == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
            guard let data = FileManager.default.contents(atPath: event) else {
                Terminal.error(
                    "--event: cannot read \(event); expected a file with one event as JSON, or - for standard input"
                )
                throw ExitCode(1)
            }
            return Array(data)
        }
    }
}
