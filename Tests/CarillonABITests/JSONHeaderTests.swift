import CarillonABI
import CarillonJSON
import CommandTestSupport
import Foundation
import JSON
import Testing

/// Reading with `carillon/json.h`.
@Suite struct JSONHeaderReadingTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "12", "-1.5", "1e9", "1E+9", "0.25e-3", #""""#, #""a""#, "[]", "{}",
        " [ ] ",
        "\t{\n}\r ", "[1,2,[3,{}]]", #"{"a":1,"b":{"a":[null]}}"#, #""\"\\\/\b\f\n\r\t""#,
        #""\u0000\u00e9\uD83D\uDE00""#,
        "\"é€😀\u{10ffff}\"", #"{"":0}"#, #"{"a":1,"a":2}"#, "\"\u{7f}\"",
        String(repeating: "[", count: 64)
            + String(repeating: "]", count: 64),
    ])
    func textIsJSON(_ text: String) {
        #expect(Borrowed(text).type != CARILLON_JSON_NONE)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "01", "-", "+1", ".5", "1.", "1.e1", "1e", "1e+", "0x10", "NaN", "Infinity",
        "'a'",
        #"""#, #""a"#, #""\x""#, #""\u12""#, #""\u12G4""#, #""\ud800\u004""#,
        #""\ud83d"#, "\"\n\"", "\"\t\"", "\"\0\"", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}",
        "{1:2}", "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{\"a\":1]", "{,}", "[] []", "1 2", "{}x", "// a\n1", "\u{feff}1",
        "\u{a0}1",
        "[\u{b}1]", "a", "-a", "[[[", String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
        String(repeating: "{\"a\":", count: 65) + "1" + String(repeating: "}", count: 65),
        String(repeating: "[", count: 100_000),
    ])
    func invalidTextIsRefused(_ text: String) {
        #expect(Borrowed(text).type == CARILLON_JSON_NONE)
    }

    /// Forbidden by RFC 3629: stray bytes, overlong forms, surrogates, values beyond the last character, truncation.
    @Test(
        arguments: [
            [0x80], [0xff], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80],
            [0xf0, 0x80, 0x80, 0x80],
            [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xc3, 0x28],
        ] as [[UInt8]]
    )
    func invalidUTF8IsRefused(_ bytes: [UInt8]) {
        #expect(Borrowed([0x22] + bytes + [0x22]).type == CARILLON_JSON_NONE)
    }

    @Test(arguments: [
        (#""""#, ""), (#""abc""#, "abc"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (#""\u00e9\u20ac\ud83d\ude00""#, "é€😀"), (#""a\u0000b""#, "a\0b"),
        (#""\ud83d\ude00 ok \ud83d""#, "😀 ok \u{fffd}"), (#""\udc00\ud800\u0041""#, "\u{fffd}\u{fffd}A"),
        ("\"é€😀\"", "é€😀"),
    ])
    func stringIsDecoded(json: String, text: String) {
        #expect(Borrowed(json).text() == text)
    }

    @Test func stringThatIsTooLongIsCutBetweenCharacters() {
        #expect(Borrowed("\"aé€\"").text(capacity: 5) == "aé")
        #expect(Borrowed("\"aé€\"").text(capacity: 2) == "a")
        #expect(Borrowed("\"aé€b\"").text(capacity: 5) == "aé")
        #expect(Borrowed("\"aé€\"").value { carillon_json_text($0, nil, 0) } == 6)
    }

    @Test func membersAndElements() {
        let json = Borrowed(#" {"a\u0062":[10, "x" ,{}], "n":null, "twice":1, "twice":2, "o":{"p":{"q":true}}} "#)
        json.value { root in
            let list = carillon_json_get(root, "ab")
            #expect(list.type == CARILLON_JSON_ARRAY)
            #expect(carillon_json_count(list) == 3)
            var at = 0
            var value = carillon_json()
            var types: [carillon_json_type] = []
            while carillon_json_next(list, &at, nil, &value) != 0 { types.append(value.type) }
            #expect(types == [CARILLON_JSON_NUMBER, CARILLON_JSON_STRING, CARILLON_JSON_OBJECT])
            #expect(carillon_json_next(list, &at, nil, &value) == 0)
            #expect(carillon_json_get(root, "n").type == CARILLON_JSON_NULL)
            var number: Int64 = 0
            #expect(carillon_json_to_integer(carillon_json_get(root, "twice"), &number) == 1)
            #expect(number == 2)
            let deep = carillon_json_get(carillon_json_get(carillon_json_get(root, "o"), "p"), "q")
            #expect(deep.type == CARILLON_JSON_TRUE)
            #expect(carillon_json_get(carillon_json_get(root, "x"), "y").type == CARILLON_JSON_NONE)
            #expect(carillon_json_get(list, "y").type == CARILLON_JSON_NONE)
            #expect(carillon_json_count(deep) == 0)
            #expect(carillon_json_count(root) == 5)
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("42", 42), ("-42", -42), ("9223372036854775807", .max),
            ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("99999999999999999999", nil), ("1.0", nil),
            ("1e3", nil),
            ("\"1\"", nil), ("true", nil),
        ] as [(String, Int64?)]
    )
    func integers(json: String, expected: Int64?) {
        var number: Int64 = 7
        let isOne = Borrowed(json).value { carillon_json_to_integer($0, &number) } == 1
        #expect(isOne == (expected != nil))
        #expect(number == expected ?? 7)
    }

    @Test(arguments: [
        ("0", 0), ("1.5", 1.5), ("-2.25e2", -225), ("1e-3", 0.001), ("123456789.125", 123_456_789.125),
        ("1e308", 1e308),
        ("2.2250738585072014e-308", 2.2250738585072014e-308), ("1e-400", 0), ("0e999999999999999", 0),
        ("100000000000000000000000", 1e23), ("0.000000000000000000000000000012345", 1.2345e-29),
        ("3.141592653589793238462643", .pi),
    ])
    func fractions(json: String, expected: Double) {
        var number = -7.0
        #expect(Borrowed(json).value { carillon_json_to_double($0, &number) } == 1)
        #expect(abs(number - expected) <= abs(expected) * 1e-14)
    }

    @Test(arguments: ["1e309", "-1e400", "1e99999999999999999999", "\"1\"", "null"])
    func numberOutsideDoubleIsHandled(json: String) {
        var number = -7.0
        #expect(Borrowed(json).value { carillon_json_to_double($0, &number) } == 0)
        #expect(number == -7)
    }

    /// The core's reader is stricter in one point: it rejects duplicate members.
    @Test func readerMatchesTheCore() {
        var random = SystemRandomNumberGenerator()
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "1", "-0.5e2", "null", "true", " ", "\n", "\\u00e9",
            "\\ud83d\\ude00", "\\",
            "é", "\"a\":", "[1]", "{}", "01", "\u{1}",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...9, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }
            .joined()
            let isOurs = Borrowed(text).type != CARILLON_JSON_NONE
            do throws(JSONSyntaxError) {
                _ = try JSONValue(parsing: text)
                #expect(isOurs, "\(text)")
            } catch {
                #expect(!isOurs || error.expectation == .distinctNames, "\(text)")
            }
        }
    }
}

