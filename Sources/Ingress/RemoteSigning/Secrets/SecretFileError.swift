/// Why a file of secrets cannot be used. Names the file and the line, never what stands there.
package struct SecretFileError: Error, Hashable, CustomStringConvertible {
    enum Code: Hashable {
        case unreadable
        case open
        case notASecret(line: Int)
        case unwritable
    }

    private let path: String
    private let code: Code

    init(_ path: String, _ code: Code) {
        self.path = path
        self.code = code
    }

    package var description: String { "\(path): \(reason)" }

    /// The same without the name of the file before it.
    package var reason: String {
        switch code {
        case .unreadable: "expected a text file of at most 1 MiB that the user who runs Carillon may read"
        case .open: "the secrets are open to other users; run: chmod 600 \(path)"
        case .notASecret(let line): "line \(line): expected a secret of 16 to 256 characters"
        case .unwritable: "the secret cannot be written here"
        }
    }
}
