import ArgumentParser
import Foundation
import Operations

/// `carillon stats`
struct Stats: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show counts by day: devices, and what became of events and pushes.",
        discussion: """
            Numbers only, without anybody's keys, kept for 400 days; days are in UTC. With --by the days are put together, but in \
            JSON and CSV. What concerns no one platform, such as matches, is shown as -. The language is that of a device's app.

              carillon stats
              carillon stats --days 30 --by platform
              carillon stats --days 400 --by app --csv > pushes.csv
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Option(help: "How many days, with today, up to 400.")
    var days = 7

    @Option(help: "Divided by platform, app, mode or language.")
    var by: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Print lines of comma-separated values, with a head.")
    var csv = false

    func validate() throws {
        if json, csv { throw ValidationError("--json and --csv: expected one of them") }
    }

    func run() async throws {
        var parameters = ["days": String(days)]
        parameters["by"] = by
        let access = StatisticsAccess(configuration: try config.read())
        let report = try await Asking.run { [parameters] in try await access.report(parameters) }
        if csv { return print(report.csv) }
        Asking.show(report, asJSON: json)
    }
}
