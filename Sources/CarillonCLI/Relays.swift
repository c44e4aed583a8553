import ArgumentParser
import Operations
import Registry
import RouterConfiguration

/// `carillon relays`
struct Relays: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See which relays the running router reads, how it stands with each, and keep users' relays away.",
        subcommands: [List.self, Show.self, Block.self, Unblock.self]
    )

    /// `carillon relays list`
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the relays with their state, what came from them and the last failure.",
            discussion: """
                  carillon relays list
                  carillon relays list --state waiting
                  carillon relays list --misbehaving
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "Only those in this state: connected, connecting, waiting or idle.")
        var state: String?

        @Flag(help: "Only those that did wrong within the hour beyond what may be an accident.")
        var misbehaving = false

        @Flag(help: "Print one JSON object.")
        var json = false

        func validate() throws {
            guard let state, !["connected", "connecting", "waiting", "idle"].contains(state) else { return }
            throw ValidationError("--state: expected connected, connecting, waiting or idle")
        }

        func run() async throws {
            var list: RelayList = try await RunningRouter(try config.read()).ask("/api/relays")
            if let state { list.relays.removeAll { $0.state != state } }
            if misbehaving {
                list.relays.removeAll { $0.misbehaves.isEmpty }
                if list.relays.isEmpty, !json { return print("no relay misbehaves") }
            }
            if list.relays.isEmpty, let state, !json { return print("no relay is \(state)") }
            Asking.show(list, asJSON: json)
        }
    }

    /// `carillon relays show`
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a relay: who is watched there, how far it was read, its last words, what it did wrong.",
            discussion: "  carillon relays show relay.example.com"
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "Its URL, or a part of it.")
        var relay: String

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let list: RelayList = try await RunningRouter(try config.read()).ask(
                "/api/relays?containing=\(RunningRouter.encoded(relay))"
            )
            guard !list.relays.isEmpty else {
                Terminal.error("no relay's URL contains '\(relay)'; carillon relays list names them all")
                throw ExitCode(1)
            }
            print(json ? list.json : list.details)
        }
    }

    /// `carillon relays block`
    struct Block: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Leave a relay that users named at once, and never connect to it again.",
            discussion: """
                A URL stands for that relay, a host's name for all relays there, and *.example.com for all hosts below. Relays \
                of the configuration are excepted. It is kept in the registry's database.

                  carillon relays block wss://relay.example.com --reason "floods"
                  carillon relays block '*.example.com' --until 7d
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "A URL, a host's name, or *. and the end of one.")
        var relay: String

        @Option(help: "For the operator's memory.")
        var reason = ""

        @Option(help: "When it ends, as in 90m, 12h or 30d; never when left out.")
        var until: Span?

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let request = AccessRequest(.block, relay, kind: .relay, reason: reason, span: until?.duration)
            try await Decision.take(request, config, asJSON: json)
        }
    }

    /// `carillon relays unblock`
    struct Unblock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a block of relays back.",
            discussion: "  carillon relays unblock wss://relay.example.com"
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "What was blocked, as carillon users rules shows it.")
        var relay: String

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            try await Decision.take(AccessRequest(.unblock, relay, kind: .relay), config, asJSON: json)
        }
    }
}
