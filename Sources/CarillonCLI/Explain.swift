import ArgumentParser
import CarillonRouter
import Operations

/// `carillon explain`
struct Explain: AsyncParsableCommand, StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say what became of an event: for whom, on which device, and why.",
        discussion: """
            Answers the question "why did I not get it?" from the trace, which the router keeps for a while (trace: in the \
            configuration). Neither content nor tokens are in it. It is read from the router's files, also while the router runs. \
            A member of a cluster is asked instead, and asks the others.

              carillon explain note1fntxtkcy9pjwucqwa9mddn7v03wwwsu9j330jj350nvhpky2tuaspk6nqc
              carillon explain 4cd665db042864ee600ee976d6cfcc7c5ce743859462f94a347cd970d88a5f3b --recipient npub10el…
              carillon explain nevent1qqs… --json
              carillon explain https://njump.me/nevent1qqs…
              carillon explain 5f0c9a1e5f0c9a1e5f0c9a1e5f0c9a1e      # the id that POST /v1/notify answered

            An answer reads like this:

              event 4cd6…
                    note1fn…

              npub10el…
                device 7, ios/default, phone
                  2026-11-22 06:58:03 UTC  to be sent, by the rule 'reply'
                  2026-11-22 06:58:04 UTC  delivered: ios/default took it (200)
                  → delivered: ios/default took it (200)
                device 9, web/default
                  2026-11-22 06:58:03 UTC  not sent: the device's filters switch replies off
                  → not sent: the device's filters switch replies off

            Where nothing is known it says what that can mean. Exits with status 3 then, and with 1 when it cannot tell.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Argument(help: "The event: 64 hex digits, note1… or nevent1…, also in a link; or a notification's id.")
    var event: String

    @Option(help: "Whose part to show alone: 64 hex digits or npub1….")
    var recipient: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let explanation = try await Asking.run {
            try await DeviceAccess(configuration: config.read()).explain(event, recipient: recipient)
        }
        Asking.show(explanation, asJSON: json)
        if !explanation.isKnown { throw ExitCode(3) }
    }
}
