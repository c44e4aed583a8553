import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import PluginConformance
import PluginIsolation
import RouterConfiguration
import YAMLReading

/// `carillon plugin dev`
struct PluginDev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Build a plugin, check it and try it, again on each save.",
        discussion: """
            PATH is a plugin's folder, or its file. A folder is built: with cargo where it has a Cargo.toml, with SwiftPM where \
            it has a Package.swift, with make where it has a Makefile. A plugin in Python needs no build. Then the plugin \
            passes the checks of "carillon plugin check", and runs as in a router, beside a push service that is played. It gets \
            a notification in each mode, a batch, hostile and long texts; a filter gets all events of "carillon rules fixtures". \
            The requests that it makes are shown whole, with credentials, and so is what each answer of the push service \
            comes to. Nothing is sent over a network.

            Without --once this begins again whenever a file in the folder changes, until ^C. With --once it exits with status 1 \
            when the build, a check or a delivery fails.

              carillon plugin new pager --language python && carillon plugin dev pager
              carillon plugin dev ./pager.py --once
              carillon plugin dev ~/pager --block pager=app.json --registration pager=https://pager.example.com/alice
              carillon plugin dev ~/pager --answer 410
              carillon plugin dev ~/no-casinos --block no-casinos=settings.json
            """
    )

    @Argument(help: "The plugin's folder, or its file: a shared object, or a plugin in Python.")
    var path: String

    @Flag(help: "Do it once, and exit.")
    var once = false

    @Option(
        help: "NAME=FILE: as JSON the block of one app for a platform, or the settings of a filter; may be repeated."
    )
    var block: [PluginCheck.Assignment] = []

    @Option(help: "PLATFORM=TOKEN: the device to notify; may be repeated.")
    var registration: [PluginCheck.Assignment] = []

    @Option(help: "The status that the push service answers with.")
    var answer = 200

    @Option(help: "The interpreter for a plugin in Python; the system's python3 without it.")
    var python: String?

    @Flag(help: "Leave out the checks of plugin check.")
    var skipCheck = false

    func validate() throws {
        if !(100...599).contains(answer) { throw ValidationError("--answer: expected a status of 100 to 599") }
        if !FileManager.default.fileExists(atPath: path) {
            throw ValidationError("expected a plugin's folder or file, and there is none at \(path)")
        }
    }

    func run() async throws {
        let build = try PluginBuild(at: URL(fileURLWithPath: path).standardizedFileURL)
        let files = { build.sources + block.map(\.value) }
        try await Watching(isOn: !once).run(files: files) {
            let isWorking = try await perform(build)
            if !isWorking { throw ExitCode(1) }
        }
    }

    private func perform(_ build: PluginBuild) async throws -> Bool {
        let file: URL
        do throws(PluginBuild.Failure) {
            if let command = build.command { print("$ \(command.joined(separator: " "))") }
            file = try build.run()
        } catch {
            Terminal.error("\(error)")
            return false
        }
        let stage = try PluginStage(file)
        defer { stage.remove() }
        let blocks = try blocks(in: build.folder)
        var isWorking = true
        if !skipCheck { isWorking = try await check(stage.file, blocks) }
        var order = RehearsalOrder()
        order.blocks = blocks
        order.tokens = Dictionary(registration.map { ($0.name, $0.value) }) { $1 }
        order.status = answer
        do throws(Diagnostics) {
            let interpreter = python.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
            let rehearsal = try PluginRehearsal(folder: stage.folder.path, order, python: interpreter) {
                print($0)
                // Diagnostics and compilers write to another stream.
                fflush(nil)
            }
            return await rehearsal.run() && isWorking
        } catch {
            for mistake in error.all { Terminal.error("\(mistake)") }
            return false
        }
    }

    /// What fails, and how many do not.
    private func check(_ file: URL, _ blocks: [String: String]) async throws -> Bool {
        var plan = ConformancePlan(path: file.path, configurations: blocks)
        plan.python = PluginProgram.python
        if let python { plan.python.interpreter = URL(fileURLWithPath: python).standardizedFileURL.path }
        for registration in registration {
            plan.registrations[registration.name] = ConformancePlan.Registration(token: registration.value)
        }
        let report = try await PluginCheck.runner.run(plan)
        for failure in report.failures { print(failure.description) }
        print(
            report.isPassed
                ? "plugin check: \(report.results.count { $0.verdict == .passed }) passed"
                : "plugin check: \(report.failures.count) failed"
        )
        return report.isPassed
    }

    /// Those that are given, and the settings that `carillon plugin new` writes for a filter.
    private func blocks(in folder: URL) throws -> [String: String] {
        var blocks: [String: String] = [:]
        let settings = folder.appending(path: "settings.json").path
        if block.isEmpty, let json = FileManager.default.contents(atPath: settings) {
            blocks[folder.lastPathComponent] = String(decoding: json, as: UTF8.self)
        }
        for block in block {
            guard let json = FileManager.default.contents(atPath: block.value) else {
                throw ValidationError("--block: cannot read \(block.value)")
            }
            blocks[block.name] = String(decoding: json, as: UTF8.self)
        }
        return blocks
    }
}

/// A plugin in a folder of its own, as trusted as that of a router: a developer's folder may be writable by a group.
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
