import ArgumentParser
import CarillonRouter
import Operations

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
