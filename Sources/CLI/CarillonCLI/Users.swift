import ArgumentParser
import CarillonRouter
import Console
import Core
import Operations
import Registry
import RouterConfiguration

/// `carillon users`
struct Users: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List and show users, and block or allow them.",
        discussion: """
            Users are keys with registered devices. Decisions are stored in the registry's database and added to the \
            rules of the configuration (access:). They take effect immediately, and also work while the router is \
            stopped.

              carillon users list --platform ios --limit 50
              carillon users show npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg
              carillon users block npub10el… --reason "spam" --for 30d
              carillon users block 2001:db8:7::/48
              carillon users unblock npub10el…

            Exits with status 1 on any error.
            """,
        subcommands: [List.self, Show.self, Rules.self, Block.self, Unblock.self, Allow.self, Disallow.self]
    )

    /// `carillon users list`
    struct List: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "List users with their devices, registration times and last push.",
            discussion: """
                Sorted by key. Times are in UTC; unknown values, and values older than the trace, are shown as -. With \
                --limit the last line shows how to continue.

                  carillon users list
                  carillon users list --blocked
                  carillon users list --json | jq -r '.users[] | select(.devices > 5) | .npub'
                """
        )

        @OptionGroup var options: AnswerOptions

        @Option(help: "Only users with devices on this platform, and only these devices.")
        var platform: String?

        @Option(help: "Only users of this app, and only their devices there.")
        var app: String?

        @Flag(help: "Only blocked keys, with or without devices.")
        var blocked = false

        @Option(help: "The maximum number of users. Default: all.")
        var limit: Int?

        @Option(help: "Start after this key.")
        var after: String?

        func validate() throws {
            if let limit, limit < 1 { throw ValidationError("--limit: expected a number from 1 on") }
        }

        func run() async throws {
            let access = try await Asking.run { try OperatorAccess(options.config.read(), for: .reading) }
            var list = UserList(users: [], next: after)
            repeat {
                let rest = limit.map { $0 - list.users.count }
                let part = try await Asking.run { [next = list.next] in
                    try access.users.list(
                        UserOperations.Query(platform: platform, app: app, isBlocked: blocked, after: next, limit: rest)
                    )
                }
                list.users += part.users
                list.next = part.next
            } while list.next != nil && list.users.count < limit ?? .max
            options.show(list)
            if !options.json, let next = list.next { print("more: --after \(next)") }
        }
    }

    /// `carillon users show`
    struct Show: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Show one user: devices, relays, rules, limits. No tokens.",
            discussion: "  carillon users show npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
        )

        @OptionGroup var options: AnswerOptions

        @Argument(help: "64 hex digits or npub1….")
        var user: String

        func run() async throws {
            try await options.show { try await $0.user(user) }
        }
    }

    /// `carillon users rules`
    struct Rules: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "List the access rules of the configuration and of commands.",
            discussion: "  carillon users rules --json"
        )

        @OptionGroup var options: AnswerOptions

        func run() async throws {
            let rules = try await Asking.run {
                try OperatorAccess(options.config.read(), for: .reading).users.rules
            }
            options.show(rules)
        }
    }

    /// `carillon users block`
    struct Block: AsyncParsableCommand, DecisionCommand {
        static let configuration = CommandConfiguration(
            abstract: "Block a key, a network or the user of an invitation.",
            discussion: """
                A blocked key cannot register, the router sends no more pushes to its devices (including waiting ones) \
                and reads no relay for it. Its devices are kept, and work again when the block ends. Its own events \
                still notify others. Clients in a blocked network cannot connect to the relay socket or use the sealed \
                ingress; registrations that arrive through relays have no address.

                  carillon users block npub10el… --reason "spam" --for 30d
                  carillon users block 198.51.100.0/24
                  carillon users block --invitation 'bunker://…'
                """
        )

        @OptionGroup var decision: DecisionOptions

        @OptionGroup var terms: DecisionTerms

        @OptionGroup var invitation: InvitationFlag

        func run() async throws {
            try await decision.take(.block, kind: invitation.kind, terms)
        }
    }

    /// `carillon users unblock`
    struct Unblock: AsyncParsableCommand, DecisionCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a block.",
            discussion: "  carillon users unblock npub10el…\n  carillon users unblock 198.51.100.0/24"
        )

        @OptionGroup var decision: DecisionOptions

        @OptionGroup var invitation: InvitationFlag

        func run() async throws { try await decision.take(.unblock, kind: invitation.kind) }
    }

    /// `carillon users allow`
    struct Allow: AsyncParsableCommand, DecisionCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Allow a key or a network to register, or exempt a network from a larger blocked one.",
            discussion: """
                access.mode in the configuration sets who can register: all clients (open), users of invitations \
                (invite-only), or only keys and networks allowed here (allowlist). This replaces a block of the same key or \
                network.

                  carillon users allow npub10el…
                  carillon users allow 198.51.100.7
                """
        )

        @OptionGroup var decision: DecisionOptions

        @OptionGroup var terms: DecisionTerms

        func run() async throws { try await decision.take(.allow, terms) }
    }

    /// `carillon users disallow`
    struct Disallow: AsyncParsableCommand, DecisionCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a rule of carillon users allow.",
            discussion:
                "Registered devices stay in use; to disable them, block the key.\n\n  carillon users disallow npub10el…"
        )

        @OptionGroup var decision: DecisionOptions

        func run() async throws { try await decision.take(.disallow) }
    }
}

