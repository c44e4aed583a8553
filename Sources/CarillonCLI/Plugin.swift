import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import PluginConformance
import RouterConfiguration

/// `carillon plugin`
struct Plugin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See which plugins load, check whether a plugin keeps to the rules, and begin a new one.",
        subcommands: [List.self, PluginCheck.self, New.self]
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

    /// `carillon plugin new`
    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the source of a new plugin in C that works and describes its platform.",
            discussion: """
                Writes PLATFORM.c: a transport that posts JSON to a URL, with the document that says what its rule block, its
                registrations and its limits are. Change deliver, answered and the document.

                  carillon plugin new pager
                  cc -std=c11 -Wall -O2 -shared -fPIC -I include -o pager.so pager.c
                  carillon plugin check ./pager.so
                """
        )

        @Argument(help: "What registrations and rules call the platform: 1 to 64 of a-z, 0-9, - and _.")
        var platform: String

        func run() throws {
            guard let source = PluginTemplate.source(platform: platform) else {
                throw ValidationError("expected a platform's name of 1 to 64 of a-z, 0-9, - and _, as in pager")
            }
            let file = "\(platform).c"
            do {
                try Data(source.utf8).write(to: URL(fileURLWithPath: file), options: .withoutOverwriting)
            } catch CocoaError.fileWriteFileExists {
                throw ValidationError("\(file) exists already; nothing was written")
            } catch {
                throw ValidationError("cannot write \(file): \(error.localizedDescription)")
            }
            print(
                """
                Wrote \(file). Next:
                    cc -std=c11 -Wall -O2 -shared -fPIC -I include -o \(platform).so \(file)
                    carillon plugin check ./\(platform).so
                """
            )
        }
    }
}
