import ArgumentParser
import CarillonRouter
import Foundation
import PluginConformance

/// `carillon plugin check`
struct PluginCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Test whether a plugin keeps to the rules of the ABI.",
        discussion: """
            Runs the plugin in a process of its own, on a host that sends nothing: double completion, cancelling, shutdown
            with work outstanding, older and newer hosts, hostile text, odd answers, requests to users' URLs. A crash or a
            hang is reported with the check it happened in, and the other checks run in a new process. Its description of the
            platform is judged strictly: unknown members and keys, kinds of push that do not exist, samples that its own create
            or validate refuses. Exits with status 1 when any check fails.

            A plugin with a description is checked with its own sample unless --block and --registration say otherwise.

              carillon plugin check ./webhook.so
              carillon plugin check ./libCarillonAPNs.so --block ios=ios.json
              carillon plugin check ./libCarillonWebOfTrust.so --block web-of-trust=settings.json
            """
    )

    @Argument(help: "The shared object.")
    var file: String?

    @Option(help: "NAME=FILE: as JSON the block of one app for a platform that needs one, or the settings of a filter.")
    var block: [Assignment] = []

    @Option(help: "PLATFORM=TOKEN: a registration that a platform takes, if it takes none of the usual ones.")
    var registration: [Assignment] = []

    @Flag(help: ArgumentHelp("Run the checks in this process, as the command asks of itself.", visibility: .hidden))
    var inProcess = false

    func validate() throws {
        if file == nil && !inProcess {
            throw ValidationError("expected the path of a shared object, as in ./webhook.so")
        }
    }

    func run() async throws {
        if inProcess { await ConformanceChild.run() }
        guard let file else { return }
        var plan = ConformancePlan(path: URL(fileURLWithPath: file).standardizedFileURL.path)
        for block in block {
            guard let json = FileManager.default.contents(atPath: block.value) else {
                throw ValidationError("--block: cannot read \(block.value)")
            }
            plan.configurations[block.name] = String(decoding: json, as: UTF8.self)
        }
        for registration in registration {
            plan.registrations[registration.name] = ConformancePlan.Registration(token: registration.value)
        }
        let runner = ConformanceRunner(executable: Self.ourselves, arguments: ["plugin", "check", "--in-process"])
        let report = try await runner.run(plan)
        print(report.description)
        if !report.isPassed { throw ExitCode(1) }
    }

    /// The program that runs, wherever it was started from.
    private static var ourselves: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }

    /// An option of the form NAME=VALUE.
    struct Assignment: ExpressibleByArgument {
        let name: String
        let value: String

        init?(argument: String) {
            let parts = argument.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            name = String(parts[0])
            value = String(parts[1])
        }
    }
}
