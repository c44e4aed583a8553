import ArgumentParser
import CarillonRouter
import Cluster
import Logging
import Operations
import RouterConfiguration

/// `carillon cluster`
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Show and manage a cluster of routers, and check its NATS servers.",
        discussion: """
            A router with the block 'cluster' joins the cluster at its start, and passes its partitions on when it \
            stops.

              carillon cluster check
              carillon cluster status
              carillon cluster members
              carillon cluster drain router-2
              carillon cluster move 7 router-1
              carillon cluster adopt
            """,
        subcommands: [
            Check.self, ClusterStatusCommand.self, Members.self, Drain.self, Move.self, ClusterAdoptCommand.self,
            ClusterExportCommand.self,
        ]
    )

    /// `carillon cluster members`
    struct Members: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the members with their versions and configurations, and show differences.",
            discussion: """
                Asks the router that runs on the configuration. WIRE is the newest message format that a member reads; \
                members write the oldest of these. Names, addresses and folders are not compared. Exits with status 1 \
                if a member is missing without having stopped or members differ, and 3 if no router responds.

                  carillon cluster members
                  carillon cluster members --json | jq '.members[] | select(.is_living | not) | .name'
                """
        )

        @OptionGroup var options: AnswerOptions

        func run() async throws {
            let status: ClusterStatus = try await RunningRouter(try options.config.read()).ask("/v1/cluster")
            let list = MemberList(status)
            options.show(list)
            if list.hasDifferences { throw ExitCode(1) }
        }
    }

    /// `carillon cluster drain`
    struct Drain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move all partitions away from a member, without stopping it.",
            discussion: """
                The member continues to receive events and registrations and passes them to the owners. The state \
                lasts until --undo or its next start. If all members are drained, all of them own partitions. Exits \
                with status 1 if the member still owns partitions after a while, is unknown or cannot be reached.

                  carillon cluster drain router-2
                  carillon cluster drain router-2 --undo
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The member's name, as carillon cluster members shows it.")
        var member: String

        @Flag(help: "Let it own partitions again.")
        var undo = false

        func run() async throws {
            let target = "/v1/cluster/drain?member=\(RunningRouter.encoded(member))\(undo ? "&undo=1" : "")"
            let answer: ClusterDrain = try await RunningRouter(try options.config.read()).change(target)
            options.show(answer)
            if answer.isDrained, answer.partitions > 0 { throw ExitCode(1) }
        }
    }

    /// `carillon cluster move`
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move a partition to a member.",
            discussion: """
                The partition stays there while that member runs and is not drained, even after restarts. --undo lets \
                the members place it. Pushes in flight are completed first. Exits with status 1 if it has not moved \
                after a while.

                  carillon cluster move 7 router-1
                  carillon cluster move 7 --undo
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The partition's number, as carillon cluster status shows it.")
        var partition: Int

        @Argument(help: "The member's name, as carillon cluster members shows it.")
        var member: String?

        @Flag(help: "Let the members place the partition.")
        var undo = false

        func validate() throws {
            guard (member == nil) == undo else { throw ValidationError("expected a member's name, or --undo") }
        }

        func run() async throws {
            let place = member.map { "&member=\(RunningRouter.encoded($0))" } ?? ""
            let answer: ClusterMove = try await RunningRouter(try options.config.read()).change(
                "/v1/cluster/move?partition=\(partition)\(place)"
            )
            options.show(answer)
            if let to = answer.to, answer.owner != to { throw ExitCode(1) }
        }
    }

    /// `carillon cluster status`
    struct ClusterStatusCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the cluster's members and the owner of each partition.",
            discussion: """
                Asks the router that runs on the configuration over the socket next to the store, or over the API if \
                there is no socket. Exits with status 1 if a partition has no owner, and 3 if no router responds.

                  carillon cluster status
                  carillon cluster status --config carillon.yaml --json
                """
        )

        @OptionGroup var options: AnswerOptions

        func run() async throws {
            let status: ClusterStatus = try await RunningRouter(try options.config.read()).ask("/v1/cluster")
            options.show(status)
            if status.ownerless > 0 { throw ExitCode(1) }
        }
    }

    /// `carillon cluster check`
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Check whether the configured NATS servers are suitable for a cluster, and list the problems.",
            discussion: """
                Connects to each server under 'cluster.nats' and changes nothing. Each server must have version 2.12 \
                or later with JetStream, and flush before it acknowledges (sync_interval: always), as its monitoring \
                shows. Exits with status 1 if there is a problem.

                  carillon cluster check
                  carillon cluster check --config carillon.yaml --json
                """
        )

        @OptionGroup var options: AnswerOptions

        func run() async throws {
            let configuration = try options.config.read()
            guard let cluster = configuration.cluster else {
                Terminal.error(
                    "\(options.config.path): there is no block 'cluster'; the manual's page on scaling has an example"
                )
                throw ExitCode(1)
            }
            // Before its first start, a router has no key.
            let identity = try? IdentityFile(path: configuration.identity.keyFile).read()
            let report = try await Asking.run { try await ClusterCheck(cluster, identity).run() }
            options.show(report)
            if !report.isUsable { throw ExitCode(1) }
        }
    }
}

