import ArgumentParser
import CarillonRouter
import Console
import Operations
import Registry
import RouterConfiguration

/// `carillon users`
struct Users: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See who uses this router, keep somebody out, let somebody in.",
        discussion: """
            Users are keys with registered devices. What is decided here is kept in the registry's database and added to what \
            the configuration says (access:). It works while the router runs, at once, and while it does not.

              carillon users list --platform ios --limit 50
              carillon users show npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg
              carillon users block npub10el… --reason "spam" --for 30d
              carillon users block 2001:db8:7::/48
              carillon users unblock npub10el…

            Exits with status 1 when something cannot be done.
            """,
        subcommands: [List.self, Show.self, Rules.self, Block.self, Unblock.self, Allow.self, Disallow.self]
    )

    /// `carillon users list`
    struct List: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "List users: their devices, when they registered, the last push.",
            discussion: """
                In the order of the keys. Times are in UTC; - stands for what is not known or not remembered any more. With \
                --limit the last line says how to go on.

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

        @Flag(help: "Only blocked keys, with devices or without.")
        var blocked = false

        @Option(help: "At most so many; all of them when left out.")
        var limit: Int?

        @Option(help: "Begin behind this key.")
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
            let overview = try await Asking.run {
                try await RouterOrFiles(configuration: options.config.read()).user(user)
            }
            options.show(overview)
        }
    }

    /// `carillon users rules`
    struct Rules: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Show who is blocked and who is allowed, by the configuration and by commands.",
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
    struct Block: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Keep a key, a network or whoever used an invitation from using this router.",
            discussion: """
                A blocked key cannot register, its devices are sent nothing from now on, also of what waits, and no relay is \
                read for it. Its devices are kept, and in use again when the block ends. What it writes to others still \
                reaches them. From a blocked network nobody connects to the relay socket and nothing is taken by the sealed \
                ingress; registrations that come by relays have no address.

                  carillon users block npub10el… --reason "spam" --for 30d
                  carillon users block 198.51.100.0/24
                  carillon users block --invitation 'bunker://…'
                """
        )

        @OptionGroup var decision: DecisionOptions

        @OptionGroup var terms: DecisionTerms

        @OptionGroup var invitation: InvitationFlag

        var options: AnswerOptions { decision.options }

        func run() async throws {
            try await decision.take(.block, kind: invitation.kind, terms)
        }
    }

    /// `carillon users unblock`
    struct Unblock: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Take a block back.",
            discussion: "  carillon users unblock npub10el…\n  carillon users unblock 198.51.100.0/24"
        )

        @OptionGroup var decision: DecisionOptions

        @OptionGroup var invitation: InvitationFlag

        var options: AnswerOptions { decision.options }

        func run() async throws { try await decision.take(.unblock, kind: invitation.kind) }
    }

    /// `carillon users allow`
    struct Allow: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract:
                "Let a key or a network register where not everybody may, or except a network from a larger blocked one.",
            discussion: """
                Who may register says access.mode in the configuration: everybody (open), who used an invitation (invite-only) or \
                only who is allowed here (allowlist), by key or because it connects from an allowed network. A block of the same key or network is replaced.

                  carillon users allow npub10el…
                  carillon users allow 198.51.100.7
                """
        )

        @OptionGroup var decision: DecisionOptions

        @OptionGroup var terms: DecisionTerms

        var options: AnswerOptions { decision.options }

        func run() async throws { try await decision.take(.allow, terms) }
    }

    /// `carillon users disallow`
    struct Disallow: AsyncParsableCommand, StoreQuery {
        static let configuration = CommandConfiguration(
            abstract: "Take back what carillon users allow did.",
            discussion:
                "Devices that are registered stay in use; to end that, block the key.\n\n  carillon users disallow npub10el…"
        )

        @OptionGroup var decision: DecisionOptions

        var options: AnswerOptions { decision.options }

        func run() async throws { try await decision.take(.disallow) }
    }
}

/// The options of all decisions about users.
struct DecisionOptions: ParsableArguments {
    @OptionGroup var options: AnswerOptions

    @Argument(help: "A key (64 hex digits or npub1…), an address or a network (CIDR).")
    var subject: String

    func take(_ verb: AccessRequest.Verb, kind: AccessSubject.Kind? = nil, _ terms: DecisionTerms? = nil) async throws {
        try await options.take(AccessRequest(verb, subject, kind: kind, terms))
    }
}

/// The reason and the duration of a decision.
struct DecisionTerms: ParsableArguments {
    @Option(help: "A note for the operator; nobody else sees it.")
    var reason = ""

    @Option(name: .customLong("for"), help: "When it ends, as in 90m, 12h or 30d; never when left out.")
    var span: Span?
}

/// Whether a decision is about an invitation.
struct InvitationFlag: ParsableArguments {
    @Flag(help: "It is an invitation: what carillon keys bunker printed, or its secret alone.")
    var invitation = false

    var kind: AccessSubject.Kind? { invitation ? .invitation : nil }
}

extension AccessRequest {
    init(_ verb: Verb, _ subject: String, kind: AccessSubject.Kind?, _ terms: DecisionTerms?) {
        self.init(verb, subject, kind: kind, reason: terms?.reason ?? "", span: terms?.span?.duration)
    }
}

extension AnswerOptions {
    /// Applies a decision and prints the result.
    func take(_ request: AccessRequest) async throws {
        show(
            try await Asking.run {
                try await RouterOrFiles(configuration: config.read()).decide(request)
            }
        )
    }
}

/// A duration on the command line.
struct Span: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = SpanWords.span(argument), duration > .zero else { return nil }
        self.duration = duration
    }
}

extension APIScope: ExpressibleByArgument {}

/// `carillon tokens`
struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make, list and revoke tokens for the API, each with a name and with what it may do.",
        discussion: """
            The token of api.token_file opens everything. Named ones open what their scopes say: read (look at everything), \
            operate (change things) and send (send notifications). Only a hash of each is kept, in a file beside the store. \
            A running router notices changes at once.

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
            abstract: "Make a token, and print it once.",
            discussion: """
                The first line of the output is the token.

                  carillon tokens create grafana --scope read
                  carillon tokens create app --scope send --for 365d --json | jq -r .token
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "What it is called.")
        var name: String

        @Option(help: "What it may do: read, operate or send; may be repeated.")
        var scope: [APIScope]

        @Option(name: .customLong("for"), help: "When it ends, as in 12h or 90d; never when left out.")
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
    struct List: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "List named tokens, what they may do, and when they were used last.",
            discussion: "  carillon tokens list --json | jq '.tokens[] | select(.last_used_at == null) | .name'"
        )

        @OptionGroup var config: ConfigurationOption

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            Asking.show(try await Asking.run { try operations.list() }, asJSON: json)
        }
    }

    /// `carillon tokens revoke`
    struct Revoke: AsyncParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Have a token open nothing any more.",
            discussion: "  carillon tokens revoke grafana"
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "What it is called.")
        var name: String

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() async throws {
            let operations = TokenOperations(try config.read())
            Asking.show(try await Asking.run { try operations.revoke(name) }, asJSON: json)
        }
    }
}
