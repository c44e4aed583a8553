import CommandTestSupport
import Foundation
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct StoreSavingTests {
    @Test(arguments: [
        ("/var/lib/carillon.sqlite-wal", "/var/lib/carillon.sqlite-wal"), ("a b", "'a b'"), ("", "''"),
        ("it's $HOME", #"'it'\''s $HOME'"#), ("~/x", "'~/x'"), ("schlüssel", "'schlüssel'"),
    ])
    func shellPathsAreQuoted(_ path: String, _ word: String) throws {
        #expect(ShellWord.quoted(path) == word)
    }

    @Test func damagedStoreIsMovedAwayWithItsLogAndKept() throws {
        let folder = NSTemporaryDirectory() + "carillon saving " + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/box"
        let report = StoreSaving.Report(
            path: path,
            name: "the box",
            outcome: .saved(into: path + "-rescued", tables: [])
        )
        func contents() throws -> [String: String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).reduce(into: [:]) { files, name in
                files[name] = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
            }
        }
        for name in ["box", "box-wal", "box-shm", "box-rescued"] {
            try Data(name.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        let shell = try CommandRun("sh", ["-ec", report.commands.joined(separator: "\n")])
        #expect(shell.status == 0, "\(shell.output)")
        #expect(try contents() == ["box": "box-rescued", "box-damaged": "box", "box-damaged-wal": "box-wal"])
        #expect(!report.commands.contains { $0.contains("-wal") })
    }
}
