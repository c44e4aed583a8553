import CommandTestSupport
import Foundation
import Synchronization

/// Libraries that the C compiler makes for tests. Each is compiled once per process, because that takes longer than
/// most tests.
package enum CompiledLibrary {
    private struct Key: Hashable {
        let source: Data
        let arguments: [String]
    }

    private struct NotMade: Error, CustomStringConvertible { let description: String }

    private static let made = Mutex<[Key: Data]>([:])

    /// Returns the bytes of the library compiled from a file with these arguments, which name no output. Throws the
    /// compiler's message.
    package static func image(of source: String, _ arguments: [String]) throws -> Data {
        let key = Key(source: try Data(contentsOf: URL(filePath: source)), arguments: arguments + [source])
        // Under the lock, so that tests that need the same library wait for the first.
        return try made.withLock { made in
            if let image = made[key] { return image }
            let output = FileManager.default.temporaryDirectory.appending(path: "library-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: output) }
            let compiler = try CommandRun("cc", arguments + ["-shared", "-fPIC", source, "-o", output.path])
            guard compiler.status == 0 else { throw NotMade(description: compiler.output) }
            let image = try Data(contentsOf: output)
            made[key] = image
            return image
        }
    }
}
