import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import PluginConformance
import PluginHost
import RouterConfiguration

/// `carillon plugin`
struct Plugin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See which plugins load, check whether a plugin keeps to the rules, begin a new one and try it.",
        subcommands: [List.self, PluginCheck.self, PluginNew.self, PluginDev.self]
    )

    /// `carillon plugin list`
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the plugins in the configured folders, and those that are refused, with the reason.",
            discussion: """
                Loads each in a process of its own, where the configuration says no other. Where a router runs on this \
                configuration and has an API, also shows how its plugins' processes are doing.

                  carillon plugin list --config carillon.yaml
                  carillon plugin list --folder /usr/lib/carillon/plugins
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "Look here instead of in the configured folders; may be repeated.")
        var folder: [String] = []

        func run() async throws {
            let configuration = folder.isEmpty ? try config.read() : nil
            let plugins =
                configuration?.plugins ?? Configuration.Plugins(folders: folder.map(Self.absolute), pins: [:])
            var processes: PluginOverview?
            if let configuration { processes = await PluginOverview(ofRouterOn: configuration) }
            let listing = try Terminal.printingMistakes { [processes] () throws in
                try PluginListing(plugins, processes: processes)
            }
            print(listing.text)
            if listing.hasRefusals { throw ExitCode(1) }
        }

        private static func absolute(_ path: String) -> String {
            URL(fileURLWithPath: path).standardizedFileURL.path
        }
    }
}

/// `carillon plugin new`
struct PluginNew: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Begin a plugin: write one that builds, has a test and passes plugin check.",
        discussion: """
            With --language, --kind or --folder it writes a folder that builds as it is: source, build file, test, README.
            A transport posts JSON to the device's URL; a filter drops events with one of the operator's words. Without
            these options it writes one file in C, NAME.c, which needs the headers in include.

              carillon plugin new pager --language python
              carillon plugin new pager --language rust
              carillon plugin new pager --language c --folder ~/pager
              carillon plugin new no-casinos --language cpp --kind filter
              carillon plugin new pager --language swift --package ~/carillon

              carillon plugin new pager
              cc -std=c11 -Wall -O2 -shared -fPIC -I include -o pager.so pager.c
              carillon plugin check ./pager.so
            """
    )

    @Argument(
        help: "What registrations and rules call the platform, or the filter's name: 1 to 64 of a-z, 0-9, - and _."
    )
    var name: String

    @Option(help: "What it is written in; c without it.")
    var language: PluginProject.Language?

    @Option(help: "What it does; transport without it.")
    var kind: PluginProject.Kind?

    @Option(help: "Where to write it: a folder that does not exist or is empty. Without it NAME.")
    var folder: String?

    @Option(
        help: "Swift only: Carillon's sources, as a folder or a URL. Without it those that this program was built from."
    )
    var package: String?

    func run() throws {
        guard let name = PluginName(name) else {
            throw ValidationError("expected a name of 1 to 64 of a-z, 0-9, - and _, as in pager")
        }
        if language == nil && kind == nil && folder == nil {
            try writeOneFile(name)
        } else {
            try writeFolder(name)
        }
    }

    private func writeFolder(_ name: PluginName) throws {
        let language = language ?? .c
        var source = ""
        if language == .swift {
            guard let package = package ?? Self.sources else {
                throw ValidationError("--package: expected Carillon's sources, as in --package ~/src/carillon")
            }
            let isURL = package.contains("://") || package.hasPrefix("git@")
            source = isURL ? package : URL(fileURLWithPath: package).standardizedFileURL.path
        } else if package != nil {
            throw ValidationError("--package is for --language swift; other languages need no sources of Carillon")
        }
        let project = PluginProject(name, language, kind ?? .transport, package: source)
        let folder = folder ?? name.text
        do throws(PluginProjectError) {
            try project.write(to: URL(fileURLWithPath: folder))
        } catch {
            throw ValidationError(error.description)
        }
        print("Wrote \(folder), with a README. Next:")
        let commands = ["cd \(folder)"] + project.commands.split(separator: "\n").map(String.init)
        for line in commands + ["carillon plugin dev .   # shows every request, again on each save"] {
            print("    \(line)")
        }
    }

    private func writeOneFile(_ name: PluginName) throws {
        let file = "\(name.text).c"
        do {
            let source = PluginProject.sourceInC(name)
            try Data(source.utf8).write(to: URL(fileURLWithPath: file), options: .withoutOverwriting)
        } catch CocoaError.fileWriteFileExists {
            throw ValidationError("\(file) exists already; nothing was written")
        } catch {
            throw ValidationError("cannot write \(file): \(error.localizedDescription)")
        }
        print(
            """
            Wrote \(file). Next:
                cc -std=c11 -Wall -O2 -shared -fPIC -I include -o \(name.text).so \(file)
                carillon plugin check ./\(name.text).so
            """
        )
    }

    /// The directory in which this program was built, if it runs from there.
    private static var sources: String? {
        guard let program = Terminal.program else { return nil }
        var folder = URL(fileURLWithPath: program).deletingLastPathComponent()
        while folder.path != "/" {
            if FileManager.default.fileExists(atPath: folder.appending(path: "Plugins/PluginKit").path) {
                return folder.path
            }
            folder.deleteLastPathComponent()
        }
        return nil
    }
}

extension PluginProject.Language: ExpressibleByArgument {}
extension PluginProject.Kind: ExpressibleByArgument {}

/// `carillon plugin check`
struct PluginCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Test whether a plugin keeps to the rules of the ABI.",
        discussion: """
            Runs the plugin in a process of its own, on a host that sends nothing: double completion, cancelling, shutdown
            with work outstanding, newer hosts, hostile text, odd answers, requests to users' URLs. A crash or a
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
        plan.configurations = try Self.blocks(block)
        Self.complete(&plan, registration, python)
        let report = try await Self.runner.run(plan)
        print(report.description)
        if !report.isPassed { throw ExitCode(1) }
    }

    /// Runs checks in another process of this program.
    static var runner: ConformanceRunner {
        let program = Terminal.program ?? CommandLine.arguments[0]
        return ConformanceRunner(executable: program, arguments: ["plugin", "check", "--in-process"])
    }

    /// Returns the contents of the files in `--block`, by platform or filter.
    static func blocks(_ assignments: [Assignment]) throws -> [String: String] {
        try assignments.reduce(into: [:]) { blocks, block in
            guard let json = FileManager.default.contents(atPath: block.value) else {
                throw ValidationError("--block: cannot read \(block.value)")
            }
            blocks[block.name] = String(decoding: json, as: UTF8.self)
        }
    }

    /// Adds the devices and the interpreter of the options to a plan.
    static func complete(_ plan: inout ConformancePlan, _ registrations: [Assignment], _ python: String?) {
        for registration in registrations {
            plan.registrations[registration.name] = ConformancePlan.Registration(token: registration.value)
        }
        plan.python = PluginProgram.python
        if let python { plan.python.interpreter = URL(fileURLWithPath: python).standardizedFileURL.path }
    }

    /// An option in the form NAME=VALUE.
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

