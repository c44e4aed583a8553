import ArgumentParser
import CarillonLab

/// `carillon-lab received`: prints the requests to a running lab.
struct ReceivedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "received",
        abstract: "Print what a running lab received.",
        discussion: """
            EXAMPLES
              Wait up to five seconds for two pushes to APNs:
                carillon-lab received --lab /tmp/lab --service apns --wait 2 --timeout 5

              How many pushes each device would show:
                carillon-lab received --lab /tmp/lab --json | jq -r 'select(.taken) | .target' | sort | uniq -c

              Forget them all:
                carillon-lab received --lab /tmp/lab --forget
            """
    )

    @OptionGroup var lab: RunningLab

    @Option(help: "Only this service's.")
    var service: LabService?

    @Option(help: ArgumentHelp("Only those after this sequence number.", valueName: "sequence"))
    var after: Int?

    @Option(help: ArgumentHelp("How many to wait for; where fewer came the exit status is 1.", valueName: "count"))
    var wait = 0

    @Option(help: ArgumentHelp("How long to wait at most.", valueName: "seconds"))
    var timeout = 10

    @Flag(help: "A line of JSON for each.")
    var json = false

    @Flag(help: "Forget them once they are printed.")
    var forget = false

    func validate() throws {
        guard (0...600).contains(timeout), wait >= 0 else {
            throw ValidationError("--timeout is from 0 to 600 seconds, --wait no negative number.")
        }
    }

    func run() async throws {
        var query = ["wait": String(wait), "timeout_ms": String(timeout * 1_000)]
        query["service"] = service?.rawValue
        query["after"] = after.map(String.init)
        query["text"] = json ? nil : "1"
        let (status, text) = try await lab.send("GET", "/received", query)
        guard status == 200 || status == 408 else { throw LabCommandError("The lab answers \(status): \(text)") }
        print(text, terminator: "")
        if forget {
            try await lab.order("DELETE", "/received")
        }
        guard status == 200 else { throw ExitCode.failure }
    }
}

extension LabService: ExpressibleByArgument {}
