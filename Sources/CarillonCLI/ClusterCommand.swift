import ArgumentParser
import Operations
import RouterConfiguration

/// `carillon cluster`
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Look at the servers that are to carry several routers as one.",
        discussion: """
            Routers cannot join a cluster yet: carillon serve refuses a configuration with the block 'cluster'.

              carillon cluster check
            """,
        subcommands: [Check.self]
    )

    /// `carillon cluster check`
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Say whether the NATS servers of the configuration can carry a cluster, and what stands against it.",
            discussion: """
                Connects to each server that 'cluster.nats' names, changes nothing there, and exits with status 1 when there is a \
                problem. Each must be version 2.12 or newer with JetStream on, and flush before it acknowledges \
                (sync_interval: always), which its monitoring shows.

                  carillon cluster check
                  carillon cluster check --config carillon.yaml --json
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            guard let cluster = try config.read().cluster else {
                Terminal.error(
                    "\(config.path): there is no block 'cluster'; the manual's page on scaling has an example"
                )
                throw ExitCode(1)
            }
            let report = try await Asking.run { try await ClusterCheck(cluster).run() }
            Asking.show(report, asJSON: json)
            if !report.isUsable { throw ExitCode(1) }
        }
    }
}
