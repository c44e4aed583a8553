/// A JSON text being written, without whitespace and with as few escapes as NIP-01 has them.
struct JSONText {
    var bytes: [UInt8] = []
    let spelling: JSONSpelling

    mutating func append(_ tags: [[String]]) {
        append("[")
        for (index, tag) in tags.enumerated() {
            append(index == 0 ? "[" : ",[")
            for (index, string) in tag.enumerated() {
                if index > 0 { append(",") }
                appendQuoted(string)
            }
            append("]")
        }
        append("]")
    }

    mutating func appendQuoted(_ string: String) {
        append("\"")
        spelling.append(string, to: &bytes)
        append("\"")
    }

    mutating func appendQuoted(_ hex: Bytes32) {
        append("\"")
        LowercaseHex.append(hex, to: &bytes)
        append("\"")
    }

    mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ number: some BinaryInteger) {
        var digits = String(number)
        digits.withUTF8 { bytes.append(contentsOf: $0) }
    }
}

extension JSONText {
    mutating func appendArray<Element>(_ elements: [Element], _ append: (inout JSONText, Element) -> Void) {
        self.append("[")
        for (index, element) in elements.enumerated() {
            if index > 0 { self.append(",") }
            append(&self, element)
        }
        self.append("]")
    }
}
