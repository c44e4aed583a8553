import Cipher
import Core
import Foundation
import Glibc
import Nostr

/// An input file of a backup.
struct BackupInput: Sendable {
    var role: BackupRole
    /// The file's name in the backup.
    var name: String
    /// The path to read from.
    var path: String
    /// The original path, as the manifest records it.
    var original: String

    /// Returns the manifest entry. Reads the whole file. Throws a ``BackupError``.
    func described() throws -> BackupManifest.File {
        guard BackupManifest.isName(name) else {
            throw BackupError("the name of \(original) is not allowed in a backup: use letters, digits, - and _")
        }
        let file = try ReadFile(path, followsLinks: true)
        return BackupManifest.File(
            name: name,
            role: role,
            size: file.size,
            sha256: try file.digest(),
            original: original
        )
    }
}

/// Writes a backup: a tar archive that starts with the manifest and the list of digests.
struct BackupWriter {
    private let manifest: BackupManifest
    private let inputs: [BackupInput]

    /// `inputs` are the files of the manifest, in the same order.
    init(_ manifest: BackupManifest, _ inputs: [BackupInput]) {
        self.manifest = manifest
        self.inputs = inputs
    }

    /// Writes to the descriptor `output`, encrypted if there is a `recipient`. Makes links to the files in `folder`, so
    /// that secrets are not copied. Throws a ``BackupError``.
    func write(to output: Int32, in folder: String, recipient: String? = nil) throws {
        let place = folder + "/" + BackupManifest.folder
        guard mkdir(place, 0o700) == 0 else { throw BackupError.failure("create", place) }
        for (name, content) in [(BackupManifest.name, try manifest.json), (BackupManifest.sumsName, manifest.sums)] {
            try NewSecretFile.make(place + name, content)
        }
        for input in inputs {
            // tar changes the working directory.
            let path = URL(fileURLWithPath: input.path).path
            guard symlink(path, place + input.name) == 0 else { throw BackupError.failure("link", place + input.name) }
        }
        let names = [BackupManifest.name, BackupManifest.sumsName] + inputs.map(\.name)
        let archiving = ["tar", "-c", "-h", "-f", "-", "-C", folder] + names.map { BackupManifest.folder + $0 }
        let encrypting = recipient.map { BackupEncryption(recipient: $0).encrypting(for: $0) }
        try ProgramPipe.run([archiving] + (encrypting.map { [$0] } ?? []), input: STDIN_FILENO, output: output)
    }
}

/// An unpacked backup, whose files match the sizes and digests of its manifest.
struct UnpackedBackup {
    let manifest: BackupManifest
    /// Whether the file was encrypted.
    let isEncrypted: Bool
    private let folder: String

    /// Unpacks and verifies the file at `path` (`-` is standard input) into `folder`, which must be private to this
    /// user. Decrypts the file if necessary, with the file `identity` for age. When this returns, all files are on
    /// disk. If it throws a ``BackupError``, remove the folder.
    init(
        _ path: String,
        identity: String? = nil,
        into folder: String,
        progress: (_ done: Int64, _ of: Int64) -> Void = { _, _ in }
    ) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError.failure("read", path) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var start = [UInt8](repeating: 0, count: 64)
        // A pipe fails here, so its input must be an unencrypted archive.
        let count = pread(descriptor, &start, start.count, 0)
        let encryption = BackupEncryption(start: start.prefix(max(0, count)))
        let decrypting = try encryption?.decrypting(path, identity: identity)
        // Extracts only the entries below this directory, owned by this user.
        let unpacking = ["tar", "-x", "-o", "-f", "-", "-C", folder, String(BackupManifest.folder.dropLast())]
        do {
            try ProgramPipe.run((decrypting.map { [$0] } ?? []) + [unpacking], input: descriptor, output: STDERR_FILENO)
        } catch let error as BackupError {
            throw BackupError("cannot read the backup \(path): \(error). No part of it was used")
        }
        self.folder = folder + "/" + BackupManifest.folder
        isEncrypted = encryption != nil
        manifest = try BackupManifest(json: Self.small(self.folder + BackupManifest.name))
        guard try Self.small(self.folder + BackupManifest.sumsName) == manifest.sums else {
            throw BackupError.damaged("its manifest and its list of digests differ")
        }
        try check(progress)
    }

    private static func small(_ path: String) throws -> [UInt8] {
        let file = try ReadFile(path)
        guard file.size <= BackupManifest.maxBytes, let content = FileManager.default.contents(atPath: path) else {
            throw BackupError.damaged("\(URL(fileURLWithPath: path).lastPathComponent) is too long")
        }
        return Array(content)
    }

    private func check(_ progress: (_ done: Int64, _ of: Int64) -> Void) throws {
        let names = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
        let expected = Set(manifest.files.map(\.name) + [BackupManifest.name, BackupManifest.sumsName])
        if let name = expected.subtracting(names).min() {
            throw BackupError.damaged("\(name) is missing, but its manifest lists it")
        }
        guard names == expected else { throw BackupError.damaged("it has files that its manifest does not list") }
        let total = manifest.files.reduce(0) { $0 + $1.size }
        var done: Int64 = 0
        for file in manifest.files {
            let unpacked = try ReadFile(folder + file.name)
            guard unpacked.size == file.size, try unpacked.digest() == file.sha256 else {
                throw BackupError.damaged("\(file.name) does not match its digest")
            }
            try unpacked.keepPrivate()
            done += file.size
            progress(done, total)
        }
    }

    /// Returns the path of the file with a role; nil if the backup has none.
    func path(of role: BackupRole) -> String? {
        manifest.files.first { $0.role == role }.map { folder + $0.name }
    }

    /// Moves each file to the path that `place` returns for it, and removes the rest.
    func move(to place: (BackupManifest.File) -> String) throws {
        for file in manifest.files {
            let target = place(file)
            guard rename(folder + file.name, target) == 0 else { throw BackupError.failure("create", target) }
        }
        try FileManager.default.removeItem(atPath: folder)
    }
}

