import ArgumentParser
import Cluster
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
            abstract: "List the members with their versions and configurations, and say where they differ.",
            discussion: """
                Asks the router that runs on the configuration. WIRE is the newest format that a member reads; what is written \
                goes by the oldest. Configurations are compared without names, addresses and folders. Exits with status 1 when a \
                member went away without a word or members differ, and 3 when no router answers.

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
            abstract: "Have a member hand over all its partitions and take none, without stopping.",
            discussion: """
                It goes on taking events and registrations, and hands over what is others' as before. It stays so until --undo \
                or until it is started again. When all members are drained, all serve. Exits with status 1 when it still owns \
                partitions after a while, when there is no such member, or when it cannot be reached.

                  carillon cluster drain router-2
                  carillon cluster drain router-2 --undo
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The member's name, as carillon cluster members shows it.")
        var member: String

        @Flag(help: "Have it take its share again.")
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
                It stays there while that member lives and is not drained, also over restarts; --undo has it belong wherever the \
                members place it. What is under way is sent first. Exits with status 1 when it is not there after a while.

                  carillon cluster move 7 router-1
                  carillon cluster move 7 --undo
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The partition's number, as carillon cluster status shows it.")
        var partition: Int

        @Argument(help: "The member's name, as carillon cluster members shows it.")
        var member: String?

        @Flag(help: "Have it belong wherever the members place it.")
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
            let configuration = try config.read()
            guard let cluster = configuration.cluster else {
                Terminal.error(
                    "\(config.path): there is no block 'cluster'; the manual's page on scaling has an example"
                )
                throw ExitCode(1)
            }
            // Before its first start, a router has no key.
            let identity = try? IdentityFile(path: configuration.keyFile).read()
            let report = try await Asking.run { try await ClusterCheck(cluster, identity).run() }
            Asking.show(report, asJSON: json)
            if !report.isUsable { throw ExitCode(1) }
        }
    }
}

/// `carillon cluster adopt`
struct ClusterAdoptCommand: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Make a cluster of what one router has served alone: registrations, waiting pushes, marks of relays.",
        discussion: """
            The router must not run, and its configuration has the block 'cluster' by now. There must be no cluster under its \
            prefix yet. Afterwards the same router is the first member, and further ones begin with empty stores and the same key \
            file. What is not for registered devices stays in its outbox. When the command is killed, run it again: until it has \
            ended, the store serves neither alone nor in a cluster.

              carillon cluster adopt --config carillon.yaml
            """
    )

    @OptionGroup var config: ConfigurationOption

    func run() async throws {
        let configuration = try config.read()
        let report = try await Asking.run { try await StoreTransfer(configuration, progress: Self.show).adopt() }
        print(report.text(report.wasDone ? "the store was adopted before" : "the store is a cluster's now"))
    }

    @Sendable static func show(_ line: String) { Terminal.error(line) }
}

/// `carillon cluster export`
struct ClusterExportCommand: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Make a store of a cluster, for one router that serves it alone.",
        discussion: """
            No member may run. Takes the store of the member whose configuration this is: its registry gets what it lacks, and \
            its outbox what waits in all partitions. Afterwards take the block 'cluster' out of that configuration and start the \
            router; the other members' stores are of no use any more. When the command is killed, run it again.

              carillon cluster export --config carillon.yaml

            Where the servers have lost the cluster, --without-servers makes the store one of a router that serves alone with what \
            was registered; what waited in the cluster is gone. carillon cluster adopt makes a new cluster of it.

              carillon cluster export --without-servers --config carillon.yaml
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Take what this member's store has: the servers have lost the cluster.")
    var withoutServers = false

    func run() async throws {
        let configuration = try config.read()
        if withoutServers {
            try await Asking.run {
                try await StoreTransfer(configuration, progress: ClusterAdoptCommand.show).rescue()
            }
            return print("the store serves alone now, with what was registered")
        }
        let report = try await Asking.run {
            try await StoreTransfer(configuration, progress: ClusterAdoptCommand.show).export()
        }
        print(report.text(report.wasDone ? "the cluster was exported before" : "the store serves alone now"))
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
