import ArgumentParser
import CarillonRouter
import Core
import Foundation
import Operations
import PluginConformance
import PluginHost
import RouterConfiguration
import Storage

/// `carillon plugin dev`
struct PluginDev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Build, check and try a plugin, again on each save.",
        discussion: """
            PATH is a plugin's folder or file. A folder is built with cargo, SwiftPM or make, depending on Cargo.toml, \
            Package.swift or Makefile; a Python plugin needs no build. Then the plugin passes the checks of "carillon \
            plugin check" and runs as in a router. It gets a notification in each mode, a batch, hostile and long \
            texts, and the built-in rules' notifications for "carillon rules fixtures"; a filter gets these events. \
            The output shows each request with credentials, and the result of each possible response of the push \
            service.

            If the package carillon-lab is installed, all requests except those to this machine go to a lab, and \
            "carillon-lab misbehave" changes its responses. Without it, or with --no-lab or --answer, responses are \
            simulated and no request is sent.

            Without --once this runs again whenever a file in the folder changes, until ^C. With --once it exits with \
            status 1 if the build, a check or a delivery fails.

              carillon plugin new pager --language python && carillon plugin dev pager
              carillon plugin dev ./pager.py --once
              carillon plugin dev ~/pager --block pager=app.json --registration pager=https://pager.example.com/alice
              carillon plugin dev ~/pager --answer 410
              carillon plugin dev ~/pager --no-lab
              carillon plugin dev ~/no-casinos --block no-casinos=settings.json
            """
    )

    @Argument(help: "The plugin's folder, or its file: a shared object, or a Python plugin.")
    var path: String

    @Flag(help: "Run once and exit.")
    var once = false

    @Option(
        help: "NAME=FILE: a JSON file with an app's block for a platform, or a filter's settings; may be repeated."
    )
    var block: [PluginCheck.Assignment] = []

    @Option(help: "PLATFORM=TOKEN: the device to notify; may be repeated.")
    var registration: [PluginCheck.Assignment] = []

    @Option(help: "The simulated status of the push service's response.")
    var answer: Int?

    @Flag(inversion: .prefixedNo, help: "Send requests to a lab. Default: if carillon-lab is installed.")
    var lab: Bool?

    @Option(help: "The interpreter for a Python plugin. Default: the system's python3.")
    var python: String?

    @Flag(help: "Skip the checks of plugin check.")
    var skipCheck = false

    /// The timeout of a check without progress. It is short because the author is waiting.
    private static let maxSilence: Duration = .seconds(20)

    func validate() throws {
        if let answer, !(100...599).contains(answer) {
            throw ValidationError("--answer: expected a status of 100 to 599")
        }
        if !FileManager.default.fileExists(atPath: path) {
            throw ValidationError("expected a plugin's folder or file; \(path) does not exist")
        }
    }

    func run() async throws {
        let build = try PluginBuild(at: URL(fileURLWithPath: path).standardizedFileURL)
        let files = { build.sources + block.map(\.value) }
        let lab = try await startLab()
        do {
            try await Watching(isOn: !once).run(files: files) {
                let isWorking = try await perform(build, lab?.lab)
                if !isWorking { throw ExitCode(1) }
            }
        } catch {
            await lab?.close()
            throw error
        }
        await lab?.close()
    }

    /// Starts the lab, if possible, and prints how requests are answered. Returns `nil` if responses are simulated.
    private func startLab() async throws -> PluginDevLab? {
        guard lab != false, answer == nil else { return nil }
        guard let path = PluginDevLab.path else {
            let words = "carillon-lab is not installed next to this program or on the PATH"
            if lab == true { throw ValidationError("--lab: \(words); it comes with the package carillon-lab") }
            print("\(words): responses are simulated, no request is sent\n")
            return nil
        }
        let lab = try await PluginDevLab.start(path)
        print(
            "requests go to a lab; to change its answers: carillon-lab misbehave --lab \(lab.folder.path) answer,status=410,times=0\n"
        )
        return lab
    }

    private func perform(_ build: PluginBuild, _ lab: TrialLab?) async throws -> Bool {
        let file: URL
        do throws(PluginBuild.BuildError) {
            if let command = build.command { print("$ \(command.joined(separator: " "))") }
            file = try build.run()
        } catch {
            Terminal.error("\(error)")
            return false
        }
        print("plugin: \(file.path)")
        let stage = try PluginStage(file)
        defer { stage.remove() }
        let blocks = try blocks(in: build.folder)
        var isWorking = true
        if !skipCheck {
            let report = try await check(stage.file, blocks)
            if case .hung = report.ending {
                Terminal.error("the plugin hangs in a check; fix that first, the other trials are skipped")
                return false
            }
            isWorking = report.isPassed
        }
        var order = RehearsalOrder()
        order.blocks = blocks
        order.tokens = Dictionary(registration.map { ($0.name, $0.value) }) { $1 }
        (order.status, order.lab) = (answer, lab)
        do throws(Diagnostics) {
            let interpreter = python.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
            let rehearsal = try PluginRehearsal(folder: stage.folder.path, order, python: interpreter) {
                print($0)
                // Diagnostics and compilers write to another stream.
                fflush(nil)
            }
            return await rehearsal.run() && isWorking
        } catch {
            Terminal.error(error)
            return false
        }
    }

    /// Prints the failed checks and the number of passed ones.
    private func check(_ file: URL, _ blocks: [String: String]) async throws -> ConformanceReport {
        var plan = ConformancePlan(path: file.path, configurations: blocks)
        PluginCheck.complete(&plan, registration, python)
        var runner = PluginCheck.runner
        runner.silence = Self.maxSilence
        let report = try await runner.run(plan)
        for failure in report.failures { print(failure.description) }
        print(
            report.isPassed
                ? "plugin check: \(report.results.count { $0.decision == .passed }) passed"
                : "plugin check: \(report.failures.count) failed"
        )
        return report
    }

    /// Returns the given blocks, plus the filter settings that `carillon plugin new` writes.
    private func blocks(in folder: URL) throws -> [String: String] {
        let settings = folder.appending(path: "settings.json").path
        guard block.isEmpty, let json = FileManager.default.contents(atPath: settings) else {
            return try PluginCheck.blocks(block)
        }
        return [folder.lastPathComponent: String(decoding: json, as: UTF8.self)]
    }
}

