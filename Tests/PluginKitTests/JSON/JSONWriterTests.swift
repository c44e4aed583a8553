import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import Testing

struct JSONWriterTests {
    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func commasAreInserted() {
        let text = written { writer in
            writer.beginObject()
            writer.key("a")
            writer.integer(1)
            writer.key("b")
            writer.beginArray()
            writer.string("x")
            writer.bool(true)
            writer.beginObject()
            writer.endObject()
            writer.endArray()
            writer.key("c")
            writer.beginObject()
            writer.key("d")
            writer.integer(-2)
            writer.endObject()
            writer.endObject()
        }
        #expect(text == #"{"a":1,"b":["x",true,{}],"c":{"d":-2}}"#)
    }

    @Test func everyCharacterIsReadByFoundation() throws {
        let hostile =
            String(String.UnicodeScalarView((0..<0x2100).compactMap(Unicode.Scalar.init)))
            + "😀\u{2028}\u{FFFF}\u{10FFFF}"
        let text = written { writer in
            writer.beginArray()
            writer.string(hostile)
            writer.endArray()
        }
        let judged = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String])
        #expect(judged.first.map { Array($0.unicodeScalars) } == Array(hostile.unicodeScalars))
        #expect(text.utf8.allSatisfy { $0 >= 0x20 })
    }

    @Test func invalidUTF8IsRepaired() throws {
        let arena = ABIArena()
        let text = written { writer in
            writer.beginArray()
            writer.string(BorrowedText(arena.bytes([0x61, 0xFF, 0x22, 0xED, 0xA0, 0x80, 0xC3])))
            writer.endArray()
        }
        let judged = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String])
        #expect(judged.first?.hasPrefix("a\u{FFFD}\"") == true)
    }

    @Test func memberIsCopiedUnchanged() throws {
        let object = try JSONObject(parsing: #"{ "\u0061" : [ 1, "x" ] }"#)
        let text = written { writer in
            writer.beginObject()
            writer.member(object.member(at: 0))
            writer.member(object.member(at: 0))
            writer.endObject()
        }
        #expect(text == #"{"\u0061":[ 1, "x" ],"\u0061":[ 1, "x" ]}"#)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "ab…"), ("abcdef", 4, "a…"), ("abcdef", 3, ""), ("abcdef", 2, ""),
        ("abcdef", 0, ""),
        ("", 0, ""), ("\"\"\"\"", 8, "\"\"\"\""), ("\"\"\"\"", 7, "\"\"…"), ("\u{1}\u{1}", 11, "\u{1}…"),
        ("a👨‍👩‍👧‍👦bc", 30, "a👨‍👩‍👧‍👦bc"), ("a👨‍👩‍👧‍👦bc", 20, "a…"), ("né́é", 8, "né́é"), ("né́éé", 8, "né́…"),
    ])
    func shortensBetweenCharacters(_ text: String, _ limit: Int, _ expected: String) {
        let arena = ABIArena()
        var length = 0
        let json = written { length = $0.string(BorrowedText(arena.text(text)), limit: limit) }
        let plain = written { $0.string(expected) }
        #expect(json == plain)
        #expect(length <= limit)
        #expect(length == json.utf8.count - 2)
    }

    @Test func membersMayBeNamedInEveryForm() throws {
        let object = try JSONObject(parsing: #"{"\u0061":1}"#)
        let text = written { writer in
            writer.beginObject()
            writer.key(escaping: "a\"\n")
            writer.integer(1)
            writer.key(of: object.member(at: 0))
            writer.string("x")
            writer.key("c")
            writer.integer(2)
            writer.endObject()
        }
        #expect(text == #"{"a\"\n":1,"\u0061":"x","c":2}"#)
    }
}
