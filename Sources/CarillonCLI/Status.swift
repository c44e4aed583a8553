import ArgumentParser
import Foundation
import Operations
import RouterConfiguration

/// `carillon status`
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say how the running router is doing, what is amiss, and what helps.",
        discussion: """
            Asks over the socket beside the store, as root or as the user that runs Carillon; elsewhere over the API.

              carillon status --config /etc/carillon/carillon.yaml
              carillon status --watch
              carillon status --json | jq .issues

            Exits with status 0 when nothing is amiss, 1 when something should be looked at, 2 when pushes do not go out as they \
            should, and 3 when no router answers.
            """
    )

    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Show it anew every two seconds, until Ctrl-C.")
    var watch = false

    func run() async throws {
        let configuration = try config.read()
        repeat {
            let status: RouterStatus = try await RunningRouter(configuration).ask("/v1/status")
            // Clears the screen; what went by before stays in the terminal's history.
            if watch, !json { print("\u{1B}[H\u{1B}[2J", terminator: "") }
            Asking.show(status, asJSON: json)
            guard watch else { throw ExitCode(status.exitCode) }
            fflush(nil)
            try await Task.sleep(for: .seconds(2))
        } while true
    }
}

/// The router that runs on a configuration, as commands ask it.
struct RunningRouter {
    private let configuration: Configuration

    init(_ configuration: Configuration) { self.configuration = configuration }

    /// Returns the answer to a GET of `target`. Prints a failure and exits with its code.
    func ask<Answer: OperatorAnswer>(_ target: String) async throws -> Answer {
        try await Asking.run { try await APIClient(configuration: configuration).read(target) }
    }

    /// The same for a POST.
    func change<Answer: OperatorAnswer>(_ target: String) async throws -> Answer {
        try await Asking.run { try await APIClient(configuration: configuration).change(target) }
    }

    /// Text as it may stand in a query.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                String(Unicode.Scalar(byte))
            default: "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
        }
        .joined()
    }
}
