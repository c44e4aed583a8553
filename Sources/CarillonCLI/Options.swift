import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import Platforms
import RouterConfiguration

/// The option that names the configuration file.
struct ConfigurationOption: ParsableArguments {
    @Option(name: [.customShort("c"), .customLong("config")], help: "The configuration file.")
    var path = Self.defaultPath

    private static let defaultPath = "carillon.yaml"

    /// Whether nobody named a file and there is none where it would be.
    var isAbsent: Bool { path == Self.defaultPath && !FileManager.default.fileExists(atPath: path) }

    /// Nil where there is none, or it has mistakes: for commands that go on without.
    var ifReadable: Configuration? {
        isAbsent ? nil : try? Configuration(file: path, withoutCredentials: true)
    }

    /// Reads the file; prints its mistakes and fails when there are any. Only the service itself needs its credentials.
    func read(withoutCredentials: Bool = true) throws -> Configuration {
        try Terminal.printingMistakes { () throws in
            try Configuration(file: path, withoutCredentials: withoutCredentials)
        }
    }
}

/// What commands take that ask the running router or its files: which router, and how the answer is printed.
struct AnswerOptions: ParsableArguments {
    @OptionGroup var config: ConfigurationOption

    @Flag(help: "Print one JSON object.")
    var json = false

    func show(_ answer: some OperatorAnswer) { Asking.show(answer, asJSON: json) }
}

/// The option that names folders with plugins, whose platforms a command is to know.
struct PluginsOption: ParsableArguments {
    @Option(
        name: .customLong("plugins"),
        help: "A folder with plugins, in place of the configuration's or those beside the program; may be repeated."
    )
    var names: [String] = []

    /// Absolute paths.
    var folders: [String] { names.map { URL(fileURLWithPath: $0).standardizedFileURL.path } }

    /// What they say about their platforms. Without the option these are the plugins of the configuration, if it can be
    /// read. What cannot be known without any plugin is said.
    func catalog(_ config: ConfigurationOption) throws -> PlatformCatalog {
        let plugins = try Terminal.printingMistakes { () throws in
            try CommandPlugins(names.isEmpty ? config.ifReadable : nil, folders: folders)
        }
        let catalog = plugins.platforms.catalog
        if catalog.platforms.isEmpty {
            Terminal.error(
                "no plugins in \(plugins.folders.joined(separator: ", ")), so no platform's keys are known; "
                    + "--plugins names a folder with some"
            )
        }
        return catalog
    }
}
