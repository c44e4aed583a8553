import Foundation
import PluginProtocol
import Testing

/// The frames that `contrib/docs/plugin-protocol.md` shows in hexadecimal digits are those that are sent.
@Suite struct VectorTests {
    private static let document = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "contrib/docs/plugin-protocol.md")

    /// By the kind's name: the digits of the line below it, and of those that follow.
    private func vectors() throws -> [String: String] {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let blocks = text.components(separatedBy: "```vectors\n").dropFirst()
        let block = try #require(blocks.first?.components(separatedBy: "```").first)
        var vectors: [String: String] = [:]
        var name = ""
        for line in block.split(separator: "\n") {
            if line.hasPrefix(" ") {
                vectors[name, default: ""] += line.filter { $0 != " " }
            } else {
                name = String(line)
            }
        }
        return vectors
    }

    @Test func documentHasEveryMessageKind() throws {
        #expect(Set(try vectors().keys) == Set(FrameKind.allCases.map { "\($0)" }))
    }

    @Test(arguments: Sample.all)
    func documentMatchesSentMessages(_ sample: Sample) throws {
        let digits = sample.bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count < 2 ? "0" + digits : digits
        }
        #expect(try vectors()["\(sample.kind)"] == digits.joined(), "\(sample.kind) in \(Self.document.path)")
    }
}
