import Cipher
import JSON
import Testing

@testable import Nostr

@Suite struct EventScannerTests {
    /// Scans an event, and checks that scanning only its kind agrees.
    private func scan(_ json: [UInt8]) throws -> (event: ScannedEvent, pValues: [String]) {
        try withExactBuffer(json) { bytes in
            var scanner = EventScanner()
            let kind = Result { () throws(EventError) in try scanner.kind(of: bytes) }
            let pValues = scanner.pValues
            let event = Result { () throws(EventError) in try scanner.scan(bytes) }
            #expect(kind == event.map(\.kind))
            #expect(pValues == scanner.pValues)
            return (try event.get(), pValues.map(\.hex))
        }
    }

    private func error(_ json: [UInt8]) -> EventError? {
        do {
            _ = try scan(json)
            return nil
        } catch {
            return error as? EventError
        }
    }

    /// The error names the event, whatever else is wrong.
    @Test(arguments: [
        EventSample.json(kind: "-1"), EventSample.json(tags: "{}"), EventSample.json(content: "1e999"),
        EventSample.json(rest: ",\"id\":7"), Array("{\"a\":[{}],\"\\u0069d\":\"\(EventSample.id)\",".utf8),
    ])
    func idIsReadFromAnInvalidEvent(_ json: [UInt8]) {
        #expect(error(json) != nil)
        #expect(withExactBuffer(json) { EventScanner.id(in: $0) }?.hex == EventSample.id)
    }

    @Test(arguments: [
        "", " ", "{", "{}", "[]", "{\"id\":7}", "{\"id\":\"00\"}", "{\"id\"}", "{\"kind\":1,}", "{\"a\":]",
    ])
    func eventWithoutAnIDHasNone(_ json: String) {
        #expect(withExactBuffer(Array(json.utf8)) { EventScanner.id(in: $0) } == nil)
    }

    @Test func readsTheFixedFields() throws {
        let json = EventSample.json(createdAt: "9223372036854775807", kind: "65535", content: "\"hello\"")
        let event = try scan(json).event
        #expect(event.id.bytes.hex == EventSample.id)
        #expect(event.pubkey.bytes.hex == EventSample.pubkey)
        #expect(event.signature.first.hex + event.signature.second.hex == EventSample.signature)
        #expect(event.createdAt == .max)
        #expect(event.kind == Kind(65535))
        #expect(String(decoding: json[event.content.range], as: UTF8.self) == "hello")
        #expect(String(decoding: json[event.tags.range], as: UTF8.self) == "[]")
        #expect(event.isCanonical)
    }

    @Test func fieldsMayComeInAnyOrderAndWithEscapedNames() throws {
        let json = Array(
            """
            { "sig" : "\(EventSample.signature)", "cont\\u0065nt":"x" ,"\\u006bind":7,"tags":[],
            "created\\u005Fat":5,"pubkey":"\(EventSample.pubkey)", "x":null, "i\\u0064":"\(EventSample.id)"}
            """.utf8
        )
        let event = try scan(json).event
        #expect(event.kind == .reaction)
        #expect(event.createdAt == 5)
        #expect(event.id.bytes.hex == EventSample.id)
    }

    @Test func pTagValuesThatAreKeysAreCollected() throws {
        let a = EventSample.id
        let b = EventSample.pubkey
        let tags = """
            [["p","\(a)"],["e","\(b)"],["p","\(b)","wss://x",""],["P","\(a)"],["\\u0070","\(a)"],["p","\\u0030\(a.dropFirst())"],
            ["p","\(b.uppercased())"],["p","\(a.dropLast())"],["p","\(a)0"],["p"],["p",""],["t","p","\(a)"],[ "p" , "\(b)"]]
            """
        #expect(try scan(EventSample.json(tags: tags)).pValues == [a, b, a, a, b])
    }

    @Test func reactionWithoutPTagIsForItsLastAddressesAuthor() throws {
        let (a, b) = (EventSample.id, EventSample.pubkey)
        let tags = #"[["e","\#(a)"],["a","30023:\#(a):x"],[ "\u0061" , "30023:\#(b):"], ["a","nonsense"],["a"]]"#
        #expect(try scan(EventSample.json(kind: "7", tags: tags)).pValues == [b])
        #expect(try scan(EventSample.json(kind: "1", tags: tags)).pValues == [])
        #expect(try scan(EventSample.json(kind: "7", tags: #"[["p","\#(a)"],["a","30023:\#(b):"]]"#)).pValues == [a])
        #expect(try scan(EventSample.json(kind: "7", tags: "[]")).pValues == [])
        #expect(try scan(EventSample.json(kind: "7", tags: #"[["t","a"],["a","7:x:y"]]"#)).pValues == [])
    }

