/// A QR code for one short text (ISO/IEC 18004): versions 1 to 5, byte mode, error correction level L.
///
/// These versions have a single block of data, so there is nothing to interleave and no version information. 106 bytes
/// are enough for the address of a topic.
package struct QRCode: Sendable {
    /// How many modules a side has.
    package let size: Int
    private var dark: [Bool]
    private var isFunction: [Bool]

    /// Data codewords and error correction codewords of versions 1 to 5 at level L.
    private static let codewords = [(19, 7), (34, 10), (55, 15), (80, 20), (108, 26)]

    /// Nil where `text` is longer than 106 bytes.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let version = Self.codewords.firstIndex(where: { bytes.count + 2 <= $0.0 }) else { return nil }
        let (dataCount, correctionCount) = Self.codewords[version]
        size = 21 + 4 * version
        dark = Array(repeating: false, count: size * size)
        isFunction = dark
        drawPatterns(alignment: version > 0 ? size - 7 : nil)
        let data = Self.dataCodewords(bytes, count: dataCount)
        fill(data + ReedSolomon.remainder(data, count: correctionCount))
        drawFormat()
    }

    /// Whether the module in that column and row is dark; false outside.
    package func isDark(_ x: Int, _ y: Int) -> Bool {
        (0..<size).contains(x) && (0..<size).contains(y) && dark[y * size + x]
    }

    /// Lines for a terminal, two rows of modules in each. With colours it can be read on any background; without, on a
    /// dark one.
    package func lines(colours: Bool) -> [String] {
        let quiet = 4
        return stride(from: -quiet, to: size + quiet, by: 2).map { y in
            let line = (-quiet..<size + quiet).map { x in
                // Without colours the light modules are drawn.
                let (upper, lower) = (isDark(x, y) == colours, isDark(x, y + 1) == colours)
                return upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")
            }
            return colours ? "\u{1B}[38;5;16;48;5;231m" + line.joined() + "\u{1B}[0m" : line.joined()
        }
    }

    private mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
        guard (0..<size).contains(x), (0..<size).contains(y) else { return }
        dark[y * size + x] = isDark
        isFunction[y * size + x] = true
    }

    private mutating func drawPatterns(alignment: Int?) {
        for i in 0..<size {
            set(6, i, i % 2 == 0)
            set(i, 6, i % 2 == 0)
        }
        for (centreX, centreY) in [(3, 3), (size - 4, 3), (3, size - 4)] {
            for y in -4...4 {
                for x in -4...4 {
                    let distance = max(abs(x), abs(y))
                    set(centreX + x, centreY + y, distance != 2 && distance != 4)
                }
            }
        }
        if let alignment {
            for y in -2...2 {
                for x in -2...2 { set(alignment + x, alignment + y, max(abs(x), abs(y)) != 1) }
            }
        }
        // Reserves the places; the bits come last.
        drawFormat()
    }

    /// Level L, mask 0, and a checksum, in two copies.
    private mutating func drawFormat() {
        let format = 0b01_000
        var rest = format
        for _ in 0..<10 { rest = (rest << 1) ^ ((rest >> 9) * 0x537) }
        let bits = (format << 10 | rest) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for i in 0...5 { set(8, i, bit(i)) }
        set(8, 7, bit(6))
        set(8, 8, bit(7))
        set(7, 8, bit(8))
        for i in 9..<15 { set(14 - i, 8, bit(i)) }
        for i in 0..<8 { set(size - 1 - i, 8, bit(i)) }
        for i in 8..<15 { set(8, size - 15 + i, bit(i)) }
        set(8, size - 8, true)
    }

    /// Mode, length, bytes, terminator, padding.
    private static func dataCodewords(_ bytes: [UInt8], count: Int) -> [UInt8] {
        var result: [UInt8] = []
        // The mode and the length have 12 bits, so each byte lies across two codewords.
        var left: UInt8 = 0b0100
        for byte in [UInt8(bytes.count)] + bytes {
            result.append(left << 4 | byte >> 4)
            left = byte & 0x0F
        }
        result.append(left << 4)
        var isOdd = false
        while result.count < count {
            result.append(isOdd ? 0x11 : 0xEC)
            isOdd.toggle()
        }
        return result
    }

    /// Puts the codewords in pairs of columns, from the right, up and down in turn, and masks them.
    private mutating func fill(_ codewords: [UInt8]) {
        var index = 0
        var right = size - 1
        while right >= 1 {
            if right == 6 { right = 5 }
            for step in 0..<size {
                let y = (right + 1) & 2 == 0 ? size - 1 - step : step
                for x in [right, right - 1] where !isFunction[y * size + x] {
                    let bit = index / 8 < codewords.count && codewords[index / 8] >> (7 - index % 8) & 1 == 1
                    dark[y * size + x] = bit != ((x + y) % 2 == 0)
                    index += 1
                }
            }
            right -= 2
        }
    }
}

/// Error correction over GF(2^8) with the polynomial 0x11D.
private enum ReedSolomon {
    static func remainder(_ data: [UInt8], count: Int) -> [UInt8] {
        let divisor = divisor(count)
        var result = [UInt8](repeating: 0, count: count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for i in 0..<count { result[i] ^= multiply(divisor[i], factor) }
        }
        return result
    }

    /// The coefficients of (x - 1)(x - 2)(x - 4)…, without the leading 1.
    private static func divisor(_ count: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        result[count - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<count {
            for i in 0..<count {
                result[i] = multiply(result[i], root)
                if i + 1 < count { result[i] ^= result[i + 1] }
            }
            root = multiply(root, 2)
        }
        return result
    }

    private static func multiply(_ x: UInt8, _ y: UInt8) -> UInt8 {
        var product: UInt8 = 0
        for i in (0..<8).reversed() {
            product = (product << 1) ^ (product >> 7 == 1 ? 0x1D : 0)
            if y >> i & 1 == 1 { product ^= x }
        }
        return product
    }
}
