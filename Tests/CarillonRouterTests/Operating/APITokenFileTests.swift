import Cipher
import Console
import Foundation
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite final class APITokenFileTests {
    private let folder: URL
    private let file: APITokenFile

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("token-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        file = APITokenFile(path: folder.appendingPathComponent("api.token").path)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func write(_ text: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file.path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    private func mistake(_ body: () throws -> APIToken) -> String {
        do {
            _ = try body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func tokenFileIsCreatedPrivateOnTheFirstRun() throws {
        _ = try file.readOrCreate(random: SecureRandom.bytes)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let text = try file.text()
        _ = try file.readOrCreate(random: SecureRandom.bytes)
        #expect(try file.text() == text && text.utf8.count == 43)
    }

    // Root's own group may read root's files: that is not a leak, and tests may run as root.
    @Test(arguments: [0o604, 0o660])
    func exposedTokenFileIsRefused(_ mode: Int) throws {
        try write("0123456789abcdef0123456789\n", mode: mode)
        #expect(mistake { try file.read() }.hasSuffix("run: chmod 600 \(file.path)"))
        #expect(mistake { try file.readOrCreate(random: SecureRandom.bytes) }.contains(file.path))
    }

    @Test(arguments: ["", "short\n", "two lines of a length\nthat would suffice\n"])
    func invalidTokenFileIsRefused(_ text: String) throws {
        try write(text)
        let said = mistake { try file.read() }
        #expect(said.contains("expected one line with a token of at least 16"))
        #expect(text.isEmpty || !said.contains(text.prefix(5)))
    }

    @Test func creationFailureIsReported() {
        let file = APITokenFile(path: folder.appendingPathComponent("none/api.token").path)
        #expect(mistake { try file.readOrCreate(random: SecureRandom.bytes) }.contains("cannot write the API's token"))
    }
}
