import Core
import Testing

struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b", "a%20b"), ("%", "%25"), ("wss://é/\n", "wss%3A%2F%2F%C3%A9%2F%0A"),
    ])
    func encodesAllButTheUnreserved(_ text: String, _ encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded.utf8) == Array(text.utf8))
    }

    @Test(arguments: [("%", nil), ("%4", nil), ("%4g", nil), ("%%41", nil), ("%4a%4A+", "JJ+")] as [(String, String?)])
    func decodesOnlyTwoHexDigits(_ encoded: String, _ text: String?) {
        #expect(PercentEncoding.decode(encoded.utf8) == text.map { Array($0.utf8) })
    }

    @Test(arguments: [
        ("", true), ("/a/b?c=d&e=%2F", true), ("/~!$&'()*+,;=:@", true), ("/a b", false), ("/%", false), ("/%2", false),
        ("/%zz", false), ("/#", false), ("/é", false), ("/\u{7f}", false), ("/[", false), ("/\"", false), ("/`", false),
    ])
    func requestTargetsAreValidated(_ text: String, _ isTarget: Bool) {
        #expect(PercentEncoding.isTarget(text.utf8) == isTarget)
    }

    @Test func knowsHexDigitsAmongAllBytes() {
        let digits = (0...255 as ClosedRange<UInt8>).filter(\.isASCIIHexDigit)
        #expect(digits == Array("0123456789ABCDEFabcdef".utf8))
        #expect(digits.compactMap(\.hexDigitValue) == Array(0...9) + Array(10...15) + Array(10...15))
        #expect((0...255 as ClosedRange<UInt8>).filter(\.isASCIILetter).count == 52)
    }
}
