import ArgumentParser
import CarillonLab
import Foundation
import Nostr

/// The `carillon-demo` command: plays the owners of phones and their friends against a running router, relay and lab.
@main
struct CarillonDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon-demo",
        abstract: "Register phones, publish events, and show the pushes that each event causes.",
        discussion: """
            Needs a router, a relay to which it goes, and a lab that run already; contrib/demo starts all three. Exits with \
            status 0 only if every push that should come came and no other.

              carillon-demo --router ws://127.0.0.1:7447 --lab /tmp/lab/lab.json --bunker "$(carillon keys bunker)"
            """
    )

    @Option(help: ArgumentHelp("The router's own socket, ws://host:port.", valueName: "url"))
    var router: String

    @Option(
        help: ArgumentHelp(
            "A bunker:// URL of the router's, as carillon keys bunker prints it. The first relay in it is the outside relay.",
            valueName: "url"
        )
    )
    var bunker: String

    @Option(help: ArgumentHelp("The lab.json that carillon-lab wrote.", valueName: "file"))
    var lab: String

    @Flag(help: "Show the whole payload of every push.")
    var payloads = false

    func run() async throws {
        let screen = Screen()
        do {
            let addresses = try LabAddresses(file: lab)
            let invitation = try BunkerURL(reading: bunker)
            guard let relay = invitation.relays.first else { throw DemoError("--bunker: the URL has no relay") }
            var performance = Performance(
                router: try await RelayClient(url: router, name: "the router"),
                relay: try await RelayClient(url: relay, name: "the relay"),
                lab: try LabClient(addresses),
                screen: screen,
                showsPayloads: payloads
            )
            try await performance.run(unifiedPush: addresses.unifiedPush, invitation: invitation)
        } catch let error as DemoError {
            screen.failure(error.description)
            throw ExitCode(1)
        }
    }
}

extension LabAddresses {
    fileprivate init(file: String) throws {
        guard let data = FileManager.default.contents(atPath: file),
            let addresses = try? JSONDecoder().decode(LabAddresses.self, from: data)
        else { throw DemoError("cannot read \(file): expected the lab.json of a running carillon-lab") }
        self = addresses
    }
}

/// A readable reason why the demo cannot continue.
struct DemoError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
