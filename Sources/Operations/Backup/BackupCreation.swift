import Cipher
import Core
import Delivery
import Foundation
import Glibc
import Nostr
import Registry
import RouterConfiguration
import Storage

/// Makes a backup of a store, even while a router runs on it.
package struct BackupCreation {
    package struct Options: Sendable {
        /// Includes the router's key, the API's token and the registration secrets.
        package var withKey = false
        package var withConfiguration = false
        /// Includes trace and context, which are only caches.
        package var withCaches = true
        /// Retires the store, so that no router serves it again.
        package var retires = false
        /// The recipient for age or gpg; nil for no encryption.
        package var recipient: String?

        package init() {}
    }

    private let configuration: Configuration
    private let options: Options
    private let now: Timestamp

    package init(configuration: Configuration, options: Options, now: Timestamp = .now()) {
        self.configuration = configuration
        self.options = options
        self.now = now
    }

    /// Returns the path of the backup: `target`, or a file in it named by the time if `target` is a directory.
    package func path(for target: String) -> String {
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: target, isDirectory: &isFolder), isFolder.boolValue else {
            return target
        }
        let stamp = now.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" }
        let name =
            "carillon-\(stamp)Z.tar" + (options.recipient.map { "." + BackupEncryption(recipient: $0).rawValue } ?? "")
        return URL(fileURLWithPath: target).appending(path: name).path
    }

    /// Writes to the file at `target`, or to standard output if `target` is `-`. The file must not exist, and appears
    /// only when it is complete. `copying` receives the progress in bytes.
    ///
    /// Throws a ``BackupError``, a `StoreError`, `Diagnostics` for an unusable key, and a `StoreLockError` if the store
    /// must be retired while a router runs on it.
    package func run(
        to target: String,
        copying: @escaping StoreSnapshot.Progress = { _, _ in }
    ) throws -> BackupReport {
        let isStream = target == "-"
        if options.retires, isStream {
            throw BackupError("--retire needs a file: data in a pipe can be lost")
        }
        if !isStream { try Self.refuseExisting(target) }
        let lock = try options.retires ? StoreLock(store: configuration.store.path) : nil
        defer { withExtendedLifetime(lock) {} }
        let store = URL(fileURLWithPath: configuration.store.path).resolvingSymlinksInPath().path
        let work = try WorkFolder(prefix: store + "-backup-")
        let copies = try StoreSnapshot(
            store: configuration.store.path,
            context: configuration.context.file(nextTo: configuration.store),
            withCaches: options.withCaches
        ).copy(to: work.path, progress: copying)
        let identity = try? IdentityFile(path: configuration.identity.keyFile).read()
        let contents = try BackupContents(
            registry: work.file(BackupRole.registry.rawValue),
            outbox: work.file(BackupRole.outbox.rawValue),
            identity: identity
        )
        if let damage = contents.damage {
            throw BackupError("\(damage). A backup would be damaged too: run carillon store check")
        }
        if options.withKey, let identity, let owner = contents.owner, identity.publicKey.hex != owner {
            throw BackupError(
                "--with-key: \(configuration.identity.keyFile) is not the key that the store was made with"
            )
        }
        let inputs = try copies + tokens(in: work) + secrets() + files()
        let manifest = BackupManifest(
            createdAt: now,
            identity: contents.owner,
            devices: contents.devices,
            waiting: contents.waiting,
            isFinal: options.retires,
            files: try inputs.map { try $0.described() }
        )
        try write(BackupWriter(manifest, inputs), in: work, to: target)
        return BackupReport(
            manifest,
            contents,
            backup: target,
            isEncrypted: options.recipient != nil,
            keyFits: identity.map { $0.publicKey.hex == contents.owner },
            notInside: notInside
        )
    }

    private func write(_ writer: BackupWriter, in work: WorkFolder, to target: String) throws {
        guard target != "-" else {
            try writer.write(to: STDOUT_FILENO, in: work.path, recipient: options.recipient)
            return
        }
        let file = try UnfinishedFile(for: target)
        try writer.write(to: file.descriptor, in: work.path, recipient: options.recipient)
        try file.finish {
            // Retires the store before the backup gets its name: a visible backup implies a retired store.
            if options.retires { try RetiredStore(store: configuration.store.path).retire(to: target) }
            try Self.refuseExisting(target)
        }
    }

    /// Copies the file of the API's token hashes, because a running router records the last use of tokens in it.
    private func tokens(in work: WorkFolder) throws -> [BackupInput] {
        let path = TokenFile(configuration).path
        guard let content = FileManager.default.contents(atPath: path) else { return [] }
        let role = BackupRole.apiTokens
        let copy = work.file(role.rawValue)
        try NewSecretFile.make(copy, Array(content))
        return [BackupInput(role: role, name: role.rawValue + ".json", path: copy, original: path)]
    }

    private func secrets() throws -> [BackupInput] {
        guard options.withKey else { return [] }
        guard FileManager.default.fileExists(atPath: configuration.identity.keyFile) else {
            throw BackupError("--with-key: the key \(configuration.identity.keyFile) is missing")
        }
        var found = [
            BackupInput(
                role: .key,
                name: "carillon.key",
                path: configuration.identity.keyFile,
                original: configuration.identity.keyFile
            )
        ]
        let others: [(BackupRole, String?)] = [
            (.apiToken, configuration.api?.tokenFile), (.registrationSecrets, configuration.registration.secretFile),
        ]
        for (role, path) in others {
            guard let path, FileManager.default.fileExists(atPath: path) else { continue }
            found.append(BackupInput(role: role, name: role.rawValue, path: path, original: path))
        }
        return found
    }

    /// Returns the files of configuration and rules.
    private func files() throws -> [BackupInput] {
        guard options.withConfiguration else { return [] }
        let all = configuration.rulesFiles + configuration.apps.rulesFiles.sorted { $0.key < $1.key }.flatMap(\.value)
        let named = RulesFiles(configuration, KnownPlatforms()).otherFiles()
        var seen: Set<String> = []
        let rules = (all + named).filter { seen.insert($0).inserted }
        var inputs = rules.enumerated().map { index, path in
            BackupInput(role: .rules, name: "rules-\(index + 1)-\(Self.plainName(path))", path: path, original: path)
        }
        if let file = configuration.file {
            inputs.insert(
                BackupInput(role: .configuration, name: "carillon.yaml", path: file, original: file),
                at: 0
            )
        }
        return inputs
    }

    /// Returns the last component of a path, with only portable characters.
    private static func plainName(_ path: String) -> String {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let plain = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "_" }
        return String(plain.suffix(60))
    }

    private var notInside: [String] {
        var things: [String] = []
        if !options.withKey {
            things.append("the key \(configuration.identity.keyFile) (--with-key): keep it elsewhere")
        }
        if !options.withConfiguration { things.append("configuration and rules (--with-config)") }
        if !configuration.apps.isEmpty { things.append("the credentials of push services that apps: names") }
        return things
    }

    private static func refuseExisting(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        throw BackupError("\(path) already exists, and backups are never overwritten: choose another name")
    }
}

