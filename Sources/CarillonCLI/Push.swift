import ArgumentParser
import CarillonRouter
import Operations

/// `carillon push`
struct Push: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Ask a push service for something that is no delivery.",
        discussion: """
            What there is to ask for is the platform's plugin's own affair; help lists it. It uses the credentials of the \
            configuration and may run beside the router.

              carillon push ios help
              carillon push email check
              carillon push ios channels create --storage latest
              carillon push ios channels list
              carillon push --app beta ios channels delete dHN0LXNyY2gtY2hubA==

            Options of this command come before the platform. Exits with status 1 when the push service or the plugin refuses, \
            and says why.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(help: "Which of the configured apps.")
    var app = "default"

    @Argument(help: "The platform, as in the configuration.")
    var platform: String

    @Argument(parsing: .captureForPassthrough, help: "What to ask for.")
    var words: [String] = []

    func validate() throws {
        // The plugin takes all words behind the platform.
        if words.contains("--config") {
            throw ValidationError("--config comes before the platform: carillon push --config FILE \(platform) help")
        }
    }

    func run() async throws {
        let command = PushServiceCommand(configuration: try config.read(), app: app, platform: platform)
        let answer = try await command.run(words.isEmpty ? ["help"] : words)
        guard answer.isGood else {
            Terminal.error(answer.text)
            throw ExitCode(1)
        }
        print(answer.text)
    }
}
