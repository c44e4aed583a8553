import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import Testing

struct FittedPayloadTests {
    private struct Texts {
        var title = ""
        var subtitle = ""
        var body = ""
        var data = "{}"
    }

    private func bytes(_ texts: Texts, limit: Int) throws -> [UInt8]? {
        let arena = ABIArena()
        let data = try JSONObject(parsing: texts.data)
        return FittedPayload.make(limit: limit) { writer, limits in
            var lengths = FittedPayload.Lengths()
            writer.beginObject()
            lengths.title = writer.member("title", BorrowedText(arena.text(texts.title)), limit: limits.title)
            lengths.subtitle = writer.member(
                "subtitle",
                BorrowedText(arena.text(texts.subtitle)),
                limit: limits.subtitle
            )
            lengths.body = writer.member("body", BorrowedText(arena.text(texts.body)), limit: limits.body)
            lengths.referencedContent = writer.members(ofData: data, referencedContent: limits.referencedContent)
            writer.endObject()
            return lengths
        }
    }

    private func payload(_ texts: Texts, limit: Int) throws -> [String: String]? {
        guard let bytes = try bytes(texts, limit: limit) else { return nil }
        #expect(bytes.count <= limit)
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: String])
    }

    @Test func payloadThatFitsIsUnchanged() throws {
        #expect(try payload(Texts(title: "t", body: "b"), limit: 24) == ["title": "t", "body": "b"])
        #expect(try payload(Texts(title: "t", body: "b"), limit: 23) == ["title": "t"])
    }

    @Test func takesFromTheReferencedContentFirst() throws {
        let texts = Texts(
            title: "title",
            body: "body",
            data: #"{"kind":"7","referenced_event_content":"\#(String(repeating: "é", count: 60))","url":"u"}"#
        )
        let fitted = try payload(texts, limit: 160)
        #expect(
            fitted == [
                "title": "title", "body": "body", "kind": "7", "url": "u",
                "referenced_event_content": String(repeating: "é", count: 37) + "…",
            ]
        )
        let whole = try #require(try bytes(texts, limit: 4096)).count
        #expect(try bytes(texts, limit: whole)?.count == whole)
    }

    @Test func dropsTheReferencedContentBeforeItTouchesTheBody() throws {
        let texts = Texts(
            title: "title",
            body: "body",
            data: #"{"referenced_event_content":"\#(String(repeating: "r", count: 60))","kind":"7"}"#
        )
        #expect(try payload(texts, limit: 42) == ["title": "title", "body": "body", "kind": "7"])
    }

    @Test func takesFromTheBodyNext() throws {
        let fitted = try payload(Texts(title: "title", body: String(repeating: "é", count: 100)), limit: 60)
        #expect(fitted == ["title": "title", "body": String(repeating: "é", count: 15) + "…"])
    }

    @Test func takesFromTheSubtitleWhenTheBodyIsGone() throws {
        let texts = Texts(title: "title", subtitle: String(repeating: "s", count: 100), body: "body")
        #expect(
            try payload(texts, limit: 60) == ["title": "title", "subtitle": String(repeating: "s", count: 26) + "…"]
        )
    }

    @Test func takesFromTheTitleLast() throws {
        let texts = Texts(title: String(repeating: "t", count: 100), subtitle: "subtitle", body: "body")
        #expect(try payload(texts, limit: 60) == ["title": String(repeating: "t", count: 45) + "…"])
    }

    @Test func aTitleKeepsItsFirstCharacter() throws {
        let texts = Texts(title: String(repeating: "t", count: 100), body: "body")
        #expect(try payload(texts, limit: 16) == ["title": "t…"])
        #expect(try payload(texts, limit: 15) == nil)
        // A family is one character of 25 bytes.
        let family = Texts(title: String(repeating: "👨‍👩‍👧‍👦", count: 4))
        #expect(try payload(family, limit: 12 + 25 + 3) == ["title": "👨‍👩‍👧‍👦…"])
        #expect(try payload(family, limit: 12 + 25 + 2) == nil)
    }

    @Test func payloadWithoutTextCannotBeShortened() throws {
        let texts = Texts(title: "t", data: #"{"a":"\#(String(repeating: "a", count: 100))"}"#)
        #expect(try payload(texts, limit: 60) == nil)
    }

    /// Any text is cut to the longest part that fits.
    @Test(arguments: ["a", "é", "漢", "😀", "👨‍👩‍👧‍👦", "\"", "\\", "\n", "\u{1}", "e\u{301}", "🇩🇪"], 40...90)
    func keepsAsMuchAsFits(_ character: String, _ limit: Int) throws {
        let texts = Texts(title: "title", body: String(repeating: character, count: 100))
        let fitted = try #require(try bytes(texts, limit: limit))
        #expect(fitted.count <= limit)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(fitted)) as? [String: String])
        let escaped = try #require(try bytes(Texts(title: character), limit: 4096)).count - 12
        guard let body = object["body"] else {
            #expect(limit < 27 + escaped + 3)
            return
        }
        #expect(body.hasSuffix("…"))
        #expect(body.dropLast() == String(repeating: character, count: (limit - 27 - 3) / escaped))
    }

    @Test func customSizeFunctionIsUsed() {
        // A service that counts the bytes of the values.
        let body = String(repeating: "é", count: 50)
        let fitted = FittedPayload.fit(limit: 21) { limits in
            let short = String(decoding: Array(body.utf8.prefix((limits.body ?? 100) / 2 * 2)), as: UTF8.self)
            return .init(short, byteCount: short.utf8.count, lengths: .init(body: short.utf8.count))
        }
        #expect(fitted == String(repeating: "é", count: 10))
    }
}