/// The contents of copied databases, found by reading all of them.
struct BackupContents {
    var devices = 0
    /// Deliveries without a final result.
    var waiting = 0
    var oldestWaiting: Timestamp?
    /// The router's public key in hexadecimal.
    var owner: String?
    /// The reason why a database is unusable.
    var damage: String?
    /// Problems of single rows, one sentence each. The router continues without these rows.
    var warnings: [String] = []

    /// With `identity`, all sealed values are opened. Throws a `StoreError` for a file that is not a Carillon database,
    /// or that a newer version wrote.
    init(registry: String, outbox: String?, identity: KeyPair?) throws {
        owner = try RegistrySummary(path: registry)?.owner
        let examined = try RegistryExamination(path: registry, identity: identity).run()
        devices = examined.devices
        add(examined.findings, of: "the registry", isDamaged: examined.isDamaged)
        guard let outbox, FileManager.default.fileExists(atPath: outbox) else { return }
        let deliveries = try OutboxExamination(path: outbox).run()
        waiting = deliveries.deliveries
        add(deliveries.findings, of: "the outbox", isDamaged: deliveries.isDamaged)
        if damage == nil { oldestWaiting = try OutboxReader(path: outbox).oldest() }
    }

    private mutating func add(_ findings: [String], of name: String, isDamaged: Bool) {
        let sentences = findings.map { "\(name): \($0)" }
        if isDamaged { damage = damage ?? sentences.first } else { warnings += sentences }
    }
}

/// The description of a backup and its contents.
package struct BackupReport: OperatorAnswer {
    package struct File: Codable, Sendable {
        package let name: String
        package let bytes: Int64
    }

    package let backup: String
    package let isEncrypted: Bool
    /// In UTC.
    package let madeAt: String
    package let carillon: String
    /// Nil if no router ever ran on the store.
    package let npub: String?
    package let hasKey: Bool
    /// Whether the key opened all sealed values; nil if no key was available.
    package let keyFits: Bool?
    package let devices: Int
    package let waiting: Int
    package let oldestWaiting: String?
    package let isFinal: Bool
    package let files: [File]
    /// Contents that cannot be used, although the rest can.
    package let warnings: [String]
    /// Items that are not in the backup and must be kept elsewhere.
    package let notInside: [String]

    init(
        _ manifest: BackupManifest,
        _ contents: BackupContents,
        backup: String,
        isEncrypted: Bool,
        keyFits: Bool?,
        notInside: [String] = []
    ) {
        self.backup = backup
        self.isEncrypted = isEncrypted
        madeAt = manifest.madeAt
        carillon = manifest.carillon
        npub = manifest.npub
        hasKey = manifest.files.contains { $0.role == .key }
        self.keyFits = keyFits
        devices = contents.devices
        waiting = contents.waiting
        oldestWaiting = contents.oldestWaiting.map(\.rfc3339)
        isFinal = manifest.isFinal
        warnings = contents.warnings
        files = manifest.files.map { File(name: $0.name, bytes: $0.size) }
        self.notInside = notInside
    }

    package var text: String {
        var lines = [
            "backup    \(backup)\(isEncrypted ? " (encrypted)" : "")",
            "made      \(madeAt) by Carillon \(carillon)\(isFinal ? ", which retired the store" : "")",
            "router    \(npub ?? "none yet")",
            "devices   \(devices)",
            "waiting   \(waiting)\(oldestWaiting.map { ", the oldest accepted at \($0)" } ?? "")",
            "key       \(keyWords)",
        ]
        for (index, file) in files.enumerated() {
            lines.append("\(index == 0 ? "files     " : "          ")\(file.name), \(file.bytes) bytes")
        }
        for (index, thing) in notInside.enumerated() {
            lines.append("\(index == 0 ? "not here  " : "          ")\(thing)")
        }
        return (lines + warnings.map { "warning   \($0)" }).joined(separator: "\n")
    }

    private var keyWords: String {
        switch (hasKey, keyFits) {
        case (true, true): "included; it opens all sealed data"
        case (true, _): "included"
        case (false, true): "not included; the given key opens all sealed data"
        case (false, _): "not included; without it the tokens in the registry cannot be read"
        }
    }
}
