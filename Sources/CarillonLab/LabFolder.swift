import Foundation

/// The folder for a lab's files: a given one, or a temporary one that is removed at shutdown.
struct LabFolder: Sendable {
    let path: String
    private let isOwn: Bool

    init(_ path: String?) throws(LabError) {
        isOwn = path == nil
        self.path = path ?? NSTemporaryDirectory() + "/carillon-lab-" + UUID().uuidString.lowercased()
        do {
            try FileManager.default.createDirectory(
                atPath: self.path,
                withIntermediateDirectories: true,
                attributes: isOwn ? [.posixPermissions: 0o700] : nil
            )
        } catch {
            throw LabError.system("The folder \(self.path) cannot be made: \(error.localizedDescription)")
        }
    }

    /// Writes a file atomically and returns its path. Only its owner can read a secret.
    func write(_ text: String, to name: String, isSecret: Bool = false) throws(LabError) -> String {
        try write(Array(text.utf8), to: name, isSecret: isSecret)
    }

    func write(_ bytes: [UInt8], to name: String, isSecret: Bool = false) throws(LabError) -> String {
        let file = path + "/" + name
        let partial = file + ".partial"
        try? FileManager.default.removeItem(atPath: partial)
        let isMade = FileManager.default.createFile(
            atPath: partial,
            contents: Data(bytes),
            attributes: [.posixPermissions: isSecret ? 0o600 : 0o644]
        )
        guard isMade, rename(partial, file) == 0 else {
            throw LabError.system("\(file) cannot be written.")
        }
        return file
    }

    func remove() {
        if isOwn {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