/// Writing with `carillon/json.h`.
@Suite struct JSONHeaderWritingTests {
    @Test func everyKindOfValueIsWritten() {
        let json = written { out in
            carillon_json_object(out)
            carillon_json_name(out, "a")
            carillon_json_array(out)
            for number in [0, -1, .max, .min] as [Int64] { carillon_json_integer(out, number) }
            carillon_json_boolean(out, 1)
            carillon_json_boolean(out, 0)
            carillon_json_null(out)
            carillon_json_object(out)
            carillon_json_end(out)
            carillon_json_array(out)
            carillon_json_end(out)
            carillon_json_end(out)
            Borrowed("").borrow { carillon_json_member(out, "empty", $0) }
            Borrowed("é:{").borrow { carillon_json_member(out, "text", $0) }
            carillon_json_name(out, "copied")
            Borrowed(" {\"x\": [1]} ").borrow { carillon_json_copy(out, $0) }
            carillon_json_name(out, "broken")
            Borrowed("{").borrow { carillon_json_copy(out, $0) }
            carillon_json_end(out)
        }
        #expect(
            json
                == #"{"a":[0,-1,9223372036854775807,-9223372036854775808,true,false,null,{},[]],"text":"é:{","#
                + #""copied":{"x": [1]},"broken":null}"#
        )
    }

    @Test func everyCharacterRoundTrips() {
        let text =
            String(String.UnicodeScalarView((0...0x2ff).compactMap(Unicode.Scalar.init))) + "€😀\u{2028}\u{10ffff}"
        let json = written { out in Borrowed(text).borrow { carillon_json_string(out, $0) } }
        #expect(json.map { Borrowed($0).text() } == text)
        #expect((try? JSONValue(parsing: json ?? "")) == .string(text))
    }

    @Test func invalidUTF8IsReplaced() {
        let json = written { out in Borrowed([0x61, 0xff, 0xe2, 0x82, 0x62]).borrow { carillon_json_string(out, $0) } }
        #expect(json == "\"a\u{fffd}\u{fffd}\u{fffd}b\"")
    }

    @Test func bytesBeyondTheBufferAreCounted() {
        var buffer = [CChar](repeating: 0x7f, count: 4)
        var out = buffer.withUnsafeMutableBufferPointer { room in
            var out = carillon_json_to(room.baseAddress, 3)
            Borrowed("abcdef").borrow { carillon_json_string(&out, $0) }
            return out
        }
        #expect(out.len == 8)
        #expect(carillon_json_written(&out) == 0)
        #expect(buffer == [0x22, 0x61, 0x62, 0x7f])
    }

    @Test func invalidJSONIsNotWritten() {
        #expect(written { _ in } == nil)
        #expect(written { carillon_json_object($0) } == nil)
        #expect(written { carillon_json_end($0) } == nil)
        #expect(written { for _ in 0..<2 { carillon_json_null($0) } } == nil)
        #expect(written { carillon_json_name($0, "a") } == nil)
        let valueWithoutName = written { out in
            carillon_json_object(out)
            carillon_json_null(out)
            carillon_json_end(out)
        }
        #expect(valueWithoutName == nil)
        let nameWithoutValue = written { out in
            carillon_json_object(out)
            carillon_json_name(out, "a")
            carillon_json_end(out)
        }
        #expect(nameWithoutValue == nil)
        #expect(written { out in for _ in 0..<65 { carillon_json_array(out) } } == nil)
    }

    /// Returns the output of `body`; nil if the header reports an incomplete value.
    private func written(_ body: (UnsafeMutablePointer<carillon_json_out>) -> Void) -> String? {
        var size = carillon_json_to(nil, 0)
        body(&size)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: max(size.len, 1)) { room in
            var out = carillon_json_to(room.baseAddress, size.len)
            body(&out)
            guard carillon_json_written(&out) != 0 else { return nil }
            let json = String(
                decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<out.len]),
                as: UTF8.self
            )
            #expect(Borrowed(json).type != CARILLON_JSON_NONE)
            return json
        }
    }
}

