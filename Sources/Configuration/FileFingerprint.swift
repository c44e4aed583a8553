import Cipher
import Foundation
import Push

/// A digest of a platform's block or a filter's settings, and of the files that they name. Holds no secret.
package struct BlockFingerprint: Sendable, Hashable {
    private let digest: [UInt8]

    /// Reads the files.
    package init(of json: String, _ files: BlockFiles = BlockFiles()) {
        var parts = [Array(json.utf8)]
        for file in files.named(in: json) {
            parts.append(Array(file.path.utf8))
            parts.append(FileManager.default.contents(atPath: file.path).map { [1] + Array($0) } ?? [])
        }
        // Each by its own digest, so that nothing can move from one part to the next.
        digest = SHA256.hash(parts.flatMap { SHA256.hash($0) })
    }
}

/// Tells whether what is in a file has changed.
struct FileFingerprint: Sendable, Hashable {
    private let digest: [UInt8]?

    /// Reads the file; one that cannot be read is like any other that cannot.
    init(of path: String) {
        digest = FileManager.default.contents(atPath: path).map { SHA256.hash(Array($0)) }
    }
}
