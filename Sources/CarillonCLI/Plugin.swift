import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import RouterConfiguration

/// `carillon plugin`
struct Plugin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See which plugins load, and whether a plugin keeps to the rules.",
        subcommands: [List.self, PluginCheck.self]
    )

    /// `carillon plugin list`
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the plugins in the configured folders, and those that are refused, with the reason.",
            discussion:
                "  carillon plugin list --config carillon.yaml\n  carillon plugin list --folder /usr/lib/carillon/plugins"
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "Look here instead of in the configured folders; may be repeated.")
        var folder: [String] = []

        func run() throws {
            let plugins =
                folder.isEmpty
                ? try config.read().plugins : Configuration.Plugins(folders: folder.map(Self.absolute), pins: [:])
            let listing = PluginListing(plugins)
            print(listing.text)
            if listing.hasRefusals { throw ExitCode(1) }
        }

        private static func absolute(_ path: String) -> String {
            URL(fileURLWithPath: path).standardizedFileURL.path
        }
    }
}
