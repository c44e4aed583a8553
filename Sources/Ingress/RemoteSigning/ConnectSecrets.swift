import Cipher
import Glibc
import Nostr
import Registry
import Synchronization

/// The secrets that open sessions (NIP-46), as keyed digests: what the process keeps and the registry stores tells
/// nothing of them.
struct ConnectSecrets: Sendable, Concealed {
    /// Draws digests under a key of the router's, so that they mean nothing elsewhere.
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

    private let digests: [[UInt8]]
    private let digester: Digester

    init(_ secrets: [String], digester: Digester) {
        digests = secrets.map(digester.digest)
        self.digester = digester
    }

    var isEmpty: Bool { digests.isEmpty }

    /// The digest of `candidate` if it is one of the secrets. The time that takes reveals neither which one nor how
    /// similar.
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

    /// Throws a ``SecretFileError`` when the file cannot be used as it is now.
    func secrets() throws -> ConnectSecrets {
        // Taken before reading: a change between the two is read the next time.
        let stamp = Stamp(path: file.path)
        if let stamp, let secrets = known.withLock({ $0?.stamp == stamp ? $0?.secrets : nil }) { return secrets }
        let secrets = ConnectSecrets(try file.read(), digester: digester)
        known.withLock { known in known = stamp.map { Known(stamp: $0, secrets: secrets) } }
        return secrets
    }
}

/// What a rule about an invitation is kept under.
package enum InvitationDigest {
    /// The hex digits for an invitation, as a `bunker://` URL or its secret alone; nil: the URL has no secret.
    package static func text(of invitation: String, _ seeds: KeySeeds) throws -> String? {
        var secret: Substring? = invitation[...]
        if invitation.hasPrefix("bunker://") {
            // Ours are of letters and digits, so there is nothing to decode.
            let parameters = invitation.split(separator: "?").dropFirst().first?.split(separator: "&") ?? []
            secret = parameters.first { $0.hasPrefix("secret=") }?.dropFirst("secret=".count)
        }
        let digester = try ConnectSecrets.Digester(seeds)
        return secret.flatMap { $0.isEmpty ? nil : Hex.encode(digester.digest(of: String($0))) }
    }
}
