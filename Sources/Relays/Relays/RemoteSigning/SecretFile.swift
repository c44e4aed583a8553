import Cipher
import Foundation
import Glibc
import Nostr
import Registry
import Synchronization

/// The file with the secrets that open NIP-46 sessions, one on each line. Empty lines and lines that start with `#` are
/// ignored.
package struct SecretFile: Sendable {
    /// The number of random bytes in a secret made by ``add(random:)``.
    private static let strength = 16
    /// Shorter secrets could be guessed.
    private static let shortest = 16
    private static let longest = 256
    private static let largest = 1 << 20

    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Returns the secrets in the file; none if there is no file yet. Throws a ``SecretFileError`` if it cannot be
    /// read, if other users may read it, or if a line is not a valid secret.
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

    /// Makes a secret and adds it to the file, creating the file for this user only if necessary. Throws a
    /// ``SecretFileError`` if that fails; the file is then unchanged.
    package func add(random: RandomBytes) throws(SecretFileError) -> String {
        _ = try read()
        let secret = Hex.encode(random(Self.strength))
        let descriptor = openOrMake()
        guard descriptor >= 0 else { throw SecretFileError(path, .unwritable) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            // A file that people edit may lack a final line break; an empty line is harmless.
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

/// An error from using a file of secrets. It names the file and the line, never its content.
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

    /// The reason without the name of the file.
    package var reason: String {
        switch code {
        case .unreadable: "expected a text file of at most 1 MiB that the user of the router can read"
        case .open: "the secrets are open to other users; run: chmod 600 \(path)"
        case .notASecret(let line): "line \(line): expected a secret of 16 to 256 characters"
        case .unwritable: "cannot write the secret"
        }
    }
}

/// The secrets that open sessions (NIP-46), as keyed digests. Neither the process's copy nor the registry's reveals the
/// secrets.
struct ConnectSecrets: Sendable, Concealed {
    /// Computes digests with a key of this router, so that they are useless elsewhere.
    struct Digester: Sendable, Concealed {
        private let key: [UInt8]

        init(_ seeds: KeySeeds) throws {
            let info = Array("secret 1".utf8)
            key = try HKDFSHA256.expand(pseudoRandomKey: seeds[.sessions], info: info, length: 32)
        }

        func digest(of secret: String) -> [UInt8] {
            HMACSHA256.authenticationCode(for: Array(secret.utf8), key: key)
        }
    }

    let digests: [[UInt8]]
    private let digester: Digester

    init(_ secrets: [String], digester: Digester) {
        digests = secrets.map(digester.digest)
        self.digester = digester
    }

    /// Returns the digest of `candidate` if it is one of the secrets. The time taken reveals neither which secret
    /// matched nor how similar it is.
    func digest(matching candidate: String) -> [UInt8]? {
        let digest = digester.digest(of: candidate)
        let isKnown = digests.reduce(false) { ConstantTime.areEqual($1, digest) || $0 }
        return isKnown ? digest : nil
    }
}

/// The secrets of a file. They are read again when the file changes, so a new one works without a restart.
final class SecretSource: Sendable {
    /// Distinguishes versions of a file without reading it.
    private struct Stamp: Equatable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
        let mode: UInt32

        init?(path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            inode = status.st_ino
            size = status.st_size
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
            mode = status.st_mode
        }
    }

    private struct Known {
        let stamp: Stamp
        let secrets: ConnectSecrets
    }

    private let file: SecretFile
    private let digester: ConnectSecrets.Digester
    private let known = Mutex<Known?>(nil)

    init(file: SecretFile, digester: ConnectSecrets.Digester) {
        self.file = file
        self.digester = digester
    }

    /// Returns the current secrets. Throws a ``SecretFileError`` if the file cannot be used.
    func secrets() throws -> ConnectSecrets {
        // Taken before reading, so that a change in between is read the next time.
        let stamp = Stamp(path: file.path)
        if let stamp, let secrets = known.withLock({ $0?.stamp == stamp ? $0?.secrets : nil }) { return secrets }
        let secrets = ConnectSecrets(try file.read(), digester: digester)
        known.withLock { known in known = stamp.map { Known(stamp: $0, secrets: secrets) } }
        return secrets
    }
}

/// The key under which a rule about an invitation is stored.
package enum InvitationDigest {
    /// Returns the hex digest of an invitation, given as a `bunker://` URL or only its secret; nil: the URL has no
    /// secret.
    package static func text(of invitation: String, _ seeds: KeySeeds) throws -> String? {
        var secret: Substring? = invitation[...]
        if invitation.hasPrefix("bunker://") {
            // The router's secrets are letters and digits, so no decoding is needed.
            let parameters = invitation.split(separator: "?").dropFirst().first?.split(separator: "&") ?? []
            secret = parameters.first { $0.hasPrefix("secret=") }?.dropFirst("secret=".count)
        }
        let digester = try ConnectSecrets.Digester(seeds)
        return secret.flatMap { $0.isEmpty ? nil : Hex.encode(digester.digest(of: String($0))) }
    }
}
