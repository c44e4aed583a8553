import Cipher
import Foundation
import Glibc

/// The file with the secrets that open NIP-46 sessions: one a line; empty lines and lines that begin with `#` do not
/// count.
package struct SecretFile: Sendable {
    /// Random bytes in a secret made by ``add(random:)``.
    private static let strength = 16
    /// Shorter ones could be guessed.
    private static let shortest = 16
    private static let longest = 256
    private static let largest = 1 << 20

    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// The secrets in the file; none where there is no file yet. Throws a ``SecretFileError`` when it cannot be read,
    /// others may read it, or a line is no secret.
    package func read() throws(SecretFileError) -> [String] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return [] }
            throw SecretFileError(path, .unreadable)
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SecretFileError(path, .unreadable)
        }
        guard FileExposure(status) == nil else { throw SecretFileError(path, .open) }
        guard status.st_size <= Self.largest, let data = try? file.read(upToCount: Self.largest) ?? Data(),
            let text = String(validating: data, as: UTF8.self)
        else { throw SecretFileError(path, .unreadable) }
        var secrets: [String] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let secret = line.trimmingCharacters(in: .whitespaces)
            if secret.isEmpty || secret.hasPrefix("#") { continue }
            guard (Self.shortest...Self.longest).contains(secret.utf8.count) else {
                throw SecretFileError(path, .notASecret(line: index + 1))
            }
            secrets.append(secret)
        }
        return secrets
    }

    /// Makes a secret and adds it to the file, which is made when there is none, for this user only. Throws a
    /// ``SecretFileError`` when that fails; the file is then as it was.
    package func add(random: RandomBytes) throws(SecretFileError) -> String {
        _ = try read()
        let secret = Hex.encode(random(Self.strength))
        let descriptor = openOrMake()
        guard descriptor >= 0 else { throw SecretFileError(path, .unwritable) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            // A file that people edit may end without a line end; an empty line does no harm.
            try file.write(contentsOf: Data("\(try endsLine(descriptor) ? "" : "\n")\(secret)\n".utf8))
            try file.synchronize()
        } catch {
            throw SecretFileError(path, .unwritable)
        }
        return secret
    }

    /// The path may be a link. A link to a missing file does not create that file.
    private func openOrMake() -> Int32 {
        let flags = O_RDWR | O_APPEND | O_CLOEXEC
        let descriptor = open(path, flags)
        return descriptor < 0 && errno == ENOENT ? open(path, flags | O_CREAT | O_EXCL, 0o600) : descriptor
    }

    private func endsLine(_ descriptor: Int32) throws -> Bool {
        let size = lseek(descriptor, 0, SEEK_END)
        guard size >= 0 else { throw SecretFileError(path, .unwritable) }
        guard size > 0 else { return true }
        var last: UInt8 = 0
        guard pread(descriptor, &last, 1, size - 1) == 1 else { throw SecretFileError(path, .unwritable) }
        return last == UInt8(ascii: "\n")
    }
}

/// Why a file of secrets cannot be used. Names the file and the line, never its content.
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
