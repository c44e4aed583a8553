import Cipher
import JSON
import Testing

@testable import Nostr

@Suite struct CanonicalFormTests {
    private func event(content: String, tags: [[String]] = []) throws -> Event {
        var event = try Event(json: EventSample.json(createdAt: "17", kind: "1"))
        event.content = content
        event.tags = tags
        return event
    }

    private func canonical(_ content: String) throws -> String {
        let bytes = try event(content: content).canonicalBytes
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func canonicalFormIsTheArrayOfNIP01() throws {
        let bytes = try event(content: "x", tags: [["t", "a", ""], ["e"]]).canonicalBytes
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "[0,\"\(EventSample.pubkey)\",17,1,[[\"t\",\"a\",\"\"],[\"e\"]],\"x\"]"
        )
    }

    @Test(arguments: [
        ("\n", "\\n"), ("\"", "\\\""), ("\\", "\\\\"), ("\r", "\\r"), ("\t", "\\t"), ("\u{08}", "\\b"),
        ("\u{0c}", "\\f"),
        ("/", "/"), ("é⚡️", "é⚡️"), ("\u{7f}", "\u{7f}"), ("\u{2028}", "\u{2028}"), ("\u{00}", "\\u0000"),
        ("\u{0b}", "\\u000b"),
        ("\u{1f}", "\\u001f"), ("\r\n", "\\r\\n"),
    ])
    func nip01EscapesAreUsed(_ text: String, _ written: String) throws {
        #expect(try canonical(text) == "[0,\"\(EventSample.pubkey)\",17,1,[],\"\(written)\"]")
    }

    @Test func otherSpellingsHaveTheSameID() throws {
        let plain = try Event(json: EventSample.json(tags: #"[["t","a/é"]]"#, content: #""a/é😀""#))
        let odd = try Event(
            json: EventSample.json(
                tags: #"[ ["\u0074", "\u0061\/\u00E9"] ]"#,
                content: #""\u0061\/\u00e9\ud83d\ude00""#
            )
        )
        #expect(plain.computedID == odd.computedID)
        #expect(plain == odd)
    }

    @Test(arguments: ["tag", "content"])
    func anIDIsRightInBothFormsOfControlCharacters(_ place: String) throws {
        let odd = "a\u{01}b\u{1f}"
        let event =
            place == "tag" ? try event(content: "x", tags: [["t", odd]]) : try event(content: odd)
        let escaped = event.canonicalBytes(as: .escaped)
        let verbatim = event.canonicalBytes(as: .verbatim)
        #expect(escaped != verbatim)
        #expect(verbatim.contains(0x01))
        for form in [escaped, verbatim] {
            var event = event
            event.id = EventID(try #require(Bytes32(bytes: SHA256.hash(form))))
            // The signature is invalid too, but it is checked only after the id.
            #expect(EventVerifier().verify(event) == .wrongSignature)
            let json = event.json
            try json.withUnsafeBytes { bytes in
                var scanner = EventScanner()
                let scanned = try scanner.scan(bytes)
                #expect(EventVerifier().hasRightID(scanned, in: bytes))
                #expect(EventVerifier().verify(scanned, in: bytes) == .wrongSignature)
            }
            event.content += "\u{02}"
            #expect(EventVerifier().verify(event) == .wrongID)
        }
    }

    @Test func jsonIsReadBackAsTheSameEvent() throws {
        let event = try event(
            content: "\u{00}\u{1f}\"\\/\n 😀 \u{2028}",
            tags: [["t", "\u{0b}"], ["p", EventSample.id, ""]]
        )
        #expect(try Event(json: event.json) == event)
        #expect(try Event(json: Array(event.jsonString.utf8)) == event)
    }

    @Test func bytesOfAnotherEventAreRejected() throws {
        let json = EventSample.json(tags: "[[\"t\",\"a\"]]", content: "\"longer than the others\"")
        let scanned = try json.withUnsafeBytes { bytes in
            var scanner = EventScanner()
            return try scanner.scan(bytes)
        }
        for other in [[], Array("{}".utf8), Array(json.dropLast(200)), Array(repeating: 0x22, count: 2000)] {
            withExactBuffer(other) { bytes in
                #expect(EventVerifier().verify(scanned, in: bytes) == .wrongID)
                _ = try? Event(scanned: scanned, in: bytes)
            }
        }
    }
}
