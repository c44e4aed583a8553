import ArgumentParser
import CarillonRouter
import Foundation
import Operations
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
