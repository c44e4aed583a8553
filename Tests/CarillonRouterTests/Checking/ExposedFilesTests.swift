import Foundation
import Storage
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite final class ExposedFilesTests {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-exposed-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func write(_ name: String, _ mode: Int) {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: mode]
        #expect(FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: Data(), attributes: attributes))
    }

    @Test func exposedKeysAndDatabasesAreReported() throws {
        for (name, mode) in [
            ("open.p8", 0o644), ("closed.p8", 0o600), ("shared.pem", 0o666), ("old.pem", 0o600), ("older.pem", 0o604),
            ("carillon.sqlite", 0o600), ("carillon.sqlite-wal", 0o644), ("carillon.sqlite-outbox", 0o602),
        ] { write(name, mode) }
        let yaml = """
            identity: { key_file: carillon.key }
            store: { path: carillon.sqlite }
            apps:
              default:
                ios: { topic: a, key_file: open.p8 }
                web: { vapid_key_file: shared.pem, old_vapid_key_files: [old.pem, older.pem] }
              other:
                ios: { topic: b, key_file: closed.p8, broadcast_key_file: missing }
            """
        let path = folder + "/carillon.yaml"
        try Data(yaml.utf8).write(to: URL(fileURLWithPath: path))
        let warnings = ConfigurationCheck(path: path).warnings().map { "\($0)".replacing(folder, with: "~") }
        #expect(
            warnings == [
                "~/carillon.yaml:5:1: apps.default.ios.key_file: ~/open.p8 is open to other users; run: chmod 600 ~/open.p8",
                "~/carillon.yaml:6:1: apps.default.web.old_vapid_key_files: ~/older.pem is open to other users; "
                    + "run: chmod 600 ~/older.pem",
                "~/carillon.yaml:6:1: apps.default.web.vapid_key_file: ~/shared.pem can be written by other users; "
                    + "run: chmod 600 ~/shared.pem",
                "~/carillon.yaml:2:1: store.path: ~/carillon.sqlite-wal is open to other users; "
                    + "run: chmod 600 ~/carillon.sqlite-wal",
                "~/carillon.yaml:2:1: store.path: ~/carillon.sqlite-outbox can be written by other users; "
                    + "run: chmod 600 ~/carillon.sqlite-outbox",
            ]
        )
    }

    @Test func worldWritableFolderIsReported() throws {
        try FileManager.default.createDirectory(atPath: folder + "/open", withIntermediateDirectories: false)
        let path = folder + "/carillon.yaml"
        let yaml = "identity: { key_file: open/carillon.key }\nstore: { path: open/carillon.sqlite }\n"
        try Data(yaml.utf8).write(to: URL(fileURLWithPath: path))
        for (mode, expected) in [
            (0o777, ["~/carillon.yaml:2:1: store.path: ~/open can be written by other users; run: chmod o-w ~/open"]),
            (0o775, []),
        ] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder + "/open")
            let warnings = ConfigurationCheck(path: path).warnings().map { "\($0)".replacing(folder, with: "~") }
            #expect(warnings == expected)
        }
    }
}