    @Test func pTagValuesAreResetBetweenEvents() throws {
        var scanner = EventScanner()
        let first = EventSample.json(tags: #"[["p","\#(EventSample.id)"]]"#)
        _ = try first.withUnsafeBytes { try scanner.scan($0) }
        #expect(scanner.pValues.count == 1)
        _ = try EventSample.json().withUnsafeBytes { try scanner.scan($0) }
        #expect(scanner.pValues.isEmpty)
    }

    @Test(arguments: [
        (#""plain é ⚡ /""#, true, false), (#""\n\"\\\r\t\b\f""#, true, false), (#""\u0001\u001f\u000b""#, true, true),
        ("\"\u{7f}\"", true, false), (#""\/""#, false, false), (#""\u0041""#, false, false),
        (#""\u000a""#, false, false), (#""\u001F""#, false, true), (#""\u007f""#, false, false),
        (#""\ud83d\ude00""#, false, false),
    ])
    func knowsWhetherTextIsCanonical(_ content: String, _ isCanonical: Bool, _ hasControls: Bool) throws {
        let inContent = try scan(EventSample.json(content: content)).event
        #expect(inContent.content.isCanonical == isCanonical)
        #expect(inContent.content.hasControlCharacters == hasControls)
        #expect(inContent.tags.isCanonical)
        let inTags = try scan(EventSample.json(tags: "[[\"t\",\(content)]]")).event
        #expect(inTags.tags.isCanonical == isCanonical)
        #expect(inTags.tags.hasControlCharacters == hasControls)
    }

    @Test(arguments: [
        #"[ ]"#, #"[["t"] ]"#, #"[["t", "x"]]"#, #"[["t" ,"x"]]"#, #"[ ["t"]]"#, #"[["t"], ["t"]]"#, "[[\n\"t\"]]",
    ])
    func whitespaceInTagsIsNotCanonical(_ tags: String) throws {
        #expect(try !scan(EventSample.json(tags: tags)).event.tags.isCanonical)
    }

    @Test(arguments: [
        "-1", "65536", "1.0", "1e0", "01", "\"1\"", "null", "true", "[1]", "00", "-0", "99999999999999999999",
    ])
    func kindIsAnIntegerUpTo65535(_ kind: String) {
        #expect(error(EventSample.json(kind: kind)) != nil)
    }

    @Test(arguments: ["-1", "1.5", "1e9", "01", "\"1\"", "null", "9223372036854775808", "18446744073709551616"])
    func creationIsAnIntegerFromZero(_ createdAt: String) {
        #expect(error(EventSample.json(createdAt: createdAt)) == .wrong(.createdAt))
    }

    @Test(arguments: [
        "[]]", "{}", "\"\"", "null", "[1]", "[[1]]", "[[]]", "[[\"t\",null]]", "[\"t\"]", "[[\"t\"],]", "[[\"t\",]]",
    ])
    func tagsAreArraysOfStrings(_ tags: String) {
        #expect(error(EventSample.json(tags: tags)) != nil)
    }

    @Test func hexadecimalFieldsAreExact() {
        let upper = "\"\(EventSample.id.uppercased())\""
        let short = "\"\(EventSample.id.dropLast())\""
        let long = "\"\(EventSample.id)0\""
        for text in [upper, short, long, "\"\"", "1", "null", "\"\(EventSample.id.dropLast())g\""] {
            #expect(error(EventSample.json(id: text)) == .wrong(.id))
            #expect(error(EventSample.json(pubkey: text)) == .wrong(.pubkey))
            #expect(error(EventSample.json(signature: text)) == .wrong(.signature))
        }
    }

    @Test(arguments: Array(UInt8.min...UInt8.max))
    func everyByteButADigitIsFoundInHexadecimal(_ byte: UInt8) {
        let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
        for position in 0..<64 {
            var text = Array(EventSample.id.utf8)
            text[position] = byte
            let decoded = text.withUnsafeBytes { bytes in bytes.baseAddress.flatMap { Hex.words($0) } }
            #expect((decoded != nil) == isDigit)
            let areDigits = text.withUnsafeBytes { $0.baseAddress.map { Hex.areDigits($0, count: 64) } }
            #expect(areDigits == isDigit)
        }
    }

    @Test(arguments: [
        #"\ud800"#, #"\udc00"#, #"\ud800x"#, #"\ud800\n"#, #"\ud800\u0041"#, #"\ud83d\ud83d"#, #"\x"#, #"\u12"#,
        #"\u12g4"#, "\n",
        "\u{0}", "\u{1f}", #"\"#, #"\U0041"#,
    ])
    func badStringsAreRefusedEverywhere(_ text: String) {
        #expect(error(EventSample.json(content: "\"\(text)\"")) != nil)
        #expect(error(EventSample.json(tags: "[[\"\(text)\"]]")) != nil)
        #expect(error(EventSample.json(tags: "[[\"p\",\"\(text)\"]]")) != nil)
        #expect(error(EventSample.json(rest: ",\"x\":[\"\(text)\"]")) != nil)
        #expect(error(EventSample.json(rest: ",\"\(text)\":1")) != nil)
    }

    /// Eight bytes are scanned together: a byte that ends or breaks a string is found at each position.
    @Test(arguments: Array(UInt8.min...0x7f))
    func invalidStringByteIsFoundAtEveryPosition(_ byte: UInt8) {
        let isPlain = byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        for place in 0..<20 {
            var text = Array("!aZ~ #[]^_`{}|.0:?@\u{7f}".utf8)
            text[place] = byte
            let json = EventSample.json(content: "\"" + String(decoding: text, as: UTF8.self) + "\"")
            #expect((error(json) == nil) == isPlain, "at \(place)")
        }
    }

    @Test(arguments: [
        (#"[["p","KEY"]]"#, true), (#"[["p", "KEY"]]"#, true), (#"[["p",]]"#, false),
        (#"[["p",1]]"#, false), (#"[["p","#, false), (#"[["p",["x"]]]"#, false), (#"[["p","x",]]"#, false),
    ])
    func tagWithACommonPrefixIsReadLikeOthers(_ tags: String, _ isRight: Bool) throws {
        let tags = tags.replacing("KEY", with: EventSample.id)
        let json = EventSample.json(tags: tags)
        #expect((error(json) == nil) == isRight)
        guard isRight else { return }
        #expect(try scan(json).pValues == [EventSample.id])
        #expect(try scan(json).event.isCanonical == !tags.contains(" "))
    }

    @Test func everyPairOfBytesIsJudgedAsTheStandardLibraryJudgesUTF8() {
        for first in UInt8(0x80)...0xff {
            for second in UInt8(0x20)...0xff where second != 0x22 && second != 0x5c {
                for tail: [UInt8] in [[], [0x80], [0x80, 0x80], [0xbf, 0xbf]] {
                    let text = [first, second] + tail
                    let json = Array("\"".utf8) + text + Array("\"".utf8)
                    let isValid = withExactBuffer(json) { bytes -> Bool in
                        guard var reader = try? JSONReader<JSONSyntaxError>(bytes) else { return false }
                        return (try? reader.string()) != nil
                    }
                    #expect(isValid == (String(validating: text, as: UTF8.self) != nil), "\(text)")
                }
            }
        }
    }

    @Test func everyFieldIsRequiredExactlyOnce() {
        for field in EventField.allCases {
            #expect(error(EventSample.json(rest: ",\"\(field.name)\":0")) == .repeated(field))
            let renamed = String(decoding: EventSample.json(), as: UTF8.self)
                .replacingOccurrence(of: "\"\(field.name)\":", with: "\"\(field.name)_\":")
            #expect(error(Array(renamed.utf8)) == .missing(field))
        }
        #expect(error(EventSample.json(rest: ",\"ki\\u006ed\":1")) == .repeated(.kind))
        #expect(error(Array("{}".utf8)) == .missing(.id))
    }

    @Test(arguments: [
        "", " ", "[]", "null", "1", "\"\"", "{", "{]", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}",
    ])
    func jsonThatIsNotAnObjectIsRefused(_ text: String) {
        #expect(error(Array(text.utf8)) != nil)
    }

    @Test func onlyWhitespaceMayFollowAnEvent() {
        #expect(error(EventSample.json() + Array(" \n".utf8)) == nil)
        for rest in ["x", "{}", ",", "]", "\u{0}"] {
            #expect(error(EventSample.json() + Array(rest.utf8)) != nil)
        }
    }

    @Test(arguments: [
        "01", "1.", ".5", "+1", "-", "1e", "1e+", "0x10", "NaN", "Infinity", "tru", "truex", "nul", "[1,]", "[,1]",
        "[1 2]", "{\"a\" 1}",
        "{\"a\":1,}", "[}", "{]", "'x'", "// c\n1", "",
    ])
    func badValuesOfUnknownFieldsAreRefused(_ value: String) {
        #expect(error(EventSample.json(rest: ",\"x\":\(value)")) != nil)
    }

    @Test func unknownFieldsNestSixtyFourLevelsDeep() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[{\"a\":", count: depth / 2) + (depth % 2 == 1 ? "[]" : "0")
                + String(repeating: "}]", count: depth / 2)
        }
        #expect(error(EventSample.json(rest: ",\"x\":\(nested(64))")) == nil)
        #expect(error(EventSample.json(rest: ",\"x\":\(nested(65))")) != nil)
        #expect(error(EventSample.json(rest: ",\"x\":" + String(repeating: "[", count: 100_000))) != nil)
    }

    @Test func errorsNameTheExpectedValue() {
        #expect("\(EventError.wrong(.kind))" == "kind must be an integer from 0 to 65535")
        #expect("\(EventError.missing(.signature))" == "sig is missing: expected 128 lowercase hexadecimal digits")
        #expect(
            "\(error(Array("{\"x\" 1}".utf8))?.description ?? "")"
                == "the event is not well-formed JSON: expected a colon at byte 5"
        )
    }

    @Test func everyTruncationIsRefused() {
        for json in EventSample.varied {
            let whole = json.reversed().drop { $0 <= 0x20 }.count
            for length in 0..<whole {
                #expect(error(Array(json[..<length])) != nil)
            }
            #expect(error(json) == nil)
        }
    }
}

extension String {
    fileprivate func replacingOccurrence(of text: String, with other: String) -> String {
        guard let range = firstRange(of: text) else { return self }
        return replacingCharacters(in: range, with: other)
    }

    private func replacingCharacters(in range: Range<Index>, with other: String) -> String {
        String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
    }
}
