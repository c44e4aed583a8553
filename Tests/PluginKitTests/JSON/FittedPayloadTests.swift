import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import Testing

struct FittedPayloadTests {
    private func payload(title: String, body: String, limit: Int) throws -> [String: String]? {
        let arena = ABIArena()
        let (title, body) = (BorrowedText(arena.text(title)), BorrowedText(arena.text(body)))
        let bytes = FittedPayload.make(limit: limit) { writer, limits in
            var lengths = FittedPayload.Lengths()
            writer.beginObject()
            writer.key("title")
            lengths.title = writer.string(title, limit: limits.title)
            writer.key("body")
            lengths.body = writer.string(body, limit: limits.body)
            writer.endObject()
            return lengths
        }
        guard let bytes else { return nil }
        #expect(bytes.count <= limit)
        return try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: String]
    }

    @Test func leavesAloneWhatFits() throws {
        #expect(try payload(title: "t", body: "b", limit: 24) == ["title": "t", "body": "b"])
    }

    @Test func takesFromTheBodyFirst() throws {
        let fitted = try payload(title: "title", body: String(repeating: "é", count: 100), limit: 60)
        #expect(fitted?["title"] == "title")
        #expect(fitted?["body"] == String(repeating: "é", count: 15) + "…")
    }

    @Test func takesFromTheTitleWhenTheBodyIsGone() throws {
        let fitted = try payload(title: String(repeating: "t", count: 100), body: "body", limit: 60)
        #expect(fitted?["body"] == "")
        #expect(fitted?["title"] == String(repeating: "t", count: 35) + "…")
    }

    @Test func givesUpWhenTheTitleWouldSayNothing() throws {
        #expect(try payload(title: String(repeating: "t", count: 100), body: "body", limit: 24) == nil)
    }
}