/// A copy of a plugin in its own directory with strict permissions. A developer's directory may be group-writable.
private struct PluginStage {
    let folder: URL
    let file: URL

    init(_ plugin: URL) throws {
        let manager = FileManager.default
        folder = manager.temporaryDirectory.resolvingSymlinksInPath().appending(
            path: "carillon-dev-\(UUID().uuidString)"
        )
        file = folder.appending(path: plugin.lastPathComponent)
        try manager.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        try manager.copyItem(at: plugin, to: file)
        try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

/// A lab for `carillon plugin dev`: the program `carillon-lab`, which is in a separate package.
struct PluginDevLab {
    private static let program = "carillon-lab"
    private static let timeout: TimeInterval = 20

    let lab: TrialLab
    /// The directory for `carillon-lab misbehave`.
    let folder: URL
    private let process: Process
    /// Closes when this program ends for any reason, which ends the lab.
    private let input: Pipe

    /// The path of `carillon-lab`, next to this program or on the PATH; `nil` if it is not installed.
    static var path: String? {
        let folders = [URL(fileURLWithPath: Terminal.program ?? "").deletingLastPathComponent().path]
        let named = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + named).map { "\($0)/\(program)" }.first(where: FileManager.default.isExecutableFile(atPath:))
    }

    /// Starts the program at `path` and waits until it listens.
    static func start(_ path: String) async throws -> PluginDevLab {
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-dev-lab-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["serve", "--folder", folder.path, "--throw-away", "--quiet"]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        let addresses = folder.appending(path: "lab.json")
        let end = Date.now + timeout
        do {
            try process.run()
            while true {
                if let data = FileManager.default.contents(atPath: addresses.path) {
                    let url = try JSONDecoder().decode(Addresses.self, from: data).other
                    return PluginDevLab(lab: try TrialLab(url: url), folder: folder, process: process, input: input)
                }
                guard process.isRunning, Date.now < end else {
                    throw ValidationError("\(path) does not start; use --no-lab to simulate a push service instead")
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        } catch {
            if process.isRunning { process.terminate() }
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    func close() async {
        await lab.close()
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The contents of `lab.json`.
    private struct Addresses: Decodable {
        let other: String

        private enum CodingKeys: String, CodingKey { case other = "other_url" }
    }
}
