import Backup
import Cipher
import Foundation
import Glibc
import Nostr
import RouterConfiguration
import Storage
import Units

/// Makes a backup of a store, also while a router runs on it.
package struct BackupCreation {
    package struct Options: Sendable {
        /// The router's key, the API's token and the secrets of registrations.
        package var withKey = false
        package var withConfiguration = false
        /// Trace and context, which are only remembered for convenience.
        package var withCaches = true
        /// No router is to serve the store again.
        package var retires = false
        /// Nil: it is not encrypted.
        package var passphrase: [UInt8]?

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

    /// Where the file is made: `target`, or a file named by the time where that is a folder.
    package func path(for target: String) -> String {
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: target, isDirectory: &isFolder), isFolder.boolValue else {
            return target
        }
        let stamp = UTCTime(now).stamp.prefix(19).filter { $0 != "-" && $0 != ":" }
        let name = "carillon-\(stamp)Z.tar" + (options.passphrase == nil ? "" : ".sealed")
        return URL(fileURLWithPath: target).appending(path: name).path
    }

    /// Writes to the file at `target`, which must not be there yet and appears when it is whole; `-` is standard
    /// output. `copying` and `writing` learn how far it is, in bytes.
    ///
    /// Throws a ``BackupError``, a `StoreFault`, `Diagnostics` for a key that cannot be used, and a `StoreLockError`
    /// where the store is to be retired while a router runs on it.
    package func run(
        to target: String,
        copying: @escaping StoreSnapshot.Progress = { _, _ in },
        writing: StoreSnapshot.Progress = { _, _ in }
    ) throws -> BackupReport {
        let isStream = target == "-"
        if options.retires, isStream {
            throw BackupError("--retire needs a file: what was written to a pipe may not have arrived")
        }
        if !isStream { try Self.refuseExisting(target) }
        let lock = try options.retires ? StoreLock(store: configuration.storePath) : nil
        defer { withExtendedLifetime(lock) {} }
        let store = URL(fileURLWithPath: configuration.storePath).resolvingSymlinksInPath().path
        let work = try WorkFolder(prefix: store + "-backup-")
        let copies = try StoreSnapshot(
            store: configuration.storePath,
            context: configuration.contextPath,
            withCaches: options.withCaches
        ).copy(to: work.path, progress: copying)
        let identity = try? IdentityFile(path: configuration.keyFile).read()
        let contents = try BackupContents(
            registry: work.file(BackupRole.registry.rawValue),
            outbox: work.file(BackupRole.outbox.rawValue),
            identity: identity
        )
        if let damage = contents.damage {
            throw BackupError("\(damage). A backup would be damaged as well: see carillon store check")
        }
        if options.withKey, let identity, let owner = contents.owner, identity.publicKey.hex != owner {
            throw BackupError("--with-key: \(configuration.keyFile) is not the key that the store was made with")
        }
        let inputs = try copies.map(Self.input) + tokens(in: work) + secrets() + files()
        let manifest = BackupManifest(
            carillon: Version.current,
            createdAt: now,
            identity: contents.owner,
            devices: contents.devices,
            waiting: contents.waiting,
            isFinal: options.retires,
            files: try inputs.map { try $0.described() }
        )
        try write(manifest, inputs, to: target, writing)
        return BackupReport(
            manifest,
            contents,
            backup: target,
            isEncrypted: options.passphrase != nil,
            keyFits: identity.map { $0.publicKey.hex == contents.owner },
            notInside: notInside
        )
    }

    private func write(
        _ manifest: BackupManifest,
        _ inputs: [BackupInput],
        to target: String,
        _ progress: StoreSnapshot.Progress
    ) throws {
        let isStream = target == "-"
        let unfinished = target + "-new"
        if !isStream { try FileStream.removeRemains(of: unfinished) }
        let file = try isStream ? FileStream(standardOutput: ()) : FileStream(creating: unfinished)
        defer { if !isStream { unlink(unfinished) } }
        let sink: any ByteSink = try options.passphrase.map { try SealingSink(file, passphrase: $0) } ?? file
        let total = manifest.files.reduce(0) { $0 + $1.size }
        var done: Int64 = 0
        try BackupWriter(manifest, inputs).write(to: sink) { count in
            done += Int64(count)
            progress(done, total)
        }
        guard !isStream else { return }
        // Before the backup has its name: whoever finds it may rely on this.
        if options.retires { try RetiredStore(store: configuration.storePath).retire(to: target) }
        try Self.refuseExisting(target)
        guard rename(unfinished, target) == 0 else {
            throw BackupError("cannot make \(target): \(String(cString: strerror(errno)))")
        }
    }

    private static func input(_ copy: StoreSnapshot.Copy) -> BackupInput {
        BackupInput(role: copy.role, name: copy.role.rawValue + ".sqlite", path: copy.path, original: copy.original)
    }

    /// The API's named tokens, of which only hashes are kept. A copy: a router notes there when they were used.
    private func tokens(in work: WorkFolder) throws -> [BackupInput] {
        let path = TokenFile(configuration).path
        guard let content = FileManager.default.contents(atPath: path) else { return [] }
        let role = BackupRole.apiTokens
        let copy = work.file(role.rawValue)
        let number = NewSecretFile.create(copy, Array(content))
        guard number == 0 else { throw BackupError("cannot make \(copy): \(String(cString: strerror(number)))") }
        return [BackupInput(role: role, name: role.rawValue + ".json", path: copy, original: path)]
    }

    private func secrets() throws -> [BackupInput] {
        guard options.withKey else { return [] }
        guard FileManager.default.fileExists(atPath: configuration.keyFile) else {
            throw BackupError("--with-key: the key \(configuration.keyFile) is missing")
        }
        var found = [
            BackupInput(
                role: .key,
                name: "carillon.key",
                path: configuration.keyFile,
                original: configuration.keyFile
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

    /// Configuration and rules.
    private func files() throws -> [BackupInput] {
        guard options.withConfiguration else { return [] }
        let all = configuration.rulesFiles + configuration.rulesFilesOfApps.sorted { $0.key < $1.key }.flatMap(\.value)
        let named = RulesFiles(
            configuration.rulesFiles,
            ofApps: configuration.rulesFilesOfApps,
            KnownPlatforms()
        ).otherFiles()
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

    /// The last part of a path in characters that any file system takes.
    private static func plainName(_ path: String) -> String {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let plain = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "_" }
        return String(plain.suffix(60))
    }

    private var notInside: [String] {
        var things: [String] = []
        if !options.withKey { things.append("the key \(configuration.keyFile) (--with-key): keep it elsewhere") }
        if !options.withConfiguration { things.append("configuration and rules (--with-config)") }
        if !configuration.apps.isEmpty { things.append("the credentials of push services, which apps: names") }
        return things
    }

    private static func refuseExisting(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        throw BackupError("\(path) is there already, and no backup is written over: choose another name")
    }
}
