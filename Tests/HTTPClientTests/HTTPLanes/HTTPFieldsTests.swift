import Testing

@testable import HTTPClient

struct HTTPFieldsTests {
    private let pairs = [
        HTTPField("authorization", "bearer x"), HTTPField("x-empty", ""), HTTPField("x-umlaut", "ä"),
        HTTPField("apns-id", "1"), HTTPField("apns-id", "2"),
    ]

    @Test func appendedFieldsKeepTheirOrder() {
        let fields = HTTPFields(pairs)
        #expect(Array(fields) == pairs)
        #expect(fields.last == pairs.last)
        #expect(fields.byteCount == pairs.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count })
        let names = fields.withBytes { bytes in
            (0..<bytes.count).map { String(decoding: bytes[$0].name, as: UTF8.self) }
        }
        #expect(names == pairs.map(\.name))
    }

    @Test func fieldsBeyondTheCapacityReallocate() {
        var fields = HTTPFields(reservingFields: 2, bytes: 8)
        let many = (0..<100).map { HTTPField("x-\($0)", String(repeating: "v", count: $0)) }
        for field in many { fields.append(field) }
        #expect(Array(fields) == many)
    }

    @Test func equalityIgnoresCapacity() {
        var roomy = HTTPFields(reservingFields: 60, bytes: 4_000)
        for field in pairs { roomy.append(field) }
        #expect(roomy == HTTPFields(pairs))
        #expect(roomy.hashValue == HTTPFields(pairs).hashValue)
        #expect(HTTPFields(pairs.reversed()) != HTTPFields(pairs))
        // The same bytes, cut elsewhere.
        #expect([HTTPField("ab", "c")] as HTTPFields != [HTTPField("a", "bc")])
        #expect(HTTPFields() == [])
    }

    @Test func copiesAreIndependent() {
        let one: HTTPFields = [HTTPField("a", "1")]
        var other = one
        other.append("b", "2")
        #expect(Array(one) == [HTTPField("a", "1")])
        other.removeAll()
        #expect(other.isEmpty)
    }

    @Test(arguments: ["", "Upper", "with space", "colon:", "line\n", "nul\0", "ümlaut", "(", "a\u{7f}"])
    func invalidFieldNameIsDetected(_ name: String) {
        #expect(!HTTPFields([HTTPField("a", "b"), HTTPField(name, "v")]).isWellFormed)
    }

    @Test(arguments: ["a\r\nb", "\u{1}", "\u{7f}", "nul\0", "\u{1f}"])
    func controlCharactersInAValueAreDetected(_ value: String) {
        #expect(!HTTPFields([HTTPField("a", value), HTTPField("b", "c")]).isWellFormed)
    }

    @Test func everyByteIsCheckedByTheStandard() {
        let tokens = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        for byte in UInt8.min...UInt8.max {
            var fields = HTTPFields()
            [byte].withUnsafeBufferPointer { bytes in fields.append(name: bytes, value: bytes) }
            let isValue = byte == 0x09 || (0x20...0x7e).contains(byte) || byte >= 0x80
            #expect(fields.isWellFormed == (tokens.contains(byte) && isValue), "\(byte)")
            #expect(fields.isASCII == (byte < 0x80))
            #expect(
                FieldForm.isMethod(String(UnicodeScalar(byte)))
                    == (tokens.contains(byte) || (0x41...0x5a).contains(byte))
            )
        }
    }
}
