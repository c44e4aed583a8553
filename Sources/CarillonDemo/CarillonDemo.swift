import ArgumentParser
import CarillonLab
import Foundation

/// The `carillon-demo` command: plays two phones and their owner's friends against a running router and lab.
@main
struct CarillonDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon-demo",
        abstract: "Register two phones, publish events, and show each beside the pushes it caused.",
        discussion: """
            Needs a router and a lab that run already; contrib/demo starts both. Exits with status 0 only if every push \
            that should come came and no other.

              carillon-demo --relay ws://127.0.0.1:7447 --lab /tmp/lab/lab.json
            """
    )

    @Option(help: ArgumentHelp("The router's relay socket, ws://host:port.", valueName: "url"))
    var relay: String

    @Option(help: ArgumentHelp("The lab.json that carillon-lab wrote.", valueName: "file"))
    var lab: String

    @Flag(help: "Show the whole payload of every push.")
    var payloads = false

    func run() async throws {
        let screen = Screen()
        do {
            let addresses = try LabAddresses(file: lab)
            var performance = Performance(
                relay: try await RelayClient(url: relay),
                lab: try LabClient(addresses),
                screen: screen,
                showsPayloads: payloads
            )
            try await performance.run(unifiedPush: addresses.unifiedPush)
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
