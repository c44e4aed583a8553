import ArgumentParser
import CarillonRouter
import Foundation
import PluginConformance
import PluginIsolation
import RouterConfiguration

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

            A plugin in Python runs in the process that the router gives it. What is checked is what reaches it there. An \
            exception is a failure, and shown with its traceback. So is a plugin that honours no delivery.

            A plugin with a description is checked with its own sample unless --block and --registration say otherwise.

              carillon plugin check ./webhook.so
              carillon plugin check ./pager.py
              carillon plugin check ./libCarillonAPNs.so --block ios=ios.json
              carillon plugin check ./libCarillonWebOfTrust.so --block web-of-trust=settings.json
            """
    )

    @Argument(help: "The shared object, or the plugin in Python.")
    var file: String?

    @Option(help: "NAME=FILE: as JSON the block of one app for a platform that needs one, or the settings of a filter.")
    var block: [Assignment] = []

    @Option(help: "PLATFORM=TOKEN: a registration that a platform takes, if it takes none of the usual ones.")
    var registration: [Assignment] = []

    @Option(help: "The interpreter for a plugin in Python; the system's python3 without it.")
    var python: String?

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
        plan.python = PluginProgram.python
        if let python { plan.python.interpreter = URL(fileURLWithPath: python).standardizedFileURL.path }
        let report = try await Self.runner.run(plan)
        print(report.description)
        if !report.isPassed { throw ExitCode(1) }
    }

    /// Runs checks in another process of this program.
    static var runner: ConformanceRunner {
        ConformanceRunner(executable: ourselves, arguments: ["plugin", "check", "--in-process"])
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
