import ArgumentParser
import Foundation
import Operations

/// `carillon queue`
struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List waiting and failed pushes, send them again, or drop them.",
        discussion: """
            Failed pushes are kept for a day (dead_letters: in the configuration). Never shows content, tokens or \
            endpoints. Asks the running router; list, show and drop also work on the files of a stopped one.

              carillon queue list --failed
              carillon queue retry --since 2h --reason misconfigured
              carillon queue drop --failed --platform ios
            """,
        subcommands: [List.self, Show.self, Retry.self, Drop.self]
    )

    /// `carillon queue list`
    struct List: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "List waiting and failed pushes.",
            discussion: """
                Failed pushes come first. Times are in UTC.

                  carillon queue list
                  carillon queue list --failed --platform ios --since 2h
                  carillon queue list --json | jq '.deliveries[] | .reason'
                """
        )

        @OptionGroup var options: AnswerOptions
        @OptionGroup var selection: QueueSelectionOptions

        @Option(help: "The maximum number of pushes, up to 1000.")
        var limit = 100

        @Option(help: "Continue after this place, shown as next on the previous page.")
        var after: String?

        func run() async throws {
            var parameters = selection.parameters
            parameters["limit"] = String(limit)
            parameters["after"] = after
            try await options.show { [parameters] in try await $0.queue(parameters) }
        }
    }

    /// `carillon queue show`
    struct Show: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Show the details of a waiting or failed push.",
            discussion: """
                  carillon queue show 6f1c7a52-8c1e-8d0b-9c55-0a4f6c1d2e3f

                Exits with status 1 if there is no such push.
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The push's id, as carillon queue list shows it.")
        var id: String

        func run() async throws {
            try await options.show { try await $0.delivery(id) }
        }
    }

    /// `carillon queue retry`
    struct Retry: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Send failed pushes again, and delayed ones immediately.",
            discussion: """
                Pushes keep their ids, by which push services and apps recognize duplicates. Expired pushes and pushes \
                for unregistered devices are skipped. A paused queue stays paused unless you add --unpause.

                  carillon queue retry --since 2h --reason misconfigured --unpause
                  carillon queue retry --failed --platform ios --dry-run
                  carillon queue retry 6f1c7a52-8c1e-8d0b-9c55-0a4f6c1d2e3f
                """
        )

        @OptionGroup var options: AnswerOptions
        @OptionGroup var choice: QueueChoiceOptions

        @Flag(help: "Also resume their paused queues.")
        var unpause = false

        func validate() throws { try choice.require() }

        func run() async throws {
            var parameters = choice.parameters()
            if unpause { parameters["unpause"] = "1" }
            try await options.show { [parameters] in try await $0.retry(parameters) }
        }
    }

    /// `carillon queue drop`
    struct Drop: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Drop waiting and failed pushes.",
            discussion: """
                Shows their number and asks for confirmation, unless --yes is given. Pushes in flight stay.

                  carillon queue drop --failed --platform ios --reason BadTopic
                  carillon queue drop --waiting --host push.example.org --yes
                  carillon queue drop --all --dry-run
                """
        )

        @OptionGroup var options: AnswerOptions
        @OptionGroup var choice: QueueChoiceOptions

        @Flag(help: "Do not ask.")
        var yes = false

        func validate() throws { try choice.require() }

        func run() async throws {
            let access = RouterOrFiles(configuration: try options.config.read())
            if !choice.dryRun, !yes {
                let asked = choice.parameters(isTrial: true)
                let trial = try await Asking.run { try await access.drop(asked) }
                guard trial.waiting + trial.failed > 0 else { return options.show(trial) }
                Terminal.error("\(trial.text). This cannot be undone. Continue? [y/N]")
                guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
                    Terminal.error("nothing was dropped")
                    throw ExitCode(1)
                }
            }
            let parameters = choice.parameters()
            let answer = try await Asking.run { try await access.drop(parameters) }
            options.show(answer)
        }
    }
}

/// The options that select pushes.
struct QueueSelectionOptions: ParsableArguments {
    @Option(help: "Only pushes of this platform.")
    var platform: String?

    @Option(help: "Only pushes of this app.")
    var app: String?

    @Option(help: "Only pushes to this host of a user's endpoint.")
    var host: String?

    @Option(help: "Only pushes to the device with this number.")
    var device: Int64?

    @Option(
        help: """
            Only pushes whose last attempt failed with this result: rejected, misconfigured, retry, or a code of the \
            push service or the plugin.
            """
    )
    var reason: String?

    @Option(
        help: "Only pushes that failed or were accepted since then: 2h (ago; also s, m, d) or 2026-11-22T07:00:00Z."
    )
    var since: String?

    @Option(help: "Only pushes before this time.")
    var until: String?

    @Flag(help: "Only waiting pushes.")
    var waiting = false

    @Flag(help: "Only failed pushes.")
    var failed = false

    /// The API's parameters.
    var parameters: [String: String] {
        var parameters: [String: String] = [:]
        parameters["platform"] = platform
        parameters["app"] = app
        parameters["host"] = host
        parameters["device"] = device.map { String($0) }
        parameters["reason"] = reason
        parameters["since"] = since
        parameters["until"] = until
        if waiting != failed { parameters["state"] = waiting ? "waiting" : "failed" }
        return parameters
    }
}

/// The options that select the pushes to change: by filter, by id, or all.
struct QueueChoiceOptions: ParsableArguments {
    @OptionGroup var selection: QueueSelectionOptions

    @Argument(help: "Ids of pushes, as carillon queue list shows them.")
    var ids: [String] = []

    @Flag(help: "All pushes.")
    var all = false

    @Flag(help: "Show what the command would do, without doing it.")
    var dryRun = false

    /// Returns the API's parameters. `isTrial` makes the request a dry run.
    func parameters(isTrial: Bool = false) -> [String: String] {
        var parameters = selection.parameters
        if !ids.isEmpty { parameters["id"] = ids.joined(separator: ",") }
        if all { parameters["all"] = "1" }
        if dryRun || isTrial { parameters["dry_run"] = "1" }
        return parameters
    }

    /// Requires a selection or `--all`, so that no command changes all pushes by accident.
    func require() throws {
        guard selection.parameters.isEmpty, ids.isEmpty, !all else { return }
        throw ValidationError("this selects every push: add a filter such as --failed or --platform, or --all")
    }
}
