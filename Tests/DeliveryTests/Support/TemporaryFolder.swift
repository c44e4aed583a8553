import Foundation

/// A temporary folder, deleted with this value.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "carillon-delivery-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// Copies the files as a crash at this moment would leave them.
    func snapshot(of name: String, as copy: String) throws {
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path(name + suffix)) {
            try FileManager.default.copyItem(atPath: path(name + suffix), toPath: path(copy + suffix))
        }
    }
}
