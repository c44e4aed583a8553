extension JSONReader {
    /// Goes past one value of any kind, nested at most 64 levels deep.
    @inline(never)
    mutating func skipValue() throws(Failure) {
        /// One bit a level, the innermost lowest: 1 for an object.
        var levels: UInt64 = 0
        var depth = 0
        while true {
            skipWhitespace()
            let opener = next
            if opener == UInt8(ascii: "{") || opener == UInt8(ascii: "[") {
                guard depth < 64 else { throw fault(.noDeeperNesting) }
                position &+= 1
                depth &+= 1
                let isObject = opener == UInt8(ascii: "{")
                levels = levels &<< 1 | (isObject ? 1 : 0)
                skipWhitespace()
                if next != (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if isObject { _ = try key() }
                    continue
                }
            } else {
                try skipScalar()
            }
            if try !nextMember(&levels, &depth) { return }
        }
    }

    /// After a value: closes what ends here, or goes to the next member's value. Returns whether there is one.
    private mutating func nextMember(_ levels: inout UInt64, _ depth: inout Int) throws(Failure) -> Bool {
        while depth > 0 {
            let isObject = levels & 1 == 1
            skipWhitespace()
            if take(isObject ? "}" : "]") {
                levels &>>= 1
                depth &-= 1
            } else if take(",") {
                if isObject { _ = try key() }
                return true
            } else {
                throw fault(isObject ? .objectEnd : .arrayEnd)
            }
        }
        return false
    }

    private mutating func skipScalar() throws(Failure) {
        switch next {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default: throw fault(.value)
        }
    }

    mutating func literal(_ word: StaticString) throws(Failure) {
        guard position &+ word.utf8CodeUnitCount <= count else { throw fault(.literal) }
        for index in 0..<word.utf8CodeUnitCount where byte(position &+ index) != word.utf8Start[index] {
            throw fault(.literal)
        }
        position &+= word.utf8CodeUnitCount
    }

    private mutating func skipNumber() throws(Failure) {
        _ = take("-")
        if !take("0") { try skipDigits() }
        if take(".") { try skipDigits() }
        if take("e") || take("E") {
            if !take("-") { _ = take("+") }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(Failure) {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) else { throw fault(.number) }
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { position &+= 1 }
    }

    /// Reads a number written as digits only, from 0 to 2^63 - 1. `nil`, and no further than that, if something else
    /// stands there: a sign, a fraction, an exponent, a leading zero, another type.
    @inline(__always)
    mutating func natural() -> Int64? {
        let start = position
        var value: UInt64 = 0
        while position < count {
            let digit = byte(position) &- 0x30
            guard digit <= 9 else { break }
            // Eighteen digits always fit; the nineteenth is checked, a twentieth never fits.
            guard position &- start < 19 else { return nil }
            value = value &* 10 &+ UInt64(digit)
            position &+= 1
        }
        guard position > start, value <= UInt64(Int64.max) else { return nil }
        if byte(start) == 0x30, position &- start > 1 { return nil }
        let follower = next
        if follower == UInt8(ascii: ".") || follower | 0x20 == UInt8(ascii: "e") { return nil }
        return Int64(truncatingIfNeeded: value)
    }
}
