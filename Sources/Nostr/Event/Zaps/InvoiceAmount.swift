/// What a Lightning invoice (BOLT-11) asks for, which stands in its human-readable part.
package enum InvoiceAmount {
    /// Mainnet, testnet, signet and regtest; a longer one before those that it begins with.
    private static let prefixes = ["lnbcrt", "lnbc", "lntbs", "lntb"]
    /// More bitcoin than there will ever be.
    private static let limit: UInt64 = 21_000_000 * 100_000_000_000

    /// The amount in thousandths of a satoshi; nil when `invoice` is none, leaves the amount open, or is of an amount that
    /// cannot be paid.
    package static func millisats(of invoice: String) -> UInt64? {
        let lowercase = invoice.lowercased()
        guard invoice == lowercase || invoice == invoice.uppercased(),
            let separator = lowercase.lastIndex(of: "1"),
            let prefix = prefixes.first(where: lowercase.hasPrefix),
            separator >= lowercase.index(lowercase.startIndex, offsetBy: prefix.count)
        else { return nil }
        return millisats(ofAmount: lowercase[..<separator].dropFirst(prefix.count))
    }

    private static func millisats(ofAmount amount: Substring) -> UInt64? {
        let digits = amount.prefix { $0.isASCII && $0.isNumber }
        guard !digits.hasPrefix("0"), let number = UInt64(digits) else { return nil }
        let (multiplier, divisor): (UInt64, UInt64)
        switch amount[digits.endIndex...] {
        case "": (multiplier, divisor) = (100_000_000_000, 1)
        case "m": (multiplier, divisor) = (100_000_000, 1)
        case "u": (multiplier, divisor) = (100_000, 1)
        case "n": (multiplier, divisor) = (100, 1)
        case "p": (multiplier, divisor) = (1, 10)
        default: return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: multiplier)
        guard !overflow, product.isMultiple(of: divisor), product / divisor <= limit else { return nil }
        return product / divisor
    }
}
