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

        @OptionGroup var options: AnswerOptions

        @Option(help: "Only those in this state: connected, connecting, waiting or idle.")
        var state: String?

        @Flag(help: "Only those that did wrong within the hour beyond what may be an accident.")
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
            abstract: "Show a relay: who is watched there, how far it was read, its last words, what it did wrong.",
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
                Terminal.error("no relay's URL contains '\(relay)'; carillon relays list names them all")
                throw ExitCode(1)
            }
            print(options.json ? list.json : list.details)
        }
    }

    /// `carillon relays block`
    struct Block: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Leave a relay that users named at once, and never connect to it again.",
            discussion: """
                A URL stands for that relay, a host's name for all relays there, and *.example.com for all hosts below. Relays \
                of the configuration are excepted. It is kept in the registry's database.

                  carillon relays block wss://relay.example.com --reason "floods"
                  carillon relays block '*.example.com' --for 7d
                """
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "A URL, a host's name, or *. and the end of one.")
        var relay: String

        @OptionGroup var terms: DecisionTerms

        func run() async throws {
            try await options.take(AccessRequest(.block, relay, kind: .relay, terms))
        }
    }

    /// `carillon relays unblock`
    struct Unblock: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Take a block of relays back.",
            discussion: "  carillon relays unblock wss://relay.example.com"
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "What was blocked, as carillon users rules shows it.")
        var relay: String

        func run() async throws {
            try await options.take(AccessRequest(.unblock, relay, kind: .relay))
        }
    }
}