/// The options of all decisions about users.
struct DecisionOptions: ParsableArguments {
    @OptionGroup var options: AnswerOptions

    @Argument(help: "A key (64 hex digits or npub1…), an address or a network (CIDR).")
    var subject: String

    func take(_ verb: AccessRequest.Verb, kind: AccessSubject.Kind? = nil, _ terms: DecisionTerms? = nil) async throws {
        try await options.show { try await $0.decide(AccessRequest(verb, subject, kind: kind, terms)) }
    }
}

/// A command that decides about a user.
protocol DecisionCommand: OwnerCommand {
    var decision: DecisionOptions { get }
}

extension DecisionCommand {
    var ownersFile: String? {
        get throws { try decision.options.config.read().store.path }
    }
}

/// The reason and the duration of a decision.
struct DecisionTerms: ParsableArguments {
    @Option(help: "A note that only operators see.")
    var reason = ""

    @Option(name: .customLong("for"), help: "When the rule ends, such as 90m, 12h or 30d. Default: never.")
    var span: Span?
}

/// Whether a decision is about an invitation.
struct InvitationFlag: ParsableArguments {
    @Flag(help: "The subject is an invitation: the URL from carillon keys bunker, or only its secret.")
    var invitation = false

    var kind: AccessSubject.Kind? { invitation ? .invitation : nil }
}

extension AccessRequest {
    init(_ verb: Verb, _ subject: String, kind: AccessSubject.Kind?, _ terms: DecisionTerms?) {
        self.init(verb, subject, kind: kind, reason: terms?.reason ?? "", span: terms?.span?.duration)
    }
}

/// A duration on the command line.
struct Span: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = Duration(written: argument), duration > .zero else { return nil }
        self.duration = duration
    }
}

extension APIScope: ExpressibleByArgument {}

/// `carillon tokens`
struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and revoke named tokens for the API.",
        discussion: """
            The token in api.token_file has all rights. Named tokens have scopes: read (view everything), operate \
            (change things) and send (send notifications). Only their hashes are kept, in a file next to the store. A \
            running router notices changes immediately.

              carillon tokens create grafana --scope read
              carillon tokens create deploy --scope read --scope operate --for 90d
              carillon tokens list
              carillon tokens revoke grafana
            """,
        subcommands: [Create.self, List.self, Revoke.self]
    )

    /// `carillon tokens create`
    struct Create: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a token, and print it once.",
            discussion: """
                The first line of the output is the token.

                  carillon tokens create grafana --scope read
                  carillon tokens create app --scope send --for 365d --json | jq -r .token
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The token's name.")
        var name: String

        @Option(help: "A scope: read, operate or send; may be repeated.")
        var scope: [APIScope]

        @Option(name: .customLong("for"), help: "When the token expires, such as 12h or 90d. Default: never.")
        var span: Span?

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            let created = try await Asking.run {
                try operations.create(name, Set(scope), for: span?.duration)
            }
            Asking.show(created, asJSON: json)
        }
    }

    /// `carillon tokens list`
    struct List: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "List named tokens with their scopes and last use.",
            discussion: "  carillon tokens list --json | jq '.tokens[] | select(.last_used_at == null) | .name'"
        )

        @OptionGroup var options: AnswerOptions

        func run() async throws {
            let operations = TokenOperations(try options.config.read())
            options.show(try await Asking.run { try operations.list() })
        }
    }

    /// `carillon tokens revoke`
    struct Revoke: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a token.",
            discussion: "  carillon tokens revoke grafana"
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The token's name.")
        var name: String

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            Asking.show(try await Asking.run { try operations.revoke(name) }, asJSON: json)
        }
    }
}
