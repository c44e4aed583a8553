import ArgumentParser
import Operations
import Registry
import RouterConfiguration

/// `carillon relays`
struct Relays: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List and show the running router's relays, and block relays of users.",
        subcommands: [List.self, Show.self, Block.self, Unblock.self]
    )

    /// `carillon relays list`
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the relays with their state, counts and last failure.",
            discussion: """
                  carillon relays list
                  carillon relays list --state waiting
                  carillon relays list --misbehaving
                """
        )

        @OptionGroup var options: AnswerOptions

        @Option(help: "Only those in this state: connected, connecting, waiting or idle.")
        var state: String?

        @Flag(help: "Only those that misbehaved repeatedly in the last hour.")
        var misbehaving = false

        func validate() throws {
            guard let state, !["connected", "connecting", "waiting", "idle"].contains(state) else { return }
            throw ValidationError("--state: expected connected, connecting, waiting or idle")
        }

        func run() async throws {
            var list: RelayList = try await RunningRouter(try options.config.read()).ask("/v1/relays")
            if let state { list.relays.removeAll { $0.state != state } }
            if misbehaving {
                list.relays.removeAll { $0.misbehaves.isEmpty }
                if list.relays.isEmpty, !options.json { return print("no relay misbehaves") }
            }
            if list.relays.isEmpty, let state, !options.json { return print("no relay is \(state)") }
            options.show(list)
        }
    }

    /// `carillon relays show`
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a relay's accounts, reading position, last messages and violations.",
            discussion: "  carillon relays show relay.example.com"
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "Its URL, or a part of it.")
        var relay: String

        func run() async throws {
            let list: RelayList = try await RunningRouter(try options.config.read()).ask(
                "/v1/relays?containing=\(RunningRouter.encoded(relay))"
            )
            guard !list.relays.isEmpty else {
                Terminal.error("no relay's URL contains '\(relay)'; carillon relays list lists all")
                throw ExitCode(1)
            }
            print(options.json ? list.json : list.details)
        }
    }

    /// `carillon relays block`
    struct Block: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Disconnect from a relay of users immediately and block it.",
            discussion: """
                A URL blocks that relay, a host name all relays on that host, and *.example.com all hosts below it. \
                Relays of the configuration cannot be blocked. The block is stored in the registry's database.

                  carillon relays block wss://relay.example.com --reason "floods"
                  carillon relays block '*.example.com' --for 7d
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "A URL, a host's name, or *. and the end of one.")
        var relay: String

        @OptionGroup var terms: DecisionTerms

        func run() async throws {
            try await options.show { try await $0.decide(AccessRequest(.block, relay, kind: .relay, terms)) }
        }
    }

    /// `carillon relays unblock`
    struct Unblock: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Remove a block of relays.",
            discussion: "  carillon relays unblock wss://relay.example.com"
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "The blocked URL or host, as carillon users rules shows it.")
        var relay: String

        func run() async throws {
            try await options.show { try await $0.decide(AccessRequest(.unblock, relay, kind: .relay)) }
        }
    }
}