/// An open regular file, for its size and digest.
private final class ReadFile {
    let size: Int64
    private let descriptor: Int32
    private let path: String

    /// Throws a ``BackupError``, even for a symbolic link unless `followsLinks` is true.
    init(_ path: String, followsLinks: Bool = false) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
        self.path = path
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw BackupError.failure("read", path) }
        size = Int64(status.st_size)
        guard status.st_mode & S_IFMT == S_IFREG else { throw BackupError("cannot read \(path): it is not a file") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the SHA-256 digest of the content in hexadecimal.
    func digest() throws -> String {
        let digest = SHA256Stream()
        while true {
            var count = 0
            let part = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, initialized in
                count = read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(0, count)
            }
            if count == 0 { return Hex.encode(digest.finish()) }
            if count < 0, errno != EINTR { throw BackupError.failure("read", path) }
            digest.update(part)
        }
    }

    /// Makes the file readable only for this user, and flushes it to disk.
    func keepPrivate() throws {
        guard fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else { throw BackupError.failure("write", path) }
    }
}

/// The role of a file in a backup.
enum BackupRole: String, Codable, Sendable, Hashable, CaseIterable {
    case registry, outbox, trace, context
    case key
    case apiToken = "api_token"
    case registrationSecrets = "registration_secrets"
    case configuration, rules
    /// The API's named tokens: the scope and hash of each.
    case apiTokens = "api_tokens"

    /// The suffix of the store's path for this file; nil if the file is not next to the store.
    var suffix: String? {
        switch self {
        case .registry: ""
        case .outbox: "-outbox"
        case .trace: "-trace"
        case .context: "-context"
        case .apiTokens: "-tokens"
        default: nil
        }
    }

    /// Whether a store requires this database.
    var isEssential: Bool { self == .registry || self == .outbox }

    static let databases: [BackupRole] = [.registry, .outbox, .trace, .context]
    /// The store and the files next to it; the store comes first.
    static let ofStore = databases + [.apiTokens]
}

/// The first file of a backup, which lists its contents.
struct BackupManifest: Codable, Sendable, Hashable {
    struct File: Codable, Sendable, Hashable {
        var name: String
        var role: BackupRole
        var size: Int64
        var sha256: String
        /// The original path.
        var original: String
    }

    /// The only supported version of this format.
    static let currentFormat = 1
    static let name = "manifest.json"
    static let sumsName = "SHA256SUMS"
    /// The prefix of all names in an archive.
    static let folder = "carillon-backup/"
    /// The size limit of the manifest and of the list of digests.
    static let maxBytes = 1 << 20
    /// The limit of a file's name, which leaves room for the prefix in a tar header.
    static let longestName = 80

    var format: Int = currentFormat
    /// The version of Carillon that wrote the backup.
    var carillon: String
    /// The time of the databases' state, in seconds since 1970.
    var createdAt: Int64
    /// The router's public key in hexadecimal; nil if no router ever used the store.
    var identity: String?
    var devices: Int
    /// Deliveries without a final result.
    var waiting: Int
    /// Whether the store was retired with this backup.
    var isFinal: Bool
    var files: [File]

    init(
        createdAt: Timestamp,
        identity: String?,
        devices: Int,
        waiting: Int,
        isFinal: Bool,
        files: [File]
    ) {
        carillon = Version.current
        self.createdAt = createdAt.seconds
        (self.identity, self.devices, self.waiting) = (identity, devices, waiting)
        (self.isFinal, self.files) = (isFinal, files)
    }

    var madeAt: String { Timestamp(seconds: createdAt).rfc3339 }

    var npub: String? { identity.flatMap(PublicKey.init(hex:)).map(NIP19.npub) }

    /// The list of digests in the format of `sha256sum -c`.
    var sums: [UInt8] { Array(files.map { "\($0.sha256)  \($0.name)\n" }.joined().utf8) }

    var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self)) + [0x0A]
        }
    }

    /// Throws a ``BackupError`` for an invalid manifest or an unsupported format.
    init(json: [UInt8]) throws {
        struct Format: Decodable { var format: Int }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let version = try? decoder.decode(Format.self, from: Data(json)) else {
            throw BackupError.damaged("its manifest cannot be read")
        }
        guard version.format == Self.currentFormat else {
            throw BackupError("the backup has format \(version.format), and this version of Carillon reads format 1")
        }
        guard let manifest = try? decoder.decode(Self.self, from: Data(json)), manifest.isSensible else {
            throw BackupError.damaged("its manifest is invalid")
        }
        self = manifest
    }

    /// Names become file names, so they must be unique and safe. Only `rules` may occur more than once.
    private var isSensible: Bool {
        let names = files.map(\.name)
        let single = files.map(\.role).filter { $0 != .rules }
        return Set(names).count == names.count && Set(single).count == single.count
            && files.contains { $0.role == .registry }
            && files.allSatisfy { $0.size >= 0 && Self.isName($0.name) && $0.sha256.utf8.count == 64 }
    }

    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= longestName && !name.hasPrefix(".")
            && name != Self.name && name != sumsName
            && name.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 > 0x20 && $0 < 0x7F }
    }
}