/// The headers compile without warnings in plugins.
@Suite struct HeaderCompilationTests {
    @Test(arguments: [
        ("cc", "c", ["-std=c99", "-Wconversion", "-Wshadow"]), ("cc", "c", ["-std=c11", "-O2"]),
        ("clang", "c", ["-std=c99"]),
        ("c++", "cc", ["-std=c++11", "-Wshadow"]), ("c++", "cc", ["-std=c++20", "-O2"]),
        ("clang++", "cc", ["-std=c++17"]),
    ])
    func headersCompileStrictly(compiler: String, ending: String, flags: [String]) throws {
        guard try CommandRun("sh", ["-c", "command -v \(compiler)"]).status == 0 else { return }
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-headers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appending(path: "use.\(ending)")
        try """
        #include <carillon/form.h>
        #include <carillon/json.h>
        int use(void);
        int use(void) {
            carillon_json_out out = carillon_json_to(NULL, 0);
            carillon_form form = carillon_form_to(NULL, 0);
            carillon_str text = CARILLON_STR("a");
            return text.ptr[0] == 'a' && carillon_json_written(&out) && carillon_form_written(&form);
        }
        """.write(to: source, atomically: true, encoding: .utf8)
        let include = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "include").path
        let run = try CommandRun(
            compiler,
            ["-Wall", "-Wextra", "-pedantic", "-Werror", "-I", include, "-c", "-o", "/dev/null", source.path] + flags
        )
        #expect(run.status == 0, "\(run.output)")
    }
}

/// A string that lives as long as a call of C.
private struct Borrowed {
    private let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var type: carillon_json_type { value(\.type) }

    func borrow<Result>(_ body: (carillon_str) -> Result) -> Result {
        bytes.withUnsafeBytes { body(carillon_str(ptr: $0.baseAddress, len: $0.count)) }
    }

    @discardableResult
    func value<Result>(_ body: (carillon_json) -> Result) -> Result { borrow { body(carillon_json_read($0)) } }

    func text(capacity: Int = 4096) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { room in
            room.initialize(repeating: 0)
            let length = value { carillon_json_text($0, room.baseAddress, capacity) }
            let end = length <= capacity ? length : room.firstIndex(of: 0) ?? capacity
            return String(
                decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<end]),
                as: UTF8.self
            )
        }
    }
}
