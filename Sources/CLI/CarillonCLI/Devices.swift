import ArgumentParser
import CarillonRouter
import Operations

/// `carillon devices`
struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Look at registered devices, push to one to see whether it can be reached, switch one on again, or remove one.",
        discussion: """
            Never shows tokens or endpoints. All of it but enable and remove reads the router's files, also while the router runs. list \
            and show ask a running member of a cluster instead, which asks the others.

              carillon devices list
              carillon devices list --account npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg
              carillon devices show 7
              carillon devices test 7 --mode nudge
              carillon devices enable 7
              carillon devices remove 7
            """,
        subcommands: [List.self, Show.self, Test.self, Enable.self, Remove.self]
    )

    /// `carillon devices list`
    struct List: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "List devices: whose, where, and how pushes to them went.",
            discussion: """
                Times are in UTC. What is not known, or longer ago than the router remembers, is shown as -.

                  carillon devices list --account npub10el…
                  carillon devices list --json | jq -r '.devices[] | select(.last_error.outcome == "misconfigured") | .device'
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "Whose devices: 64 hex digits or npub1….")
        var account: String?

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let access = RouterOrFiles(configuration: try config.read())
            var previous: Int64?
            var isFirst = true
            var whole: DeviceList?
            repeat {
                let list = try await Asking.run { [previous] in
                    try await access.devices(account: account, after: previous)
                }
                if json {
                    if whole == nil { whole = list } else { whole?.devices += list.devices }
                } else if isFirst || !list.devices.isEmpty {
                    print(list.devices.isEmpty ? list.text : list.table(withHead: isFirst))
                    if !list.devices.isEmpty { for waiting in list.waiting { print(waiting.text) } }
                }
                if !list.devices.isEmpty { for line in list.missing { Terminal.error(line) } }
                (previous, isFirst) = (list.next, false)
            } while previous != nil
            whole?.next = nil
            if let whole { print(whole.json) }
        }
    }

    /// `carillon devices show`
    struct Show: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what is known of a device.",
            discussion: """
                Its owner, wishes, the last success and the last error of pushes to it, and when the next one may go.

                  carillon devices show 7
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let overview = try await Asking.run {
                try await RouterOrFiles(configuration: config.read()).device(device)
            }
            Asking.show(overview, asJSON: json)
        }
    }

    /// `carillon devices test`
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a push to a device and print the push service's own answer.",
            discussion: """
                It goes out by the platform's plugin with the credentials of the configuration, beside the router and past \
                quiet hours, caps and queues; what does not pass in its mode says less, as every push does. Whatever the \
                answer says, the registration stays as it is.

                  carillon devices test 7
                  carillon devices test 7 --mode alert --json

                Exits with status 1 unless the push service took it.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        @Option(help: "wake, nudge, sealed or alert; what the device asked for when left out.")
        var mode: String?

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let answer = try await Asking.run {
                // Runs as root, because it loads root's plugins and their credentials. It changes no file.
                try await OperatorAccess(config.read(), for: .reading).operations.test(device, mode: mode)
            }
            Asking.show(answer, asJSON: json)
            if !answer.isDelivered { throw ExitCode(1) }
        }
    }

    /// `carillon devices enable`
    struct Enable: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Switch a device on that was switched off.",
            discussion: """
                A device that nothing reached for operational_events.disable_days (30) is switched off while others of its \
                platform are reached; carillon devices list and show say so. When its app registers again it is on without \
                this.

                  carillon devices enable 7
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        func run() async throws {
            let configuration = try options.config.read()
            let answer = try await Asking.run { try await RouterOrFiles(configuration: configuration).enable(device) }
            options.show(answer)
        }
    }

    /// `carillon devices remove`
    struct Remove: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget a device.",
            discussion: """
                Nothing is sent to it any more, also what waits. The event that registered it does not bring it back; when its \
                app registers again it is back under a new number. While a router runs this goes through its API (api: in the \
                configuration), and without one through its files.

                  carillon devices remove 7
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let configuration = try config.read()
            let access = RouterOrFiles(configuration: configuration)
            let answer = try await Asking.run { try await access.remove(device) }
            print(json ? answer.json : answer.text)
        }
    }
}

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
        // The plugin receives all arguments after the platform.
        if words.contains("--config") {
            throw ValidationError("--config comes before the platform: carillon push --config FILE \(platform) help")
        }
    }

    func run() async throws {
        let command = StandalonePlatform(platform, of: app, try config.read())
        let answer = try await command.run(words.isEmpty ? ["help"] : words)
        guard answer.isGood else {
            Terminal.error(answer.text)
            throw ExitCode(1)
        }
        print(answer.text)
    }
}
