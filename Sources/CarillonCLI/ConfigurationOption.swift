import ArgumentParser
import CarillonRouter

/// The option that names the configuration file.
struct ConfigurationOption: ParsableArguments {
    @Option(name: [.customShort("c"), .customLong("config")], help: "The configuration file.")
    var path = "carillon.yaml"

    /// Reads the file; prints its mistakes and fails when there are any.
    func read() throws -> Configuration {
        try Terminal.printingMistakes { () throws in try Configuration(file: path) }
    }
}
