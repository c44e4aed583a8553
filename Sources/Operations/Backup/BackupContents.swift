import Backup
import Cipher
import Delivery
import Foundation
import Nostr
import Registry
import RouterConfiguration
import Units

/// What is in the copies of a store's databases, found by reading all of it.
struct BackupContents {
    var devices = 0
    /// Deliveries without a final outcome.
    var waiting = 0
    var oldestWaiting: Timestamp?
    /// The router's public key in hexadecimal digits.
    var owner: String?
    /// Why a database is of no use.
    var damage: String?
    /// What single rows lack, one sentence each. The router goes on without these.
    var warnings: [String] = []

    /// With `identity`, everything sealed is opened. Throws a `StoreFault` for what is no database of ours, or a newer
    /// version's.
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

/// What a backup is and what is inside.
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
    /// Nil where no router ever ran on the store.
    package let npub: String?
    package let hasKey: Bool
    /// Whether a key opened everything that is sealed; nil where there was none to try.
    package let keyFits: Bool?
    package let devices: Int
    package let waiting: Int
    package let oldestWaiting: String?
    package let isFinal: Bool
    package let files: [File]
    /// What cannot be used of it, though the rest can.
    package let warnings: [String]
    /// What is not in it and must be kept elsewhere, in words.
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
        madeAt = UTCTime(Timestamp(seconds: manifest.createdAt)).stamp
        carillon = manifest.carillon
        npub = manifest.identity.flatMap(PublicKey.init(hex:)).map(NIP19.npub)
        hasKey = manifest.files.contains { $0.role == .key }
        self.keyFits = keyFits
        devices = contents.devices
        waiting = contents.waiting
        oldestWaiting = contents.oldestWaiting.map { UTCTime($0).stamp }
        isFinal = manifest.isFinal
        warnings = contents.warnings
        files = manifest.files.map { File(name: $0.name, bytes: $0.size) }
        self.notInside = notInside
    }

    package var text: String {
        var lines = [
            "backup    \(backup)\(isEncrypted ? " (encrypted)" : "")",
            "made      \(madeAt) by Carillon \(carillon)\(isFinal ? ", with which the store was retired" : "")",
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
        case (true, true): "inside, and it opens everything that is sealed"
        case (true, _): "inside"
        case (false, true): "not inside; the one given opens everything that is sealed"
        case (false, _): "not inside: without it the tokens in the registry cannot be read"
        }
    }
}
