import Cipher
import Foundation

/// Tells whether what is in a file has changed.
struct FileFingerprint: Sendable, Hashable {
    private let digest: [UInt8]?

    /// Reads the file; one that cannot be read is like any other that cannot.
    init(of path: String) {
        digest = FileManager.default.contents(atPath: path).map { SHA256.hash(Array($0)) }
    }
}
