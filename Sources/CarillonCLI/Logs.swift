import ArgumentParser
import Operations
import RouterConfiguration
import Units

/// `carillon logs`
struct LogsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "See and set how much the running router logs.",
        subcommands: [Level.self]
    )

    /// `carillon logs level`
    struct Level: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the log's levels, or set that of a component while the router runs.",
            discussion: """
                A component is a module of the router, such as RelayPool or Delivery; all stands for all of them. What is set \
                ends with its time, with carillon reload and with a restart; default takes it back.

                  carillon logs level
                  carillon logs level RelayPool debug --for 10m
                  carillon logs level RelayPool default

                Exits with status 3 when no router answers.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "A component's name, or all.")
        var component: String?

        @Argument(help: "trace, debug, info, notice, warning, error, critical or default.")
        var level: String?

        @Option(name: .customLong("for"), help: "How long it holds, as in 90s, 10m or 2h.")
        var span: Span?

        @Flag(help: "Print one JSON object.")
        var json = false

        func validate() throws {
            if component != nil, level == nil { throw ValidationError("expected a level behind the component") }
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
