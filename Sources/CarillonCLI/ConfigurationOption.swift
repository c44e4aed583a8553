import ArgumentParser
import CarillonRouter
import Foundation
import RouterConfiguration

/// The option that names the configuration file.
struct ConfigurationOption: ParsableArguments {
    @Option(name: [.customShort("c"), .customLong("config")], help: "The configuration file.")
    var path = Self.defaultPath

    private static let defaultPath = "carillon.yaml"

    /// Whether nobody named a file and there is none where it would be.
    var isAbsent: Bool { path == Self.defaultPath && !FileManager.default.fileExists(atPath: path) }

    /// Reads the file; prints its mistakes and fails when there are any. Only the service itself needs its credentials.
    func read(withoutCredentials: Bool = true) throws -> Configuration {
        try Terminal.printingMistakes { () throws in
            try Configuration(file: path, withoutCredentials: withoutCredentials)
        }
    }

    /// The same for commands that open the databases. Root's go on as the user whose folder they are in.
    func readAsOwner() throws -> Configuration {
        let configuration = try read()
        try Terminal.takeOver(folderOf: configuration.storePath)
        return configuration
    }
}
