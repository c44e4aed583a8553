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
        abstract: "List plugins, check a plugin, create a new one and try it.",
        subcommands: [List.self, PluginCheck.self, PluginNew.self, PluginDev.self]
    )

    /// `carillon plugin list`
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the plugins in the configured folders, including rejected ones with the reason.",
            discussion: """
                Loads each plugin in its own process unless configured otherwise. If a router with an API runs on this \
                configuration, also shows the state of its plugin processes.

                  carillon plugin list --config carillon.yaml
                  carillon plugin list --folder /usr/lib/carillon/plugins
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "Use this folder instead of the configured ones; may be repeated.")
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
        abstract: "Create a plugin that builds, has a test and passes plugin check.",
        discussion: """
            With --language, --kind or --folder it creates a folder that builds as it is: source, build file, test, \
            README. A transport posts JSON to the device's URL; a filter drops events with one of the operator's \
            words. Without these options it creates one C file, NAME.c, which needs the headers in include.

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
        help: "The platform's name in registrations and rules, or the filter's name: 1 to 64 of a-z, 0-9, - and _."
    )
    var name: String

    @Option(help: "The programming language. Default: c.")
    var language: PluginProject.Language?

    @Option(help: "The kind of plugin. Default: transport.")
    var kind: PluginProject.Kind?

    @Option(help: "The folder to create, which must be new or empty. Default: NAME.")
    var folder: String?

    @Option(
        help: "Swift only: Carillon's sources, as a folder or a URL. Default: those that this program was built from."
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
                throw ValidationError("--package: expected Carillon's sources, such as --package ~/src/carillon")
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
        abstract: "Check whether a plugin follows the rules of the ABI.",
        discussion: """
            Runs the plugin in its own process, on a host that sends nothing. Checks double completion, cancelling, \
            shutdown with work outstanding, newer hosts, hostile text, odd responses and requests to users' URLs. A \
            crash or a hang is reported with its check, and the other checks run in a new process. The platform's \
            description is checked strictly: unknown members and keys, unknown kinds of push, and samples that the \
            plugin itself rejects. Exits with status 1 if any check fails.

            A Python plugin is checked in the process in which the router runs it. An exception is a failure and is \
            shown with its traceback. A plugin that completes no delivery also fails.

            A plugin with a description is checked with its own sample unless --block and --registration say otherwise.

              carillon plugin check ./webhook.so
              carillon plugin check ./pager.py
              carillon plugin check ./libCarillonAPNs.so --block ios=ios.json
              carillon plugin check ./libCarillonWebOfTrust.so --block web-of-trust=settings.json
            """
    )

    @Argument(help: "The shared object, or the plugin in Python.")
    var file: String?

    @Option(help: "NAME=FILE: a JSON file with an app's block for a platform, or with a filter's settings.")
    var block: [Assignment] = []

    @Option(help: "PLATFORM=TOKEN: a valid registration, if the platform rejects the usual ones.")
    var registration: [Assignment] = []

    @Option(help: "The interpreter for a Python plugin. Default: the system's python3.")
    var python: String?

    @Flag(help: ArgumentHelp("Run the checks in this process, in a child of the command.", visibility: .hidden))
    var inProcess = false

    func validate() throws {
        if file == nil && !inProcess {
            throw ValidationError("expected the path of a shared object, such as ./webhook.so")
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

    /// The value of an option, in the form NAME=VALUE.
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

/// Builds a plugin from its directory, or uses a plugin's file unchanged.
struct PluginBuild {
    /// The error of a failed build.
    struct BuildError: Error, CustomStringConvertible {
        let description: String
    }

    let folder: URL
    /// `nil` if no build is needed.
    let command: [String]?
    /// The plugin's file, if it is known before the build.
    private let file: URL?
    /// The directory in which the build puts shared objects.
    private let results: URL

    /// Throws ``BuildError`` for a directory without a known build system.
    init(at path: URL) throws(BuildError) {
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path.path, isDirectory: &isFolder)
        guard isFolder.boolValue else {
            guard ["so", "py"].contains(path.pathExtension) else {
                throw BuildError(description: "\(path.path) is neither a folder nor a .so or .py file")
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
            throw BuildError(
                description: python.isEmpty
                    ? "\(path.path) has no Cargo.toml, Package.swift, Makefile or plugin in Python"
                    : "\(path.path) has several files in Python: name one of them"
            )
        }
    }

    /// Builds the plugin and returns its file. The compiler's output goes to the terminal.
    func run() throws(BuildError) -> URL {
        if let command {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = command
            process.currentDirectoryURL = folder
            do {
                try process.run()
            } catch {
                throw BuildError(description: "cannot start \(command[0]): \(error.localizedDescription)")
            }
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw BuildError(description: "\(command[0]) failed") }
        }
        if let file { return file }
        let built = Self.names(in: results).filter { $0.hasSuffix(".so") }.map { results.appending(path: $0) }
        let newest = built.max { Self.date(of: $0) < Self.date(of: $1) }
        guard let newest else { throw BuildError(description: "the build created no shared object in \(results.path)") }
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
