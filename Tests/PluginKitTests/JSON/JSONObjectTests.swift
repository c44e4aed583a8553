import Foundation
import PluginKit
import Testing

struct JSONObjectTests {
    @Test(arguments: [
        #"{}"#, #" { } "#, #"{"a":1}"#, #"{"a":-0.5e+10,"b":[],"c":{},"d":[1,[2,{"e":null}]],"f":true,"g":false}"#,
        #"{"":""}"#, #"{"\u0061\ud83d\ude00":"\"\\\/\b\f\n\r\t"}"#, "{\"emoji\":\"⚡ ❤️\"}",
        "{\n\t\"a\" : 1 ,\r\n\"b\":2}",
        #"{"big":123456789012345678901234567890}"#,
    ])
    func validJSONIsAccepted(_ text: String) throws {
        let judged = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let object = try JSONObject(parsing: text)
        #expect(object.count == judged.count)
        for index in 0..<object.count {
            #expect(judged[object.member(at: index).key] != nil)
        }
    }

    @Test(arguments: [
        "", " ", "null", "[]", "1", #""text""#, "{", "}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{a:1}"#,
        #"{"a":01}"#, #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":+1}"#, #"{"a":1e}"#, #"{"a":-}"#, #"{"a":NaN}"#, #"{"a":tru}"#,
        #"{"a":truex}"#, #"{'a':1}"#, #"{"a":"b}"#, "{\"a\":\"\n\"}", "{\"a\":\"\u{0}\"}", #"{"a":"\x"}"#,
        #"{"a":"\u12"}"#,
        #"{"a":"\ud800"}"#, #"{"a":"\udc00"}"#, #"{"a":"\ud800\u0041"}"#, #"{"a":1}x"#, #"{"a":1}{}"#, #"{"a":[1,]}"#,
        #"{"a":[1 2]}"#, #"{"a":1 "b":2}"#, #"{"a":/**/1}"#, "\u{FEFF}{}", #"{"a":1}]"#, #"{"a":"\"#,
    ])
    func nonObjectIsRefused(_ text: String) {
        #expect(throws: JSONError.self) { try JSONObject(parsing: text) }
    }

    @Test func duplicateMembersAreRefusedInEverySpelling() {
        #expect(throws: JSONError.self) { try JSONObject(parsing: #"{"aps":1,"aps":2}"#) }
        #expect(throws: JSONError.self) { try JSONObject(parsing: #"{"aps":1,"\u0061ps":2}"#) }
        #expect(throws: JSONError.self) { try JSONObject(parsing: #"{"\u0061ps":1,"aps":2}"#) }
    }

    @Test func invalidUTF8IsRefused() {
        for bytes in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC0, 0x80]] as [[UInt8]] {
            let text = Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)
            #expect(throws: JSONError.self) { try text.withUnsafeBytes { try JSONObject(parsing: $0) } }
        }
    }

    @Test func deepNestingIsRefused() throws {
        let deep = { (levels: Int) in
            #"{"a":"# + String(repeating: "[", count: levels) + String(repeating: "]", count: levels) + "}"
        }
        _ = try JSONObject(parsing: deep(64))
        #expect(throws: JSONError.self) { try JSONObject(parsing: deep(65)) }
        #expect(throws: JSONError.self) { try JSONObject(parsing: deep(1_000_000)) }
    }

    @Test func refusesMoreMembersThanItsLimit() throws {
        let wide = { (count: Int) in "{" + (0..<count).map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        #expect(try JSONObject(parsing: wide(JSONObject.memberLimit)).count == JSONObject.memberLimit)
        #expect(throws: JSONError.self) { try JSONObject(parsing: wide(JSONObject.memberLimit + 1)) }
    }

    @Test func decodesValuesWhenAsked() throws {
        let object = try JSONObject(
            parsing: #"{"s":"\u00e9\n\ud83d\ude00","i":-42,"d":2.5,"t":true,"n":null,"o":{"k":"v"},"l":[1]}"#
        )
        #expect(object["s"]?.string == "é\n😀")
        #expect(object["i"]?.integer == -42)
        #expect(object["i"]?.string == nil)
        #expect(object["d"]?.integer == nil)
        #expect(object["d"]?.number == 2.5)
        #expect(object["t"]?.bool == true)
        #expect(object["t"]?.number == nil)
        #expect(object["n"]?.isNull == true)
        #expect(object["o"]?.object?["k"]?.string == "v")
        #expect(object["l"]?.object == nil)
        #expect(object["l"]?.kind == "a list")
        #expect(object["absent"] == nil)
    }

    @Test func findsANameWrittenWithEscapes() throws {
        let object = try JSONObject(parsing: #"{"\u0061ps":{}}"#)
        #expect(object.contains("aps"))
        let plain = try JSONObject(parsing: #"{"aps":1}"#)
        #expect(plain.contains(nameOf: object.member(at: 0)))
        #expect(object.contains(nameOf: plain.member(at: 0)))
    }

    @Test func errorNamesThePlaceWithoutQuoting() {
        do {
            _ = try JSONObject(parsing: #"{"secret":hunter2}"#)
            Issue.record("accepted")
        } catch {
            #expect("\(error)" == "expected a value at byte 10")
        }
    }
}

extension JSONObjectTests {
    @Test(arguments: [
        (#"{"a":1,"b":[2, 3],"c":{"d":4}}"#, #"{"b":[2, 3]}"#), (#"{ "a" : 1 , "b" : 2 }"#, #"{"b" : 2}"#),
        (#"{"b":2}"#, #"{"b":2}"#), (#"{"\u0061":1,"b":2}"#, #"{"b":2}"#), (#"{"a":1}"#, "{}"), ("{}", "{}"),
        (#"{"b":1,"c":2,"\u0064":3,"a":4}"#, #"{"b":1,"\u0064":3}"#),
    ])
    func membersCanBeOmitted(_ text: String, _ expected: String) throws {
        let object = try JSONObject(parsing: text).removing(["a", "c", "never"])
        var writer = JSONWriter()
        writer.object(object)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
        #expect(object.contains("b") == expected.contains("b"))
        #expect(object.contains("d") == expected.contains("64"))
        #expect(!object.contains("a"))
    }

    @Test(
        arguments: [
            ("[]", []), ("[ ]", []), ("[1]", ["1"]),
            (#"[ "a,]" , {"b":[1,2]},[ ] ,null]"#, ["\"a,]\"", #"{"b":[1,2]}"#, "[ ]", "null"]),
            ("7", nil), (#""[]""#, nil), ("{}", nil),
        ] as [(String, [String]?)]
    )
    func splitsAList(_ list: String, _ elements: [String]?) throws {
        let value = try #require(try JSONObject(parsing: #"{"a": \#(list) ,"b":1}"#)["a"])
        #expect(value.elements?.map { String(decoding: $0.raw, as: UTF8.self) } == elements)
    }

    @Test func memberNamesAreComparedDecoded() throws {
        let object = try JSONObject(parsing: #"{"a":1,"\u00e9\"":2,"":3}"#)
        for (name, isThere) in [("a", true), ("é\"", true), ("", true), ("b", false), ("aa", false)] {
            #expect(object.contains(named: name) == isThere)
        }
    }
}
