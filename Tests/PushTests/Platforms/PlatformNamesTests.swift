import Foundation
import Testing

/// The core knows platforms only from their plugins' descriptions, so its code contains no platform's name.
struct PlatformNamesTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../Sources"
    )
    .standardizedFileURL
    /// Push services on loopback, a demonstration with them, and questions about those that an operator may want are
    /// about certain platforms.
    private static let exempt = ["Tools/CarillonLab", "Tools/CarillonDemo", "CLI/Setup"]

    @Test func coreNamesNoPlatform() throws {
        let name = try Regex(#""(ios|android|web|unifiedpush|ntfy|gotify|apns|fcm|webpush)""#)
        let files = try #require(
            FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil)?.allObjects as? [URL]
        )
        let swift = files.filter { $0.pathExtension == "swift" }
        #expect(swift.count > 100)
        for file in swift {
            let path = String(file.standardizedFileURL.path.dropFirst(Self.sources.path.count + 1))
            guard !Self.exempt.contains(where: path.hasPrefix) else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                #expect(line.firstMatch(of: name) == nil, "\(path):\(index + 1): \(line)")
            }
        }
    }
}
