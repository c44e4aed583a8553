import Foundation
import Units

/// What a file in a backup is.
package enum BackupRole: String, Codable, Sendable, Hashable, CaseIterable {
    case registry, outbox, trace, context
    case key
    case apiToken = "api_token"
    case registrationSecrets = "registration_secrets"
    case configuration, rules
    /// The API's named tokens: what each is good for, and its hash.
    case apiTokens = "api_tokens"

    /// What follows a store's path in the path of this file; nil for what does not lie beside the store.
    package var suffix: String? {
        switch self {
        case .registry: ""
        case .outbox: "-outbox"
        case .trace: "-trace"
        case .context: "-context"
        case .apiTokens: "-tokens"
        default: nil
        }
    }

    /// Databases without which there is no store.
    package var isEssential: Bool { self == .registry || self == .outbox }

    package static let databases: [BackupRole] = [.registry, .outbox, .trace, .context]
    /// What lies beside the store, and the store itself first.
    package static let ofStore = databases + [.apiTokens]
}

/// The first file of a backup: what is inside.
package struct BackupManifest: Codable, Sendable, Hashable {
    package struct File: Codable, Sendable, Hashable {
        package var name: String
        package var role: BackupRole
        package var size: Int64
        package var sha256: String
        /// Where it was.
        package var original: String

        package init(name: String, role: BackupRole, size: Int64, sha256: String, original: String) {
            self.name = name
            self.role = role
            self.size = size
            self.sha256 = sha256
            self.original = original
        }
    }

    /// The version of this format that is written and read.
    package static let currentFormat = 1
    static let name = "manifest.json"
    static let sumsName = "SHA256SUMS"
    /// All names in an archive begin so.
    static let folder = "carillon-backup/"
    /// Of the manifest and of the list of digests.
    static let mostBytes = 1 << 20
    /// The part of a tar name that is left.
    static let longestName = 80

    package var format: Int = currentFormat
    /// The version of Carillon that wrote it.
    package var carillon: String
    /// When the databases were as they are in here, in seconds since 1970.
    package var createdAt: Int64
    /// The router's public key in hexadecimal digits; absent where no router ever ran.
    package var identity: String?
    package var devices: Int
    /// Deliveries without a final outcome.
    package var waiting: Int
    /// Whether the store was retired with this backup.
    package var isFinal: Bool
    package var files: [File]

    package init(
        carillon: String,
        createdAt: Timestamp,
        identity: String?,
        devices: Int,
        waiting: Int,
        isFinal: Bool,
        files: [File]
    ) {
        self.carillon = carillon
        self.createdAt = createdAt.seconds
        self.identity = identity
        self.devices = devices
        self.waiting = waiting
        self.isFinal = isFinal
        self.files = files
    }

    /// As `sha256sum -c` reads it.
    var sums: [UInt8] { Array(files.map { "\($0.sha256)  \($0.name)\n" }.joined().utf8) }

    var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self)) + [0x0A]
        }
    }

    /// Throws a ``BackupError`` for what no version wrote, or only a later one.
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
            throw BackupError.damaged("its manifest says what cannot be")
        }
        self = manifest
    }

    /// Names become names of files, and a role that is there once must not be there twice.
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
