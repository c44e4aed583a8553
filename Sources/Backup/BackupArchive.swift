import Cipher
import Foundation
import Glibc

/// A file that goes into a backup.
package struct BackupInput: Sendable {
    package var role: BackupRole
    /// Its name in the backup.
    package var name: String
    /// Where it is read from.
    package var path: String
    /// What the manifest says of where it was.
    package var original: String

    package init(role: BackupRole, name: String, path: String, original: String) {
        self.role = role
        self.name = name
        self.path = path
        self.original = original
    }

    /// Its entry in the manifest. Reads the whole file. Throws a ``BackupError``.
    package func described() throws -> BackupManifest.File {
        guard BackupManifest.isName(name) else {
            throw BackupError("\(original) has a name that a backup cannot hold: use letters, digits, - and _")
        }
        let stream = try FileStream(reading: path)
        let digest = SHA256Stream()
        var size: Int64 = 0
        while true {
            let part = try stream.read(upTo: 1 << 20)
            if part.isEmpty { break }
            size += Int64(part.count)
            digest.update(part)
        }
        return BackupManifest.File(
            name: name,
            role: role,
            size: size,
            sha256: Hex.encode(digest.finish()),
            original: original
        )
    }
}

/// Writes a backup: a tar archive with the manifest and the list of digests first.
package struct BackupWriter {
    private let manifest: BackupManifest
    private let inputs: [BackupInput]

    /// `inputs` are the files of the manifest, in its order.
    package init(_ manifest: BackupManifest, _ inputs: [BackupInput]) {
        self.manifest = manifest
        self.inputs = inputs
    }

    /// Throws a ``BackupError``. Calls `progress` with the length of each part.
    package func write(to sink: any ByteSink, progress: (Int) -> Void = { _ in }) throws {
        let tar = TarWriter(sink, modified: manifest.createdAt)
        let folder = BackupManifest.folder
        try tar.add(folder + BackupManifest.name, manifest.json)
        try tar.add(folder + BackupManifest.sumsName, manifest.sums)
        for (file, input) in zip(manifest.files, inputs) {
            let source = try FileStream(reading: input.path)
            try tar.add(folder + file.name, size: file.size, from: source, progress: progress)
        }
        try tar.finish()
    }
}

/// Reads a backup from its beginning to its end, and believes none of it.
package final class BackupReader {
    package let manifest: BackupManifest
    /// Whether it is encrypted.
    package let isEncrypted: Bool
    private let tar: TarReader

    /// Opens the file at `path`; `passphrase` is asked for where the backup is encrypted. Throws a ``BackupError``.
    package convenience init(path: String, passphrase: () throws -> [UInt8]) throws {
        try self.init(FileStream(reading: path), passphrase: passphrase)
    }

    package init(_ source: any ByteSource, passphrase: () throws -> [UInt8]) throws {
        let start = try source.readFully(SealedFormat.magic.count)
        let whole = PrefixedSource(start, source)
        isEncrypted = start == SealedFormat.magic
        tar = TarReader(isEncrypted ? try OpeningSource(whole, passphrase: try passphrase()) : whole)
        guard !start.isEmpty else { throw BackupError.damaged("the file is empty") }
        let json = try Self.small(BackupManifest.name, tar)
        manifest = try BackupManifest(json: json)
        guard try Self.small(BackupManifest.sumsName, tar) == manifest.sums else {
            throw BackupError.damaged("its manifest and its list of digests differ")
        }
    }

    private static func small(_ name: String, _ tar: TarReader) throws -> [UInt8] {
        guard let entry = try tar.next(), entry.name == BackupManifest.folder + name else {
            throw BackupError("this is no backup of Carillon's: it does not begin with \(name)")
        }
        guard entry.size <= BackupManifest.mostBytes else {
            throw BackupError.damaged("\(name) is longer than it can be")
        }
        var bytes: [UInt8] = []
        while Int64(bytes.count) < entry.size { bytes += try tar.read() }
        return bytes
    }

    /// Reads all files and compares sizes and digests. Writes each to the path that `place` names for it; one without
    /// a place is only read. Returns when all of it is sound and on disk. Throws a ``BackupError``.
    package func extract(
        to place: (BackupManifest.File) -> String?,
        progress: (Int) -> Void = { _ in }
    ) throws {
        for file in manifest.files {
            guard let entry = try tar.next() else {
                throw BackupError.damaged("\(file.name) is missing, which its manifest names")
            }
            guard entry.name == BackupManifest.folder + file.name, entry.size == file.size else {
                throw BackupError.damaged("it holds \(entry.name) where its manifest names \(file.name)")
            }
            let target = try place(file).map { try FileStream(creating: $0) }
            let digest = SHA256Stream()
            var read: Int64 = 0
            while read < entry.size {
                let part = try tar.read()
                read += Int64(part.count)
                digest.update(part)
                try target?.write(part)
                progress(part.count)
            }
            guard Hex.encode(digest.finish()) == file.sha256 else {
                throw BackupError.damaged("\(file.name) is not what its digest says")
            }
            try target?.finish()
        }
        guard try tar.next() == nil else { throw BackupError.damaged("it holds files that its manifest does not name") }
    }
}

/// A source with bytes that were read from it put back.
private final class PrefixedSource: ByteSource {
    private var prefix: ArraySlice<UInt8>
    private let source: any ByteSource

    init(_ prefix: [UInt8], _ source: any ByteSource) {
        self.prefix = prefix[...]
        self.source = source
    }

    func read(upTo count: Int) throws -> [UInt8] {
        guard !prefix.isEmpty else { return try source.read(upTo: count) }
        defer { prefix = prefix.dropFirst(count) }
        return Array(prefix.prefix(count))
    }
}
