import COpenSSL
import Core
import Glibc

/// A value with a secret that never appears in descriptions, interpolations or dumps.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Concealed {
    package var description: String {
        "\(Self.self)(concealed)"
    }

    package var debugDescription: String {
        self.description
    }

    package var customMirror: Mirror {
        Mirror(self, children: [])
    }
}

/// Comparisons in constant time.
package enum ConstantTime {
    /// Whether both have the same bytes. The lengths are not secret.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// A source of random bytes; injected, so that tests can reproduce published vectors.
package typealias RandomBytes = @Sendable (_ count: Int) -> [UInt8]

/// libcrypto's generator, seeded by the kernel and reseeded after a fork.
package enum SecureRandom {
    /// Returns `count` unpredictable bytes; empty if `count` is not positive.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var filled = 0
            while filled < count {
                let part = min(count - filled, Int(Int32.max))
                let status = RAND_bytes(buffer.baseAddress.map { $0 + filled }, Int32(part))
                Library.require(status == 1, "random bytes")
                filled += part
            }
            initialized = count
        }
    }
}

/// Overwrites secrets that are no longer needed. The optimizer cannot remove this.
package enum SecureWipe {
    package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    }
}

/// Creates files that contain a secret: readable only by their owner, and complete as soon as they have their name.
package enum NewSecretFile {
    /// Writes `bytes` to a file that must not exist yet. The name appears once all bytes are on disk, so that a killed
    /// process never leaves an empty key. Returns the system's error number, or 0 on success.
    ///
    /// `owner` is the owner of the file; nil: this process's user.
    package static func create(_ path: String, _ bytes: [UInt8], owner: (user: uid_t, group: gid_t)? = nil) -> Int32 {
        removeRemains(of: path)
        let unfinished = path + suffix
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { removeRemains(of: path) }
        defer { close(descriptor) }
        if let owner, fchown(descriptor, owner.user, owner.group) != 0 { return errno }
        let written = write(bytes, to: descriptor)
        guard written == 0 else { return written }
        // Unlike a rename, this fails if a file exists by now. It links the descriptor's file, even if another process
        // has replaced the unfinished name.
        guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
            return errno
        }
        flushFolder(of: path)
        return 0
    }

    /// Removes the file that a killed process left next to `path` while creating it.
    package static func removeRemains(of path: String) { unlink(path + suffix) }

    private static let suffix = "-new"

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR else { return errno }
                continue
            }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0 ? 0 : errno
    }

    /// Flushes the directory of `path` to disk.
    package static func flushFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let stream = opendir(folder) else { return }
        _ = fsync(dirfd(stream))
        closedir(stream)
    }
}

/// The access that other users have to a file with a secret.
///
/// A file of this process's user must be private. A file of root may be readable by a group: systemd passes credentials
/// this way (`LoadCredential=`, mode 0440 with an access list), and operators share a key with a service this way.
/// Root, which runs commands on a service's files, accepts any owner.
package enum FileExposure: Sendable, Hashable, CustomStringConvertible {
    /// Other users may read it.
    case readable
    /// Other users may write it, and so replace the identity.
    case writable
    /// It belongs to neither this user nor root. Its owner can give access to any user.
    case foreign(owner: UInt32)

    /// Nil if only this user can access the file with that `status`. `user` is this process's user.
    package init?(_ status: stat, user: uid_t = geteuid()) {
        if user != 0, status.st_uid != 0, status.st_uid != user {
            self = .foreign(owner: status.st_uid)
        } else if status.st_mode & (S_IWGRP | S_IWOTH) != 0 {
            self = .writable
        } else if status.st_mode & S_IROTH != 0 || status.st_mode & S_IRGRP != 0 && (status.st_uid != 0 || user == 0) {
            self = .readable
        } else {
            return nil
        }
    }

    /// Checks the file at `path`; nil if there is none, too.
    package init?(ofFile path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(status)
    }

    /// The problem, shown after the file's name.
    package var description: String {
        switch self {
        case .readable: "is open to other users"
        case .writable: "can be written by other users"
        case .foreign(let owner): "belongs to another user (\(owner))"
        }
    }

    /// Returns the command that fixes the problem for `path`. `user` is this process's user, as a number because root
    /// runs the command.
    package func remedy(for path: String, user: uid_t = geteuid()) -> String {
        switch self {
        case .readable, .writable: "chmod 600 \(path)"
        case .foreign: "chown \(user) \(path) && chmod 600 \(path)"
        }
    }
}

/// Secrets that sign messages as Standard Webhooks defines (standardwebhooks.com). Each of several secrets signs: while
/// a secret is being replaced, receivers with the old and with the new one can both verify.
package struct WebhookSecrets: Sendable, Hashable {
    /// An error in the configured secrets.
    package struct FormatError: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// The maximum number of secrets. Receivers try every signature.
    private static let limit = 8
    private static let prefix = "whsec_"
    /// The lengths that the specification allows.
    private static let keyLengths = 24...64
    private static let expected =
        "\(prefix) and the base64 of \(keyLengths.lowerBound) to \(keyLengths.upperBound) random bytes"

    private let keys: [[UInt8]]

    package var isEmpty: Bool { keys.isEmpty }

    /// Throws for an invalid secret, without quoting it.
    package init(_ secrets: [String]) throws(FormatError) {
        guard secrets.count <= Self.limit else {
            throw FormatError(description: "expected at most \(Self.limit) secrets, found \(secrets.count)")
        }
        var keys: [[UInt8]] = []
        for secret in secrets {
            guard secret.hasPrefix(Self.prefix), let key = Base64.decode(String(secret.dropFirst(Self.prefix.count))),
                Self.keyLengths.contains(key.count)
            else { throw FormatError(description: "expected \(Self.expected), found another text") }
            keys.append(key)
        }
        self.keys = keys
    }

    /// Returns the value of `webhook-signature`: one signature for each secret.
    package func signatures(id: String, sentAt: Timestamp, body: [UInt8]) -> String {
        let message = [UInt8]("\(id).\(sentAt.seconds).".utf8) + body
        return keys.map { "v1," + Base64.encode(HMACSHA256.authenticationCode(for: message, key: $0)) }
            .joined(separator: " ")
    }
}