/// `carillon cluster adopt`
struct ClusterAdoptCommand: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Create a cluster from a single router's store: registrations, waiting pushes, relay marks.",
        discussion: """
            Stop the router first, and add the block 'cluster' to its configuration. No cluster may exist under its \
            prefix. Afterwards the same router is the first member; more members start with empty stores and the same \
            key file. Pushes for unregistered devices stay in its outbox. If the command is interrupted, run it again: \
            until it has finished, no router can use the store.

              carillon cluster adopt --config carillon.yaml
            """
    )

    @OptionGroup var config: ConfigurationOption

    func run() async throws {
        let configuration = try config.read()
        let report = try await Asking.run { try await StoreTransfer(configuration, progress: Self.show).adopt() }
        print(report.text(report.wasDone ? "the store was adopted before" : "the store is now part of a cluster"))
    }

    @Sendable static func show(_ line: String) { Terminal.error(line) }
}

/// `carillon cluster export`
struct ClusterExportCommand: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Create a single router's store from a cluster.",
        discussion: """
            Stop all members first. The command completes this member's registry, and moves the waiting pushes of all \
            partitions to its outbox. Then remove the block 'cluster' from its configuration and start the router. The \
            other stores are no longer needed. If the command is interrupted, run it again.

              carillon cluster export --config carillon.yaml

            If the servers have lost the cluster, --without-servers creates the store from this member's \
            registrations; waiting pushes are lost. carillon cluster adopt creates a new cluster from it.

              carillon cluster export --without-servers --config carillon.yaml
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Use only this member's store, because the servers have lost the cluster.")
    var withoutServers = false

    func run() async throws {
        let configuration = try config.read()
        if withoutServers {
            try await Asking.run {
                try await StoreTransfer(configuration, progress: ClusterAdoptCommand.show).rescue()
            }
            return print("the store serves one router now, with its registrations")
        }
        let report = try await Asking.run {
            try await StoreTransfer(configuration, progress: ClusterAdoptCommand.show).export()
        }
        print(report.text(report.wasDone ? "the cluster was exported before" : "the store serves one router now"))
    }
}

extension Serve {
    /// Joins the configured cluster. Returns the membership, `nil` if none is configured, and the API's endpoints for
    /// it.
    static func join(
        _ configuration: Configuration,
        _ logger: Logger
    ) async throws -> (membership: (any Membership)?, endpoints: (MemberSurvey) -> [APIOperation]) {
        var member: ClusterPart?
        if configuration.cluster != nil {
            let claim = try Terminal.printingMistakes { try StoreClaim(configuration, logger: logger) }
            member = try await ClusterLink.join(configuration, claim, logger: logger).map(ClusterPart.init)
        }
        return (member, ClusterPart.endpoints(of: member))
    }
}

extension StoreTransfer.Report {
    fileprivate func text(_ result: String) -> String {
        var lines = [result]
        if !wasDone {
            lines.append(
                "moved: \(waiting) waiting deliveries, \(held) held groups, \(deadLetters) failed deliveries, marks of \(relays) relays"
            )
        }
        if leftOut > 0 { lines.append("\(leftOut) deliveries for no registered device stay in the outbox") }
        return lines.joined(separator: "\n")
    }
}
