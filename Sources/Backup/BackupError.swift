/// Why a backup cannot be made, read or put back, in a sentence for an operator. Holds no secret.
package struct BackupError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    static let wrongPassphrase = BackupError(
        "the passphrase does not open this backup, or the first 64 KiB of the file are damaged"
    )
    static func damaged(_ what: String) -> BackupError {
        BackupError("the backup is damaged: \(what). Nothing of it was used: take another copy of the file")
    }
    static let truncated = damaged("it ends too early")
}
