import ArgumentParser
import Operations
import RouterConfiguration

/// `carillon cluster`
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Look at several routers that work as one, and at the servers that carry them.",
        discussion: """
            A router whose configuration has the block 'cluster' joins it when it serves, and hands over what it has when it stops.

              carillon cluster check
              carillon cluster status
            """,
        subcommands: [Check.self, ClusterStatusCommand.self]
    )

    /// `carillon cluster status`
    struct ClusterStatusCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Say who the members of the cluster are, and who owns which partition.",
            discussion: """
                Asks the router that runs on the configuration, over the socket beside the store; elsewhere over the API. Exits with \
                status 1 when a partition has no owner, and 3 when no router answers.

                  carillon cluster status
                  carillon cluster status --config carillon.yaml --json
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let status: ClusterStatus = try await RunningRouter(try config.read()).ask("/v1/cluster")
            Asking.show(status, asJSON: json)
            if status.ownerless > 0 { throw ExitCode(1) }
        }
    }

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
