/// An amount of money as people write it.
enum ZapAmount {
    /// Satoshis, with what is left of one behind a point.
    static func text(millisats: UInt64) -> String {
        let (satoshis, rest) = millisats.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return String(satoshis) }
        var digits = String(rest + 1000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(satoshis).\(digits)"
    }
}
