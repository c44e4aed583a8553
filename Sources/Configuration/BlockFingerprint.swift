import Cipher
import Foundation

/// Tells whether a platform's block, or what is in the files that it names, has changed. Holds no secret.
package struct BlockFingerprint: Sendable, Hashable {
    private let digest: [UInt8]

    /// Reads the files.
    package init(of json: String) {
        var parts = [Array(json.utf8)]
        for file in PathsInBlock.files(in: json) {
            parts.append(Array(file.path.utf8))
            parts.append(FileManager.default.contents(atPath: file.path).map { [1] + Array($0) } ?? [])
        }
        // Each by its own digest, so that nothing can move from one part to the next.
        digest = SHA256.hash(parts.flatMap { SHA256.hash($0) })
    }
}
