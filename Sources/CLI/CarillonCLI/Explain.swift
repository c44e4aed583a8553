import ArgumentParser
import CarillonRouter
import Core
import Foundation
import Operations
import RouterConfiguration

/// `carillon explain`
struct Explain: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explain why an event did or didn't notify each device.",
        discussion: """
            Answers the question "why did I not get it?" from the trace, which the router keeps for a while (trace: in \
            the configuration). It contains no content and no tokens. The command reads the router's files, even while \
            the router runs. In a cluster, it asks a running member, which asks the others.

              carillon explain note1fntxtkcy9pjwucqwa9mddn7v03wwwsu9j330jj350nvhpky2tuaspk6nqc
              carillon explain 4cd665db042864ee600ee976d6cfcc7c5ce743859462f94a347cd970d88a5f3b --recipient npub10el…
              carillon explain nevent1qqs… --json
              carillon explain https://njump.me/nevent1qqs…
              carillon explain 5f0c9a1e5f0c9a1e5f0c9a1e5f0c9a1e      # the id that POST /v1/notify answered

            An answer reads like this:

              event 4cd6…
                    note1fn…

              npub10el…
                device 7, ios/default, phone
                  2026-11-22 06:58:03 UTC  to be sent, by the rule 'reply'
                  2026-11-22 06:58:04 UTC  delivered: ios/default took it (200)
                  → delivered: ios/default took it (200)
                device 9, web/default
                  2026-11-22 06:58:03 UTC  not sent: the device's filters switch replies off
                  → not sent: the device's filters switch replies off

            For an unknown event it lists possible reasons and exits with status 3. Exits with status 1 on errors.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Argument(help: "The event: 64 hex digits, note1… or nevent1…, or a link with one; or a notification's id.")
    var event: String

    @Option(help: "Only this recipient: 64 hex digits or npub1….")
    var recipient: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let explanation = try await config.show(asJSON: json) {
            try await $0.explain(event, recipient: recipient)
        }
        if !explanation.isKnown { throw ExitCode(3) }
    }
}

/// `carillon logs`
struct LogsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show and set the running router's log levels.",
        subcommands: [Level.self]
    )

    /// `carillon logs level`
    struct Level: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the log levels, or set the level of a component while the router runs.",
            discussion: """
                A component is a module of the router, such as Relays or Delivery; all means every component. The \
                level is reset after --for, at carillon reload and at a restart; default resets it immediately.

                  carillon logs level
                  carillon logs level Relays debug --for 10m
                  carillon logs level Relays default

                Exits with status 3 if no router responds.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "A component's name, or all.")
        var component: String?

        @Argument(help: "trace, debug, info, notice, warning, error, critical or default.")
        var level: String?

        @Option(name: .customLong("for"), help: "How long the level lasts, such as 90s, 10m or 2h.")
        var span: Span?

        @Flag(help: "Print one JSON object.")
        var json = false

        func validate() throws {
            if component != nil, level == nil { throw ValidationError("expected a level after the component") }
        }

        func run() async throws {
            let configuration = try config.read()
            guard let component, let level else {
                return Asking.show(try await RunningRouter(configuration).ask("/v1/logs") as LogReport, asJSON: json)
            }
            let time = span.map { "&seconds=\($0.duration.seconds)" } ?? ""
            let target =
                "/v1/logs?component=\(RunningRouter.encoded(component))&level=\(RunningRouter.encoded(level))\(time)"
            let report: LogReport = try await RunningRouter(configuration).change(target)
            Asking.show(report, asJSON: json)
        }
    }
}

/// `carillon stats`
struct Stats: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show daily counts of devices, events and pushes.",
        discussion: """
            Only numbers, no keys, kept for 400 days; days are in UTC. With --by, text output adds the days up. Counts \
            that belong to no platform, such as matches, are shown as -. The language is that of a device's app.

              carillon stats
              carillon stats --days 30 --by platform
              carillon stats --days 400 --by app --csv > pushes.csv
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(help: "The number of days including today, up to 400.")
    var days = 7

    @Option(help: "Group by platform, app, mode or language.")
    var by: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Print CSV with a header.")
    var csv = false

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv: expected one of them") }
    }

    func run() async throws {
        var parameters = ["days": String(days)]
        parameters["by"] = by
        let access = RouterOrFiles(configuration: try config.read())
        let report = try await Asking.run { [parameters] in try await access.statistics(parameters) }
        if csv { return print(report.csv) }
        Asking.show(report, asJSON: json)
    }
}
