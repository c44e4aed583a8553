import Foundation

/// A file for the length of a test.
enum TemporaryFile {
    static func with<Result>(_ bytes: [UInt8], _ body: (String) async throws -> Result) async throws -> Result {
        let path = NSTemporaryDirectory() + "/lab-test-" + UUID().uuidString
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }
}
