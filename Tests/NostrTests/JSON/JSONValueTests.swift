import Foundation
import JSON
import RandomTestSupport
import Testing

@testable import Nostr

struct JSONValueTests {
    @Test func readsStringsAsFoundationDoes() throws {
        for text in [
            #""""#, #""a\"\\\/\b\f\n\r\t""#, #""\u0041\u00e9\u20AC\ud83d\ude00""#, "\"Grüße 😀\"", #""\u0000""#,
        ] {
            let judge = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) as? String
            #expect(try JSONValue(parsing: text) == .string(#require(judge)))
        }
    }

    @Test func keepsNumbersAsTheyWereWritten() throws {
        for text in ["0", "-0", "12", "1.50", "1e5", "-2E-07", "123456789012345678901234567890"] {
            #expect(try JSONValue(parsing: " \(text)\n") == .number(text))
        }
    }

    @Test func jsonValidityMatchesFoundation() {
        let pieces = ["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-", "true", "null", " ", "."]
        var generator = SeededGenerator(seed: 7)
        var valid = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...7, using: &generator))
                .map { _ in pieces[Int.random(in: pieces.indices, using: &generator)] }.joined()
            let repeats =
                text.split(separator: "\"a\"", omittingEmptySubsequences: false).count > 2
                || text.split(separator: "\"b\"", omittingEmptySubsequences: false).count > 2
            // Foundation on Linux accepts a comma before a closing bracket, but RFC 8259 does not.
            let hasTrailingComma = text.filter { $0 != " " }.contains(",]")
            guard !repeats, !hasTrailingComma else { continue }
            let judge = (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
            valid += judge ? 1 : 0
            #expect(((try? JSONValue(parsing: text)) != nil) == judge, "\(text)")
        }
        #expect(valid > 500)
    }

    @Test(arguments: [#"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"[{"a":1,"b":2,"a":3}]"#])
    func duplicateMembersAreRefused(_ text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test func lastDuplicateMemberCountsIfRequested() throws {
        let value = try JSONValue(parsing: #"{"a":1,"b":2,"a":3}"#, duplicates: .lastCounts)
        #expect(value == (try JSONValue(parsing: #"{"a":3,"b":2}"#)))
    }

    @Test(arguments: [
        (#""\ud83d\ude00 ok \ud83d""#, "😀 ok \u{FFFD}"), (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
        (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"), (#""\\ud83d""#, #"\ud83d"#), (#""\uD83D\n""#, "\u{FFFD}\n"),
        (#""\\\udfff""#, "\\\u{FFFD}"),
    ])
    func replacesSurrogatesWithoutTheirPair(_ text: String, _ expected: String) throws {
        #expect(try JSONValue(parsing: text) == .string(expected))
    }

    @Test(arguments: [#""\ud8""#, #""\ud83"#, #""\"#, #""\u""#, #""\ud83d\u""#])
    func refusesEscapesThatAreCutOff(_ text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test func nestingIsLimited() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: nested(64)) }
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: nested(65)) }
    }
}

@Suite struct PrettyPrintedJSONTests {
    private func printed(_ text: String) throws -> String { try JSONValue(parsing: text).prettyPrinted }

    @Test func membersKeepTheirOrder() throws {
        #expect(
            try printed(#"{"b":1.50,"a":[true,{}],"c":[]}"#) == """
                {
                  "b": 1.50,
                  "a": [
                    true,
                    {}
                  ],
                  "c": []
                }
                """
        )
    }

    @Test func textsRoundTrip() throws {
        let text = #"{"a":"x, {\"y\": [\\]}","ä":"\\"}"#
        #expect(try printed(text) == "{\n  \"a\": \"x, {\\\"y\\\": [\\\\]}\",\n  \"ä\": \"\\\\\"\n}")
    }

    @Test func indentedTextRoundTrips() throws {
        let once = try printed(#"{"a":[1,{"b":null}]}"#)
        #expect(try printed(once) == once)
    }
}
