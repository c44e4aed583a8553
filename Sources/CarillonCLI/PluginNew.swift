import ArgumentParser
import Foundation
import PluginTemplates

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

    /// The folder that this program was built in, where it runs from there.
    private static var sources: String? {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return nil
        }
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
