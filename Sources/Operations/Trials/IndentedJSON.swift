import Foundation

/// JSON for people: the members stay in their order, each on a line of its own.
enum IndentedJSON {
    /// Nil for what is no JSON object or array.
    static func text(_ json: [UInt8]) -> String? {
        guard (try? JSONSerialization.jsonObject(with: Data(json))) != nil else { return nil }
        var writer = Writer()
        for byte in json { writer.write(byte) }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Copies well-formed JSON byte by byte, with line breaks between its tokens.
    private struct Writer {
        private(set) var bytes: [UInt8] = []
        private var depth = 0
        private var isInString = false
        private var isEscaped = false
        /// A bracket was opened and nothing came yet: if it is closed at once, no line is broken.
        private var isOpen = false

        mutating func write(_ byte: UInt8) {
            if isInString {
                bytes.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                return
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): return
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isOpen { breakLine() }
                isOpen = false
                bytes.append(byte)
                return
            default: break
            }
            if isOpen { breakLine() }
            isOpen = false
            bytes.append(byte)
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isOpen = true
            case UInt8(ascii: ","): breakLine()
            case UInt8(ascii: ":"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "\""): isInString = true
            default: break
            }
        }

        private mutating func breakLine() {
            bytes.append(UInt8(ascii: "\n"))
            bytes += [UInt8](repeating: UInt8(ascii: " "), count: 2 * depth)
        }
    }
}
