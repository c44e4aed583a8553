import Foundation
import Glibc

/// Files that become a store together, however often putting them there is interrupted.
///
/// They are made in the folder `<store>-restoring`. Once all are there and on disk a file named `ready` is made. From
/// then on every further attempt only moves what is left to its place, the registry last; before, it begins anew. A
/// router does not start while the folder is there.
package struct StagedStore {
    package enum State: Sendable, Equatable {
        case absent
        /// Something was interrupted before all files were there.
        case unfinished
        /// All files are there, or at their places.
        case ready
    }

    /// Moments at which tests interrupt.
    package enum Step: Hashable, Sendable {
        case made, ready
        case moved(String)
        case removed
    }

    private let store: String
    private let reached: (Step) throws -> Void

    /// `reached` is for tests.
    package init(store: String, reached: @escaping (Step) throws -> Void = { _ in }) {
        self.store = store
        self.reached = reached
    }

    package static func folder(of store: String) -> String { store + "-restoring" }

    private var folder: String { Self.folder(of: store) }
    private var marker: String { folder + "/ready" }

    package var state: State {
        guard FileManager.default.fileExists(atPath: folder) else { return .absent }
        return FileManager.default.fileExists(atPath: marker) ? .ready : .unfinished
    }

    /// Where a file of the store is made; and the folder of other files, for nil.
    package func place(of role: BackupRole?) -> String { folder + "/" + (role?.rawValue ?? "files") }

    /// Where other files are in the end.
    package var filesFolder: String { store + "-files" }

    /// What is at the places of a store already, so that nothing must be put there.
    package var obstacle: String? {
        let files = BackupRole.ofStore.compactMap { $0.suffix.map { store + $0 } }
        let all =
            files.flatMap { path in ["", "-wal", "-journal"].map { path + $0 } }
            + [filesFolder, RetiredStore.marker(of: store)]
        return all.first { path in
            var status = stat()
            return lstat(path, &status) == 0
        }
    }

    /// Makes the empty folder; what was interrupted there is removed.
    package func begin() throws {
        precondition(state != .ready, "what is ready is finished first")
        try? FileManager.default.removeItem(atPath: folder)
        guard mkdir(folder, 0o700) == 0, mkdir(place(of: nil), 0o700) == 0 else { throw failure("make", folder) }
        try reached(.made)
    }

    /// Declares all files to be there. They are on disk afterwards.
    package func declareReady() throws {
        for role in BackupRole.ofStore {
            // Looking into a copy may have left these; the copy alone is whole.
            for end in ["-wal", "-shm"] { unlink(place(of: role) + end) }
            if FileManager.default.fileExists(atPath: place(of: role)) { try flush(place(of: role)) }
        }
        try flush(place(of: nil))
        try FileStream(creating: marker).finish()
        try flush(folder)
        try reached(.ready)
    }

    /// Moves everything to its place.
    package func finish() throws {
        guard state == .ready else { throw BackupError("\(folder) is not complete") }
        if (try? FileManager.default.contentsOfDirectory(atPath: place(of: nil)))?.isEmpty == true {
            rmdir(place(of: nil))
        }
        try move(place(of: nil), to: filesFolder)
        // The registry last: without it an outbox is not begun with.
        for role in BackupRole.ofStore.reversed() {
            guard let suffix = role.suffix else { continue }
            try move(place(of: role), to: store + suffix)
        }
        try flush(URL(fileURLWithPath: store).deletingLastPathComponent().path)
        unlink(marker)
        guard rmdir(folder) == 0 else { throw failure("remove", folder) }
        try reached(.removed)
    }

    /// Does nothing for a file that is not there: it was moved before, or never was.
    private func move(_ source: String, to target: String) throws {
        var status = stat()
        guard lstat(source, &status) == 0 else { return }
        guard lstat(target, &status) != 0 else { throw BackupError("\(target) is there already: move it away") }
        guard rename(source, target) == 0 else { throw failure("make", target) }
        try reached(.moved(URL(fileURLWithPath: source).lastPathComponent))
    }

    private func flush(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("write", path) }
    }

    private func failure(_ verb: String, _ path: String) -> BackupError {
        BackupError("cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}

/// Says that a store lives elsewhere now, so that no router serves both and pushes everything twice.
package struct RetiredStore {
    private let store: String

    package init(store: String) {
        self.store = store
    }

    package static func marker(of store: String) -> String { store + "-moved" }

    /// Where it went; nil where it did not go.
    package var destination: String? {
        guard let text = FileManager.default.contents(atPath: Self.marker(of: store)) else { return nil }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? "another place"
    }

    /// Retires it. On disk when this returns. Throws a ``BackupError``.
    package func retire(to destination: String) throws {
        let path = Self.marker(of: store)
        let unfinished = path + "-new"
        unlink(unfinished)
        let stream = try FileStream(creating: unfinished)
        let words = "\(destination)\nRemove this file to use this store again, when nothing serves what was moved.\n"
        try stream.write(Array(words.utf8))
        try stream.finish()
        guard rename(unfinished, path) == 0 else {
            throw BackupError("cannot make \(path): \(String(cString: strerror(errno)))")
        }
        let folder = open(URL(fileURLWithPath: store).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        if folder >= 0 {
            _ = fsync(folder)
            close(folder)
        }
    }
}
