import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import RouterConfiguration

/// `carillon rules diff`
struct RulesDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show which events of the last hours other rules would have made something else of.",
        discussion: """
            The running router tries its last events on both: on the rules in force, and on the files as they are on disk \
            now or on the file given here. It needs `trace: { keep_events_hours: 24 }` in the configuration, for otherwise no \
            events are kept. No content is shown. Exits with status 0 also where something differs.

              carillon rules diff
              carillon rules diff new.yaml --hours 3
              carillon rules diff new.yaml --in-place-of rules.yaml
            """
    )

    @OptionGroup var options: AnswerOptions

    @Argument(help: "Rules to try in place of all files; without it the files on disk, which a reload would take.")
    var rules: String?

    @Option(help: "The rules file of the configuration in whose place they stand; all when left out.")
    var inPlaceOf: String?

    @Option(help: "How many hours to look back.")
    var hours = 24

    func validate() throws {
        guard inPlaceOf == nil || rules != nil else {
            throw ValidationError("--in-place-of: expected a file with rules as well")
        }
    }

    func run() async throws {
        let configuration = try options.config.read()
        let text = try rules.map { path in try Terminal.printingMistakes { try RulesFiles.text(of: path) } }
        let file = inPlaceOf.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
        let diff = try await Asking.run {
            try await RulesDiffRequest(rules: text, of: rules, file: file, hours: hours).ask(configuration)
        }
        options.show(diff)
    }
}
