import Cipher
import Core
import Foundation

/// Snapshots of a cluster's registry in JetStream: a file in parts, and a head that describes it. Call it only on
/// threads that may block.
struct RegistrySnapshots: Sendable {
    /// The description of the newest snapshot.
    struct Head: Hashable, Sendable, Codable {
        var version = 1
        /// The name of the parts, unique to the snapshot.
        var name: String
        var parts: Int
        var byteCount: Int
        /// The hash over the concatenated hashes of the parts, in hexadecimal digits.
        var sha256: String
        /// The position of the last change in the snapshot.
        var position: UInt64
        /// The ``position`` of the snapshot before it. Changes after that are still in the log.
        var before: UInt64
    }

    enum SnapshotError: Error, CustomStringConvertible {
        case unreadable
        case damaged
        case otherFormat(found: Int)
        case cannotRead(String)
        case cannotWrite(String)

        var description: String {
            switch self {
            case .unreadable: "the head of the registry's snapshot cannot be read"
            case .damaged: "the registry's snapshot is not what its head says"
            case .otherFormat(let found):
                """
                the registry's snapshot has the format \(found), and this version of Carillon expects 1: run the version \
                that wrote it, or remove the cluster's streams to start an empty cluster
                """
            case .cannotRead(let file): "cannot read \(file)"
            case .cannotWrite(let file): "cannot write \(file)"
            }
        }
    }

    static let partSize = SnapshotHead.partSize
    /// The maximum of parallel requests.
    private static let atOnce = 8
    private static let key = "registry"
    private static let tries = 20

    private let layout: ClusterLayout
    private let stream: JetStream
    private let heads: KeyValueBucket

    init(_ link: ClusterLink) {
        layout = link.settings.layout
        stream = JetStream(link.line.client, timeout: .seconds(5))
        heads = KeyValueBucket(layout.headBucket, in: stream, link.line.seal)
    }

    /// The head of the newest snapshot; nil: there is none.
    func head() throws -> Head? { try entry()?.head }

    private func entry() throws -> (head: Head?, revision: UInt64)? {
        let found = try RegistryStream.blocking { [heads] in try await heads.entry(Self.key) }
        guard let entry = found else { return nil }
        guard let value = entry.value else { return (nil, entry.revision) }
        guard let head = Head(bucketValue: value) else { throw SnapshotError.unreadable }
        guard head.version == 1 else { throw SnapshotError.otherFormat(found: head.version) }
        return (head, entry.revision)
    }

    /// Writes the newest snapshot to a file. Returns false if there is none.
    func read(to file: String) throws -> Bool {
        for _ in 0..<Self.tries {
            guard let head = try head() else { return false }
            if try read(head, to: file) { return true }
            // A newer snapshot has replaced it: read that one.
            guard try self.head() != head else { throw SnapshotError.damaged }
        }
        throw SnapshotError.damaged
    }

    private func read(_ head: Head, to file: String) throws -> Bool {
        guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: file)
        else { throw SnapshotError.cannotWrite(file) }
        defer { try? handle.close() }
        var (hashes, size): ([UInt8], Int) = ([], 0)
        for index in 0..<head.parts {
            let subject = layout.registryPart(head.name, index)
            let part = try RegistryStream.blocking { [stream, layout] in
                try await stream.last(of: subject, in: layout.snapshotStream)
            }
            guard let part else { return false }
            hashes += SHA256.hash(part.payload)
            size += part.payload.count
            try handle.write(contentsOf: Data(part.payload))
        }
        try handle.synchronize()
        return size == head.byteCount && Hex.encode(SHA256.hash(hashes)) == head.sha256
    }

    /// Stores the file as the newest snapshot, and deletes the data that it replaces: changes up to the previous
    /// snapshot (with `isShort`, up to this one), and the previous snapshot's parts. Does nothing if there is a newer
    /// snapshot. `name` must be unique.
    func keep(_ file: String, at position: UInt64, name: String, isShort: Bool = false) throws {
        let former = try entry()
        guard former?.head.map({ $0.position < position }) ?? true else { return }
        guard let handle = FileHandle(forReadingAtPath: file) else { throw SnapshotError.cannotRead(file) }
        defer { try? handle.close() }
        var head = Head(name: name, parts: 0, byteCount: 0, sha256: "", position: position, before: 0)
        head.before = former?.head?.position ?? 0
        var hashes: [UInt8] = []
        var firstPart: UInt64 = 0
        while let part = try handle.read(upToCount: Self.partSize), !part.isEmpty {
            let bytes = Array(part)
            let subject = layout.registryPart(name, head.parts)
            let sequence = try append(subject, bytes)
            if head.parts == 0 { firstPart = sequence }
            hashes += SHA256.hash(bytes)
            head.parts += 1
            head.byteCount += bytes.count
        }
        head.sha256 = Hex.encode(SHA256.hash(hashes))
        do {
            _ = try RegistryStream.blocking { [heads, head] in
                try await heads.put(Self.key, head.bucketValue, over: former?.revision ?? 0)
            }
        } catch NATSError.refused(code: JetStream.Code.wrongLastSequence, _) {
            // Another member stored a snapshot first.
            return
        }
        let kept = isShort ? position : head.before
        try RegistryStream.blocking { [stream, layout, firstPart] in
            if kept > 1 { try await stream.purge(layout.registryStream, subject: layout.registry, before: kept) }
            if firstPart > 1 {
                try await stream.purge(layout.snapshotStream, subject: layout.registryParts, before: firstPart)
            }
        }
    }

    private func append(_ subject: String, _ bytes: [UInt8]) throws -> UInt64 {
        try RegistryStream.blocking { [stream] in try await stream.append(subject, bytes).seq }
    }

    /// The size of the registry's log, and the position of its last change.
    func logState() throws -> (last: UInt64, bytes: UInt64, maxBytes: Int64) {
        let found = try RegistryStream.blocking { [stream, layout] in
            try await stream.describe(layout.registryStream)
        }
        return (found.state.last, found.state.bytes, found.config.maxBytes)
    }
}
