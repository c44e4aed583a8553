import Foundation

/// The outbox that an export fills, which takes the place of the present one when it is whole. Until the end the
/// present one is kept, so that an export that was killed begins with it again.
struct ExportedOutbox {
    private static let ends = ["", "-wal", "-shm"]

    let present: String

    private var former: String { present + "-before-export" }
    private var new: String { present + "-export" }

    init(_ path: String) { present = path }

    /// Returns the path of the new one, which holds what the present one does.
    func begin() throws -> String {
        if !FileManager.default.fileExists(atPath: former) { try copy(present, former) }
        try remove(new)
        try FileManager.default.copyItem(atPath: former, toPath: new)
        return new
    }

    /// The new one is whole and closed.
    func use() throws {
        try remove(new, ends: ["-wal", "-shm"])
        try remove(present, ends: ["-wal", "-shm"])
        guard rename(new, present) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    func removeFormer() { try? remove(former) }

    /// The copy gets its name when it is whole.
    private func copy(_ source: String, _ target: String) throws {
        try remove(target + "-new")
        try FileManager.default.copyItem(atPath: source, toPath: target + "-new")
        guard rename(target + "-new", target) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    private func remove(_ path: String, ends: [String] = ExportedOutbox.ends) throws {
        for end in ends where FileManager.default.fileExists(atPath: path + end) {
            try FileManager.default.removeItem(atPath: path + end)
        }
    }
}
