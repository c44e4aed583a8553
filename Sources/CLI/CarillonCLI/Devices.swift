import ArgumentParser
import CarillonRouter
import Operations

/// `carillon devices`
struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "List, show, test, enable and remove registered devices.",
        discussion: """
            Never shows tokens or endpoints. All subcommands except enable and remove read the router's files, even \
            while the router runs. In a cluster, list and show ask a running member, which asks the others.

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
            abstract: "List devices with their accounts, platforms and latest pushes.",
            discussion: """
                Times are in UTC. Unknown values, and values older than the trace, are shown as -.

                  carillon devices list --account npub10el…
                  carillon devices list --json | jq -r '.devices[] | select(.last_error.outcome == "misconfigured") | .device'
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "Only devices of this account: 64 hex digits or npub1….")
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
            abstract: "Show the details of a device.",
            discussion: """
                Shows its account, preferences, last successful and failed push, and when the next push may be sent.

                  carillon devices show 7
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            try await config.show(asJSON: json) { try await $0.device(device) }
        }
    }

    /// `carillon devices test`
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a test push to a device and print the push service's response.",
            discussion: """
                The platform's plugin sends it with the credentials of the configuration, independent of the router, \
                quiet hours, caps and queues. If the push service rejects a mode, a stricter one is tried, like for \
                every push. The response never changes the registration.

                  carillon devices test 7
                  carillon devices test 7 --mode alert --json

                Exits with status 1 unless the push service accepted it.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        @Option(help: "wake, nudge, sealed or alert. Default: the mode that the device requested.")
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
            abstract: "Enable a disabled device.",
            discussion: """
                The router disables a device after operational_events.disable_days (30) without a successful push, if \
                pushes to other devices of its platform succeed. carillon devices list and show report this. A device \
                is also enabled when its app registers again.

                  carillon devices enable 7
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        func run() async throws {
            try await options.show { try await $0.enable(device) }
        }
    }

    /// `carillon devices remove`
    struct Remove: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a device.",
            discussion: """
                The router sends no more pushes to it, including waiting ones. The event that registered it does not \
                restore it; if its app registers again, it gets a new number. If a router runs, this uses its API \
                (api: in the configuration), otherwise its files.

                  carillon devices remove 7
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The device's number, as carillon devices list shows it.")
        var device: Int64

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            try await config.show(asJSON: json) { try await $0.remove(device) }
        }
    }
}

/// `carillon push`
struct Push: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a command of a push service's plugin, other than a delivery.",
        discussion: """
            The platform's plugin defines the commands; help lists them. They use the credentials of the configuration \
            and can run while the router runs.

              carillon push ios help
              carillon push email check
              carillon push ios channels create --storage latest
              carillon push ios channels list
              carillon push --app beta ios channels delete dHN0LXNyY2gtY2hubA==

            Options of this command come before the platform. Prints the error and exits with status 1 if the push \
            service or the plugin rejects the command.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(help: "The app in the configuration.")
    var app = "default"

    @Argument(help: "The platform, as in the configuration.")
    var platform: String

    @Argument(parsing: .captureForPassthrough, help: "The plugin's command.")
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
