import Cipher
import Foundation
import Push

/// A digest of a platform's block or a filter's settings, and of the files that they name. It contains no secret.
package struct BlockFingerprint: Sendable, Hashable {
    private let digest: [UInt8]

    package init(of json: String, _ files: BlockFiles = BlockFiles()) {
        var parts = [Array(json.utf8)]
        for file in files.named(in: json) {
            parts.append(Array(file.path.utf8))
            parts.append(FileManager.default.contents(atPath: file.path).map { [1] + Array($0) } ?? [])
        }
        // Each part has its own digest, so that bytes cannot move from one part to the next.
        digest = SHA256.hash(parts.flatMap { SHA256.hash($0) })
    }
}

/// A digest of a file, to detect changes.
struct FileFingerprint: Sendable, Hashable {
    private let digest: [UInt8]?

    /// Reads the file; all unreadable files have the same fingerprint.
    init(of path: String) {
        digest = FileManager.default.contents(atPath: path).map { SHA256.hash(Array($0)) }
    }
}