/// A build of a plugin's directory.
struct PluginBuild {
    /// The error of a failed build.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let folder: URL
    /// `nil` if no build is needed.
    let command: [String]?
    /// The plugin's file, if it is known before the build.
    private let file: URL?
    /// The directory in which the build puts shared objects.
    private let results: URL

    /// Throws ``Failure`` for a directory without a known build system.
    init(at path: URL) throws(Failure) {
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path.path, isDirectory: &isFolder)
        guard isFolder.boolValue else {
            guard ["so", "py"].contains(path.pathExtension) else {
                throw Failure(description: "\(path.path) is neither a folder nor a .so or .py file")
            }
            (folder, command, file, results) = (path.deletingLastPathComponent(), nil, path, path)
            return
        }
        folder = path
        let has = { (name: String) in FileManager.default.fileExists(atPath: path.appending(path: name).path) }
        let python = Self.names(in: path).filter { $0.hasSuffix(".py") && !$0.hasPrefix("test") && $0 != "carillon.py" }
        if has("Cargo.toml") {
            (command, file, results) = (["cargo", "build", "--release"], nil, path.appending(path: "target/release"))
        } else if has("Package.swift") {
            (command, file, results) = (
                ["swift", "build", "-c", "release"], nil, path.appending(path: ".build/release")
            )
        } else if python.count == 1 {
            (command, file, results) = (nil, path.appending(path: python[0]), path)
        } else if has("Makefile") {
            (command, file, results) = (["make"], nil, path)
        } else {
            throw Failure(
                description: python.isEmpty
                    ? "\(path.path) has no Cargo.toml, Package.swift, Makefile or plugin in Python"
                    : "\(path.path) has several files in Python: name one of them"
            )
        }
    }

    /// Builds the plugin and returns its file. The compiler's output goes to the terminal.
    func run() throws(Failure) -> URL {
        if let command {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = command
            process.currentDirectoryURL = folder
            do {
                try process.run()
            } catch {
                throw Failure(description: "cannot start \(command[0]): \(error.localizedDescription)")
            }
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw Failure(description: "\(command[0]) failed") }
        }
        if let file { return file }
        let built = Self.names(in: results).filter { $0.hasSuffix(".so") }.map { results.appending(path: $0) }
        let newest = built.max { Self.date(of: $0) < Self.date(of: $1) }
        guard let newest else { throw Failure(description: "the build left no shared object in \(results.path)") }
        return newest
    }

    /// The files to watch for changes: everything in the directory except the output of builds and tools.
    var sources: [String] {
        if let file, command == nil { return [file.path] }
        let folders: Set = ["target", ".build", ".git", "__pycache__", "node_modules"]
        var files: [String] = []
        let keys: [URLResourceKey] = [.isDirectoryKey]
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: keys)
        while let url = found?.nextObject() as? URL, files.count < 5000 {
            if folders.contains(url.lastPathComponent) {
                found?.skipDescendants()
            } else if (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == false,
                !["so", "o", "d"].contains(url.pathExtension), url.lastPathComponent != "run-test"
            {
                files.append(url.path)
            }
        }
        return files
    }

    private static func names(in folder: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? []
    }

    private static func date(of file: URL) -> Date {
        (try? file.resourceValues(forKeys: [.contentModificationDateKey]))?.contentModificationDate ?? .distantPast
    }
}
