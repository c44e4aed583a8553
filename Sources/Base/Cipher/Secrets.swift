import COpenSSL
import Core
import Glibc

/// A value that holds a secret and shows nothing of it: neither described, nor interpolated, nor dumped.
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
    /// Whether both hold the same bytes. The lengths are not secret.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// Where random bytes come from; injected, so that tests reproduce published vectors.
package typealias RandomBytes = @Sendable (_ count: Int) -> [UInt8]

/// libcrypto's generator, seeded by the kernel and reseeded after a fork.
package enum SecureRandom {
    /// Returns `count` unpredictable bytes; none if `count` is not positive.
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

/// Overwrites secrets that are no longer needed, which an optimiser may not leave out.
package enum SecureWipe {
    package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    }
}

/// Makes files that hold a secret: readable by us alone, and whole from the moment they have their name.
package enum NewSecretFile {
    /// Writes `bytes` to a file that must not be there yet. The name appears once all bytes are on disk, so that a
    /// killed process never leaves an empty key behind. Answers with the system's error number; 0 when it is done.
    ///
    /// `owner` gets the file; nil: we do.
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
        // Unlike a renaming, this fails when there is a file by now. It names what was written here, whoever has
        // changed the name since.
        guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
            return errno
        }
        flushFolder(of: path)
        return 0
    }

    /// Removes what a process left beside `path` that was killed while it made the file.
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

    /// Has the folder of `path` on disk as it is.
    package static func flushFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let stream = opendir(folder) else { return }
        _ = fsync(dirfd(stream))
        closedir(stream)
    }
}

/// Who else can get at a file that holds a secret.
///
/// A file of ours is for us alone. One of root's may be open to a group: that is how systemd hands credentials out
/// (`LoadCredential=`, mode 0440 with an access list), and how operators share a key with a service. Root, who runs
/// commands on what belongs to a service, takes every owner's file for one of that owner's.
package enum FileExposure: Sendable, Hashable, CustomStringConvertible {
    /// Others may read it.
    case readable
    /// Others may write it, and so say who we are.
    case writable
    /// It belongs to neither us nor root, who can open it to anybody.
    case foreign(owner: UInt32)

    /// Nil when only we can get at what `status` describes. `user` is who we are.
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

    /// The same of the file at `path`; nil also where there is none.
    package init?(ofFile path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(status)
    }

    /// What is wrong, to be said after the file's name.
    package var description: String {
        switch self {
        case .readable: "is open to other users"
        case .writable: "can be written by other users"
        case .foreign(let owner): "belongs to another user (\(owner))"
        }
    }

    /// What an operator runs to mend that for `path`. `user` is who we are: a number, as it is root who runs it.
    package func remedy(for path: String, user: uid_t = geteuid()) -> String {
        switch self {
        case .readable, .writable: "chmod 600 \(path)"
        case .foreign: "chown \(user) \(path) && chmod 600 \(path)"
        }
    }
}

/// Secrets that sign messages as Standard Webhooks says (standardwebhooks.com). With several, each signs: while a
/// secret is replaced, receivers with the old one and receivers with the new one both find a signature of theirs.
package struct WebhookSecrets: Sendable, Hashable {
    /// What is wrong with secrets.
    package struct Mistake: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// Receivers try every signature.
    private static let limit = 8
    private static let prefix = "whsec_"
    /// What the specification allows.
    private static let keyLengths = 24...64
    private static let expected =
        "\(prefix) and the base64 of \(keyLengths.lowerBound) to \(keyLengths.upperBound) random bytes"

    private let keys: [[UInt8]]

    package var isEmpty: Bool { keys.isEmpty }

    /// Throws for a text that is no secret, without quoting it.
    package init(_ secrets: [String]) throws(Mistake) {
        guard secrets.count <= Self.limit else {
            throw Mistake(description: "expected at most \(Self.limit) secrets, found \(secrets.count)")
        }
        var keys: [[UInt8]] = []
        for secret in secrets {
            guard secret.hasPrefix(Self.prefix), let key = Base64.decode(String(secret.dropFirst(Self.prefix.count))),
                Self.keyLengths.contains(key.count)
            else { throw Mistake(description: "expected \(Self.expected), found another text") }
            keys.append(key)
        }
        self.keys = keys
    }

    /// The value of `webhook-signature`: a signature of each secret.
    package func signatures(id: String, sentAt: Timestamp, body: [UInt8]) -> String {
        let message = [UInt8]("\(id).\(sentAt.seconds).".utf8) + body
        return keys.map { "v1," + Base64.encode(HMACSHA256.authenticationCode(for: message, key: $0)) }
            .joined(separator: " ")
    }
}
