import Foundation
import Testing

/// A library that `swift build` made, with the exports and dependencies that its ELF file lists.
struct BuiltLibrary {
    let path: String
    let image: ELFImage

    /// Returns the file of that name next to the running test.
    static func named(_ name: String) throws -> BuiltLibrary {
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let candidates = [here] + CommandLine.arguments.map { URL(filePath: $0) }
        let file = candidates.map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.fileExists(atPath: $0.path) }
        let found = try #require(file, "\(name) is not beside the tests: run swift build, then the tests again")
        return BuiltLibrary(path: found.path, image: try ELFImage([UInt8](Data(contentsOf: found))))
    }
}
