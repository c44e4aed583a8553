import Foundation

/// The certificates of the tests of Cipher, which the openssl command made: see the README there. Valid in 2026, as the
/// manual clock is.
enum CertificateFiles {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../CipherTests/Vectors/X509").standardizedFileURL

    static func path(_ name: String) -> String { folder.appending(path: name).path }

    static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    /// Calls `use` with the path of a file that holds `text` meanwhile.
    static func withFile<Result>(_ text: String, _ use: (String) throws -> Result) throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try text.write(to: file, atomically: true, encoding: .utf8)
        return try use(file.path)
    }
}
