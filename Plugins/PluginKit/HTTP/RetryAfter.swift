/// RFC 9110 section 10.2.3.
enum RetryAfter {
    /// The wait that a field value asks for in milliseconds, at most `UInt32.max`; 0 when it cannot be read or is over.
    static func milliseconds(_ value: String, now: Int64) -> UInt32 {
        let value = value.trimmingBlanks
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            guard let seconds = UInt32(value), seconds <= UInt32.max / 1000 else { return UInt32.max }
            return seconds * 1000
        }
        guard let date = HTTPDate.seconds(value) else { return 0 }
        return UInt32(clamping: max(0, date * 1000 - now))
    }
}

extension String {
    fileprivate var trimmingBlanks: Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = self[...].drop(while: isBlank)
        while let last = text.last, isBlank(last) {
            text.removeLast()
        }
        return text
    }
}
